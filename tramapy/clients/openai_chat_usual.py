"""What nearly all answers of `/chat/completions` look like: one choice of text, read in a third of the time."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any, Final

from tramapy.clients.message_drafts import text_response
from tramapy.clients.usual_answer import UsualAnswer, joined_words
from tramapy.values import MOST
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

# compared with, since a type checker would want a cast behind `type(value) is dict`, which costs 60 ns
_OBJECT: Final[Any] = dict
_ARRAY: Final[Any] = list
_NONE: Final[Any] = type(None)
_IN_HEAD: Final = frozenset((str, int, _NONE, _ARRAY, _OBJECT))
_IN_MESSAGE: Final = frozenset((str, _NONE, _ARRAY))
_IN_USAGE: Final = frozenset((int, _NONE, _OBJECT))

_NO_DETAILS: Final[Mapping[str, object]] = {}
_is_count: Final = range(MOST + 1).__contains__


def usual_answer(body: Mapping[str, Any]) -> UsualAnswer | None:
    """Return an answer that has no text beside the content of one choice; None for any other."""
    values: Any = body.values()
    choices: Any = body.get("choices")
    usage: Any = body.get("usage")
    kinds = [*map(type, values)]
    if (
        not body.keys() <= _HEAD
        or type(choices) is not _ARRAY
        or type(usage) is not _OBJECT
        or kinds.count(_ARRAY) != 1
        or kinds.count(_OBJECT) != 1
        or not _IN_HEAD.issuperset(kinds)
        or body.get("service_tier") not in _TIERS
        or len(choices) != 1
    ):
        return None
    words = joined_words(values, kinds)
    if words is None:
        return None
    choice: Any = choices[0]
    message: Any = choice.get("message") if type(choice) is _OBJECT else None
    if (
        type(message) is not _OBJECT
        or not choice.keys() <= _CHOICE
        or choice.get("finish_reason") not in _FINISH_REASONS
        or choice.get("logprobs") is not None
        or type(choice.get("index")) is not int
    ):
        return None
    content: Any = message.get("content")
    said: Any = message.values()
    if (
        type(content) is not str
        or not message.keys() <= _MESSAGE
        or message.get("role") != "assistant"
        or message.get("refusal") is not None
        or not _IN_MESSAGE.issuperset(map(type, said))
        # beside the role and the content nothing has a value
        or len([*filter(None, said)]) != 1 + bool(content)
    ):
        return None
    return _with_usage(
        usage,
        content,
        body,
        choice["finish_reason"],
        words.count(":") + len(body) + len(choice) + len(message),
    )


def _with_usage(
    usage: Mapping[str, Any], content: str, head: Mapping[str, Any], finish_reason: str, colon_count: int
) -> UsualAnswer | None:
    given: Any = usage.get("prompt_tokens_details") or _NO_DETAILS
    made: Any = usage.get("completion_tokens_details") or _NO_DETAILS
    if not (type(given) is type(made) is _OBJECT):
        return None
    kinds = [*map(type, chain(usage.values(), given.values(), made.values()))]
    counts = (
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
        made.get("reasoning_tokens"),
        given.get("cached_tokens"),
        given.get("cache_write_tokens"),
    )
    if (
        not usage.keys() <= _USAGE
        or not (given.keys() <= _DETAILS and made.keys() <= _DETAILS)
        or not _IN_USAGE.issuperset(kinds)
        or kinds.count(_OBJECT) != (given is not _NO_DETAILS) + (made is not _NO_DETAILS)
        or not all(map(_is_count, filter(None, counts)))
    ):
        return None
    response = text_response(
        content,
        refusal=None,
        reasoning=None,
        usage=counted_usage(*counts),
        model=text_of(head.get("model")),
        finish_reason=chat_finish_reason(finish_reason),
        response_id=text_of(head.get("id")),
    )
    return UsualAnswer(response, colon_count + len(usage) + len(given) + len(made))
