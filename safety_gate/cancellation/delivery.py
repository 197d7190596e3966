"""Where a cancellation can arrive: the delivery points of a block."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from safety_gate.index import inside
from safety_gate.unit import Unit

_FUTURES = ("concurrent.futures.Future()", "asyncio.Task()", "asyncio.Future()")
_NO_DELIVERY = "cancel_shielded_checkpoint"
_SCOPES = ("CancelScope", "move_on_after", "move_on_at", "fail_after", "fail_at")
_THREAD_BRIDGES = ("anyio.from_thread.", "trio.from_thread.")


def is_cancellable(unit: Unit, block: Iterable[ast.AST]) -> bool:
    """Tell whether a cancellation can arrive inside these statements, nested functions left out."""
    statements = list(block)
    if not statements:
        return False
    function = unit.index.function(statements[0])
    is_async = isinstance(function, ast.AsyncFunctionDef)
    return any(
        _delivers(unit, node, is_async) and not is_shielded(unit, node, statements)
        for statement in statements
        for node in inside(statement)
    )


def is_shielded(unit: Unit, node: ast.AST, body: Sequence[ast.AST]) -> bool:
    """Tell whether a node runs in a shielded scope that is opened inside these statements."""
    for parent in (node, *unit.index.ancestors(node)):
        if isinstance(parent, ast.With | ast.AsyncWith) and any(
            _shields(i.context_expr) for i in parent.items
        ):
            return True
        if parent in body:
            return False
    return False


def has_yield(block: Iterable[ast.AST]) -> bool:
    """Tell whether these statements yield, nested functions left out."""
    return any(
        isinstance(node, ast.Yield | ast.YieldFrom) for statement in block for node in inside(statement)
    )


def _delivers(unit: Unit, node: ast.AST, is_async: bool) -> bool:
    match node:
        case ast.Await(value=ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name))) if (
            name == _NO_DELIVERY
        ):
            return False
        case ast.Await() | ast.AsyncFor() | ast.AsyncWith():
            return True
        case ast.comprehension(is_async=1):
            return True
        case ast.Yield():
            return is_async
        case ast.Call(func=ast.Attribute(value=receiver, attr="result" | "exception")):
            paths = unit.paths(receiver)
            return "concurrent.futures.Future()" in paths or (
                is_async and any(path in _FUTURES for path in paths)
            )
        case ast.Call(func=func):
            return any(path.startswith(_THREAD_BRIDGES) for path in unit.paths(func))
        case _:
            return False


def _shields(context: ast.expr) -> bool:
    match context:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), keywords=keywords) if (
            name in _SCOPES
        ):
            return any(
                keyword.arg == "shield"
                and not (isinstance(keyword.value, ast.Constant) and keyword.value.value is False)
                for keyword in keywords
            )
        case _:
            return False
