"""What `OpenTelemetryEventObserver` is given, checked where it is made: a wrong value would fail at the first event."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from tramapy.errors import ConfigurationError
from tramapy.values import described

__all__ = ["check_names", "check_provider", "model_names"]


def check_provider(name: str, provider: object, method: str) -> None:
    """Raise `ConfigurationError` where a provider is none: OpenTelemetry would ask it for what it has not."""
    if provider is not None and (isinstance(provider, type) or not callable(getattr(provider, method, None))):
        kind = "TracerProvider" if method == "get_tracer" else "MeterProvider"
        raise ConfigurationError(
            f"{name} is {described(provider)}; give a {kind} of the SDK, or leave it out for the global one"
        )


def model_names(models: object) -> frozenset[str]:
    """Return the models that a metric may name.

    Raises:
        ConfigurationError: They are no names.
    """
    if isinstance(models, (str, bytes)) or not isinstance(models, Iterable):
        raise ConfigurationError(f"known_models is {described(models)}; give a list of model names")
    names = tuple(cast("Iterable[object]", models))
    for position, name in enumerate(names):
        if not isinstance(name, str):
            raise ConfigurationError(f"known_models[{position}] is {described(name)}; give a model's name")
    return frozenset(cast("tuple[str, ...]", names))


def check_names(names: object) -> None:
    """Raise `ConfigurationError` where `provider_names` are none."""
    if names is None:
        return
    if not isinstance(names, Mapping):
        raise ConfigurationError(f"provider_names is {described(names)}; {_NAMES}")
    for pair in cast("Mapping[object, object]", names).items():
        for name in pair:
            if not isinstance(name, str):
                raise ConfigurationError(f"provider_names holds a value that is {described(name)}; {_NAMES}")


_NAMES = "give a mapping of provider ids to names, such as {'azure-eu': 'azure.ai.openai'}"
