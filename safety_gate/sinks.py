"""Where values leave into logs, warnings, traces and standard streams."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass

from safety_gate.names import Paths
from safety_gate.roles import Role
from safety_gate.sink_words import LOG_METHODS
from safety_gate.stdio import stdio_calls
from safety_gate.unit import Unit, lasts

_LOGGERS = frozenset(
    {"logging", "logging.Logger()", "logging.LoggerAdapter()", "logging.root", "structlog.BoundLogger()"}
    | {"loguru.Logger()", "structlog.BoundLoggerBase()", "structlog.PrintLogger()", "twisted.logger.Logger()"}
)
_STRUCTURED = ("structlog.", "loguru.")
_BINDERS = frozenset(
    {f"structlog.BoundLogger().{method}" for method in ("bind", "new")}
    | {f"loguru.Logger().{method}" for method in ("bind", "contextualize", "patch", "catch", "opt")}
    | {
        "structlog.contextvars.bind_contextvars",
        "structlog.contextvars.bound_contextvars",
        "logging.makeLogRecord",
    }
)
_WARNINGS = frozenset({"warnings.warn", "warnings.warn_explicit"})
_SENTRY = frozenset(
    f"sentry_sdk.{name}"
    for name in ("capture_message", "add_breadcrumb", "set_context", "set_extra", "set_tag", "set_user")
)
_SPAN_METHODS = frozenset({"set_attribute", "set_attributes", "add_event"})
_LOGGER_NAMES = frozenset({"log", "logger", "LOGGER", "LOG", "_log", "_logger", "_LOGGER", "_LOG"})
_LASTS = LOG_METHODS | _SPAN_METHODS | lasts(_BINDERS, _WARNINGS, _SENTRY)
_FACTORIES = frozenset({"get_logger", "getLogger", "getlogger"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """One call that sends its arguments out.

    Attributes:
        call: The call.
        symbol: Its canonical name.
        method: Its last name.
        is_structured: Whether the names of its keywords go out with their values.
    """

    call: ast.Call
    symbol: str
    method: str
    is_structured: bool


def sinks(unit: Unit) -> list[Sink]:
    """Find every sink. For `Unit.shared`."""
    found: dict[ast.Call, Sink] = {}
    for call, paths in unit.calls_to(_LASTS):
        sink = _resolved(call, paths) or _by_name(unit, call, paths)
        if sink is not None:
            found[call] = sink
    if unit.role is not Role.CLI:  # what a command prints is its product
        for call, path in unit.shared(stdio_calls):
            found.setdefault(call, Sink(call=call, symbol=path, method="", is_structured=False))
    return list(found.values())


def _resolved(call: ast.Call, paths: Paths) -> Sink | None:
    for path in sorted(paths):
        receiver, _, method = path.rpartition(".")
        if receiver in _LOGGERS and method in LOG_METHODS:
            return Sink(call=call, symbol=path, method=method, is_structured=path.startswith(_STRUCTURED))
        if path in _BINDERS or path in _SENTRY:
            return Sink(call=call, symbol=path, method=method, is_structured=True)
        if path in _WARNINGS:
            return Sink(call=call, symbol=path, method=method, is_structured=False)
        if path.startswith("opentelemetry.") and method in _SPAN_METHODS:
            return Sink(call=call, symbol=path, method=method, is_structured=True)
    return None


def _by_name(unit: Unit, call: ast.Call, paths: Paths) -> Sink | None:
    """Recognise a logger of unknown origin by its name; a name that resolves to something else wins."""
    func = call.func
    if not isinstance(func, ast.Attribute):
        return None
    name = _last_name(func.value)
    if func.attr in LOG_METHODS and _is_logger_name(name, func.value):
        if any(_is_other(unit, path) for path in paths):
            return None
        return Sink(call=call, symbol=f"{name}.{func.attr}", method=func.attr, is_structured=True)
    if func.attr in _SPAN_METHODS and name.lower().endswith("span"):
        return Sink(call=call, symbol=f"{name}.{func.attr}", method=func.attr, is_structured=True)
    return None


def _last_name(receiver: ast.expr) -> str:
    match receiver:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name
        case _:
            return ""


def _is_logger_name(name: str, receiver: ast.expr) -> bool:
    if isinstance(receiver, ast.Call):
        return name in _FACTORIES
    return name in _LOGGER_NAMES or name.endswith(("logger", "Logger", "LOGGER"))


def _is_other(unit: Unit, path: str) -> bool:
    """Tell whether a path is no logger: a class of this file, a literal, or a mathematics module."""
    head = path.rpartition(".")[0]
    is_local_instance = (
        head.endswith("()") and unit.names.local_class(head) is not None and not _may_log(unit, head)
    )
    root = path.partition(".")[0]
    is_standard = root in sys.stdlib_module_names or root in ("distutils", "numpy", "torch")
    return is_local_instance or (is_standard and root not in ("logging", "multiprocessing"))


def _may_log(unit: Unit, head: str) -> bool:
    owner = unit.names.local_class(head)
    return owner is not None and any(
        "log" in name.lower() for base in owner.bases for name in unit.paths(base)
    )
