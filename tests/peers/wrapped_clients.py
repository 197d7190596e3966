"""A pytest plugin for a vendor's own tests: every client that they build is wrapped, and nothing else differs.

The fixtures of the session are among them. The environment says what is needed: `TRAMAPY_PEER_VENDOR` is `openai` or
`anthropic`, and `TRAMAPY_PEER_TALLY` a folder for counts of what was governed.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import tramapy

_VENDOR: Final = os.environ["TRAMAPY_PEER_VENDOR"]
_TALLY: Final = Path(os.environ["TRAMAPY_PEER_TALLY"])

_CLASSES: Final = {
    "openai": ("OpenAI", "AsyncOpenAI", "AzureOpenAI", "AsyncAzureOpenAI"),
    "anthropic": ("Anthropic", "AsyncAnthropic"),
}

# a websocket passes by `wrap`, and is refused unless it is wanted
_ALLOW: Final = frozenset({"responses.connect", "beta.responses.connect"})


class _Tally(tramapy.EngineEventObserver):
    """Counts what passed through `wrap`, so that a run that governed nothing is seen."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def on_engine_event(self, name: str, attributes: Mapping[str, object]) -> None:
        self.add(name)

    def add(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1


class _Wrapping:
    """Lets each client become a wrapped one as soon as it is built."""

    def __init__(self, tally: _Tally) -> None:
        self._tally = tally
        self._is_busy = False

    def install(self, kind: Any) -> None:
        build = kind.__init__

        def init(client: Any, *arguments: Any, **options: Any) -> None:
            build(client, *arguments, **options)
            # what `wrap` builds itself, and what a subclass is not done with, stays as it is
            is_wrapped = hasattr(client._client, "tramapy_wrapped")
            if not self._is_busy and not is_wrapped and type(client).__init__ is init:
                self._wrap(client)

        kind.__init__ = init

    def _wrap(self, client: Any) -> None:
        with self._busy():
            try:
                made = tramapy.wrap(client, event_observers=[self._tally], circuit_breaker=None, allow=_ALLOW)
            except tramapy.ConfigurationError:
                # one that signs its requests, for example
                self._tally.add("refused clients")
                return
        self._tally.add("clients")
        bare = object.__new__(type(client))
        bare.__dict__ = client.__dict__
        closing = (made.close, bare.close)
        client.__dict__ = made.__dict__
        client.__class__ = made.__class__
        # there is no other client that could close the connections
        client.close = _aclosing(*closing) if inspect.iscoroutinefunction(bare.close) else _closing(*closing)

    @contextlib.contextmanager
    def _busy(self) -> Iterator[None]:
        self._is_busy = True
        try:
            yield
        finally:
            self._is_busy = False


def _closing(*closing: Callable[[], None]) -> Callable[[], None]:
    def close() -> None:
        for one in closing:
            one()

    return close


def _aclosing(*closing: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
    async def close() -> None:
        for one in closing:
            await one()

    return close


_tally = _Tally()


def pytest_configure() -> None:
    module: Any = importlib.import_module(_VENDOR)
    wrapping = _Wrapping(_tally)
    for name in _CLASSES[_VENDOR]:
        wrapping.install(getattr(module, name))


def pytest_sessionfinish() -> None:
    _TALLY.mkdir(parents=True, exist_ok=True)
    (_TALLY / f"{os.getpid()}.json").write_text(json.dumps(_tally.counts))
