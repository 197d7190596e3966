"""What a privileged observer gets, and how little of it shows by accident."""

from __future__ import annotations

from tramapy import EngineEventObserver, FailureDiagnostic, FailureDiagnosticObserver, RuntimeEvent
from tramapy.hooks.event_model import RuntimeEventDefinition, RuntimeEventDomain


def test_a_diagnostic_shows_where_and_which_type_and_no_text() -> None:
    diagnostic = FailureDiagnostic(
        extension_point="dlp", callback="inspect", correlation_id="c1", error=ValueError("secret")
    )
    assert repr(diagnostic) == "FailureDiagnostic(dlp.inspect, error=ValueError, correlation_id='c1')"
    assert (diagnostic.provider_id, diagnostic.attempt) == (None, None)


def test_an_observer_that_overrides_nothing_takes_everything() -> None:
    diagnostic = FailureDiagnostic(
        extension_point="dlp", callback="inspect", correlation_id="c1", error=ValueError()
    )
    FailureDiagnosticObserver().on_failure(diagnostic)
    event = RuntimeEvent.of(RuntimeEventDefinition(name="acme.event", domain=RuntimeEventDomain.ENGINE), {})
    EngineEventObserver().on_runtime_event(event)
    assert EngineEventObserver().provider_call_scope(event) is None
