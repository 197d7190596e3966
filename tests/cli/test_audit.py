from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from tests.cli.running import run, run_in_a_pipe
from tests.telemetry.audit_material import ONE, context, log_of
from tramapy.cli import audit
from tramapy.telemetry import FileAuditStore


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """The files of a log of five events."""
    with FileAuditStore(tmp_path / "audit.jsonl", fsync="never", limit_file_bytes=2_000) as store:
        log = log_of(store)
        for number in range(5):
            log.emit(context(f"s{number % 2}"), ONE)
    return list(map(str, store.paths))


def head_of(files: list[str]) -> str:
    return json.loads(run("audit", "verify", *files, "--format", "json").output)["head"]


def test_a_whole_log_is_exit_code_0(files: list[str]) -> None:
    outcome = run("audit", "verify", *files)
    assert outcome.exit_code == 0
    assert outcome.output == f"Valid. 5 events in 2 streams. Head: {head_of(files)}\n"


def test_an_empty_log_is_valid(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    outcome = run("audit", "verify", str(tmp_path / "empty"))
    assert outcome.exit_code == 0
    assert outcome.output == "Valid. 0 events in 0 streams. Head: none\n"


def test_a_broken_log_is_exit_code_1_with_every_place(files: list[str]) -> None:
    broken = Path(files[1])
    broken.write_bytes(broken.read_bytes().replace(b"REDACTED", b"ALLOWED!", 1))
    outcome = run("audit", "verify", *files)
    assert outcome.exit_code == 1
    lines = outcome.output.splitlines()
    assert lines[0].startswith(f"{broken}:1: event_hash: ")
    assert lines[1].startswith(f"{broken}:2: previous_line_hash: ")
    assert lines[2].startswith("Broken: 2 problems. 5 events in 2 streams. Head: ")


def test_more_problems_than_the_limit_are_counted(files: list[str]) -> None:
    outcome = run("audit", "verify", files[0], files[0], "--limit", "1")
    assert outcome.exit_code == 1
    lines = outcome.output.splitlines()
    assert lines[1].startswith("… and ")
    assert len(lines) == 3


def test_json_has_the_same(files: list[str]) -> None:
    whole = json.loads(run_in_a_pipe("audit", "verify", *files, "--format", "json"))
    assert (whole["is_valid"], whole["problem_count"], whole["problems"]) == (True, 0, [])
    assert (whole["event_count"], whole["stream_count"], whole["recovery_count"]) == (5, 2, 0)
    outcome = run("audit", "verify", *files[1:], "--format", "json")
    assert outcome.exit_code == 1
    broken = json.loads(outcome.output)
    assert broken["problem_count"] == len(broken["problems"])
    assert broken["problems"][0]["path"] == files[1]
    assert broken["problems"][0]["line_number"] == 1
    assert broken["problems"][0]["code"] == "line_number"


def test_part_of_a_log_is_valid_where_it_is_asked_for(files: list[str]) -> None:
    assert run("audit", "verify", *files[1:]).exit_code == 1
    assert run("audit", "verify", *files[1:], "--partial").exit_code == 0


def test_a_head_finds_a_cut(files: list[str]) -> None:
    head = head_of(files)
    assert run("audit", "verify", *files, "--head", head).exit_code == 0
    outcome = run("audit", "verify", *files[:-1], "--head", head)
    assert outcome.exit_code == 1
    assert ": head: " in outcome.output


def test_a_head_that_is_no_hash_is_exit_code_2(files: list[str]) -> None:
    outcome = run("audit", "verify", *files, "--head", "yesterday")
    assert (outcome.exit_code, outcome.output) == (2, "")
    assert outcome.errors.startswith("head takes a SHA-256 in hex")


def test_the_path_of_the_log_is_enough(files: list[str], tmp_path: Path) -> None:
    whole = run("audit", "verify", str(tmp_path / "audit.jsonl"))
    everything = run("audit", "verify", *sorted(map(str, tmp_path.glob("audit.*"))))
    assert whole == everything == run("audit", "verify", *files)


def test_a_recovery_is_told(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    FileAuditStore(path, fsync="never").close()
    (tmp_path / "audit.000001.jsonl").write_bytes(b"torn")
    FileAuditStore(path, fsync="never").close()
    outcome = run("audit", "verify", str(tmp_path / "audit.000001.jsonl"))
    assert outcome.exit_code == 0
    assert outcome.output.startswith("Valid. 0 events in 0 streams, 1 recovery note. Head: ")


@pytest.mark.parametrize("name", ["missing", "."])
def test_what_cannot_be_read_is_exit_code_2(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    outcome = run("audit", "verify", str(path))
    assert outcome.exit_code == 2
    assert outcome.output == ""
    assert outcome.errors.startswith(f"Cannot read {str(path)!r}: ")


def test_a_file_name_commands_no_terminal_and_forges_no_line(tmp_path: Path) -> None:
    path = tmp_path / "\x1b[2J\u202e\nValid. 5 events"
    path.write_text("x\n")
    outcome = run("audit", "verify", str(path))
    assert outcome.exit_code == 1
    shown, verdict = outcome.output.splitlines()
    assert shown.startswith(f"{tmp_path}/\ufffd[2J\ufffd\ufffdValid. 5 events:1: not_a_record: ")
    assert verdict.startswith("Broken")


def test_an_error_without_a_name_is_exit_code_2(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*paths: Path, **options: object) -> None:
        raise OSError

    monkeypatch.setattr(audit, "verify_audit_files", fails)
    outcome = run("audit", "verify", "x")
    assert outcome.exit_code == 2
    assert outcome.errors == "Cannot read: OSError. Give the path of a log, or its files, oldest first.\n"


def test_no_room_for_temporary_files_is_exit_code_2(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*paths: Path, **options: object) -> None:
        database = sqlite3.connect(":memory:")
        database.execute("PRAGMA max_page_count=1")
        try:
            database.execute("CREATE TABLE ids (id BLOB)")
        finally:
            database.close()

    monkeypatch.setattr(audit, "verify_audit_files", fails)
    outcome = run("audit", "verify", "x")
    assert outcome.exit_code == 2
    assert outcome.errors.startswith("Cannot keep what was read in a temporary file: SQLITE_FULL")


@pytest.mark.parametrize(
    "arguments",
    [("verify",), ("verify", "x", "--format", "xml"), ("check",)],
    ids=["no file", "format", "command"],
)
def test_bad_usage_is_exit_code_2(arguments: tuple[str, ...]) -> None:
    assert run("audit", *arguments).exit_code == 2


def test_help_names_the_command() -> None:
    assert "audit" in run("--help").output
    assert "verify" in run("audit", "--help").output
