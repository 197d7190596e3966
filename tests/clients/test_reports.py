"""Bugs that were reported of other wrappers of the vendors' clients, each as a test of this one.

The names count the reports. Where one is about tools that run, or about another kind of framework, the docstring says
which part of it `wrap` has.
"""

from __future__ import annotations

import gc
import inspect
import logging
from collections.abc import Callable
from typing import Any

import anyio
import pydantic
import pytest

from tests.clients.every_call import CHAT, MESSAGES, RESPONSES, STREAMS, Call, EveryCallServer
from tests.clients.worlds import API_KEY, SDK_LEAVES_GENERATORS, Use, World, go, items_of, text_of
from tramapy import (
    CircuitBreakerOpenError,
    CircuitBreakerSettings,
    ConfigurationError,
    DlpContentType,
    DlpRule,
    EngineEventObserver,
    Fallback,
    InterceptorError,
    Message,
    ModelResponse,
    OperationInterceptor,
    RetryPolicySettings,
    RuleBasedDlpConfiguration,
    RuleBasedDlpInterceptor,
    ToolCall,
    call_options,
    wrap,
)
from tramapy.dlp import DlpAction
from tramapy.testing import (
    ErrorDetail,
    Gate,
    HttpRejection,
    MidStreamError,
    RawBody,
    ScriptedServer,
    SlowAnswer,
)

pytestmark = SDK_LEAVES_GENERATORS

SSN = "123-45-6789"
RULE = DlpRule(
    id="ssn", pattern=r"\b\d{3}-\d{2}-\d{4}\b", replacement="[SSN]", enabled_for=list(DlpContentType)
)
DLP = RuleBasedDlpInterceptor(RuleBasedDlpConfiguration(rules=[RULE]))
CALL = ToolCall(id="c1", name="look_up", arguments_json=f'{{"q":"{SSN}"}}')
TEXT = "one two three"
BUSY = HttpRejection(status=503)


@pytest.fixture(
    params=[(name, vendor) for name in ("sync", "asyncio") for vendor in ("openai", "anthropic")],
    ids="-".join,
)
def either(request: pytest.FixtureRequest) -> World:
    """A thread and a loop, with either vendor's client; trio is in the matrix."""
    return World(*request.param)


@pytest.fixture(params=["openai", "anthropic"])
def loop(request: pytest.FixtureRequest) -> World:
    """A loop, with either vendor's client."""
    return World("asyncio", request.param)


def main_call(world: World) -> Call:
    return CHAT if world.vendor == "openai" else MESSAGES


def resource(use: Use) -> Any:
    return use.client.chat.completions if use.vendor == "openai" else use.client.messages


def options_of(use: Use) -> dict[str, Any]:
    options: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    return options if use.vendor == "openai" else {**options, "max_tokens": 9}


async def entered(manager: Any, act: Callable[[Any], Any]) -> Any:
    """Do something within a context manager, sync or async."""
    if hasattr(manager, "__aenter__"):
        async with manager as value:
            return await go(act(value))
    with manager as value:
        return await go(act(value))


class Masking(OperationInterceptor):
    """Puts `***` in the place of `secret`, both ways."""

    def intercept_request(self, context: Any, messages: Any) -> Any:
        return [each.replace(content=(each.content or "").replace("secret", "***")) for each in messages]

    def intercept_response(self, context: Any, response: Any) -> Any:
        return response.replace(content=(response.content or "").replace("secret", "***"))


def test_report_01_a_raw_answer_is_parsed_to_a_stream_that_is_governed(either: World) -> None:
    async def step(use: Use) -> None:
        raw = await go(resource(use).with_raw_response.create(stream=True, **options_of(use)))
        assert raw.http_response.status_code == 200
        assert text_of(await items_of(await go(raw.parse()))) == "it is [SSN] indeed"
        assert use.names[-2:] == ["attempt.completed", "operation.completed"]

    either.use([f"it is {SSN} indeed"], step, dlp=DLP)


