"""The report and the progress on a terminal. Only this file imports rich."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from safety_gate.report.text_format import rows, statistics
from safety_gate.runner import Result

_STYLES = {"error": "bold red", "advice": "yellow", "source": "", "caret": "red", "plain": "bold"}
_MIN_FILES = 200  # below it a run is over before a bar is read


def show(result: Result, *, with_statistics: bool = False) -> None:
    """Write the report to standard output, in colour."""
    console = Console(highlight=False, soft_wrap=True)
    for row in rows(result):
        console.print(Text(row.text, style=_STYLES[row.style]))
    if with_statistics:
        for line in statistics(result):
            console.print(Text(line))


@contextmanager
def progress() -> Generator[Callable[[int, int], None], None, None]:
    """Give a function that shows how far a run is, once it is known to be long."""
    columns = (TextColumn("checking"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    tasks: list[TaskID] = []

    def on_progress(done: int, total: int) -> None:
        if total < _MIN_FILES:
            return
        if not tasks:
            bar.start()
            tasks.append(bar.add_task("checking", total=total))
        bar.update(tasks[0], completed=done)

    try:
        yield on_progress
    finally:
        if tasks:
            bar.stop()
