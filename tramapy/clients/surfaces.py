"""Which call of a vendor's API a request is, and the wire format that it speaks."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from tramapy.clients.codec import Codec

__all__ = ["Surface", "Surfaces"]

# what a path of an API is made of; anything else is an id
_WORD: Final = re.compile(r"[a-z][a-z_]{1,39}\Z").match

# before these there is a proxy's or a cloud's own path
_ROOTS: Final = frozenset({"v1", "openai", "anthropic"})

_REMEMBERED_PATHS: Final = 256

_VERBS: Final = {"GET": "retrieve", "POST": "update", "PUT": "update", "PATCH": "update", "DELETE": "delete"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """One call of an API.

    Args:
        name: As the client's method is called, such as `chat.completions.create`.
        path: Its path below the API's root, with ids.
        codec: Its format.
        is_known: Whether the codec is of this format; else it is one for any JSON.
        can_stream: Whether the format has streams.
        has_usage_option: Whether its streams tell tokens only where `stream_options` asks for them.
        may_fall_back: Whether another provider can answer it: what it makes or names is not kept at the first one.
    """

    name: str
    path: str
    codec: Codec
    is_known: bool
    can_stream: bool
    has_usage_option: bool = False
    may_fall_back: bool = True


class Surfaces:
    """All calls of one vendor.

    Args:
        codecs: The calls whose format has a codec of its own, by name.
        streaming: Those of them that can be streamed.
        usage_options: Those of them whose streams tell tokens only where `stream_options` asks for them.
        stateless: Calls without a codec of their own that ask a model, and make nothing that the provider keeps.
        generic: Reads all others, which are plain JSON.
        names: Names that do not follow from method and path, by both: `POST images/generations`.
        prefix: What the paths begin with for the vendor's client.
    """

    find: Callable[..., Surface]
    """Return the call that a request is, of its method in capitals, the path of its URL, and the path of the client's
    base URL, which comes before the API's own."""

    def __init__(
        self,
        codecs: Mapping[str, Codec],
        *,
        streaming: frozenset[str],
        usage_options: frozenset[str] = frozenset(),
        stateless: frozenset[str] = frozenset(),
        generic: Codec,
        names: Mapping[str, str] = MappingProxyType({}),
        prefix: str = "",
    ) -> None:
        self._codecs = dict(codecs)
        self._streaming = streaming
        self._usage_options = usage_options
        self._stateless = stateless
        self._generic = generic
        self._names = dict(names)
        self._prefix = prefix
        # most calls of a client have the same few paths
        self.find = functools.lru_cache(maxsize=_REMEMBERED_PATHS)(self._find)

    def _find(self, method: str, path: str, base_path: str = "") -> Surface:
        segments = _own_segments(path, base_path)
        name = self._name_of(method, segments)
        return Surface(
            name=name,
            path=f"{self._prefix}/{'/'.join(segments)}",
            codec=self._codecs.get(name, self._generic),
            is_known=name in self._codecs,
            can_stream=name in self._streaming,
            has_usage_option=name in self._usage_options,
            may_fall_back=name in self._codecs or name in self._stateless,
        )

    def _name_of(self, method: str, segments: list[str]) -> str:
        words: list[str] = []
        is_id = False
        for segment in segments:
            # a model's name may look like any word
            is_id = _WORD(segment) is None or words[-1:] == ["models"]
            if not is_id:
                words.append(segment)
        if not words:
            return method.lower()
        known = self._names.get(f"{method} {'/'.join(words)}")
        if known is not None and not is_id:
            return known
        return ".".join((*words, *_verb_of(method, words[-1], is_one=is_id)))


def _own_segments(path: str, base_path: str) -> list[str]:
    base = base_path.rstrip("/")
    if base and path.startswith(f"{base}/"):
        path = path[len(base) :]
    segments = [segment for segment in path.split("/") if segment]
    for position, segment in enumerate(segments[:4]):
        if segment in _ROOTS:
            segments = segments[position + 1 :]
            break
    if segments[:1] == ["v1"]:  # behind a root of a cloud's
        del segments[0]
    # Azure names the model in the path
    return segments[2:] if segments[:1] == ["deployments"] else segments


def _verb_of(method: str, last: str, *, is_one: bool) -> tuple[str, ...]:
    """Return what an API's client calls the method: on one thing, on a collection, or an action of its own."""
    if is_one or method not in ("GET", "POST"):
        return (_VERBS.get(method, method.lower()),)
    if not last.endswith("s"):
        return ()
    return ("list",) if method == "GET" else ("create",)
