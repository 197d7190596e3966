"""Which bindings a name has, and which of them can reach a use."""

from __future__ import annotations

import ast
import enum
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from safety_gate.index import FUNCTIONS, Index, in_body

Scope: TypeAlias = (
    ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef | ast.ListComp |
    ast.SetComp
    | ast.DictComp | ast.GeneratorExp
)  # fmt: skip
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (ast.Module, *FUNCTIONS, ast.ClassDef, *_COMPREHENSIONS)
_Position: TypeAlias = tuple[int, int]


class BindingKind(enum.Enum):
    """How a name got its value."""

    IMPORT = enum.auto()
    VALUE = enum.auto()
    ANNOTATED = enum.auto()
    PARAMETER = enum.auto()
    FUNCTION = enum.auto()
    CLASS = enum.auto()
    CAUGHT = enum.auto()
    ITERATED = enum.auto()
    OTHER = enum.auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """One place that gives a name a value.

    Attributes:
        kind: How.
        node: The binding node.
        value: What it is bound to: an expression, an annotation or an exception class, by kind.
        path: The imported name, for an import.
        item: Index in an unpacked tuple; None for the whole value.
        position: From where on it holds.
    """

    kind: BindingKind
    node: ast.AST
    value: ast.expr | None = None
    annotation: ast.expr | None = None
    path: str = ""
    item: int | None = None
    position: _Position = (0, 0)


@dataclass(frozen=True, slots=True)
class _Ordered:
    """The bindings of one name in one scope by position, and the positions alone for a search."""

    bindings: list[Binding]
    positions: list[_Position]


