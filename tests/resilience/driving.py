"""What the breaker tests share: a clock that is set by hand, and the steps that an engine makes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from tramapy.resilience.breaker import (
    CircuitBreaker,
    CircuitBreakerSettings,
    CircuitBreakerWindow,
    Permit,
    Rejection,
    Transition,
    counts,
)

T = TypeVar("T")

BARRIER_TIMEOUT_S = 30.0  # never waited for: a broken barrier fails the test instead of hanging it


class ManualClock:
    """A clock that stands still until it is told otherwise; `on_read` runs once, at the next read."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.read_count = 0
        self.on_read: Callable[[], None] | None = None

    def __call__(self) -> float:
        self.read_count += 1
        hook, self.on_read = self.on_read, None
        if hook is not None:
            hook()
        return self.now_s


def breaker_of(clock: Callable[[], float], **settings: object) -> CircuitBreaker:
    """Build a breaker; open for 100 s unless told otherwise."""
    return CircuitBreaker(CircuitBreakerSettings(**{"open_duration_s": 100.0, **settings}), clock)


def windowed(
    clock: Callable[[], float], *, neutral_probe: str = "release", **window: object
) -> CircuitBreaker:
    """Build a breaker with a small window: 10 calls, at least 4, half of them failed; 1 probe."""
    fields = {"minimum_calls": 4, "half_open_permits": 1, **window}
    if "size_s" not in fields:
        fields.setdefault("size_calls", 10)
    return breaker_of(clock, neutral_probe=neutral_probe, window=CircuitBreakerWindow(**fields))


def permit_of(breaker: CircuitBreaker, provider_id: str = "p") -> Permit:
    """Ask for a permit that must be given."""
    admission = breaker.admit(provider_id)
    assert isinstance(admission, Permit)
    return admission


def rejection_of(breaker: CircuitBreaker, provider_id: str = "p") -> Rejection:
    """Ask for a permit that must be refused."""
    admission = breaker.admit(provider_id)
    assert isinstance(admission, Rejection)
    return admission


def is_admitted(breaker: CircuitBreaker, provider_id: str = "p") -> bool:
    """Ask, and give back what was given."""
    admission = breaker.admit(provider_id)
    if isinstance(admission, Rejection):
        return False
    breaker.release(admission)
    return True


def fail_once(breaker: CircuitBreaker, provider_id: str = "p") -> Transition | None:
    """Make a call that fails."""
    return breaker.fail(permit_of(breaker, provider_id))


def succeed_once(breaker: CircuitBreaker, provider_id: str = "p") -> Transition | None:
    """Make a call that goes well."""
    return breaker.succeed(permit_of(breaker, provider_id))


def end_with(breaker: CircuitBreaker, permit: Permit, error: BaseException) -> Transition | None:
    """End a call with an error the way the engine does: it counts, or it is neutral."""
    if counts(error):
        return breaker.fail(permit)
    breaker.release(permit)
    return None


def at_once(step: Callable[[int], T], count: int) -> list[T]:
    """Run `step(0)` … `step(count - 1)` in threads that all start at one barrier; return what they return."""
    barrier = threading.Barrier(count)
    results: list[T | None] = [None] * count
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            barrier.wait(BARRIER_TIMEOUT_S)
            results[number] = step(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BARRIER_TIMEOUT_S)
    assert not errors, errors
    assert not any(thread.is_alive() for thread in threads)
    return results  # type: ignore[return-value]  # every step has run, or an assertion above has failed
