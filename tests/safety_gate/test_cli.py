"""The command: arguments, output, exit codes."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from safety_gate import Result, Role, RuleSettings, check_paths, check_source, cli
from safety_gate.cli import main
from safety_gate.testing import assert_safe
from tests.safety_gate.projects import PRINT, SWALLOW, Project


def test_exit_codes(project: Project) -> None:
    project.write(clean="x = 1\n", dirty=PRINT, broken="def f(:\n")
    assert project.gate_apart("check", "clean.py").returncode == 0
    assert project.gate_apart("check", "dirty.py").returncode == 1
    assert project.gate_apart("check", "broken.py").returncode == 2
    assert project.gate_apart("check", ".").returncode == 2


def test_advice_does_not_fail(project: Project) -> None:
    project.write(a="def f(g):\n    try:\n        g()\n    except BaseException:\n        pass\n")
    report = project.report("a.py")
    assert (report["exit_code"], [f["fails"] for f in report["findings"]]) == (0, [False])


def test_defective_configuration_is_exit_2(project: Project) -> None:
    project.configure("stric = true\n").write(a=PRINT)
    report = project.report(".")
    assert (report["exit_code"], report["findings"], report["errors"][0]["rule"]) == (2, [], "SG901")


def test_selection_by_code_and_group(project: Project) -> None:
    project.write(a=PRINT + SWALLOW)
    assert {f["rule"] for f in project.report("--select", "no-print", ".")["findings"]} == {"SG101"}
    assert {f["rule"] for f in project.report("--select", "SG1,SG5", ".")["findings"]} == {"SG101", "SG501"}
    assert {f["rule"] for f in project.report("--ignore", "cancellation-rethrow", ".")["findings"]} == {
        "SG101"
    }
    done = project.gate("check", "--select", "SG7", ".")
    assert (done.returncode, "SG7" in done.stderr) == (2, True)


def test_strict_turns_unknown_reads_into_findings(project: Project) -> None:
    project.write(a="def f(x):\n    return x.read()\n")
    assert project.report(".")["unresolved"] == 1
    assert [f["rule"] for f in project.report("--strict", ".")["findings"]] == ["SG302"]


def test_output_goes_to_a_file(project: Project) -> None:
    project.write(a=PRINT)
    done = project.gate("check", "--format", "sarif", "--output", "report.sarif", ".")
    assert (done.returncode, done.stdout) == (1, "")
    assert json.loads((project.root / "report.sarif").read_text("utf-8"))["version"] == "2.1.0"


def test_statistics_follow_the_report(project: Project) -> None:
    project.write(a=PRINT + SWALLOW)
    lines = project.gate("check", "--statistics", ".").stdout.splitlines()
    assert [line.split()[:2] for line in lines[-2:]] == [["1", "SG101"], ["1", "SG501"]]


def test_explain_shows_the_page(project: Project) -> None:
    for name in ("SG101", "sg101", "forbidden-stdio"):
        assert project.gate("explain", name).stdout.startswith("# SG101: forbidden-stdio\n")
    assert project.gate("explain", "SG905").stdout.startswith("# SG905")
    assert project.gate("explain", "SG000").returncode == 2


def test_list_rules_shows_them_all(project: Project) -> None:
    lines = project.gate("list-rules").stdout.splitlines()
    assert len(lines) == 26
    assert "optional" in next(line for line in lines if line.startswith("SG203"))


def test_report_survives_a_narrow_encoding(project: Project) -> None:
    project.put("a.py", 's = "µ"; print(s)\n')
    command = [sys.executable, "-m", "safety_gate", "check", "a.py"]
    env = {"PYTHONIOENCODING": "ascii", "PATH": ""}
    done = subprocess.run(command, cwd=project.root, capture_output=True, env=env, check=False)
    assert (done.returncode, b"\\xb5" in done.stdout) == (1, True)


def test_main_returns_the_exit_code(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.write(a=PRINT)
    assert main(["check", "--no-cache", "a.py"]) == 1
    assert "SG101" in capsys.readouterr().out


def test_usage_errors_are_exit_2(project: Project) -> None:
    assert project.gate("check", "--format", "yaml").returncode == 2
    assert project.gate().returncode == 2


def test_api(project: Project) -> None:
    project.write(a=PRINT)
    assert [v.rule for v in check_source(PRINT, "a.py").violations] == ["SG101"]
    assert check_source(PRINT, role=Role.TEST, settings=RuleSettings()).violations == ()
    assert check_paths(["a.py"]).exit_code == 1


def test_pytest_helper_fails_with_the_report(project: Project) -> None:
    project.write(a=PRINT, b="x = 1\n")
    assert_safe("b.py")
    assert_safe("a.py", ignore=("SG1",), root=project.root)
    with pytest.raises(AssertionError, match=r"a\.py:2:5: SG101"):
        assert_safe("a.py")


def test_neither_package_imports_the_other() -> None:
    code = "import sys, safety_gate, safety_gate.engine\n"
    code += "print([m for m in sys.modules if m.split('.')[0] in ('tramapy', 'libcst')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


class Terminal(io.StringIO):
    """Says that it is one."""

    def isatty(self) -> bool:
        return True


class Closed(io.StringIO):
    """A pipe whose reader has gone."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_terminal_gets_colours_and_progress(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write(a=PRINT)
    out, err = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    assert main(["check", "--no-cache", "a.py"]) == 1
    assert "SG101" in out.getvalue()
    assert main(["check", "--no-cache", "--no-progress", "a.py"]) == 1


