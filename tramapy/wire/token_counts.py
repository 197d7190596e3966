"""Token counts from the usage of each wire format, all in the meaning of `TokenUsage`."""

from __future__ import annotations

from typing import Any

from tramapy.messages import TokenUsage
from tramapy.values import MOST
from tramapy.wire.json_values import count_of, mapping_of

__all__ = ["chat_usage", "counted_usage", "messages_usage", "responses_usage"]


class _UsageDraft:
    # as for the values of tramapy.engine.drafts: the constructor takes four times as long
    __slots__ = tuple(TokenUsage.__slots__)


def chat_usage(value: object) -> TokenUsage:
    """Read the usage of a chat completion; its input count has the cached tokens in it, as ours has."""
    usage = mapping_of(value)
    prompt = mapping_of(usage.get("prompt_tokens_details"))
    completion = mapping_of(usage.get("completion_tokens_details"))
    return _counted(
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
        completion.get("reasoning_tokens"),
        prompt.get("cached_tokens"),
        prompt.get("cache_write_tokens"),
    )


def responses_usage(value: object) -> TokenUsage:
    """Read the usage of a response; its input count has the cached tokens in it, as ours has."""
    usage = mapping_of(value)
    given = mapping_of(usage.get("input_tokens_details"))
    made = mapping_of(usage.get("output_tokens_details"))
    return _counted(
        usage.get("input_tokens"),
        usage.get("output_tokens"),
        made.get("reasoning_tokens"),
        given.get("cached_tokens"),
        given.get("cache_write_tokens"),
    )


def messages_usage(value: object) -> TokenUsage:
    """Read the usage of a message; its input count leaves cached tokens out, so they are added."""
    usage = mapping_of(value)
    made = mapping_of(usage.get("output_tokens_details"))
    uncached = count_of(usage.get("input_tokens"))
    read = count_of(usage.get("cache_read_input_tokens"))
    written = count_of(usage.get("cache_creation_input_tokens"))
    return _counted(
        None if uncached is None else uncached + (read or 0) + (written or 0),
        usage.get("output_tokens"),
        made.get("thinking_tokens"),
        read,
        written,
    )


def _counted(*values: object) -> TokenUsage:
    """Make a usage of what may be counts, in the order of `counted_usage`."""
    return counted_usage(*[value if type(value) is int and 0 <= value <= MOST else None for value in values])


def counted_usage(
    input_tokens: int | None,
    output_tokens: int | None,
    reasoning_tokens: int | None,
    cache_read_tokens: int | None,
    cache_write_tokens: int | None,
) -> TokenUsage:
    """Make a usage of counts that are known to be such."""
    draft: Any = _UsageDraft()
    draft.input_tokens = input_tokens
    draft.output_tokens = output_tokens
    draft.reasoning_tokens = reasoning_tokens
    draft.cache_read_tokens = cache_read_tokens
    draft.cache_write_tokens = cache_write_tokens
    draft.__class__ = TokenUsage
    usage: TokenUsage = draft
    return usage
