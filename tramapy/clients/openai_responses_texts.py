"""The texts of an answer's output that a response stands for: the content, refusal and reasoning shown as one."""

from __future__ import annotations

from collections.abc import Sequence

from tramapy.clients.openai_responses_items import REASONING_SEPARATOR
from tramapy.clients.rewriting import no_place
from tramapy.clients.splitting import split_like
from tramapy.messages import ModelResponse, TextPart

__all__ = ["content_of", "reasoning_of", "refusals_of"]


def content_of(response: ModelResponse, texts: Sequence[str]) -> list[str]:
    """Return what each text of the messages is in a response; a further one is new.

    Raises:
        InterceptorError: It has an image.
    """
    parts: list[str] = [response.content] if response.content_parts is None else []
    for part in response.content_parts or ():
        if not isinstance(part, TextPart):
            raise no_place("an image in an answer")
        parts.append(part.text)
    if len(parts) == len(texts):
        return parts
    joined = "".join(parts)
    if not texts:
        return [joined] if joined else []
    return split_like(texts, joined)


def refusals_of(response: ModelResponse, texts: Sequence[str]) -> list[str | None]:
    """Return what each refusal is in a response; None for one that is gone, and a further one is new."""
    refusal = response.refusal
    if refusal is None:
        return [None] * len(texts)
    return [*split_like(texts, refusal)] if texts else [refusal]


def reasoning_of(response: ModelResponse, texts: Sequence[str]) -> list[str]:
    """Return what each text of the reasoning is in a response.

    Raises:
        InterceptorError: It has reasoning where there was none.
    """
    reasoning = response.reasoning or ""
    if texts:
        return split_like(texts, reasoning, REASONING_SEPARATOR)
    if reasoning:
        raise no_place("reasoning in an answer without any")
    return []
