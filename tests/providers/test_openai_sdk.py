"""Which SDK is taken. What the endpoints do is tested with the providers."""

from __future__ import annotations

import runpy
import sys
from typing import Any

import httpx2
import openai
import pytest

from tramapy.errors import ConfigurationError
from tramapy.providers import openai_import
from tramapy.providers.openai_sdk import AsyncChatEndpoint, ChatEndpoint, require_supported_sdk


@pytest.mark.parametrize("version", ["2.0.0", "2.54.0", "3.57.0", "10.0.0rc1"])
def test_supported_version_passes(version: str) -> None:
    require_supported_sdk(version)


@pytest.mark.parametrize("version", ["0.28.1", "1.109.1", "unknown", ""])
def test_other_version_is_refused_by_its_name(version: str) -> None:
    with pytest.raises(ConfigurationError, match=f"is {version}; the provider needs 2.0 or newer"):
        require_supported_sdk(version)


@pytest.mark.parametrize(
    ("endpoint", "kind", "http_client"),
    [
        (ChatEndpoint, openai.OpenAI, httpx2.Client),
        (AsyncChatEndpoint, openai.AsyncOpenAI, httpx2.AsyncClient),
    ],
    ids=["sync", "async"],
)
def test_sdk_with_other_internals_is_refused_by_its_version(
    endpoint: Any, kind: Any, http_client: Any
) -> None:
    client = kind(api_key="plainly-fake", http_client=http_client(verify=False))
    client._client = None

    with pytest.raises(
        ConfigurationError, match=f"SDK, {openai.__version__}, keeps its HTTP client elsewhere"
    ):
        endpoint(client)


def test_missing_sdk_is_an_import_error_without_a_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)

    with pytest.raises(ImportError, match=r"pip install \"tramapy\[openai\]\"") as caught:
        runpy.run_path(openai_import.__file__)
    assert caught.value.__cause__ is None
