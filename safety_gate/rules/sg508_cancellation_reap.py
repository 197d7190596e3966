"""SG508: waiting for a cancelled task does not swallow a cancellation of the waiter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from safety_gate.cancellation.handlers import Fate, judgements, symbol
from safety_gate.cancellation.suppression import reaps, suppressions
from safety_gate.rule import Rule
from safety_gate.unit import Unit
from safety_gate.violation import Risk, Violation

_MESSAGE = (
    "Waiting for a cancelled task this way also swallows a cancellation of the waiter. Use "
    "`await asyncio.gather(task, return_exceptions=True)`, or re-raise when `current_task().cancelling()`."
)


class CancellationReap(Rule):
    """Advises on `task.cancel()` followed by `await task` under a suppressed cancellation."""

    code = "SG508"
    name = "cancellation-reap"
    summary = "The reap idiom eats a cancellation aimed at the waiting task."
    triggers: ClassVar[tuple[str, ...]] = ("cancel",)

    def check(self, unit: Unit) -> Iterator[Violation]:
        """Yield every reap, as advice."""
        for suppression in unit.shared(suppressions):
            if suppression.is_reap:
                yield self.violation(
                    unit, suppression.node, _MESSAGE, symbol=symbol(unit, suppression.node,
                    suppression.label),
                    risk=Risk.MEDIUM, catch_type=suppression.label,
                )  # fmt: skip
        for judgement in unit.shared(judgements):
            if (
                judgement.fate is Fate.SWALLOWED
                and judgement.is_cancellable
                and reaps(unit, judgement.block.body)
            ):
                label = judgement.catch.label
                yield self.violation(
                    unit, judgement.handler, _MESSAGE, symbol=symbol(unit, judgement.handler, label),
                    risk=Risk.MEDIUM,
                    catch_type=label,
                )  # fmt: skip
