"""Mentions of watched library functions that are no call: `map(print, xs)`, `callback=sys.stdout.write`."""

from __future__ import annotations

import ast

from safety_gate.names import Paths
from safety_gate.scopes import BindingKind
from safety_gate.unit import Unit

_WATCHED_BUILTINS = frozenset({"print", "breakpoint", "builtins"})
_WATCHED_ROOTS = frozenset(
    {
        "sys",
        "traceback",
        "pprint",
        "rich",
        "click",
        "typer",
        "builtins",
        "pdb",
        "ipdb",
        "pudb",
        "icecream",
        "os",
    }
    | {"IPython", "debugpy"}
)


def references(unit: Unit) -> list[tuple[ast.expr, Paths]]:
    """Return the loads of watched names outside calls, each as its longest chain. For `Unit.shared`."""
    watched = _WATCHED_BUILTINS | _imported(unit)
    found: list[tuple[ast.expr, Paths]] = []
    for name in unit.index.all(ast.Name):
        if name.id not in watched or not isinstance(name.ctx, ast.Load):
            continue
        node: ast.expr = name
        parent = unit.parent(node)
        while isinstance(parent, ast.Attribute):
            node, parent = parent, unit.parent(parent)
        is_called = isinstance(parent, ast.Call) and parent.func is node
        if not is_called and isinstance(getattr(node, "ctx", None), ast.Load):
            found.append((node, unit.paths(node)))
    return found


def _imported(unit: Unit) -> frozenset[str]:
    names: set[str] = set()
    for alias in unit.index.all(ast.alias):
        name = alias.asname or alias.name.split(".")[0]
        for binding in unit.names.scopes.lookup(name, alias):
            if binding.kind is BindingKind.IMPORT and binding.path.split(".")[0] in _WATCHED_ROOTS:
                names.add(name)
    return frozenset(names)
