"""A second provider that answers when the first one cannot."""

from __future__ import annotations

from rich.panel import Panel

from tramapy.cli.demo.answers import plain_answer
from tramapy.cli.demo.prompt_file import PromptFile
from tramapy.cli.demo.scene import Claim, Scene
from tramapy.cli.demo.show_text import printable
from tramapy.cli.demo.stage import BACKUP_MODEL, MODEL, on_stage
from tramapy.cli.demo.timeline import mark_placeholders
from tramapy.errors import TramapyError
from tramapy.hooks.provider import Route
from tramapy.resilience.retry import RetryPolicySettings
from tramapy.testing import HttpRejection

__all__ = ["play"]


def play(prompt: PromptFile) -> Scene:
    """Let the primary provider fail for good, and take the fallback route."""
    down = HttpRejection(status=503, message="down")
    with on_stage(
        prompt,
        [down, down],
        backup=[plain_answer],
        fallbacks={MODEL: [Route("backup", BACKUP_MODEL)]},
        retry=RetryPolicySettings(provider_retries=1),
    ) as stage:
        response = stage.ask("demo-f")
        backup_models = [request.body["model"] for request in stage.backup.requests]
        is_masked_alike = (
            stage.server.requests[0].body["messages"] == stage.backup.requests[0].body["messages"]
        )
    if isinstance(response, TramapyError):
        raise response
    return Scene(
        title="A fallback answers from a second provider",
        body=(
            stage.timeline.table(),
            Panel(mark_placeholders(printable(response.content)), title="what you get", title_align="left"),
        ),
        claims=(
            Claim(f"the backup was asked once, for {BACKUP_MODEL}", backup_models == [BACKUP_MODEL]),
            Claim("it got the same masked prompt as the primary", is_masked_alike),
        ),
    )
