"""Our errors as the vendor's."""

from __future__ import annotations

import pickle
import traceback
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from tests.clients.worlds import API_KEY, Use, World, go
from tramapy import (
    ConfigurationError,
    DeadlineExceededError,
    DlpInspectionError,
    OperationInterceptor,
    ProviderError,
    ProviderTimeoutError,
    ResponseTooLargeError,
)
from tramapy.clients.client_errors import VendorErrors, vendor_error
from tramapy.clients.sdk import vendor_errors

REQUEST = httpx2.Request(
    "POST",
    "https://user:canary@example.com/v1/x?key=canary-4711",
    headers={"authorization": "canary-4711"},
    content=b"canary-4711",
)
OPENAI = vendor_errors("openai")
ANTHROPIC = vendor_errors("anthropic")


@pytest.mark.parametrize("vendor", [OPENAI, ANTHROPIC], ids=["openai", "anthropic"])
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ProviderError("p", status_code=3, retryable=True), "connection"),
        (ProviderTimeoutError("t"), "timeout"),
        (ResponseTooLargeError("r", limit_bytes=1, read_bytes=2), "connection"),
        (DlpInspectionError("d"), "base"),
        (ConfigurationError("c"), "base"),
        (DeadlineExceededError("e"), "base"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value,
)
def test_an_error_is_of_both_classes(vendor: VendorErrors, error: Any, kind: str) -> None:
    error.__cause__ = ProviderError("before")
    both: Any = vendor_error(error, vendor, httpx2, REQUEST)
    assert isinstance(both, type(error))
    assert isinstance(both, getattr(vendor, kind))
    assert str(both) == str(error)
    assert both.args == error.args
    assert vars(both).items() >= vars(error).items()
    assert both.__cause__ is error.__cause__
    assert f"{type(both).__module__}.{type(both).__qualname__}" == f"tramapy.errors.{type(error).__name__}"
    if kind != "base":
        assert both.message == str(error)
        assert both.request.url == "https://example.com/v1/x"
        assert both.body is None
        assert b"canary" not in both.request.content + repr(both.request.headers).encode()
    copy = pickle.loads(pickle.dumps(both))
    assert type(copy) is type(error)
    assert (copy.args, vars(copy)) == (error.args, vars(error))
    assert vendor_error(both, vendor, httpx2, REQUEST) is both


def test_other_errors_stay_what_they_are() -> None:
    assert OPENAI is not None
    for error in (KeyboardInterrupt(), ValueError("x")):
        assert vendor_error(error, OPENAI, httpx2, REQUEST) is error
    ours = DlpInspectionError("d")
    assert vendor_error(ours, None, httpx2, REQUEST) is ours


class Refusing(OperationInterceptor):
    def intercept_request(self, context: Any, messages: Any) -> Any:
        raise ValueError(messages[0].content)


@pytest.mark.parametrize("is_stream", [False, True], ids=["plain", "stream"])
def test_no_frame_of_ours_holds_the_prompt_or_the_key(any_world: World, is_stream: bool) -> None:
    canary = "canary-4711"

    async def step(use: Use) -> None:
        with pytest.raises((openai.OpenAIError, anthropic.AnthropicError)) as caught:
            await go(use.create(canary, stream=is_stream))
        frames = [
            frame
            for frame, _ in traceback.walk_tb(caught.value.__traceback__)
            if "/tramapy/" in frame.f_code.co_filename
        ]
        assert frames
        for frame in frames:
            text = repr(frame.f_locals)
            assert canary not in text
            assert API_KEY not in text
        assert caught.value.__context__ is None

    any_world.use([], step, interceptors=[Refusing()])


def test_a_url_without_a_host_is_no_place_for_a_password() -> None:
    request = httpx2.Request("POST", "user:canary-4711@localhost/v1")
    both: Any = vendor_error(ProviderError("p"), OPENAI, httpx2, request)
    assert (both.request.method, str(both.request.url)) == ("POST", "")
