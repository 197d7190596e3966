"""`call_options`: what one call of a wrapped client says beside the vendor's own arguments."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType, TracebackType
from typing import Final, Never, NoReturn, Self, final

from tramapy.engine.arguments import checked_member, checked_name, checked_seconds
from tramapy.errors import ConfigurationError
from tramapy.hooks.dlp import ClassificationSource, DataClassification
from tramapy.remedies import unknown_name
from tramapy.resilience.budget import TokenBudgetSettings
from tramapy.values import described

__all__ = ["call_options", "current_options"]

_NONE: Final[Mapping[str, object]] = MappingProxyType({})


@final
class call_options:  # noqa: N801 # it reads as a function: `with call_options(...):`
    """Apply to every call of wrapped clients that is made inside of the `with` block.

    A block inside another adds to it. Tasks and threads that begin inside keep the options; others have none of
    them, also where the block is left elsewhere than it was entered, for example by a generator.

    Args:
        service_interface: Your name of the service; by default the client's class.
        method_name: Your name of the call; by default the client's, such as `chat.completions.create`.
        correlation_id: Your id of the operation; by default generated.
        workflow_run_id: Your id of a longer run.
        data_classification: How sensitive the data is, for DLP.
        classification_source: Who says so.
        token_budget: Limits on tokens, in the place of the pipeline's.
        timeout_s: The limit of an attempt.
        deadline_s: The limit of a call as a whole.
        *unnamed: Refused: options have names.
        **unknown: Refused: there are no other options.

    Raises:
        ConfigurationError: An option is unknown or cannot work; the message names it.
    """

    __slots__ = ("_given",)

    def __init__(
        self,
        *unnamed: Never,
        service_interface: str | None = None,
        method_name: str | None = None,
        correlation_id: str | None = None,
        workflow_run_id: str | None = None,
        data_classification: DataClassification | None = None,
        classification_source: ClassificationSource | None = None,
        token_budget: TokenBudgetSettings | None = None,
        timeout_s: float | None = None,
        deadline_s: float | None = None,
        **unknown: Never,
    ) -> None:
        if unnamed or unknown:
            _refuse(unnamed, unknown)
        given: dict[str, object] = {}
        for name, text in (
            ("service_interface", service_interface),
            ("method_name", method_name),
            ("correlation_id", correlation_id),
            ("workflow_run_id", workflow_run_id),
        ):
            if text is not None:
                given[name] = checked_name(name, text)
        if data_classification is not None:
            given["data_classification"] = checked_member(
                "data_classification", data_classification, DataClassification
            )
        if classification_source is not None:
            given["classification_source"] = checked_member(
                "classification_source", classification_source, ClassificationSource
            )
        if token_budget is not None:
            if not isinstance(token_budget, TokenBudgetSettings):
                raise ConfigurationError(
                    f"token_budget is {described(token_budget)}; give TokenBudgetSettings(...)"
                )
            given["token_budget"] = token_budget
        for name, seconds in (("timeout_s", timeout_s), ("deadline_s", deadline_s)):
            if seconds is not None:
                given[name] = checked_seconds(name, seconds)
        self._given: Mapping[str, object] = given

    def __enter__(self) -> Self:
        _CURRENT.set(_Layer(self, self._given, _CURRENT.get()))
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Take this block's options away, where they hold here: by value, for a token knows one context only."""
        _CURRENT.set(_without(_CURRENT.get(), self))


def _refuse(unnamed: tuple[object, ...], unknown: Mapping[str, object]) -> NoReturn:
    if unnamed:
        raise ConfigurationError(
            "call_options takes nothing without a name; write for example correlation_id=..."
        )
    known = [
        name for name in inspect.signature(call_options).parameters if name not in ("unnamed", "unknown")
    ]
    raise ConfigurationError(unknown_name("option", next(iter(unknown)), known))


def current_options() -> Mapping[str, object]:
    """Return what holds here, as keyword arguments of an operation, and `token_budget`."""
    layer = _CURRENT.get()
    return _NONE if layer is None else _merged(layer)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Layer:
    """The options of one block, over those of the blocks around it."""

    owner: call_options
    given: Mapping[str, object]
    below: _Layer | None


_CURRENT: Final[ContextVar[_Layer | None]] = ContextVar("tramapy_call_options", default=None)


def _merged(layer: _Layer) -> Mapping[str, object]:
    return layer.given if layer.below is None else {**_merged(layer.below), **layer.given}


def _without(layer: _Layer | None, owner: call_options) -> _Layer | None:
    """Return the layers without the topmost of an owner's; others may lie above it, where blocks interleave."""
    above: list[_Layer] = []
    found = layer
    while found is not None and found.owner is not owner:
        above.append(found)
        found = found.below
    if found is None:
        return layer
    rest = found.below
    for other in reversed(above):
        rest = _Layer(other.owner, other.given, rest)
    return rest
