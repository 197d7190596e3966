"""Wrong names of arguments, or none, and assignments: refused with what to write, which Python's own words are not."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, ParamSpec, TypeVar

from tramapy.errors import ConfigurationError

__all__ = ["explains_names", "requires"]

_P = ParamSpec("_P")
_R = TypeVar("_R")
_T = TypeVar("_T")

_ABSENT: Final = object()


def explains_names(made: type[_T]) -> type[_T]:
    """Make a frozen dataclass with slots whose constructor answers wrong names with its fields; still a `TypeError`.

    What assigns to a field is told how to make a changed copy.

    The constructor is written anew, as `dataclasses` writes one, with a place for what has a wrong name. A call around
    the first one would cost 0.3 µs, a third of what a `Message` takes; this one is no slower than that was, for it
    fills the slots themselves. It is written at its first call: at the import, all of them would take 3 ms.
    """
    init: Callable[..., None] = made.__init__

    written: list[Callable[..., None]] = []

    @functools.wraps(init)
    def first(self: object, *unnamed: object, **named: object) -> None:
        if not written:
            # two threads may write it at the same time, and it is the same
            written.append(functools.wraps(init)(_constructor(made, init)))
        if made.__init__ is first:  # and nothing stands around it
            type.__setattr__(made, "__init__", written[0])
        try:
            written[0](self, *unnamed, **named)
        except (TypeError, ValueError) as error:
            failure = error
        else:
            return
        del self, unnamed, named  # what was given is in no frame of the error
        raise failure

    type.__setattr__(made, "__init__", first)
    type.__setattr__(made, "__setattr__", _explained_assignment(made))
    return made


def _constructor(made: type[Any], init: Callable[..., None]) -> Callable[..., None]:
    fields = dataclasses.fields(made)
    names: dict[str, Any] = {"_absent": _ABSENT, "_refused": functools.partial(_refused, made)}
    names |= {"__name__": made.__module__, "_init": init}
    for field in fields:
        names[f"_set_{field.name}"] = getattr(made, field.name).__set__  # of the slot
        names[f"_default_{field.name}"] = field.default
        names[f"_new_{field.name}"] = field.default_factory
    exec(_source(made, fields), names)  # noqa: S102  # made of names of fields alone
    made_anew: Callable[..., None] = names["__init__"]
    return made_anew


def _explained_assignment(made: type[Any]) -> Callable[[object, str, object], None]:
    def assign(self: object, name: str, value: object) -> None:
        fields = [field.name for field in dataclasses.fields(made)]
        if type(self) is not made and name not in fields:  # a subclass may have more
            super(made, self).__setattr__(name, value)
            return
        del self, value
        call = "value.replace(" if hasattr(made, "replace") else "dataclasses.replace(value, "
        changed = f"{name}=..." if name in fields else "..."
        raise dataclasses.FrozenInstanceError(
            f"{made.__name__} is immutable; make a changed copy: {call}{changed})"
        )

    return assign


def _source(made: type[Any], fields: Sequence[dataclasses.Field[Any]]) -> str:
    """Write the constructor; the arguments that it refuses are in no frame of the error."""
    placed = [_parameter(field) for field in fields if not field.kw_only]
    named = [_parameter(field) for field in fields if field.kw_only]
    parameters = ", ".join(["_self", *placed, "*_unnamed", *named, "**_named"])
    listed = ", ".join(field.name for field in fields)
    absent = [f"{field.name} is _absent" for field in fields if _is_required(field)]
    lines = [
        f"def __init__({parameters}):",
        f" if {' or '.join(['_unnamed', '_named', *absent])}:",
        f"  _error = _refused(_unnamed, _named, ({listed},))",
        f"  del _self, _unnamed, _named, {listed}",
        "  raise _error",
    ]
    if not made.__dataclass_params__.init:
        lines.append(f" _init(_self, {listed})")
    else:
        lines += [f" _set_{field.name}(_self, {_value(field)})" for field in fields]
        lines += [" _self.__post_init__()"] if hasattr(made, "__post_init__") else []
    return "\n".join(lines)


def _parameter(field: dataclasses.Field[Any]) -> str:
    return f"{field.name}={'_absent' if field.default is dataclasses.MISSING else f'_default_{field.name}'}"


def _value(field: dataclasses.Field[Any]) -> str:
    if field.default_factory is dataclasses.MISSING:
        return field.name
    return f"_new_{field.name}() if {field.name} is _absent else {field.name}"


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _refused(
    made: type[Any], unnamed: tuple[object, ...], named: Mapping[str, object], given: tuple[object, ...]
) -> TypeError:
    """Say what is wrong with the names of what a constructor got."""
    # here and not above: only who is wrong pays for the import
    from tramapy.remedies import example_of, unknown_name

    fields = dataclasses.fields(made)
    for name in named:
        return TypeError(unknown_name("field", name, [field.name for field in fields], of=made.__name__))
    missing = [
        field.name
        for field, value in zip(fields, given, strict=True)
        if value is _ABSENT and _is_required(field)
    ]
    if unnamed:
        return TypeError(f"{made.__name__} takes {_without_names(made, fields, missing)}")
    are = "are" if len(missing) > 1 else "is"
    return TypeError(f"{_and(missing)} {are} missing; write {example_of(made.__name__, missing)}")


def _without_names(made: type[Any], fields: Sequence[dataclasses.Field[Any]], missing: Sequence[str]) -> str:
    """Say how many values a constructor takes without a name, where it got more."""
    from tramapy.remedies import example_of

    placed = [field.name for field in fields if not field.kw_only]
    named = [field.name for field in fields if field.kw_only]
    if not named:
        return f"no more than {_and(placed)}"
    example = "" if missing else "for example "
    example += example_of(made.__name__, missing or named[:1])
    return f"{len(placed) or 'nothing'} without a name; write {example}"


def _and(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def requires(name: str, remedy: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Make a constructor refuse to go without its first argument, with what to write, as a `ConfigurationError`."""

    def decorate(call: Callable[_P, _R]) -> Callable[_P, _R]:
        @functools.wraps(call)
        def checked(*unnamed: _P.args, **named: _P.kwargs) -> _R:
            if len(unnamed) > 1 or name in named:
                return call(*unnamed, **named)
            raise ConfigurationError(f"{name} is missing; {remedy}")

        return checked

    return decorate