def test_report_02_a_raw_answer_has_its_headers(either: World) -> None:
    async def step(use: Use) -> None:
        raw = await go(resource(use).with_raw_response.create(**options_of(use)))
        assert raw.headers["x-request-id"] == raw.http_response.headers["x-request-id"] == "req_7"
        assert raw.status_code == 200

    class Named:
        def steps(self, exchange: Any) -> Any:
            body = exchange.wire.body(exchange, exchange.response_of("x"))
            headers = {"content-type": "application/json", "x-request-id": "req_7"}
            yield from RawBody(body=body, headers=headers).steps(exchange)

    either.use([Named()], step)


def test_report_03_a_raw_answer_s_body_is_the_caller_s_to_read(either: World) -> None:
    async def step(use: Use) -> None:
        raw = await go(resource(use).with_raw_response.create(**options_of(use)))
        first, second = raw.http_response.json(), raw.http_response.json()
        assert first == second
        assert TEXT in str(first)
        parsed = await go(raw.parse())
        assert type(parsed) is type(await go(use.create(client=use.bare)))

    either.use([TEXT] * 2, step)


def test_report_04_output_and_usage_of_a_raw_answer_are_seen(either: World) -> None:
    async def step(use: Use) -> None:
        raw = await go(resource(use).with_raw_response.create(**options_of(use)))
        assert type(raw).__name__.endswith("APIResponse")
        [completed] = use.observer.attributes_of("tramai.attempt.completed")
        assert (completed["input_tokens"], completed["output_tokens"]) == (10, 3)
        assert completed["finish_reason"] == "stop"

    either.use([TEXT], step)


def test_report_05_one_attempt_is_one_event_though_two_layers_are_wrapped(either: World) -> None:
    """The layers are two calls of `wrap`, with a raw answer as another library asks for it."""

    async def step(use: Use) -> None:
        twice = wrap(use.client, interceptors=[Masking()])
        raw = await go(
            (twice.chat.completions if use.vendor == "openai" else twice.messages).with_raw_response.create(
                **options_of(use)
            )
        )
        await go(raw.parse())
        assert use.names.count("attempt.completed") == use.names.count("operation.completed") == 1
        assert len(use.server.requests) == 1

    either.use([TEXT], step)


def test_report_06_a_stream_s_response_is_the_http_response(either: World) -> None:
    async def step(use: Use) -> None:
        stream = await go(use.create(stream=True))
        bare = await go(use.create(client=use.bare, stream=True))
        assert type(stream.response) is type(bare.response)
        assert stream.response.headers["content-type"] == bare.response.headers["content-type"]
        await items_of(stream)
        await items_of(bare)
        await go(stream.close())
        await go(stream.close())

        # the helper closes what it finds there
        async def read(events: Any) -> None:
            await items_of(events)

        await entered(resource(use).stream(**options_of(use)), read)
        assert stream.response.is_closed

    either.use([TEXT] * 3, step)


class FailsAtTheEnd(EngineEventObserver):
    def on_engine_event(self, name: str, attributes: Any) -> None:
        if name.endswith("completed"):
            raise TypeError("None + str")


def test_report_07_bookkeeping_never_breaks_the_caller_s_loop(either: World) -> None:
    async def step(use: Use) -> None:
        assert await use.stream() == TEXT
        # an answer without any text has an end, too
        assert await use.stream() == ""

    call = ModelResponse(tool_calls=[CALL])
    either.use([TEXT, call], step, event_observers=[FailsAtTheEnd()])


class Shape(pydantic.BaseModel):
    """What an answer is parsed to."""

    name: str


@pytest.mark.unmeasured
@pytest.mark.parametrize("name", ["sync", "asyncio"])
def test_report_08_every_way_to_parse_is_governed(name: str) -> None:
    async def openai_step(use: Use) -> None:
        options: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "secret"}]}
        client = use.client
        for parse in (client.chat.completions.parse, client.beta.chat.completions.parse):
            answer = await go(parse(response_format=Shape, **options))
            assert answer.choices[0].message.parsed == Shape(name="***")
        answer = await go(client.responses.parse(model="m", input="secret", text_format=Shape))
        assert answer.output_parsed == Shape(name="***")
        assert [CHAT.asked(each.body) for each in use.server.requests[:2]] == ["***"] * 2
        assert use.server.requests[2].body["input"] == "***"

    async def anthropic_step(use: Use) -> None:
        answer = await go(use.client.messages.parse(output_format=Shape, **options_of(use)))
        assert answer.parsed_output == Shape(name="***")

    World(name).use(['{"name":"secret"}'] * 3, openai_step, interceptors=[Masking()])
    World(name, "anthropic").use(['{"name":"secret"}'], anthropic_step, interceptors=[Masking()])


