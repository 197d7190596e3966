"""A refusal names what to write: what newcomers give in the place of what is meant, and what they are told."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from tramapy import (
    AsyncTramapy,
    CompositeDlpInterceptor,
    CompositeOperationInterceptor,
    ConfigurationError,
    DlpRule,
    Message,
    OperationInterceptor,
    RuntimeEvent,
    ToolCall,
    ToolDefinition,
    Tramapy,
    call_options,
    wrap,
)
from tramapy.providers import AnthropicMessagesProvider, AsyncOpenAIChatProvider, OpenAIChatProvider
from tramapy.testing import FakeClock, ScriptedProvider

KEY = "sk-plainly-fake"

HTTP = httpx2.Client(verify=False)  # certificates take 30 ms to load
ASYNC_HTTP = httpx2.AsyncClient(verify=False)

CLIENT = openai.OpenAI(api_key=KEY, http_client=HTTP)
ASYNC_CLIENT = openai.AsyncOpenAI(api_key=KEY, http_client=ASYNC_HTTP)
CLAUDE = anthropic.Anthropic(api_key=KEY, http_client=HTTP)
MODEL = ScriptedProvider(["x"])

loose: Any = Tramapy
aloose: Any = AsyncTramapy
anywrap: Any = wrap
anyoptions: Any = call_options


class OwnClient(openai.OpenAI):
    pass


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "a client for a provider": (
        lambda: loose({"p": CLIENT}),
        r"providers\['p'\] is of type OpenAI; write OpenAIChatProvider\(client\) of tramapy\.providers, or keep the "
        r"client and use tramapy\.wrap\(client\)",
    ),
    "a client of a class of its own": (
        lambda: loose({"p": OwnClient(api_key=KEY, http_client=HTTP)}),
        r"providers\['p'\] is of type OwnClient; write OpenAIChatProvider\(client\) of .*",
    ),
    "an async client on a thread": (
        lambda: loose({"p": ASYNC_CLIENT}),
        r".* is of type AsyncOpenAI; use AsyncTramapy with AsyncOpenAIChatProvider\(client\) of .*",
    ),
    "a client of threads on a loop": (
        lambda: aloose({"p": CLAUDE}),
        r".* is of type Anthropic; use Tramapy with AnthropicMessagesProvider\(client\) of .*",
    ),
    "a client's class for a provider": (
        lambda: loose({"p": openai.OpenAI}),
        r".*; write OpenAIChatProvider\(OpenAI\(\.\.\.\)\) of .* use tramapy\.wrap\(OpenAI\(\.\.\.\)\)",
    ),
    "a provider's class": (
        lambda: loose({"p": OpenAIChatProvider}),
        r".* no instance; Tramapy takes Provider: write OpenAIChatProvider\(\.\.\.\)",
    ),
    "another class": (
        lambda: loose({"p": int}),
        r".* is the class int, and no instance; Tramapy takes Provider: derive it from Provider, or take one of .*",
    ),
    "a client for all providers": (
        lambda: loose(CLIENT),
        r"providers is of type OpenAI; give a mapping, for example \{'openai': OpenAIChatProvider\(client\)\}",
    ),
    "rules without a name": (
        lambda: loose({"p": MODEL}, 5),
        r"Tramapy takes providers alone without a name; name all that follows, for example dlp=\.\.\. or .*",
    ),
    "wrapped: rules without a name": (
        lambda: anywrap(CLIENT, 5),
        r"wrap takes the client alone without a name; name all that follows, for example dlp=\.\.\. or .*",
    ),
    "wrapped: a module": (
        lambda: anywrap(anthropic),
        r"wrap takes .*, and got the module anthropic; make a client of it, for example anthropic\.Anthropic\(\)",
    ),
    "wrapped: another module": (
        lambda: anywrap(pytest),
        r"wrap takes .*, and got the module pytest; make one, for example OpenAI\(\)",
    ),
    "wrapped: a class": (
        lambda: anywrap(openai.AsyncOpenAI),
        r"wrap takes .*, and got the class AsyncOpenAI, and no instance; make a client of it, for example Async.*",
    ),
    "wrapped: a provider": (
        lambda: anywrap(OpenAIChatProvider(CLIENT)),
        r"wrap takes .*: give the client itself, or use Tramapy\(\{'openai': provider\}\)",
    ),
    "wrapped: a facade": (
        lambda: anywrap(Tramapy({"p": MODEL})),
        r"wrap takes .*: give it beside the client, wrap\(client, tramapy=\.\.\.\)",
    ),
    "wrapped: a resource": (
        lambda: anywrap(CLIENT.chat),
        r"wrap takes .* type Chat: give the client that it bel.*",
    ),
    "wrapped: a method": (
        lambda: anywrap(CLIENT.chat.completions.create),
        r"wrap takes .* function: give the client that it belongs to",
    ),
    "wrapped: an HTTP client": (
        lambda: anywrap(HTTP),
        r"wrap takes .* type Client: .* use GovernedTransport",
    ),
    "an option that there is not": (
        lambda: anyoptions(correlationid="x"),
        r"Unknown option 'correlationid'; did you mean correlation_id\?",
    ),
    "an option like no other": (
        lambda: anyoptions(zzz="x"),
        r"Unknown option 'zzz'; known are service_interface, .*, deadline_s",
    ),
    "an option without a name": (lambda: anyoptions("x"), r"call_options takes nothing without a name; .*"),
    "another word for an option": (
        lambda: Tramapy({"p": MODEL}).complete([Message.user("x")], model="m", **{"max_tokens": 5}),
        r"Unknown option 'max_tokens'; did you mean max_output_tokens\?",
    ),
    "a vendor's word for an option": (
        lambda: Tramapy({"p": MODEL}).complete([Message.user("x")], model="m", **{"system": "Be brief."}),
        r"Unknown option 'system'; did you mean instructions\?",
    ),
    "an option for a method": (
        lambda: Tramapy({"p": MODEL}).complete([Message.user("x")], model="m", **{"stream": True}),
        r"Unknown option 'stream'; did you mean the method stream\(\.\.\.\)\?",
    ),
    "a vendor's option that a call has none for": (
        lambda: Tramapy({"p": MODEL}).complete([Message.user("x")], model="m", **{"stop": ["x"]}),
        r"Unknown option 'stop'; what is the vendor's own goes through its client, governed by "
        r"tramapy\.wrap\(client\); known are model, .*, deadline_s",
    ),
    "an option that shares letters alone": (
        lambda: Tramapy({"p": MODEL}).complete([Message.user("x")], model="m", **{"modality": "x"}),
        r"Unknown option 'modality'; known are model, .*",
    ),
    "two letters in the wrong order": (
        lambda: anywrap(CLIENT, dpl=5),
        r"Unknown setting 'dpl'; did you mean dlp\?",
    ),
    "a vendor's word for a setting": (
        lambda: anywrap(CLIENT, max_retries=3),
        r"Unknown setting 'max_retries'; did you mean retry\?",
    ),
    "a vendor's word where there is none of ours": (
        lambda: anyoptions(stream=True),
        r"Unknown option 'stream'; known are service_interface, .*",
    ),
    "another word for a setting": (
        lambda: anywrap(CLIENT, timeout=5),
        r"Unknown setting 'timeout'; did .* timeout_s\?",
    ),
    "a model without a name": (
        lambda: Tramapy({"p": MODEL}).complete([Message.user("x")], "m"),  # type: ignore[arg-type] # as newcomers do
        r"A call takes messages alone without a name; name all that follows, for example model='gpt-4o'",
    ),
    "a model without a name, streamed": (
        lambda: Tramapy({"p": MODEL}).stream([Message.user("x")], "m", model="m"),  # type: ignore[arg-type]
        r"A call takes messages alone without a name; .*",
    ),
    "a model without a name, on a loop": (
        lambda: asyncio.run(AsyncTramapy({"p": MODEL}).complete([Message.user("x")], "m")),  # type: ignore[arg-type]
        r"A call takes messages alone without a name; .*",
    ),
    "a model without a name, streamed on a loop": (
        lambda: AsyncTramapy({"p": MODEL}).stream([Message.user("x")], "m"),  # type: ignore[arg-type]
        r"A call takes messages alone without a name; .*",
    ),
    "a setting without a name, derived": (
        lambda: Tramapy({"p": MODEL}).derive(5),  # type: ignore[arg-type]  # as newcomers do
        r"derive takes nothing without a name; write for example dlp=\.\.\.",
    ),
    "a word for a classification": (
        lambda: anyoptions(data_classification="secret"),
        r"data_classification takes DataClassification, not str; one of PUBLIC, INTERNAL, CONFIDENTIAL, RESTRICTED",
    ),
    "a key for a provider": (
        lambda: OpenAIChatProvider(api_key=KEY),  # type: ignore[call-arg] # as newcomers do
        r"OpenAIChatProvider takes no api_key; give it to the client, OpenAIChatProvider\(Client\(api_key=\.\.\.\)\)",
    ),
    "a limit of a call for a provider": (
        lambda: AnthropicMessagesProvider(CLAUDE, max_tokens=5),  # type: ignore[call-arg] # as newcomers do
        r"AnthropicMessagesProvider takes no max_tokens; name it in each call, "
        r"complete\(messages, max_output_tokens=\.\.\.\)",
    ),
    "an option like a provider's": (
        lambda: OpenAIChatProvider(CLIENT, limit=5),  # type: ignore[call-arg] # as newcomers do
        r"Unknown option 'limit' of OpenAIChatProvider; did you mean limit_bytes\?",
    ),
    "a provider of nothing": (
        lambda: AsyncOpenAIChatProvider(),  # type: ignore[call-arg] # as newcomers do
        r"client is missing; give a client of the vendor's SDK",
    ),
    "a class for a client": (
        lambda: OpenAIChatProvider(openai.OpenAI),  # type: ignore[arg-type] # as newcomers do
        r"OpenAIChatProvider takes an openai\.OpenAI client; .*: write OpenAIChatProvider\(OpenAI\(\.\.\.\)\)",
    ),
    "a module for a client": (
        lambda: AsyncOpenAIChatProvider(openai),  # type: ignore[arg-type] # as newcomers do
        r".* is the module openai: make one, AsyncOpenAIChatProvider\(AsyncOpenAI\(\.\.\.\)\)",
    ),
    "the other vendor's client": (
        lambda: OpenAIChatProvider(CLAUDE),  # type: ignore[arg-type] # as newcomers do
        r".* is of type Anthropic: use AnthropicMessagesProvider",
    ),
    "the other vendor's client again": (
        lambda: AnthropicMessagesProvider(ASYNC_CLIENT),  # type: ignore[arg-type] # as newcomers do
        r".* is of type AsyncOpenAI: use AsyncOpenAIChatProvider",
    ),
}


@pytest.mark.parametrize(("give", "message"), REFUSED.values(), ids=REFUSED)
def test_what_newcomers_give_is_answered_with_what_to_write(give: Callable[[], object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{message}$") as refused:
        give()
    assert KEY not in str(refused.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: ToolCall(id="a", name="b", arguments_json={}),  # type: ignore[arg-type]
            r"ToolCall\.arguments_json takes a str, not dict; write json\.dumps\(\.\.\.\)",
        ),
        (
            lambda: ToolDefinition(name="a", input_schema="{}"),  # type: ignore[arg-type]
            r"ToolDefinition\.input_schema takes a mapping, not str; write json\.loads\(\.\.\.\)",
        ),
        (
            lambda: DlpRule(id="a", pattern=re.compile("x")),  # type: ignore[arg-type]
            r"DLP rule 'a': pattern takes a str, not Pattern; give its text, \.pattern",
        ),
        (
            lambda: DlpRule(id="a", pattern="x", action="mask"),  # type: ignore[arg-type]
            r"DLP rule 'a': action takes a DlpAction, not str; for example DlpAction\.MASK",
        ),
        (
            lambda: CompositeOperationInterceptor(OperationInterceptor(), OperationInterceptor()),  # type: ignore[arg-type]
            r"CompositeOperationInterceptor takes one list; write \[\.\.\.\] around its interceptors",
        ),
        (
            lambda: CompositeDlpInterceptor(None, None),  # type: ignore[arg-type]
            r"CompositeDlpInterceptor takes one list; write \[\.\.\.\] around its interceptors",
        ),
        (
            lambda: RuntimeEvent.of("tramai.x", {}),  # type: ignore[arg-type]
            r"RuntimeEvent\.of takes RuntimeEventDefinition, not str; for example one of tramapy\.CATALOGUE\..*",
        ),
        (
            lambda: FakeClock().advance("5"),  # type: ignore[arg-type]
            r"a clock moves by seconds as a number, not str",
        ),
    ],
    ids=[
        "arguments",
        "a schema",
        "a pattern",
        "an action",
        "interceptors",
        "DLP interceptors",
        "an event's name",
        "a time",
    ],
)
def test_a_value_of_another_type_is_answered_with_what_to_write(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises(TypeError, match=f"^{message}$"):
        make()
