"""The cases of TramAI's two gates in their Python form, and what a Python gate has to find and leave alone beside them.

An id is the number of the case and its shape. Where the right verdict in Python is another one, a comment says why.
"""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from safety_gate.engine import check_source
from safety_gate.roles import Role
from safety_gate.settings import RuleSettings
from safety_gate.violation import FileReport, Risk, Violation
from tests.safety_gate.projects import Project

LOG = "import logging\nlogger = logging.getLogger(__name__)\n"


def failing(source: str) -> list[str]:
    report = check_source(dedent(source), "src/m.py")
    assert report.diagnostics == ()
    return [v.rule for v in report.violations if v.fails]


# --- static guards -------------------------------------------------------------------------------------------------

STATIC: dict[str, tuple[str, list[str]]] = {
    "2-thread-without-exemption": ("import threading\nthreading.Thread(target=f)\n", ["SG401"]),
    "3-task-on-nobodys-scope": ("import asyncio\nasync def f():\n    asyncio.create_task(g())\n", ["SG402"]),
    "4-thread-with-lambda": ("import threading\nthreading.Thread(target=lambda: f()).start()\n", ["SG401"]),
    "5-executor": ("import concurrent.futures\nconcurrent.futures.ThreadPoolExecutor(1)\n", ["SG401"]),
    "14-bounded-helper": (
        "import requests\nfrom tramapy.bounded import read_bounded_response\ndef f(u):\n"
        "    with requests.get(u, stream=True) as r:\n        return read_bounded_response(r)\n",
        [],
    ),
    "15-whole-body-in-use-block-and-elsewhere": (
        "import requests\nfrom urllib.request import urlopen\nwith urlopen(u) as r:\n    r.read()\n"
        "x = requests.get(u).text\n",
        ["SG301", "SG301"],
    ),
    "16-local-text-read": ("from pathlib import Path\nPath(p).read_text()\nopen(p).read()\n", []),
    "17-log-of-prompt": (LOG + "def f(prompt):\n    logger.info(prompt)\n", ["SG201"]),
    "18-log-of-template-and-id": (LOG + "def f(request_id):\n    logger.info('asked %s', request_id)\n", []),
    "19-qualified-without-from": ("import concurrent.futures as c\nx = c.ProcessPoolExecutor()\n", ["SG401"]),
    "20-alias": ("from asyncio import create_task as go\nasync def f():\n    go(g())\n", ["SG402"]),
    "21-imported-class": ("from threading import Timer\nTimer(1, f)\n", ["SG401"]),
    "22-through-outer-module": ("import urllib.request\nurllib.request.urlopen(u).read()\n", ["SG301"]),
    "23-bare-imported-function": ("from requests import get\nget(u)\n", ["SG301"]),
    "24-qualified-thread-helper": ("import _thread\n_thread.start_new_thread(lambda: 1, ())\n", ["SG401"]),
    "25-imported-name-of-a-module": ("from multiprocessing import Pool\np = Pool(2)\n", ["SG401"]),
    "26-star-import": ("from sys import *\nstdout.write('x')\n", ["SG101"]),
    "27-read-directly-behind-the-call": (
        "from urllib.request import urlopen\nurlopen(u).read()\n",
        ["SG301"],
    ),
    "28-other-read-behind-the-call": (
        "from urllib.request import urlopen\nurlopen(u).readlines()\n",
        ["SG301"],
    ),
    "29-logger-through-self": (
        "import logging\nclass A:\n    def __init__(self):\n        self.log = logging.getLogger('a')\n"
        "    def f(self, payload):\n        self.log.info(payload)\n",
        ["SG201"],
    ),
    "30-other-method-of-a-logger": (LOG + "def f(payload):\n    logger.sanitize(payload)\n", []),
    "31-lazy-lambda": (
        "from loguru import logger\ndef f(payload):\n    logger.opt(lazy=True).info('{}', lambda: payload)\n",
        ["SG201"],
    ),
    "32-payload-declared-afterwards": (
        LOG + "def f(request_id):\n    logger.info('%s', request_id)\n    payload = 1\n    return payload\n",
        [],
    ),
    "33-call-in-a-string": ('x = """print(1)"""\n', []),
    "34-call-in-an-f-string": ('x = f"""{print(1)}"""\n', ["SG101"]),
    "35-mutant-task": ("import asyncio\nasync def f():\n    _ = asyncio.ensure_future(g())\n", ["SG402"]),
    "36-mutant-thread": ("from threading import Thread\nThread(target=f).start()\n", ["SG401"]),
    "37-mutant-executor": ("from concurrent.futures import ThreadPoolExecutor as P\nx = P()\n", ["SG401"]),
    "38-mutant-body-read": (
        "import http.client\ndef f(c: http.client.HTTPConnection):\n    return c.getresponse().read()\n",
        ["SG301"],
    ),
    "39-mutant-error-log": (LOG + "def f(payload):\n    logger.error('bad %s', payload)\n", ["SG201"]),
    "40-words-in-comments": ("# print(payload), threading.Thread()\nx = 'logger.info(prompt)'\n", []),
    "45-plain-braces": (LOG + "def f(prompt):\n    logger.info('{prompt}')\n", []),
    "46-interpolation": (LOG + "def f(prompt):\n    logger.info(f'{prompt}')\n", ["SG201"]),
    # A miss there: aliases are followed here.
    "47-class-under-an-alias": ("from threading import Thread as T\nT(target=f)\n", ["SG401"]),
    # A miss there: origins are followed here.
    "48-body-in-a-variable": (
        "from urllib.request import urlopen\nr = urlopen(u)\nx = r.read()\n",
        ["SG301"],
    ),
    # A miss there: `log` is a method of loggers here.
    "49-log-with-a-level": (
        LOG + "def f(request_body):\n    logger.log(logging.INFO, request_body)\n",
        ["SG201"],
    ),
    # A false positive there: counts are harmless here.
    "50-size-of-a-payload": (LOG + "def f(payload):\n    logger.info('%d', len(payload))\n", []),
    # Allowed there: `print` is the standard stream here.
    "51-plain-print": ("print(1)\n", ["SG101"]),
    # A false positive there: a declaration is no call here.
    "52-declared-under-a-banned-name": ("def print(x): ...\nclass Thread: ...\nprint(1)\nThread()\n", []),
}