def test_report_09_a_stream_s_manager_is_no_coroutine_and_sends_nothing_early(loop: World) -> None:
    async def step(use: Use) -> None:
        manager = resource(use).stream(**options_of(use))
        assert not inspect.isawaitable(manager)
        assert use.server.requests == ()
        async with manager as stream:
            assert await items_of(stream)
        assert len(use.server.requests) == 1

    loop.use([TEXT], step)


def test_report_10_beta_streams_are_governed(either: World) -> None:
    async def step(use: Use) -> None:
        if use.vendor == "openai":
            manager = use.client.beta.chat.completions.stream(**options_of(use))
        else:
            manager = use.client.beta.messages.stream(**options_of(use))
        items = await entered(manager, items_of)
        assert SSN not in str(items)
        assert "[SSN]" in str(items)
        assert use.names[-1] == "operation.completed"

    either.use([f"it is {SSN} indeed"], step, dlp=DLP)


def test_report_11_a_stream_s_helpers_are_all_there(either: World) -> None:
    async def step(use: Use) -> None:
        async def final(stream: Any) -> str:
            if use.vendor == "openai":
                completion = await go(stream.get_final_completion())
                return completion.choices[0].message.content
            first = await go(stream.get_final_text())
            message = await go(stream.get_final_message())
            assert message.content[0].text == first
            return first

        names = []
        for client in (use.client, use.bare):
            methods = client.chat.completions if use.vendor == "openai" else client.messages
            manager = methods.stream(**options_of(use))

            async def public(stream: Any) -> str:
                names.append({each for each in dir(stream) if not each.startswith("_")})
                return await final(stream)

            assert await entered(manager, public) == TEXT
        assert names[0] == names[1]

    either.use([TEXT] * 2, step)


def test_report_11_a_stream_of_a_response_has_its_helpers() -> None:
    def step_of(use: Use) -> Any:
        async def final(stream: Any) -> str:
            await items_of(stream)
            return (await go(stream.get_final_response())).output_text

        return entered(use.client.responses.stream(model="m", input="x"), final)

    for name in ("sync", "asyncio"):
        assert World(name).use([f"it is {SSN} indeed"], step_of, dlp=DLP) == "it is [SSN] indeed"


def test_report_12_a_stream_is_a_context_manager(either: World) -> None:
    async def step(use: Use) -> None:
        stream = await go(use.create(stream=True))
        assert type(stream) is type(await go(use.create(client=use.bare, stream=True)))
        assert text_of(await entered(stream, items_of)) == TEXT

    either.use([TEXT] * 2, step)


def test_report_13_special_methods_are_on_the_classes(either: World) -> None:
    async def step(use: Use) -> None:
        stream = await go(use.create(stream=True))
        wanted = (
            ("__aenter__", "__aexit__", "__aiter__")
            if either.is_async
            else ("__enter__", "__exit__", "__iter__")
        )
        assert all(hasattr(type(stream), each) for each in wanted)
        assert all(hasattr(type(use.client), each) for each in wanted[:2])
        await items_of(stream)
        assert await entered(use.client, lambda client: use.ask(client=client)) == TEXT
        assert use.client.is_closed()
        assert not use.bare.is_closed()

    either.use([TEXT] * 2, step)


def test_report_14_a_stream_that_is_left_early_is_closed_and_told_of(loop: World) -> None:
    gate = Gate()

    async def step(use: Use) -> None:
        async with await go(use.create(stream=True)) as stream:
            async for item in stream:
                if text_of([item]):
                    break
        [cancelled] = use.observer.attributes_of("tramai.attempt.cancelled")
        assert cancelled["cancel_reason"] == "closed"
        assert use.names[-1] == "operation.completed"
        use.server.wait_for_abandoned(1)
        gate.release()

    loop.use([SlowAnswer(gate=gate, answer=TEXT, after_events=6)], step)


