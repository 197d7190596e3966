"""What to write in the place of what was given: the second half of a refusal's message.

All of it looks at types and names alone, never at what a value holds.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable

from tramapy.errors import ConfigurationError

__all__ = [
    "example_of",
    "instance_of",
    "refuse_unnamed",
    "sdk_client_name",
    "unknown_name",
    "unnamed_message",
]

# words of the vendors' SDKs that look like none of ours: what shows that ours can be meant, and what it is
_MEANT = {
    "cached_tokens": (("cache_read_tokens", "cache_read_tokens"),),
    "callbacks": (("event_observers", "event_observers"),),
    "completion_tokens": (("output_tokens", "output_tokens"),),
    "max_attempts": (("provider_retries", "provider_retries"),),
    "max_retries": (("provider_retries", "provider_retries"), ("retry", "retry")),
    "model_name": (("model", "model"),),
    "parameters": (("input_schema", "input_schema"),),
    "prompt": (("content", "content"), ("messages", "messages")),
    "prompt_tokens": (("input_tokens", "input_tokens"),),
    "regex": (("pattern", "pattern"),),
    "retries": (("provider_retries", "provider_retries"), ("retry", "retry")),
    "rules": (("dlp", "dlp"),),
    "stream": (("instructions", "the method stream(...)"),),
    "system": (("instructions", "instructions"),),
    "text": (("content", "content"), ("sanitized_text", "sanitized_text")),
    "tool_call_id": (("id", "id"),),
}
# words of the vendors' requests for which a call has none
# fmt: off
_VENDORS = frozenset({
    "extra_body", "extra_headers", "extra_query", "frequency_penalty", "function_call", "functions",
    "logit_bias", "logprobs", "metadata", "modalities", "n", "parallel_tool_calls", "presence_penalty",
    "reasoning", "reasoning_effort", "response_format", "seed", "service_tier", "stop",
    "stop_sequences", "store", "stream_options", "thinking", "tool_choice", "top_k", "top_logprobs",
    "user", "verbosity",
})
# fmt: on
_SDK_CLIENTS = frozenset({"OpenAI", "AsyncOpenAI", "Anthropic", "AsyncAnthropic"})


def unknown_name(kind: str, name: object, known: Iterable[str], *, of: str = "") -> str:
    """Say that there is no setting or option of that name, and which was meant; all of them where none is near."""
    listed = list(known)
    owner = f" of {of}" if of else ""
    if not isinstance(name, str) or not name.replace("-", "_").isidentifier():
        return f"Unknown {kind}{owner}, whose name is no plain word; known are {', '.join(listed)}"
    near = _meant(name, listed)
    remedy = f"did you mean {near}?" if near else f"known are {', '.join(listed)}"
    if name in _VENDORS and "temperature" in listed:
        remedy = (
            f"what is the vendor's own goes through its client, governed by tramapy.wrap(client); {remedy}"
        )
    return f"Unknown {kind} {name!r}{owner}; {remedy}"


def example_of(kind: str, names: Iterable[str]) -> str:
    """Return how to make a value of a kind, by the fields that it needs."""
    call = f"{kind}({', '.join(f'{name}=...' for name in names)})"
    return f"Message.user(...), or {call}" if kind == "Message" else call


def _meant(name: str, listed: list[str]) -> str | None:
    """Return what a name stands for or is near to: by letters, by some and a whole word, or by words of one alone."""
    for shown_by, meant in _MEANT.get(name, ()):
        if shown_by in listed:
            return meant
    if name in _VENDORS:
        return None
    # here and not above: only who is wrong pays for the import
    import difflib

    words = set(name.split("_"))
    for candidate in difflib.get_close_matches(name, listed, n=len(listed)):
        is_typo = sorted(candidate) == sorted(name) or difflib.get_close_matches(
            name, [candidate], cutoff=0.8
        )
        if is_typo or not words.isdisjoint(candidate.split("_")):
            return candidate
    whole = [candidate for candidate in listed if words < set(candidate.split("_"))]
    return whole[0] if len(whole) == 1 else None


def unnamed_message(what: str) -> str:
    """Say that arguments stand without a name where only settings may follow; `what` says what may stand so."""
    return f"{what} alone without a name; name all that follows, for example dlp=... or interceptors=[...]"


def refuse_unnamed(what: str, unnamed: tuple[object, ...]) -> None:
    """Refuse arguments without a name.

    Raises:
        ConfigurationError: There are any.
    """
    if unnamed:
        raise ConfigurationError(unnamed_message(what))


def instance_of(given: object, kind: type[object]) -> str | None:
    """Say how to make an object where a class of that kind was given, or a method that makes one; else None."""
    if isinstance(given, type):
        if not issubclass(given, kind):
            return None
        if callable(getattr(given, "with_default_rules", None)):
            return f"write {given.__name__}.with_default_rules(), or {given.__name__}(...) with rules of your own"
        return f"write {given.__name__}(...)"
    maker: object = getattr(given, "__self__", None)
    if inspect.ismethod(given) and isinstance(maker, type) and issubclass(maker, kind):
        return f"call it: {maker.__name__}.{given.__name__}()"
    return None


def sdk_client_name(given: object) -> str | None:
    """Return which of the vendors' clients an object or a class is: `OpenAI`, `AsyncAnthropic`; None if none."""
    kind = given if isinstance(given, type) else type(given)
    for base in kind.__mro__:
        if base.__name__ in _SDK_CLIENTS and base.__module__.partition(".")[0] in ("openai", "anthropic"):
            return base.__name__
    return None
