"""What a person sees beside the result: progress, and a summary."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from tramapy.cli.redact.redaction import Advance, FileReport

__all__ = ["LONG_BYTES", "progress", "summary"]

LONG_BYTES: Final = 16 * 1024 * 1024
"""Below this the work is over before anyone looks."""


@contextlib.contextmanager
def progress(console: Console, size_bytes: int | None, *, is_shown: bool) -> Generator[Advance]:
    """Show how much was read, where the work is long and somebody can look on.

    Args:
        console: Where to.
        size_bytes: How much there is; None where that is not known.
        is_shown: Whether there is a place for it.
    """
    if not is_shown or (size_bytes is not None and size_bytes < LONG_BYTES):
        yield _ignore
        return
    columns = (TextColumn("redacting"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task_id = bar.add_task("", total=size_bytes)

        def advance(read_bytes: int) -> None:
            bar.advance(task_id, read_bytes)

        yield advance


def summary(reports: Iterable[FileReport]) -> Table:
    """Make a table of the rules that replaced something."""
    counts: dict[str, int] = {}
    files: dict[str, int] = {}
    total = failed = 0
    for report in reports:
        total += 1
        failed += report.error is not None
        for redaction in report.redactions:
            rule_id = redaction.rule_id
            counts[rule_id] = counts.get(rule_id, 0) + redaction.replacement_count
            files[rule_id] = files.get(rule_id, 0) + 1
    table = Table(
        title="Replaced",
        title_justify="left",
        caption=f"{total} read, {failed} of them failed",
        caption_justify="left",
    )
    table.add_column("Rule", style="cyan", no_wrap=True)
    table.add_column("Replacements", justify="right")
    table.add_column("Files", justify="right")
    for rule_id in sorted(counts, key=lambda rule_id: (-counts[rule_id], rule_id)):
        table.add_row(Text(rule_id), f"{counts[rule_id]:,}", f"{files[rule_id]:,}")
    return table


def _ignore(read_bytes: int) -> None:
    """Nobody looks on."""
