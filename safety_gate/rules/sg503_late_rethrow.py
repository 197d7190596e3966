"""SG503: in a broad handler the cancellation leaves first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from safety_gate.cancellation.handlers import Fate, judgements, symbol
from safety_gate.rule import Rule
from safety_gate.unit import Unit
from safety_gate.violation import Violation


class LateRethrow(Rule):
    """Finds broad handlers that log, record or retry before they let a cancellation go."""

    code = "SG503"
    name = "late-rethrow"
    summary = "A broad handler acts before it lets a cancellation leave."
    triggers: ClassVar[tuple[str, ...]] = ("except",)

    def check(self, unit: Unit) -> Iterator[Violation]:
        """Yield every broad handler whose guard comes after other work."""
        for judgement in unit.shared(judgements):
            if judgement.fate is Fate.LATE:
                label = judgement.catch.label
                message = (
                    f"This handler of {label} acts before its guard, so a cancellation is "
                    f"handled as a failure first. "
                    "Make the guard the first statement."
                )
                yield self.violation(
                    unit, judgement.handler, message, symbol=symbol(unit, judgement.handler, label),
                    risk=judgement.risk, catch_type=label,
                )  # fmt: skip
