"""Follow a handler's paths under the hypothesis that the exception is a cancellation."""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from safety_gate.cancellation.classes import CatchKind, classify, frameworks
from safety_gate.cancellation.guards import Verdict, judge, judge_pattern
from safety_gate.cancellation.state import State
from safety_gate.unit import Unit

_HELPERS = frozenset({"tramapy.rethrow_if_cancellation", "tramapy.cancellation.rethrow_if_cancellation"})
_NEVER_RETURNS = frozenset({"sys.exit", "os._exit", "os.abort", "builtins.exit", "builtins.quit"})
_CLEANUP = (
    "close", "aclose", "cancel", "release", "clear", "pop", "discard", "remove", "shutdown", "unlink",
    "stop", "cleanup",
    "rollback", "set", "reset", "terminate", "kill", "disconnect", "abort", "append", "notify",
    "notify_all", "done",
)  # fmt: skip


class Outcome(enum.Enum):
    """How a path through a handler ends."""

    SAME = enum.auto()
    FRESH = enum.auto()
    OTHER = enum.auto()
    RETURN = enum.auto()
    BREAK = enum.auto()
    CONTINUE = enum.auto()
    THROUGH = enum.auto()


RAISING = frozenset({Outcome.SAME, Outcome.FRESH, Outcome.OTHER})
PRESERVING = frozenset({Outcome.SAME, Outcome.FRESH})


@dataclass(slots=True)
class Trace:
    """What a walk over a handler found.

    Attributes:
        outcomes: How its paths end.
        is_late: Whether the cancellation leaves through a guard that comes too late.
        returns: The `return` statements that a cancellation can reach, and whether it surely does.
        others: The `raise` statements that replace it.
    """

    outcomes: frozenset[Outcome] = frozenset()
    is_late: bool = False
    returns: list[tuple[ast.Return, bool]] = field(default_factory=list[tuple[ast.Return, bool]])
    others: list[ast.Raise] = field(default_factory=list[ast.Raise])

    @property
    def preserves(self) -> bool:
        """Whether the cancellation leaves on every path."""
        return bool(self.outcomes) and self.outcomes <= PRESERVING

    @property
    def transforms(self) -> bool:
        """Whether every path raises, but not always the cancellation."""
        return self.outcomes <= RAISING and Outcome.OTHER in self.outcomes


_JUMPS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
Step = tuple[frozenset[Outcome], State | None]


def trace(
    unit: Unit, body: Sequence[ast.stmt], state: State, *, hypothesis: str = "", rest: Sequence[ast.stmt] = ()
) -> Trace:
    """Walk a handler.

    Args:
        unit: The module.
        body: The handler's statements.
        state: What is known at its start.
        rest: What runs after the handler, for an exception that is stored in it and raised later.
        hypothesis: Empty for a cancellation of any framework in use; `CLOSE` or `ORDINARY`.
    """
    walk = _Walk(unit, hypothesis)
    outcomes, end = walk.block(body, state)
    kept = (end.held - state.held) if end is not None else frozenset[str]()
    if end is not None and kept and _raises(rest, kept):
        more, end = walk.block(rest, replace(end, held=kept, is_current=False))
        outcomes |= more
    walk.found.outcomes = outcomes if end is None else outcomes | {Outcome.THROUGH}
    return walk.found


def _raises(rest: Sequence[ast.stmt], names: frozenset[str]) -> bool:
    return any(
        isinstance(node, ast.Raise) and isinstance(node.exc, ast.Name) and node.exc.id in names
        for statement in rest
        for node in ast.walk(statement)
    )


