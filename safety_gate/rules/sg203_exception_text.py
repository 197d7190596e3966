"""SG203: an exception's text, which may quote a payload, stays out of logs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from safety_gate.roles import matches
from safety_gate.rule import Rule
from safety_gate.scopes import BindingKind
from safety_gate.sinks import Sink, sinks
from safety_gate.unit import Unit
from safety_gate.violation import Violation

_TEXT_CALLS = frozenset({"str", "repr", "format"})
_TRACEBACKS = frozenset({"traceback.format_exc", "traceback.format_exception"})


class ExceptionTextLogging(Rule):
    """Finds logged exception texts. Optional: most code wants them, provider adapters do not."""

    code = "SG203"
    name = "exception-text-logging"
    summary = "The text of an exception, which may quote a payload, is logged."
    is_optional = True
    triggers: ClassVar[tuple[str, ...]] = ("except", "exc_info", "exception", "aexception", "format_exc")

    def check(self, unit: Unit) -> Iterator[Violation]:
        """Yield every sink that shows an exception."""
        settings = unit.settings
        if (
            settings.exception_text_paths
            and not settings.is_strict
            and not matches(unit.path, settings.exception_text_paths)
        ):
            return
        for sink in unit.shared(sinks):
            if self._shows(unit, sink):
                message = (
                    f"`{sink.symbol}` shows the text of an exception, which may quote a payload. Log "
                    "`type(exc).__name__` and a code."
                )
                yield self.violation(unit, sink.call, message, symbol=sink.symbol)

    def _shows(self, unit: Unit, sink: Sink) -> bool:
        if sink.method in ("exception", "aexception"):
            return True
        for keyword in sink.call.keywords:
            if keyword.arg == "exc_info" and not (
                isinstance(keyword.value, ast.Constant) and not keyword.value.value
            ):
                return True
        values = [*sink.call.args, *(keyword.value for keyword in sink.call.keywords)]
        return any(_shows_exception(unit, value) for value in values)


def _shows_exception(unit: Unit, node: ast.expr) -> bool:
    stack = [node]
    while stack:
        current = stack.pop()
        match current:
            case ast.Name(id=name):
                bindings = unit.names.scopes.lookup(name, current)
                if any(binding.kind is BindingKind.CAUGHT for binding in bindings):
                    return True
            case ast.Attribute(value=value, attr="args" | "message"):
                stack.append(value)
            case ast.Call(func=func, args=args):
                if unit.paths(func) & _TRACEBACKS:
                    return True
                is_text = isinstance(func, ast.Name) and func.id in _TEXT_CALLS
                is_format = isinstance(func, ast.Attribute) and func.attr == "format"
                stack.extend(args if is_text or is_format else [])
            case ast.JoinedStr() | ast.FormattedValue() | ast.BinOp() | ast.Tuple() | ast.Dict():
                stack.extend(child for child in ast.iter_child_nodes(current) if isinstance(child, ast.expr))
            case _:
                pass
    return False
