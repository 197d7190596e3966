"""Cancellation must pass through everything: one test for it, and one way to let it pass.

On asyncio and trio a cancellation derives from `BaseException`, so `except Exception` lets it through by
itself. Three places still hold one: `except BaseException`, an exception group, and
`concurrent.futures.CancelledError`, which is an ordinary `Exception`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import cast

__all__ = ["cancellation_in", "is_cancellation", "leaves", "rethrow_if_cancellation"]

_EXITS = (KeyboardInterrupt, SystemExit, GeneratorExit)

# Asked for only where a program has imported them: importing asyncio here would cost a sync program 30 ms.
_ELSEWHERE = (
    ("asyncio.exceptions", "CancelledError"),
    ("concurrent.futures._base", "CancelledError"),
    ("trio", "Cancelled"),
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
    return any(isinstance(leaf, (*_EXITS, *_imported())) for leaf in leaves(error))


def cancellation_in(error: BaseException) -> BaseException:
    """Return what of a cancellation goes on: of a group the cancellations alone, and a single one by itself.

    The failures beside it have lost to it, and may hold payload.
    """
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast("BaseExceptionGroup[BaseException]", error)
    found = [leaf for leaf in leaves(group) if is_cancellation(leaf)]
    return found[0] if len(found) == 1 else BaseExceptionGroup("cancelled", found)


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


def _imported() -> list[type[BaseException]]:
    return [getattr(sys.modules[module], name) for module, name in _ELSEWHERE if module in sys.modules]
