"""SG507: cleanup that waits is shielded, on trio and anyio."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import ClassVar

from safety_gate.cancellation.classes import CatchKind, frameworks
from safety_gate.cancellation.delivery import is_shielded
from safety_gate.cancellation.handlers import judgements, symbol
from safety_gate.index import inside
from safety_gate.rule import Rule
from safety_gate.unit import Unit
from safety_gate.violation import Risk, Violation

# These finish their work even in a cancelled scope.
_SAFE = ("aclose", "aclose_forcefully", "cancel_shielded_checkpoint", "__aexit__")
_WAITS = (ast.Await, ast.AsyncFor, ast.AsyncWith)


class UnshieldedCleanup(Rule):
    """Finds awaits in `finally` and in cancellation handlers that a cancelled scope interrupts at once."""

    code = "SG507"
    name = "unshielded-cleanup"
    summary = "Cleanup awaits without a shield; trio and anyio cancel it again."
    triggers: ClassVar[tuple[str, ...]] = ("trio await", "anyio await", "trio async", "anyio async")

    def check(self, unit: Unit) -> Iterator[Violation]:
        """Yield the first unshielded wait of each cleanup block."""
        if not unit.shared(frameworks) & {"trio", "anyio"}:
            return
        for block in unit.index.tries():
            yield from self._block(unit, block.finalbody, "finally")
        for judgement in unit.shared(judgements):
            if judgement.is_cancellable and judgement.catch.kind is CatchKind.EXPLICIT:
                yield from self._block(unit, judgement.handler.body, judgement.catch.label)

    def _block(self, unit: Unit, body: Sequence[ast.stmt], label: str) -> Iterator[Violation]:
        if not body or not isinstance(unit.index.function(body[0]), ast.AsyncFunctionDef):
            return
        waits = [node for statement in body for node in inside(statement) if isinstance(node, _WAITS)]
        shields = any(_sets_shield(unit, node) for statement in body for node in inside(statement))
        for node in sorted(waits, key=lambda node: (node.lineno, node.col_offset)):
            if not shields and not _is_safe(node) and not is_shielded(unit, node, body):
                message = (
                    "This cleanup waits outside a shielded scope, so trio and anyio cancel it "
                    "again at once. Wrap it in "
                    "CancelScope(shield=True) with a deadline."
                )
                yield self.violation(
                    unit, node, message, symbol=symbol(unit, node, label), risk=Risk.HIGH, catch_type=label
                )  # fmt: skip
                return


def _is_safe(node: ast.AST) -> bool:
    match node:
        case ast.Await(value=ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name))):
            return name in _SAFE
        case _:
            return False


def _sets_shield(unit: Unit, node: ast.AST) -> bool:
    """Tell whether a scope is shielded here, or cancelled by the cleanup itself, so that it never waits."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "cancel":
        return any(path.endswith("CancelScope()") for path in unit.paths(node.func.value))
    return isinstance(node, ast.Attribute) and node.attr == "shield" and isinstance(node.ctx, ast.Store)
