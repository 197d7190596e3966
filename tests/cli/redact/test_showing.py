import io

import pytest
from rich.console import Console

from tramapy.cli.redact.redaction import FileReport
from tramapy.cli.redact.showing import LONG_BYTES, progress, summary
from tramapy.hooks.dlp import DlpRedaction


def console() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=80)


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("size_bytes", [LONG_BYTES, None], ids=["long", "unknown"])
def test_progress_shows_how_much_was_read(size_bytes: int | None) -> None:
    terminal = console()
    with progress(terminal, size_bytes, is_shown=True) as advance:
        advance(LONG_BYTES // 2)
    assert "redacting" in shown(terminal)


@pytest.mark.parametrize(("size_bytes", "is_shown"), [(LONG_BYTES - 1, True), (LONG_BYTES, False)])
def test_progress_is_not_shown_for_short_work_or_without_a_terminal(size_bytes: int, is_shown: bool) -> None:
    terminal = console()
    with progress(terminal, size_bytes, is_shown=is_shown) as advance:
        advance(1)
    assert shown(terminal) == ""


def test_the_summary_adds_up() -> None:
    reports = [
        FileReport(name="a", redactions=(DlpRedaction("email", 1), DlpRedaction("iban", 1_000))),
        FileReport(name="b", redactions=(DlpRedaction("email", 2),)),
        FileReport(name="c", error="c: no"),
    ]
    terminal = Console(file=io.StringIO(), width=80)
    terminal.print(summary(reports))
    words = [line.replace("│", " ").split() for line in shown(terminal).splitlines()]
    assert words.index(["iban", "1,000", "1"]) < words.index(["email", "3", "2"])
    assert ["3", "read,", "1", "of", "them", "failed"] in words
