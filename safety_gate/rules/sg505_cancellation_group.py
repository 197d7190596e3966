"""SG505: a cancellation inside an exception group leaves as a cancellation."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from safety_gate.cancellation.handlers import Fate, judgements, symbol
from safety_gate.rule import Rule
from safety_gate.unit import Unit
from safety_gate.violation import Violation


class CancellationGroup(Rule):
    """Finds `except*` and `except BaseExceptionGroup` that take a cancellation."""

    code = "SG505"
    name = "cancellation-group"
    summary = "except* or a handler of BaseExceptionGroup takes a cancellation."
    triggers: ClassVar[tuple[str, ...]] = ("except",)

    def check(self, unit: Unit) -> Iterator[Violation]:
        """Yield every group handler that a cancellation cannot leave as itself."""
        for judgement in unit.shared(judgements):
            if judgement.fate is not Fate.GROUPED:
                continue
            label = judgement.catch.label
            if isinstance(judgement.block, ast.TryStar):
                message = (
                    f"`except* {label}` takes a cancellation; even re-raised it leaves as a "
                    f"group and the task is not "
                    "cancelled. Catch the cancellation with a plain handler first."
                )
            else:
                message = (
                    f"This handler of {label} can hold a cancellation and does not let it "
                    f"leave. Split the group."
                )
            yield self.violation(
                unit, judgement.handler, message, symbol=symbol(unit, judgement.handler, label),
                risk=judgement.risk,
                catch_type=label,
            )  # fmt: skip
