import enum
import io
import os
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import run
from tests.cli.trace.events import dumped
from tramapy.cli import main
from tramapy.cli.consoles import leave_output, output_console
from tramapy.cli.events import EventsFormat
from tramapy.cli.output_format import OutputFormat
from tramapy.cli.redact.command import BackendChoice


@pytest.fixture
def fresh_modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Let the command's own modules be imported anew."""
    for name in list(sys.modules):
        if name.startswith("tramapy.cli."):
            monkeypatch.delitem(sys.modules, name)
    return monkeypatch


def test_version_is_printed() -> None:
    outcome = run("--version")
    assert outcome.exit_code == 0
    assert outcome.output.startswith("tramapy ")


def test_a_source_tree_without_metadata_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    from tramapy.cli import app

    def unknown(name: str) -> str:
        raise app.PackageNotFoundError(name)

    monkeypatch.setattr(app, "version", unknown)
    assert run("--version").output == "tramapy (not installed)\n"


def test_without_arguments_it_lists_its_commands() -> None:
    outcome = run()
    assert "demo" in outcome.output + outcome.errors
    assert "events" in outcome.output + outcome.errors


@pytest.mark.parametrize(
    "command", [(), ("demo",), ("events",), ("redact",), ("rules",), ("trace",)], ids=" ".join
)
def test_help_gives_a_flag_no_type(command: tuple[str, ...]) -> None:
    outcome = run(*command, "--help")
    assert outcome.exit_code == 0
    assert "--help" in outcome.output
    assert "bool" not in outcome.output.lower()


@pytest.mark.parametrize("command", [("demo",), ("redact",), ("trace",), ("audit", "verify")], ids=" ".join)
def test_help_gives_a_file_no_type_of_python_s(command: tuple[str, ...]) -> None:
    output = run(*command, "--help").output
    assert re.search(r"^ +FILE  +[A-Z]", output, re.MULTILINE)
    assert not re.search(r"<(list|path|str)", output)


@pytest.mark.parametrize(
    "command", [("events",), ("redact",), ("rules",), ("trace",), ("audit", "verify")], ids=" ".join
)
def test_the_words_after_format_are_the_same_everywhere(command: tuple[str, ...]) -> None:
    assert re.search(r"--format .text\|json(\|markdown)?. ", run(*command, "--help").output)


@pytest.mark.parametrize("words", [OutputFormat, EventsFormat, BackendChoice])
def test_words_of_options_are_texts(words: type[enum.Enum]) -> None:
    """The oldest typer that is allowed takes no other enum for a default."""
    assert issubclass(words, str)


def test_help_says_in_whole_sentences_what_the_commands_do() -> None:
    lines = run("--help").output.splitlines()
    commands = lines[lines.index("Commands:") + 1 :]
    assert [line.split()[0] for line in commands] == ["demo", "events", "redact", "rules", "trace", "audit"]
    assert all(line.endswith(".") and not line.endswith("...") for line in commands)


@pytest.mark.parametrize(
    ("arguments", "extras"), [((), "cli"), (("events",), "cli"), (("demo",), "cli,openai")]
)
@pytest.mark.parametrize("missing", ["rich", "typer"])
def test_a_missing_extra_says_which_to_install(
    missing: str, arguments: tuple[str, ...], extras: str, fresh_modules: pytest.MonkeyPatch
) -> None:
    for name in list(sys.modules):
        if name.partition(".")[0] == missing:
            fresh_modules.delitem(sys.modules, name)
    fresh_modules.setitem(sys.modules, missing, None)
    fresh_modules.setattr(sys, "argv", ["tramapy", *arguments])
    with pytest.raises(
        SystemExit, match=rf"needs {missing}. Install it with: pip install 'tramapy\[{extras}\]'"
    ):
        main()


def test_another_missing_module_is_a_defect_and_no_extra(fresh_modules: pytest.MonkeyPatch) -> None:
    fresh_modules.setitem(sys.modules, "tramapy.hooks.event_page", None)
    with pytest.raises(ModuleNotFoundError):
        main()


def test_the_entry_point_runs_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["tramapy", "--version"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("tramapy ")


@pytest.mark.parametrize("module", ["tramapy", "tramapy.cli"])
def test_the_package_can_be_run_as_a_module(
    module: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["tramapy", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(module, run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("tramapy ")


def test_a_stream_that_cannot_be_reconfigured_is_written_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    output_console().print("plain")
    assert stream.getvalue() == "plain\n"


def test_the_demo_without_the_sdk_says_which_extra_to_install(fresh_modules: pytest.MonkeyPatch) -> None:
    fresh_modules.setitem(sys.modules, "openai", None)
    outcome = run("demo")
    assert outcome.exit_code == 2
    assert "pip install 'tramapy[cli,openai]'" in outcome.errors


def test_another_module_that_the_demo_misses_is_a_defect(fresh_modules: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from tramapy.cli.app import app

    fresh_modules.setitem(sys.modules, "tramapy.testing", None)
    assert isinstance(CliRunner().invoke(app, ["demo"]).exception, ModuleNotFoundError)


class Unread(io.TextIOWrapper):
    """The end of a pipe whose reader has gone."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8")

    def write(self, text: str, /) -> int:
        raise BrokenPipeError


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--help",), 0),
        (("--version",), 0),
        (("events",), 0),
        (("events", "--format", "json"), 0),
        (("rules",), 0),
        (("audit", "verify", "--help"), 0),
        (("audit", "verify", "broken.jsonl"), 1),
        (("trace", "events.jsonl"), 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_where_nobody_reads_a_command_ends_quietly_with_its_verdict(
    arguments: tuple[str, ...],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.jsonl").write_text("{}\n", "utf-8")
    dumped(Path("events.jsonl"))
    monkeypatch.setattr(sys, "stdout", Unread())
    monkeypatch.setattr(sys, "argv", ["tramapy", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == code
    assert capsys.readouterr().err == ""


def test_what_nobody_reads_goes_nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with (tmp_path / "stdout").open("w") as file:
        monkeypatch.setattr(sys, "stdout", file)
        leave_output()
        assert os.fstat(file.fileno()).st_rdev == os.stat(os.devnull).st_rdev


def test_streams_that_the_caller_closed_end_in_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["tramapy", "redact"])
    monkeypatch.setattr(sys, "stdin", None)
    with monkeypatch.context() as closed:
        closed.setattr(sys, "stderr", None)
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
        sys.stdin.close()
        sys.stderr.close()
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == "The standard output is closed. Send it to a file, or to a pipe.\n"
