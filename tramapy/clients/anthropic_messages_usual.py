"""What nearly all answers of `/v1/messages` look like: texts alone, read in half of the time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tramapy.clients.message_drafts import text_response
from tramapy.clients.usual_answer import (
    ARRAY,
    COUNTS,
    NO_DETAILS,
    NONE,
    OBJECT,
    Shapes,
    UsualAnswer,
    are_counts,
    are_words,
)
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

_IN_HEAD: Final = frozenset((str, NONE, ARRAY, OBJECT))
_IN_USAGE: Final = frozenset((int, str, NONE, OBJECT))

_SHAPES: Final = Shapes(word_objects=2)


def usual_answer(body: Mapping[str, Any]) -> UsualAnswer | None:
    """Return an answer that has no text beside that of its text blocks; None for any other."""
    content: Any = body.get("content")
    usage: Any = body.get("usage")
    if type(content) is not ARRAY or type(usage) is not OBJECT or body.get("type") != "message":
        return None
    cache: Any = usage.get("cache_creation") or NO_DETAILS
    tools: Any = usage.get("server_tool_use") or NO_DETAILS
    made: Any = usage.get("output_tokens_details") or NO_DETAILS
    if not (type(cache) is type(tools) is type(made) is OBJECT):
        return None
    objects = (body, usage, cache, tools, made)
    words = _SHAPES.words(objects, _is_usual)
    if words is None or not are_words(words):
        return None
    given, read = usage.get("input_tokens"), usage.get("cache_read_input_tokens")
    written, said = usage.get("cache_creation_input_tokens"), usage.get("output_tokens")
    # the provider's count leaves cached tokens out
    in_all = None if given is None else given + (read or 0) + (written or 0)
    counts = (in_all, said, made.get("thinking_tokens"), read, written)
    if not are_counts((given, *counts)):
        return None
    colon_count = words.count(":") + sum(map(len, objects))
    texts: list[str] = []
    for block in content:
        if (
            type(block) is not OBJECT
            or not block.keys() <= _BLOCK
            or block.get("type") != "text"
            or type(block.get("text")) is not str
            or block.get("citations") is not None
        ):
            return None
        colon_count += len(block)
        texts.append(block["text"])
    response = text_response(
        "".join(texts),
        refusal=None,
        reasoning=None,
        usage=counted_usage(*counts),
        model=text_of(body.get("model")),
        finish_reason=messages_finish_reason(body.get("stop_reason")),
        response_id=text_of(body.get("id")),
    )
    return UsualAnswer(response, colon_count)


def _is_usual(body: Any, usage: Any, cache: Any, tools: Any, made: Any) -> bool:
    """Tell whether an answer's objects have known names alone, and values of types that say nothing."""
    kinds = [*map(type, body.values())]
    counts = [*map(type, usage.values())]
    words: list[Any] = [usage.get(name) for name in _WORDS]
    details = (cache, tools, made)
    return (
        body.keys() <= _NAMES
        and kinds.count(ARRAY) == kinds.count(OBJECT) == 1
        and _IN_HEAD.issuperset(kinds)
        and body.get("stop_sequence") is body.get("stop_details") is body.get("container") is None
        and usage.keys() <= _USAGE
        and _IN_USAGE.issuperset(counts)
        and counts.count(OBJECT) == 3 - details.count(NO_DETAILS)
        and counts.count(str) == [*map(type, words)].count(str)
        and all(each.keys() <= _DETAILS and COUNTS.issuperset(map(type, each.values())) for each in details)
    )
