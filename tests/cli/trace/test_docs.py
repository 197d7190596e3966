"""What the page says of `tramapy trace` is what it does."""

from __future__ import annotations

import json
import re

import pytest
import typer

from tests.cli.running import run
from tests.docs.pages import DOCS, ROOT, blocks_of, table_rows
from tramapy.cli.app import app
from tramapy.cli.trace.event_file import LINE_LIMIT_BYTES, read_events
from tramapy.cli.trace.operations import BookLimits
from tramapy.telemetry.jsonl import JsonlEventObserver

PAGE = DOCS / "trace.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_example_shows_what_the_page_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (command,) = [
        block.code for block in blocks_of(PAGE) if block.info == ("sh",) and "examples" in block.code
    ]
    (shown,) = [block.code for block in blocks_of(PAGE) if block.info == ("text",)]
    outcome = run(*command.split()[1:])
    assert outcome.exit_code == 0
    assert [line.rstrip() for line in outcome.output.splitlines()] == shown.splitlines()


def test_every_event_of_the_example_is_one() -> None:
    with (DOCS / "examples" / "traces" / "events.jsonl").open("rb") as file:
        assert {type(item).__name__ for item in read_events(file)} == {"HeardEvent"}


def test_the_page_has_every_option() -> None:
    command = typer.main.get_command(app).commands["trace"]  # type: ignore[attr-defined]
    options = {name for parameter in command.params for name in parameter.opts if name.startswith("--")}
    rows = {row[0].strip("`") for row in table_rows(PAGE, "Option")}
    assert rows == {*options - {"--help"}, "FILE"}


def test_the_page_has_every_member_of_a_line() -> None:
    line = (DOCS / "examples" / "traces" / "events.jsonl").read_text(encoding="utf-8").splitlines()[0]
    assert [row[0].strip("`") for row in table_rows(PAGE, "Member")] == list(json.loads(line))


def test_the_page_names_the_defaults_and_limits() -> None:
    defaults = JsonlEventObserver.__init__.__kwdefaults__ or {}
    assert defaults["limit_bytes"] == 64 * 1024 * 1024
    assert "`limit_bytes` (64 MiB)" in TEXT
    assert re.search(rf"`backup_count`\s+\({defaults['backup_count']}\)", TEXT)
    assert f"`buffer_event_count` ({defaults['buffer_event_count']:,})" in TEXT
    assert LINE_LIMIT_BYTES == 64 * 1024
    assert "a line has 64 KiB at most" in TEXT
    limits = BookLimits()
    assert f"{limits.operation_count:,} are kept, and {limits.event_count:,} events of each" in TEXT
