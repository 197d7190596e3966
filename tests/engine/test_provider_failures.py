"""Items 46 to 49 of the acceptance list: what a provider's failures become."""

from __future__ import annotations

import anyio
import pytest

from tests.drivers import Driver
from tests.engine.doubles import Diagnostics, OnRequest, down, raising, retries
from tramapy import (
    CircuitBreakerOpenError,
    CircuitBreakerSettings,
    ConfigurationError,
    DlpInspectionError,
    ImagePart,
    Message,
    ModelResponse,
    ProviderCapability,
    ProviderCapabilityError,
    ProviderError,
    ProviderFailureCode,
    ProviderTimeoutError,
    Route,
    TextPart,
)
from tramapy.testing import ScriptedProvider

FALLBACK = {"default_provider": "a", "fallbacks": {"m": [Route("b", "m-b")]}}


class Blind(ScriptedProvider):
    """Cannot see images."""

    capabilities = frozenset({ProviderCapability.STREAMING})


def two(a: list, b: list) -> dict[str, ScriptedProvider]:
    return {"a": ScriptedProvider(a), "b": ScriptedProvider(b)}


def test_rt46_an_arbitrary_exception_is_a_permanent_provider_error(driver: Driver) -> None:
    """The original stays with the diagnostic observer: a cause on the error would carry payload out."""
    original = RuntimeError("the prompt was hello")
    diagnostics = Diagnostics()
    provider = ScriptedProvider([original])
    rig = driver.rig(provider, retry=retries(3), diagnostic_observers=[diagnostics])
    with pytest.raises(ProviderError, match="Provider 'p' raised RuntimeError; a provider raises") as caught:
        rig.complete()
    assert not caught.value.retryable
    assert not caught.value.counts_on_breaker
    assert "hello" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert len(provider.requests) == 1
    (diagnostic,) = diagnostics.found
    assert diagnostic.error is original
    assert (diagnostic.extension_point, diagnostic.provider_id, diagnostic.attempt) == ("provider", "p", 0)


@pytest.mark.parametrize(
    ("original", "is_told"),
    [
        (RuntimeError("Event loop is closed"), True),
        (RuntimeError("<asyncio.locks.Event object at 0x1> is bound to a different event loop"), True),
        (RuntimeError("the prompt was hello"), False),
        (RuntimeError(), False),
        (RuntimeError(1), False),
        (ValueError("Event loop is closed"), False),
    ],
    ids=["closed", "different", "other words", "no words", "a number", "other type"],
)
def test_a_client_of_another_event_loop_is_told_with_the_remedy(
    original: Exception, is_told: bool, driver: Driver
) -> None:
    with pytest.raises(ProviderError) as caught:
        driver.rig(ScriptedProvider([original])).complete()
    assert ("make a client for each event loop" in str(caught.value)) is is_told
    assert "hello" not in str(caught.value)


def test_rt47_our_timeout_is_retryable_counts_and_falls_back(async_driver: Driver) -> None:
    async def never(_: object) -> str:
        await anyio.sleep_forever()
        raise AssertionError

    providers = two([never], ["from b", "from b again"])
    rig = async_driver.rig(
        providers,
        retry=retries(0),
        timeout_s=0.02,
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
        **FALLBACK,
    )
    assert rig.complete().content == "from b"
    (failed,) = rig.attributes_of("attempt.failed")
    assert failed["failure_kind"] == "timeout"
    assert failed["error_type"] == "ProviderTimeoutError"
    assert failed["failure_code"] == "timeout"
    assert failed["is_retryable"] is True
    assert [event["provider_id"] for event in rig.attributes_of("circuit.opened")] == ["a"]


def test_rt47_the_error_is_a_timeout_error_too(async_driver: Driver) -> None:
    async def never(_: object) -> str:
        await anyio.sleep_forever()
        raise AssertionError

    rig = async_driver.rig([never], retry=retries(0))
    with pytest.raises(
        ProviderTimeoutError, match=r"Provider 'p' took longer than timeout_s=0\.02"
    ) as caught:
        rig.complete(timeout_s=0.02)
    assert isinstance(caught.value, TimeoutError)


