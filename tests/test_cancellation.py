"""`is_cancellation` and `rethrow_if_cancellation`."""

from __future__ import annotations

import asyncio
import concurrent.futures
import subprocess
import sys

import pytest
import trio

from tramapy import rethrow_if_cancellation
from tramapy.cancellation import is_cancellation, leaves


def trio_cancelled() -> BaseException:
    caught: list[BaseException] = []

    async def main() -> None:
        with trio.CancelScope() as scope:
            scope.cancel()
            try:
                await trio.lowlevel.checkpoint()
            except BaseException as error:
                caught.append(error)
                raise

    trio.run(main)
    return caught[0]


CANCELLATIONS = [
    asyncio.CancelledError(),
    concurrent.futures.CancelledError(),
    trio_cancelled(),
    KeyboardInterrupt(),
    SystemExit(1),
    GeneratorExit(),
    BaseExceptionGroup("g", [ValueError(), BaseExceptionGroup("h", [KeyError(), asyncio.CancelledError()])]),
    ExceptionGroup("g", [ValueError(), concurrent.futures.CancelledError()]),
]


@pytest.mark.parametrize("error", CANCELLATIONS, ids=lambda error: type(error).__name__)
def test_a_cancellation_is_raised_again_as_the_same_object(error: BaseException) -> None:
    assert is_cancellation(error)
    with pytest.raises(type(error)) as caught:
        rethrow_if_cancellation(error)
    assert caught.value is error


@pytest.mark.parametrize(
    "error",
    [ValueError(), TimeoutError(), trio.TooSlowError(), ExceptionGroup("g", [ValueError(), KeyError()])],
    ids=lambda error: type(error).__name__,
)
def test_anything_else_is_left_alone(error: BaseException) -> None:
    assert not is_cancellation(error)
    rethrow_if_cancellation(error)


def test_leaves_come_in_order_at_any_depth() -> None:
    deep: Exception = ValueError("0")
    for _ in range(5000):
        deep = ExceptionGroup("g", [deep])
    error = ExceptionGroup("top", [KeyError("a"), deep, KeyError("b")])
    assert [str(leaf) for leaf in leaves(error)] == ["'a'", "0", "'b'"]


def test_trio_is_not_imported_for_the_question() -> None:
    code = (
        "import sys; from tramapy.cancellation import is_cancellation; is_cancellation(ValueError()); "
        "sys.exit('trio' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
