"""SG506: a generator that is closed ends."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import ClassVar, cast

from safety_gate.cancellation.classes import classify
from safety_gate.cancellation.delivery import has_yield
from safety_gate.cancellation.flow import Outcome, trace
from safety_gate.cancellation.guards import CLOSE
from safety_gate.cancellation.handlers import symbol
from safety_gate.cancellation.state import State
from safety_gate.rule import Rule
from safety_gate.unit import Unit
from safety_gate.violation import Violation

_FRAMES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.Module, ast.ClassDef)


class GeneratorExitIgnored(Rule):
    """Finds generators that yield again after `GeneratorExit`."""

    code = "SG506"
    name = "generator-exit-ignored"
    summary = "A generator goes on to a yield after it was told to close."
    triggers: ClassVar[tuple[str, ...]] = ("except yield",)

    def check(self, unit: Unit) -> Iterator[Violation]:
        """Yield every handler that receives `GeneratorExit` and from which a `yield` is reached."""
        for block in unit.index.all(ast.Try):
            if not has_yield(block.body):
                continue
            for handler in block.handlers:
                catch = classify(unit, handler.type)
                if catch.closes_generators:
                    if self._goes_on(unit, block, handler):
                        label = "GeneratorExit" if catch.label == "GeneratorExit" else catch.label
                        message = (
                            f"After GeneratorExit is caught as {label}, this generator goes on "
                            f"to a yield, and closing it "
                            "raises RuntimeError. Re-raise it, or end."
                        )
                        yield self.violation(
                            unit, handler, message, symbol=symbol(unit, handler, "GeneratorExit"),
                            catch_type="GeneratorExit",
                        )  # fmt: skip
                    break

    def _goes_on(self, unit: Unit, block: ast.Try, handler: ast.ExceptHandler) -> bool:
        held = frozenset({handler.name}) if handler.name else frozenset[str]()
        walked = trace(unit, handler.body, State(held=held), hypothesis=CLOSE)
        goes_on = walked.outcomes & {Outcome.THROUGH, Outcome.CONTINUE}
        if walked.outcomes and not goes_on:
            return False
        return has_yield(handler.body) or (bool(goes_on) and _yields_after(unit, block))


def _yields_after(unit: Unit, block: ast.stmt) -> bool:
    """Tell whether a yield can run after a statement: behind it, or in a loop around it."""
    child: ast.AST = block
    for parent in unit.index.ancestors(block):
        if isinstance(parent, ast.While | ast.For | ast.AsyncFor):
            return True  # the yield in the block itself comes round again
        if has_yield(_rest(parent, child)):
            return True
        if isinstance(parent, _FRAMES):
            return False
        child = parent
    return False


def _rest(parent: ast.AST, child: ast.AST) -> Sequence[ast.stmt]:
    for name in ("body", "orelse", "finalbody"):
        found: object = getattr(parent, name, None)
        block = cast(list[ast.stmt], found) if isinstance(found, list) else []
        if isinstance(child, ast.stmt) and child in block:
            return block[block.index(child) + 1 :]
    return ()
