"""What the circuit breaker costs a call, in CPU time: `python -m benchmarks.breaker`.

Every case runs in turn in every round, so that a busy machine slows all of them alike; the table shows
medians, and each case beside a bare function call. Other breakers are measured where they are installed.
"""

from __future__ import annotations

import importlib
import statistics
import time
import tracemalloc
from collections.abc import Callable

from tramapy.resilience.breaker import CircuitBreaker, CircuitBreakerSettings, CircuitBreakerWindow

ROUNDS = 9
CALLS_PER_ROUND = 20_000
REJECTION_COUNT = 100_000
BARE_CALL = "bare function call"

Step = Callable[[], object]


def main() -> None:
    """Print the table."""
    print(f"{'CPU per call':<44}{'µs':>8}{'x bare':>9}")
    medians_us = measure(our_cases() | other_cases())
    for name, median_us in medians_us.items():
        print(f"{name:<44}{median_us:>8.3f}{median_us / medians_us[BARE_CALL]:>9.1f}")
    first_us, last_us, growth_bytes = rejection_drift()
    print(
        f"\n{REJECTION_COUNT:,} rejections: the first tenth {first_us:.3f} µs each, the last tenth "
        f"{last_us:.3f} µs each, {growth_bytes:,} bytes left behind"
    )


def measure(cases: dict[str, Step]) -> dict[str, float]:
    """Return the median microseconds of CPU per call, by case."""
    rounds: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(ROUNDS):
        for name, step in cases.items():
            rounds[name].append(cpu_us_per_call(step, CALLS_PER_ROUND))
    return {name: statistics.median(times_us) for name, times_us in rounds.items()}


def cpu_us_per_call(step: Step, count: int) -> float:
    """Time one round, without the cost of the loop itself."""
    started_s = time.thread_time()
    for _ in range(count):
        pass
    loop_s = time.thread_time() - started_s
    started_s = time.thread_time()
    for _ in range(count):
        step()
    return (time.thread_time() - started_s - loop_s) / count * 1e6


def our_cases() -> dict[str, Step]:
    """The breaker's own paths."""
    count_window = CircuitBreakerWindow(size_calls=100, slow_call_duration_s=5.0)
    time_window = CircuitBreakerWindow(size_s=60.0, slow_call_duration_s=5.0)
    return {
        BARE_CALL: call,
        "closed, default: admit + succeed": admitted(breaker_of()),
        "closed, default, one failure on the count": admitted(with_a_failure(breaker_of())),
        "closed, count window: admit + succeed": admitted(with_a_failure(breaker_of(window=count_window))),
        "closed, time window: admit + succeed": admitted(with_a_failure(breaker_of(window=time_window))),
        "closed, default: admit + release": released(breaker_of()),
        "disabled: admit + succeed": admitted(breaker_of(enabled=False)),
        "open: rejection": rejected(opened()),
    }


def other_cases() -> dict[str, Step]:
    """The closed path of other breakers that happen to be installed."""
    cases: dict[str, Step] = {}
    try:
        pybreaker = importlib.import_module("pybreaker").CircuitBreaker(fail_max=3)
        cases["pybreaker: call"] = lambda: pybreaker.call(call)
    except ImportError:
        pass
    try:
        factory = importlib.import_module("purgatory").SyncCircuitBreakerFactory(default_threshold=3)
        purgatory = factory.get_breaker("openai")

        def with_purgatory() -> None:
            with purgatory:
                call()

        cases["purgatory: context"] = with_purgatory
    except ImportError:
        pass
    return cases


def rejection_drift() -> tuple[float, float, int]:
    """Return the cost of the first and the last rejections, and the memory that all of them left."""
    reject = rejected(opened())
    tenth = REJECTION_COUNT // 10
    costs_us = [cpu_us_per_call(reject, tenth) for _ in range(10)]
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    cpu_us_per_call(reject, REJECTION_COUNT)
    growth_bytes = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return costs_us[0], costs_us[-1], growth_bytes


def call() -> None:
    """Stand for a provider call that costs nothing."""


def breaker_of(**settings: object) -> CircuitBreaker:
    """Build a breaker on the real clock."""
    return CircuitBreaker(CircuitBreakerSettings(**settings), time.monotonic)


def with_a_failure(breaker: CircuitBreaker) -> CircuitBreaker:
    """Put a failure on the count, so that the circuit has a state to look at."""
    permit = breaker.admit("openai")
    breaker.fail(permit)
    return breaker


def opened() -> CircuitBreaker:
    """Return a breaker that stays open for the whole run."""
    return with_a_failure(breaker_of(failure_threshold=1, open_duration_s=3600.0))


def admitted(breaker: CircuitBreaker) -> Step:
    """Ask, and report a success."""
    admit, succeed = breaker.admit, breaker.succeed
    return lambda: succeed(admit("openai"), 0.2)


def released(breaker: CircuitBreaker) -> Step:
    """Ask, and report nothing."""
    admit, release = breaker.admit, breaker.release
    return lambda: release(admit("openai"))


def rejected(breaker: CircuitBreaker) -> Step:
    """Ask in vain."""
    admit = breaker.admit
    return lambda: admit("openai")


if __name__ == "__main__":
    main()
