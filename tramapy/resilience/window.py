"""`CircuitBreakerWindow`: judge a provider by the rate of failures in a window, not by failures in a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tramapy.keywords import explains_names
from tramapy.resilience.validation import finite_number, fraction, whole_number
from tramapy.values import shown

__all__ = ["CircuitBreakerWindow"]

_DEFAULT_SIZE_CALLS = 100
_MAX_SIZE_CALLS = 100_000  # one byte a call and provider
_MAX_HALF_OPEN_PERMITS = 100  # a rejection while half open looks at every probe that is out


@explains_names
@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitBreakerWindow:
    """The opt-in windowed profile of `CircuitBreakerSettings`.

    Every attempt is reported, not one outcome per route. The circuit opens when the window holds at least
    `minimum_calls` and one of the two rates is reached. It closes again when `half_open_permits` probes have
    answered and neither rate is reached among them; it reopens as soon as that is out of the question.

    Args:
        size_calls: A window over the last calls, at most 100,000; 100 where neither size is given.
        size_s: A window over the last seconds instead, at least 1. It moves on in tenths of its length.
        failure_rate: The share of failed calls that opens the circuit, above 0 and up to 1.
        minimum_calls: The fewest calls in the window that say anything.
        slow_call_duration_s: A call that took longer is slow, whether it failed or not; None: none is slow.
        slow_call_rate: The share of slow calls that opens the circuit, above 0 and up to 1.
        half_open_permits: How many probes a half-open circuit lets through, at most 100.
        max_probe_s: A probe that is out this long counts as lost and its place is given to the next caller.
            Set it above the longest attempt that you allow.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field is out of range, both sizes are given, or `minimum_calls` could never be reached.
    """

    size_calls: int | None = None
    size_s: float | None = None
    failure_rate: float = 0.5
    minimum_calls: int = 10
    slow_call_duration_s: float | None = None
    slow_call_rate: float = 1.0
    half_open_permits: int = 3
    max_probe_s: float = 120.0

    def __post_init__(self) -> None:
        self._check_sizes()
        for name in ("failure_rate", "slow_call_rate"):
            self._set(name, fraction(_field(name), getattr(self, name)))
        self._set("max_probe_s", finite_number(_field("max_probe_s"), self.max_probe_s))
        if self.slow_call_duration_s is not None:
            duration_s = finite_number(_field("slow_call_duration_s"), self.slow_call_duration_s)
            self._set("slow_call_duration_s", duration_s)
        whole_number(
            _field("half_open_permits"), self.half_open_permits, minimum=1, maximum=_MAX_HALF_OPEN_PERMITS
        )

    @property
    def kind(self) -> Literal["count", "time"]:
        """What the window spans: the last calls, or the last seconds."""
        return "count" if self.size_s is None else "time"

    @property
    def size(self) -> float:
        """The size in force: calls in a `count` window, seconds in a `time` window."""
        if self.size_s is not None:
            return self.size_s
        return _DEFAULT_SIZE_CALLS if self.size_calls is None else self.size_calls

    def _check_sizes(self) -> None:
        whole_number(_field("minimum_calls"), self.minimum_calls, minimum=1)
        if self.size_s is not None:
            if self.size_calls is not None:
                raise ValueError("CircuitBreakerWindow takes size_calls or size_s, not both; leave one out")
            self._set(
                "size_s", finite_number(_field("size_s"), self.size_s, minimum=1.0, may_equal_minimum=True)
            )
            return
        if self.size_calls is not None:
            whole_number(_field("size_calls"), self.size_calls, minimum=1, maximum=_MAX_SIZE_CALLS)
        if self.minimum_calls > self.size:
            raise ValueError(
                f"CircuitBreakerWindow.minimum_calls is {shown(self.minimum_calls)}, more than size_calls "
                f"({self.size}), so the circuit could never open; lower it, or widen the window"
            )

    def _set(self, name: str, value: float) -> None:
        object.__setattr__(self, name, value)


def _field(name: str) -> str:
    return f"CircuitBreakerWindow.{name}"
