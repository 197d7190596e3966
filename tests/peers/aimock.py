"""Both vendors' clients, bare and wrapped side by side, against aimock: a server that others have written."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import anthropic
import openai

import tramapy
from tests.peers.aimock_calls import CALLS, SECRET, Call
from tests.peers.outcomes import aoutcome, described_difference, joined, outcome, replaced

__all__ = ["compare"]

_FIXTURES: Final = Path(__file__).with_name("aimock_fixtures.json")
_LISTENING: Final = re.compile(r"listening on (http://127\.0\.0\.1:\d+)")
# as long as what it replaces: aimock counts tokens by the length
_REDACTED: Final = "[US-SSN-NO]"
_START_LIMIT_S: Final = 30.0

# they say which request this was; with another body the length is another, too
_OWN_HEADERS: Final = frozenset({"x-test-id", "x-request-id", "x-stainless-retry-count", "idempotency-key"})

_KINDS: Final[Mapping[tuple[str, bool], Any]] = {
    ("openai", False): openai.OpenAI,
    ("openai", True): openai.AsyncOpenAI,
    ("anthropic", False): anthropic.Anthropic,
    ("anthropic", True): anthropic.AsyncAnthropic,
}


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the caller got, and what the server got."""

    outcome: Any
    sent: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class _Server:
    address: str

    def sent(self, test_id: str) -> list[dict[str, Any]]:
        """Return the requests with an id, oldest first."""
        query = urllib.parse.urlencode({"testId": test_id, "limit": 10})
        with urllib.request.urlopen(f"{self.address}/__aimock/journal?{query}") as response:
            entries = json.load(response)
        return [
            {
                "call": f"{entry['method']} {entry['path']}",
                "headers": {name: it for name, it in entry["headers"].items() if name not in _OWN_HEADERS},
                "body": entry["body"],
            }
            for entry in sorted(entries, key=lambda entry: entry["timestamp"])
        ]


def compare(executable: Path, log: Path) -> Iterator[str]:
    """Make every call and yield how a wrapped client differs, one line each; the last line counts.

    Args:
        executable: The server's.
        log: Where it writes to.
    """
    count = difference_count = 0
    with _server(executable, log) as server, _Callers(server) as callers:
        for is_async, call in itertools.product((False, True), CALLS):
            name = f"aimock: {call.name}, {'async' if is_async else 'sync'}"
            bare = callers.seen(call, "bare", is_async=is_async)
            if len(bare.sent) != call.request_count:
                difference_count += 1
                yield f"{name}: the server saw {len(bare.sent)} requests, not {call.request_count}"
            for wrapping in _WRAPPINGS:
                differences = [*_differences(wrapping, bare, callers.seen(call, wrapping, is_async=is_async))]
                count += 1
                difference_count += bool(differences)
                yield from (f"{name}, {wrapping}: {line}" for line in differences)
    yield f"aimock: {len(CALLS)} calls, {count} comparisons; {difference_count} unexpected differences"


def _rules(pattern: str) -> tramapy.RuleBasedDlpInterceptor:
    rule = tramapy.DlpRule(
        id="known", pattern=pattern, replacement=_REDACTED, enabled_for=tramapy.DlpContentType
    )
    return tramapy.RuleBasedDlpInterceptor(tramapy.RuleBasedDlpConfiguration(rules=[rule]))


_IDLE: Final = _rules("never-[0-9]{9}")
_RULES: Final = _rules(SECRET)

_WRAPPINGS: Final[Mapping[str, Mapping[str, Any]]] = {
    "no-op": {},
    "inspecting": {"request_dlp": _IDLE, "dlp": _IDLE, "interceptors": [tramapy.OperationInterceptor()]},
    "redacting": {"request_dlp": _RULES, "dlp": _RULES},
}


def _differences(wrapping: str, bare: _Seen, found: _Seen) -> Iterator[str]:
    if wrapping == "no-op":
        yield from described_difference(bare.outcome, found.outcome, "outcome")
        yield from described_difference(bare.sent, found.sent, "sent")
        return
    # DLP cuts the pieces of a stream elsewhere
    expected, sent = joined(bare.outcome), [request["body"] for request in bare.sent]
    if wrapping == "redacting":
        expected, sent = replaced(expected, SECRET, _REDACTED), replaced(sent, SECRET, _REDACTED)
    yield from described_difference(expected, joined(found.outcome), "outcome")
    yield from described_difference(sent, [request["body"] for request in found.sent], "sent")


class _Callers:
    """The clients that calls are made with: each vendor's, bare and wrapped."""

    def __init__(self, server: _Server) -> None:
        self._server = server
        self._bare: dict[tuple[str, bool, int], Any] = {}
        self._wrapped: dict[tuple[str, bool, int, str], Any] = {}
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        for (_, is_async, _), client in self._bare.items():
            if is_async:
                self._runner.run(client.close())
            else:
                client.close()
        self._runner.close()

    def seen(self, call: Call, wrapping: str, *, is_async: bool) -> _Seen:
        """Make a call."""
        client = self._client(call, wrapping, is_async=is_async)
        test_id = f"{call.vendor} {call.name} {wrapping} {is_async}"

        def make() -> Any:
            return call.make(client, {"X-Test-Id": test_id})

        got = self._runner.run(aoutcome(make)) if is_async else outcome(make)
        return _Seen(got, self._server.sent(test_id))

    def _client(self, call: Call, wrapping: str, *, is_async: bool) -> Any:
        key = (call.vendor, is_async, call.retries)
        if key not in self._bare:
            address = self._server.address
            root = f"{address}/v1" if call.vendor == "openai" else address
            kind = _KINDS[call.vendor, is_async]
            self._bare[key] = kind(base_url=root, api_key="none", max_retries=call.retries)
        if wrapping == "bare":
            return self._bare[key]
        if (*key, wrapping) not in self._wrapped:
            settings: Any = _WRAPPINGS[wrapping]
            self._wrapped[*key, wrapping] = tramapy.wrap(self._bare[key], circuit_breaker=None, **settings)
        return self._wrapped[*key, wrapping]


@contextmanager
def _server(executable: Path, log: Path) -> Iterator[_Server]:
    arguments = [str(executable), "-h", "127.0.0.1", "-p", "0", "-f", str(_FIXTURES), "--journal-max", "0"]
    with (
        log.open("w") as output,
        subprocess.Popen(arguments, stdout=output, stderr=subprocess.STDOUT) as process,
    ):
        try:
            yield _Server(_address(process, log))
        finally:
            process.terminate()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    limit_s = time.monotonic() + _START_LIMIT_S
    while process.poll() is None and time.monotonic() < limit_s:
        found = _LISTENING.search(log.read_text())
        if found is not None:
            return found.group(1)
        time.sleep(0.05)
    raise RuntimeError(f"aimock did not start; see {log}")
