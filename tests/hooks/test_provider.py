"""`Provider` and `AsyncProvider`: what a class that only answers can and cannot do."""

from __future__ import annotations

import pytest

from tramapy import AsyncProvider, Message, ModelRequest, ModelResponse, Provider, ProviderCapability, Route

REQUEST = ModelRequest(model="m", messages=(Message.user("x"),))


class Plain(Provider):
    def complete(self, request: ModelRequest) -> ModelResponse:
        return ModelResponse()


class Awaited(AsyncProvider):
    async def acomplete(self, request: ModelRequest) -> ModelResponse:
        return ModelResponse()


def test_without_a_stream_method_there_is_no_stream() -> None:
    with pytest.raises(TypeError, match="Plain has no stream method; override it or use complete"):
        Plain().stream(REQUEST)
    with pytest.raises(TypeError, match="Awaited has no astream method; override it or use acomplete"):
        Awaited().astream(REQUEST)


@pytest.mark.parametrize("kind", [Provider, AsyncProvider])
def test_the_answer_must_be_written(kind: type) -> None:
    with pytest.raises(TypeError, match="abstract"):
        kind()


@pytest.mark.parametrize("kind", [Provider, AsyncProvider])
def test_a_timeout_is_not_promised_by_default(kind: type[Provider]) -> None:
    assert kind.capabilities == {ProviderCapability.VISION, ProviderCapability.STREAMING}


def test_a_route_keeps_the_requested_model_unless_told_otherwise() -> None:
    assert Route("p") == Route(provider_id="p", model=None)
