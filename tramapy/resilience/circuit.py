"""The circuit of one provider: closed, open or half open, and the permits that its calls hold."""

from __future__ import annotations

import enum
import weakref
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from tramapy.resilience.tally import Tally

__all__ = ["Admission", "BreakerState", "Circuit", "Permit", "Rejection", "Transition"]


class BreakerState(enum.Enum):
    """Whether calls pass (CLOSED), are turned away (OPEN), or only as probes (HALF_OPEN)."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Transition(enum.Enum):
    """A state change that a report has made. That a circuit went half open shows in `Permit.half_opened`."""

    OPENED = "opened"
    CLOSED = "closed"


class Permit:
    """The right to one call, settled once by the breaker's `succeed`, `fail` or `release`.

    Hold it for as long as the call runs: a probe's permit that is dropped unsettled gives its place away.
    Its attributes are for reading.

    Args:
        provider_id: The provider that may be called.
        generation: The circuit's generation. A report under an outdated one counts for nothing.
        is_probe: Whether this call tries out a provider that was shut off.
        half_opened: Whether this admission moved the circuit from OPEN to HALF_OPEN.
    """

    __slots__ = ("__weakref__", "generation", "half_opened", "is_probe", "is_settled", "provider_id")

    def __init__(
        self, provider_id: str, generation: int, is_probe: bool = False, half_opened: bool = False
    ) -> None:
        self.provider_id: str = provider_id
        self.generation: int = generation
        self.is_probe: bool = is_probe
        self.half_opened: bool = half_opened
        self.is_settled: bool = False

    def __repr__(self) -> str:
        return (
            f"Permit(provider_id={self.provider_id!r}, generation={self.generation}, "
            f"is_probe={self.is_probe}, half_opened={self.half_opened})"
        )


class Rejection(NamedTuple):
    """The provider is shut off. No attempt was made, so this counts on no retry.

    Args:
        provider_id: The provider that may not be called.
        retry_after_s: Seconds until a probe may pass; 0.0 while the probes are out.
    """

    provider_id: str
    retry_after_s: float


Admission: TypeAlias = Permit | Rejection


class Circuit:
    """The state machine of one provider. Not thread-safe: the breaker calls it under its lock.

    The generation rises whenever the circuit opens and whenever a probe's place is given away. A permit of
    the closed circuit counts while its generation is the current one; a probe's counts while it holds its
    place, so that one cancelled probe does not void its siblings.

    Args:
        provider_id: Whose circuit it is.
        tally: What opens it.
        open_duration_s: How long it stays open before a probe may pass.
        reopens_on_neutral: Whether a probe that says nothing opens it again, or only frees its place.
        now_s: The breaker's clock.
    """

    __slots__ = (
        "_failed_probe_count",
        "_now_s",
        "_open_duration_s",
        "_probes_out",
        "_provider_id",
        "_reopens_on_neutral",
        "_reported_probe_count",
        "_slow_probe_count",
        "_tally",
        "closed_generation",
        "generation",
        "open_until_s",
        "state",
    )

    def __init__(
        self,
        provider_id: str,
        *,
        tally: Tally,
        open_duration_s: float,
        reopens_on_neutral: bool,
        now_s: Callable[[], float],
    ) -> None:
        self.state: BreakerState = BreakerState.CLOSED
        self.generation: int = 0
        # The generation while closed, else None: one attribute, so that reading it needs no lock.
        self.closed_generation: int | None = 0
        self.open_until_s: float = 0.0
        self._provider_id = provider_id
        self._tally = tally
        self._open_duration_s = open_duration_s
        self._reopens_on_neutral = reopens_on_neutral
        self._now_s = now_s
        # Weak, so that a permit which nobody can settle any more is seen to be gone: a half-open circuit
        # has no other way out. Since when each is out, oldest first.
        self._probes_out: dict[weakref.ref[Permit], float] = {}
        self._reported_probe_count = self._failed_probe_count = self._slow_probe_count = 0

    def admit(self) -> Admission:
        """Give a permit, or say when to come back."""
        if self.state is _CLOSED:
            return Permit(self._provider_id, self.generation)
        now_s = self._now_s()
        if self.state is _OPEN:
            if now_s < self.open_until_s:
                return Rejection(self._provider_id, self.open_until_s - now_s)
            self.state = _HALF_OPEN
            return self._send_probe(now_s, half_opened=True)
        if self._has_no_place() and not self._give_up_lost_probes(now_s):
            return Rejection(self._provider_id, 0.0)
        return self._send_probe(now_s, half_opened=False)

    def report(self, permit: Permit, is_failure: bool, duration_s: float | None) -> Transition | None:
        """Count the outcome of a call, unless its permit is outdated."""
        is_slow = duration_s is not None and duration_s > self._tally.slow_after_s
        if self.state is not _CLOSED:
            return self._report_probe(permit, is_failure, is_slow)
        if permit.generation != self.generation or not self._tally.record(is_failure, is_slow):
            return None
        self._open(self._now_s())
        return Transition.OPENED

    def release(self, permit: Permit, now_s: float) -> None:
        """Free the place of a probe that says nothing; any other permit leaves no trace."""
        if not self._take_back(permit, now_s):
            return
        if self._reopens_on_neutral:
            self._open(now_s)
        else:
            self.generation += 1

    def _send_probe(self, now_s: float, *, half_opened: bool) -> Permit:
        permit = Permit(self._provider_id, self.generation, True, half_opened)
        self._probes_out[weakref.ref(permit)] = now_s
        return permit

    def _has_no_place(self) -> bool:
        return len(self._probes_out) + self._reported_probe_count >= self._tally.probe_count

    def _give_up_lost_probes(self, now_s: float) -> bool:
        max_probe_s = self._tally.max_probe_s
        lost = [
            probe
            for probe, since_s in self._probes_out.items()
            if probe() is None or now_s - since_s >= max_probe_s
        ]
        for probe in lost:
            del self._probes_out[probe]
        if lost:
            self.generation += 1
        return bool(lost)

    def _report_probe(self, permit: Permit, is_failure: bool, is_slow: bool) -> Transition | None:
        now_s = self._now_s()
        if not self._take_back(permit, now_s):
            return None
        self._reported_probe_count += 1
        self._failed_probe_count += is_failure
        self._slow_probe_count += is_slow
        if self._tally.condemns(self._failed_probe_count, self._slow_probe_count):
            self._open(now_s)
            return Transition.OPENED
        if self._reported_probe_count < self._tally.probe_count:
            return None
        self.state = _CLOSED
        self.closed_generation = self.generation
        return Transition.CLOSED

    def _take_back(self, permit: Permit, now_s: float) -> bool:
        """Take the permit off its place; False where it holds none, or has held it too long to count."""
        since_s = self._probes_out.pop(weakref.ref(permit), None)
        if since_s is None:
            return False
        if now_s - since_s >= self._tally.max_probe_s:
            self.generation += 1
            return False
        return True

    def _open(self, now_s: float) -> None:
        self.state = _OPEN
        self.closed_generation = None
        self.generation += 1
        self.open_until_s = now_s + self._open_duration_s
        self._tally.clear()
        self._probes_out.clear()
        self._reported_probe_count = self._failed_probe_count = self._slow_probe_count = 0


# A member looked up on its class costs 30 ns on CPython 3.11, a global 2.
_CLOSED = BreakerState.CLOSED
_OPEN = BreakerState.OPEN
_HALF_OPEN = BreakerState.HALF_OPEN
