"""`Rejection`: what an error object within an answer stands for. The statuses are tested with the providers."""

from __future__ import annotations

import pytest

from tramapy.errors import ProviderFailureCode
from tramapy.wire.rejection import Rejection, rejection_error, rejection_in, rejection_under

Code = ProviderFailureCode


@pytest.mark.parametrize("body", [{}, {"error": None}, {"error": {}}, {"choices": []}], ids=str)
def test_answer_without_an_error_is_none(body: dict[str, object]) -> None:
    assert rejection_in(body) is None


@pytest.mark.parametrize(
    ("error", "status", "retryable", "counts_on_breaker", "code"),
    [
        ({"type": "server_error"}, 500, True, True, Code.HTTP_REJECTED),
        ({"type": "invalid_request_error"}, 400, False, False, Code.HTTP_REJECTED),
        ({"type": "authentication_error"}, 401, False, False, Code.HTTP_REJECTED),
        ({"type": "permission_error"}, 403, False, False, Code.HTTP_REJECTED),
        ({"type": "not_found_error"}, 404, False, False, Code.HTTP_REJECTED),
        ({"type": "rate_limit_error"}, 429, True, True, Code.RATE_LIMITED),
        ({"code": "rate_limit_exceeded"}, 429, True, True, Code.RATE_LIMITED),
        ({"type": "x", "code": "rate_limit_exceeded"}, 429, True, True, Code.RATE_LIMITED),
        ({"code": "insufficient_quota"}, 500, False, False, Code.QUOTA_EXHAUSTED),
        ({"code": "content_filter"}, 500, False, False, Code.CONTENT_FILTERED),
        ({"code": 502}, 502, True, True, Code.HTTP_REJECTED),
        ({"code": "400"}, 400, False, False, Code.HTTP_REJECTED),
        ({"code": "٤٠٠"}, 500, True, True, Code.HTTP_REJECTED),
        ({"code": 12345}, 500, True, True, Code.HTTP_REJECTED),
        ({"code": None, "type": 7}, 500, True, True, Code.HTTP_REJECTED),
        ({"type": "overloaded_error"}, 529, True, True, Code.HTTP_REJECTED),
        ({"type": "api_error"}, 500, True, True, Code.HTTP_REJECTED),
        ({"type": "timeout_error"}, 504, True, True, Code.HTTP_REJECTED),
        ({"type": "request_too_large"}, 413, False, False, Code.HTTP_REJECTED),
        ({"type": "billing_error"}, 402, False, False, Code.HTTP_REJECTED),
        ({"code": "invalid_prompt"}, 400, False, False, Code.HTTP_REJECTED),
        ({"code": "vector_store_timeout"}, 500, True, True, Code.HTTP_REJECTED),
        ({"code": "bio_policy"}, 500, False, False, Code.CONTENT_FILTERED),
        ("only words", 500, True, True, Code.HTTP_REJECTED),
    ],
    ids=str,
)
def test_error_object_stands_for_a_status(
    error: object, status: int, retryable: bool, counts_on_breaker: bool, code: Code
) -> None:
    rejection = rejection_in({"error": error})
    assert rejection is not None
    raised = rejection_error("so", rejection, 0.0)

    assert (rejection.status, raised.retryable, raised.counts_on_breaker, raised.failure_code) == (
        status,
        retryable,
        counts_on_breaker,
        code,
    )


def test_event_named_error_may_be_the_error_object_itself() -> None:
    assert rejection_in({"code": "insufficient_quota"}, is_error=True) == Rejection(
        status=500, code="insufficient_quota"
    )
    assert rejection_in({}, is_error=True) == Rejection(status=500)


def test_message_is_fixed_words_and_advice() -> None:
    error = rejection_error("HTTP 404 (NotFoundError)", Rejection(status=404, code="secret"), 0.0)

    assert str(error) == (
        "The provider answered HTTP 404 (NotFoundError). Check the model's name and the client's base_url."
    )


@pytest.mark.parametrize(
    ("body", "code", "error_type"),
    [
        ({"error": {"code": "c", "type": "t"}}, "c", "t"),
        ({"code": "c", "type": "t"}, "c", "t"),
        ({"type": "error", "error": {"type": "t"}}, None, "t"),
        ("secret", None, None),
        (None, None, None),
    ],
    ids=["whole", "detail", "typed", "words", "none"],
)
def test_status_of_a_rejection_stands_and_its_body_gives_the_words(
    body: object, code: str | None, error_type: str | None
) -> None:
    headers = {"retry-after": "1"}
    assert rejection_under(418, body, headers) == Rejection(
        status=418, code=code, error_type=error_type, headers=headers
    )
