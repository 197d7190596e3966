"""Arguments of a wrong name, or none: a refusal that names the right ones. Python's own words name none of them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from tramapy.errors import ConfigurationError

__all__ = ["explains_names", "requires"]

_P = ParamSpec("_P")
_R = TypeVar("_R")
_T = TypeVar("_T")


def explains_names(made: type[_T]) -> type[_T]:
    """Make a dataclass of settings whose constructor answers wrong names with its fields; still a `TypeError`."""
    init: Callable[..., None] = made.__init__

    @functools.wraps(init)
    def explained(self: object, *unnamed: object, **named: object) -> None:
        try:
            init(self, *unnamed, **named)
        except TypeError:
            wrong = _wrong_names(made, unnamed, named)
            if wrong is None:
                raise
        else:
            return
        del unnamed, named
        raise TypeError(wrong)

    type.__setattr__(made, "__init__", explained)
    return made


def _wrong_names(made: type[Any], unnamed: tuple[object, ...], named: Mapping[str, object]) -> str | None:
    """Say what is wrong with the names of what a constructor got; None where it is something else."""
    # here and not above: only who is wrong pays for the import
    from tramapy.remedies import unknown_name

    fields = {field.name: field for field in dataclasses.fields(made) if field.init}
    placed = [name for name, field in fields.items() if not field.kw_only]
    for name in named:
        if name not in fields:
            return unknown_name("setting", name, fields, of=made.__name__)
    if len(unnamed) > len(placed):
        most = f"takes {len(placed)} without a name" if placed else "takes nothing without a name"
        return f"{made.__name__} {most}; write for example {_call(made, list(fields)[len(placed) :][:1])}"
    given = {*placed[: len(unnamed)], *named}
    missing = [
        name
        for name, field in fields.items()
        if name not in given
        and field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    ]
    return f"{' and '.join(missing)} missing; write {_call(made, missing)}" if missing else None


def _call(made: type[Any], names: list[str]) -> str:
    return f"{made.__name__}({', '.join(f'{name}=...' for name in names)})"


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
