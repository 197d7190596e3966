"""The codec of OpenAI responses: creating one, looking one up, counting tokens, compacting a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from tramapy.clients.codec import StreamDecoder, WireAnswer, WireRequest, dumps
from tramapy.clients.nesting import read_answer
from tramapy.clients.openai_responses_answer import ResponsesAnswer
from tramapy.clients.openai_responses_request import ResponsesRequest
from tramapy.clients.openai_responses_stream import ResponsesStreamDecoder
from tramapy.clients.refusals import native_rejection
from tramapy.wire.json_values import invalid_answer
from tramapy.wire.rejection import rejection_in

__all__ = ["ResponsesCodec"]


class ResponsesCodec:
    """The wire format of `/v1/responses`.

    Args:
        is_lookup: Whether its answers say what became of a response that was created before (`retrieve` and
            `cancel`). Such an answer is as good as any where the response failed; else one that failed is
            the provider's failure, to be retried or to fall back from.
    """

    def __init__(self, *, is_lookup: bool = False) -> None:
        self._is_lookup = is_lookup

    def request(self, body: Mapping[str, object]) -> WireRequest:
        """Read a request."""
        return ResponsesRequest(body)

    def answer(self, body: object) -> WireAnswer:
        """Read a whole answer; see `Codec`."""
        if not isinstance(body, dict):
            raise invalid_answer("is no JSON object")
        fields = cast("dict[str, object]", body)
        is_response = fields.get("object") == "response"
        is_failed = fields.get("status") == "failed"
        if not (self._is_lookup and is_response):
            rejection = rejection_in(fields, is_error=is_failed)
            if rejection is not None:
                text = read_answer(lambda: dumps(fields))
                raise native_rejection(rejection, "with an error", text, is_in_stream=False)
        return ResponsesAnswer(fields)

    def stream(self, limit_bytes: int) -> StreamDecoder:
        """Start to read a stream."""
        return ResponsesStreamDecoder(limit_bytes, is_lookup=self._is_lookup)
