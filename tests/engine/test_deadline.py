"""`deadline_s`: one limit over attempts, waits and hooks (decision 11)."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from tests.drivers import Driver
from tests.engine.doubles import OnRequest, Scripted, breaker_of, down, retries
from tramapy import (
    CircuitBreakerSettings,
    DeadlineExceededError,
    DlpResult,
    ModelResponse,
    ProviderTimeoutError,
    Route,
)
from tramapy.testing import RecordingObserver, ScriptedProvider


def taking(rig_of: list[Any], seconds: float, answer: Any) -> Any:
    """Make an answer that takes so long on the rig's clock."""

    def take(_: object) -> Any:
        rig_of[0].clock.advance(seconds)
        return answer

    return take


def test_a_retry_that_would_outlast_it_is_not_slept_for(driver: Driver) -> None:
    failure = down(retry_after_s=5.0)
    rig = driver.rig([failure], deadline_s=5.0)
    with pytest.raises(
        DeadlineExceededError, match="The next retry would end after the operation's deadline_s"
    ) as e:
        rig.complete()
    assert e.value.__cause__ is failure
    assert rig.clock.sleeps == ()
    assert isinstance(e.value, TimeoutError)


def test_a_next_route_is_tried_first(driver: Driver) -> None:
    providers = {"a": ScriptedProvider([down(retry_after_s=5.0)]), "b": ScriptedProvider(["from b"])}
    rig = driver.rig(providers, default_provider="a", fallbacks={"m": [Route("b")]}, deadline_s=5.0)
    assert rig.complete().content == "from b"


def test_a_next_route_that_fails_decides_for_itself(driver: Driver) -> None:
    """The first route ran out of time, the second out of retries: its failure is the answer."""
    last = down()
    providers = {"a": ScriptedProvider([down(retry_after_s=5.0)]), "b": ScriptedProvider([last, last])}
    rig = driver.rig(
        providers, default_provider="a", fallbacks={"m": [Route("b")]}, deadline_s=5.0, retry=retries(1)
    )
    with pytest.raises(type(last)) as caught:
        rig.complete()
    assert caught.value is last


def test_a_retry_that_ends_in_time_is_made(driver: Driver) -> None:
    rig = driver.rig([down(retry_after_s=4.9), "answer"], deadline_s=5.0)
    assert rig.complete().content == "answer"


def test_the_rest_of_it_is_the_attempts_limit(driver: Driver) -> None:
    rigs: list[Any] = []
    provider = ScriptedProvider([taking(rigs, 3.0, down()), "answer"])
    rigs.append(driver.rig(provider, deadline_s=5.0, timeout_s=4.0))
    rigs[0].complete()
    assert [request.timeout_s for request in provider.requests] == [4.0, pytest.approx(1.95)]


def test_without_a_timeout_it_is_the_only_limit(driver: Driver) -> None:
    provider = ScriptedProvider(["answer"])
    driver.rig(provider, deadline_s=5.0, timeout_s=None).complete()
    assert provider.requests[0].timeout_s == 5.0


def test_neither_limit_is_none(driver: Driver) -> None:
    provider = ScriptedProvider(["answer"])
    driver.rig(provider, timeout_s=None).complete()
    assert provider.requests[0].timeout_s is None


def test_a_call_may_have_its_own(driver: Driver) -> None:
    provider = ScriptedProvider(["answer"])
    driver.rig(provider, deadline_s=5.0).complete(deadline_s=2.0)
    assert provider.requests[0].timeout_s == 2.0


@pytest.mark.parametrize("hook", ["interceptors", "request_dlp"])
def test_hooks_use_it_up_too(driver: Driver, hook: str) -> None:
    """Nothing is sent after it, and the provider is not to blame."""
    rigs: list[Any] = []

    def slow(value: Any) -> Any:
        rigs[0].clock.advance(10.0)
        return value

    settings: dict[str, Any] = {
        "interceptors": {"interceptors": [OnRequest(slow)]},
        "request_dlp": {"request_dlp": Scripted(lambda _, text: DlpResult(slow(text)))},
    }[hook]
    provider = ScriptedProvider([])
    rigs.append(driver.rig(provider, deadline_s=5.0, **settings))
    with pytest.raises(DeadlineExceededError, match="The operation's deadline_s passed after 1 attempt;"):
        rigs[0].complete()
    assert provider.requests == ()
    assert rigs[0].attributes_of("operation.completed")[0]["failure_kind"] == "deadline"


def test_the_last_failure_is_the_cause(driver: Driver) -> None:
    rigs: list[Any] = []
    failure = down(retry_after_s=0.5)
    slow = OnRequest(lambda messages: rigs[0].clock.advance(2.0) or messages)
    rigs.append(driver.rig([failure], deadline_s=4.0, interceptors=[slow]))
    with pytest.raises(DeadlineExceededError) as caught:
        rigs[0].complete()
    assert caught.value.__cause__ is failure
    assert len(rigs[0].clock.sleeps) == 1


