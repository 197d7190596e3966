"""Anthropic's message formats: `/v1/messages`, and beside it `count_tokens` and `batches`."""

from __future__ import annotations

from collections.abc import Mapping

from tramapy.clients.anthropic_messages_answer import MessagesAnswer, OtherAnswer
from tramapy.clients.anthropic_messages_plan import BATCH_ANSWER, COUNT_ANSWER
from tramapy.clients.anthropic_messages_request import BatchRequest, MessagesRequest
from tramapy.clients.anthropic_messages_stream import MessagesStream
from tramapy.clients.codec import StreamDecoder, WireAnswer, WireRequest
from tramapy.errors import ConfigurationError

__all__ = ["CountTokensCodec", "MessageBatchesCodec", "MessagesCodec"]


class MessagesCodec:
    """`/v1/messages`."""

    def request(self, body: Mapping[str, object]) -> WireRequest:
        """Read a request."""
        return MessagesRequest(body)

    def answer(self, body: object) -> WireAnswer:
        """Read a message."""
        return MessagesAnswer(body)

    def stream(self, limit_bytes: int) -> StreamDecoder:
        """Start to read a stream."""
        return MessagesStream(limit_bytes)


class CountTokensCodec:
    """`/v1/messages/count_tokens`: the same request, and a number."""

    def request(self, body: Mapping[str, object]) -> WireRequest:
        """Read a request."""
        return MessagesRequest(body)

    def answer(self, body: object) -> WireAnswer:
        """Read the count."""
        return OtherAnswer(body, COUNT_ANSWER)

    def stream(self, limit_bytes: int) -> StreamDecoder:
        """Refuse: there is none."""
        raise _no_stream()


class MessageBatchesCodec:
    """`/v1/messages/batches`: many requests, and how their work stands."""

    def request(self, body: Mapping[str, object]) -> WireRequest:
        """Read the requests."""
        return BatchRequest(body)

    def answer(self, body: object) -> WireAnswer:
        """Read the state."""
        return OtherAnswer(body, BATCH_ANSWER)

    def stream(self, limit_bytes: int) -> StreamDecoder:
        """Refuse: there is none."""
        raise _no_stream()


def _no_stream() -> ConfigurationError:
    return ConfigurationError("This call has no event stream that could be governed; leave stream out")