class Scopes:
    """The name tables of one module."""

    def __init__(self, index: Index, package: str) -> None:
        self._index = index
        self._package = package
        self._sites: dict[str, list[ast.AST]] = {}
        self._tables: dict[str, dict[ast.AST, list[Binding]]] = {}
        self._statement_scopes: dict[ast.AST, ast.AST] = {}
        self._ordered: dict[int, _Ordered] = {}
        self._outer: dict[tuple[ast.AST, str], bool] = {}
        self.star_modules: list[str] = []
        self._collect()

    def scope(self, node: ast.AST) -> ast.AST:
        """Return the scope that a node is evaluated in."""
        parents, known = self._index.parents, self._statement_scopes
        child = node
        statement: ast.AST | None = None
        while (parent := parents.get(child)) is not None:
            if isinstance(child, ast.stmt):
                if child in known:
                    found = known[child]
                    break
                statement = statement or child
            kind = parent.__class__
            if kind in _SCOPES and (
                in_body(parent, child)
                if kind in FUNCTIONS
                else kind is not ast.ClassDef or isinstance(child, ast.stmt)
            ):
                found = parent
                break
            child = parent
        else:
            found = self._index.tree
        if statement is not None:
            known[statement] = found
        return found

    def lookup(self, name: str, node: ast.AST) -> Sequence[Binding]:
        """Return the bindings of a name that can reach a use; empty if nothing in the module binds it."""
        table = self._table(name)
        if not table:
            return ()
        start = self.scope(node)
        scope: ast.AST = start
        while True:
            bindings = table.get(scope)
            if bindings and scope is start and self._is_too_early(scope, bindings, node):
                bindings = None  # in a module or class body a name is looked up further out until it is bound
            if bindings and (scope is start or not isinstance(scope, ast.ClassDef)):
                is_own = scope is start or isinstance(start, _COMPREHENSIONS)
                return self._reaching(bindings, node) if is_own else bindings
            if scope is self._index.tree:
                return ()
            scope = self._index.tree if self._outer.get((scope, name)) else self.scope(scope)

    def table(self, owner: ast.ClassDef) -> dict[str, list[Binding]]:
        """Return all bindings made directly in a class body."""
        names = {
            name for name, sites in self._sites.items() if any(self._holds(owner, site) for site in sites)
        }
        return {name: found for name in sorted(names) if (found := self._table(name).get(owner))}

    def _holds(self, owner: ast.ClassDef, site: ast.AST) -> bool:
        return self.scope(site) is owner

    def _table(self, name: str) -> dict[ast.AST, list[Binding]]:
        """Return the bindings of one name by scope; made when first asked for, for most names never are."""
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = {}
            for site in self._sites.get(name, ()):
                scope, binding = self._bind(site, name)
                table.setdefault(scope, []).append(binding)
        return table

    def _reaching(self, bindings: Sequence[Binding], use: ast.AST) -> Sequence[Binding]:
        """Keep the bindings before the use, back to the first that surely runs before it."""
        if len(bindings) == 1 or not hasattr(use, "lineno"):
            return bindings
        here = _start(use)
        ordered = self._in_order(bindings)
        kept: list[Binding] = []
        chain = {use, *self._index.ancestors(use)}
        for number in range(bisect_right(ordered.positions, here) - 1, -1, -1):
            binding = ordered.bindings[number]
            kept.append(binding)
            if self._dominates(binding, use, chain):
                return kept
        return kept or bindings

    def _in_order(self, bindings: Sequence[Binding]) -> _Ordered:
        """Return a name's bindings by position. Sorted once: some are bound and used 10,000 times."""
        known = self._ordered.get(id(bindings))  # the tables keep the list, and with it the id
        if known is None:
            ordered = sorted(bindings, key=lambda b: b.position, reverse=True)[::-1]
            known = self._ordered[id(bindings)] = _Ordered(ordered, [b.position for b in ordered])
        return known

    def _is_too_early(self, scope: ast.AST, bindings: Sequence[Binding], use: ast.AST) -> bool:
        if not isinstance(scope, ast.Module | ast.ClassDef):
            return False
        here = _start(use)
        return here != (0, 0) and self._in_order(bindings).positions[0] > here

    def _dominates(self, binding: Binding, use: ast.AST, chain: set[ast.AST]) -> bool:
        parents = self._index.parents
        node = binding.node
        while not isinstance(node, ast.stmt) and node in parents:
            node = parents[node]
            if isinstance(node, (ast.ExceptHandler, *FUNCTIONS)):
                return node in chain
        if node in chain:
            return True
        block = parents.get(node)
        if block is None or block not in chain:
            return False
        body = next((b for b in _blocks(block) if node in b), ())
        return any(statement in chain for statement in body)

    def _collect(self) -> None:
        index, sites = self._index, self._sites
        declarations: list[ast.Global | ast.Nonlocal] = [*index.all(ast.Global), *index.all(ast.Nonlocal)]
        for declaration in declarations:
            for name in declaration.names:
                self._outer[self.scope(declaration), name] = isinstance(declaration, ast.Global)
        for alias in index.all(ast.alias):
            if alias.name == "*":
                statement = index.parents[alias]
                if isinstance(statement, ast.ImportFrom):
                    self.star_modules.append(self._absolute(statement))
            else:
                sites.setdefault(alias.asname or alias.name.partition(".")[0], []).append(alias)
        for node in index.all(ast.Name):
            if node.ctx.__class__ is ast.Store:
                sites.setdefault(node.id, []).append(node)
        for parameter in index.all(ast.arg):
            sites.setdefault(parameter.arg, []).append(parameter)
        self._definitions()

    def _definitions(self) -> None:
        index = self._index
        kinds = (
            ast.FunctionDef,
            ast.AsyncFunctionDef,
            ast.ClassDef,
            ast.ExceptHandler,
            ast.MatchAs,
            ast.MatchStar,
        )
        for kind in kinds:
            for node in index.all(kind):
                name = getattr(node, "name", None)
                if name:
                    self._sites.setdefault(name, []).append(node)
        for mapping in index.all(ast.MatchMapping):
            if mapping.rest:
                self._sites.setdefault(mapping.rest, []).append(mapping)

    def _bind(self, site: ast.AST, name: str) -> tuple[ast.AST, Binding]:
        """Describe what one site binds a name to, and in which scope."""
        match site:
            case ast.Name():
                return self._home(site, name), self._assigned(site)
            case ast.alias():
                return self._home(site, name), self._import(site)
            case ast.arg(annotation=annotation):
                function = self._index.parents[self._index.parents[site]]
                kind = BindingKind.PARAMETER
                return function, Binding(kind=kind, node=site, annotation=annotation, position=_start(site))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                kind, value = BindingKind.FUNCTION, None
            case ast.ClassDef():
                kind, value = BindingKind.CLASS, None
            case ast.ExceptHandler(type=value):
                kind = BindingKind.CAUGHT
            case _:
                kind, value = BindingKind.OTHER, None
        return self._home(site, name), Binding(kind=kind, node=site, value=value, position=_start(site))

    def _home(self, node: ast.AST, name: str) -> ast.AST:
        """Return the scope that a binding lands in, `global` and the walrus honoured."""
        scope = self.scope(node)
        if isinstance(self._index.parents[node], ast.NamedExpr):
            while isinstance(scope, _COMPREHENSIONS):
                scope = self.scope(scope)
        redirect = self._outer.get((scope, name))
        if redirect is None or isinstance(node, ast.arg):
            return scope
        return self._index.tree if redirect else self.scope(scope)

    def _import(self, alias: ast.alias) -> Binding:
        statement = self._index.parents[alias]
        if isinstance(statement, ast.ImportFrom):
            path = f"{self._absolute(statement)}.{alias.name}"
        else:
            path = alias.name if alias.asname else alias.name.partition(".")[0]
        return Binding(kind=BindingKind.IMPORT, node=alias, path=path, position=_start(alias))

    def _absolute(self, statement: ast.ImportFrom) -> str:
        module = statement.module or ""
        if not statement.level:
            return module
        parts = self._package.split(".") if self._package else []
        base = parts[: len(parts) - statement.level + 1]
        if not base:
            return "." * statement.level + module
        return ".".join([*base, module] if module else base)

    def _assigned(self, node: ast.Name) -> Binding:
        """Describe what a stored name is bound to."""
        parents = self._index.parents
        parent = parents[node]
        item: int | None = None
        target: ast.AST = node
        if isinstance(parent, ast.Tuple | ast.List):
            item, target = parent.elts.index(node), parent
            parent = parents[parent]
        return _binding(node, target, parent, item)