def test_report_15_the_type_that_goes_in_comes_out(either: World) -> None:
    async def step(use: Use) -> None:
        assert isinstance(use.client, type(use.bare))
        assert type(use.client).__name__ == type(use.bare).__name__
        assert type(use.client).__module__ == type(use.bare).__module__
        value = use.create()
        assert inspect.isawaitable(value) is either.is_async
        await go(value)

    either.use([TEXT], step)


def test_report_16_no_argument_is_added_to_a_method(either: World) -> None:
    async def step(use: Use) -> None:
        bare = use.bare.chat.completions if use.vendor == "openai" else use.bare.messages
        for name in ("create", "stream", "parse"):
            assert inspect.signature(getattr(resource(use), name)) == inspect.signature(getattr(bare, name))
        with pytest.raises(TypeError):
            resource(use).create(correlation_id="x", **options_of(use))

    either.use([], step)


@pytest.mark.parametrize("retries", [0, 2])
def test_report_17_attempts_are_as_many_as_configured(either: World, retries: int) -> None:
    async def step(use: Use) -> None:
        for ask in (use.ask, use.stream):
            with pytest.raises(either.sdk.InternalServerError):
                await ask()
        assert len(use.server.requests) == 2 * (1 + retries)
        [first, _] = use.observer.attributes_of("tramai.operation.completed")
        assert first["attempt_count"] == 1 + retries

    either.use(
        [BUSY] * 20,
        step,
        client_options={"max_retries": 5},
        retry=RetryPolicySettings(provider_retries=retries),
        circuit_breaker=CircuitBreakerSettings(enabled=False),
    )


ARGUMENTS = f'{{"q":"{SSN}"}}'
CHAT_CALL = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": ARGUMENTS}}
HISTORIES: list[tuple[Call, dict[str, Any]]] = [
    (
        CHAT,
        {
            "messages": [
                {"role": "user", "content": "x"},
                {"role": "assistant", "tool_calls": [CHAT_CALL]},
                {"role": "tool", "tool_call_id": "c1", "content": f"is {SSN}"},
            ]
        },
    ),
    (
        RESPONSES,
        {
            "input": [
                {"type": "function_call", "call_id": "c1", "name": "look_up", "arguments": ARGUMENTS},
                {"type": "function_call_output", "call_id": "c1", "output": f"is {SSN}"},
            ]
        },
    ),
    (
        MESSAGES,
        {
            "max_tokens": 9,
            "messages": [
                {"role": "user", "content": "x"},
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "c1", "name": "look_up", "input": {"q": SSN}}],
                },
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "c1", "content": f"is {SSN}"}],
                },
            ],
        },
    ),
]


@pytest.mark.parametrize(("call", "history"), HISTORIES, ids=lambda value: str(value)[:20])
def test_report_18_arguments_and_results_of_tools_in_the_history_are_masked(
    call: Call, history: dict[str, Any]
) -> None:
    async def step(use: Use) -> None:
        create = use.client.responses.create if call is RESPONSES else resource(use).create
        create(model="m", **history)
        [request] = use.server.requests
        assert SSN not in str(request.body)
        assert str(request.body).count("[SSN]") == 2

    World("sync", call.vendor).use([TEXT], step, request_dlp=DLP, dlp=DLP)