class _Walk:
    """Recursion follows blocks only, and the tokenizer allows a hundred of them; `elif` chains are a loop."""

    def __init__(self, unit: Unit, hypothesis: str, *, is_inlined: bool = False) -> None:
        self._is_inlined = is_inlined
        self.unit = unit
        self.hypothesis = hypothesis
        self.found = Trace()
        self._fresh_counts = unit.shared(frameworks) == frozenset({"asyncio"})
        self._handlers: dict[type[ast.AST], Callable[[ast.stmt, State], Step]] = {
            ast.Raise: self._raise, ast.Return: self._return, ast.Break: self._break,
            ast.Continue: self._continue,
            ast.Expr: self._expression, ast.If: self._if, ast.While: self._loop, ast.For: self._loop,
            ast.AsyncFor: self._loop, ast.With: self._with, ast.AsyncWith: self._with, ast.Try: self._try,
            ast.TryStar: self._try, ast.Match: self._match,
        }  # fmt: skip

    def block(self, body: Sequence[ast.stmt], state: State) -> Step:
        outcomes: frozenset[Outcome] = frozenset()
        for statement in body:
            handler = self._handlers.get(type(statement), self._plain)
            found, after = handler(statement, state)
            outcomes |= found
            if after is None:
                return outcomes, None
            state = after
        return outcomes, state

    def _plain(self, node: ast.stmt, state: State) -> Step:
        if isinstance(
            node,
            ast.Pass | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom,
        ):
            return frozenset(), state
        state = replace(state, has_run=True)
        targets, value = _assignment(node)
        if targets:
            state = replace(state, held=state.held - targets, tests=state.tests - targets)
        if isinstance(value, ast.Name) and value.id in state.held:
            state = replace(state, held=state.held | targets)
        elif value is not None and _is_cancelling(value):
            state = replace(state, tests=state.tests | targets)
        elif value is not None and _acts(value):
            state = replace(state, has_acted=True)
        return frozenset(), state

    def _expression(self, node: ast.stmt, state: State) -> Step:
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.Constant):
            return frozenset(), state
        call = value.value if isinstance(value, ast.Await) else value
        if isinstance(call, ast.Call):
            if self._is_helper(call, state) and not self.hypothesis:  # the helper lets anything else pass
                self.found.is_late = self.found.is_late or state.has_run
                return frozenset({Outcome.SAME}), None
            inlined = self._inlined(call, state)
            if inlined is not None:
                return inlined
            paths = self.unit.paths(call.func)
            if paths & (_NEVER_RETURNS | frozenset(self.unit.settings.never_returns)):
                return frozenset({Outcome.OTHER}), None
        acted = state.has_acted or (value is not None and _acts(value))
        return frozenset(), replace(state, has_run=True, has_acted=acted)

    def _inlined(self, call: ast.Call, state: State) -> Step | None:
        """Follow the exception into a function of this file that it is given to, one level deep."""
        if self._is_inlined or self.hypothesis:
            return None
        for position, arg in enumerate(call.args):
            if isinstance(arg, ast.Name) and arg.id in state.held:
                function = self.unit.names.local_function(call.func)
                parameter = _parameter(function, call.func, position) if function is not None else ""
                if function is None or not parameter:
                    return None
                walk = _Walk(self.unit, self.hypothesis, is_inlined=True)
                found, end = walk.block(
                    function.body, State(held=frozenset({parameter}), is_current=state.is_current)
                )
                goes_on = end is not None or Outcome.RETURN in found
                self.found.is_late = self.found.is_late or (goes_on and state.is_late)
                after = replace(state, has_run=True, has_acted=True) if goes_on else None
                return found - {Outcome.RETURN}, after
        return None

    def _is_helper(self, call: ast.Call, state: State) -> bool:
        helpers = _HELPERS | frozenset(self.unit.settings.rethrow_helpers)
        given = [arg.id for arg in call.args if isinstance(arg, ast.Name)]
        if self.unit.paths(call.func) & helpers:
            return any(name in state.held for name in given)
        match call.func:
            case ast.Attribute(value=ast.Name(id=receiver), attr=attr):
                return receiver in state.held and attr in {helper.rpartition(".")[2] for helper in helpers}
            case _:
                return False

    def _raise(self, node: ast.stmt, state: State) -> Step:
        exc = node.exc if isinstance(node, ast.Raise) else None
        outcome = self._raised(exc, state)
        if outcome is Outcome.SAME:
            self.found.is_late = self.found.is_late or state.is_late
        if outcome is Outcome.OTHER and isinstance(node, ast.Raise):
            self.found.others.append(node)
        return frozenset({outcome}), None

    def _raised(self, exc: ast.expr | None, state: State) -> Outcome:
        if exc is None:
            return Outcome.SAME if state.is_current else Outcome.OTHER
        match exc:
            case (
                ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="with_traceback"))
                | ast.Name(id=name)
            ):
                if name in state.held:
                    return Outcome.SAME
            case _:
                pass
        target = exc.func if isinstance(exc, ast.Call) else exc
        raised = {path.removesuffix("()") for path in self.unit.paths(target)}
        if "asyncio.CancelledError" in raised and self._fresh_counts:
            return Outcome.FRESH
        return Outcome.OTHER

    def _return(self, node: ast.stmt, state: State) -> Step:
        if isinstance(node, ast.Return):
            self.found.returns.append((node, state.is_certain))
        return frozenset({Outcome.RETURN}), None

    def _break(self, node: ast.stmt, state: State) -> Step:
        return frozenset({Outcome.BREAK}), None

    def _continue(self, node: ast.stmt, state: State) -> Step:
        return frozenset({Outcome.CONTINUE}), None

    def _if(self, node: ast.stmt, state: State) -> Step:
        outcomes: frozenset[Outcome] = frozenset()
        ends: list[State] = []
        rest: Sequence[ast.stmt] = [node]
        while len(rest) == 1 and isinstance(rest[0], ast.If):
            test = rest[0]
            verdict = judge(self.unit, test.test, state, self.hypothesis)
            divides = verdict is Verdict.TRUE or (
                verdict is Verdict.FALSE and isinstance(test.body[-1], _JUMPS)
            )
            if divides:
                state = replace(state, is_late=state.is_late or state.has_acted)
            state = replace(state, has_run=True)
            if verdict is Verdict.UNKNOWN:
                state = replace(state, is_certain=False)
            if verdict is not Verdict.FALSE:
                found, end = self.block(test.body, state)
                outcomes |= found
                ends += [end] if end is not None else []
            if verdict is Verdict.TRUE:
                return outcomes, _join(ends)
            rest = test.orelse
        found, end = self.block(rest, state)
        return outcomes | found, _join(ends + ([end] if end is not None else []))

    def _loop(self, node: ast.stmt, state: State) -> Step:
        if not isinstance(node, ast.While | ast.For | ast.AsyncFor):
            return frozenset(), state
        state = replace(state, has_run=True)
        found, _ = self.block(node.body, state)
        is_endless = (
            isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
        )
        outcomes = found - {Outcome.BREAK, Outcome.CONTINUE}
        end: State | None = None
        if not is_endless:
            more, end = self.block(node.orelse, state)
            outcomes |= more
        return outcomes, state if Outcome.BREAK in found else end

    def _with(self, node: ast.stmt, state: State) -> Step:
        if not isinstance(node, ast.With | ast.AsyncWith):
            return frozenset(), state
        state = replace(state, has_run=True)
        found, end = self.block(node.body, state)
        if found & PRESERVING and any(suppresses(self.unit, item.context_expr) for item in node.items):
            return found - PRESERVING, state
        return found, end

    def _try(self, node: ast.stmt, state: State) -> Step:
        if not isinstance(node, ast.Try | ast.TryStar):
            return frozenset(), state
        found, end = self.block(node.body, state)
        outcomes, ends = self._caught(node.handlers, found, state)
        if end is not None:
            more, end = self.block(node.orelse, end)
            outcomes |= more
        if end is not None:
            ends.append(end)
        jumps, after = self.block(node.finalbody, state)
        if after is None:
            return jumps, None
        return outcomes | jumps, _join(ends)

    def _caught(
        self, handlers: Sequence[ast.ExceptHandler], found: frozenset[Outcome], state: State
    ) -> tuple[frozenset[Outcome], list[State]]:
        outcomes = found
        ends: list[State] = []
        for handler in handlers:
            catch = classify(self.unit, handler.type)
            takes = catch.kind in (CatchKind.BROAD, CatchKind.EXPLICIT) and bool(outcomes & PRESERVING)
            name = frozenset({handler.name}) if handler.name else frozenset[str]()
            held = state.held | name if takes else state.held - name
            inner, end = self.block(handler.body, replace(state, is_current=takes, held=held))
            if takes:
                outcomes = (outcomes - PRESERVING) | inner
            else:
                # The cleanup failed: only a path that goes on or jumps loses the cancellation.
                outcomes |= inner - RAISING
            if end is not None:
                ends.append(replace(end, is_current=state.is_current))
        return outcomes, ends

    def _match(self, node: ast.stmt, state: State) -> Step:
        if not isinstance(node, ast.Match):
            return frozenset(), state
        subject = node.subject.id if isinstance(node.subject, ast.Name) else ""
        outcomes: frozenset[Outcome] = frozenset()
        ends: list[State] = []
        for case in node.cases:
            verdict = Verdict.UNKNOWN
            if subject in state.held or _is_irrefutable(case.pattern):
                verdict = judge_pattern(self.unit, case.pattern, self.hypothesis)
            if verdict is Verdict.FALSE:
                continue
            found, end = self.block(case.body, replace(state, has_run=True))
            outcomes |= found
            ends += [end] if end is not None else []
            if verdict is Verdict.TRUE and case.guard is None:
                return outcomes, _join(ends)
        return outcomes, _join([*ends, state])


