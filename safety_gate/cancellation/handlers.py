"""The verdict on every handler of a module."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from safety_gate.cancellation.classes import Catch, CatchKind, classify, frameworks
from safety_gate.cancellation.delivery import is_cancellable
from safety_gate.cancellation.flow import RAISING, Outcome, Trace, trace
from safety_gate.cancellation.guards import ORDINARY
from safety_gate.cancellation.state import State
from safety_gate.index import inside
from safety_gate.unit import Unit, lasts
from safety_gate.violation import Risk

_GROUP_MAKERS = frozenset({"asyncio.TaskGroup", "anyio.create_task_group", "trio.open_nursery"})


class Fate(enum.Enum):
    """What becomes of a cancellation in a handler."""

    PRESERVED = enum.auto()
    SWALLOWED = enum.auto()
    TRANSFORMED = enum.auto()
    LATE = enum.auto()
    GROUPED = enum.auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One handler that can receive a cancellation.

    Attributes:
        handler: The clause.
        block: Its `try`.
        catch: What it receives.
        fate: What becomes of the cancellation.
        risk: How bad that is.
        is_cancellable: Whether a cancellation can arrive in the protected block.
        trace: The walk over the body.
    """

    handler: ast.ExceptHandler
    block: ast.Try | ast.TryStar
    catch: Catch
    fate: Fate
    risk: Risk
    is_cancellable: bool
    trace: Trace


def judgements(unit: Unit) -> list[Judgement]:
    """Judge every handler that can receive a cancellation. For `Unit.shared`."""
    return [judgement for block in unit.index.tries() for judgement in _block(unit, block)]


def _block(unit: Unit, block: ast.Try | ast.TryStar) -> Iterator[Judgement]:
    catches = [(handler, classify(unit, handler.type)) for handler in block.handlers]
    if all(catch.kind is CatchKind.NONE for _, catch in catches):
        return
    arrives = is_cancellable(unit, block.body)
    covered: frozenset[str] = frozenset()
    for handler, catch in catches:
        if catch.kind is CatchKind.UNKNOWN and arrives:
            unit.unresolved_count += 1
        if catch.kind not in (CatchKind.BROAD, CatchKind.EXPLICIT, CatchKind.GROUP):
            continue
        walked = trace(unit, handler.body, _start(handler), rest=_rest(unit, block))
        is_unreachable = catch.kind is not CatchKind.GROUP and unit.shared(frameworks) <= covered
        if is_unreachable:
            fate, risk = Fate.PRESERVED, Risk.ACCEPTED
        elif isinstance(block, ast.TryStar) or catch.kind is CatchKind.GROUP:
            fate, risk = _grouped(unit, block, handler, walked, arrives)
        else:
            fate, risk = _plain(unit, handler, catch, walked, arrives)
        if risk is Risk.ACCEPTED:
            covered |= catch.covers
        yield Judgement(
            handler=handler, block=block, catch=catch, fate=fate, risk=risk, is_cancellable=arrives,
            trace=walked,
        )  # fmt: skip


def _rest(unit: Unit, block: ast.stmt) -> Sequence[ast.stmt]:
    """Return the statements behind a `try` in its block."""
    parent = unit.parent(block)
    for name in ("body", "orelse", "finalbody"):
        statements: object = getattr(parent, name, None)
        if isinstance(statements, list) and block in cast(list[ast.stmt], statements):
            following = cast(list[ast.stmt], statements)
            return following[following.index(block) + 1 :]
    return ()


def _start(handler: ast.ExceptHandler) -> State:
    return State(held=frozenset({handler.name}) if handler.name else frozenset())


def _plain(
    unit: Unit, handler: ast.ExceptHandler, catch: Catch, walked: Trace, arrives: bool
) -> tuple[Fate, Risk]:
    if walked.preserves:
        is_late = walked.is_late and catch.kind is CatchKind.BROAD and not _always(unit, handler)
        return (
            (Fate.LATE, Risk.HIGH if arrives else Risk.MEDIUM) if is_late else (Fate.PRESERVED, Risk.ACCEPTED)
        )
    fate = Fate.TRANSFORMED if walked.transforms else Fate.SWALLOWED
    if not arrives:
        is_sync = not isinstance(unit.index.function(handler), ast.AsyncFunctionDef)
        return fate, Risk.LOW if catch.kind is CatchKind.EXPLICIT and is_sync else Risk.MEDIUM
    if _ends_anyway(unit, handler, walked):
        return fate, Risk.MEDIUM
    if fate is Fate.TRANSFORMED or _calls(handler, "uncancel"):
        return fate, Risk.HIGH
    return fate, Risk.CRITICAL


def _ends_anyway(unit: Unit, handler: ast.ExceptHandler, walked: Trace) -> bool:
    """Tell whether this handler guards cleanup in an outer one that raises: the task ends anyway."""
    block = unit.index.parents[handler]
    outer = unit.parent(block)
    if not isinstance(outer, ast.ExceptHandler) or not isinstance(block, ast.Try):
        return False
    outcomes = walked.outcomes
    if Outcome.THROUGH in outcomes:
        rest = trace(unit, _rest(unit, block), State(is_current=False)).outcomes
        outcomes = (outcomes - {Outcome.THROUGH}) | (rest or frozenset({Outcome.THROUGH}))
    return outcomes <= RAISING


def _always(unit: Unit, handler: ast.ExceptHandler) -> bool:
    """Tell whether an ordinary exception leaves the handler too: then no guard decides, none is late."""
    return trace(unit, handler.body, _start(handler), hypothesis=ORDINARY).preserves


def _grouped(
    unit: Unit, block: ast.Try | ast.TryStar, handler: ast.ExceptHandler, walked: Trace, arrives: bool
) -> tuple[Fate, Risk]:
    raises = any(isinstance(node, ast.Raise) for node in inside(handler))
    if isinstance(block, ast.TryStar):
        if not arrives:
            return Fate.GROUPED, Risk.MEDIUM
        return Fate.GROUPED, Risk.HIGH if raises else Risk.CRITICAL
    if walked.preserves or (raises and (_calls(handler, "split") or _calls(handler, "subgroup"))):
        return Fate.PRESERVED, Risk.ACCEPTED
    makes_groups = any(paths & _GROUP_MAKERS for _, paths in unit.calls_to(lasts(_GROUP_MAKERS)))
    return Fate.GROUPED, Risk.CRITICAL if arrives and makes_groups else Risk.MEDIUM


def _calls(handler: ast.ExceptHandler, method: str) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method
        for node in inside(handler)
    )


def loops(unit: Unit, judgement: Judgement) -> bool:
    """Tell whether a swallowing handler sits in an endless loop that goes on after it."""
    if not judgement.trace.outcomes & {Outcome.THROUGH, Outcome.CONTINUE}:
        return False
    for parent in unit.index.ancestors(judgement.block):
        if isinstance(parent, ast.While):
            return isinstance(parent.test, ast.Constant) and bool(parent.test.value)
        if isinstance(parent, ast.For | ast.AsyncFor | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return False
    return False


def symbol(unit: Unit, node: ast.AST, catch_type: str) -> str:
    """Return what an exemption names: class and function, so that it never covers a second function."""
    qualname = unit.names.qualname(node)
    module = unit.names.module
    return f"{catch_type}@{module}.{qualname}" if module else f"{catch_type}@{qualname}"
