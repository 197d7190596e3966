"""What retry, fallback and breaker should do, written down a second time and as plainly as possible.

One operation at a time; no event loop, no permits, no generations.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Outcome:
    """What one provider call does.

    Args:
        kind: `ok`, `fail` (retryable), `timeout`, `permanent`, `defect` (raises what no provider raises),
            `inner-open` (a breaker of its own is open) or `refused` (DLP rejects the answer).
        took_s: How long it takes.
        hint_s: The hint of a retryable failure.
    """

    kind: str
    took_s: float = 0.0
    hint_s: float | None = None


@dataclass
class Circuit:
    """One provider's breaker: in a row where `window` is None, else by the rate over the last calls."""

    threshold: int
    open_s: float
    window: int | None
    state: str = "closed"
    until_s: float = 0.0
    failures: int = 0
    calls: list[bool] = field(default_factory=list)

    def report(self, failed: bool, now_s: float) -> str | None:
        """Count an outcome; return `opened` or `closed` where it changed the state."""
        if self.state == "half_open":
            if failed:
                return self._open(now_s)
            self.state = "closed"
            return "closed"
        if self.window is None:
            self.failures = self.failures + 1 if failed else 0
            return self._open(now_s) if self.failures >= self.threshold else None
        self.calls = [*self.calls, failed][-self.window :]
        is_bad = len(self.calls) >= 2 and sum(self.calls) / len(self.calls) >= 0.5
        return self._open(now_s) if is_bad and any(self.calls) else None

    def _open(self, now_s: float) -> str:
        self.state, self.until_s = "open", now_s + self.open_s
        self.failures, self.calls = 0, []
        return "opened"


@dataclass
class Settings:
    """What the facade is given."""

    routes: tuple[str, ...]
    retries: int
    cap_s: float
    deadline_s: float | None
    threshold: int | None
    open_s: float
    window: int | None


@dataclass
class Story:
    """What one operation did."""

    calls: list[tuple[str, int]] = field(default_factory=list)
    sleeps: list[float] = field(default_factory=list)
    circuits: list[tuple[str, str]] = field(default_factory=list)
    result: str = ""
    call_of_result: int | None = None
    attempt_count: int = 0


class DispatchModel:
    """Tells the story of each operation, given what the providers will do, in the order in which they are asked."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.now_s = 0.0
        self.circuits = {
            name: Circuit(settings.threshold or 1, settings.open_s, settings.window)
            for name in settings.routes
        }

    def operate(self, outcomes: list[Outcome]) -> Story:
        """Run one operation; `outcomes` is used up from its front."""
        return _Run(self, list(outcomes)).story()


class _Run:
    def __init__(self, model: DispatchModel, outcomes: list[Outcome]) -> None:
        self.model = model
        self.settings = model.settings
        self.outcomes = outcomes
        self.tale = Story()
        deadline_s = model.settings.deadline_s
        self.deadline_at_s = None if deadline_s is None else model.now_s + deadline_s
        self.last_failure: int | None = None
        self.last_rejection: str | None = None
        self.ran_out_of_time = False

    def story(self) -> Story:
        for route in self.settings.routes:
            if self._route(route):
                return self.tale
        if self.last_failure is not None:
            kind = "deadline" if self.ran_out_of_time else "failure"
            self._end(kind, self.last_failure)
        else:
            self._end(f"open {self.last_rejection}")
        return self.tale

    def _end(self, result: str, call: int | None = None) -> bool:
        self.tale.result, self.tale.call_of_result = result, call
        return True

    def _route(self, name: str) -> bool:
        """Go one route; True where the operation is over."""
        if self._is_late():
            return self._end("deadline", self.last_failure)
        if not self._admitted(name):
            return False
        for retry in range(self.settings.retries + 1):
            number = self.tale.attempt_count
            self.tale.attempt_count += 1
            outcome = self.outcomes.pop(0)
            self.tale.calls.append((name, number))
            self.model.now_s += outcome.took_s
            if outcome.kind == "ok":
                self._report(name, failed=False)
                return self._end("ok", number)
            if outcome.kind in ("permanent", "defect", "refused"):
                return self._end(outcome.kind, number)
            if outcome.kind == "inner-open":
                self.last_rejection = name
                return False
            if outcome.kind == "timeout" and self._is_late():
                return self._end("deadline", self.last_failure)
            delay_s = self._delay(outcome, retry)
            if self.settings.window is not None or delay_s is None:
                self._report(name, failed=True)
            self.last_failure = number
            if delay_s is None or self._stays_open(name, delay_s):
                return False
            self.tale.sleeps.append(delay_s)
            self.model.now_s += delay_s
            self.ran_out_of_time = False
            if self.settings.window is not None and not self._admitted(name):
                return False
        raise AssertionError("the last retry has no delay")

    def _delay(self, outcome: Outcome, retry: int) -> float | None:
        """Return the wait before the next try, or None where there is none on this route."""
        self.ran_out_of_time = False
        if retry == self.settings.retries:
            return None
        if outcome.hint_s is None:
            delay_s = (0.05, 0.1, 0.2, 0.4)[retry]
        elif outcome.hint_s > self.settings.cap_s:
            return None
        else:
            delay_s = outcome.hint_s
        if self.deadline_at_s is not None and self.model.now_s + delay_s >= self.deadline_at_s:
            self.ran_out_of_time = True
            return None
        return delay_s

    def _is_late(self) -> bool:
        return self.deadline_at_s is not None and self.model.now_s >= self.deadline_at_s

    def _admitted(self, name: str) -> bool:
        circuit = self.model.circuits[name]
        if self.settings.threshold is None or circuit.state != "open":
            return True
        if self.model.now_s < circuit.until_s:
            self.last_rejection = name
            self.tale.circuits.append(("rejected", name))
            return False
        circuit.state = "half_open"
        self.tale.circuits.append(("half_opened", name))
        return True

    def _report(self, name: str, *, failed: bool) -> None:
        if self.settings.threshold is None:
            return
        change = self.model.circuits[name].report(failed, self.model.now_s)
        if change is not None:
            self.tale.circuits.append((change, name))

    def _stays_open(self, name: str, delay_s: float) -> bool:
        circuit = self.model.circuits[name]
        is_open = self.settings.threshold is not None and circuit.state == "open"
        return is_open and circuit.until_s > self.model.now_s + delay_s


def states(model: DispatchModel) -> dict[str, str]:
    """Return each circuit's state by name."""
    return {name: circuit.state for name, circuit in model.circuits.items()}


def fields(settings: Settings) -> dict[str, object]:
    """Return settings as a mapping, for a failure's report."""
    return dataclasses.asdict(settings)
