"""`wrap`: settings, wrapping twice, fallbacks, and sharing a `Tramapy`."""

from __future__ import annotations

from typing import Any

import anthropic
import httpx2
import openai
import pytest

from tests.clients.worlds import API_KEY, SDK_LEAVES_GENERATORS, Use, World, go
from tramapy import (
    AsyncTramapy,
    CircuitBreakerOpenError,
    CircuitBreakerSettings,
    ConfigurationError,
    Fallback,
    OperationInterceptor,
    RetryPolicySettings,
    RuleBasedDlpInterceptor,
    TokenBudgetSettings,
    ToolResultFilteringSettings,
    Tramapy,
    WrapSettings,
    call_options,
    wrap,
)
from tramapy.settings import PipelineSettings
from tramapy.testing import FakeClock, HttpRejection, RecordingObserver, ScriptedProvider, ScriptedServer

pytestmark = SDK_LEAVES_GENERATORS

NO_RETRY = RetryPolicySettings(provider_retries=0)


def offline(kind: type[Any] = openai.OpenAI, **options: Any) -> Any:
    """A client that nobody sends with."""
    http: Any = httpx2.AsyncClient if "Async" in kind.__name__ else httpx2.Client
    transport: Any = httpx2.MockTransport(lambda request: httpx2.Response(500))
    return kind(api_key=API_KEY, http_client=http(transport=transport), **options)


@pytest.mark.parametrize(
    "kind", [openai.OpenAI, openai.AsyncOpenAI, anthropic.Anthropic, anthropic.AsyncAnthropic]
)
def test_the_type_stays_and_the_given_client_too(kind: type[Any]) -> None:
    client = offline(kind)
    wrapped = wrap(client)
    assert isinstance(wrapped, kind)
    assert type(wrapped).__name__ == kind.__name__
    assert wrapped is not client
    assert (client.max_retries, wrapped.max_retries) == (2, 0)
    assert type(client._client).__name__ != "GovernedHttpClient"
    assert wrapped.api_key == API_KEY
    assert wrapped.base_url == client.base_url
    assert wrapped.timeout == client.timeout


def test_a_wrapped_client_is_not_wrapped_again() -> None:
    client = offline()
    wrapped = wrap(client, provider_id="mine", allow=["files.create"], interceptors=[])
    assert wrap(wrapped) is wrapped
    assert wrap(wrapped, provider_id="mine", allow={"files.create"}, interceptors=()) is wrapped
    copy = wrapped.with_options(timeout=3)
    assert wrap(copy) is copy
    assert wrap(client) is not wrapped


def test_further_settings_stand_over_those_before(any_world: World) -> None:
    other = RecordingObserver()

    async def step(use: Use) -> None:
        again = wrap(use.client, event_observers=[other], provider_id="second")
        assert type(again).__name__ == type(use.client).__name__
        assert await use.ask(client=again) == "one"
        assert len(use.server.requests) == 1
        assert use.names == []
        assert other.names[0] == "tramai.operation.started"
        assert {event.attributes.get("provider_id") for event in other.events} == {None, "second"}
        with pytest.raises(any_world.sdk.InternalServerError):
            await use.ask(client=again)
        assert len(use.server.requests) == 3  # the retries of the client that was wrapped first

    any_world.use(["one", *[HttpRejection(status=500)] * 2], step, client_options={"max_retries": 1})


def test_wrapping_again_keeps_the_breaker_unless_it_is_another(world: World) -> None:
    async def step(use: Use) -> None:
        with pytest.raises(openai.InternalServerError):
            await use.ask()
        with pytest.raises(CircuitBreakerOpenError):
            await use.ask(client=wrap(use.client, strict=True))
        assert await use.ask(client=wrap(use.client, circuit_breaker=None)) == "fine"

    settings: dict[str, Any] = {"circuit_breaker": CircuitBreakerSettings(failure_threshold=1)}
    world.use([HttpRejection(status=500), "fine"], step, retry=NO_RETRY, **settings)


