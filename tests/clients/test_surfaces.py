"""Which call a request is."""

from __future__ import annotations

from typing import Any

import httpx2
import openai
import pytest

from tests.clients.simple_codec import NoStreams, SimpleCodec
from tramapy import wrap
from tramapy.clients.surfaces import Surfaces
from tramapy.clients.vendors import surfaces_of
from tramapy.errors import ConfigurationError

OPENAI = surfaces_of("openai")
ANTHROPIC = surfaces_of("anthropic")


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("POST", "/v1/chat/completions", "chat.completions.create"),
        ("GET", "/v1/chat/completions", "chat.completions.list"),
        ("GET", "/v1/chat/completions/chatcmpl-1", "chat.completions.retrieve"),
        ("POST", "/v1/chat/completions/chatcmpl-1", "chat.completions.update"),
        ("DELETE", "/v1/chat/completions/chatcmpl-1", "chat.completions.delete"),
        ("POST", "/v1/responses", "responses.create"),
        ("POST", "/v1/responses/resp_1/cancel", "responses.cancel"),
        ("POST", "/v1/responses/input_tokens", "responses.input_tokens.count"),
        ("POST", "/v1/responses/compact", "responses.compact"),
        ("GET", "/v1/responses/resp_1/input_items", "responses.input_items.list"),
        ("POST", "/v1/embeddings", "embeddings.create"),
        ("POST", "/v1/files", "files.create"),
        ("GET", "/v1/files/file-1/content", "files.content"),
        ("GET", "/v1/models/babbage", "models.retrieve"),
        ("GET", "/v1/models", "models.list"),
        ("POST", "/v1/images/generations", "images.generate"),
        ("POST", "/v1/audio/speech", "audio.speech.create"),
        ("POST", "/v1/uploads/upload_1/parts", "uploads.parts.create"),
        ("POST", "/v1/uploads/upload_1/complete", "uploads.complete"),
        ("PATCH", "/v1/things", "things.update"),
        ("HEAD", "/v1/things", "things.head"),
        ("POST", "/v1/", "post"),
        ("POST", "/v1/12345", "post"),
    ],
)
def test_a_path_has_the_name_of_the_client_s_method(method: str, path: str, name: str) -> None:
    assert OPENAI.find(method, path, "/v1/").name == name


@pytest.mark.parametrize(
    ("path", "base_path"),
    [
        ("/v1/chat/completions", "/v1/"),
        ("/v1/chat/completions", ""),
        ("/proxy/team/v1/chat/completions", "/proxy/team/v1/"),
        ("/proxy/v1/chat/completions", ""),
        ("/openai/deployments/gpt-4o/chat/completions", "/openai/"),
        ("/openai/deployments/gpt-4o/chat/completions", "/openai/deployments/gpt-4o/"),
        ("/openai/v1/chat/completions", "/elsewhere/"),
        ("/chat/completions", "/"),
    ],
)
def test_a_root_does_not_matter(path: str, base_path: str) -> None:
    surface = OPENAI.find("POST", path, base_path)
    assert (surface.name, surface.path) == ("chat.completions.create", "/chat/completions")
    assert (surface.is_known, surface.can_stream) == (True, True)


def test_anthropic_s_paths_begin_with_their_version() -> None:
    surface = ANTHROPIC.find("POST", "/v1/messages", "/")
    assert (surface.name, surface.path, surface.can_stream) == ("messages.create", "/v1/messages", True)
    assert ANTHROPIC.find("POST", "/v1/messages/count_tokens", "").name == "messages.count_tokens"
    batches = ANTHROPIC.find("GET", "/v1/messages/batches/b_1/results", "")
    assert (batches.name, batches.is_known) == ("messages.batches.results", False)
    assert ANTHROPIC.find("POST", "/v1/files", "").name == "files.upload"


def test_an_unknown_call_is_plain_json_without_streams() -> None:
    generic, codec = NoStreams(), SimpleCodec()
    surfaces = Surfaces({"things.create": codec}, streaming=frozenset(), generic=generic)
    assert surfaces.find("POST", "/v1/things").codec is codec
    surface = surfaces.find("POST", "/v1/others")
    assert (surface.codec, surface.is_known, surface.can_stream) == (generic, False, False)


@pytest.mark.parametrize(("vendor", "before"), [("openai", OPENAI), ("anthropic", ANTHROPIC)])
def test_the_calls_of_a_vendor_are_made_once(vendor: str, before: Surfaces) -> None:
    surfaces_of.cache_clear()
    made = surfaces_of(vendor)
    assert made is not before
    assert made is surfaces_of(vendor)


def test_another_vendor_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="'openai' or 'anthropic'"):
        surfaces_of("nobody")


def test_addresses_are_remembered_within_bounds() -> None:
    sent: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(request.url.path)
        return httpx2.Response(200, json={"data": []})

    http_client = httpx2.Client(transport=httpx2.MockTransport(answer))
    client: Any = wrap(openai.OpenAI(api_key="none", http_client=http_client))
    governor = client._client.tramapy_governor
    for number in range(260):
        client.get(f"/things/{number}", cast_to=object)
    client.get("/things?after=secret", cast_to=object)
    client.get("/things?api-version=2024-02-01", cast_to=object)
    assert len(sent) == 262
    assert 0 < len(governor._targets) <= 256
    assert any(b"api-version" in address[3] for address in governor._targets)
    assert not any(b"after" in address[3] for address in governor._targets)
