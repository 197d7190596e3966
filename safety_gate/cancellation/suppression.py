"""Cancellation lost without a handler: `suppress`, exit methods, retry decorators; and the reap idiom."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from safety_gate.cancellation.classes import Catch, CatchKind, classify, members
from safety_gate.cancellation.delivery import is_cancellable
from safety_gate.cancellation.flow import trace
from safety_gate.cancellation.guards import Verdict, judge
from safety_gate.cancellation.state import State
from safety_gate.index import FUNCTIONS
from safety_gate.unit import Unit, lasts
from safety_gate.violation import Risk

_EXITS = {"__exit__": Risk.MEDIUM, "__aexit__": Risk.CRITICAL}
_STACKS = ("contextlib.ExitStack().enter_context", "contextlib.AsyncExitStack().enter_context")
_RETRY_CLASSES = frozenset({"tenacity.retry_if_exception_type", "tenacity.retry_if_not_exception_type"})
_BACKOFF = frozenset({"backoff.on_exception"})
_DEADLINES = frozenset({"asyncio.timeout", "asyncio.timeout_at", "async_timeout.timeout"})
_RETRIES = lasts(_RETRY_CLASSES, _BACKOFF)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppression:
    """A place that makes a cancellation vanish.

    Attributes:
        node: Where.
        label: The class, for the symbol.
        form: `suppress`, `exit` or `retry`.
        risk: How bad it is.
        is_reap: Whether it only waits for a task that was cancelled just before.
    """

    node: ast.AST
    label: str
    form: str
    risk: Risk
    is_reap: bool = False


def suppressions(unit: Unit) -> list[Suppression]:
    """Find every suppression. For `Unit.shared`."""
    return [*_contexts(unit), *_exit_methods(unit), *_retries(unit)]


def reaps(unit: Unit, body: list[ast.stmt]) -> bool:
    """Tell whether a block only awaits tasks on which `.cancel()` was called before."""
    while len(body) == 1 and isinstance(body[0], ast.AsyncWith) and _is_deadline(unit, body[0]):
        body = body[0].body
    awaited = [statement.value for statement in body if isinstance(statement, ast.Expr)]
    if len(awaited) != len(body) or not body:
        return False
    return all(isinstance(value, ast.Await) and _was_cancelled(unit, value.value) for value in awaited)


def _is_deadline(unit: Unit, block: ast.AsyncWith) -> bool:
    calls_only = [i.context_expr.func for i in block.items if isinstance(i.context_expr, ast.Call)]
    return len(calls_only) == len(block.items) and all(unit.paths(func) & _DEADLINES for func in calls_only)


def cancelled_before(unit: Unit, node: ast.expr) -> bool:
    """Tell whether the function calls `.cancel()` on this very name before, or on the elements of it."""
    text = _text(node)
    if not text:
        return False
    frame = unit.shared(_frames)[unit.index.function(node)]
    place = _place(node)
    sources = {text, *frame.sources[text]}
    aliases = sources.union(*(frame.targets[source] for source in sources))
    return any(frame.cancels.get(alias, place) < place for alias in aliases)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """What a function loops over and cancels.

    Attributes:
        targets: The names that run over the elements of a name.
        sources: The names whose elements a name runs over.
        cancels: Where `.cancel()` is called first on a name.
    """

    targets: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    sources: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    cancels: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])


def _frames(unit: Unit) -> defaultdict[ast.AST | None, _Frame]:
    """Read every function once, however many tasks it waits for. For `Unit.shared`."""
    frames: defaultdict[ast.AST | None, _Frame] = defaultdict(_Frame)
    for loop in unit.index.all(ast.For):
        source, target = _text(loop.iter), _text(loop.target)
        if source and target:
            frame = frames[unit.index.function(loop)]
            frame.targets[source].add(target)
            frame.sources[target].add(source)
    for call in unit.index.all(ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "cancel" and _text(call.func.value):
            cancels = frames[unit.index.function(call)].cancels
            name = _text(call.func.value)
            cancels[name] = min(cancels.get(name, _place(call)), _place(call))
    return frames


def _place(node: ast.expr) -> tuple[int, int]:
    return (node.lineno, node.col_offset)


def _was_cancelled(unit: Unit, awaited: ast.expr) -> bool:
    if isinstance(awaited, ast.Call):
        waits = unit.paths(awaited.func) & {"asyncio.gather", "asyncio.wait", "asyncio.wait_for"}
        tasks = [arg.value if isinstance(arg, ast.Starred) else arg for arg in awaited.args]
        return bool(waits and tasks) and cancelled_before(unit, tasks[0])
    return cancelled_before(unit, awaited)


def _text(node: ast.expr) -> str:
    """Return a chain of names as text; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def _contexts(unit: Unit) -> Iterator[Suppression]:
    for call, paths in unit.calls_to(frozenset({"suppress"})):
        if "contextlib.suppress" not in paths:
            continue
        catch = _first(unit, call)
        if catch is None:
            continue
        body = _protected(unit, call)
        if body is None:
            continue
        arrives = is_cancellable(unit, body)
        is_reap = arrives and catch.kind is CatchKind.EXPLICIT and reaps(unit, body)
        is_sync = not isinstance(unit.index.function(call), ast.AsyncFunctionDef)
        risk = (
            Risk.CRITICAL
            if arrives
            else Risk.LOW
            if catch.kind is CatchKind.EXPLICIT and is_sync
            else Risk.MEDIUM
        )
        yield Suppression(
            node=call, label=catch.label, form="suppress", risk=Risk.MEDIUM if is_reap else risk,
            is_reap=is_reap,
        )  # fmt: skip


