"""What a rule sees: one module, parsed and indexed, with the settings that hold for it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar, cast

from safety_gate.index import Index
from safety_gate.names import Names, Paths

if TYPE_CHECKING:
    from safety_gate.roles import Role
    from safety_gate.settings import RuleSettings

_ResultT = TypeVar("_ResultT")


@dataclass(slots=True, kw_only=True)
class Unit:
    """One module under judgement.

    Attributes:
        path: As reports show it.
        lines: The text, split at line ends only (a form feed is no line end).
        role: The role of the path.
        settings: What the configuration says to the rules.
        tree: The module.
        index: Its nodes.
        names: Its names.
        unresolved_count: Constructs that a rule passed over because a receiver is unknown; rules add to it.
    """

    path: str
    lines: list[str]
    role: Role
    settings: RuleSettings
    index: Index
    names: Names
    unresolved_count: int = 0
    _shared: dict[Callable[[Unit], object], object] = field(
        default_factory=dict[Callable[["Unit"], object], object]
    )

    @property
    def tree(self) -> ast.Module:
        """The module."""
        return self.index.tree

    def shared(self, analysis: Callable[[Unit], _ResultT]) -> _ResultT:
        """Return the result of an analysis that several rules need; it runs once."""
        if analysis not in self._shared:
            self._shared[analysis] = analysis(self)
        return cast(_ResultT, self._shared[analysis])

    def paths(self, node: ast.expr) -> Paths:
        """Return the candidate paths of an expression."""
        return self.names.paths(node)

    def calls_to(self, names: frozenset[str]) -> Iterator[tuple[ast.Call, Paths]]:
        """Yield the calls that may reach a function with one of these last names, and what each calls.

        Args:
            names: Last segments of canonical names, such as `create_task`. See `lasts`.
        """
        by_name = self.shared(_by_last_name)
        for name in sorted(names):
            for call in by_name.get(name, ()):
                yield call, self.names.paths(call.func)
        for call in by_name[""]:
            paths = self.names.paths(call.func)
            if any(path.rpartition(".")[2] in names for path in paths):
                yield call, paths

    def parent(self, node: ast.AST) -> ast.AST | None:
        """Return what directly holds a node."""
        return self.index.parents.get(node)

    def content(self, node: ast.AST) -> str:
        """Return the text of a node's lines, without common indentation and trailing blanks."""
        first, last = getattr(node, "lineno", 1), getattr(node, "end_lineno", 1)
        lines = [line.rstrip() for line in self.lines[first - 1 : last]]
        filled = [line for line in lines if line]
        margin = min((len(line) - len(line.lstrip()) for line in filled), default=0)
        return "\n".join(line[margin:] for line in filled)


def lasts(*tables: Iterable[str]) -> frozenset[str]:
    """Return the last segments of canonical names, for `Unit.calls_to`."""
    return frozenset(path.rpartition(".")[2] for table in tables for path in table)


def _by_last_name(unit: Unit) -> dict[str, list[ast.Call]]:
    """Return the calls by the last name of what they call; under no name those that need resolution."""
    other: list[ast.Call] = []
    found: dict[str, list[ast.Call]] = {"": other}
    re_exported = lasts(name for name, _ in unit.settings.re_exports)
    for call in unit.index.all(ast.Call):
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr not in re_exported:
            found.setdefault(func.attr, []).append(call)
        elif not isinstance(func, ast.Subscript):
            other.append(call)
    return found
