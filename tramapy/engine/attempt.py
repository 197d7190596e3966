"""One attempt, in the order that is the product. This is the only place where the order of its steps stands.

1. `OperationInterceptor.intercept_request`, then DLP on what is sent
2. the provider call
3. DLP on every text slot of the answer
4. `OperationInterceptor.intercept_response`, then DLP again on what it changed
5. the token budget and the content observers
6. the values in the place of placeholders, and the attempt's outcome as an event
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from tramapy.cancellation import rethrow_if_cancellation
from tramapy.engine import reporting
from tramapy.engine.answer import inspect_response
from tramapy.engine.drafts import model_request
from tramapy.engine.interception import intercept_request, intercept_response
from tramapy.engine.limits import limit_s
from tramapy.engine.native import NativeAnswer, NativeSent
from tramapy.engine.native_answer import inspect_native, restore_native
from tramapy.engine.native_request import prepare_native
from tramapy.engine.operation import Attempt
from tramapy.engine.outgoing import inspect_messages, inspect_outgoing, must_inspect
from tramapy.engine.provider_call import call_provider, require
from tramapy.engine.restoring import restore_response
from tramapy.errors import TokenBudgetExceededError
from tramapy.hooks.diagnostics import report_secondary_failure
from tramapy.hooks.event_model import RuntimeEvent
from tramapy.hooks.events import drop_awaitable
from tramapy.messages import FinishReason, Message, ModelRequest, ModelResponse
from tramapy.resilience.budget import (
    HardLimitExceeded,
    SoftLimitExceeded,
    TokenBudget,
    UsageUnavailable,
)

__all__ = ["conclude", "conclude_all", "prepare", "run_attempt"]

T = TypeVar("T")

_CONTENT_FILTER = FinishReason.CONTENT_FILTER


async def run_attempt(attempt: Attempt) -> ModelResponse | NativeAnswer:
    """Run one attempt to its answer; what it raises is for `dispatch` to judge."""
    request = await prepare(attempt)
    answer = await call_provider(attempt, request)
    if not isinstance(answer, ModelResponse):
        if len(answer.responses) == 1 and not (answer.texts or answer.names or answer.unscanned):
            return await _concluded_alone(attempt, answer)
        responses, texts = await inspect_native(attempt, answer)
        return await restore_native(attempt, answer, await conclude_all(attempt, responses), texts)
    response = await conclude(attempt, await inspect_response(attempt, answer))
    return response if attempt.operation.vault is None else await restore_response(attempt, response)


async def _concluded_alone(attempt: Attempt, answer: NativeAnswer) -> NativeAnswer:
    """Do steps 3 to 6 on an answer that one response shows whole: most are such."""
    response = own = answer.responses[0]
    if attempt.pipeline.dlp is not None:
        response = await inspect_response(
            attempt, response, content_texts=answer.content_texts, refusal_texts=answer.refusal_texts
        )
    response = await conclude(attempt, response)
    if attempt.operation.vault is not None:
        response = await restore_response(attempt, response)
    return answer if response is own else answer.rewritten((response,), ())


async def prepare(attempt: Attempt) -> ModelRequest:
    """Do step 1 and return the request as the provider gets it."""
    operation = attempt.operation
    pipeline = attempt.pipeline
    messages: Sequence[Message] = operation.messages
    native, sent = operation.native, None
    if pipeline.hooks.requests and (messages or native is None):
        messages = await intercept_request(attempt, messages)
    event = attempt.report_started()
    instructions = operation.details.instructions
    if must_inspect(pipeline, messages):
        messages = await inspect_messages(attempt, messages)
    if instructions:
        instructions = await inspect_outgoing(attempt, instructions)
    if native is not None:
        is_sent_as_is = pipeline.request_dlp is None and not native.unscanned
        sent = NativeSent(native) if is_sent_as_is else await prepare_native(attempt, native)
    # asked for here, since hooks have used up time that was the provider's
    deadline_at_s = operation.deadline_at_s
    timeout_s = operation.timeout_s if deadline_at_s is None else limit_s(operation, deadline_at_s)
    request = model_request(attempt, messages, instructions, timeout_s, sent)
    require(attempt, request)
    if event is not None:
        for observer in pipeline.content_observers:
            _show("on_attempt_request", observer.on_attempt_request, event, request)
    return request


async def conclude(attempt: Attempt, inspected: ModelResponse) -> ModelResponse:
    """Do steps 4 and 5 on an answer that DLP has inspected."""
    response = inspected
    if attempt.pipeline.hooks.responses:
        response = await intercept_response(attempt, inspected)
        if response is not inspected:
            response = await inspect_response(attempt, response, inspected=inspected)
    budget = attempt.operation.budget
    if budget is not None:
        _charge(attempt, budget, response)
    if (
        attempt.started_event is not None
        or response.refusal is not None
        or response.finish_reason is _CONTENT_FILTER
    ):
        _show_response(attempt, response)
    return response


async def conclude_all(attempt: Attempt, inspected: Sequence[ModelResponse]) -> Sequence[ModelResponse]:
    """Do steps 4 and 5 on an answer of several choices; the first has the usage of all."""
    if len(inspected) == 1:
        return (await conclude(attempt, inspected[0]),)
    responses = inspected
    if attempt.pipeline.hooks.responses:
        responses = [await _intercepted(attempt, response) for response in inspected]
    budget = attempt.operation.budget
    if budget is not None:
        _charge(attempt, budget, responses[0])
    for response in responses:
        _show_response(attempt, response)
    return responses


async def _intercepted(attempt: Attempt, inspected: ModelResponse) -> ModelResponse:
    response = await intercept_response(attempt, inspected)
    if response is inspected:
        return response
    return await inspect_response(attempt, response, inspected=inspected)


def _show_response(attempt: Attempt, response: ModelResponse) -> None:
    if response.refusal is not None or response.finish_reason is _CONTENT_FILTER:
        reason_code = "refusal" if response.refusal is not None else "content_filter"
        if attempt.is_heard:
            attempt.notify(reporting.response_refused(attempt.base, reason_code))
    event = attempt.started_event
    if event is not None:
        for observer in attempt.pipeline.content_observers:
            _show("on_attempt_response", observer.on_attempt_response, event, response)


def _show(callback: str, tell: Callable[[RuntimeEvent, T], object], event: RuntimeEvent, content: T) -> None:
    try:
        result = tell(event, content)
        if result is not None:
            drop_awaitable(result)
    except Exception as error:  # fail-open, as for every observer
        failure = error
    else:
        return
    rethrow_if_cancellation(failure)
    report_secondary_failure("attempt_content_observer", callback, failure)


def _charge(attempt: Attempt, budget: TokenBudget, response: ModelResponse) -> None:
    outcome = budget.add(response.usage.input_tokens, response.usage.output_tokens)
    if outcome is None:
        return
    if isinstance(outcome, UsageUnavailable):
        if attempt.is_heard:
            attempt.notify(reporting.usage_unavailable(attempt.base, attempt.route.model))
        return
    _report_limit(attempt, outcome)
    if isinstance(outcome, HardLimitExceeded):
        raise TokenBudgetExceededError(
            outcome.scope,
            limit_tokens=outcome.limit_tokens,
            observed_tokens=outcome.observed_tokens,
            provider_id=attempt.route.provider.provider_id,
            model=attempt.route.model,
        )


def _report_limit(attempt: Attempt, outcome: SoftLimitExceeded | HardLimitExceeded) -> None:
    if attempt.is_heard:
        is_hard = isinstance(outcome, HardLimitExceeded)
        attempt.notify(
            reporting.budget_limit_exceeded(
                attempt.base,
                attempt.route.model,
                limit_tokens=outcome.limit_tokens,
                observed_tokens=outcome.observed_tokens,
                scope=outcome.scope if isinstance(outcome, HardLimitExceeded) else "operation",
                is_hard=is_hard,
            )
        )
