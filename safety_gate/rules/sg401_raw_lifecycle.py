"""SG401: threads, executors, processes, loops and exit hooks have an owner."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from safety_gate.rule import Rule
from safety_gate.unit import Unit, lasts
from safety_gate.violation import Risk, Violation

_THREADS = frozenset({"threading.Thread", "threading.Timer", "multiprocessing.Process"})
_RAW = frozenset(
    _THREADS
    | {
        "_thread.start_new_thread",
        "_thread.start_joinable_thread",
        "asyncio.new_event_loop",
        "asyncio.set_event_loop",
    }
    | {
        "trio.lowlevel.spawn_system_task",
        "atexit.register",
        "signal.signal",
        "multiprocessing.get_context().Process",
    }
    | {"asyncio.AbstractEventLoop().add_signal_handler", "multiprocessing.get_context().Pool"}
)
# These are owned by the `with` statement that they open.
_SCOPED = frozenset(
    {
        "concurrent.futures.ThreadPoolExecutor",
        "concurrent.futures.ProcessPoolExecutor",
        "multiprocessing.Pool",
    }
    | {
        "multiprocessing.pool.ThreadPool",
        "multiprocessing.ThreadPool",
        "anyio.create_task_group",
        "trio.open_nursery",
    }
    | {"asyncio.TaskGroup", "concurrent.futures.InterpreterPoolExecutor"}
)
_ENTRIES = frozenset({"enter_context", "enter_async_context"})
_RUNNERS = frozenset({"asyncio.run", "asyncio.AbstractEventLoop().run_until_complete"})
_LASTS = lasts(_RAW, _SCOPED, _RUNNERS)


class RawLifecycleCreation(Rule):
    """Finds concurrency and process hooks that nothing closes."""

    code = "SG401"
    name = "raw-lifecycle-creation"
    summary = "A thread, executor, process, event loop or exit hook is made without an owner."
    triggers: ClassVar[tuple[str, ...]] = (
        "threading", "_thread", "ThreadPoolExecutor", "ProcessPoolExecutor", "InterpreterPoolExecutor",
        "multiprocessing",
        "new_event_loop", "set_event_loop", "create_task_group", "open_nursery", "TaskGroup",
        "spawn_system_task",
        "atexit", "signal", "add_signal_handler", "asyncio run", "run_until_complete", "concurrent",
    )  # fmt: skip

    def check(self, unit: Unit) -> Iterator[Violation]:
        """Yield every raw construct, nested ones too; `asyncio.run` with `--strict`, as advice."""
        for call, paths in unit.calls_to(_LASTS):
            for path in sorted(paths):
                if path in _RAW or (path in _SCOPED and not _is_entered(unit, call)):
                    yield self._at(unit, call, path, Risk.HIGH)
                elif path in _RUNNERS and unit.settings.is_strict:
                    yield self._at(unit, call, path, Risk.MEDIUM)
        for function in unit.index.functions():
            for decorator in function.decorator_list:
                if not isinstance(decorator, ast.Call):  # `@atexit.register`: a call without parentheses
                    for path in sorted(unit.paths(decorator) & _RAW):
                        yield self._at(unit, decorator, path, Risk.HIGH)
        for owner in unit.index.all(ast.ClassDef):
            for base in owner.bases:
                for path in sorted(unit.paths(base) & _THREADS):
                    yield self._at(unit, base, path, Risk.HIGH)

    def _at(self, unit: Unit, node: ast.expr, path: str, risk: Risk) -> Violation:
        message = (
            f"`{path}` has no owner that ends it. Use a `with` block or a task group, or exempt the owner."
        )
        return self.violation(unit, node, message, symbol=path, risk=risk)


def _is_entered(unit: Unit, call: ast.Call) -> bool:
    parent = unit.parent(call)
    if isinstance(parent, ast.withitem):
        return True
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute):
        return parent.func.attr in _ENTRIES
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        return parent.targets[0].id in unit.shared(_entered_names)
    return False


def _entered_names(unit: Unit) -> frozenset[str]:
    contexts = [item.context_expr for item in unit.index.all(ast.withitem)]
    return frozenset(context.id for context in contexts if isinstance(context, ast.Name))
