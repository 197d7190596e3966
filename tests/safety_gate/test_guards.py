"""What a handler asks about its exception, and whether a cancellation still leaves."""

from __future__ import annotations

import textwrap

import pytest

from safety_gate import check_source

HEAD = "import asyncio, sys, contextlib, os\n"
HEAD += "async def f(t, x):\n    try:\n        await t\n    except BaseException as e:\n"


def lost(body: str, head: str = HEAD) -> bool:
    """Tell whether the gate says that a cancellation is lost in a handler with this body."""
    report = check_source(head + textwrap.indent(textwrap.dedent(body), " " * 8) + "\n")
    assert report.diagnostics == ()
    return any(violation.rule in ("SG501", "SG502", "SG503") for violation in report.violations)


@pytest.mark.parametrize(
    "body",
    [
        "raise",
        "raise e",
        "error = e\nraise error",
        "error: BaseException = e\nraise error",
        "if isinstance(e, asyncio.CancelledError):\n    raise",
        "if type(e) is asyncio.CancelledError:\n    raise",
        "if e.__class__ is asyncio.CancelledError:\n    raise",
        "if type(e) is ValueError:\n    return\nraise",
        "if type(e) is not asyncio.CancelledError:\n    return\nraise",
        "if e is not None:\n    raise",
        "if e is None:\n    return\nraise",
        "if not isinstance(e, Exception):\n    raise",
        "if isinstance(e, asyncio.CancelledError) or isinstance(e, KeyboardInterrupt):\n    raise",
        "if asyncio.current_task().cancelling() > 0:\n    raise",
        "if asyncio.current_task().cancelling():\n    raise",
        "if asyncio.current_task().cancelling() == 0:\n    return\nraise",
        "n = asyncio.current_task().cancelling()\nif n > 0:\n    raise",
        "n = asyncio.current_task().cancelling()\nif n:\n    raise",
        "if sys.version_info >= (3, 8):\n    raise",
        "if sys.version_info < (3, 8):\n    return\nraise",
        "match e:\n    case asyncio.CancelledError():\n        raise\n    case _:\n        pass",
        "match e:\n    case ValueError():\n        pass\n    case _:\n        raise",
        "match e:\n    case KeyboardInterrupt() | asyncio.CancelledError():\n        raise",
        "match e:\n    case asyncio.CancelledError() as c:\n        raise",
        "match e:\n    case other:\n        raise",
        "while True:\n    raise",
        "for _ in x:\n    pass\nraise",
        "with x:\n    raise",
        "try:\n    x()\nfinally:\n    raise e",
    ],
)
def test_cancellation_leaves(body: str) -> None:
    assert not lost(body)


@pytest.mark.parametrize(
    "body",
    [
        "pass",
        "del e",
        "if isinstance(e, ValueError):\n    raise",
        "if type(e) is ValueError:\n    raise",
        "if e is None:\n    raise",
        "if sys.version_info < (3, 8):\n    raise",
        "if sys.version_info >= (3, 99):\n    raise",
        "if sys.version_info == x:\n    raise",
        "if x > 3:\n    raise",
        "match e:\n    case ValueError() | KeyError():\n        raise\n    case _:\n        pass",
        "match e:\n    case OSError(errno=3):\n        raise",
        "match e:\n    case ValueError() | OSError(errno=3):\n        raise",
        "match x:\n    case 1:\n        raise",
        "while True:\n    break",
        "while x:\n    raise",
        "for _ in x:\n    raise",
        "with contextlib.suppress(BaseException):\n    raise",
        "try:\n    raise\nexcept BaseException:\n    pass",
        "e = ValueError()\nraise e",
        "return",
    ],
)
def test_cancellation_is_lost(body: str) -> None:
    assert lost(body)


SUPPRESS = "import asyncio, contextlib\nasync def f(t, x):\n"
REAP = "t.cancel()\nwith contextlib.suppress(asyncio.CancelledError):\n    "
STACK = "with contextlib.ExitStack() as s:\n    s.enter_context(contextlib.suppress(BaseException))\n    "


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("with contextlib.suppress(BaseException):\n    await t", True),
        ("with contextlib.suppress(ValueError):\n    await t", False),
        ("with contextlib.suppress():\n    await t", False),
        (STACK + "await t", True),
        (REAP + "await t", False),
        (REAP + "await x", True),
        (REAP + "x = await t", True),
        (REAP + "await t()", True),
        (
            REAP + "async with asyncio.timeout(1):\n        await t",
            False,
        ),
        ("for one in t:\n    one." + REAP[2:] + "await asyncio.gather(*t)", False),
        ("manager = contextlib.suppress(BaseException)\nawait t", False),
    ],
)  # fmt: skip
def test_suppress(body: str, expected: bool) -> None:
    text = SUPPRESS + textwrap.indent(body, "    ") + "\n"
    found = [v for v in check_source(text).violations if v.rule == "SG501" and v.fails]
    assert bool(found) is expected


@pytest.mark.parametrize(
    ("decorator", "expected"),
    [
        ("backoff.on_exception(backoff.expo, BaseException)", True),
        ("backoff.on_exception(backoff.expo, ValueError)", False),
        ("backoff.on_exception(backoff.expo)", False),
        ("tenacity.retry(retry=tenacity.retry_if_exception_type(BaseException))", True),
        ("tenacity.retry(retry=tenacity.retry_if_exception_type((OSError, KeyError)))", False),
        ("tenacity.retry(retry=tenacity.retry_if_exception_type())", False),
    ],
)
def test_retry(decorator: str, expected: bool) -> None:
    text = f"import backoff, tenacity\n@{decorator}\nasync def f():\n    await g()\n"
    assert any(v.rule == "SG501" for v in check_source(text).violations) is expected
