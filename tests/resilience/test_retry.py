"""The retry policy. `test_rtNN` is item NN of the acceptance list; 35 and 37 as decision 11 changes them."""

from __future__ import annotations

import asyncio
import concurrent.futures
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tramapy.errors import (
    CircuitBreakerOpenError,
    ConfigurationError,
    DeadlineExceededError,
    DlpInspectionError,
    ProviderError,
    ProviderTimeoutError,
)
from tramapy.resilience.retry import (
    DelaySource,
    NextRoute,
    NextRouteReason,
    RetryAfter,
    RetryDecision,
    RetryPolicy,
    RetryPolicySettings,
    Stop,
    is_retryable,
)

OVERLOADED = ProviderError("overloaded", retryable=True)
ALMOST_ONE = math.nextafter(1.0, 0.0)


def hinted(retry_after_s: float | None) -> ProviderError:
    return ProviderError("rate limited", retryable=True, status_code=429, retry_after_s=retry_after_s)


def decide(
    error: BaseException = OVERLOADED,
    retry_index: int = 0,
    *,
    sample: float = 0.0,
    now_s: float = 1000.0,
    deadline_at_s: float | None = None,
    **fields: object,
) -> RetryDecision:
    policy = RetryPolicy(RetryPolicySettings(**{"provider_retries": 10, **fields}), lambda: sample)
    return policy.decide(error, retry_index, now_s=now_s, deadline_at_s=deadline_at_s)


@pytest.mark.parametrize(
    ("retry_index", "delay_s"), list(enumerate([0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0])), ids=str
)
def test_rt33_backoff_doubles_from_50_ms_to_1_s(retry_index, delay_s):
    assert decide(retry_index=retry_index, jitter_ratio=0) == RetryAfter(delay_s, DelaySource.BACKOFF)


def test_rt34_a_hint_is_the_delay():
    assert decide(hinted(0.1), jitter_ratio=0) == RetryAfter(0.1, DelaySource.RETRY_AFTER)


def test_rt35_changed_a_hint_over_the_cap_is_not_cut_but_moves_on():
    """The original waits for the cap, which is too early for the provider and so a wasted attempt."""
    decision = decide(hinted(0.5), max_retry_after_s=0.2, jitter_ratio=0)
    assert decision == NextRoute(NextRouteReason.HINT_TOO_LONG)


@pytest.mark.parametrize(
    ("sample", "least_s", "most_s"), [(0.0, 1.0, 1.0), (0.5, 1.1, 1.1), (0.999, 1.199, 1.2)]
)
def test_rt36_jitter_only_adds_and_stays_below_the_ratio(sample, least_s, most_s):
    decision = decide(retry_index=6, sample=sample)
    assert isinstance(decision, RetryAfter)
    assert least_s <= decision.delay_s <= most_s
    assert decision.delay_s < 1.2


@pytest.mark.parametrize("sample", [1.0, -0.001, math.nan, math.inf, "0.5", None])
@pytest.mark.parametrize("error", [OVERLOADED, hinted(1.0)], ids=["backoff", "hint"])
def test_rt36_a_sample_out_of_range_is_a_contract_error(sample, error):
    with pytest.raises(ConfigurationError, match=r"^random gave a sample that is no number"):
        decide(error, sample=sample)


def test_rt37_changed_jitter_never_passes_the_cap():
    """The original lets jitter go up to 36 s here; our cap holds after jitter."""
    decision = decide(hinted(30.0), sample=ALMOST_ONE, max_retry_after_s=30.0, jitter_ratio=0.2)
    assert decision == RetryAfter(30.0, DelaySource.RETRY_AFTER)


@pytest.mark.parametrize("sample", [0.0, ALMOST_ONE])
def test_a_hint_of_zero_is_no_delay(sample):
    assert decide(hinted(0.0), sample=sample) == RetryAfter(0.0, DelaySource.RETRY_AFTER)


@pytest.mark.parametrize("hint_s", [None, -1.0, math.nan], ids=str)
def test_a_hint_that_says_nothing_is_absent(hint_s):
    assert decide(hinted(hint_s), jitter_ratio=0) == RetryAfter(0.05, DelaySource.BACKOFF)


