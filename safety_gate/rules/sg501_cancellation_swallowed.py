"""SG501: a cancellation that arrives leaves again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from safety_gate.cancellation.handlers import Fate, Judgement, judgements, loops, symbol
from safety_gate.cancellation.suppression import Suppression, reaps, suppressions
from safety_gate.rule import Rule
from safety_gate.unit import Unit
from safety_gate.violation import Risk, Violation

_FORMS = {
    "suppress": (
        "`suppress({label})` swallows a cancellation that arrives in its block. Suppress narrower classes."
    ),
    "exit": (
        "`{label}` returns a true value for a cancellation and so swallows it. Return False, "
        "or test the class."
    ),
    "retry": "The retry catches {label}, so a cancelled task starts again. Retry on narrower classes.",
}


class CancellationSwallowed(Rule):
    """Finds handlers, `suppress`, exit methods and retries after which a cancelled task runs on."""

    code = "SG501"
    name = "cancellation-swallowed"
    summary = "A handler, suppress(), exit method or retry makes a cancellation vanish."
    triggers: ClassVar[tuple[str, ...]] = (
        "except",
        "suppress",
        "__aexit__",
        "__exit__",
        "backoff",
        "tenacity",
    )

    def check(self, unit: Unit) -> Iterator[Violation]:
        """Yield every construct that can receive a cancellation, those that preserve it as accepted."""
        for judgement in unit.shared(judgements):
            if judgement.fate in (Fate.SWALLOWED, Fate.PRESERVED) and not _is_reap(unit, judgement):
                yield self._handler(unit, judgement)
        for suppression in unit.shared(suppressions):
            if not suppression.is_reap:
                yield self._suppression(unit, suppression)

    def _handler(self, unit: Unit, judgement: Judgement) -> Violation:
        label = judgement.catch.label
        if loops(unit, judgement):
            message = f"The loop goes on after {label} is caught: the task cannot be stopped. Re-raise it."
        elif judgement.is_cancellable:
            message = (
                f"A cancellation caught as {label} does not leave this handler on every path. Re-raise it."
            )
        else:
            message = f"This handler of {label} would swallow a cancellation; none can arrive here today."
        if judgement.risk is Risk.ACCEPTED:
            message = f"This handler of {label} lets a cancellation leave."
        return self.violation(
            unit, judgement.handler, message, symbol=symbol(unit, judgement.handler, label),
            risk=judgement.risk,
            catch_type=label,
        )  # fmt: skip

    def _suppression(self, unit: Unit, suppression: Suppression) -> Violation:
        message = _FORMS[suppression.form].format(label=suppression.label)
        return self.violation(
            unit, suppression.node, message, symbol=symbol(unit, suppression.node, suppression.label),
            risk=suppression.risk, catch_type=suppression.label,
        )  # fmt: skip


def _is_reap(unit: Unit, judgement: Judgement) -> bool:
    return judgement.fate is Fate.SWALLOWED and judgement.is_cancellable and reaps(unit, judgement.block.body)
