"""A DLP interceptor that rejects what a healthy provider says: the breaker hears nothing of it."""

from __future__ import annotations

from typing import Final

from tramapy.cli.demo.answers import plain_answer
from tramapy.cli.demo.prompt_file import PromptFile
from tramapy.cli.demo.scene import Claim, Scene
from tramapy.cli.demo.stage import on_stage
from tramapy.errors import DlpInspectionError, TramapyError
from tramapy.hooks import catalogue
from tramapy.hooks.dlp import DlpContentType, DlpContext, DlpInterceptor, DlpResult
from tramapy.resilience.breaker import CircuitBreakerSettings
from tramapy.testing import ServerRequest

__all__ = ["play"]

_MARK: Final = "DEMO//CLASSIFIED"
_THRESHOLD: Final = 2


def play(prompt: PromptFile) -> Scene:
    """Have three answers rejected, one more than the breaker would forgive, and then ask again."""
    with on_stage(
        prompt,
        [_classified, _classified, _classified, plain_answer],
        dlp=_RejectClassified(),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=_THRESHOLD),
    ) as stage:
        rejections = [stage.ask(f"demo-g{number}") for number in range(1, 4)]
        answer = stage.ask("demo-g4")
        request_count = len(stage.server.requests)
    timeline = stage.timeline
    return Scene(
        title="A DLP rejection is nobody's failure: the breaker does not move",
        body=(timeline.table(),),
        claims=(
            Claim(
                "three answers were withheld, with no retry and no fallback",
                all(isinstance(rejection, DlpInspectionError) for rejection in rejections)
                and request_count == 4,
            ),
            Claim(
                f"the breaker, which opens after {_THRESHOLD} failures, never did",
                timeline.count(catalogue.CIRCUIT_OPENED.name) == 0,
            ),
            Claim("the next answer came from the same provider", not isinstance(answer, TramapyError)),
        ),
    )


def _classified(request: ServerRequest) -> str:
    return f"{_MARK}: {plain_answer(request)}"


class _RejectClassified(DlpInterceptor):
    """Rejects answers that bear a mark."""

    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        if context.content_type is DlpContentType.MODEL_OUTPUT and _MARK in text:
            raise DlpInspectionError("The model's answer bears a classification mark")
        return DlpResult(text)