@pytest.mark.parametrize(("source", "expected"), STATIC.values(), ids=list(STATIC))
def test_static_guard(source: str, expected: list[str]) -> None:
    assert failing(source) == expected


@pytest.mark.parametrize(
    "path", ["tests/a.py", "tools/a.py", "examples/a.py"], ids=["41-test", "42-tool", "43-example"]
)
def test_other_roots_are_not_scanned(project: Project, path: str) -> None:
    project.put(path, "import threading\nthreading.Thread(target=f)\n")
    assert project.report(".")["findings"] == []


THREAD = "import threading\nt = threading.Thread(target=f)\n"
TWO_LINES = THREAD + "u = threading.Thread(target=f)\n"
ONE_LINE = THREAD.replace("\nt = ", "\nt = threading.Thread(target=f), ")
NESTED = "import asyncio\nasyncio.set_event_loop(asyncio.new_event_loop())\n"


def entry(symbol: str, occurrences: int = 1, path: str = "src/a.py") -> str:
    return (
        f'[[exemptions]]\nrule = "SG401"\npath = "{path}"\nsymbol = "{symbol}"\n'
        f'occurrences = {occurrences}\nrationale = "The owner."\n'
    )


SET, NEW, RAW = "asyncio.set_event_loop", "asyncio.new_event_loop", "threading.Thread"


@pytest.mark.parametrize(
    ("source", "entries", "expected"),
    [
        pytest.param(NESTED, entry(SET) + entry(NEW), [], id="1-both-exempted"),
        pytest.param(THREAD, entry(RAW), [], id="6-one-exempted"),
        pytest.param("x = 1\n", entry(RAW), ["SG902"], id="7-stale"),
        pytest.param(THREAD, entry(RAW, path="src/b.py"), ["SG902", "SG401"], id="8-another-file"),
        pytest.param(TWO_LINES, entry(RAW), ["SG903", "SG401", "SG401"], id="9-two-of-one"),
        pytest.param("import threading\n", entry(RAW), ["SG902"], id="10-none-of-one"),
        pytest.param(NESTED, entry(SET), ["SG401"], id="11-12-nested-is-not-covered"),
        pytest.param(ONE_LINE, entry(RAW), ["SG903", "SG401", "SG401"], id="13-two-on-one-line"),
    ],
)
def test_ratchet(project: Project, source: str, entries: str, expected: list[str]) -> None:
    project.write(src__a=source, src__b="x = 1\n").configure(entries)
    assert [f["rule"] for f in project.report("src")["findings"] if f["fails"]] == expected


