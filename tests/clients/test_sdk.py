"""The SDKs' internals that `wrap` relies on, and the clients that it refuses."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

import anthropic
import anyio
import httpx2
import openai
import pytest

from tests.clients.test_wrapping import offline
from tests.clients.worlds import World
from tramapy import ConfigurationError, InterceptorError, wrap
from tramapy.clients import sdk
from tramapy.clients.http_messages import Original
from tramapy.clients.sdk import sdk_client

OPENAI_ROOT = Path(openai.__file__).parent


def websockets() -> list[str]:
    """Every resource of the SDK that opens a websocket, by its path below the client."""
    paths: list[str] = []
    for file in sorted((OPENAI_ROOT / "resources").rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("Async"):
                is_resource = any("Resource" in ast.unparse(base) for base in node.bases)
                names = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
                if is_resource and "connect" in names:
                    parts = file.relative_to(OPENAI_ROOT / "resources").with_suffix("").parts
                    folders, last = parts[:-1], parts[-1]
                    paths.append(".".join(folders if folders[-1:] == (last,) else (*folders, last)))
    return paths


def resource_at(client: Any, path: str) -> Any:
    for name in path.split("."):
        client = getattr(client, name)
    return client


@pytest.mark.parametrize("path", websockets())
@pytest.mark.parametrize("kind", [openai.OpenAI, openai.AsyncOpenAI])
def test_every_websocket_is_refused(kind: type[Any], path: str) -> None:
    client = wrap(offline(kind))
    for each in (client, client.with_options(timeout=3), client.copy().copy()):
        with pytest.raises(ConfigurationError, match=f"{path}.connect opens a websocket") as refused:
            resource_at(each, path).connect(model="m")
        assert isinstance(refused.value, openai.OpenAIError)


def test_websockets_were_found() -> None:
    assert {"realtime", "responses", "beta.realtime"} <= set(websockets())


def test_a_websocket_that_is_allowed_is_the_sdk_s_own() -> None:
    allowed = wrap(offline(), allow={"realtime.connect"})
    assert allowed.realtime.connect.__func__ is openai.resources.realtime.Realtime.connect
    with pytest.raises(ConfigurationError):
        allowed.realtime.translations.connect(model="m")
    again = allowed.realtime
    assert type(again) is type(allowed.realtime)


def test_other_resources_are_as_they_were() -> None:
    client = wrap(offline())
    assert (
        client.responses.create.__func__
        is importlib.import_module("openai.resources.responses").Responses.create
    )
    assert client.realtime.client_secrets is not None
    assert type(client.chat) is type(offline().chat)


@pytest.mark.parametrize("kind", [openai.OpenAI, anthropic.Anthropic])
def test_a_copy_with_another_http_client_is_refused(kind: type[Any]) -> None:
    client = wrap(offline(kind))
    for each in (client, client.with_options(timeout=3)):
        for copy in (each.with_options, each.copy):
            with pytest.raises(ConfigurationError, match="would not be governed") as refused:
                copy(http_client=httpx2.Client(verify=False))
            assert isinstance(refused.value, openai.OpenAIError | anthropic.AnthropicError)
        assert each.copy(http_client=each._client)._client is client._client


def test_anthropic_s_class_is_the_very_same() -> None:
    client = wrap(offline(anthropic.Anthropic))
    assert type(client) is anthropic.Anthropic
    assert type(client.copy()) is anthropic.Anthropic


@pytest.mark.parametrize("kind", [openai.OpenAI, anthropic.Anthropic])
def test_answers_are_validated_where_the_client_does(kind: type[Any]) -> None:
    client = wrap(offline(kind, _strict_response_validation=True))
    assert client._strict_response_validation
    assert wrap(client, strict=True)._strict_response_validation


def test_a_client_that_cannot_be_copied_is_refused() -> None:
    class Tenant(openai.OpenAI):
        def __init__(self, tenant: str) -> None:
            super().__init__(api_key=tenant, http_client=httpx2.Client(verify=False))

    with pytest.raises(ConfigurationError, match="Tenant cannot be copied"):
        wrap(Tenant("t"))


@pytest.mark.parametrize(
    "client",
    [object(), None, openai.OpenAI, "client", httpx2.Client(verify=False)],
    ids=["object", "none", "class", "text", "http client"],
)
def test_what_is_no_client_is_refused(client: Any) -> None:
    with pytest.raises(ConfigurationError, match="wrap takes a client of the OpenAI or the Anthropic SDK"):
        wrap(client)


def test_clients_that_sign_are_refused_by_name() -> None:
    bedrock = anthropic.AnthropicBedrock.__new__(anthropic.AnthropicBedrock)
    vertex = anthropic.AnthropicVertex.__new__(anthropic.AnthropicVertex)
    foundry = anthropic.AnthropicFoundry.__new__(anthropic.AnthropicFoundry)
    for client in (bedrock, vertex, foundry):
        with pytest.raises(ConfigurationError, match=f"cannot govern {type(client).__name__}"):
            wrap(client)
    signing = offline()
    signing._provider = object()
    with pytest.raises(ConfigurationError, match="cannot govern OpenAI"):
        wrap(signing)


@pytest.mark.parametrize("version", ["1.109.1", "0.28.0", "x.y"])
def test_an_old_sdk_is_refused_by_its_version(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(openai, "__version__", version)
    with pytest.raises(ConfigurationError, match=f"The installed openai SDK is {version}; wrap needs 2.0"):
        wrap(offline())


def test_an_sdk_with_other_internals_is_refused() -> None:
    client = offline()
    client._client = None
    with pytest.raises(ConfigurationError, match="keeps its HTTP client elsewhere"):
        wrap(client)


@pytest.mark.parametrize(
    ("vendor", "version", "lets_through"),
    [
        ("openai", "2.30.0", False),
        ("openai", "2.31.0", True),
        ("anthropic", "0.97.0", False),
        ("anthropic", "0.98.1", True),
    ],
)
def test_which_versions_let_our_errors_through(
    monkeypatch: pytest.MonkeyPatch, vendor: str, version: str, lets_through: bool
) -> None:
    module: Any = {"openai": openai, "anthropic": anthropic}[vendor]
    monkeypatch.setattr(module, "__version__", version)
    client = offline(openai.OpenAI if vendor == "openai" else anthropic.Anthropic)
    assert sdk_client(client).lets_ours_through is lets_through


class TestSdksThatWrapEveryError:
    """As versions before those did: simulated, since only one version is installed."""

    @pytest.mark.parametrize("vendor", ["openai", "anthropic"])
    def test_ours_come_as_they_are_also_from_copies(
        self, monkeypatch: pytest.MonkeyPatch, world: World, vendor: str
    ) -> None:
        module: Any = {"openai": openai, "anthropic": anthropic}[vendor]
        title = "OpenAI" if vendor == "openai" else "Anthropic"
        kind = getattr(module, f"Async{title}" if world.is_async else title)
        ours = InterceptorError("refused")
        request = httpx2.Request("POST", "https://example.com")

        def disguised() -> Any:
            error = module.APIConnectionError(request=request)
            error.__cause__ = ours
            return error

        def ask(self: Any, *arguments: Any, **options: Any) -> Any:
            raise self.planted()

        async def aask(self: Any, *arguments: Any, **options: Any) -> Any:
            raise self.planted()

        monkeypatch.setattr(module, "__version__", {"openai": "2.0.0", "anthropic": "0.70.0"}[vendor])
        monkeypatch.setattr(kind, "request", aask if world.is_async else ask)
        monkeypatch.setattr(kind, "planted", lambda self: disguised(), raising=False)
        client = wrap(offline(kind))

        async def main() -> None:
            from tests.clients.worlds import go

            for each in (client, client.with_options(timeout=3)):
                with pytest.raises(InterceptorError) as caught:
                    await go(each.post("/x", cast_to=object))
                assert caught.value is ours
            monkeypatch.setattr(kind, "planted", lambda self: module.APIConnectionError(request=request))
            with pytest.raises(module.APIConnectionError):
                await go(client.post("/x", cast_to=object))

        world.run(main)


@pytest.mark.parametrize("kind", [openai.OpenAI, openai.AsyncOpenAI])
def test_a_request_that_is_not_captured_is_told_of(kind: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    client = sdk_client(offline(kind))
    call: Any = type(
        "Call",
        (),
        {
            "surface": type("Surface", (), {"path": "/x"}),
            "original": Original.of(httpx2.Request("POST", "https://example.com/x")),
        },
    )

    async def nothing(*arguments: object, **options: object) -> None:
        """Send nothing."""

    monkeypatch.setattr(kind, "post", nothing if client.is_async else lambda *arguments, **options: None)
    build: Any = client.arequest_builder() if client.is_async else client.request_builder()
    with pytest.raises(ConfigurationError, match="elsewhere than the versions"):
        anyio.run(build, call, {}) if client.is_async else build(call, {})


def test_a_vendor_that_is_not_imported_has_no_errors() -> None:
    assert sdk.vendor_errors("nobody") is None
    found = sdk.vendor_errors("anthropic")
    assert found is not None
    assert found.base is anthropic.AnthropicError
