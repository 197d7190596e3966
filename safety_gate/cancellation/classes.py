"""Which exception classes can hold a cancellation.

The class decides, not the word "Exception": since Python 3.8 `except Exception` does not receive one.
"""

from __future__ import annotations

import ast
import enum
from dataclasses import dataclass

from safety_gate.names import Paths
from safety_gate.scopes import BindingKind
from safety_gate.unit import Unit

FRAMEWORKS = frozenset({"asyncio", "trio", "anyio"})
ANYIO_CLASS = "anyio.get_cancelled_exc_class()"
_OWNERS: dict[str, frozenset[str]] = {
    "asyncio.CancelledError": frozenset({"asyncio"}),
    "trio.Cancelled": frozenset({"trio"}),
    ANYIO_CLASS: FRAMEWORKS,
}
LEGACY = "concurrent.futures.CancelledError"
_MAX_NESTING = 20


class CatchKind(enum.Enum):
    """How a handler relates to cancellation."""

    NONE = enum.auto()
    UNKNOWN = enum.auto()
    BROAD = enum.auto()
    EXPLICIT = enum.auto()
    GROUP = enum.auto()
    LEGACY = enum.auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Catch:
    """What the class list of a handler means.

    Attributes:
        kind: How it relates to cancellation.
        label: The class that decides, as exemptions and the delta spell it.
        covers: The frameworks whose cancellation it receives.
        closes_generators: Whether it receives `GeneratorExit`.
    """

    kind: CatchKind
    label: str = ""
    covers: frozenset[str] = frozenset()
    closes_generators: bool = False


def classify(unit: Unit, caught: ast.expr | None) -> Catch:
    """Say what an `except` clause, or the arguments of `suppress`, can receive.

    Args:
        unit: The module.
        caught: The class expression; None for a bare `except`.
    """
    if caught is None:
        return Catch(kind=CatchKind.BROAD, label="bare except", covers=FRAMEWORKS, closes_generators=True)
    return classify_members(unit, members(unit, caught))


def classify_members(unit: Unit, classes: list[Paths]) -> Catch:
    """Say what a list of classes can receive; each with its candidates, empty if unknown."""
    catches = [_single(unit, paths) for paths in classes]
    covers = frozenset[str]().union(*(catch.covers for catch in catches))
    closes = any(catch.closes_generators for catch in catches)
    by_kind = {catch.kind: catch for catch in reversed(catches)}
    for kind in (CatchKind.BROAD, CatchKind.EXPLICIT, CatchKind.GROUP, CatchKind.LEGACY, CatchKind.UNKNOWN):
        if kind in by_kind:
            is_mixed = kind is CatchKind.EXPLICIT and any(catch.kind is not kind for catch in catches)
            chosen = CatchKind.BROAD if is_mixed else kind
            return Catch(kind=chosen, label=by_kind[kind].label, covers=covers, closes_generators=closes)
    return Catch(kind=CatchKind.NONE, closes_generators=closes)


def members(unit: Unit, node: ast.expr) -> list[Paths]:
    """Return the candidates of each class in a class expression: tuples, sums, stars and constants opened."""
    found: list[Paths] = []
    stack: list[tuple[ast.expr, int]] = [(node, 0)]
    while stack:
        current, nesting = stack.pop()
        match current:
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                stack.extend((element, nesting + 1) for element in elements)
            case ast.Starred(value=value):
                stack.append((value, nesting + 1))
            case ast.BinOp(left=left, op=ast.Add() | ast.BitOr(), right=right):
                stack.extend(((left, nesting + 1), (right, nesting + 1)))
            case ast.Name() | ast.Attribute() if (
                nesting < _MAX_NESTING and (constant := _constant(unit, current)) is not None
            ):
                stack.append((constant, nesting + 1))
            case _:
                found.append(unit.paths(current))
    return found


def frameworks(unit: Unit) -> frozenset[str]:
    """Return the frameworks that a module imports; asyncio if it imports none. For `Unit.shared`."""
    roots: set[str] = set()
    for statement in unit.index.all(ast.Import):
        roots.update(alias.name.split(".")[0] for alias in statement.names)
    roots.update(
        (node.module or "").split(".")[0] for node in unit.index.all(ast.ImportFrom) if not node.level
    )
    return frozenset(roots & FRAMEWORKS) or frozenset({"asyncio"})


def _constant(unit: Unit, name: ast.Name | ast.Attribute) -> ast.expr | None:
    """Return the tuple that a name, or an attribute of a class of this file, stands for, if it stands for one."""
    names = unit.names
    bindings = (
        names.scopes.lookup(name.id, name) if isinstance(name, ast.Name) else names.attribute_bindings(name)
    )
    for binding in bindings:
        if binding.kind in (BindingKind.VALUE, BindingKind.ANNOTATED) and binding.item is None:
            value = binding.value
            if isinstance(value, ast.Tuple | ast.BinOp):
                return value
    return None


def _single(unit: Unit, paths: Paths) -> Catch:
    for path in sorted(paths):
        catch = _path(unit, path)
        if catch is not None:
            return catch
    return Catch(kind=CatchKind.NONE if paths else CatchKind.UNKNOWN)


def _path(unit: Unit, path: str) -> Catch | None:
    if path in _OWNERS:
        return Catch(kind=CatchKind.EXPLICIT, label=path, covers=_OWNERS[path])
    if path in unit.settings.cancellation_classes:
        return Catch(kind=CatchKind.EXPLICIT, label=path, covers=FRAMEWORKS)
    if path == "builtins.BaseException":
        return Catch(kind=CatchKind.BROAD, label="BaseException", covers=FRAMEWORKS, closes_generators=True)
    if path == "builtins.Exception" and unit.settings.exception_is_broad:
        return Catch(kind=CatchKind.BROAD, label="Exception", covers=FRAMEWORKS)
    if path == "builtins.BaseExceptionGroup":
        return Catch(kind=CatchKind.GROUP, label="BaseExceptionGroup")
    if path == "builtins.GeneratorExit":
        return Catch(kind=CatchKind.NONE, label="GeneratorExit", closes_generators=True)
    if path == LEGACY:
        return Catch(kind=CatchKind.LEGACY, label=path)
    return _derived(unit, path)


def _derived(unit: Unit, path: str) -> Catch | None:
    """Follow the bases of a class of this file up to a class that is known."""
    seen: set[str] = set()
    stack = [path]
    while stack:
        current = stack.pop()
        owner = unit.names.local_class(current)
        if owner is None or current in seen:
            continue
        seen.add(current)
        for base in owner.bases:
            for found in unit.paths(base):
                if found in _OWNERS:
                    return Catch(kind=CatchKind.EXPLICIT, label=path.lstrip("."), covers=_OWNERS[found])
                stack.append(found)
    return None
