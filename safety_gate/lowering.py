"""Lower a libcst module to the node vocabulary of the standard library.

The rules speak `ast`: fewer node kinds, no whitespace fields, and the same vocabulary that the screen gets
from
CPython's own parser. So there is one analysis and not a second, hand-kept "cheap" copy of every rule. A test
holds
`ast.dump(lower(libcst)) == ast.dump(ast.parse)` over whole packages and over generated programs.

Every handler is a generator that yields the children it wants lowered; `lower` drives them on a list. Nothing
recurses, so depth is bounded by memory and not by the interpreter's stack.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Sequence
from typing import Any, cast

import libcst as cst

from safety_gate.lowering_expressions import EXPRESSION_LEAVES, EXPRESSIONS
from safety_gate.lowering_patterns import PATTERN_LEAVES, PATTERNS
from safety_gate.lowering_statements import STATEMENT_LEAVES, STATEMENTS

Handler = Callable[[Any], Generator[cst.CSTNode, Any, Any]]


class Lowered:
    """A lowered module, with the libcst node that each of its nodes came from."""

    __slots__ = ("origins", "tree")

    def __init__(self, tree: ast.Module, origins: list[tuple[ast.AST, cst.CSTNode]]) -> None:
        self.tree: ast.Module = tree
        self.origins: list[tuple[ast.AST, cst.CSTNode]] = origins


def lower(module: cst.Module) -> Lowered:
    """Lower a whole module.

    Args:
        module: What `libcst.parse_module` returned.

    Returns:
        The tree without positions, and the origin of each node for the position pass.
    """
    origins: list[tuple[ast.AST, cst.CSTNode]] = []
    tree = cast(ast.Module, _drive(module, origins))
    return Lowered(tree, origins)


def _drive(root: cst.CSTNode, origins: list[tuple[ast.AST, cst.CSTNode]]) -> object:
    stack: list[tuple[Generator[cst.CSTNode, Any, Any], cst.CSTNode]] = [(_HANDLERS[type(root)](root), root)]
    sent: object = None
    while stack:
        generator, node = stack[-1]
        try:
            child = generator.send(sent)
        except StopIteration as stop:
            stack.pop()
            sent = _recorded(stop.value, node, origins)
            continue
        leaf = _LEAVES.get(type(child))
        if leaf is None:
            stack.append((_HANDLERS[type(child)](child), child))
            sent = None
        else:
            sent = _recorded(leaf(child), child, origins)
    return sent


def _recorded(value: Any, node: cst.CSTNode, origins: list[tuple[ast.AST, cst.CSTNode]]) -> Any:
    values = cast(list[object], value) if isinstance(value, list) else [value]
    single = values[0] if len(values) == 1 else None
    if isinstance(single, ast.AST):
        origins.append((single, node))
    return cast(object, value)


def _module(node: cst.Module) -> Generator[cst.CSTNode, Any, ast.Module]:
    body: list[ast.stmt] = []
    for statement in node.body:
        body.extend((yield statement))
    return ast.Module(body=body, type_ignores=[])


def _line(node: cst.SimpleStatementLine) -> Generator[cst.CSTNode, Any, Sequence[ast.stmt]]:
    body: list[ast.stmt] = []
    for statement in node.body:
        body.extend((yield statement))
    return body


_HANDLERS: dict[type[cst.CSTNode], Handler] = {
    cst.Module: _module,
    cst.SimpleStatementLine: _line,
    cst.SimpleStatementSuite: _line,
    cst.IndentedBlock: _line,
    **EXPRESSIONS,
    **PATTERNS,
    **STATEMENTS,
}
_LEAVES: dict[type[cst.CSTNode], Callable[[Any], object]] = {
    **EXPRESSION_LEAVES,
    **PATTERN_LEAVES,
    **STATEMENT_LEAVES,
}
