"""What DLP redacts in an answer, and in the arguments of a tool call that the model proposes."""

from __future__ import annotations

from rich.panel import Panel
from rich.text import Text

from tramapy.cli.demo.answers import PLANTED, leaking_answer, redaction_rule_ids
from tramapy.cli.demo.prompt_file import PromptFile
from tramapy.cli.demo.scene import Claim, Scene
from tramapy.cli.demo.show_text import printable
from tramapy.cli.demo.stage import Stage, on_stage
from tramapy.cli.demo.timeline import mark_placeholders
from tramapy.errors import TramapyError
from tramapy.hooks import catalogue
from tramapy.messages import ModelResponse

__all__ = ["play"]


def play(prompt: PromptFile) -> Scene:
    """Ask a model that lets secrets slip."""
    with on_stage(prompt, [leaking_answer]) as stage:
        response = stage.ask("demo-b")
    if isinstance(response, TramapyError):
        raise response
    arguments = response.tool_calls[0].arguments_json
    answer = f"{response.content}\n\ntool call {response.tool_calls[0].name}({arguments})"
    return Scene(
        title="DLP redacts what the model lets slip",
        body=(
            Panel(mark_placeholders(printable(answer)), title="what you get", title_align="left"),
            Text(
                f"The model said {len(PLANTED) + 1} secrets; no hook after DLP and no caller ever sees them.",
                "dim",
            ),
            stage.timeline.table(),
        ),
        claims=_claims(stage, response),
    )


def _claims(stage: Stage, response: ModelResponse) -> tuple[Claim, ...]:
    got = response.content + response.tool_calls[0].arguments_json
    redacted = [
        event.attributes for event in stage.timeline.events if event.name == catalogue.DLP_REDACTED.name
    ]
    rules = [attributes["rule_id"] for attributes in redacted]
    return (
        Claim("no secret of the model's is in the answer", not any(secret in got for secret in PLANTED)),
        Claim(
            f"every redaction has its evidence: rule and count, {len(redacted)} events",
            rules == [*redaction_rule_ids(), "us_ssn"],
        ),
        Claim(
            "the tool call is still JSON and still asks for the same tool",
            response.tool_calls[0].arguments_json.startswith('{"ssn": "[REDACTED:us_ssn]"'),
        ),
    )