def test_a_tramapy_is_shared_with_its_observers_and_breaker(world: World) -> None:
    kind: Any = AsyncTramapy if world.is_async else Tramapy
    shared = kind(
        {"openai": ScriptedProvider(["its own"])},
        event_observers=[world.observer],
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
        clock=world.clock,
    )

    async def step(use: Use) -> None:
        assert wrap(use.client, tramapy=shared) is use.client
        with pytest.raises(openai.InternalServerError):
            await use.ask()
        assert len(use.server.requests) == 2
        assert "circuit.opened" in use.names
        from tramapy import Message

        with pytest.raises(CircuitBreakerOpenError):
            await go(shared.complete([Message.user("x")], model="m"))

    world.use([HttpRejection(status=500)] * 2, step, tramapy=shared, client_options={"max_retries": 1})


def test_a_fallback_answers_with_its_own_key_model_and_url(any_world: World) -> None:
    async def step(use: Use) -> None:
        with ScriptedServer(["from there", "from there too"]) as other_server:
            other = any_world.bare(
                any_world.url(other_server), api_key="plainly-fake-other-key", default_headers={"x-mine": "1"}
            )
            client = wrap(use.client, fallbacks={"m": [Fallback(other, "other-model")]}, timeout_s=30.0)
            options = {"extra_headers": {"x-secret": "s", "openai-beta": "b", "anthropic-beta": "c"}}
            query = {"beta": "true", "key": "plainly-fake"}
            assert await use.ask("hi", client=client, extra_query=query, **options) == "from there"
            assert await use.stream("hi", client=client) == "from there too"
            got, first = other_server.requests[0], use.server.requests[0]
            assert got.path == first.path
            assert (first.query, got.query) == ("beta=true&key=plainly-fake", "beta=true")
            assert got.body == {**first.body, "model": "other-model"}
            assert got.headers["x-mine"] == "1"
            assert got.headers["openai-beta"] == "b"
            assert got.headers["anthropic-beta"] == "c"
            assert "x-secret" not in got.headers
            selected = use.observer.attributes_of("tramai.route.selected")
            assert [each["provider_id"] for each in selected[:2]] == [
                any_world.vendor,
                f"{any_world.vendor}@127.0.0.1",
            ]
            await go(other.close())

    any_world.use([HttpRejection(status=500)] * 2, step, retry=NO_RETRY)


def test_a_fallback_may_be_a_wrapped_client_or_the_same_one_twice(world: World) -> None:
    async def step(use: Use) -> None:
        routes = [
            Fallback(use.client, "second"),
            Fallback(use.client, "third", provider_id="openai@127.0.0.1"),
        ]
        client = wrap(use.client, fallbacks={"m": routes, "n": [Fallback(use.client)]})
        assert await use.ask(client=client) == "third time"
        assert [request.body["model"] for request in use.server.requests] == ["m", "second", "third"]

    world.use([*[HttpRejection(status=500)] * 2, "third time"], step, retry=NO_RETRY)


GUARDS: dict[str, Any] = {
    "dlp": RuleBasedDlpInterceptor.with_default_rules(),
    "request_dlp": RuleBasedDlpInterceptor.with_default_rules(),
    "interceptors": [OperationInterceptor()],
    "tramapy": Tramapy({"p": ScriptedProvider()}),
    "strict": True,
    "stream_dlp": "buffer",
    "tool_result_filtering": ToolResultFilteringSettings(default_max_aggregate_text_length=5),
    "limit_bytes": 1_000,
    "token_budget": TokenBudgetSettings(hard_max_tokens_per_attempt=5),
}


