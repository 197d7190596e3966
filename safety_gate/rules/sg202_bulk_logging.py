"""SG202: nobody logs everything at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from safety_gate.exposure import ExposureKind
from safety_gate.leaks import leaks
from safety_gate.rule import Rule
from safety_gate.sink_words import SINK_WORDS
from safety_gate.unit import Unit
from safety_gate.violation import Violation


class SensitiveBulkLogging(Rule):
    """Finds sinks that are given a whole frame, object, request or environment."""

    code = "SG202"
    name = "sensitive-bulk-logging"
    summary = "A whole frame, object, request or environment is given to a sink."
    triggers: ClassVar[tuple[str, ...]] = SINK_WORDS

    def check(self, unit: Unit) -> Iterator[Violation]:
        """Yield every sink that shows many values whose names nobody checked."""
        for sink, exposure in unit.shared(leaks):
            if exposure.kind is ExposureKind.BULK:
                message = (
                    f"`{exposure.name}` shows everything it holds through `{sink.symbol}`. Log named fields."
                )
                yield self.violation(unit, sink.call, message, symbol=sink.symbol)
