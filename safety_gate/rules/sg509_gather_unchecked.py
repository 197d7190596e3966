"""SG509: results of `gather(return_exceptions=True)` are looked at."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from safety_gate.cancellation.classes import CatchKind, classify
from safety_gate.cancellation.handlers import symbol
from safety_gate.cancellation.suppression import cancelled_before
from safety_gate.rule import Rule
from safety_gate.unit import Unit
from safety_gate.violation import Risk, Violation


class GatherUnchecked(Rule):
    """Advises on gathered exceptions that nobody looks at."""

    code = "SG509"
    name = "gather-unchecked"
    summary = "The exceptions that gather() returns are dropped or only tested as Exception."
    triggers: ClassVar[tuple[str, ...]] = ("gather return_exceptions",)

    def check(self, unit: Unit) -> Iterator[Violation]:
        """Yield every gather whose collected failures are lost, as advice."""
        for call, paths in unit.calls_to(frozenset({"gather"})):
            if "asyncio.gather" in paths and _collects(call) and _is_unchecked(unit, call):
                message = (
                    "A cancelled child comes back as a value here and nobody looks at it. Test "
                    "the results for "
                    "BaseException, or use a TaskGroup."
                )
                yield self.violation(
                    unit, call, message, symbol=symbol(unit, call, "gather"), risk=Risk.MEDIUM,
                    catch_type="gather",
                )  # fmt: skip


def _collects(call: ast.Call) -> bool:
    return any(
        keyword.arg == "return_exceptions"
        and isinstance(keyword.value, ast.Constant)
        and keyword.value.value is True
        for keyword in call.keywords
    )


def _is_unchecked(unit: Unit, call: ast.Call) -> bool:
    awaited = unit.parent(call)
    if not isinstance(awaited, ast.Await):
        return False
    tasks = [arg.value if isinstance(arg, ast.Starred) else arg for arg in call.args]
    if tasks and all(cancelled_before(unit, task) for task in tasks):
        return False
    holder = unit.parent(awaited)
    if isinstance(holder, ast.Expr):
        return True
    if not isinstance(holder, ast.Assign):
        return False
    return unit.shared(_sees).get(unit.index.function(call)) is False


def _sees(unit: Unit) -> dict[ast.AST | None, bool]:
    """Return for each function with type tests whether one of them sees a cancellation. For `Unit.shared`."""
    seen: dict[ast.AST | None, bool] = {}
    for call in unit.index.all(ast.Call):
        if isinstance(call.func, ast.Name) and call.func.id == "isinstance":
            function = unit.index.function(call)
            seen[function] = seen.get(function, False) or _sees_cancellation(unit, call)
    return seen


def _sees_cancellation(unit: Unit, test: ast.Call) -> bool:
    if len(test.args) != 2:
        return True
    catch = classify(unit, test.args[1])
    is_exception = "builtins.Exception" in unit.paths(test.args[1])
    return catch.kind is not CatchKind.NONE or not is_exception
