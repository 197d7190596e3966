"""`Timeline`: hears the engine's events and turns them into lines that a person likes to read."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from tramapy.cli.event_lines import Attributes, HeardEvent, in_reading_order, line_of
from tramapy.hooks import catalogue
from tramapy.hooks.clock import Clock
from tramapy.hooks.events import EngineEventObserver

__all__ = ["Timeline", "mark_placeholders"]


class Timeline(EngineEventObserver):
    """Keeps every event in order.

    Args:
        clock: The demo's clock; it stands still but for waits.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.events: list[HeardEvent] = []

    def on_engine_event(self, name: str, attributes: Attributes) -> None:
        """Take an event."""
        self.events.append(HeardEvent(at_s=self._clock.now_s(), name=name, attributes=dict(attributes)))

    def count(self, name: str) -> int:
        """Return how often an event of that name came."""
        return sum(event.name == name for event in self.events)

    def table(self) -> Table:
        """Show what happened, one line an event; what follows from a failure comes after it."""
        table = Table.grid(padding=(0, 1))
        table.add_column(style="dim", justify="right", no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column()
        shown = [event for event in self.events if event.name != catalogue.ROUTE_SELECTED.name]
        for event in in_reading_order(shown):
            line = line_of(event)
            style = line.style
            table.add_row(f"{event.at_s:8.3f} s", Text(line.mark, style=style), Text(line.text, style=style))
        return table


def mark_placeholders(text: str) -> Text:
    """Make `text` with everything that was put in by a rule highlighted."""
    marked = Text(text)
    marked.highlight_regex(r"\[REDACTED:[a-z0-9_]+\]", "bold green")
    return marked
