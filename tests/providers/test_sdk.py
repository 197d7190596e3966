"""Which SDK is taken. What the endpoints do is tested with the providers."""

from __future__ import annotations

import re
import runpy
import sys
from dataclasses import replace
from types import ModuleType

import httpx2
import pytest

from tests.providers.worlds import API_KEY, CHAT, MESSAGES, Format
from tramapy.errors import ConfigurationError
from tramapy.providers import anthropic_import, openai_import
from tramapy.providers.anthropic_sdk import ANTHROPIC
from tramapy.providers.openai_sdk import OPENAI
from tramapy.providers.sdk import Sdk, require_supported_sdk


@pytest.mark.parametrize(
    ("sdk", "version"),
    [
        *((OPENAI, version) for version in ("2.0.0", "2.54.0", "3.57.0", "10.0.0rc1")),
        *((ANTHROPIC, version) for version in ("0.50.0", "0.125.0", "1.0.0", "2.14.0", "10.0.0rc1")),
    ],
    ids=lambda value: value if isinstance(value, str) else value.title,
)
def test_supported_version_passes(sdk: Sdk, version: str) -> None:
    require_supported_sdk(replace(sdk, version=version))


@pytest.mark.parametrize(
    ("sdk", "version"),
    [
        *((OPENAI, version) for version in ("0.28.1", "1.109.1", "unknown", "", "2", "2.x")),
        *((ANTHROPIC, version) for version in ("0.2.10", "0.49.9", "unknown", "")),
    ],
    ids=lambda value: value if isinstance(value, str) else value.title,
)
def test_other_version_is_refused_by_its_name(sdk: Sdk, version: str) -> None:
    oldest = ".".join(map(str, sdk.oldest))
    complaint = f"The installed {sdk.title} SDK is {version}; the provider needs {oldest} or newer."
    with pytest.raises(ConfigurationError, match=re.escape(complaint)):
        require_supported_sdk(replace(sdk, version=version))


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize(
    ("wire", "sdk"), [(CHAT, OPENAI), (MESSAGES, ANTHROPIC)], ids=["openai", "anthropic"]
)
def test_sdk_with_other_internals_is_refused_by_its_version(wire: Format, sdk: Sdk, is_async: bool) -> None:
    kind, client_kind, http_client = (
        (wire.async_provider, wire.async_client, httpx2.AsyncClient(verify=False))
        if is_async
        else (wire.provider, wire.client, httpx2.Client(verify=False))
    )
    client = client_kind(api_key=API_KEY, http_client=http_client)
    client._client = None

    with pytest.raises(
        ConfigurationError, match=f"{sdk.title} SDK, {sdk.version}, keeps its HTTP client elsewhere"
    ):
        kind(client)


@pytest.mark.parametrize(
    ("name", "module"),
    [("openai", openai_import), ("anthropic", anthropic_import)],
    ids=["openai", "anthropic"],
)
def test_missing_sdk_is_an_import_error_without_a_cause(
    monkeypatch: pytest.MonkeyPatch, name: str, module: ModuleType
) -> None:
    monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(ImportError, match=rf"pip install 'tramapy\[{name}\]'") as caught:
        runpy.run_path(str(module.__file__))
    assert caught.value.__cause__ is None