# --- cancellation --------------------------------------------------------------------------------------------------


def handler(clause: str, body: str = "pass", *, head: str = "", function: str = "async def f(t)") -> str:
    awaits = "await t()" if function.startswith("async") else "t()"
    return (
        "import asyncio\nfrom tramapy import rethrow_if_cancellation\n"
        + head
        + f"{function}:\n    try:\n        {awaits}\n    {clause}:\n"
        + indent(dedent(body).strip("\n"), "        ")
        + "\n"
    )


def worst(source: str) -> tuple[str, str]:
    """Return the rule and the risk of the worst finding; accepted handlers count as findings without a fault."""
    report: FileReport = check_source(source, "src/m.py", with_accepted=True)
    assert report.diagnostics == ()
    worst_one: Violation | None = max(report.violations, key=lambda v: v.risk, default=None)
    return ("", "") if worst_one is None else (worst_one.rule, worst_one.risk.label)


BASE = "except BaseException as e"
NOTHING, ACCEPTED = ("", ""), ("SG501", "accepted")
CRITICAL, TRANSFORMED, LATE = ("SG501", "critical"), ("SG502", "high"), ("SG503", "high")
IS_CANCELLATION = "if isinstance(e, asyncio.CancelledError):"

CANCELLATION: dict[str, tuple[str, tuple[str, str]]] = {
    # `except Exception` does not receive a cancellation in Python, so the broad class is BaseException.
    "77-broad-and-logging": (handler(BASE, "log(e)"), CRITICAL),
    "77-exception-is-not-broad": (handler("except Exception as e", "log(e)"), NOTHING),
    "78-unnamed-and-empty": (handler("except BaseException"), CRITICAL),
    "78-bare": (handler("except"), CRITICAL),
    # The nearest thing to runCatching.
    "79-suppress": (
        "import contextlib\nasync def f(t):\n    with contextlib.suppress(BaseException):\n        await t()\n",
        CRITICAL,
    ),
    "80-check-and-raise-on-one-line": (
        handler(BASE, "if isinstance(e, asyncio.CancelledError): raise e\nlog(e)"),
        ACCEPTED,
    ),
    "81-no-rethrow": (handler(BASE, "x = 1"), CRITICAL),
    "82-clause-over-three-lines": (
        handler("except (\n        BaseException\n    ) as e", "log(e)"),
        CRITICAL,
    ),
    "83-check-with-its-own-block": (handler(BASE, f"{IS_CANCELLATION}\n    raise e\nlog(e)"), ACCEPTED),
    "84-narrow-class": (
        handler("except lib.errors.NarrowError as e", "log(e)", head="import lib.errors\n"),
        NOTHING,
    ),
    "85-ordinary-function": (handler(BASE, "log(e)", function="def f(t)"), ("SG501", "medium")),
    "86-clause-in-a-string": ('async def f(t):\n    await t("except BaseException: pass")\n', NOTHING),
    "87-check-audits-then-domain-error": (
        handler(BASE, f"{IS_CANCELLATION}\n    audit()\nraise Domain() from e"),
        TRANSFORMED,
    ),
    "88-check-logs-then-other-error": (
        handler(BASE, f"{IS_CANCELLATION}\n    log(e)\nraise ValueError"),
        TRANSFORMED,
    ),
    "89-something-called-rethrow": (handler(BASE, "rethrow_metrics(e)"), CRITICAL),
    "90-named-in-a-comment": (handler(BASE, "# CancelledError\nraise Domain()"), TRANSFORMED),
    "91-named-in-a-string": (handler(BASE, 'x = "CancelledError"\nraise Domain()'), TRANSFORMED),
    "92-another-condition-raises": (
        handler(BASE, f"{IS_CANCELLATION}\n    audit()\nif other:\n    raise e"),
        CRITICAL,
    ),
    "93-helper-first": (handler(BASE, "rethrow_if_cancellation(e)\nlog(e)"), ACCEPTED),
    "94-helper-on-another-name": (
        handler("except BaseException as err", "rethrow_if_cancellation(err)\nraise Domain()"),
        ACCEPTED,
    ),
    "95-helper-with-blanks": (handler(BASE, "rethrow_if_cancellation( e )"), ACCEPTED),
    "96-helper-on-another-variable": (handler(BASE, "rethrow_if_cancellation(other)"), CRITICAL),
    "97-helper-after-logging": (handler(BASE, "log(e)\nrethrow_if_cancellation(e)"), LATE),
    "98-helper-in-a-string": (handler(BASE, '"rethrow_if_cancellation(e)"'), CRITICAL),
    "99-helper-in-a-condition": (handler(BASE, "if x:\n    rethrow_if_cancellation(e)"), CRITICAL),
    "100-side-effect-on-the-helpers-line": (handler(BASE, "audit(); rethrow_if_cancellation(e)"), LATE),
    "101-helper-behind-an-inline-if": (handler(BASE, "if x: rethrow_if_cancellation(e)"), CRITICAL),
    # Not accepted there, because the scanner reads lines; a comment is no statement here.
    "102-helper-behind-a-comment": (handler(BASE, "# first\nrethrow_if_cancellation(e)  # done"), ACCEPTED),
    "103-statements-without-helper": (handler(BASE, "a(); raise Domain()"), TRANSFORMED),
    "104-function-directly-behind-a-block": ("class A:\n    x = {}\n" + handler(BASE, "log(e)"), CRITICAL),
    "106-earlier-clause-lets-it-leave": (
        handler(
            "except asyncio.CancelledError as c:\n        clean()\n        raise c\n    " + BASE, "log(e)"
        ),
        ACCEPTED,
    ),
    "107-earlier-clause-raises-another": (
        handler("except asyncio.CancelledError as c:\n        raise Domain()\n    " + BASE, "raise"),
        TRANSFORMED,
    ),
    "107-earlier-clause-raises-the-cause": (
        handler("except asyncio.CancelledError as c:\n        raise c.__cause__\n    " + BASE, "raise"),
        TRANSFORMED,
    ),
    "107-earlier-clause-raises-nothing": (
        handler("except asyncio.CancelledError:\n        pass\n    " + BASE, "raise"),
        CRITICAL,
    ),
    "108-clause-behind-the-broad-one": (
        handler(BASE + ":\n        log(e)\n    except asyncio.CancelledError", "raise"),
        CRITICAL,
    ),
    "108-clause-in-a-nested-try": (
        handler(BASE, "try:\n    pass\nexcept asyncio.CancelledError:\n    raise\nlog(e)"),
        CRITICAL,
    ),
    # A false positive there: the canonical idiom here.
    "109-unconditional-raise": (handler(BASE, "clean()\nraise e"), ACCEPTED),
    # Misses there.
    "110-explicit-swallow": (handler("except asyncio.CancelledError"), CRITICAL),
    "111-in-a-coroutine-of-an-ordinary-function": (
        "def f(t):\n    async def run():\n        try:\n            await t()\n        except BaseException:\n"
        "            pass\n    return run\n",
        CRITICAL,
    ),
    "111a-guard-in-an-inner-clause-only": (
        handler(BASE, f"try:\n    g()\nexcept ValueError as e:\n    {IS_CANCELLATION}\n        raise"),
        CRITICAL,
    ),
    "111b-helper-under-a-long-clause": (
        handler("except (\n        BaseException\n    ) as e", "rethrow_if_cancellation(e)\nlog(e)"),
        ACCEPTED,
    ),
    "111c-all-on-one-line": (handler(BASE, "").rstrip() + " rethrow_if_cancellation(e)\n", ACCEPTED),
    "111d-helper-in-a-callback": (
        handler(BASE, "on_failure(lambda e: rethrow_if_cancellation(e))"),
        CRITICAL,
    ),
    "111e-jump-out-of-finally": (
        "async def f(t):\n    try:\n        await t()\n    finally:\n        return 1\n",
        ("SG504", "critical"),
    ),
}


