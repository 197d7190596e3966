"""What nearly all answers of `/chat/completions` look like: one choice of text, read in a third of the time."""

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
from tramapy.wire.finish_reasons import chat_finish_reason
from tramapy.wire.json_values import text_of
from tramapy.wire.token_counts import counted_usage

__all__ = ["usual_answer"]

_HEAD: Final = frozenset(
    ("id", "object", "created", "model", "service_tier", "system_fingerprint", "choices", "usage")
)
_CHOICE: Final = frozenset(("index", "message", "finish_reason", "logprobs"))
# the last four usually without a value
_MESSAGE: Final = frozenset(
    ("role", "content", "refusal", "annotations", "audio", "function_call", "tool_calls")
)
_USAGE: Final = frozenset(
    (
        *("prompt_tokens", "completion_tokens", "total_tokens"),
        *("prompt_tokens_details", "completion_tokens_details"),
    )
)
_DETAILS: Final = frozenset(
    (
        *("cached_tokens", "cache_write_tokens", "audio_tokens", "text_tokens", "image_tokens"),
        *("reasoning_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens"),
    )
)

_TIERS: Final = (None, "default")
_FINISH_REASONS: Final = ("stop", "length")

_IN_HEAD: Final = frozenset((str, int, NONE, ARRAY, OBJECT))
_IN_MESSAGE: Final = frozenset((str, NONE, ARRAY))
_IN_USAGE: Final = frozenset((int, NONE, OBJECT))

_SHAPES: Final = Shapes(word_objects=1)


def usual_answer(body: Mapping[str, Any]) -> UsualAnswer | None:
    """Return an answer that has no text beside the content of one choice; None for any other."""
    choices: Any = body.get("choices")
    usage: Any = body.get("usage")
    if type(choices) is not ARRAY or type(usage) is not OBJECT or len(choices) != 1:
        return None
    choice: Any = choices[0]
    message: Any = choice.get("message") if type(choice) is OBJECT else None
    given: Any = usage.get("prompt_tokens_details") or NO_DETAILS
    made: Any = usage.get("completion_tokens_details") or NO_DETAILS
    if not (type(message) is type(given) is type(made) is OBJECT):
        return None
    objects = (body, choice, message, usage, given, made)
    words = _SHAPES.words(objects, _is_usual)
    if words is None or not are_words(words):
        return None
    content: str = message["content"]
    counts = (
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
        made.get("reasoning_tokens"),
        given.get("cached_tokens"),
        given.get("cache_write_tokens"),
    )
    if (
        body.get("service_tier") not in _TIERS
        or choice["finish_reason"] not in _FINISH_REASONS
        or message["role"] != "assistant"
        # beside the role and the content nothing has a value
        or len([*filter(None, message.values())]) != 1 + bool(content)
        or not are_counts(counts)
    ):
        return None
    response = text_response(
        content,
        refusal=None,
        reasoning=None,
        usage=counted_usage(*counts),
        model=text_of(body.get("model")),
        finish_reason=chat_finish_reason(choice["finish_reason"]),
        response_id=text_of(body.get("id")),
    )
    return UsualAnswer(response, words.count(":") + sum(map(len, objects)))


def _is_usual(body: Any, choice: Any, message: Any, usage: Any, given: Any, made: Any) -> bool:
    """Tell whether an answer's objects have known names alone, and values of types that say nothing."""
    kinds = [*map(type, body.values())]
    counts = [*map(type, usage.values())]
    return (
        body.keys() <= _HEAD
        and kinds.count(ARRAY) == kinds.count(OBJECT) == 1
        and _IN_HEAD.issuperset(kinds)
        and choice.keys() <= _CHOICE
        and type(choice.get("finish_reason")) is str
        and choice.get("logprobs") is None
        and type(choice.get("index")) is int
        and message.keys() <= _MESSAGE
        and type(message.get("content")) is str
        and type(message.get("role")) is str
        and message.get("refusal") is None
        and _IN_MESSAGE.issuperset(map(type, message.values()))
        and usage.keys() <= _USAGE
        and _IN_USAGE.issuperset(counts)
        and counts.count(OBJECT) == (given is not NO_DETAILS) + (made is not NO_DETAILS)
        and given.keys() <= _DETAILS
        and made.keys() <= _DETAILS
        and COUNTS.issuperset(map(type, given.values()))
        and COUNTS.issuperset(map(type, made.values()))
    )
