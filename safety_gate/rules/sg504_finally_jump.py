"""SG504: `finally` does not jump."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from safety_gate.cancellation.delivery import is_cancellable
from safety_gate.cancellation.handlers import symbol
from safety_gate.index import inside
from safety_gate.rule import Rule
from safety_gate.unit import Unit
from safety_gate.violation import Risk, Violation

_LOOPS = (ast.While, ast.For, ast.AsyncFor)


class FinallyJump(Rule):
    """Finds `return`, `break` and `continue` that leave a `finally` and discard what is being raised."""

    code = "SG504"
    name = "finally-jump"
    summary = "A jump out of finally discards the exception in flight."
    triggers: ClassVar[tuple[str, ...]] = ("finally return", "finally break", "finally continue")

    def check(self, unit: Unit) -> Iterator[Violation]:
        """Yield every jump that leaves a `finally`."""
        for block in unit.index.tries():
            for statement in block.finalbody:
                for node in inside(statement):
                    if isinstance(node, ast.Return | ast.Break | ast.Continue) and _leaves(unit, node, block):
                        yield self._jump(unit, node, block)

    def _jump(self, unit: Unit, node: ast.stmt, block: ast.Try | ast.TryStar) -> Violation:
        arrives = is_cancellable(unit, [*block.body, *block.handlers, *block.orelse])
        word = type(node).__name__.lower()
        lost = "a cancellation" if arrives else "any exception"
        message = (
            f"`{word}` in `finally` discards {lost} that is being raised. Move it behind the try statement."
        )
        return self.violation(
            unit, node, message, symbol=symbol(unit, node, word),
            risk=Risk.CRITICAL if arrives else Risk.MEDIUM,
            catch_type="finally",
        )  # fmt: skip


def _leaves(unit: Unit, node: ast.AST, block: ast.AST) -> bool:
    for parent in unit.index.ancestors(node):
        if parent is block:
            return True
        if isinstance(parent, _LOOPS) and not isinstance(node, ast.Return):
            return False
        if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return False
    return False
