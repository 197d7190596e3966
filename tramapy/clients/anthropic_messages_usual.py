"""What nearly all answers of `/v1/messages` look like: texts alone, read in half of the time."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any, Final

from tramapy.clients.message_drafts import text_response
from tramapy.clients.usual_answer import UsualAnswer, joined_words
from tramapy.values import MOST
from tramapy.wire.finish_reasons import messages_finish_reason
from tramapy.wire.json_values import text_of
from tramapy.wire.token_counts import counted_usage

__all__ = ["usual_answer"]

_HEAD: Final = ("id", "type", "role", "model", "stop_reason", "content", "usage")
# usually without a value
_EMPTY: Final = ("stop_sequence", "stop_details", "container")
_NAMES: Final = frozenset((*_HEAD, *_EMPTY))

_BLOCK: Final = frozenset(("type", "text", "citations"))

_COUNTS: Final = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_WORDS: Final = ("service_tier", "inference_geo", "speed")
_OBJECTS: Final = ("cache_creation", "server_tool_use", "output_tokens_details")
_USAGE: Final = frozenset((*_COUNTS, *_WORDS, *_OBJECTS))
_DETAILS: Final = frozenset(
    (
        *("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"),
        *("web_search_requests", "web_fetch_requests", "thinking_tokens"),
    )
)

# compared with, since a type checker would want a cast behind `type(value) is dict`, which costs 60 ns
_OBJECT: Final[Any] = dict
_ARRAY: Final[Any] = list
_NONE: Final[Any] = type(None)
_IN_HEAD: Final = frozenset((str, _NONE, _ARRAY, _OBJECT))
_IN_USAGE: Final = frozenset((int, str, _NONE, _OBJECT))
_IN_DETAILS: Final = frozenset((int, _NONE))

_NO_DETAILS: Final[Mapping[str, object]] = {}
_is_count: Final = range(MOST + 1).__contains__


def usual_answer(body: Mapping[str, Any]) -> UsualAnswer | None:
    """Return an answer that has no text beside that of its text blocks; None for any other."""
    values: Any = body.values()
    content: Any = body.get("content")
    usage: Any = body.get("usage")
    kinds = [*map(type, values)]
    if (
        not body.keys() <= _NAMES
        or body.get("type") != "message"
        or type(content) is not _ARRAY
        or type(usage) is not _OBJECT
        or kinds.count(_ARRAY) != 1
        or kinds.count(_OBJECT) != 1
        or not _IN_HEAD.issuperset(kinds)
        or not body.get("stop_sequence") is body.get("stop_details") is body.get("container") is None
    ):
        return None
    words = joined_words(values, kinds)
    if words is None:
        return None
    colon_count = words.count(":") + len(body)
    texts: list[str] = []
    for block in content:
        if (
            type(block) is not _OBJECT
            or not block.keys() <= _BLOCK
            or block.get("type") != "text"
            or type(block.get("text")) is not str
            or block.get("citations") is not None
        ):
            return None
        colon_count += len(block)
        texts.append(block["text"])
    return _with_usage(usage, "".join(texts), body, colon_count)


def _with_usage(
    usage: Mapping[str, Any], content: str, head: Mapping[str, Any], colon_count: int
) -> UsualAnswer | None:
    cache: Any = usage.get("cache_creation") or _NO_DETAILS
    tools: Any = usage.get("server_tool_use") or _NO_DETAILS
    made: Any = usage.get("output_tokens_details") or _NO_DETAILS
    if type(cache) is not _OBJECT or type(tools) is not _OBJECT or type(made) is not _OBJECT:
        return None
    details: Any = chain(cache, tools, made)
    numbers: Any = chain(cache.values(), tools.values(), made.values())
    values: Any = usage.values()
    kinds = [*map(type, values)]
    words = joined_words(values, kinds)
    given, read = usage.get("input_tokens"), usage.get("cache_read_input_tokens")
    written, said = usage.get("cache_creation_input_tokens"), usage.get("output_tokens")
    if (
        not usage.keys() <= _USAGE
        or not _DETAILS.issuperset(details)
        or words is None
        or not _IN_USAGE.issuperset(kinds)
        or not _IN_DETAILS.issuperset(map(type, numbers))
        or kinds.count(_OBJECT) != 3 - (cache, tools, made).count(_NO_DETAILS)
        or kinds.count(str) != [*map(type, map(usage.get, _WORDS))].count(str)
    ):
        return None
    # the provider's count leaves cached tokens out
    in_all = None if given is None else given + (read or 0) + (written or 0)
    counts = (in_all, said, made.get("thinking_tokens"), read, written)
    if not all(map(_is_count, filter(None, (given, *counts)))):
        return None
    response = text_response(
        content,
        refusal=None,
        reasoning=None,
        usage=counted_usage(*counts),
        model=text_of(head.get("model")),
        finish_reason=messages_finish_reason(head.get("stop_reason")),
        response_id=text_of(head.get("id")),
    )
    colon_count += words.count(":") + len(usage) + len(cache) + len(tools) + len(made)
    return UsualAnswer(response, colon_count)
