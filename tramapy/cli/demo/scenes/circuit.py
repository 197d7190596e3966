"""A circuit that opens after two failures, turns the next call away, and closes after a probe."""

from __future__ import annotations

from typing import Final

from tramapy.cli.demo.answers import plain_answer
from tramapy.cli.demo.prompt_file import PromptFile
from tramapy.cli.demo.scene import Claim, Scene
from tramapy.cli.demo.stage import on_stage
from tramapy.errors import CircuitBreakerOpenError, ProviderError, TramapyError
from tramapy.hooks import catalogue
from tramapy.resilience.breaker import CircuitBreakerSettings
from tramapy.resilience.retry import RetryPolicySettings
from tramapy.testing import HttpRejection

__all__ = ["play"]

_OPEN_S: Final = 30.0


def play(prompt: PromptFile) -> Scene:
    """Fail twice, be turned away, wait, and succeed."""
    down = HttpRejection(status=503, message="down")
    with on_stage(
        prompt,
        [down, down, plain_answer],
        retry=RetryPolicySettings(provider_retries=0),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=2, open_duration_s=_OPEN_S),
    ) as stage:
        failures = [stage.ask("demo-e1"), stage.ask("demo-e2")]
        turned_away = stage.ask("demo-e3")
        requests_while_open = len(stage.server.requests)
        stage.clock.advance(_OPEN_S)
        probe = stage.ask("demo-e4")
    timeline = stage.timeline
    return Scene(
        title="A circuit opens, so that a provider that is down is left alone",
        body=(timeline.table(),),
        claims=(
            Claim(
                "two failures opened it, and the third call never reached the server",
                all(isinstance(failure, ProviderError) for failure in failures)
                and isinstance(turned_away, CircuitBreakerOpenError)
                and requests_while_open == 2,
            ),
            Claim(
                f"after {_OPEN_S:.0f} s one probe was let through, answered, and closed the circuit",
                not isinstance(probe, TramapyError) and timeline.count(catalogue.CIRCUIT_CLOSED.name) == 1,
            ),
        ),
    )
