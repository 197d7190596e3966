"""The shape of a tree, for comparing libcst's with the interpreter's."""

from __future__ import annotations

import ast


def shape(tree: ast.AST) -> str:
    """Dump a tree without the empty constants that CPython 3.12 leaves in format specifications."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            node.values = [v for v in node.values if not (isinstance(v, ast.Constant) and v.value == "")]
    return ast.dump(tree)