@pytest.mark.parametrize("is_stream", [False, True], ids=["plain", "stream"])
def test_report_19_what_a_tool_gets_is_restored_and_stays_json(either: World, is_stream: bool) -> None:
    """The tools run by the caller: `wrap` has the arguments that these get."""
    placeholders = RuleBasedDlpInterceptor.with_default_rules(actions={"email": DlpAction.PLACEHOLDER})

    def model(request: Any) -> ModelResponse:
        word = str(request.body["messages"][-1]["content"]).split()[-1]
        assert word.startswith("<EMAIL_1")
        calls = [
            ToolCall(id=name, name=name, arguments_json=f'{{"to":"{word}"}}')
            for name in ("send_mail", "search")
        ]
        return ModelResponse(content=f"I write to {word} now", tool_calls=calls)

    async def step(use: Use) -> None:
        if is_stream:
            answer = await entered(
                resource(use).stream(**{**options_of(use), "messages": asked}),
                lambda stream: (
                    stream.get_final_completion() if use.vendor == "openai" else stream.get_final_message()
                ),
            )
        else:
            answer = await go(use.create("write to ann@example.com"))
        said = answer.model_dump_json()
        if use.vendor == "openai":
            message = answer.choices[0].message
            assert message.content == "I write to ann@example.com now"
            sent, searched = (each.function.arguments for each in message.tool_calls)
            assert sent == '{"to":"ann@example.com"}'
            assert "<EMAIL_1" in searched
        else:
            assert answer.content[0].text == "I write to ann@example.com now"
            assert answer.content[1].input == {"to": "ann@example.com"}
            assert answer.content[2].input["to"].startswith("<EMAIL_1")
        assert "ann@example.com" in said

    asked = [{"role": "user", "content": "write to ann@example.com"}]
    either.use([model], step, request_dlp=placeholders, restore_for_tools=["send_mail"])


class Refusing(OperationInterceptor):
    def intercept_request(self, context: Any, messages: Any) -> Any:
        raise ValueError("no")


def test_report_20_checks_that_block_end_before_anything_is_sent(either: World) -> None:
    """The tool's side effect is the caller's; `wrap` sends nothing that a check has not passed."""
    seen: list[str] = []

    class Slow(OperationInterceptor):
        def intercept_request(self, context: Any, messages: Any) -> Any:
            seen.append("checked")
            return messages

    async def step(use: Use) -> None:
        for ask in (use.ask, use.stream):
            with pytest.raises(InterceptorError):
                await ask()
        assert use.server.requests == ()
        assert seen == ["checked"] * 2

    either.use([], step, interceptors=[Slow(), Refusing()])


def test_report_21_a_hook_that_cannot_run_here_is_told_of_at_once() -> None:
    class Async(OperationInterceptor):
        async def intercept_request(self, context: Any, messages: Any) -> Any:  # type: ignore[override]
            await anyio.lowlevel.checkpoint()
            return [Message.user("seen by an async hook")]

    def refused() -> None:
        bare = World("sync").bare("http://127.0.0.1:1/v1")
        with pytest.raises(ConfigurationError, match="async"):
            wrap(bare, interceptors=[Async()])
        bare.close()

    refused()

    async def step(use: Use) -> None:
        await use.ask("secret")
        assert use.server.requests[0].body["messages"][-1]["content"] == "***"  # type: ignore[index]

    # a plain hook runs on a loop, and an async one, too
    World("asyncio").use([TEXT], step, interceptors=[Masking()])

    async def other(use: Use) -> None:
        await use.ask("secret")
        assert "seen by an async hook" in str(use.server.requests[0].body)

    World("asyncio").use([TEXT], other, interceptors=[Async()])


def test_report_22_what_a_judge_s_own_call_says_is_not_in_the_stream() -> None:
    """The judge is an interceptor that asks a model by the very client that it guards."""

    async def step(use: Use) -> None:
        class Judge(OperationInterceptor):
            is_judging = False

            def intercept_request(self, context: Any, messages: Any) -> Any:
                if not self.is_judging:
                    self.is_judging = True
                    try:
                        verdicts.append(CHAT.text_of(CHAT.start(client, "judge", stream=True)))
                    finally:
                        self.is_judging = False
                return messages

        verdicts: list[str] = []
        client = wrap(use.client, interceptors=[Judge()])
        assert await use.stream(client=client) == TEXT
        assert verdicts == ["it is fine"]
        ids = {event.attributes["correlation_id"] for event in use.observer.events}
        assert len(ids) == 2
        assert use.names.count("operation.completed") == 2

    World("sync").use(["it is fine", TEXT], step)


def tool_use(kind: str) -> dict[str, Any]:
    body = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use"}
    block = {"type": kind, "id": "c1", "name": "web_search", "input": {"q": SSN}}
    usage = {"input_tokens": 1, "output_tokens": 1}
    return {**body, "stop_sequence": None, "usage": usage, "content": [block]}


