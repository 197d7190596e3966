"""A misspelled name in `allow` is refused; what may be a call or a host is not."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from tramapy import ConfigurationError, wrap
from tramapy.clients.call_names import require_call_names
from tramapy.clients.vendors import surfaces_of

HTTP = httpx2.Client(verify=False)  # certificates take 30 ms to load
CLIENTS: dict[str, Any] = {
    "openai": openai.OpenAI(api_key="sk-plainly-fake", http_client=HTTP),
    "anthropic": anthropic.Anthropic(api_key="sk-plainly-fake", http_client=HTTP),
}
_CALL = re.compile(
    r"""self\._(get|post|put|patch|delete|get_api_list)\(\s*(?:path_template\(\s*)?f?"(/[^"?]*)"""
)


@pytest.mark.parametrize(
    ("vendor", "name", "meant"),
    [
        ("openai", "file.create", "files.create"),
        ("openai", "files.crate", "files.create"),
        ("openai", "chat.completion.create", "chat.completions.create"),
        ("openai", "beta.thread.runs.create", "threads.runs.create"),
        ("openai", "realtime.conect", "realtime.connect"),
        ("anthropic", "message.batches.create", "messages.batches.create"),
        ("anthropic", "beta.files.uplaod", "files.upload"),
    ],
)
def test_a_slip_is_answered_with_the_call_that_was_meant(vendor: str, name: str, meant: str) -> None:
    client = CLIENTS[vendor]
    title = type(client).__name__
    with pytest.raises(ConfigurationError) as refused:
        wrap(client, allow={name})
    shown = name.removeprefix("beta.")
    assert str(refused.value) in {
        f"allow has {each!r}, which is no call of {title}; did you mean {meant}?" for each in (name, shown)
    }


@pytest.mark.parametrize(
    "name",
    [
        "files.create",
        "beta.threads.runs.create",
        "threads.runs.create",
        "containers.files.content",
        "tomorrow.create",
        "files.create.more",
        "other.example",
        "localhost",
        "file",
    ],
)
def test_a_call_a_host_and_what_is_like_neither_are_taken(name: str) -> None:
    assert wrap(CLIENTS["openai"], allow={name}) is not None


@pytest.mark.parametrize(("vendor", "module"), [("openai", openai), ("anthropic", anthropic)])
def test_no_name_that_a_call_of_the_sdk_has_is_refused(vendor: str, module: ModuleType) -> None:
    names: set[str] = set()
    for file in (Path(str(module.__file__)).parent / "resources").rglob("*.py"):
        for method, path in _CALL.findall(file.read_text(encoding="utf-8")):
            verb = "GET" if method == "get_api_list" else method.upper()
            below = path if path.startswith("/v1") else f"/v1{path}"
            names.add(surfaces_of(vendor).find(verb, re.sub(r"\{[^}]*\}", "id-1", below), "").name)
    assert len(names) > 200
    require_call_names(CLIENTS[vendor], names)