@pytest.mark.parametrize("hint_s", [30.001, 61.0, 1800.0, math.inf], ids=str)
def test_r24_a_hint_beyond_the_bound_is_neither_waited_for_nor_ignored(hint_s):
    assert decide(hinted(hint_s)) == NextRoute(NextRouteReason.HINT_TOO_LONG)


def test_r24_a_long_hint_within_a_raised_bound_is_honoured():
    assert decide(hinted(61.0), max_retry_after_s=120, jitter_ratio=0) == RetryAfter(
        61.0, DelaySource.RETRY_AFTER
    )


@pytest.mark.parametrize(
    ("provider_retries", "retry_index"),
    [(None, 3), (0, 0), (2, 2), (2, 7)],
    ids=["default", "0", "2", "past"],
)
def test_when_retries_are_used_up_the_next_route_follows(provider_retries, retry_index):
    decision = decide(retry_index=retry_index, provider_retries=provider_retries)
    assert decision == NextRoute(NextRouteReason.EXHAUSTED)


def test_three_retries_unless_told_otherwise():
    policy = RetryPolicy(RetryPolicySettings(), random.Random(7).random)
    assert policy.provider_retries == 3
    assert isinstance(policy.decide(OVERLOADED, 2, now_s=0.0, deadline_at_s=None), RetryAfter)
    assert RetryPolicy(RetryPolicySettings(provider_retries=0), random.random).provider_retries == 0


@pytest.mark.parametrize(
    ("deadline_at_s", "is_retried"), [(1000.051, True), (1000.05, False), (1000.0, False), (999.0, False)]
)
def test_no_wait_outlasts_the_deadline(deadline_at_s, is_retried):
    decision = decide(deadline_at_s=deadline_at_s, jitter_ratio=0)
    expected = RetryAfter(0.05, DelaySource.BACKOFF) if is_retried else NextRoute(NextRouteReason.DEADLINE)
    assert decision == expected


def test_a_hint_past_the_deadline_is_not_waited_for():
    assert decide(hinted(20.0), deadline_at_s=1010.0) == NextRoute(NextRouteReason.DEADLINE)


@pytest.mark.parametrize(
    "error",
    [
        OVERLOADED,
        ProviderTimeoutError("slow"),
        ExceptionGroup("several", [OVERLOADED, ExceptionGroup("deep", [ProviderTimeoutError("slow")])]),
    ],
    ids=["provider", "timeout", "group"],
)
def test_retryable_errors_are_retried(error):
    assert is_retryable(error)
    assert isinstance(decide(error), RetryAfter)