@pytest.mark.parametrize(("settings", "options"), [({"timeout_s": 30.0}, {}), ({}, {"timeout_s": 30.0})])
def test_rt47_the_provider_is_told_the_limit(driver: Driver, settings: dict, options: dict) -> None:
    """Decision 13: a thread cannot be interrupted, so the limit is the transport's to keep."""
    provider = ScriptedProvider(["hi"])
    driver.rig(provider, **settings).complete(**options)
    assert provider.requests[0].timeout_s == 30.0


def test_rt47_a_minute_is_the_default_limit(driver: Driver) -> None:
    provider = ScriptedProvider(["hi"])
    driver.rig(provider).complete()
    assert provider.requests[0].timeout_s == 60.0


def test_rt48_the_providers_own_timeout_is_the_same_class(driver: Driver) -> None:
    """Decision 13: the original wraps it as a permanent error."""
    rig = driver.rig(
        two([ProviderTimeoutError("the transport gave up")], ["from b"]),
        retry=retries(0),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
        **FALLBACK,
    )
    assert rig.complete().content == "from b"
    assert rig.attributes_of("attempt.failed")[0]["failure_kind"] == "timeout"
    assert len(rig.attributes_of("circuit.opened")) == 1


def test_rt48_a_plain_timeout_error_of_the_provider_is_a_defect_of_its_own(driver: Driver) -> None:
    """Decision 13: an adapter maps its timeouts; what it does not map is no timeout of ours."""
    rig = driver.rig([TimeoutError("hello"), "never"])
    with pytest.raises(ProviderError, match="raised TimeoutError") as caught:
        rig.complete()
    assert not isinstance(caught.value, ProviderTimeoutError)
    assert not caught.value.retryable


def test_rt49_an_image_needs_vision(driver: Driver) -> None:
    blind, seeing = Blind(["never"]), ScriptedProvider(["never"])
    rig = driver.rig({"a": blind, "b": seeing}, **FALLBACK)
    image = ImagePart(data=b"png", mime_type="image/png")
    with pytest.raises(ProviderCapabilityError, match="Provider 'a' lacks the capability VISION") as caught:
        rig.complete([Message.user([TextPart("what is this"), image])])
    assert not caught.value.retryable
    assert (caught.value.provider_id, caught.value.capability) == ("a", "vision")
    assert blind.requests == seeing.requests == ()


def test_rt49_what_an_interceptor_sends_decides(driver: Driver) -> None:
    blind = Blind(["hi"])
    drop = OnRequest(lambda messages: [Message.user("no image")])
    rig = driver.rig(blind, interceptors=[drop])
    rig.complete([Message.user([ImagePart(url="https://example.com/x.png")])])
    assert [message.content for message in blind.requests[0].messages] == ["no image"]


def test_what_is_no_response_is_a_permanent_provider_error(driver: Driver) -> None:
    class Odd(ScriptedProvider):
        def complete(self, request: object) -> ModelResponse:
            return "text"  # type: ignore[return-value]  # that is the point

        async def acomplete(self, request: object) -> ModelResponse:
            return "text"  # type: ignore[return-value]  # that is the point

    rig = driver.rig(Odd())
    with pytest.raises(
        ProviderError, match="Provider 'p' returned str; it must return a ModelResponse"
    ) as caught:
        rig.complete()
    assert caught.value.failure_code is ProviderFailureCode.INVALID_RESPONSE
    assert not caught.value.retryable


def test_a_group_with_one_failure_is_that_failure(driver: Driver) -> None:
    leaf = down(status_code=503)
    rig = driver.rig([ExceptionGroup("hello", [ExceptionGroup("inner", [leaf])])], retry=retries(0))
    with pytest.raises(ProviderError) as caught:
        rig.complete()
    assert caught.value is leaf


