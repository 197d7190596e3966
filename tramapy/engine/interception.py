"""The fold of the operation interceptors, fail-closed: what one raises or returns amiss ends the operation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import FrozenInstanceError
from typing import TypeGuard, cast

from tramapy.cancellation import rethrow_if_cancellation
from tramapy.engine.inspection import settled
from tramapy.engine.operation import Attempt
from tramapy.errors import ConfigurationError, InterceptorError
from tramapy.messages import Message, ModelResponse
from tramapy.values import class_label

__all__ = ["intercept_request", "intercept_response"]

_PLAIN = frozenset((list, tuple))


async def intercept_request(attempt: Attempt, messages: Sequence[Message]) -> Sequence[Message]:
    """Pass the operation's original messages through every interceptor, in order."""
    context = attempt.context
    for hook in attempt.pipeline.hooks.requests:
        try:
            intercepted: object = hook.intercept(context, messages)
            if intercepted is messages:
                continue
            if type(intercepted) not in _PLAIN:
                intercepted = await settled(attempt, intercepted)
            if type(intercepted) not in _PLAIN and _is_listing(intercepted):
                intercepted = tuple(intercepted)  # a lazy one may raise while it is read
        except Exception as error:
            failure = error
        else:
            messages = _checked_messages(hook.name, intercepted)
            continue
        raise _failure(attempt, hook.name, "intercept_request", failure) from None
    return messages


async def intercept_response(attempt: Attempt, response: ModelResponse) -> ModelResponse:
    """Pass an inspected response through every interceptor, in the same order."""
    context = attempt.context
    for hook in attempt.pipeline.hooks.responses:
        failure: Exception | None = None
        intercepted: object = response
        try:
            intercepted = hook.intercept(context, response)
            if intercepted is response:
                continue
            if type(intercepted) is not ModelResponse:
                intercepted = await settled(attempt, intercepted)
        except Exception as error:
            failure = error
        if failure is not None:
            raise _failure(attempt, hook.name, "intercept_response", failure) from None
        if not isinstance(intercepted, ModelResponse):
            raise InterceptorError(
                f"Interceptor {hook.name}.intercept_response returned {type(intercepted).__name__}; "
                f"return a ModelResponse"
            )
        if hook.observes_only and intercepted != response:
            raise InterceptorError(
                f"Interceptor {hook.name} declares observes_only but returned another response; "
                f"remove the declaration or the change"
            )
        response = intercepted
    return response


def _checked_messages(name: str, messages: object) -> Sequence[Message]:
    if type(messages) not in _PLAIN:
        raise InterceptorError(
            f"Interceptor {name}.intercept_request returned {type(messages).__name__}; return a sequence of "
            f"Message"
        )
    listed = cast("Sequence[object]", messages)
    for message in listed:
        if not isinstance(message, Message):
            raise InterceptorError(
                f"Interceptor {name}.intercept_request returned a sequence with a value of type "
                f"{type(message).__name__}; return Message values only"
            )
    if not listed:
        raise InterceptorError(
            f"Interceptor {name}.intercept_request returned no messages; raise where the call must not happen"
        )
    return cast("Sequence[Message]", listed)


def _is_listing(messages: object) -> TypeGuard[Sequence[object]]:
    return isinstance(messages, Sequence) and not isinstance(messages, str | bytes)


def _failure(attempt: Attempt, name: str, callback: str, error: Exception) -> Exception:
    """Return the error to raise instead of a hook's own, whose text may hold payload."""
    rethrow_if_cancellation(error)
    if isinstance(error, ConfigurationError):
        return error
    attempt.diagnose("operation_interceptor", callback, error)
    remedy = "One of diagnostic_observers=[...] sees the original"
    if isinstance(error, FrozenInstanceError):
        remedy = "Values are immutable: return changed copies, made with replace(content=...) and the like"
    return InterceptorError(
        f"Interceptor {name}.{callback} raised {class_label(error)}; the operation was stopped. {remedy}"
    )
