"""Every event of one operation, with its attributes, in the order in which an observer hears them."""

from __future__ import annotations

from typing import Final

from rich.table import Table
from rich.text import Text

from tramapy.cli.demo.answers import PLANTED, leaking_answer
from tramapy.cli.demo.masking import find_sensitive
from tramapy.cli.demo.prompt_file import PromptFile
from tramapy.cli.demo.scene import Claim, Scene
from tramapy.cli.demo.stage import on_stage
from tramapy.cli.event_lines import HeardEvent
from tramapy.hooks.catalogue import CATALOGUE
from tramapy.hooks.event_model import RuntimeEvent
from tramapy.testing import HttpRejection

__all__ = ["play"]

# how long it took on the demo's clock says nothing, and the id is the same everywhere
_LEFT_OUT: Final = frozenset({"correlation_id", "duration_millis", "first_chunk_millis"})
_CORRELATION_ID: Final = "demo-h"


def play(prompt: PromptFile) -> Scene:
    """Fail once, answer once, and list what an observer heard."""
    with on_stage(prompt, [HttpRejection(status=503), leaking_answer]) as stage:
        stage.ask(_CORRELATION_ID)
    heard = stage.timeline.events
    secrets = [*PLANTED, *(prompt.text[span.start : span.end] for span in find_sensitive(prompt.text))]
    values = [str(value) for event in heard for value in event.attributes.values()]
    return Scene(
        title="What an observer hears, event by event",
        body=(
            _table(heard),
            Text("Durations are left out; `tramapy events` lists the whole catalogue.", "dim"),
        ),
        claims=(
            Claim(
                f"all {len(heard)} events carry correlation_id={_CORRELATION_ID}",
                all(event.attributes["correlation_id"] == _CORRELATION_ID for event in heard),
            ),
            Claim("each is as the catalogue declares it", all(map(_is_declared, heard))),
            Claim(
                "no attribute holds a secret, of the prompt or of the answer",
                not any(secret in value for secret in secrets for value in values),
            ),
        ),
    )


def _is_declared(event: HeardEvent) -> bool:
    return bool(RuntimeEvent.of(CATALOGUE.get(event.name), event.attributes))


def _table(events: list[HeardEvent]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("event", style="cyan", no_wrap=True)
    table.add_column("attributes")
    for event in events:
        attributes = Text()
        for name, value in event.attributes.items():
            if name not in _LEFT_OUT:
                attributes.append(f"{name}=", "dim").append(f"{value}  ")
        table.add_row(event.name, attributes)
    return table