def test_a_group_of_retryable_failures_is_one_retryable_failure(driver: Driver) -> None:
    group = ExceptionGroup("hello", [down(retry_after_s=0.1), down(retry_after_s=0.3)])
    rig = driver.rig([group, "hi"], retry=retries(1))
    assert rig.complete().content == "hi"
    assert rig.clock.sleeps == (0.3,)


def test_a_group_with_a_permanent_failure_is_permanent(driver: Driver) -> None:
    rig = driver.rig([ExceptionGroup("hello", [down(), ProviderError("no")])], retry=retries(3))
    with pytest.raises(ProviderError, match="The provider failed in 2 ways at once") as caught:
        rig.complete()
    assert not caught.value.retryable
    assert not caught.value.counts_on_breaker


def test_a_group_with_a_foreign_error_is_a_defect_of_that_type(driver: Driver) -> None:
    diagnostics = Diagnostics()
    group = ExceptionGroup("hello", [down(), KeyError("hello")])
    rig = driver.rig([group], retry=retries(3), diagnostic_observers=[diagnostics])
    with pytest.raises(ProviderError, match="Provider 'p' raised KeyError") as caught:
        rig.complete()
    assert not caught.value.retryable
    assert diagnostics.found[0].error is group


def test_a_dlp_error_of_a_providers_is_a_defect_of_its_own(driver: Driver) -> None:
    rig = driver.rig([DlpInspectionError("hello")], retry=retries(3))
    with pytest.raises(ProviderError, match="Provider 'p' raised DlpInspectionError"):
        rig.complete()


def test_a_configuration_error_of_a_providers_ends_the_operation(driver: Driver) -> None:
    error = ConfigurationError("the client has no key; set one")
    providers = two([error], ["never"])
    rig = driver.rig(providers, **FALLBACK)
    with pytest.raises(ConfigurationError) as caught:
        rig.complete()
    assert caught.value is error
    assert providers["b"].requests == ()
    assert rig.attributes_of("attempt.failed")[0]["failure_kind"] == "configuration"


def test_a_diagnostic_observer_that_fails_changes_nothing(driver: Driver) -> None:
    class Failing(Diagnostics):
        on_failure = raising(OSError("full"))

    diagnostics = Diagnostics()
    rig = driver.rig([RuntimeError("hello")], diagnostic_observers=[Failing(), diagnostics])
    with pytest.raises(ProviderError, match="raised RuntimeError"):
        rig.complete()
    assert len(diagnostics.found) == 1


def test_a_failure_leaves_without_traceback_or_context(driver: Driver) -> None:
    def fail(_: object) -> str:
        try:
            raise KeyError("hello")
        except KeyError as error:
            raise down() from error

    rig = driver.rig([fail], retry=retries(0))
    with pytest.raises(ProviderError) as caught:
        rig.complete()
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    frames = [frame.name for frame in caught.traceback]
    assert "fail" not in frames
    assert "run_attempt" not in frames


def test_provider_failure_in_the_event(driver: Driver) -> None:
    error = ProviderError("no", status_code=429, failure_code=ProviderFailureCode.RATE_LIMITED)
    rig = driver.rig([error])
    with pytest.raises(ProviderError):
        rig.complete()
    (failed,) = rig.attributes_of("attempt.failed")
    assert failed["failure_kind"] == "provider"
    assert (failed["failure_code"], failed["status_code"]) == ("rate_limited", 429)
    assert (failed["error_type"], failed["is_retryable"]) == ("ProviderError", False)


def test_an_open_circuit_beside_a_defect_is_a_defect(driver: Driver) -> None:
    group = ExceptionGroup("g", [CircuitBreakerOpenError("inner", 1.0), ValueError()])
    backup = ScriptedProvider(["x"])
    rig = driver.rig(
        {"a": ScriptedProvider([group]), "b": backup}, default_provider="a", fallbacks={"m": [Route("b")]}
    )
    with pytest.raises(ProviderError, match="raised CircuitBreakerOpenError"):
        rig.complete()
    assert not backup.requests