def chat_call(call: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "finish_reason": "tool_calls", "logprobs": None, "message": message}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def item_call(item: dict[str, Any]) -> dict[str, Any]:
    head = {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "m",
        "tools": [],
    }
    return {**head, "output": [item], "parallel_tool_calls": True, "tool_choice": "auto"}


CUSTOM = {"id": "c1", "type": "custom", "custom": {"name": "run", "input": f"print {SSN}"}}
TOOL_KINDS: dict[str, tuple[Call, dict[str, Any]]] = {
    "chat function": (CHAT, chat_call(CHAT_CALL)),
    "chat custom": (CHAT, chat_call(CUSTOM)),
    "responses function": (
        RESPONSES,
        item_call(
            {"id": "f", "type": "function_call", "call_id": "c1", "name": "look_up", "arguments": ARGUMENTS}
        ),
    ),
    "responses custom": (
        RESPONSES,
        item_call({"id": "f", "type": "custom_tool_call", "call_id": "c1", "name": "run", "input": SSN}),
    ),
    "responses shell": (
        RESPONSES,
        item_call(
            {
                "id": "f",
                "type": "local_shell_call",
                "call_id": "c1",
                "status": "completed",
                "action": {"type": "exec", "command": ["echo", SSN], "env": {}},
            }
        ),
    ),
    "responses mcp": (
        RESPONSES,
        item_call(
            {
                "id": "f",
                "type": "mcp_call",
                "name": "n",
                "server_label": "s",
                "arguments": ARGUMENTS,
                "output": SSN,
            }
        ),
    ),
    "messages tool": (MESSAGES, tool_use("tool_use")),
    "messages server tool": (MESSAGES, tool_use("server_tool_use")),
    "messages unknown tool": (MESSAGES, tool_use("tool_of_tomorrow")),
}


@pytest.mark.parametrize("kind", TOOL_KINDS)
def test_report_23_a_rule_holds_for_every_kind_of_tool_call(kind: str) -> None:
    """The report is of a hook that denies tools; under `wrap` that is DLP on what the model wants of them."""
    call, body = TOOL_KINDS[kind]

    async def step(use: Use) -> None:
        answer = call.start(use.client, "x")
        said = answer.model_dump_json(warnings=False)
        assert SSN not in said
        assert "[SSN]" in said

    World("sync", call.vendor).use([RawBody(body=body)], step, dlp=DLP)


class Correcting(OperationInterceptor):
    """Writes other arguments into each tool call, and takes `delete` away."""

    def intercept_response(self, context: Any, response: Any) -> Any:
        kept = [
            each.replace(arguments_json='{"q":"ok"}') for each in response.tool_calls if each.name != "delete"
        ]
        return response.replace(tool_calls=kept)


