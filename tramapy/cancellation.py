"""Cancellation must pass through everything: one test for it, and one way to let it pass.

On asyncio and trio a cancellation derives from `BaseException`, so `except Exception` lets it through by
itself. Three places still hold one: `except BaseException`, an exception group, and
`concurrent.futures.CancelledError`, which is an ordinary `Exception`.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import sys
from collections.abc import Iterator
from typing import cast

__all__ = ["is_cancellation", "leaves", "rethrow_if_cancellation"]

_ALWAYS: tuple[type[BaseException], ...] = (
    asyncio.CancelledError,
    concurrent.futures.CancelledError,
    KeyboardInterrupt,
    SystemExit,
    GeneratorExit,
)


def rethrow_if_cancellation(error: BaseException) -> None:
    """Raise `error` again if it must not be contained; otherwise do nothing.

    Call it first in every broad handler, before the error is wrapped, logged, retried or dropped::

        except BaseException as error:
            rethrow_if_cancellation(error)
            ...

    Args:
        error: What was caught.

    Raises:
        BaseException: The same object, if `is_cancellation(error)`.
    """
    if is_cancellation(error):
        raise error


def is_cancellation(error: BaseException) -> bool:
    """Tell whether `error` is a cancellation or an exit, on any event loop or thread pool.

    True for asyncio's, trio's and `concurrent.futures`' cancellation, for `KeyboardInterrupt`, `SystemExit`
    and `GeneratorExit`, and for a group with one of them anywhere inside: a cancellation wins over the
    failures beside it.
    """
    return any(isinstance(leaf, _ALWAYS) or _is_trio_cancelled(leaf) for leaf in leaves(error))


def leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield the single errors of a group at any depth, or `error` itself where it is none.

    Not recursive: the depth is somebody else's choice.
    """
    pending: list[BaseException] = [error]
    while pending:
        current = pending.pop()
        if isinstance(current, BaseExceptionGroup):
            pending.extend(reversed(cast("BaseExceptionGroup[BaseException]", current).exceptions))
        else:
            yield current


def _is_trio_cancelled(error: BaseException) -> bool:
    """Ask trio only where a program has imported it: an import here would cost everybody 60 ms."""
    trio = sys.modules.get("trio")
    return trio is not None and isinstance(error, trio.Cancelled)
