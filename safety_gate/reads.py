"""Reads without a limit: whose, through which method, and whether an amount is given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from safety_gate.index import inside
from safety_gate.names import Paths
from safety_gate.scopes import Binding, BindingKind
from safety_gate.unit import Unit

READ_METHODS = frozenset({"read", "aread", "readlines", "readall", "read1"})
_AMOUNTS = frozenset({"size", "n", "amt", "hint", "length"})
_GROWING = frozenset({"append", "extend", "write", "update", "appendleft", "extendleft"})
_MAX_HOPS = 4


def is_unbounded(unit: Unit, call: ast.Call) -> bool:
    """Tell whether a read is given no amount, or one that means everything."""
    if any(isinstance(arg, ast.Starred) for arg in call.args) or any(k.arg is None for k in call.keywords):
        return False
    amounts = [*call.args[:1], *(k.value for k in call.keywords if k.arg in _AMOUNTS)]
    return all(_is_everything(unit, amount, 0) for amount in amounts)


def is_known(unit: Unit, paths: Paths) -> bool:
    """Tell whether an origin says what a receiver is: a library's, or a class of this file."""
    names = unit.names
    return any(not names.is_local(path) or names.local_class(path) is not None for path in paths)


def accumulates(unit: Unit, source: ast.expr) -> bool:
    """Tell whether the chunks of an iterator are gathered without a cap.

    Args:
        unit: The module.
        source: The expression that yields the chunks.
    """
    parent = unit.parent(source)
    if isinstance(parent, ast.comprehension):
        parent = unit.parent(parent)
        if isinstance(parent, ast.ListComp | ast.SetComp):
            return True
        return isinstance(parent, ast.GeneratorExp) and _gathers(unit.parent(parent))
    if isinstance(parent, ast.For | ast.AsyncFor) and parent.iter is source:
        return bool(grown(parent.body, _targets(parent.target))) and not is_capped(parent.body)
    return _gathers(parent)


def grown(body: list[ast.stmt], chunks: frozenset[str]) -> bool:
    """Tell whether a loop's body adds its chunks to something."""
    for statement in body:
        for node in inside(statement):
            match node:
                case ast.AugAssign(op=ast.Add(), value=value) if _mentions(value, chunks) and not _is_length(
                    value
                ):
                    return True
                case ast.Assign(
                    targets=[ast.Name(id=name)], value=ast.BinOp(left=ast.Name(id=left), right=right)
                ):
                    if name == left and _mentions(right, chunks) and not _is_length(right):
                        return True
                case ast.Call(func=ast.Attribute(value=ast.Name(id=receiver), attr=method), args=[value, *_]):
                    if (
                        method in _GROWING - {"write", "update"}
                        and _mentions(value, chunks)
                        and receiver not in chunks
                    ):
                        return True
                case _:
                    pass
    return False


def is_capped(body: list[ast.stmt]) -> bool:
    """Tell whether a loop's body leaves when a comparison says so."""
    return any(
        isinstance(node, ast.If) and _compares(node.test) and _exits(node)
        for statement in body
        for node in inside(statement)
    )


def loops_over(unit: Unit, call: ast.Call) -> ast.While | None:
    """Return the `while` loop that a read of one chunk is repeated by."""
    for parent in unit.index.ancestors(call):
        if isinstance(parent, ast.While):
            return parent
        if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.For | ast.AsyncFor):
            return None
    return None


def chunk_names(unit: Unit, call: ast.Call) -> frozenset[str]:
    """Return the names that one chunk is assigned to."""
    for parent in unit.index.ancestors(call):
        if isinstance(parent, ast.Assign):
            return frozenset[str]().union(*(_targets(target) for target in parent.targets))
        if isinstance(parent, ast.NamedExpr):
            return _targets(parent.target)
        if isinstance(parent, ast.stmt):
            return frozenset()
    return frozenset()


def attribute_loads(unit: Unit, names: frozenset[str]) -> Iterator[ast.Attribute]:
    """Yield the attributes of these names that are read and not called."""
    for node in unit.index.all(ast.Attribute):
        if node.attr in names and isinstance(node.ctx, ast.Load):
            parent = unit.parent(node)
            if not (isinstance(parent, ast.Call) and parent.func is node):
                yield node


def _is_everything(unit: Unit, amount: ast.expr, hops: int) -> bool:
    match amount:
        case ast.Constant(value=None):
            return True
        case ast.Constant(value=int(value)):
            return value < 0
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int())):
            return True
        case ast.Name(id=name) if hops < _MAX_HOPS:
            bindings = unit.names.scopes.lookup(name, amount)
            return bool(bindings) and all(_binds_everything(unit, binding, hops) for binding in bindings)
        case _:
            return False


def _binds_everything(unit: Unit, binding: Binding, hops: int) -> bool:
    if binding.kind in (BindingKind.VALUE, BindingKind.ANNOTATED) and binding.value is not None:
        return _is_everything(unit, binding.value, hops + 1)
    if binding.kind is not BindingKind.PARAMETER or not isinstance(binding.node, ast.arg):
        return False
    default = _default(unit, binding.node)
    return default is not None and _is_everything(unit, default, hops + 1)


def _default(unit: Unit, parameter: ast.arg) -> ast.expr | None:
    arguments = unit.parent(parameter)
    if not isinstance(arguments, ast.arguments):
        return None
    positional = [*arguments.posonlyargs, *arguments.args]
    if parameter in positional:
        offset = positional.index(parameter) - (len(positional) - len(arguments.defaults))
        return arguments.defaults[offset] if offset >= 0 else None
    if parameter in arguments.kwonlyargs:
        return arguments.kw_defaults[arguments.kwonlyargs.index(parameter)]
    return None


def _gathers(parent: ast.AST | None) -> bool:
    match parent:
        case ast.Call(func=ast.Attribute(attr="join")):
            return True
        case ast.Call(func=ast.Name(id="list" | "tuple" | "sorted" | "set")):
            return True
        case _:
            return False


def _targets(node: ast.expr) -> frozenset[str]:
    return frozenset(leaf.id for leaf in ast.walk(node) if isinstance(leaf, ast.Name))


def _mentions(node: ast.expr, names: frozenset[str]) -> bool:
    return any(isinstance(leaf, ast.Name) and leaf.id in names for leaf in ast.walk(node))


def _is_length(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"


def _compares(test: ast.expr) -> bool:
    return any(isinstance(leaf, ast.Compare) and _is_order(leaf) for leaf in ast.walk(test))


def _exits(branch: ast.If) -> bool:
    return any(isinstance(leaf, ast.Raise | ast.Break | ast.Return) for leaf in inside(branch))


def _is_order(node: ast.Compare) -> bool:
    return any(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in node.ops)
