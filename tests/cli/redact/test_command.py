"""`tramapy redact`, as a script sees it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.cli.running import Outcome, run
from tests.docs.pages import ROOT
from tramapy.cli.app import app
from tramapy.cli.redact import command, sinks
from tramapy.testing import assert_no_canary

CARD = "4111 1111 1111 1111"
TEXT = f"mail ann@example.com\ncard {CARD}\n"
SANITIZED = "mail [REDACTED:email]\ncard [REDACTED:credit_card]\n"


@pytest.fixture(autouse=True)
def _directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, text: str | bytes = TEXT) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def run_on(text: bytes, *arguments: str) -> Outcome:
    result = CliRunner().invoke(app, ["redact", *arguments], input=text)
    return Outcome(result.exit_code, result.stdout, result.stderr)


def test_text_in_sanitized_text_out() -> None:
    write("a.txt")
    assert run("redact", "a.txt") == Outcome(0, SANITIZED, "")


@pytest.mark.parametrize("arguments", [(), ("-",)], ids=["none", "dash"])
def test_the_standard_input(arguments: tuple[str, ...]) -> None:
    assert run_on(TEXT.encode(), *arguments) == Outcome(0, SANITIZED, "")


def test_json_prints_one_object_a_file() -> None:
    write("a.txt")
    write("b.txt", "clean\n")
    outcome = run("redact", "--format", "json", "a.txt", "b.txt")
    assert [json.loads(line) for line in outcome.output.splitlines()] == [
        {
            "path": "a.txt",
            "sanitized_text": SANITIZED,
            "redactions": [
                {"rule_id": "email", "replacement_count": 1},
                {"rule_id": "credit_card", "replacement_count": 1},
            ],
        },
        {"path": "b.txt", "sanitized_text": "clean\n", "redactions": []},
    ]


def test_records_and_their_fields() -> None:
    write("a.jsonl", '{"text": "ann@example.com", "user": "bob@example.com"}\n')
    outcome = run("redact", "--jsonl", "--field", "text", "a.jsonl")
    assert outcome == Outcome(0, '{"text": "[REDACTED:email]", "user": "bob@example.com"}\n', "")


def test_a_field_that_no_record_has_is_a_fault() -> None:
    write("a.jsonl", '{"text": "ann@example.com"}\n')
    outcome = run("redact", "--jsonl", "--field", "txt", "--field", "text", "a.jsonl")
    assert outcome.exit_code == 2
    assert outcome.errors == "--field: no record has txt; nothing was redacted for it. Check the name.\n"
    assert run_on(b"", "--jsonl", "--field", "txt").exit_code == 0


def test_nothing_is_written_where_a_slip_names_no_field() -> None:
    write("a.jsonl", '{"text": "ann@example.com"}\n')
    outcome = run("redact", "--jsonl", "--field", "txt", "a.jsonl")
    assert outcome.exit_code == 2
    assert outcome.output == ""
    assert outcome.errors == (
        "a.jsonl: no record has txt, and nothing was written. Check the names given with --field.\n"
    )


def test_records_before_the_first_with_a_field_are_written_too() -> None:
    write("a.jsonl", '\n{"id": 1}\n{"text": "ann@example.com"}\n{"id": 2}\n')
    outcome = run("redact", "--jsonl", "--field", "text", "a.jsonl")
    assert outcome == Outcome(0, '\n{"id": 1}\n{"text": "[REDACTED:email]"}\n{"id": 2}\n', "")


def test_a_directory_is_redacted_into_another() -> None:
    write("in/a.txt")
    write("in/b/c.txt", "clean\n")
    assert run("redact", "in", "--output", "out") == Outcome(0, "", "")
    assert Path("out/a.txt").read_text() == SANITIZED
    assert Path("out/b/c.txt").read_text() == "clean\n"
    assert Path("in/a.txt").read_text() == TEXT


def test_in_place_keeps_the_permissions() -> None:
    path = write("a.txt")
    path.chmod(0o640)
    assert run("redact", "--in-place", "a.txt").exit_code == 0
    assert path.read_text() == SANITIZED
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir() == ["a.txt"]


def test_a_file_that_fails_leaves_the_others_and_itself() -> None:
    write("in/a.txt")
    write("in/b.bin", b"ann@example.com \xff\xfe")
    write("in/c.txt")
    outcome = run("redact", "in", "--in-place")
    assert outcome.exit_code == 2
    assert outcome.errors == (
        "in/b.bin: it is not in utf-8: byte 16 cannot be read. Give its --encoding, or convert it to UTF-8.\n"
    )
    assert Path("in/b.bin").read_bytes() == b"ann@example.com \xff\xfe"
    assert Path("in/a.txt").read_text() == Path("in/c.txt").read_text() == SANITIZED
    assert sorted(os.listdir("in")) == ["a.txt", "b.bin", "c.txt"]


def test_a_file_that_cannot_take_its_place_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        os.unlink(next(name for name in os.listdir() if name.startswith(".tramapy-")))
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sinks.shutil, "copymode", refuse)
    write("a.txt")
    outcome = run("redact", "--in-place", "a.txt")
    assert (outcome.exit_code, outcome.errors[:30]) == (2, "a.txt: No space left on device")
    assert Path("a.txt").read_text() == TEXT


def test_rules_of_a_file() -> None:
    write("rules.toml", "packs = ['pii']\n[[rules]]\nid = 't'\npattern = 'T-\\d{4}'\nreplacement = '[T]'\n")
    assert run_on(b"T-1234 ann@example.com", "--rules", "rules.toml").output == "[T] [REDACTED:email]"
    assert run_on(b"T-1234 ann@example.com", "--rules", "rules.toml", "--disable", "email").output == (
        "[T] ann@example.com"
    )


def test_packs_and_rules_can_be_chosen() -> None:
    assert run_on(TEXT.encode(), "--pack", "financial").output == TEXT.replace(CARD, "[REDACTED:credit_card]")
    assert run_on(b"YWxpY2VAZXhhbXBsZS5jb20=", "--pack", "encoded").output == "[REDACTED:encoded_pii]"
    assert run_on(TEXT.encode(), "--disable", "email", "--backend", "stdlib").output == TEXT.replace(
        CARD, "[REDACTED:credit_card]"
    )


def test_a_backend_that_is_not_installed_is_refused_in_the_words_of_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(command, "load_re2", lambda: None)
    outcome = run_on(TEXT.encode(), "--backend", "re2")
    assert outcome.exit_code == 2
    assert "--backend re2 needs google-re2. Install it with: pip install 'tramapy[re2]'" in outcome.errors


def test_the_summary_goes_to_the_standard_error() -> None:
    outcome = run_on(TEXT.encode(), "--summary")
    assert outcome.output == SANITIZED
    assert "credit_card" in outcome.errors
    assert "1 read, 0 of them failed" in outcome.errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--field", "a"), "--field is for records; say --jsonl too"),
        (("--jsonl", "--field", "a..b"), "--field takes names with dots between"),
        (("--jsonl", "--encoding", "utf-16"), "--jsonl reads UTF-8 only"),
        (("--encoding", "nothing"), "--encoding takes the name of an encoding"),
        (("--pack", "nothing"), "--pack takes one of secrets, pii, financial"),
        (("--disable", "creditcard"), "--disable: Unknown rule 'creditcard'; did you mean credit_card?"),
        (
            ("--disable", "no-such-one"),
            "--disable: Unknown rule 'no-such-one'; known are anthropic_key, aws_access_key",
        ),
        (("--rules", "none.toml"), "none.toml: No such file or directory"),
        (("\x1b[2J\u202e\nfile",), "\ufffd[2J\ufffd\ufffdfile: No such file or directory"),
        (("--output", "a", "--in-place"), "--output and --in-place exclude each other"),
    ],
)
def test_bad_usage_is_exit_code_2_and_reads_nothing(arguments: tuple[str, ...], message: str) -> None:
    outcome = run_on(TEXT.encode(), *arguments)
    assert (outcome.exit_code, outcome.output) == (2, "")
    assert outcome.errors.startswith(message)


def test_neither_text_nor_patterns_are_printed_when_all_goes_wrong() -> None:
    write("rules.toml", "[[rules]]\nid = 'canary'\npattern = '(?=marzipan)'\n")
    write("a.jsonl", '{"a": "marzipan"')
    write("b.txt", b"marzipan\xff")
    write("block.toml", "[[rules]]\nid = 'sweet'\npattern = 'marzipan'\naction = 'block'\n")
    write("c.txt", "some marzipan")
    for arguments in (
        ("--rules", "rules.toml", "c.txt"),
        ("--jsonl", "a.jsonl"),
        ("--format", "json", "b.txt"),
        ("--rules", "block.toml", "--format", "json", "--summary", "c.txt"),
    ):
        outcome = run("redact", *arguments)
        assert outcome.exit_code == 2
        assert_no_canary("marzipan", outcome.output, outcome.errors)


def test_a_closed_pipe_is_no_fault() -> None:
    write("a.txt", TEXT * 100_000)
    process = subprocess.Popen(
        [sys.executable, "-m", "tramapy", "redact", "a.txt"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == b"mail [REDACTED:email]\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0


def test_a_process_that_is_killed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object, **__: object) -> None:
        raise BrokenProcessPool

    monkeypatch.setattr(command, "redact_all", killed)
    outcome = run_on(b"", "--jobs", "2")
    assert outcome == Outcome(
        2, "", "A process of --jobs ended early, perhaps for want of memory; take fewer, or none.\n"
    )
