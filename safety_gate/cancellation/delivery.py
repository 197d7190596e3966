"""Where a cancellation can arrive: the delivery points of a block."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from safety_gate.index import inside
from safety_gate.unit import Unit

_FUTURES = ("concurrent.futures.Future()", "asyncio.Task()", "asyncio.Future()")
_THREAD_BRIDGES = ("anyio.from_thread.", "trio.from_thread.")


def is_cancellable(unit: Unit, block: Iterable[ast.AST]) -> bool:
    """Tell whether a cancellation can arrive inside these statements, nested functions left out."""
    statements = list(block)
    if not statements:
        return False
    function = unit.index.function(statements[0])
    is_async = isinstance(function, ast.AsyncFunctionDef)
    return any(_delivers(unit, node, is_async) for statement in statements for node in inside(statement))


def has_yield(block: Iterable[ast.AST]) -> bool:
    """Tell whether these statements yield, nested functions left out."""
    return any(
        isinstance(node, ast.Yield | ast.YieldFrom) for statement in block for node in inside(statement)
    )


def _delivers(unit: Unit, node: ast.AST, is_async: bool) -> bool:
    match node:
        case ast.Await() | ast.AsyncFor() | ast.AsyncWith():
            return True
        case ast.comprehension(is_async=1):
            return True
        case ast.Yield():
            return is_async
        case ast.Call(func=ast.Attribute(value=receiver, attr="result" | "exception")):
            paths = unit.paths(receiver)
            return any(path in _FUTURES for path in paths) and (
                is_async or "concurrent.futures.Future()" not in paths
            )
        case ast.Call(func=func):
            return any(path.startswith(_THREAD_BRIDGES) for path in unit.paths(func))
        case _:
            return False