def _first(unit: Unit, call: ast.Call) -> Catch | None:
    catches = [classify(unit, arg) for arg in call.args]
    taking = [catch for catch in catches if catch.kind in (CatchKind.BROAD, CatchKind.EXPLICIT)]
    return taking[0] if taking else None


def _protected(unit: Unit, call: ast.Call) -> list[ast.stmt] | None:
    parent = unit.parent(call)
    if isinstance(parent, ast.withitem):
        block = unit.parent(parent)
        return block.body if isinstance(block, ast.With | ast.AsyncWith) else None
    if isinstance(parent, ast.Call) and unit.paths(parent.func) & set(_STACKS):
        for outer in unit.index.ancestors(parent):
            if isinstance(outer, ast.With | ast.AsyncWith):
                return outer.body
            if isinstance(outer, FUNCTIONS):
                return [] if isinstance(outer, ast.Lambda) else outer.body
    return None


def _exit_methods(unit: Unit) -> Iterator[Suppression]:
    for method in unit.index.functions():
        risk = _EXITS.get(method.name)
        if risk is None or not isinstance(unit.parent(method), ast.ClassDef):
            continue
        names = [arg.arg for arg in (*method.args.posonlyargs, *method.args.args)][1:]
        state = State(type_names=frozenset(names[:1]), held=frozenset(names[1:2]), is_current=False)
        for returned, is_certain in trace(unit, method.body, state).returns:
            if returned.value is not None and judge(unit, returned.value, state, "") is Verdict.TRUE:
                # Behind a test that we cannot read the exception may have been looked at.
                chosen = risk if is_certain else Risk.MEDIUM
                yield Suppression(node=returned, label=method.name, form="exit", risk=chosen)


def _retries(unit: Unit) -> Iterator[Suppression]:
    for call, paths in unit.calls_to(_RETRIES):
        if paths & _BACKOFF and len(call.args) > 1:
            classes = call.args[1]
        elif paths & _RETRY_CLASSES and call.args:
            classes = call.args[0]
        else:
            continue
        catch = classify(unit, classes)
        if catch.kind in (CatchKind.BROAD, CatchKind.EXPLICIT) and members(unit, classes):
            yield Suppression(node=call, label=catch.label, form="retry", risk=Risk.CRITICAL)
