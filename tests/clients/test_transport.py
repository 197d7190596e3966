"""`GovernedTransport`: below a client of httpx."""

from __future__ import annotations

from typing import Any

import httpx2
import openai
import pytest

from tests.clients.test_wrapped_calls import DLP, SSN, Masking
from tests.clients.test_wrapping import offline
from tests.clients.worlds import API_KEY, SDK_LEAVES_GENERATORS, World, go, items_of, text_of
from tramapy import (
    AsyncGovernedTransport,
    ConfigurationError,
    Fallback,
    GovernedTransport,
    InterceptorError,
    ProviderError,
    RetryPolicySettings,
)
from tramapy.testing import ConnectionReset, HttpRejection, ScriptedServer

pytestmark = SDK_LEAVES_GENERATORS

BODY = {"model": "m", "messages": [{"role": "user", "content": "a secret"}]}


def governed(world: World, inner: Any = None, **settings: Any) -> Any:
    """A client over a governed transport."""
    settings = {"event_observers": [world.observer], "clock": world.clock, **settings}
    if world.is_async:
        transport = inner or httpx2.AsyncHTTPTransport(verify=False)
        return httpx2.AsyncClient(
            transport=AsyncGovernedTransport(transport, **settings), follow_redirects=True
        )
    transport = inner or httpx2.HTTPTransport(verify=False)
    return httpx2.Client(transport=GovernedTransport(transport, **settings), follow_redirects=True)


def run(world: World, answers: list[Any], step: Any, **settings: Any) -> None:
    async def main() -> None:
        with ScriptedServer(answers) as server:
            client = governed(world, **settings)
            try:
                await step(client, server)
            finally:
                await go(client.aclose() if world.is_async else client.close())
            server.wait_for_no_connection()

    world.run(main)


def test_requests_are_governed_below_any_client(world: World) -> None:
    async def step(client: Any, server: ScriptedServer) -> None:
        if world.is_async:
            async with client:
                response = await client.post(f"{server.base_url}/chat/completions", json=BODY)
        else:
            with client:
                response = client.post(f"{server.base_url}/chat/completions", json=BODY)
        assert response.json()["choices"][0]["message"]["content"] == "It is [SSN]."
        assert server.requests[0].body["messages"] == [{"role": "user", "content": "a ****"}]
        started = world.observer.attributes_of("tramai.operation.started")[0]
        kind = "AsyncGovernedTransport" if world.is_async else "GovernedTransport"
        assert (started["service_interface"], started["method_name"]) == (kind, "chat.completions.create")

    run(world, [f"It is {SSN}."], step, interceptors=[Masking()], dlp=DLP)


def test_the_inner_transport_is_entered_and_left(world: World) -> None:
    told: list[str] = []

    def tell(name: str) -> Any:
        def do(*_arguments: object) -> Any:
            told.append(name)
            return go(None) if world.is_async else None

        return do

    base: Any = httpx2.AsyncBaseTransport if world.is_async else httpx2.BaseTransport
    names = ("__aenter__", "__aexit__", "aclose") if world.is_async else ("__enter__", "__exit__", "close")
    inner = type("Inner", (base,), {name: tell(name) for name in names})()

    async def main() -> None:
        client = governed(world, inner)
        if world.is_async:
            async with client:
                assert told == [names[0]]
        else:
            with client:
                assert told == [names[0]]
        assert told == [*names[:2]]
        transport = client._transport
        await go(transport.aclose() if world.is_async else transport.close())
        assert told == [*names]

    world.run(main)


