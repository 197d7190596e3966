"""The provider call, within its limit, and what must hold before it."""

from __future__ import annotations

import inspect
from typing import NoReturn

from tramapy.engine.limits import expired
from tramapy.engine.native import NativeAnswer
from tramapy.engine.operation import Attempt
from tramapy.engine.port import Signal
from tramapy.engine.provider_failure import failed_call
from tramapy.errors import ProviderCapabilityError, ProviderError, ProviderFailureCode
from tramapy.hooks.provider import ProviderCapability
from tramapy.messages import ModelRequest, ModelResponse

__all__ = ["call_provider", "require"]

_ANSWERS = (ModelResponse, NativeAnswer)


async def call_provider(attempt: Attempt, request: ModelRequest) -> ModelResponse | NativeAnswer:
    """Call the attempt's provider within its limit.

    Raises:
        ProviderError: It failed; see `failed_call`.
        ProviderTimeoutError: It took longer than `timeout_s`.
        DeadlineExceededError: The operation's deadline came first.
    """
    pipeline, provider = attempt.pipeline, attempt.route.provider
    limit = request.timeout_s
    failure: Exception | None = None
    answer: object = None
    try:
        if attempt.started_event is not None and pipeline.observers.has_scopes:
            answer = await pipeline.observers.within_scope(
                attempt.started_event, lambda: pipeline.port.call(provider.answer, request, limit)
            )
        else:
            answer = await pipeline.port.call(provider.answer, request, limit)
    except Exception as error:
        failure = error
    if failure is not None:
        # not in the handler: there, an observer that logs "the current exception" would log the provider's words
        raise await failed_call(attempt, failure) from None
    if answer is Signal.EXPIRED:
        raise expired(attempt, limit)
    if not isinstance(answer, _ANSWERS):
        if inspect.iscoroutine(answer):
            answer.close()  # nobody will await it, and Python would warn of that
        raise ProviderError(
            f"Provider {provider.provider_id!r} returned {type(answer).__name__}; it must return a ModelResponse",
            failure_code=ProviderFailureCode.INVALID_RESPONSE,
        )
    return answer


def require(attempt: Attempt, request: ModelRequest) -> None:
    """Raise `ProviderCapabilityError` where the provider cannot take this request; it is not called."""
    provider = attempt.route.provider
    if attempt.operation.is_stream and not provider.can_stream:
        _refuse(attempt, ProviderCapability.STREAMING, "the request is a stream")
    if provider.sees_images:
        return
    if any(message.has_image for message in request.messages):
        _refuse(attempt, ProviderCapability.VISION, "the request has an image")


def _refuse(attempt: Attempt, capability: ProviderCapability, why: str) -> NoReturn:
    provider_id = attempt.route.provider.provider_id
    raise ProviderCapabilityError(
        f"Provider {provider_id!r} lacks the capability {capability.name}, but {why}; route it elsewhere",
        provider_id=provider_id,
        capability=capability.value,
    )
