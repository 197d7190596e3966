"""The breaker against a slow, independent model, step by step, over both profiles and both neutral modes.

The model knows no generations, rings or buckets' totals: it keeps every call of the era in a list, and
remembers for each permit whether it can still count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.resilience.driving import ManualClock
from tramapy.resilience.breaker import (
    BreakerState,
    CircuitBreaker,
    CircuitBreakerSettings,
    CircuitBreakerWindow,
    Permit,
    Rejection,
    Transition,
)

PROVIDERS = ("a", "b")
RATES = (0.25, 0.5, 1.0)  # exact in binary, so that the model may use fractions

windows = st.one_of(
    st.fixed_dictionaries({"size_calls": st.integers(4, 6)}),
    st.fixed_dictionaries({"size_s": st.sampled_from([10.0, 40.0])}),
).flatmap(
    lambda size: st.builds(
        CircuitBreakerWindow,
        **{name: st.just(value) for name, value in size.items()},
        minimum_calls=st.integers(1, 4),
        failure_rate=st.sampled_from(RATES),
        slow_call_duration_s=st.sampled_from([None, 2.0]),
        slow_call_rate=st.sampled_from(RATES),
        half_open_permits=st.integers(1, 3),
        max_probe_s=st.sampled_from([15.0, 60.0]),
    )
)
breaker_settings = st.builds(
    CircuitBreakerSettings,
    failure_threshold=st.integers(1, 3),
    open_duration_s=st.sampled_from([10.0, 30.0]),
    neutral_probe=st.sampled_from(["release", "reopen"]),
    window=st.one_of(st.none(), windows),
)


@dataclass(eq=False)
class ModelPermit:
    """What the model remembers of a permit."""

    era: int
    is_probe: bool
    since_s: float
    is_settled: bool = False
    is_dropped: bool = False


@dataclass
class Call:
    """A call that was reported in the current closed era."""

    at_s: float
    is_failure: bool
    is_slow: bool


@dataclass
class ModelCircuit:
    """One provider by the book."""

    rules: CircuitBreakerSettings
    state: BreakerState = BreakerState.CLOSED
    era: int = 0
    open_until_s: float = 0.0
    calls: list[Call] = field(default_factory=list)
    probes_out: list[ModelPermit] = field(default_factory=list)
    probe_reports: list[Call] = field(default_factory=list)

    def admit(self, now_s: float) -> ModelPermit | float:
        """Return a permit, or the seconds to wait."""
        if self.state is BreakerState.CLOSED:
            return ModelPermit(self.era, False, now_s)
        if self.state is BreakerState.OPEN:
            if now_s < self.open_until_s:
                return self.open_until_s - now_s
            self.state = BreakerState.HALF_OPEN
        if len(self.probes_out) + len(self.probe_reports) == self.places:
            self.probes_out = [probe for probe in self.probes_out if not self.is_lost(probe, now_s)]
        if len(self.probes_out) + len(self.probe_reports) == self.places:
            return 0.0
        probe = ModelPermit(self.era, True, now_s)
        self.probes_out.append(probe)
        return probe

    def report(self, permit: ModelPermit, call: Call) -> Transition | None:
        """Return the transition of a success or a failure."""
        if self.state is BreakerState.CLOSED and not permit.is_probe and permit.era == self.era:
            self.calls.append(call)
            if self.has_to_open(call.at_s):
                self.open(call.at_s)
                return Transition.OPENED
            return None
        if not self.takes_back(permit, call.at_s):
            return None
        self.probe_reports.append(call)
        if self.is_condemned():
            self.open(call.at_s)
            return Transition.OPENED
        if len(self.probe_reports) == self.places:
            self.state, self.calls, self.probe_reports = BreakerState.CLOSED, [], []
            return Transition.CLOSED
        return None

    def release(self, permit: ModelPermit, now_s: float) -> None:
        """End a call without a word."""
        if self.takes_back(permit, now_s) and self.rules.neutral_probe == "reopen":
            self.open(now_s)

    @property
    def places(self) -> int:
        return 1 if self.rules.window is None else self.rules.window.half_open_permits

    def is_lost(self, probe: ModelPermit, now_s: float) -> bool:
        return probe.is_dropped or now_s - probe.since_s >= self.max_probe_s

    @property
    def max_probe_s(self) -> float:
        if self.rules.window is not None:
            return self.rules.window.max_probe_s
        return math.inf if self.rules.neutral_probe == "reopen" else max(120.0, self.rules.open_duration_s)

    def takes_back(self, permit: ModelPermit, now_s: float) -> bool:
        if permit not in self.probes_out:
            return False
        self.probes_out.remove(permit)
        return not self.is_lost(permit, now_s)

    def has_to_open(self, now_s: float) -> bool:
        window = self.rules.window
        if window is None:
            tail = self.calls[-self.rules.failure_threshold :]
            return len(tail) == self.rules.failure_threshold and all(call.is_failure for call in tail)
        if window.size_s is None:
            calls = self.calls[-(window.size_calls or 0) :]
        else:
            tenth_s = window.size_s / 10
            calls = [call for call in self.calls if now_s // tenth_s - call.at_s // tenth_s < 10]
        return len(calls) >= window.minimum_calls and self.rates_reached(calls, len(calls))

    def is_condemned(self) -> bool:
        if self.rules.window is None:
            return self.probe_reports[-1].is_failure
        return self.rates_reached(self.probe_reports, self.places)

    def rates_reached(self, calls: list[Call], total: int) -> bool:
        window = self.rules.window
        assert window is not None
        failed = Fraction(sum(call.is_failure for call in calls), total)
        slow = Fraction(sum(call.is_slow for call in calls), total)
        return failed >= Fraction(window.failure_rate) or slow >= Fraction(window.slow_call_rate)

    def open(self, now_s: float) -> None:
        self.state, self.open_until_s = BreakerState.OPEN, now_s + self.rules.open_duration_s
        self.era += 1
        self.calls, self.probes_out, self.probe_reports = [], [], []


class BreakerMachine(RuleBasedStateMachine):
    """Drives both with the same steps."""

    @initialize(rules=breaker_settings)
    def build(self, rules: CircuitBreakerSettings) -> None:
        self.rules = rules
        self.clock = ManualClock()
        self.breaker = CircuitBreaker(rules, self.clock)
        self.models = {provider: ModelCircuit(rules) for provider in PROVIDERS}
        self.permits: list[tuple[Permit, ModelPermit]] = []
        self.generations = dict.fromkeys(PROVIDERS, 0)

    @rule(provider=st.sampled_from(PROVIDERS))
    def admit(self, provider: str) -> None:
        model = self.models[provider]
        was_open = model.state is BreakerState.OPEN
        expected = model.admit(self.clock.now_s)
        admission = self.breaker.admit(provider)
        if isinstance(expected, float):
            assert admission == Rejection(provider, expected)
            return
        assert isinstance(admission, Permit)
        assert (admission.provider_id, admission.is_probe) == (provider, expected.is_probe)
        assert admission.half_opened == (was_open and expected.is_probe)
        assert admission.generation >= max(self.generations[provider], expected.era)
        self.generations[provider] = admission.generation
        self.permits.append((admission, expected))

    @precondition(lambda self: self.permits)
    @rule(
        at=st.integers(0, 10_000),
        is_failure=st.booleans(),
        duration_s=st.sampled_from([None, 0.5, 2.0, 3.0]),
    )
    def report(self, at: int, is_failure: bool, duration_s: float | None) -> None:
        permit, expected = self.permits[at % len(self.permits)]
        model = self.models[permit.provider_id]
        transition = None
        if not expected.is_settled:
            limit_s = self.rules.window and self.rules.window.slow_call_duration_s
            is_slow = limit_s is not None and duration_s is not None and duration_s > limit_s
            transition = model.report(expected, Call(self.clock.now_s, is_failure, is_slow))
            expected.is_settled = True
        settle = self.breaker.fail if is_failure else self.breaker.succeed
        assert settle(permit, duration_s) is transition

    @precondition(lambda self: self.permits)
    @rule(at=st.integers(0, 10_000))
    def release(self, at: int) -> None:
        permit, expected = self.permits[at % len(self.permits)]
        if not expected.is_settled:
            self.models[permit.provider_id].release(expected, self.clock.now_s)
            expected.is_settled = True
        self.breaker.release(permit)

    @precondition(lambda self: self.permits)
    @rule(at=st.integers(0, 10_000))
    def drop(self, at: int) -> None:
        self.permits.pop(at % len(self.permits))[1].is_dropped = True

    @rule(step_s=st.integers(1, 20))
    def wait(self, step_s: int) -> None:
        self.clock.now_s += step_s

    @invariant()
    def agree(self) -> None:
        for provider, model in self.models.items():
            assert self.breaker.state(provider) is model.state
            is_ahead = model.state is BreakerState.OPEN and self.clock.now_s < model.open_until_s
            assert self.breaker.open_until_s(provider) == (model.open_until_s if is_ahead else None)


TestBreakerMachine = BreakerMachine.TestCase
TestBreakerMachine.settings = settings(max_examples=80, stateful_step_count=60)