@pytest.mark.parametrize(("source", "expected"), CANCELLATION.values(), ids=list(CANCELLATION))
def test_cancellation(source: str, expected: tuple[str, str]) -> None:
    assert worst(source) == expected


def test_105_directory_walk_and_direct_scan_agree(project: Project) -> None:
    source = handler(BASE, "log(e)")
    project.put("src/m.py", source)
    walked = [(f["rule"], f["line"], f["column"]) for f in project.report("src")["findings"]]
    direct = check_source(source, "src/m.py").violations
    assert walked == [(v.rule, v.line, v.column) for v in direct] != []


# --- the text of a construct, which proves a move ------------------------------------------------------------------


def content(source: str) -> str:
    (found,) = (v for v in check_source(source, with_accepted=True).violations if v.risk is Risk.CRITICAL)
    return found.content


def test_112_to_117_text_is_the_whole_construct() -> None:
    plain = handler(BASE, 'log("a  b")\naudit()')
    assert content(plain) == content("x = 1\n\n\n" + plain)
    assert content(plain) != content(plain.replace("audit()", "audit(1)"))
    assert content(plain) != content(plain.replace("a  b", "a b"))
    assert "#" in content(plain.replace("a  b", "a # b"))
    assert "audit()" in content(plain)


@pytest.mark.parametrize(
    "noise", ["x = 1  # }", "# } {", 'x = """\n}\n"""', 'x = "}"'], ids=["119", "120", "121", "122"]
)
def test_119_to_123_brackets_in_text_do_not_end_it(noise: str) -> None:
    assert content(handler(BASE, f"{noise}\naudit()")).endswith("audit()")