def _binding(node: ast.Name, target: ast.AST, parent: ast.AST, item: int | None) -> Binding:
    match parent:
        case ast.Assign(value=value) | ast.NamedExpr(value=value):
            if item is not None and isinstance(value, ast.Tuple | ast.List) and item < len(value.elts):
                value, item = value.elts[item], None
            return Binding(kind=BindingKind.VALUE, node=node, value=value, item=item, position=_end(value))
        case ast.AnnAssign(value=value, annotation=annotation):
            position = _end(value or annotation)
            return Binding(
                kind=BindingKind.ANNOTATED, node=node, value=value, annotation=annotation, position=position
            )
        case ast.withitem(context_expr=value) if target is parent.optional_vars:
            return Binding(kind=BindingKind.VALUE, node=node, value=value, item=item, position=_end(value))
        case ast.For(iter=value) | ast.AsyncFor(iter=value) | ast.comprehension(iter=value):
            return Binding(
                kind=BindingKind.ITERATED, node=node, value=value, item=item, position=_start(node)
            )
        case _:
            return Binding(kind=BindingKind.OTHER, node=node, position=_end(node))


def _blocks(node: ast.AST) -> list[list[ast.stmt]]:
    fields = ("body", "orelse", "finalbody", "handlers", "cases")
    return [block for name in fields if isinstance(block := getattr(node, name, None), list)]


def _start(node: ast.AST) -> _Position:
    return (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))


def _end(node: ast.AST) -> _Position:
    return (getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0))
