"""What a condition says about an exception that is a cancellation."""

from __future__ import annotations

import ast
import enum

from safety_gate.cancellation.classes import CatchKind, classify, classify_members, frameworks, members
from safety_gate.cancellation.state import State
from safety_gate.unit import Unit

CLOSE = "builtins.GeneratorExit"
"""The hypothesis that a generator is being closed."""

ORDINARY = "builtins.Exception"
"""The hypothesis that the exception is no cancellation at all."""

_MAX_NESTING = 40
_OLDEST_MINOR = 11


class Verdict(enum.Enum):
    """The truth of a condition under the hypothesis."""

    TRUE = enum.auto()
    FALSE = enum.auto()
    UNKNOWN = enum.auto()


_OPPOSITE = {Verdict.TRUE: Verdict.FALSE, Verdict.FALSE: Verdict.TRUE, Verdict.UNKNOWN: Verdict.UNKNOWN}


def judge(unit: Unit, test: ast.expr, state: State, hypothesis: str, nesting: int = 0) -> Verdict:
    """Judge a condition: type tests on the exception, `cancelling()`, and their combinations."""
    if nesting > _MAX_NESTING:
        return Verdict.UNKNOWN
    match test:
        case ast.Constant(value=value):
            return Verdict.TRUE if value else Verdict.FALSE
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _OPPOSITE[judge(unit, operand, state, hypothesis, nesting + 1)]
        case ast.BoolOp(op=op, values=values):
            verdicts = {judge(unit, value, state, hypothesis, nesting + 1) for value in values}
            decisive = Verdict.FALSE if isinstance(op, ast.And) else Verdict.TRUE
            return (
                decisive
                if decisive in verdicts
                else Verdict.UNKNOWN
                if Verdict.UNKNOWN in verdicts
                else _OPPOSITE[decisive]
            )
        case ast.Name(id=name) if name in state.tests and not hypothesis:
            return Verdict.TRUE
        case ast.Name(id=name) if name in state.held or name in state.type_names:
            return Verdict.TRUE
        case ast.NamedExpr(target=ast.Name(id=name), value=value):
            return Verdict.TRUE if name in state.held else judge(unit, value, state, hypothesis, nesting + 1)
        case ast.Call():
            return _call(unit, test, state, hypothesis)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compare(unit, left, op, right, state, hypothesis)
        case _:
            return Verdict.UNKNOWN


def judge_pattern(unit: Unit, pattern: ast.pattern, hypothesis: str) -> Verdict:
    """Judge a `case` on the exception."""
    match pattern:
        case ast.MatchAs(pattern=None):
            return Verdict.TRUE
        case ast.MatchAs(pattern=inner) if inner is not None:
            return judge_pattern(unit, inner, hypothesis)
        case ast.MatchClass(cls=cls, patterns=[], kwd_patterns=[]):
            return _is_instance(unit, cls, hypothesis)
        case ast.MatchOr(patterns=patterns):
            verdicts = {judge_pattern(unit, inner, hypothesis) for inner in patterns}
            return (
                Verdict.TRUE
                if Verdict.TRUE in verdicts
                else Verdict.UNKNOWN
                if Verdict.UNKNOWN in verdicts
                else Verdict.FALSE
            )
        case _:
            return Verdict.UNKNOWN


def _call(unit: Unit, test: ast.Call, state: State, hypothesis: str) -> Verdict:
    match test:
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), classes]) if (
            name in state.held
        ):
            return _is_instance(unit, classes, hypothesis)
        case ast.Call(func=ast.Name(id="issubclass"), args=[subject, classes]) if _is_type(subject, state):
            return _is_instance(unit, classes, hypothesis)
        case ast.Call(func=ast.Attribute(attr="cancelling")) if not hypothesis:
            return Verdict.TRUE
        case ast.Call(func=func) if "asyncio.current_task" in unit.paths(func):
            return Verdict.TRUE
        case _:
            return Verdict.UNKNOWN


