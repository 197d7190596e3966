"""Planted secrets behind placeholders: neither the provider nor any hook sees them, whatever the end."""

from __future__ import annotations

import logging
import pickle
import re
from collections.abc import Sequence
from typing import Any

import pytest

from tests.drivers import Driver, response_of, text_of
from tests.engine.doubles import Ledger, Onlooker, OnResponse
from tests.test_canary import (
    CANARIES,
    CONVERSATION,
    DOWN,
    OPTIONS,
    PROMPT,
    RESULT,
    BrokenContentObserver,
    BrokenObserver,
    Raising,
    everything_said,
)
from tramapy import (
    CompletedChunk,
    DlpContentType,
    DlpContext,
    DlpInspectionError,
    DlpInterceptor,
    DlpResult,
    DlpRule,
    ModelRequest,
    ModelResponse,
    ProviderError,
    Route,
    RuleBasedDlpConfiguration,
    RuleBasedDlpInterceptor,
    TextChunk,
    TokenBudgetSettings,
    TokenUsage,
    ToolCall,
)
from tramapy.dlp import DlpAction
from tramapy.testing import ScriptedProvider, assert_no_canary

RULES = RuleBasedDlpInterceptor(
    RuleBasedDlpConfiguration(
        [
            DlpRule(
                id="planted",
                pattern=r"canary-[a-z]+-[0-9a-f-]+",
                enabled_for=DlpContentType,
                action=DlpAction.PLACEHOLDER,
            )
        ]
    )
)


class Keeping(DlpInterceptor):
    """Makes placeholders, and keeps what it was given but for the text."""

    uses_placeholders = True

    def __init__(self) -> None:
        self.contexts: list[DlpContext] = []

    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        self.contexts.append(context)
        return RULES.inspect(context, text)


class Rejecting(DlpInterceptor):
    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        if context.content_type is DlpContentType.MODEL_OUTPUT:
            raise DlpInspectionError("The answer is classified")
        return DlpResult(text)


def loud(request: ModelRequest) -> ModelResponse:
    """Say every placeholder in each place."""
    texts = [request.instructions or "", *(message.content for message in request.messages)]
    found = " ".join(dict.fromkeys(re.findall(r"<PLANTED_[0-9]+_[0-9a-z]+>", " ".join(texts))))
    call = ToolCall(id="c1", name="lookup", arguments_json=f'{{"q": "{found}"}}')
    return ModelResponse(
        content=found,
        refusal=found,
        reasoning=found,
        tool_calls=[call],
        usage=TokenUsage(input_tokens=5, output_tokens=6),
    )


def cut(error: Exception) -> Any:
    return lambda request: [TextChunk(loud(request).content[:-2]), error]


PATHS: dict[str, tuple[Sequence[Any], dict[str, Any]]] = {
    "success": ([loud], {}),
    "retry": ([DOWN, loud], {}),
    "down": ([DOWN] * 4, {}),
    "defect": ([ValueError("no")], {}),
    "final": ([ProviderError("400")], {}),
    "dlp-rejects": ([loud], {"dlp": Rejecting()}),
    "response-interceptor-raises": ([loud], {"interceptors": [Raising("response")]}),
    "budget": ([loud], {"token_budget": TokenBudgetSettings(hard_max_tokens_per_attempt=3)}),
    "observers-fail": (
        [loud],
        {"event_observers": [BrokenObserver()], "content_observers": [BrokenContentObserver()]},
    ),
    "stream-breaks": ([cut(ProviderError("cut"))], {}),
    "cancelled": ([KeyboardInterrupt()], {}),
}


@pytest.mark.unmeasured
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("entry", ["complete", "stream"])
def test_no_planted_secret_comes_out(
    driver: Driver, entry: str, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    answers, settings = PATHS[path]
    provider = ScriptedProvider(answers)
    keeping, ledger, onlooker, hook = Keeping(), Ledger(), Onlooker(), OnResponse()
    hooks = {
        "request_dlp": keeping,
        "dlp_redaction_audit": ledger,
        **settings,
        "content_observers": [onlooker, *settings.get("content_observers", ())],
        "interceptors": [hook, *settings.get("interceptors", ())],
    }
    rig = driver.rig(provider, **hooks)
    error: BaseException | None = None
    try:
        getattr(rig, entry)(CONVERSATION[:1] + CONVERSATION[2:], **OPTIONS)
    except BaseException as caught:
        error = caught
    assert_no_canary(CANARIES, *everything_said(rig, error, caplog))
    assert keeping.contexts
    assert_no_canary(CANARIES, keeping.contexts, [pickle.dumps(context) for context in keeping.contexts])
    assert_no_canary(CANARIES, ledger.records, onlooker.responses, hook.inputs)
    for request in (*provider.requests, *onlooker.requests):
        assert_no_canary(CANARIES, request.instructions, request.messages)


@pytest.mark.parametrize("entry", ["complete", "stream"])
def test_the_caller_gets_all_of_them_back(driver: Driver, entry: str) -> None:
    providers = {"a": ScriptedProvider([DOWN] * 4), "b": ScriptedProvider([loud])}
    rig = driver.rig(providers, default_provider="a", fallbacks={"m": [Route("b")]}, request_dlp=Keeping())
    came = getattr(rig, entry)(CONVERSATION, **OPTIONS)
    response = came if entry == "complete" else response_of(came)
    assert response.content == response.refusal == response.reasoning == f"{PROMPT} {RESULT}"
    assert_no_canary(CANARIES, response.tool_calls)
    if entry == "stream":
        assert text_of(came) == response.content


def test_a_context_that_is_pickled_on_the_way_gives_nothing(driver: Driver) -> None:
    pickles: list[bytes] = []

    class Sends(Keeping):
        def inspect(self, context: DlpContext, text: str) -> DlpResult:
            result = super().inspect(context, text)
            pickles.append(pickle.dumps((context, result)))
            return result

    driver.rig([CompletedChunk(ModelResponse()).response], request_dlp=Sends()).complete(CONVERSATION)
    assert pickles
    assert_no_canary(CANARIES, pickles, [pickle.loads(each)[0] for each in pickles])
    assert pickle.loads(pickles[0])[0].vault.is_wiped
