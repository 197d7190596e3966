"""What both forms of a governed stream's body share, and what such a body says of an error."""

from __future__ import annotations

import json
import sys
from typing import Final, Protocol

from tramapy.cancellation import is_cancellation
from tramapy.clients.codec import json_bytes
from tramapy.clients.http_messages import HttpRequest
from tramapy.engine.native import NativeRejectionError
from tramapy.engine.operation import CancelReason
from tramapy.engine.stream import EngineStream
from tramapy.wire.json_values import is_json_text, mapping_of
from tramapy.wire.sse import sse_frame

__all__ = ["BaseFrames", "Outward", "close_reason", "error_frame"]

# the types of events that an SDK knows as errors
_ERROR_EVENTS: Final = ("error", "response.failed")


class Outward(Protocol):
    """What makes the errors that go to the SDK."""

    def outward(self, error: BaseException, request: HttpRequest) -> BaseException:
        """Return the error to raise in the place of one of ours."""
        ...


class BaseFrames:
    """The body of a governed stream; the first frame was pulled before.

    Args:
        governor: Makes errors.
        request: What was asked, for errors.
        stream: The engine's side; None where there is nothing after the first frame.
        first: The first frame; None where there is none at all.
    """

    _stream: EngineStream | None
    _first: bytes | None

    def __init__(
        self,
        governor: Outward,
        request: HttpRequest,
        stream: EngineStream | None,
        first: bytes | None,
    ) -> None:
        self._governor = governor
        self._request = request
        self._stream = None if first is None else stream
        self._first = first
        # set by who closes it while another reads it: that one does it then
        self._is_closing = False

    def __del__(self) -> None:
        stream = getattr(self, "_stream", None)
        if stream is not None:
            stream.abandon()


def close_reason() -> CancelReason:
    """Say why a stream is closed: with a cancellation on its way, that is why."""
    error = sys.exc_info()[1]
    return (
        "cancelled"
        if error is not None and not isinstance(error, GeneratorExit) and is_cancellation(error)
        else "closed"
    )


def error_frame(error: NativeRejectionError) -> bytes:
    """Return what a provider said in its stream as an event, of which the SDK makes its own error."""
    body = error.body
    value: object = (
        json.loads(body)
        if is_json_text(body)
        else {"error": {"message": body, "type": "error"}, "type": "error"}
    )
    fields = mapping_of(value)
    kind = fields.get("type")
    if not fields.get("error") and kind not in _ERROR_EVENTS:
        # told by the event's name alone: an SDK would take it for a piece of the answer, or pass over it
        value = {"type": "error", "error": value}
    name = kind if isinstance(kind, str) and kind in _ERROR_EVENTS else "error"
    return sse_frame(name, json_bytes(value))