def test_it_interrupts_a_call_and_counts_on_no_breaker(async_driver: Driver) -> None:
    async def never(_: object) -> str:
        await anyio.sleep_forever()
        raise AssertionError

    rig = async_driver.rig(
        [never, "answer"], deadline_s=0.01, circuit_breaker=CircuitBreakerSettings(failure_threshold=1)
    )
    with pytest.raises(DeadlineExceededError, match="raise deadline_s, or lower timeout_s"):
        rig.complete()
    assert "circuit.opened" not in rig.names
    assert rig.attributes_of("attempt.failed")[0]["failure_kind"] == "deadline"
    assert rig.clock.sleeps == ()


def test_without_a_timeout_it_interrupts_a_call_too(async_driver: Driver) -> None:
    async def never(_: object) -> str:
        await anyio.sleep_forever()
        raise AssertionError

    rig = async_driver.rig([never], deadline_s=0.01, timeout_s=None)
    with pytest.raises(DeadlineExceededError):
        rig.complete()


def test_a_shorter_timeout_stays_a_timeout(async_driver: Driver) -> None:
    async def never(_: object) -> str:
        await anyio.sleep_forever()
        raise AssertionError

    rig = async_driver.rig([never], deadline_s=30.0, timeout_s=0.01, retry=retries(0))
    with pytest.raises(ProviderTimeoutError):
        rig.complete()


def test_a_transports_timeout_before_it_is_retried(driver: Driver) -> None:
    rigs: list[Any] = []
    provider = ScriptedProvider([taking(rigs, 1.0, ProviderTimeoutError("slow")), "answer"])
    rigs.append(driver.rig(provider, deadline_s=5.0))
    assert rigs[0].complete().content == "answer"


def test_a_late_answer_is_an_answer(driver: Driver) -> None:
    """A thread cannot be interrupted; what came is not thrown away."""
    rigs: list[Any] = []
    provider = ScriptedProvider([taking(rigs, 9.0, ModelResponse(content="late"))])
    rigs.append(driver.rig(provider, deadline_s=5.0))
    assert rigs[0].complete().content == "late"


@pytest.mark.parametrize("call", ["complete", "stream"])
def test_an_attempt_that_never_ran_is_not_counted(driver: Driver, call: str) -> None:
    """The deadline passed between two routes: the second was never tried."""
    rigs: list[Any] = []
    failure = down()
    providers = {"a": ScriptedProvider([taking(rigs, 5.0, failure)]), "b": ScriptedProvider([])}
    rigs.append(
        driver.rig(
            providers, default_provider="a", fallbacks={"m": [Route("b")]}, deadline_s=5.0, retry=retries(0)
        )
    )
    with pytest.raises(
        DeadlineExceededError, match=r"^The operation's deadline_s passed after 1 attempt; "
    ) as e:
        getattr(rigs[0], call)()
    assert e.value.__cause__ is failure
    (completed,) = rigs[0].attributes_of("operation.completed")
    assert (completed["attempt_count"], completed["failure_kind"]) == (1, "deadline")
    assert len(rigs[0].attributes_of("attempt.started")) == 1
    assert providers["b"].requests == ()


def test_several_attempts_are_counted_in_the_plural(driver: Driver) -> None:
    rigs: list[Any] = []
    providers = {"a": ScriptedProvider([down(), taking(rigs, 5.0, down())]), "b": ScriptedProvider([])}
    rigs.append(
        driver.rig(
            providers, default_provider="a", fallbacks={"m": [Route("b")]}, deadline_s=5.0, retry=retries(1)
        )
    )
    with pytest.raises(
        DeadlineExceededError, match="deadline_s passed after 2 attempts; raise deadline_s, or"
    ):
        rigs[0].complete()
    assert rigs[0].attributes_of("operation.completed")[0]["attempt_count"] == 2


def test_none_at_all_is_plural_too(driver: Driver) -> None:
    rigs: list[Any] = []

    class Late(RecordingObserver):
        def on_engine_event(self, name: str, attributes: Any) -> None:
            rigs[0].clock.advance(5.0)

    provider = ScriptedProvider([])
    rigs.append(driver.rig(provider, deadline_s=5.0, event_observers=[Late()]))
    with pytest.raises(DeadlineExceededError, match="deadline_s passed after 0 attempts; "):
        rigs[0].complete()
    assert rigs[0].attributes_of("operation.completed")[0]["attempt_count"] == 0
    assert "attempt.started" not in rigs[0].names


def test_after_it_no_probe_is_sent(driver: Driver) -> None:
    """A probe that says nothing would shut the provider off anew, where it is told to reopen."""
    rigs: list[Any] = []
    providers = {
        "a": ScriptedProvider([taking(rigs, 1.0, down())]),
        "b": ScriptedProvider([]),
    }
    rigs.append(
        driver.rig(
            providers,
            default_provider="a",
            fallbacks={"m": [Route("b")]},
            deadline_s=1.0,
            retry=retries(0),
            circuit_breaker=CircuitBreakerSettings(
                failure_threshold=3, open_duration_s=1.0, neutral_probe="reopen"
            ),
        )
    )
    rig = rigs[0]
    breaker = breaker_of(rig)
    for _ in range(3):
        breaker.fail(breaker.admit("b"))
    with pytest.raises(DeadlineExceededError):
        rig.complete()  # b's probe is due in the moment in which the deadline passes
    assert "circuit.half_opened" not in rig.names
    assert breaker.open_until_s("b") is None