@pytest.mark.parametrize(
    "error",
    [
        ProviderError("bad request", status_code=400),
        ProviderError("down", retryable=False, counts_on_breaker=True),
        DlpInspectionError("refused"),
        DeadlineExceededError("over"),
        RuntimeError("unknown"),
        TimeoutError("of a hook"),
        ExceptionGroup("several", [OVERLOADED, ProviderError("bad request")]),
        ExceptionGroup("several", [OVERLOADED, DlpInspectionError("refused")]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_other_errors_stop(error):
    assert not is_retryable(error)
    assert isinstance(decide(error), Stop)


@pytest.mark.parametrize(
    "cancellation",
    [
        asyncio.CancelledError(),
        concurrent.futures.CancelledError(),
        KeyboardInterrupt(),
        SystemExit(),
        GeneratorExit(),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("is_grouped", [False, True], ids=["alone", "in_a_group"])
def test_r11_a_cancellation_is_never_retried(cancellation, is_grouped):
    error = BaseExceptionGroup("several", [OVERLOADED, cancellation]) if is_grouped else cancellation
    assert isinstance(decide(error), Stop)


def test_r26_an_open_circuit_is_not_waited_for():
    assert isinstance(decide(CircuitBreakerOpenError("p", 0.01)), Stop)


def test_in_a_group_the_longest_hint_counts():
    error = ExceptionGroup("several", [hinted(1.0), OVERLOADED, hinted(3.0), hinted(-5.0)])
    assert decide(error, jitter_ratio=0) == RetryAfter(3.0, DelaySource.RETRY_AFTER)


@pytest.mark.parametrize(
    ("fields", "kind", "message"),
    [
        ({"provider_retries": True}, TypeError, "provider_retries takes an int, not bool"),
        ({"provider_retries": 1.0}, TypeError, "provider_retries takes an int, not float"),
        ({"provider_retries": -1}, ValueError, "provider_retries is -1; give at least 0"),
        ({"max_retry_after_s": 0.0}, ValueError, "max_retry_after_s is 0.0; give more than 0"),
        ({"max_retry_after_s": math.inf}, ValueError, "max_retry_after_s is inf; give at most 1e\\+09"),
        ({"max_retry_after_s": 10**400}, ValueError, "max_retry_after_s is inf; give at most"),
        ({"max_retry_after_s": 1.1e9}, ValueError, "max_retry_after_s is 1100000000.0; give at most"),
        ({"max_retry_after_s": None}, TypeError, "max_retry_after_s takes a number, not NoneType"),
        ({"jitter_ratio": -0.1}, ValueError, "jitter_ratio is -0.1; give at least 0"),
        ({"jitter_ratio": math.nan}, ValueError, "jitter_ratio is nan; give at least 0"),
        ({"jitter_ratio": 100.1}, ValueError, "jitter_ratio is 100.1; give at most 100"),
        ({"jitter_ratio": False}, TypeError, "jitter_ratio takes a number, not bool"),
    ],
)
def test_settings_that_cannot_work_are_refused_by_name(fields, kind, message):
    with pytest.raises(kind, match=rf"RetryPolicySettings\.{message}"):
        RetryPolicySettings(**fields)


ratios = st.floats(0.0, 2.0)
samples = st.floats(0.0, 1.0, exclude_max=True)


@given(retry_index=st.integers(0, 10**9), ratio=ratios, sample=samples)
def test_backoff_stays_between_its_base_and_the_jittered_base(retry_index, ratio, sample):
    decision = decide(
        retry_index=retry_index, sample=sample, jitter_ratio=ratio, provider_retries=retry_index + 1
    )
    base_s = min(0.05 * 2.0 ** min(retry_index, 60), 1.0)
    assert isinstance(decision, RetryAfter)
    assert decision.source is DelaySource.BACKOFF
    assert base_s <= decision.delay_s <= base_s * (1.0 + ratio) * (1.0 + 1e-12)


@given(hint_s=st.floats(0.0, 100.0), cap_s=st.floats(0.001, 60.0), ratio=ratios, sample=samples)
def test_a_hint_is_never_undercut_and_the_cap_never_passed(hint_s, cap_s, ratio, sample):
    decision = decide(hinted(hint_s), sample=sample, max_retry_after_s=cap_s, jitter_ratio=ratio)
    if hint_s > cap_s:
        assert decision == NextRoute(NextRouteReason.HINT_TOO_LONG)
        return
    assert isinstance(decision, RetryAfter)
    assert hint_s <= decision.delay_s <= cap_s


@given(
    hint_s=st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True)),
    retry_index=st.integers(0, 12),
    left_s=st.floats(-1.0, 40.0),
    sample=samples,
)
def test_every_wait_ends_before_the_deadline(hint_s, retry_index, left_s, sample):
    decision = decide(hinted(hint_s), retry_index, sample=sample, deadline_at_s=1000.0 + left_s)
    if isinstance(decision, RetryAfter):
        assert decision.delay_s >= 0.0
        assert 1000.0 + decision.delay_s < 1000.0 + left_s
    else:
        assert isinstance(decision, NextRoute)


@pytest.mark.parametrize(("given", "in_force"), [(None, 7), (0, 0), (2, 2)])
def test_another_default_holds_where_the_settings_do_not_say(given, in_force):
    policy = RetryPolicy(RetryPolicySettings(provider_retries=given), lambda: 0.0)
    assert policy.with_default(7).provider_retries == in_force
    assert policy.provider_retries == (3 if given is None else given)