def test_124_inner_construct_is_part_of_the_outer() -> None:
    inner = "try:\n    g()\nexcept ValueError:\n    pass\naudit()"
    assert content(handler(BASE, inner)).endswith("audit()")


def test_125_unterminated_text_is_no_finding_but_a_diagnostic() -> None:
    report = check_source(handler(BASE, 'x = """'))
    assert (report.violations, [d.rule for d in report.diagnostics]) == ((), ["SG905"])


def test_141_to_143_moves(project: Project) -> None:
    swallow = handler(BASE, "log(e)")
    project.put("src/a.py", swallow)
    project.commit()
    (project.root / "src/a.py").rename(project.root / "src/b.py")
    assert project.report("--base", "HEAD", "src")["exit_code"] == 0
    project.put("src/b.py", swallow.replace("log(e)", "log(1)"))
    assert project.report("--base", "HEAD", "src")["exit_code"] == 1
    project.put("src/b.py", swallow).with_name("c.py").write_text(swallow, "utf-8")
    assert project.report("--base", "HEAD", "src")["exit_code"] == 1


# --- what a Python gate has to know beside them ---------------------------------------------------------------------

ANYIO = "import anyio\n"
FINDINGS: dict[str, tuple[str, list[str]]] = {
    "bare-except-with-await": (handler("except"), ["SG501"]),
    "base-exception-and-log": (handler(BASE, "log(e)"), ["SG501"]),
    "cancelled-error-aliased": (
        handler("except C", head="from asyncio import CancelledError as C\n"),
        ["SG501"],
    ),
    "anyio-class-in-a-variable": (
        handler("except C", head=ANYIO + "C = anyio.get_cancelled_exc_class()\n"),
        ["SG501"],
    ),
    "tuple-with-cancellation": (handler("except (ValueError, asyncio.CancelledError)"), ["SG501"]),
    "constant-tuple": (handler("except ALL", head="ALL = (ValueError, asyncio.CancelledError)\n"), ["SG501"]),
    "guard-on-the-wrong-variable": (
        handler(BASE, "if isinstance(t, asyncio.CancelledError):\n    raise"),
        ["SG501"],
    ),
    "guard-for-keyboard-interrupt-only": (
        handler(BASE, "if isinstance(e, KeyboardInterrupt):\n    raise"),
        ["SG501"],
    ),
    "helper-second": (handler(BASE, "log(e)\nrethrow_if_cancellation(e)"), ["SG503"]),
    "helper-under-if": (handler(BASE, "if t:\n    rethrow_if_cancellation(e)"), ["SG501"]),
    "raise-in-a-nested-def": (handler(BASE, "def g():\n    raise"), ["SG501"]),
    "bare-raise-in-an-inner-handler": (
        handler(BASE, "try:\n    g()\nexcept ValueError:\n    raise"),
        ["SG501"],
    ),
    "re-bound": (handler(BASE, "e = g()\nraise e"), ["SG502"]),
    "raise-from": (handler(BASE, "raise Domain() from e"), ["SG502"]),
    "return-in-finally": (
        "async def f(t):\n    try:\n        await t()\n    finally:\n        return 1\n",
        ["SG504"],
    ),
    "continue-in-finally": (
        "async def f(t):\n    for x in t:\n        try:\n            await x\n        finally:\n            continue\n",
        ["SG504"],
    ),
    "except-star": (handler("except* asyncio.CancelledError"), ["SG505"]),
    "except-star-with-raise": (handler("except* asyncio.CancelledError", "raise"), ["SG505"]),
    "suppress-aliased": (
        "from contextlib import suppress as s\nasync def f(t):\n    with s(BaseException):\n        await t()\n",
        ["SG501"],
    ),
    "aexit-returns-true": (
        "class A:\n    async def __aexit__(self, t, e, tb):\n        return True\n",
        ["SG501"],
    ),
    "asyncio-sibling-with-trio": (
        handler(
            "except asyncio.CancelledError:\n        raise\n    except BaseException", head="import trio\n"
        ),
        ["SG501"],
    ),
    "loop-swallow": (
        "async def f(t):\n    while True:\n        try:\n            await t()\n        except BaseException:\n"
        "            continue\n",
        ["SG501"],
    ),
    "print-imported": ("from builtins import print as p\np(1)\n", ["SG101"]),
    "map-print": ("list(map(print, xs))\n", ["SG101"]),
    "print-to-stderr": ("import sys\nprint(1, file=sys.stderr)\n", ["SG101"]),
    "self-documenting": (LOG + "def f(prompt):\n    logger.info(f'{prompt=}')\n", ["SG201"]),
    "extra": (LOG + "def f(p):\n    logger.info('x', extra={'prompt': p})\n", ["SG201"]),
    "bind": ("import structlog\ndef f(p):\n    structlog.get_logger().bind(prompt=p)\n", ["SG201"]),
    "percent": (LOG + "def f(prompt):\n    logger.info('%s' % prompt)\n", ["SG201"]),
    "one-hop": (LOG + "def f(prompt):\n    m = f'{prompt}'\n    logger.info(m)\n", ["SG201"]),
    "log-with-a-level": (
        "import logging\nlog = logging.getLogger()\ndef f(payload):\n    log.log(logging.DEBUG, payload)\n",
        ["SG201"],
    ),
    "requests-text": ("import requests\nrequests.get(u).text\n", ["SG301"]),
    "with-urlopen": ("from urllib.request import urlopen\nwith urlopen(u) as r:\n    r.read()\n", ["SG301"]),
    "annotated-response": ("import httpx\ndef f(resp: httpx.Response):\n    return resp.text\n", ["SG301"]),
    "join-over-chunks": (
        "import requests\nr = requests.get(u, stream=True)\nx = b''.join(r.iter_content(1024))\n",
        ["SG301"],
    ),
    "recv-loop": (
        "import socket\ns = socket.socket()\nd = b''\nwhile True:\n    c = s.recv(10)\n    d += c\n",
        ["SG302"],
    ),
    "stream-reader": (
        "import asyncio\nasync def f(r: asyncio.StreamReader):\n    return await r.read()\n",
        ["SG302"],
    ),
    "json-load-of-urlopen": (
        "import json\nfrom urllib.request import urlopen\njson.load(urlopen(u))\n",
        ["SG302"],
    ),
    "gzip": ("import gzip\ngzip.decompress(d)\n", ["SG303"]),
    "discarded-task": ("import asyncio\nasync def f(t):\n    asyncio.create_task(t())\n", ["SG402"]),
    "star-import-of-sys": ("from sys import *\nstderr.write('x')\n", ["SG101"]),
    "conditional-import": (
        "try:\n    from fast import show\nexcept ImportError:\n    from builtins import print as show\nshow(1)\n",
        ["SG101"],
    ),
}