@pytest.mark.parametrize("name", GUARDS)
def test_a_fallback_whose_own_guard_would_be_lost_is_refused(name: str) -> None:
    own = {name: GUARDS[name]}
    fallbacks = {"m": [Fallback(wrap(offline(), **own))]}
    with pytest.raises(
        ConfigurationError, match=rf"^fallbacks\['m'\]\[0\] is a wrapped client with its own {name}, which "
    ):
        wrap(offline(), fallbacks=fallbacks)
    wrap(offline(), fallbacks=fallbacks, **own)  # nothing is lost


def test_a_fallback_with_guards_that_are_the_usual_ones_is_taken() -> None:
    usual: dict[str, Any] = {"dlp": None, "interceptors": [], "strict": False, "stream_dlp": "auto"}
    wrap(offline(), fallbacks={"m": [Fallback(wrap(offline(), **usual))]})


def test_fallback_ids_are_told_apart() -> None:
    clients = [offline() for _ in range(3)]
    routes = [Fallback(client) for client in clients]
    record = wrap(offline(), fallbacks={"m": [*routes, Fallback(offline(), provider_id="named")]})._client
    ids = [route.provider.provider_id for route in record.tramapy_wrapped.pipeline.routing.resolve("m", None)]
    host = "openai@api.openai.com"
    assert ids == ["openai", host, f"{host}#2", f"{host}#3", "named"]


def test_azure_s_deployment_is_part_of_the_path(world: World) -> None:
    kind: Any = openai.AsyncAzureOpenAI if world.is_async else openai.AzureOpenAI
    sent: list[httpx2.Request] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        sent.append(request)
        body = {
            "id": "c",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ok"}}
            ],
        }
        return httpx2.Response(500) if len(sent) == 1 else httpx2.Response(200, json=body)

    async def main() -> None:
        def azure(name: str, **options: Any) -> Any:
            http: Any = httpx2.AsyncClient if world.is_async else httpx2.Client
            return kind(
                api_key=API_KEY,
                api_version="2024-10-21",
                azure_endpoint=f"https://{name}.example",
                http_client=http(transport=httpx2.MockTransport(handle)),
                **options,
            )

        client = wrap(
            azure("one"),
            fallbacks={"m": [Fallback(azure("two"), "n")]},
            retry=NO_RETRY,
            event_observers=[world.observer],
        )
        assert type(client).__name__ == kind.__name__
        messages: Any = [{"role": "user", "content": "x"}]
        answer = await go(client.chat.completions.create(model="m", messages=messages))
        assert answer.choices[0].message.content == "ok"

    world.run(main)
    assert [str(request.url) for request in sent] == [
        "https://one.example/openai/deployments/m/chat/completions?api-version=2024-10-21",
        "https://two.example/openai/deployments/n/chat/completions?api-version=2024-10-21",
    ]
    started = world.observer.attributes_of("tramai.operation.started")[0]
    assert started["method_name"] == "chat.completions.create"
    ids = [each["provider_id"] for each in world.observer.attributes_of("tramai.route.selected")]
    assert ids == ["azure", "openai@two.example"]


def test_a_call_that_cannot_be_read_has_no_fallback(world: World) -> None:
    async def step(use: Use) -> None:
        client = wrap(use.client, fallbacks={"none": [Fallback(use.client)]}, allow={"images.generate"})
        with pytest.raises(ConfigurationError, match="no fallback"):
            await go(client.post("/images/generations", content=b"x", cast_to=object))

    world.use_stub([httpx2.Response(500)], step, retry=NO_RETRY)


def test_a_fallback_s_redirects_are_not_shown(world: World) -> None:
    answers = [
        httpx2.Response(500),
        httpx2.Response(307, headers={"location": "/moved"}),
        httpx2.Response(200, json={"created": 1}),
    ]

    async def step(use: Use) -> None:
        other = use.bare.with_options(base_url="http://other.test/v1", api_key="plainly-fake-too")
        client = wrap(use.client, fallbacks={"m": [Fallback(other)]})
        raw = await go(client.images.with_raw_response.generate(model="m", prompt="x"))
        response = raw.http_response
        assert (response.history, response.url.path) == ([], "/v1/images/generations")

    assert world.use_stub(answers, step, retry=NO_RETRY)[2].url.path == "/moved"


