"""What nearly all answers of `/v1/messages` look like: their plan covers all of them, and takes 30 µs to say so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from tramapy.clients.plans import numbers
from tramapy.wire.json_values import mapping_of
from tramapy.wire.rest import SKIP, is_opaque

__all__ = ["is_usual_answer"]

_HEAD: Final = ("id", "type", "role", "model", "stop_reason")
# usually without a value
_EMPTY: Final = ("stop_sequence", "stop_details", "container")
_NAMES: Final = frozenset((*_HEAD, *_EMPTY, "content", "usage"))

_BLOCK: Final = frozenset(("type", "text", "citations"))

_COUNTS: Final = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_USAGE_WORDS: Final = frozenset(("service_tier", "inference_geo", "speed"))
_USAGE_NUMBERS: Final = frozenset(("server_tool_use", "output_tokens_details"))
_USAGE: Final = frozenset((*_COUNTS, *_USAGE_WORDS, *_USAGE_NUMBERS, "cache_creation"))
_CACHE: Final = frozenset(("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"))
_INT: Final = frozenset((int,))


def is_usual_answer(body: Mapping[str, object]) -> bool:
    """Tell whether an answer has no text beside that of its blocks; where it may have, the plan decides."""
    content, usage = body.get("content"), body.get("usage")
    if not body.keys() <= _NAMES or type(content) is not list or type(usage) is not dict:
        return False
    kinds = [*map(type, body.values())]
    if kinds.count(list) != 1 or kinds.count(dict) != 1:
        return False
    if not (body.get("stop_sequence") is body.get("stop_details") is body.get("container") is None):
        return False
    if not all(map(is_opaque, map(body.get, _HEAD))):
        return False
    blocks = cast("list[object]", content)
    return _has_numbers_only(cast("dict[str, object]", usage)) and all(map(_is_text, blocks))


def _has_numbers_only(usage: Mapping[str, object]) -> bool:
    if not usage.keys() <= _USAGE:
        return False
    for name, item in usage.items():
        if item is None:
            continue
        if name == "cache_creation":
            is_known = _are_counts(item)
        elif type(item) is int:
            continue
        elif type(item) is str:
            is_known = name in _USAGE_WORDS and is_opaque(item)
        else:
            is_known = name in _USAGE_NUMBERS and numbers(item) is SKIP and type(item) is dict
        if not is_known:
            return False
    return True


def _are_counts(value: object) -> bool:
    counts = mapping_of(value)
    return type(value) is dict and counts.keys() <= _CACHE and _INT.issuperset(map(type, counts.values()))


def _is_text(value: object) -> bool:
    block = mapping_of(value)
    return (
        block.keys() <= _BLOCK
        and block.get("type") == "text"
        and isinstance(block.get("text"), str)
        and block.get("citations") is None
    )
