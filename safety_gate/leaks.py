"""What each sink of a module is given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from safety_gate.exposure import Exposure, ExposureKind, exposures, is_clean
from safety_gate.sinks import Sink, sinks
from safety_gate.unit import Unit
from safety_gate.words import is_sensitive

_CONTROL = frozenset(
    {"exc_info", "stack_info", "stacklevel", "file", "sep", "end", "flush", "category", "source"}
)


def leaks(unit: Unit) -> list[tuple[Sink, Exposure]]:
    """Return each sink with the first word and the first bulk value that it shows. For `Unit.shared`."""
    found: list[tuple[Sink, Exposure]] = []
    for sink in unit.shared(sinks):
        kinds: set[ExposureKind] = set()
        for exposure in _shown(unit, sink):
            if exposure.kind not in kinds:
                kinds.add(exposure.kind)
                found.append((sink, exposure))
    return found


def _shown(unit: Unit, sink: Sink) -> Iterator[Exposure]:
    for argument in _positional(sink):
        yield from exposures(unit, argument, keys_count=sink.is_structured)
    for keyword in sink.call.keywords:
        if keyword.arg is None:
            yield from _spread(unit, keyword.value)
        elif keyword.arg in _CONTROL:
            continue
        elif sink.is_structured and _names_secret(unit, keyword):
            yield Exposure(ExposureKind.WORD, keyword.arg)
        else:
            keys_count = sink.is_structured or keyword.arg == "extra"
            yield from exposures(unit, keyword.value, keys_count=keys_count)


def _positional(sink: Sink) -> list[ast.expr]:
    """Return the positional arguments that are shown: the key of a span's attribute is not one."""
    args = sink.call.args
    if sink.method == "set_attribute" and len(args) == 2:
        key = args[0]
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            return [ast.Dict(keys=[ast.Constant(value=key.value.rpartition(".")[2])], values=[args[1]])]
    return list(args)


def _names_secret(unit: Unit, keyword: ast.keyword) -> bool:
    settings = unit.settings
    name = keyword.arg or ""
    return is_sensitive(name, settings.sensitive_words, settings.harmless_words) and not is_clean(
        unit, keyword.value
    )


def _spread(unit: Unit, value: ast.expr) -> Iterator[Exposure]:
    """Yield what `**value` shows: the whole of a mapping with a sensitive name is bulk."""
    for exposure in exposures(unit, value, keys_count=True):
        is_name = isinstance(value, ast.Name | ast.Attribute)
        yield Exposure(ExposureKind.BULK, f"**{exposure.name}") if is_name else exposure
