"""Errors that come where an answer was due."""

import pytest

from tramapy import ProviderFailureCode
from tramapy.clients.refusals import raise_error_event, raise_rejection
from tramapy.engine.native import NativeRejectionError
from tramapy.wire.sse import SseEvent


def test_an_answer_that_is_an_error_is_refused() -> None:
    body = {"error": {"code": "insufficient_quota", "message": "pay 4111"}}
    with pytest.raises(NativeRejectionError) as caught:
        raise_rejection(body)
    assert caught.value.failure_code is ProviderFailureCode.QUOTA_EXHAUSTED
    assert (caught.value.retryable, caught.value.is_in_stream) == (False, False)
    assert "4111" in caught.value.body
    assert "4111" not in str(caught.value)


def test_an_event_that_is_an_error_is_refused() -> None:
    data = b'{"message":"busy \xff","code":429}'
    with pytest.raises(NativeRejectionError) as caught:
        raise_error_event(SseEvent(name="error", data=data), {"message": "busy", "code": 429})
    assert (caught.value.status_code, caught.value.retryable, caught.value.is_in_stream) == (429, True, True)
    assert caught.value.body == data.decode("utf-8", "replace")


def test_anything_else_passes() -> None:
    raise_rejection({"choices": [], "error": None})
    raise_error_event(SseEvent(name="", data=b"{}"), {"code": 429})
