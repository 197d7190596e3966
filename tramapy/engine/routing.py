"""Which routes an operation may take: the primary for its model, then the fallbacks in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from tramapy.engine.arguments import checked_name
from tramapy.engine.port import Answer, ChunkSource
from tramapy.errors import ConfigurationError
from tramapy.hooks.provider import Route
from tramapy.messages import ModelRequest
from tramapy.values import quoted, remembering

__all__ = ["BoundProvider", "ResolvedRoute", "Routing"]

_REMEMBERED_MODELS = 256

OpenStream: TypeAlias = Callable[[ModelRequest], ChunkSource]


@dataclass(slots=True, kw_only=True, eq=False, repr=False)  # see `engine.pipeline` on why it is not frozen
class BoundProvider:
    """A provider as the engine calls it: by function, sync or async alike.

    Args:
        provider_id: Its key in `providers`.
        answer: `complete` or `acomplete`.
        open_stream: `stream` or `astream`.
        can_stream: Whether it declares STREAMING and has the method.
        sees_images: Whether it declares VISION.
    """

    provider_id: str
    answer: Answer
    open_stream: OpenStream
    can_stream: bool
    sees_images: bool


class ResolvedRoute(NamedTuple):
    """One way to answer, with everything that an attempt needs."""

    provider: BoundProvider
    model: str


class Routing:
    """The routing table of a pipeline, checked as a whole when it is built.

    Args:
        providers: Provider by id; at least one.
        default_provider: Takes every model that `models` does not name; a single provider is the default.
        models: Provider id by model.
        fallbacks: Further routes by the requested model.

    Raises:
        ConfigurationError: An id is not one of `providers`; the message names the setting and the known ids.
    """

    def __init__(
        self,
        providers: Mapping[str, BoundProvider],
        *,
        default_provider: str | None,
        models: Mapping[str, str],
        fallbacks: Mapping[str, Sequence[Route]],
    ) -> None:
        if not providers:
            raise ConfigurationError(
                "providers is empty; give at least one, for example {'openai': provider}"
            )
        self._providers = dict(providers)
        self._models = {model: self._known(f"models[{model!r}]", id_) for model, id_ in models.items()}
        self._fallbacks = {
            model: tuple(
                ResolvedRoute(
                    self._known(f"fallbacks[{model!r}][{index}]", route.provider_id), route.model or model
                )
                for index, route in enumerate(routes)
            )
            for model, routes in fallbacks.items()
        }
        self._default = self._choose_default(default_provider)
        self._routes = remembering(_REMEMBERED_MODELS)(self._routes_of)

    def resolve(self, model: str, provider_id: str | None) -> tuple[ResolvedRoute, ...]:
        """Return the routes for `model`; an explicit provider is the only route.

        Raises:
            ConfigurationError: There is no such provider, or no provider for the model.
        """
        if provider_id is not None:
            return (ResolvedRoute(self._known("provider", provider_id), model),)
        return self._routes(model)

    def _routes_of(self, model: str) -> tuple[ResolvedRoute, ...]:
        provider = self._models.get(model, self._default)
        if provider is None:
            raise ConfigurationError(
                f"No provider for model {quoted(model)}; name it in models, or set default_provider to one of "
                f"{_listed(self._providers)}"
            )
        return (ResolvedRoute(provider, model), *self._fallbacks.get(model, ()))

    def _choose_default(self, default_provider: str | None) -> BoundProvider | None:
        if default_provider is not None:
            return self._known("default_provider", default_provider)
        if len(self._providers) == 1 and not self._models:
            return next(iter(self._providers.values()))
        return None

    def _known(self, where: str, provider_id: str) -> BoundProvider:
        provider = self._providers.get(checked_name(where, provider_id))
        if provider is None:
            raise ConfigurationError(
                f"{where} names the unknown provider {quoted(provider_id)}; providers has {_listed(self._providers)}"
            )
        return provider


def _listed(providers: Mapping[str, BoundProvider]) -> str:
    return ", ".join(repr(provider_id) for provider_id in sorted(providers))
