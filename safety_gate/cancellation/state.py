"""`State`: what is known of a cancellation on one path."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What is known on one path.

    Attributes:
        held: Names that hold the cancellation.
        type_names: Names that hold its class (`__exit__`).
        tests: Names that hold the result of a `cancelling()` test.
        is_current: Whether a bare `raise` raises the cancellation.
        has_acted: Whether something other than cleanup has run.
        has_run: Whether any statement has run.
        is_late: Whether a guard came after something had acted.
        is_certain: Whether no condition of unknown truth lies behind.
    """

    held: frozenset[str] = frozenset()
    type_names: frozenset[str] = frozenset()
    tests: frozenset[str] = frozenset()
    is_current: bool = True
    has_acted: bool = False
    has_run: bool = False
    is_late: bool = False
    is_certain: bool = True