def _compare(
    unit: Unit, left: ast.expr, op: ast.cmpop, right: ast.expr, state: State, hypothesis: str
) -> Verdict:
    is_none = isinstance(right, ast.Constant) and right.value is None
    is_subject = isinstance(left, ast.Name) and (left.id in state.held or left.id in state.type_names)
    if is_none and is_subject:
        return Verdict.FALSE if isinstance(op, ast.Is | ast.Eq) else Verdict.TRUE
    if _is_type(left, state) and isinstance(op, ast.Is | ast.Eq | ast.IsNot | ast.NotEq | ast.In | ast.NotIn):
        same = _is_exactly(unit, right, hypothesis)
        return _OPPOSITE[same] if isinstance(op, ast.IsNot | ast.NotEq | ast.NotIn) else same
    if isinstance(left, ast.Attribute) and "sys.version_info" in unit.paths(left):
        return _version(op, right)
    match left, op, right:
        case ast.Call(func=ast.Attribute(attr="cancelling")), ast.Gt() | ast.NotEq(), ast.Constant(value=0):
            return Verdict.UNKNOWN if hypothesis else Verdict.TRUE
        case ast.Name(id=name), ast.Gt() | ast.NotEq(), ast.Constant(value=0) if name in state.tests:
            return Verdict.UNKNOWN if hypothesis else Verdict.TRUE
        case ast.Call(func=ast.Attribute(attr="cancelling")), ast.Eq(), ast.Constant(value=0):
            return Verdict.UNKNOWN if hypothesis else Verdict.FALSE
        case _:
            return Verdict.UNKNOWN


def _version(op: ast.cmpop, right: ast.expr) -> Verdict:
    """Judge a version test for the interpreters that the gate's own can be sure of: 3.11 and later."""
    match op, right:
        case (
            ast.GtE() | ast.Gt(),
            ast.Tuple(elts=[ast.Constant(value=3), ast.Constant(value=int(minor)), *_]),
        ):
            return Verdict.TRUE if minor <= _OLDEST_MINOR else Verdict.UNKNOWN
        case (
            ast.Lt() | ast.LtE(),
            ast.Tuple(elts=[ast.Constant(value=3), ast.Constant(value=int(minor)), *_]),
        ):
            return Verdict.FALSE if minor <= _OLDEST_MINOR else Verdict.UNKNOWN
        case _:
            return Verdict.UNKNOWN


def _is_type(node: ast.expr, state: State) -> bool:
    match node:
        case ast.Name(id=name):
            return name in state.type_names
        case ast.Call(func=ast.Name(id="type"), args=[ast.Name(id=name)]):
            return name in state.held
        case ast.Attribute(value=ast.Name(id=name), attr="__class__"):
            return name in state.held
        case _:
            return False


def _is_instance(unit: Unit, classes: ast.expr, hypothesis: str) -> Verdict:
    catch = classify(unit, classes)
    if hypothesis == CLOSE:
        return Verdict.TRUE if catch.closes_generators else _absent(unit, classes)
    if hypothesis == ORDINARY:
        return {CatchKind.BROAD: Verdict.TRUE, CatchKind.EXPLICIT: Verdict.FALSE}.get(
            catch.kind, Verdict.UNKNOWN
        )
    if catch.kind in (CatchKind.BROAD, CatchKind.EXPLICIT) and catch.covers:
        return Verdict.TRUE if unit.shared(frameworks) <= catch.covers else Verdict.UNKNOWN
    return _absent(unit, classes)


def _absent(unit: Unit, classes: ast.expr) -> Verdict:
    """Return FALSE if every class is known and none of them is the hypothesis."""
    found = members(unit, classes)
    known = all(paths and all(_is_ordinary(unit, path) for path in paths) for paths in found)
    is_other = classify_members(unit, found).kind in (CatchKind.NONE, CatchKind.LEGACY, CatchKind.GROUP)
    return Verdict.FALSE if known and is_other else Verdict.UNKNOWN


def _is_ordinary(unit: Unit, path: str) -> bool:
    """Tell whether a class cannot be a cancellation: exceptions of libraries derive from Exception."""
    return path.startswith(("builtins.", "concurrent.")) or unit.names.is_local(path) or "()" not in path


def _is_exactly(unit: Unit, classes: ast.expr, hypothesis: str) -> Verdict:
    catch = classify(unit, classes)
    singles = [classify_members(unit, [paths]) for paths in members(unit, classes)]
    covers = frozenset[str]().union(*(s.covers for s in singles if s.kind is CatchKind.EXPLICIT))
    if covers and not hypothesis:
        return Verdict.TRUE if unit.shared(frameworks) <= covers else Verdict.UNKNOWN
    return (
        Verdict.FALSE
        if catch.kind in (CatchKind.NONE, CatchKind.LEGACY) and not catch.closes_generators
        else Verdict.UNKNOWN
    )
