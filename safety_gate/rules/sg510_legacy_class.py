"""SG510: async code does not wait for the cancellation class of `concurrent.futures`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from safety_gate.cancellation.classes import LEGACY, members
from safety_gate.cancellation.handlers import symbol
from safety_gate.rule import Rule
from safety_gate.unit import Unit
from safety_gate.violation import Risk, Violation


class LegacyCancellationClass(Rule):
    """Advises on `except concurrent.futures.CancelledError` where a task cancellation was meant."""

    code = "SG510"
    name = "legacy-cancellation-class"
    summary = "concurrent.futures.CancelledError never is a task's cancellation."
    triggers: ClassVar[tuple[str, ...]] = ("futures CancelledError",)

    def check(self, unit: Unit) -> Iterator[Violation]:
        """Yield every handler of the class, as advice."""
        for handler in unit.index.all(ast.ExceptHandler):
            if handler.type is None or not any(LEGACY in paths for paths in members(unit, handler.type)):
                continue
            is_async = isinstance(unit.index.function(handler), ast.AsyncFunctionDef)
            message = (
                "concurrent.futures.CancelledError is another class than "
                "asyncio.CancelledError: a task's cancellation "
                "never arrives here. Catch the class that is meant."
            )
            yield self.violation(
                unit, handler, message, symbol=symbol(unit, handler, LEGACY),
                risk=Risk.MEDIUM if is_async else Risk.LOW, catch_type=LEGACY,
            )  # fmt: skip
