"""A streamed response: what its typed events mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tramapy.messages import Chunk, ModelResponse, TextChunk
from tramapy.providers.openai_responses_codec import NO_TEXT, decode_response
from tramapy.providers.stream_decoder import stream_cut
from tramapy.wire.json_values import invalid_answer, mapping_of, required_text
from tramapy.wire.rejection import rejection_error, rejection_in

__all__ = ["ResponsesAnswer"]

_ENDS: Final = {f"response.{status}": status for status in ("completed", "incomplete", "failed", "cancelled")}


class ResponsesAnswer:
    """What has come of one response so far; it ends with an event that has the whole of it."""

    def __init__(self) -> None:
        self.is_whole: bool = False
        self._text: list[str] = []
        self._items: list[object] = []
        self._response: ModelResponse | None = None

    def take(self, kind: str, body: Mapping[str, object]) -> Iterator[Chunk]:
        """Take an event, and yield the text that it brings.

        Raises:
            ProviderError: It is malformed, or says that the response failed.
        """
        if kind == "response.output_text.delta":
            text = required_text(body.get("delta"), NO_TEXT)
            if text:
                self._text.append(text)
                yield TextChunk(text)
        elif kind == "response.output_item.done":
            self._items.append(body.get("item"))
        elif kind in _ENDS:
            yield from self._end(mapping_of(body.get("response")), _ENDS[kind])

    def response(self) -> ModelResponse:
        """Return the whole response.

        Raises:
            ProviderError: Its end did not come.
        """
        if self._response is None:
            raise stream_cut()
        return self._response

    def _end(self, body: Mapping[str, object], status: str) -> Iterator[Chunk]:
        rejection = rejection_in(body, is_error=status == "failed")
        if rejection is not None:
            raise rejection_error("with an error in the stream", rejection, 0.0)
        if not body:
            raise invalid_answer("has no response at its end")
        # some compatible servers leave the items out, which have come one by one
        whole = decode_response({**body, "status": status, "output": body.get("output") or self._items})
        if whole.content and not self._text:
            self._text.append(whole.content)
            yield TextChunk(whole.content)
        # what was streamed is what was answered, should the end say it in other words
        self._response = whole.replace(content="".join(self._text))
        self.is_whole = True
