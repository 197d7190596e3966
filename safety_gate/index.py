"""One walk over a tree: its nodes by kind, and the parent of each."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeVar, cast

_NodeT = TypeVar("_NodeT", bound=ast.AST)

# Fields that never hold a node worth visiting; everything else is looked at.
_LEAF_FIELDS = frozenset(
    {
        "ctx",
        "op",
        "ops",
        "kind",
        "type_comment",
        "id",
        "attr",
        "level",
        "module",
        "conversion",
        "asname",
        "arg",
    }
    | {"type_ignores", "is_async", "simple", "kwd_attrs", "rest"}
)
_NO_FIELDS: tuple[type[ast.AST], ...] = (ast.Constant, ast.Name, ast.Global, ast.Nonlocal, ast.alias)

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
"""What starts a new frame; comprehensions do not."""


class Index:
    """The nodes of a tree by kind, and their parents. Built iteratively, so depth does not matter."""

    __slots__ = ("_kinds", "parents", "tree")

    def __init__(self, tree: ast.Module) -> None:
        self.tree: ast.Module = tree
        self.parents: dict[ast.AST, ast.AST] = {}
        self._kinds: dict[type[ast.AST], list[ast.AST]] = {}
        self._walk()

    def all(self, kind: type[_NodeT]) -> list[_NodeT]:
        """Return every node of exactly this kind, in no particular order."""
        return self._kinds.get(kind, [])  # type: ignore[return-value]  # the table is keyed by the very class

    def functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Return every `def`."""
        return [*self.all(ast.FunctionDef), *self.all(ast.AsyncFunctionDef)]

    def tries(self) -> list[ast.Try | ast.TryStar]:
        """Return every `try`."""
        return [*self.all(ast.Try), *self.all(ast.TryStar)]

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield what holds a node, from the inside out."""
        parents = self.parents
        current = parents.get(node)
        while current is not None:
            yield current
            current = parents.get(current)

    def function(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None:
        """Return the function in whose frame a node runs; None for the module's and class bodies."""
        child: ast.AST = node
        for parent in self.ancestors(node):
            if isinstance(parent, FUNCTIONS) and in_body(parent, child):
                return parent
            child = parent
        return None

    def _walk(self) -> None:
        kinds, parents = self._kinds, self.parents
        fields: dict[type[ast.AST], tuple[str, ...]] = dict.fromkeys(_NO_FIELDS, ())
        stack: list[ast.AST] = [self.tree]
        pop, push = stack.pop, stack.append
        while stack:
            node = pop()
            kind = node.__class__
            try:
                kinds[kind].append(node)
            except KeyError:
                kinds[kind] = [node]
            try:
                names = fields[kind]
            except KeyError:
                names = fields[kind] = tuple(name for name in kind._fields if name not in _LEAF_FIELDS)
            for name in names:
                child: object = getattr(node, name, None)
                if isinstance(child, list):
                    for element in cast(list[object], child):
                        if isinstance(element, ast.AST):
                            parents[element] = node
                            push(element)
                elif isinstance(child, ast.AST):
                    parents[child] = node
                    push(child)


def in_body(function: ast.AST, child: ast.AST) -> bool:
    """Tell whether a direct child of a function runs inside it (defaults and decorators do not)."""
    if isinstance(function, ast.Lambda):
        return child is function.body
    return isinstance(child, ast.stmt)


def inside(node: ast.AST, *, into_functions: bool = False) -> Iterator[ast.AST]:
    """Yield the nodes under a node, without those of nested functions unless asked for."""
    stack: list[ast.AST] = [node]
    while stack:
        current = stack.pop()
        yield current
        if current is not node and not into_functions and isinstance(current, (*FUNCTIONS, ast.ClassDef)):
            continue
        stack.extend(ast.iter_child_nodes(current))
