"""Errors that a provider sends where an answer was due."""

from __future__ import annotations

from collections.abc import Mapping

from tramapy.clients.codec import dumps
from tramapy.engine.native import NativeRejectionError
from tramapy.wire.rejection import Rejection, rejection_error, rejection_in
from tramapy.wire.sse import SseEvent

__all__ = ["native_rejection", "raise_error_event", "raise_rejection"]


def native_rejection(
    rejection: Rejection, source: str, body: str, *, is_in_stream: bool
) -> NativeRejectionError:
    """Return the error for a refusal, retried and counted by the table.

    Args:
        rejection: What is known.
        source: What the message says was answered, in fixed words.
        body: What the provider said.
        is_in_stream: Whether it came as an event.
    """
    error = rejection_error(source, rejection, 0.0)
    return NativeRejectionError(
        str(error),
        body=body,
        is_in_stream=is_in_stream,
        retryable=error.retryable,
        status_code=error.status_code,
        failure_code=error.failure_code,
        counts_on_breaker=error.counts_on_breaker,
    )


def raise_rejection(body: Mapping[str, object]) -> None:
    """Refuse a whole answer that is an error in spite of its good status.

    Raises:
        NativeRejectionError: It is one.
    """
    rejection = rejection_in(body)
    if rejection is not None:
        raise native_rejection(rejection, "with an error", dumps(body), is_in_stream=False)


def raise_error_event(event: SseEvent, body: Mapping[str, object]) -> None:
    """Refuse an event of a stream that is an error.

    Raises:
        NativeRejectionError: It is one.
    """
    rejection = rejection_in(body, is_error=event.name == "error")
    if rejection is not None:
        text = event.data.decode("utf-8", "replace")
        raise native_rejection(rejection, "with an error in the stream", text, is_in_stream=True)
