"""Compare two revisions: only what is new or worse fails.

Line numbers prove nothing, so findings are paired by what they are: the family, the file, the function and
the class.
A finding that moved to another file is forgiven only if its text proves the move.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from safety_gate.violation import Risk, Violation

_Key = tuple[str, str, str, str]


def compare(base: Iterable[Violation], current: Iterable[Violation]) -> tuple[Violation, ...]:
    """Return the current findings, failing only where they are new or worse.

    Args:
        base: The findings of the old revision, accepted ones included.
        current: The findings of the new one, accepted ones included.
    """
    old, new = _grouped(base), _grouped(current)
    judged: list[Violation] = []
    added: list[Violation] = []
    removed: list[Violation] = []
    for key in {**old, **new}:
        done, surplus, gone = _pair(old.get(key, []), new.get(key, []))
        judged += done
        added += surplus
        removed += gone
    for violation in added:
        judged.append(_forgiven(violation) if _moved(violation, added, removed) else _new(violation))
    return tuple(sorted(judged, key=lambda violation: violation.order))


def is_cancellation(violation: Violation) -> bool:
    """Tell whether a finding is of a cancellation rule."""
    return violation.rule.startswith("SG5")


def _grouped(violations: Iterable[Violation]) -> dict[_Key, list[Violation]]:
    groups: dict[_Key, list[Violation]] = defaultdict(list)
    for violation in sorted(violations, key=lambda v: v.order):
        groups[_key(violation)].append(violation)
    return groups


def _key(violation: Violation) -> _Key:
    # A swallow that becomes a transformation changes its code, not its identity.
    family = "SG5" if is_cancellation(violation) else violation.rule
    what = violation.catch_type if is_cancellation(violation) else violation.symbol
    return (family, violation.path, violation.function, what)


def _pair(
    old: Sequence[Violation], new: Sequence[Violation]
) -> tuple[list[Violation], list[Violation], list[Violation]]:
    """Pair findings of one identity: equal risks first, the rest from the worst down."""
    judged: list[Violation] = []
    rest_old = list(old)
    rest_new: list[Violation] = []
    for violation in new:
        match = next((o for o in rest_old if o.risk == violation.risk), None)
        if match is None:
            rest_new.append(violation)
        else:
            rest_old.remove(match)
            judged.append(_forgiven(violation))
    rest_old.sort(key=lambda v: -v.risk)
    rest_new.sort(key=lambda v: -v.risk)
    for before, after in zip(rest_old, rest_new, strict=False):
        judged.append(_worse(before, after) if after.risk > before.risk else _forgiven(after))
    return judged, rest_new[len(rest_old) :], rest_old[len(rest_new) :]


def _moved(violation: Violation, added: Sequence[Violation], removed: Sequence[Violation]) -> bool:
    def is_alike(other: Violation) -> bool:
        same = (other.rule, other.function, other.catch_type, other.symbol.partition("@")[0], other.risk)
        return same == (
            violation.rule, violation.function, violation.catch_type, violation.symbol.partition("@")[0],
            violation.risk,
        )  # fmt: skip

    old = [other for other in removed if is_alike(other)]
    new = [other for other in added if is_alike(other)]
    if len(old) != 1 or len(new) != 1:
        return False
    return old[0].path != violation.path and bool(violation.content) and old[0].content == violation.content


def _forgiven(violation: Violation) -> Violation:
    return replace(violation, fails=False)


def _new(violation: Violation) -> Violation:
    if violation.risk < Risk.HIGH or violation.is_exempted:
        return replace(violation, fails=False)
    return replace(violation, fails=True, message=f"New: {violation.message}")


def _worse(before: Violation, after: Violation) -> Violation:
    message = f"Worse than before ({before.risk.label} to {after.risk.label}): {after.message}"
    return replace(after, fails=not after.is_exempted, message=message)
