"""The calls of each vendor's API, and their wire formats."""

from __future__ import annotations

import functools
from typing import Final

from tramapy.clients.anthropic_messages import CountTokensCodec, MessageBatchesCodec, MessagesCodec
from tramapy.clients.generic import GenericCodec
from tramapy.clients.openai_chat import ChatCodec
from tramapy.clients.openai_other import CompletionsCodec, EmbeddingsCodec
from tramapy.clients.openai_responses import ResponsesCodec
from tramapy.clients.surfaces import Surfaces
from tramapy.errors import ConfigurationError

__all__ = ["surfaces_of"]

_OPENAI_NAMES: Final = {
    "POST images/generations": "images.generate",
    "POST images/edits": "images.edit",
    "POST images/variations": "images.create_variation",
    "POST audio/speech": "audio.speech.create",
    "POST responses/input_tokens": "responses.input_tokens.count",
    "POST threads/runs/submit_tool_outputs": "threads.runs.submit_tool_outputs",
}

_ANTHROPIC_NAMES: Final = {
    "POST messages/count_tokens": "messages.count_tokens",
    "GET messages/batches/results": "messages.batches.results",
    "POST files": "files.upload",
}


@functools.cache
def surfaces_of(vendor: str) -> Surfaces:
    """Return the calls of a vendor.

    Args:
        vendor: `openai` or `anthropic`.

    Raises:
        ConfigurationError: It is neither.
    """
    if vendor == "openai":
        chat, responses, lookup = ChatCodec(), ResponsesCodec(), ResponsesCodec(is_lookup=True)
        return Surfaces(
            {
                "chat.completions.create": chat,
                "chat.completions.retrieve": chat,
                "completions.create": CompletionsCodec(),
                "embeddings.create": EmbeddingsCodec(),
                "responses.create": responses,
                "responses.retrieve": lookup,
                "responses.cancel": lookup,
                "responses.compact": responses,
                "responses.input_tokens.count": responses,
            },
            streaming=frozenset(
                {"chat.completions.create", "completions.create", "responses.create", "responses.retrieve"}
            ),
            usage_options=frozenset({"chat.completions.create", "completions.create"}),
            stateless=frozenset({"audio.speech.create", "images.generate", "moderations.create"}),
            generic=GenericCodec(),
            names=_OPENAI_NAMES,
        )
    if vendor == "anthropic":
        return Surfaces(
            {
                "messages.create": MessagesCodec(),
                "messages.count_tokens": CountTokensCodec(),
                "messages.batches.create": MessageBatchesCodec(),
            },
            streaming=frozenset({"messages.create"}),
            stateless=frozenset({"complete"}),
            generic=GenericCodec(),
            names=_ANTHROPIC_NAMES,
            prefix="/v1",
        )
    raise ConfigurationError("vendor takes 'openai' or 'anthropic', whichever API is spoken")
