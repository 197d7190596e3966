"""SG201: prompts, responses, tool arguments, tokens and credentials stay out of logs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from safety_gate.exposure import ExposureKind
from safety_gate.leaks import leaks
from safety_gate.rule import Rule
from safety_gate.sink_words import SINK_WORDS
from safety_gate.unit import Unit
from safety_gate.violation import Violation


class SensitivePayloadLogging(Rule):
    """Finds sinks that are given a payload or a secret by name."""

    code = "SG201"
    name = "sensitive-payload-logging"
    summary = "A payload or secret is given to a logger, a warning, a trace or a standard stream."
    triggers: ClassVar[tuple[str, ...]] = SINK_WORDS

    def check(self, unit: Unit) -> Iterator[Violation]:
        """Yield every sink that shows something sensitive."""
        for sink, exposure in unit.shared(leaks):
            if exposure.kind is ExposureKind.WORD:
                message = (
                    f"`{exposure.name}` goes out through `{sink.symbol}`. Log an id, a count or "
                    f"a status, or redact it."
                )
                yield self.violation(unit, sink.call, message, symbol=sink.symbol)
