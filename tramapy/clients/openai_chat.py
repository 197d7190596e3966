"""`ChatCodec`: the wire format of `/chat/completions`."""

from __future__ import annotations

from collections.abc import Mapping

from tramapy.clients.codec import StreamDecoder, WireAnswer, WireRequest
from tramapy.clients.openai_chat_answer import ChatAnswer
from tramapy.clients.openai_chat_request import ChatRequest
from tramapy.clients.openai_chat_stream import CHAT_STREAM
from tramapy.clients.openai_choices import ChoiceDecoder

__all__ = ["ChatCodec"]


class ChatCodec:
    """Chat completions of OpenAI, Azure and compatible servers."""

    def request(self, body: Mapping[str, object]) -> WireRequest:
        """Read a request; see `Codec`."""
        return ChatRequest(body)

    def answer(self, body: object) -> WireAnswer:
        """Read a whole answer; see `Codec`."""
        return ChatAnswer(body)

    def stream(self, limit_bytes: int) -> StreamDecoder:
        """Start to read a stream; see `Codec`."""
        return ChoiceDecoder(CHAT_STREAM, limit_bytes)
