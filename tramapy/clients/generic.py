"""`GenericCodec`: any other JSON call of a vendor's API. What it sends and gets is inspected as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, cast

from tramapy.clients.codec import StreamDecoder, WireAnswer, WireRequest
from tramapy.clients.nesting import read_answer, read_request
from tramapy.clients.plans import numbers, opaque, word
from tramapy.clients.text_slots import (
    SlotRequest,
    TextlessAnswer,
    has_tokens,
    input_paths,
    input_plan,
    no_stream,
)
from tramapy.messages import NO_USAGE
from tramapy.wire.json_values import mapping_of
from tramapy.wire.rest import EACH, Plan
from tramapy.wire.token_counts import responses_usage

__all__ = ["GenericCodec"]

# fields that hold what a model is asked, in calls that are no conversation: images, videos, speech, moderations
_PROMPTS: Final = ("prompt", "input")

_HARMLESS_NAME: Final = re.compile(r"[A-Za-z_]{1,64}\Z").match

# ids of the vendor's, points in time, and what is encoded; by these names alone, since `customer_id` is a user's
_OPAQUE: Final = frozenset(
    (
        "b64_json",
        "batch_id",
        "cancelled_at",
        "cancelling_at",
        "completed_at",
        "created",
        "created_at",
        "custom_id",
        "encrypted_content",
        "error_file_id",
        "expired_at",
        "expires_at",
        "failed_at",
        "file_id",
        "finalizing_at",
        "first_id",
        "id",
        "in_progress_at",
        "input_file_id",
        "last_active_at",
        "last_id",
        "model",
        "object",
        "output_file_id",
        "request_id",
        "signature",
        "vector_store_id",
    )
)
_WORDS: Final = frozenset(("purpose", "status", "type"))
_NUMBERS: Final = frozenset(
    ("bytes", "category_scores", "file_counts", "request_counts", "usage", "usage_bytes")
)


class GenericCodec:
    """Calls without a format of their own: moderations, images, batches, files, models and the like."""

    def request(self, body: Mapping[str, object]) -> WireRequest:
        """Read a request: prompts and inputs are messages, all else is the rest; see `Codec`."""
        names = read_request(lambda: frozenset(_names_in(body)))
        unscanned: list[str] = [name for name in ("file_id", "input_file_id", "file_ids") if name in names]
        if has_tokens(body.get("input")):
            unscanned.append("token_input")
        paths = [path for name in _PROMPTS for path in input_paths(body, name)]
        return SlotRequest(body, _request_plan, paths, unscanned)

    def answer(self, body: object) -> WireAnswer:
        """Read a whole answer: all of it is the rest; see `Codec`."""
        names = read_answer(lambda: frozenset(_names_in(body)))
        usage = mapping_of(body).get("usage")
        return TextlessAnswer(
            body,
            _plan,
            responses_usage(usage) if usage else NO_USAGE,
            ("b64_json",) if "b64_json" in names else (),
        )

    def stream(self, limit_bytes: int) -> StreamDecoder:
        """Refuse: the format of its events is not known.

        Raises:
            ConfigurationError: Always.
        """
        raise no_stream()


def _names_in(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in cast("dict[str, object]", value).items():
            yield name
            yield from _names_in(item)
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _names_in(item)


def _request_plan(value: object) -> Plan:
    fields = mapping_of(value)
    return {**_by_name(fields), **{name: input_plan for name in _PROMPTS if name in fields}}


def _plan(value: object) -> Plan:
    if isinstance(value, list):
        return _ITEMS
    return _by_name(cast("dict[str, object]", value)) if isinstance(value, dict) else None


def _by_name(fields: Mapping[str, object]) -> dict[str, Plan]:
    # a name that is no word stays unplanned, so that it is inspected itself
    return {name: _plan_of(name) for name in fields if name in _OPAQUE or _HARMLESS_NAME(name)}


def _plan_of(name: str) -> Plan:
    if name in _OPAQUE:
        return opaque
    if name in _WORDS:
        return word
    if name == "metadata":
        return None
    return numbers if name in _NUMBERS else _plan


_ITEMS: Final[Plan] = {EACH: _plan}