def suppresses(unit: Unit, context: ast.expr) -> bool:
    """Tell whether a context manager is a `contextlib.suppress` that takes cancellations."""
    if not isinstance(context, ast.Call) or "contextlib.suppress" not in unit.paths(context.func):
        return False
    catches = [classify(unit, arg) for arg in context.args]
    return any(catch.kind in (CatchKind.BROAD, CatchKind.EXPLICIT) for catch in catches)


def _join(states: Iterable[State]) -> State | None:
    joined: State | None = None
    for state in states:
        if joined is None:
            joined = state
            continue
        joined = State(
            held=joined.held & state.held, type_names=joined.type_names & state.type_names,
            tests=joined.tests & state.tests, is_current=joined.is_current and state.is_current,
            has_acted=joined.has_acted or state.has_acted, has_run=joined.has_run or state.has_run,
            is_late=joined.is_late and state.is_late, is_certain=joined.is_certain and state.is_certain,
        )  # fmt: skip
    return joined


def _parameter(function: ast.FunctionDef | ast.AsyncFunctionDef, called: ast.expr, position: int) -> str:
    """Return the name under which a function receives a positional argument."""
    names = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
    is_static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in function.decorator_list)
    if isinstance(called, ast.Attribute) and names[:1] in (["self"], ["cls"]) and not is_static:
        position += 1
    return names[position] if position < len(names) else ""