def test_an_sdk_above_makes_its_own_of_everything(world: World) -> None:
    async def step(client: Any, server: ScriptedServer) -> None:
        kind: Any = openai.AsyncOpenAI if world.is_async else openai.OpenAI
        above = kind(api_key=API_KEY, base_url=server.base_url, http_client=client, max_retries=0)
        stream = await go(above.chat.completions.create(stream=True, **BODY))
        assert text_of(await items_of(stream)) == "one two"
        with pytest.raises(openai.RateLimitError):
            await go(above.chat.completions.create(**BODY))
        with pytest.raises(ProviderError) as caught:
            await go(above.chat.completions.create(**BODY))
        assert isinstance(caught.value, openai.APIConnectionError)
        assert len(server.requests) == 3

    run(world, ["one two", HttpRejection(status=429), ConnectionReset()], step)


def test_retries_are_off_unless_they_are_asked_for(world: World) -> None:
    async def step(client: Any, server: ScriptedServer) -> None:
        response = await go(client.post(f"{server.base_url}/chat/completions", json=BODY))
        assert response.status_code == 200
        assert len(server.requests) == 2

    run(world, [HttpRejection(status=500), "ok"], step, retry=RetryPolicySettings(provider_retries=1))


def test_a_redirect_is_the_client_s(world: World) -> None:
    def handle(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/v1/chat/completions":
            return httpx2.Response(307, headers={"location": "/v2/moved"})
        return httpx2.Response(200, json={"ok": True})

    async def main() -> None:
        client = governed(world, httpx2.MockTransport(handle))
        response = await go(client.post("https://one.example/v1/chat/completions", json=BODY))
        assert (response.status_code, response.json()) == (200, {"ok": True})
        assert [each.status_code for each in response.history] == [307]

    world.run(main)


def test_anthropic_s_formats_are_known_too(world: World) -> None:
    async def step(client: Any, server: ScriptedServer) -> None:
        response = await go(client.post(f"{server.root_url}/v1/messages", json={"max_tokens": 9, **BODY}))
        assert response.json()["content"][0]["text"] == "Hi."
        assert world.observer.attributes_of("tramai.operation.started")[0]["method_name"] == "messages.create"

    run(world, ["Hi."], step, vendor="anthropic", provider_id="mine")


def test_an_error_of_ours_is_the_vendor_s_where_its_sdk_is_there(world: World) -> None:
    class Failing(Masking):
        def intercept_request(self, context: Any, messages: Any) -> Any:
            raise ValueError

    async def step(client: Any, server: ScriptedServer) -> None:
        with pytest.raises(InterceptorError) as caught:
            await go(client.post(f"{server.base_url}/chat/completions", json=BODY))
        assert isinstance(caught.value, openai.OpenAIError)

    run(world, [], step, interceptors=[Failing()])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: GovernedTransport(object()),
            r"inner is of type object; give a transport, for example httpx\.Cl",
        ),
        (
            lambda: AsyncGovernedTransport(httpx2.AsyncClient()),
            r"httpx\.AsyncClient\(transport=AsyncGovernedTra",
        ),
        (lambda: GovernedTransport(httpx2.HTTPTransport), r"no instance; write HTTPTransport\(\.\.\.\)$"),
        (
            lambda: GovernedTransport(offline()),
            r"inner is of type OpenAI; for a client of an SDK use tramapy\.wrap",
        ),
        (
            lambda: GovernedTransport(httpx2.MockTransport(print), 5),
            "takes the inner one alone without a name",
        ),
        (lambda: GovernedTransport(httpx2.AsyncHTTPTransport(verify=False)), "use AsyncGovernedTransport"),
        (lambda: AsyncGovernedTransport(httpx2.HTTPTransport(verify=False)), "use GovernedTransport"),
        (lambda: GovernedTransport(httpx2.MockTransport(print), vendor="nobody"), "'openai' or 'anthropic'"),
        (
            lambda: GovernedTransport(httpx2.MockTransport(print), fallbacks={"m": [Fallback(offline())]}),
            "use wrap",
        ),
    ],
    ids=["no transport", "client", "class", "SDK client", "unnamed", "async", "sync", "vendor", "fallbacks"],
)
def test_what_cannot_work_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make()