CLEAN: dict[str, str] = {
    "except-exception": handler("except Exception"),
    "timeout-error": handler("except TimeoutError"),
    "cleanup-and-raise": handler("except BaseException", "t.close()\nraise"),
    "not-an-exception-first": handler(BASE, "if not isinstance(e, Exception):\n    raise\nlog(e)"),
    "sibling": handler("except asyncio.CancelledError:\n        raise\n    except BaseException"),
    "explicit-cleanup-then-raise": handler("except asyncio.CancelledError", "log()\nt.close()\nraise"),
    "break-of-a-loop-in-finally": (
        "async def f(t):\n    try:\n        await t()\n    finally:\n        for x in t:\n            break\n"
    ),
    "shadowed-print": "def f(print):\n    print(1)\n",
    "print-to-a-handle": "def f(fh):\n    print(1, file=fh)\n",
    "method-print": "def f(printer):\n    printer.print(1)\n",
    "prompt-as-a-word": LOG + "logger.info('prompt accepted')\n",
    "len-of-prompt": LOG + "def f(prompt):\n    logger.info('%d', len(prompt))\n",
    "prompt-tokens": LOG + "def f(prompt_tokens):\n    logger.info('%d', prompt_tokens)\n",
    "redacted": LOG + "def f(prompt):\n    logger.info(redact(prompt))\n",
    "math-log": "import math\ndef f(arguments):\n    return math.log(arguments)\n",
    "content-without-a-sink": "def f(message):\n    return message.content\n",
    "path-read-text": "from pathlib import Path\nPath(p).read_text()\n",
    "bytes-io": "import io\nio.BytesIO(d).read()\n",
    "read-with-an-amount": "from urllib.request import urlopen\nurlopen(u).read(4096)\n",
    "capped-loop": (
        "import requests\nr = requests.get(u, stream=True)\nd = b''\nfor c in r.iter_content(10):\n    d += c\n"
        "    if len(d) > 100:\n        raise ValueError\n"
    ),
    "bounded-helper": (
        "import requests\nfrom tramapy.bounded import read_bounded_response\n"
        "x = read_bounded_response(requests.get(u, stream=True))\n"
    ),
    "readline": "import asyncio\nasync def f(r: asyncio.StreamReader):\n    return await r.readline()\n",
    "max-length": "import zlib\nzlib.decompressobj().decompress(d, 1024)\n",
    "owned-executor": "import concurrent.futures as c\nwith c.ThreadPoolExecutor() as p:\n    p.submit(f)\n",
    "task-group": "import asyncio as a\nasync def f(t):\n  async with a.TaskGroup() as g:\n    g.create_task(t)\n",
    "docstring-with-code": 'def f():\n    """print(prompt)\n\n    >>> print(1)\n    """\n',
    "string-with-code": 'x = "except BaseException: pass"\n',
    "gathered-after-cancel": (
        "import asyncio\nasync def f(t):\n    t.cancel()\n    await asyncio.gather(t, return_exceptions=True)\n"
    ),
    "generator-that-ends": "def f():\n    try:\n        yield 1\n    except GeneratorExit:\n        return\n",
}


@pytest.mark.parametrize(("source", "expected"), FINDINGS.values(), ids=list(FINDINGS))
def test_python_finding(source: str, expected: list[str]) -> None:
    assert failing(source) == expected


@pytest.mark.parametrize("source", CLEAN.values(), ids=list(CLEAN))
def test_python_no_finding(source: str) -> None:
    report = check_source(source, "src/m.py")
    assert (report.violations, report.diagnostics) == ((), ())


def test_python_no_finding_in_a_test() -> None:
    assert check_source("print(1)\n", "tests/test_a.py", role=Role.TEST).violations == ()


@pytest.mark.parametrize(
    "comment", ["noqa", "type: ignore", "pragma: no cover", "safety-gate: allow SG101 -- x"]
)
def test_comments_exempt_nothing(comment: str) -> None:
    assert failing(f"print(1)  # {comment}\n") == ["SG101"]


def test_kotlin_broadness_holds_for_every_shape() -> None:
    settings = RuleSettings(exception_is_broad=True)
    report = check_source(handler("except Exception as e", "log(e)"), settings=settings)
    assert [(v.rule, v.risk.label) for v in report.violations] == [("SG501", "critical")]
