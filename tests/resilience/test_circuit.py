"""The circuit without its breaker: what only a race between threads would show."""

from __future__ import annotations

from tests.resilience.driving import ManualClock
from tramapy.resilience.circuit import BreakerState, Circuit, Permit, Transition
from tramapy.resilience.tally import ConsecutiveTally


def test_a_caller_that_waited_while_the_circuit_closed_is_admitted():
    """The breaker saw it half open, waited for the lock, and asks a circuit that has closed meanwhile."""
    clock = ManualClock()
    circuit = Circuit(
        "p", tally=ConsecutiveTally(1), open_duration_s=100.0, reopens_on_neutral=False, now_s=clock
    )
    failing = circuit.admit()
    assert isinstance(failing, Permit)
    assert circuit.report(failing, True, None) is Transition.OPENED
    clock.now_s = 100.0
    probe = circuit.admit()
    assert isinstance(probe, Permit)
    assert circuit.report(probe, False, None) is Transition.CLOSED
    waiting = circuit.admit()
    assert isinstance(waiting, Permit)
    assert (waiting.generation, waiting.is_probe) == (1, False)
    assert circuit.state is BreakerState.CLOSED
