"""`CircuitBreaker`: stop calling a provider that keeps failing, and find out with a probe when it is back."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from tramapy.cancellation import leaves
from tramapy.errors import (
    ConfigurationError,
    DlpInspectionError,
    InterceptorError,
    ProviderError,
    TokenBudgetExceededError,
)
from tramapy.forks import renew_after_fork
from tramapy.keywords import explains_names
from tramapy.resilience.circuit import Admission, BreakerState, Circuit, Permit, Rejection, Transition
from tramapy.resilience.tally import ConsecutiveTally, CountTally, Tally, TimeTally
from tramapy.resilience.validation import finite_number, whole_number
from tramapy.resilience.window import CircuitBreakerWindow

__all__ = [
    "Admission",
    "BreakerState",
    "CircuitBreaker",
    "CircuitBreakerSettings",
    "CircuitBreakerWindow",
    "Permit",
    "Rejection",
    "Transition",
    "counts",
]

LONGEST_PROBE_S: Final = 120.0
"""How long the default profile waits for a probe, or `open_duration_s` where that is longer."""

_NEUTRAL_CAUSES = (ConfigurationError, DlpInspectionError, InterceptorError, TokenBudgetExceededError)


@explains_names
@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitBreakerSettings:
    """When a provider is shut off, and for how long.

    Args:
        enabled: False admits every call and counts nothing.
        failure_threshold: So many failures with no success between them open the circuit, at least 1. Neutral
            ends in between do not reset the count. Not used with `window`.
        open_duration_s: How long the circuit stays open before a probe may pass, more than 0.
        neutral_probe: What a probe does that ends without a word on the provider's health (a cancellation, a
            DLP refusal): `release` frees its place at once; `reopen` shuts the provider off for another
            `open_duration_s`, as the original does.
        window: Judges by the rate of failures in a window instead; see `CircuitBreakerWindow`.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field is out of range.
    """

    enabled: bool = True
    failure_threshold: int = 3
    open_duration_s: float = 30.0
    neutral_probe: Literal["release", "reopen"] = "release"
    window: CircuitBreakerWindow | None = None

    def __post_init__(self) -> None:
        _require_type("enabled", self.enabled, bool)
        if self.window is not None:
            _require_type("window", self.window, CircuitBreakerWindow)
        whole_number("CircuitBreakerSettings.failure_threshold", self.failure_threshold, minimum=1)
        duration_s = finite_number("CircuitBreakerSettings.open_duration_s", self.open_duration_s)
        object.__setattr__(self, "open_duration_s", duration_s)
        if self.neutral_probe not in ("release", "reopen"):
            raise ValueError("CircuitBreakerSettings.neutral_probe is unknown; give 'release' or 'reopen'")


class CircuitBreaker:
    """Circuits by provider id; one breaker serves a whole pipeline, from any thread.

    Ask `admit` before each route (windowed: before each attempt; see `reports_each_attempt`), call without
    any lock, and settle the permit::

        admission = breaker.admit("openai")
        if isinstance(admission, Rejection):
            ...  # the next route
        else:
            try:
                ...  # call; then breaker.succeed(admission) or breaker.fail(admission)
            finally:
                breaker.release(admission)  # does nothing to a settled permit

    Args:
        settings: What opens a circuit.
        now_s: A monotonic clock in seconds; the only one that is read.
    """

    def __init__(self, settings: CircuitBreakerSettings, now_s: Callable[[], float]) -> None:
        self._settings = settings
        self._is_enabled = settings.enabled
        self._now_s = now_s
        self._lock = threading.Lock()
        renew_after_fork(self, type(self)._renew)
        self._circuits: dict[str, Circuit] = {}
        self._released: deque[tuple[Permit, float]] = deque()

    @property
    def reports_each_attempt(self) -> bool:
        """Whether each attempt wants its own permit and report, rather than the whole route one."""
        return self._settings.window is not None

    def admit(self, provider_id: str) -> Admission:
        """Ask to call a provider; to ask leaves no trace where its circuit is closed."""
        circuit = self._circuits.get(provider_id)
        if circuit is None:
            return Permit(provider_id, 0)
        # Without the lock, which costs as much as the rest on CPython 3.11: one atomic read tells both that
        # the circuit is closed and its generation. Where it opens right after, the permit is outdated.
        generation = circuit.closed_generation
        if generation is not None:
            return Permit(provider_id, generation)
        with self._lock:
            self._settle_released()
            return circuit.admit()

    def succeed(self, permit: Permit, duration_s: float | None = None) -> Transition | None:
        """Report that the call went well.

        Args:
            permit: What `admit` gave.
            duration_s: How long the call took; only a window with `slow_call_duration_s` looks at it.

        Returns:
            CLOSED where this report closed the circuit. OPENED is possible in a windowed profile, where a
            good call may be slow, or be the one that completes `minimum_calls`.
        """
        return self._report(permit, False, duration_s)

    def fail(self, permit: Permit, duration_s: float | None = None) -> Transition | None:
        """Report a failure of the provider, one for which `counts` is true; see `succeed`.

        Returns:
            OPENED where this very report opened the circuit.
        """
        return self._report(permit, True, duration_s)

    def release(self, permit: Permit) -> None:
        """End a call that says nothing about the provider; does nothing to a settled or outdated permit.

        It never waits, so a finalizer may call it even where it interrupts another call of this breaker on
        the same thread. (`admit`, `succeed` and `fail` must not be called from a finalizer.)
        """
        if permit.is_settled or not self._is_enabled:
            return
        self._released.append((permit, self._now_s()))
        if self._lock.acquire(blocking=False):
            try:
                self._settle_released()
            finally:
                self._lock.release()

    def open_until_s(self, provider_id: str) -> float | None:
        """Return when an open circuit lets a probe pass, in the clock's time; None where one may pass now.

        None for a circuit that is closed, half open, unknown or disabled, too. Admits nothing.
        """
        with self._lock:
            self._settle_released()
            circuit = self._circuits.get(provider_id)
            if circuit is None or circuit.state is not BreakerState.OPEN:
                return None
            return circuit.open_until_s if self._now_s() < circuit.open_until_s else None

    def state(self, provider_id: str) -> BreakerState:
        """Return the state; an open circuit stays OPEN until a call is admitted as the probe."""
        with self._lock:
            self._settle_released()
            circuit = self._circuits.get(provider_id)
            return BreakerState.CLOSED if circuit is None else circuit.state

    def _report(self, permit: Permit, is_failure: bool, duration_s: float | None) -> Transition | None:
        with self._lock:
            if self._released:
                self._settle_released()
            if permit.is_settled:
                return None
            permit.is_settled = True
            circuit = self._circuits.get(permit.provider_id)
            if circuit is None:
                if not self._is_enabled or not (is_failure or self.reports_each_attempt):
                    return None
                circuit = self._new_circuit(permit.provider_id)
            return circuit.report(permit, is_failure, duration_s)

    def _settle_released(self) -> None:
        """Apply what `release` could not, because the lock was taken; in order, before anything else."""
        while self._released:
            permit, released_at_s = self._released.popleft()
            permit.is_settled = True
            circuit = self._circuits.get(permit.provider_id)
            if circuit is not None:
                circuit.release(permit, released_at_s)

    def _renew(self) -> None:
        """Take a new lock, in a forked child where the thread that held the old one does not exist."""
        self._lock = threading.Lock()

    def _new_circuit(self, provider_id: str) -> Circuit:
        circuit = self._circuits[provider_id] = Circuit(
            provider_id,
            tally=self._new_tally(),
            open_duration_s=self._settings.open_duration_s,
            reopens_on_neutral=self._settings.neutral_probe == "reopen",
            now_s=self._now_s,
        )
        return circuit

    def _new_tally(self) -> Tally:
        window = self._settings.window
        if window is None:
            settings = self._settings
            # The original waits for ever. A stream that answered and is not read on must not shut everybody out.
            waits_for_ever = settings.neutral_probe == "reopen"
            max_probe_s = math.inf if waits_for_ever else max(LONGEST_PROBE_S, settings.open_duration_s)
            return ConsecutiveTally(settings.failure_threshold, max_probe_s)
        return CountTally(window) if window.kind == "count" else TimeTally(window, self._now_s)


def counts(error: BaseException) -> bool:
    """Tell whether `error` speaks against its provider's health: `fail` if so, otherwise `release`.

    Only a `ProviderError` with `counts_on_breaker` does, and in a group every single error must: neutral
    wins. Neutral, too, is a provider error raised from one of ours that is the caller's or the content's
    fault. A cancellation as the cause says nothing, since every timeout is raised from one.
    """
    return all(
        isinstance(leaf, ProviderError)
        and leaf.counts_on_breaker
        and not any(isinstance(cause, _NEUTRAL_CAUSES) for cause in _causes(leaf))
        for leaf in leaves(error)
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the explicit causes of an error, each once: a chain may be a ring."""
    seen = {id(error)}
    cause = error.__cause__
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__


def _require_type(name: str, value: object, kind: type[object]) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"CircuitBreakerSettings.{name} takes a {kind.__name__}, not {type(value).__name__}")