@pytest.mark.parametrize("is_stream", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("call", [CHAT, RESPONSES, MESSAGES], ids=repr)
def test_report_24_rewritten_arguments_arrive_and_a_denied_call_is_gone(call: Call, is_stream: bool) -> None:
    """The result that a denied call needs is the caller's, who sees no such call under `wrap`."""
    calls = [CALL, ToolCall(id="c2", name="delete", arguments_json='{"all":true}')]

    def dumped(use: Use) -> str:
        if not is_stream:
            return call.start(use.client, "x").model_dump_json()
        if call is RESPONSES:
            manager: Any = use.client.responses.stream(model="m", input="x")
            final = "get_final_response"
        else:
            manager = resource(use).stream(**options_of(use))
            final = "get_final_completion" if call is CHAT else "get_final_message"
        with manager as stream:
            return "".join(item.to_json(indent=None) for item in stream) + getattr(stream, final)().to_json()

    async def step(use: Use) -> None:
        said = dumped(use)
        assert "look_up" in said
        assert "ok" in said
        assert SSN not in said
        assert "delete" not in said

    World("sync", call.vendor).use([ModelResponse(tool_calls=calls)], step, interceptors=[Correcting()])


@pytest.mark.parametrize("gone", ["a", "b", "ac", "abc"])
@pytest.mark.parametrize("is_stream", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("call", [CHAT, RESPONSES, MESSAGES], ids=repr)
def test_report_24_the_calls_that_are_left_keep_their_order(call: Call, is_stream: bool, gone: str) -> None:
    class Denying(OperationInterceptor):
        def intercept_response(self, context: Any, response: Any) -> Any:
            return response.replace(
                tool_calls=[each for each in response.tool_calls if each.name not in gone]
            )

    async def step(use: Use) -> None:
        if not is_stream:
            answer = call.start(use.client, "x")
        elif call is RESPONSES:
            with use.client.responses.stream(model="m", input="x") as stream:
                answer = stream.get_final_response()
        else:
            with resource(use).stream(**options_of(use)) as stream:
                answer = stream.get_final_completion() if call is CHAT else stream.get_final_message()
        if call is CHAT:
            said = [
                (each.function.name, each.function.arguments)
                for each in answer.choices[0].message.tool_calls or ()
            ]
        elif call is RESPONSES:
            said = [(each.name, each.arguments) for each in answer.output if each.type == "function_call"]
        else:
            said = [
                (each.name, f'{{"n":"{each.input["n"]}"}}')
                for each in answer.content
                if each.type == "tool_use"
            ]
        assert said == [(name, f'{{"n":"{name}"}}') for name in "abc" if name not in gone]

    calls = [ToolCall(id=f"c{name}", name=name, arguments_json=f'{{"n":"{name}"}}') for name in "abc"]
    answer = ModelResponse(content="I call", tool_calls=calls)
    World("sync", call.vendor).use([answer], step, interceptors=[Denying()])


@pytest.mark.parametrize("call", STREAMS, ids=repr)
def test_report_25_hooks_are_the_same_for_streams(call: Call) -> None:
    async def step(use: Use) -> None:
        assert await call.ask(use.client, "a secret") == "a *** too [SSN] said"
        assert await call.stream(use.client, "a secret") == "a *** too [SSN] said"
        assert [call.asked(each.body) for each in use.server.requests] == ["a ***"] * 2

    settings: dict[str, Any] = {"interceptors": [Masking()], "dlp": DLP, "server_class": EveryCallServer}
    World("asyncio", call.vendor).use([f"a secret too {SSN} said"] * 2, step, **settings)


def test_report_26_what_is_made_of_a_wrapped_client_is_governed(either: World) -> None:
    """Mounted servers are other frameworks'; a client is copied, or wrapped again."""

    async def step(use: Use) -> None:
        copies = [
            use.client,
            use.client.with_options(timeout=9),
            use.client.copy(),
            use.client.with_options(default_headers={"x": "y"}).with_options(max_retries=0),
            wrap(use.client, timeout_s=30.0),
            wrap(use.client.copy(), dlp=DLP),
        ]
        for client in copies:
            assert await use.ask("a secret", client=client) == TEXT
        assert {each.body["messages"][-1]["content"] for each in use.server.requests} == {"a ***"}  # type: ignore[index]
        assert use.names.count("operation.completed") == len(copies)

    either.use([TEXT] * 6, step, interceptors=[Masking()])


OVERLOADED = ErrorDetail(error_type="overloaded_error", code="overloaded_error", message="busy")


def test_report_27_an_error_in_a_stream_is_judged_by_what_it_says(either: World) -> None:
    async def step(use: Use) -> None:
        with pytest.raises(either.sdk.APIError) as caught:
            await use.stream()
        with pytest.raises(either.sdk.APIError) as expected:
            await use.stream(client=use.bare)
        assert type(caught.value) is type(expected.value)
        [failed] = use.observer.attributes_of("tramai.attempt.failed")
        assert failed["status_code"] == 529
        assert failed["failure_kind"] == "provider"

    either.use([MidStreamError(answer=TEXT, after_events=4, detail=OVERLOADED)] * 2, step)


def test_report_28_an_error_in_a_stream_leads_to_the_fallback(either: World) -> None:
    async def step(use: Use) -> None:
        with ScriptedServer(["from the other"]) as server:
            other = either.bare(either.url(server))
            client = wrap(use.client, fallbacks={"m": [Fallback(other)]})
            assert await use.stream(client=client) == "from the other"
            await go(other.close())
        assert len(use.server.requests) == 1

    either.use(
        [MidStreamError(answer=TEXT, after_events=1, detail=OVERLOADED)],
        step,
        retry=RetryPolicySettings(provider_retries=0),
    )


def test_report_29_an_overload_within_a_stream_reaches_the_breaker(either: World) -> None:
    async def step(use: Use) -> None:
        with pytest.raises(either.sdk.APIError):
            await use.stream()
        assert use.names.count("circuit.opened") == 1
        with pytest.raises(CircuitBreakerOpenError):
            await use.stream()
        assert len(use.server.requests) == 1

    either.use(
        [MidStreamError(answer=TEXT, after_events=3, detail=OVERLOADED)],
        step,
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
    )


def test_report_30_options_hold_in_another_task_s_stream(loop: World) -> None:
    """No token is held over a yield: a stream begins in one task and is read, and left, in another."""

    async def step(use: Use) -> None:
        streams: list[Any] = []

        async def begin() -> None:
            with call_options(correlation_id="ticket-17"):
                streams.append(await use.create(stream=True))

        async def read() -> None:
            texts.append(text_of(await items_of(streams[0])))

        texts: list[str] = []
        for act in (begin, read):
            async with anyio.create_task_group() as group:
                group.start_soon(act)
        assert texts == [TEXT]
        assert {event.attributes["correlation_id"] for event in use.observer.events} == {"ticket-17"}

    loop.use([TEXT], step)


class BrokenObserver(EngineEventObserver):
    def on_engine_event(self, name: str, attributes: Any) -> None:
        raise AttributeError("of a dependency")


class BrokenDlp(RuleBasedDlpInterceptor):
    def inspect(self, context: Any, text: str) -> Any:
        raise AttributeError("of a dependency")


def test_report_31_who_watches_fails_open_and_who_enforces_fails_closed(
    either: World, caplog: pytest.LogCaptureFixture
) -> None:
    async def step(use: Use) -> None:
        assert await use.ask() == TEXT
        assert await use.stream() == TEXT
        closed = wrap(use.client, dlp=BrokenDlp(RuleBasedDlpConfiguration(rules=[RULE])))
        for ask in (use.ask, use.stream):
            with pytest.raises(Exception, match="DLP") as caught:
                await ask(client=closed)
            assert not isinstance(caught.value, AttributeError)

    with caplog.at_level(logging.WARNING, "tramapy"):
        either.use([TEXT] * 4, step, event_observers=[BrokenObserver()])
    assert any("AttributeError" in record.getMessage() for record in caplog.records)


def test_report_32_methods_are_bound_and_wrapping_twice_is_wrapping_once(either: World) -> None:
    async def step(use: Use) -> None:
        create = resource(use).create
        assert inspect.ismethod(create)
        assert create.__self__ is resource(use)
        assert inspect.iscoroutinefunction(create) is inspect.iscoroutinefunction(
            (use.bare.chat.completions if use.vendor == "openai" else use.bare.messages).create
        )
        assert wrap(use.client) is use.client
        await use.ask(client=wrap(wrap(use.client)))
        assert use.names.count("attempt.completed") == 1
        gc.collect()

    either.use([TEXT], step)


def test_report_33_there_is_no_proxy(either: World) -> None:
    async def step(use: Use) -> None:
        pairs = [(use.client, use.bare)]
        names = (
            ["models", "messages", "beta"] if use.vendor == "anthropic" else ["chat", "embeddings", "files"]
        )
        for name in names:
            pairs.append((getattr(use.client, name), getattr(use.bare, name)))
        for ours, theirs in pairs:
            assert isinstance(ours, type(theirs))
            assert type(ours).__qualname__ == type(theirs).__qualname__
            assert set(dir(theirs)) <= set(dir(ours))
        for name in names[:2]:
            assert type(getattr(use.client, name)) is type(getattr(use.bare, name))
        assert use.client.api_key == use.bare.api_key == API_KEY
        assert use.client.base_url == use.bare.base_url
        assert use.client.timeout == use.bare.timeout
        assert use.client.messages is use.client.messages if use.vendor == "anthropic" else True

    either.use([], step)


def test_every_report_has_its_test() -> None:
    numbers = {name.split("_")[2] for name in globals() if name.startswith("test_report_")}
    assert numbers == {f"{number:02}" for number in range(1, 34)}