def test_who_reads_no_further_gets_the_verdict(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write(a=PRINT, b="x = 1\n")
    err = io.StringIO()
    monkeypatch.setattr(sys, "stdout", Closed())
    monkeypatch.setattr(sys, "stderr", err)
    assert main(["check", "--no-cache", "a.py"]) == 1
    assert main(["check", "--no-cache", "b.py"]) == 0
    assert main(["list-rules"]) == 0
    with pytest.raises(SystemExit) as ended:
        main(["check", "--help"])
    assert ended.value.code == 0
    assert err.getvalue() == ""


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("there/report.txt", "there is no directory 'there'. Make it first."),
        (".", "it is a directory. Give a file in it."),
    ],
)
def test_an_output_that_cannot_be_is_told_before_the_work(
    output: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "check_paths", None)
    assert main(["check", "--output", output]) == 2
    assert capsys.readouterr().err == f"safety-gate: --output cannot be written: {message}\n"


@pytest.mark.parametrize(("name", "code"), [("libcst", 2), ("somewhere", None)])
def test_missing_extra_is_named(
    name: str, code: int | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(*_: object, **__: object) -> Result:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(cli, "check_paths", missing)
    if code is None:
        with pytest.raises(ModuleNotFoundError):
            main(["check"])
    else:
        assert main(["check"]) == code
        assert "pip install 'tramapy[gate]'" in capsys.readouterr().err


def test_exempt_takes_an_owner_and_a_date(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.configure("").write(a=PRINT)
    reason = ["--rationale", "It is a tool.", "--owner", "tools", "--expires", "2099-01-01"]
    assert main(["exempt", *reason, "a.py"]) == 0
    assert "expires = 2099-01-01" in (project.root / "safety-gate.toml").read_text("utf-8")
    assert main(["check", "a.py"]) == 0
    assert main(["exempt", "--isolated", *reason, "a.py"]) == 2
    assert main(["exempt", "--rationale", " ", "a.py"]) == 2
    assert "rationale is required" in capsys.readouterr().out


def test_commands_that_judge_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list-rules"]) == 0
    assert main(["explain", "SG000"]) == 2
    assert "SG000" in capsys.readouterr().err


@pytest.mark.parametrize("jobs", ["-1", "x", "1.5", "9" * 30])
def test_number_of_processes_is_a_number(project: Project, jobs: str) -> None:
    done = project.gate("check", "--jobs", jobs)
    assert (done.returncode, "no number of processes" in done.stderr) == (2, True)


def test_many_jobs_start_no_more_processes_than_there_are_files(project: Project) -> None:
    project.write(**{f"pkg__m{number}": PRINT for number in range(45)})
    assert len(project.report("--jobs", "100000", "--no-cache", "pkg")["findings"]) == 45


def test_date_is_a_date(project: Project) -> None:
    done = project.gate("exempt", "--rationale", "r", "--expires", "soon")
    assert (done.returncode, "'soon' is no date" in done.stderr) == (2, True)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs the device that is always full")
def test_full_disk_is_exit_2(project: Project) -> None:
    project.write(pkg__a=PRINT)
    command = [sys.executable, "-m", "safety_gate", "check", "pkg"]
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_closed_output_is_exit_2(project: Project) -> None:
    project.write(pkg__a=PRINT)
    command = ["sh", "-c", 'exec "$0" -m safety_gate check pkg >&-', sys.executable]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


@pytest.mark.unmeasured
@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize("command", ["check --format json pkg", "list-rules", "explain SG101"])
def test_closed_pager_is_no_traceback(project: Project, command: str) -> None:
    project.write(pkg__a="print(1)\n" * 2000)
    line = f'"$0" -m safety_gate {command} | :'
    done = subprocess.run(["sh", "-c", line, sys.executable], stderr=subprocess.PIPE, text=True, check=False)
    assert done.stderr == ""


def test_version_is_shown(project: Project) -> None:
    done = project.gate("--version")
    assert (done.returncode, done.stdout) == (0, f"safety-gate {version('tramapy')}\n")


def test_page_shows_every_option_of_check(project: Project) -> None:
    shown = set(re.findall("--[a-z][a-z-]*", project.gate("check", "--help").stdout)) - {"--help"}
    page = (Path(__file__).parents[2] / "docs" / "safety-gate.md").read_text("utf-8")
    table = page.partition("## Options of `check`")[2].partition("\n## ")[0]
    assert set(re.findall("--[a-z][a-z-]*", table)) == shown


def test_interrupt_is_no_traceback(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("safety_gate.cli.check_paths", interrupted)
    assert main(["check", "."]) == 130
    assert capsys.readouterr().err == "safety-gate: interrupted, nothing was judged.\n"


def test_pytest_helper_without_a_path_judges_the_root(project: Project) -> None:
    project.write(pkg__a=PRINT)
    with pytest.raises(AssertionError, match="SG101"):
        assert_safe(root=project.root)
