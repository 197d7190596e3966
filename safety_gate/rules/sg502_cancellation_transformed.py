"""SG502: a cancellation stays a cancellation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from safety_gate.cancellation.handlers import Fate, judgements, symbol
from safety_gate.rule import Rule
from safety_gate.unit import Unit
from safety_gate.violation import Violation


class CancellationTransformed(Rule):
    """Finds handlers that raise something else in place of the cancellation."""

    code = "SG502"
    name = "cancellation-transformed"
    summary = "A handler turns a cancellation into another exception."
    triggers: ClassVar[tuple[str, ...]] = ("except raise", "except exit", "except _exit")

    def check(self, unit: Unit) -> Iterator[Violation]:
        """Yield every handler from which only another exception can leave."""
        for judgement in unit.shared(judgements):
            if judgement.fate is Fate.TRANSFORMED:
                label = judgement.catch.label
                message = (
                    f"A cancellation caught as {label} leaves as another exception, so the task "
                    f"is not cancelled. "
                    "Let it pass first: call rethrow_if_cancellation, or catch Exception."
                )
                yield self.violation(
                    unit, judgement.handler, message, symbol=symbol(unit, judgement.handler, label),
                    risk=judgement.risk, catch_type=label,
                )  # fmt: skip