def _assignment(node: ast.stmt) -> tuple[frozenset[str], ast.expr | None]:
    match node:
        case ast.Assign(targets=targets, value=value):
            names = {leaf.id for target in targets for leaf in ast.walk(target) if isinstance(leaf, ast.Name)}
            return frozenset(names), value
        case (
            ast.AnnAssign(target=ast.Name(id=name), value=value)
            | ast.AugAssign(target=ast.Name(id=name), value=value)
        ):
            return frozenset({name}), value
        case ast.Delete(targets=targets):
            return frozenset(target.id for target in targets if isinstance(target, ast.Name)), None
        case _:
            return frozenset(), None


def _is_cancelling(node: ast.expr) -> bool:
    return any(isinstance(leaf, ast.Attribute) and leaf.attr == "cancelling" for leaf in ast.walk(node))


def _acts(node: ast.expr) -> bool:
    """Tell whether an expression does more than clean up."""
    for leaf in ast.walk(node):
        if isinstance(leaf, ast.Call):
            func = leaf.func
            name = (
                func.attr
                if isinstance(func, ast.Attribute)
                else func.id
                if isinstance(func, ast.Name)
                else ""
            )
            if not name.lstrip("_").startswith(_CLEANUP):
                return True
    return False


def _is_irrefutable(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None
