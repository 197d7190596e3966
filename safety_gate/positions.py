"""Give the nodes of a lowered tree their lines and columns.

libcst nodes carry no positions; asking libcst for them costs one to two parses. CPython's parser has already
read the
same file for the screen, and its tree has the same shape, so its positions are copied node by node. Where
there is no
such tree (syntax newer than the interpreter), or where its positions are known to be wrong (inside f-strings
before
3.12), libcst's code generator is run once with a counter.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import cast

import libcst as cst
from libcst._nodes.internal import (
    CodegenState,
)  # the generator has no public name; `Module.code_for_node` uses this one

from safety_gate.lowering import Lowered

_ATTRIBUTES = ("lineno", "col_offset", "end_lineno", "end_col_offset")
_RECURSION_LIMIT = 20_000  # the generator recurses; `parsing.MAX_DEPTH` keeps this far away


def place(lowered: Lowered, donor: ast.Module | None, module: cst.Module) -> frozenset[tuple[int, int]]:
    """Set the positions of every node of `lowered.tree`, columns in code points.

    Args:
        lowered: The tree to place.
        donor: CPython's tree of the same text, with columns already in code points; None if it has none.
        module: The libcst module that `lowered` was made from.

    Returns:
        Positions that may be wrong: a finding there asks for `place` without a donor.
    """
    doubtful: set[tuple[int, int]] = set()
    if donor is None or not _copied(lowered.tree, donor, doubtful):
        _generate(lowered, module)
        return frozenset()
    return frozenset(doubtful)


def _copied(tree: ast.AST, donor: ast.AST, doubtful: set[tuple[int, int]]) -> bool:
    stack = [(tree, donor, False)]
    while stack:
        node, source, in_string = stack.pop()
        if type(node) is not type(source):
            return False
        for name in _ATTRIBUTES:
            value = getattr(source, name, None)
            if value is not None:
                setattr(node, name, value)
        is_string = in_string or isinstance(node, ast.JoinedStr)
        if in_string and sys.version_info < (3, 12) and isinstance(node, ast.expr):
            doubtful.add((node.lineno, node.col_offset))
        pairs = _pairs(node, source)
        if pairs is None:
            return False
        stack.extend((left, right, is_string) for left, right in pairs)
    return True


def _pairs(node: ast.AST, source: ast.AST) -> list[tuple[ast.AST, ast.AST]] | None:
    pairs: list[tuple[ast.AST, ast.AST]] = []
    for field in node._fields:
        left: object = getattr(node, field, None)
        right: object = getattr(source, field, None)
        if isinstance(left, list):
            ours, theirs = cast(list[object], left), cast(list[object], right)
            if not isinstance(right, list) or len(ours) != len(theirs):
                return None
            pairs += [
                (one, other)
                for one, other in zip(ours, theirs, strict=True)
                if isinstance(one, ast.AST) and isinstance(other, ast.AST)
            ]
        elif isinstance(left, ast.AST) and not isinstance(left, ast.expr_context):
            if not isinstance(right, ast.AST):
                return None
            pairs.append((left, right))
    return pairs


class _Recorder(CodegenState):
    """A code generator that counts lines and columns instead of keeping the text."""

    def __init__(self, wanted: set[cst.CSTNode], default_indent: str, default_newline: str) -> None:
        super().__init__(default_indent=default_indent, default_newline=default_newline)
        self.line = 1
        self.column = 0
        self.wanted = wanted
        self.spans: dict[cst.CSTNode, tuple[int, int, int, int]] = {}

    def add_indent_tokens(self) -> None:
        self.column += sum(map(len, self.indent_tokens))

    def add_token(self, value: str) -> None:
        text = value.replace("\r\n", "\n").replace("\r", "\n")
        newline_count = text.count("\n")
        self.line += newline_count
        self.column = len(text) - text.rfind("\n") - 1 if newline_count else self.column + len(text)

    @contextmanager
    def record_syntactic_position(
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> Generator[None, None, None]:
        line, column = self.line, self.column
        yield
        if node in self.wanted:
            self.spans[node] = (line, column, self.line, self.column)


def _generate(lowered: Lowered, module: cst.Module) -> None:
    recorder = _Recorder({node for _, node in lowered.origins}, module.default_indent, module.default_newline)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
    try:
        module._codegen(recorder)  # pyright: ignore[reportPrivateUsage] - it has no public name
    finally:
        sys.setrecursionlimit(limit)
    for node, origin in lowered.origins:
        span = recorder.spans.get(origin)
        if span is not None:
            for name, value in zip(_ATTRIBUTES, span, strict=True):
                setattr(node, name, value)
    _inherit(lowered.tree)


def _inherit(tree: ast.Module) -> None:
    """Give nodes that libcst has no counterpart of the place of what holds them."""
    stack: list[tuple[ast.AST, tuple[int, ...]]] = [(tree, (1, 0, 1, 0))]
    while stack:
        node, outer = stack.pop()
        if "lineno" in node._attributes and not hasattr(node, "lineno"):
            for name, value in zip(_ATTRIBUTES, outer, strict=True):
                setattr(node, name, value)
        here = tuple(getattr(node, name, value) for name, value in zip(_ATTRIBUTES, outer, strict=True))
        stack.extend((child, here) for child in ast.iter_child_nodes(node))
