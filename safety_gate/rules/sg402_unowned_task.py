"""SG402: somebody keeps, awaits or cancels every task."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import ClassVar

from safety_gate.index import FUNCTIONS
from safety_gate.rule import Rule
from safety_gate.unit import Unit, lasts
from safety_gate.violation import Violation

_MAKERS = frozenset(
    {"asyncio.create_task", "asyncio.ensure_future", "asyncio.AbstractEventLoop().create_task"}
    | {"asyncio.run_coroutine_threadsafe"}
)
_LASTS = lasts(_MAKERS)
_IDLE_METHODS = frozenset({"add_done_callback", "set_name", "get_name"})


class UnownedTask(Rule):
    """Finds tasks whose result is dropped: their errors vanish, and the loop may drop them too."""

    code = "SG402"
    name = "unowned-task"
    summary = "A task is started and its result dropped."
    triggers: ClassVar[tuple[str, ...]] = ("create_task", "ensure_future", "run_coroutine_threadsafe")

    def check(self, unit: Unit) -> Iterator[Violation]:
        """Yield every task that nobody holds."""
        for call, paths in unit.calls_to(_LASTS):
            made = sorted(paths & _MAKERS)
            if made and self._is_dropped(unit, call):
                message = (
                    f"Nobody keeps the task of `{made[0]}`: its failure is lost. Use a "
                    f"TaskGroup, or await it."
                )
                yield self.violation(unit, call, message, symbol=made[0])

    def _is_dropped(self, unit: Unit, call: ast.Call) -> bool:
        parent = unit.parent(call)
        if isinstance(parent, ast.Expr):
            return True
        if isinstance(parent, ast.Attribute) and parent.attr in _IDLE_METHODS:
            chained = unit.parent(parent)
            return isinstance(chained, ast.Call) and isinstance(unit.parent(chained), ast.Expr)
        if isinstance(parent, ast.Assign | ast.AnnAssign | ast.NamedExpr):
            targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
            if not all(isinstance(target, ast.Name) for target in targets):
                return False
            names = {target.id for target in targets if isinstance(target, ast.Name)}
            return not _is_kept(unit, call, names)
        return False


def _is_kept(unit: Unit, call: ast.Call, names: set[str]) -> bool:
    function = unit.index.function(call)
    if function is None:
        return True  # a module's or class's name lives on
    return not names.isdisjoint(unit.shared(_kept_names)[function])


def _kept_names(unit: Unit) -> defaultdict[ast.AST, set[str]]:
    """Return the names that each function, or one inside it, reads or shares: one walk, however many tasks."""
    kept: defaultdict[ast.AST, set[str]] = defaultdict(set)
    for node in unit.index.all(ast.Name):
        parent = unit.parent(node)
        is_idle = isinstance(parent, ast.Attribute) and parent.attr in _IDLE_METHODS
        if isinstance(node.ctx, ast.Load) and not is_idle:
            for outer in unit.index.ancestors(node):
                if isinstance(outer, FUNCTIONS):
                    kept[outer].add(node.id)
    declarations: list[ast.Global | ast.Nonlocal] = [
        *unit.index.all(ast.Global),
        *unit.index.all(ast.Nonlocal),
    ]
    for shared in declarations:
        function = unit.index.function(shared)
        if function is not None:
            kept[function].update(shared.names)
    return kept