def test_a_call_for_what_the_provider_keeps_has_no_fallback(world: World) -> None:
    async def step(use: Use) -> None:
        client = wrap(use.client, fallbacks={"m": [Fallback(use.client)]})
        with pytest.raises(openai.InternalServerError):
            await go(client.fine_tuning.jobs.create(model="m", training_file="file-1"))
        assert (await go(client.images.generate(model="m", prompt="x"))).created == 1

    answers = [httpx2.Response(500), httpx2.Response(500), httpx2.Response(200, json={"created": 1})]
    assert len(world.use_stub(answers, step, retry=NO_RETRY)) == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dlb": 1}, "Unknown setting 'dlb'"),
        ({"models": {}}, "models has no place"),
        ({"default_provider": "x"}, "use fallbacks"),
        ({"tramapy": 1}, "a sync client takes a Tramapy"),
        ({"tramapy": AsyncTramapy({"p": ScriptedProvider([])})}, "a sync client takes a Tramapy"),
        ({"tramapy": Tramapy({"p": ScriptedProvider([])}), "dlp": None}, r"tramapy\.derive\(dlp=\.\.\.\)"),
        ({"fallbacks": []}, "give a mapping"),
        ({"fallbacks": {"m": Fallback(None)}}, "takes a sequence of Fallback"),
        ({"fallbacks": {"m": [1]}}, "takes a sequence of Fallback"),
        ({"fallbacks": {"m": [Fallback(None)]}}, r"fallbacks\['m'\]\[0\] takes a client"),
        ({"fallbacks": {"m": [Fallback(offline(), provider_id="openai")]}}, "which another client has"),
        ({"fallbacks": {"m": [Fallback(offline(openai.AsyncOpenAI))]}}, "is of type AsyncOpenAI"),
        ({"fallbacks": {"m": [Fallback(offline(anthropic.Anthropic))]}}, "is of the same SDK"),
        ({"provider_id": " "}, "provider_id is blank"),
        ({"limit_bytes": True}, "limit_bytes is"),
        ({"limit_bytes": 0}, "at least 1"),
        ({"allow": "files.create"}, "give a set"),
        ({"allow": 3}, "give a set"),
        ({"allow": [""]}, "allow is blank"),
        ({"strict": 1}, "give True or False"),
        ({"clock": 1}, "clock"),
        ({"dlp": 1}, "dlp"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_setting_that_cannot_work_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        wrap(offline(), **settings)


def test_an_async_client_takes_an_async_tramapy() -> None:
    with pytest.raises(ConfigurationError, match="an async client takes an AsyncTramapy"):
        wrap(offline(openai.AsyncOpenAI), tramapy=Tramapy({"p": ScriptedProvider([])}))


def test_the_settings_are_the_pipeline_s_and_wrap_s_own() -> None:
    own = {"tramapy", "fallbacks", "provider_id", "limit_bytes", "allow", "strict"}
    given = set(WrapSettings.__annotations__)
    assert given == set(PipelineSettings.__annotations__) - {"models", "default_provider"} | own
    assert {name: WrapSettings.__annotations__[name].__forward_arg__ for name in given - own} == {
        name: PipelineSettings.__annotations__[name].__forward_arg__ for name in given - own
    }


def test_nothing_of_a_key_is_in_a_fallback_s_repr() -> None:
    assert repr(Fallback(offline(), "m", "p")) == "Fallback(OpenAI, 'm', 'p')"


def test_no_timeout_is_tramapy_s_by_default() -> None:
    wrapped = wrap(offline(), clock=FakeClock())
    assert wrapped._client.tramapy_wrapped.pipeline.timeout_s is None
    with call_options(timeout_s=2.0):
        pass
