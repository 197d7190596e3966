"""`OperationInterceptor`: rewrite the messages before a provider call, and its answer after it."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Never

from tramapy.hooks.pending_fold import PendingFold
from tramapy.keywords import explains_names
from tramapy.messages import Message, ModelResponse
from tramapy.values import described, listed

__all__ = ["CompositeOperationInterceptor", "OperationCallContext", "OperationInterceptor"]


@explains_names
@dataclass(frozen=True, slots=True, kw_only=True)
class OperationCallContext:
    """Which attempt this is; one instance per attempt.

    Args:
        service_interface: The caller's own name of the service.
        method_name: The caller's own name of the call.
        provider_id: The provider of this attempt's route.
        requested_model: The model that the operation named; a fallback route's own may differ.
        attempt: Zero-based, continuous over retries and routes of one operation.
    """

    service_interface: str
    method_name: str
    provider_id: str
    requested_model: str
    attempt: int


class OperationInterceptor:
    """Rewrites requests and responses of one attempt; override the side that you care about.

    Either method may be `async def` under `AsyncTramapy`. What one raises ends the operation with an
    `InterceptorError` that names this class and never its text: no retry, no fallback, no breaker count.
    """

    observes_only: ClassVar[bool] = False
    """Declare True where `intercept_response` looks but never changes: a stream then needs no buffering.

    A declared observer that returns a changed response fails the operation.
    """

    def intercept_request(
        self, context: OperationCallContext, messages: Sequence[Message]
    ) -> Sequence[Message] | Awaitable[Sequence[Message]]:
        """Return the messages to send. Every attempt starts from the operation's original messages."""
        return messages

    def intercept_response(
        self, context: OperationCallContext, response: ModelResponse
    ) -> ModelResponse | Awaitable[ModelResponse]:
        """Return the response to hand on. DLP has inspected it, and inspects again what this changes."""
        return response


class CompositeOperationInterceptor(OperationInterceptor):
    """Several interceptors as one, folded in order on both sides: the output of one is the input of the next.

    Args:
        interceptors: In the order in which they run. None is the identity.
        *more: Refused: it takes one list.
    """

    def __init__(self, interceptors: Iterable[OperationInterceptor], *more: Never) -> None:
        if more:
            raise TypeError(
                "CompositeOperationInterceptor takes one list; write [...] around its interceptors"
            )
        self.interceptors: tuple[OperationInterceptor, ...] = listed(
            "interceptors", interceptors, "give a list of OperationInterceptor"
        )
        for position, interceptor in enumerate(self.interceptors):
            if not isinstance(interceptor, OperationInterceptor):
                raise TypeError(
                    f"interceptors[{position}] is {described(interceptor)}; "
                    f"derive it from OperationInterceptor"
                )

    def intercept_request(
        self, context: OperationCallContext, messages: Sequence[Message]
    ) -> Sequence[Message] | Awaitable[Sequence[Message]]:
        """Fold the request side; the first awaitable makes the rest of the fold awaitable too."""
        for position, interceptor in enumerate(self.interceptors):
            result = interceptor.intercept_request(context, messages)
            if isinstance(result, Awaitable):
                return PendingFold(self._fold_request(position + 1, context, result), result)
            messages = result
        return messages

    def intercept_response(
        self, context: OperationCallContext, response: ModelResponse
    ) -> ModelResponse | Awaitable[ModelResponse]:
        """Fold the response side, in the same order as the request side."""
        for position, interceptor in enumerate(self.interceptors):
            result = interceptor.intercept_response(context, response)
            if isinstance(result, Awaitable):
                return PendingFold(self._fold_response(position + 1, context, result), result)
            response = result
        return response

    async def _fold_request(
        self, start: int, context: OperationCallContext, pending: Awaitable[Sequence[Message]]
    ) -> Sequence[Message]:
        messages = await pending
        for interceptor in self.interceptors[start:]:
            result = interceptor.intercept_request(context, messages)
            messages = await result if isinstance(result, Awaitable) else result
        return messages

    async def _fold_response(
        self, start: int, context: OperationCallContext, pending: Awaitable[ModelResponse]
    ) -> ModelResponse:
        response = await pending
        for interceptor in self.interceptors[start:]:
            result = interceptor.intercept_response(context, response)
            response = await result if isinstance(result, Awaitable) else result
        return response
