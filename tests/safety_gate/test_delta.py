"""Against a base, only what is new or worse fails."""

from __future__ import annotations

import pytest

from safety_gate.delta import compare
from safety_gate.violation import Risk, Violation
from tests.safety_gate.projects import PRESERVE, PRINT, SWALLOW, Project

ACCEPTED, MEDIUM, HIGH, CRITICAL = Risk.ACCEPTED, Risk.MEDIUM, Risk.HIGH, Risk.CRITICAL


def catch(
    risk: Risk, function: str = "f", line: int = 1, path: str = "a.py", content: str = "x"
) -> Violation:
    return Violation(
        rule="SG501", name="n", path=path, line=line, column=1, end_line=line, end_column=1, message="m",
        symbol=f"BaseException@{function}", function=function, risk=risk, catch_type="BaseException",
        content=content,
    )  # fmt: skip


def failing(base: list[Violation], current: list[Violation]) -> list[tuple[str, int]]:
    return [(v.function, v.line) for v in compare(base, current) if v.fails]


@pytest.mark.parametrize(
    ("base", "current", "expected"),
    [
        ([catch(CRITICAL)], [catch(CRITICAL)], []),
        ([catch(ACCEPTED)], [catch(CRITICAL)], [("f", 1)]),
        ([catch(MEDIUM)], [catch(HIGH)], [("f", 1)]),
        ([catch(ACCEPTED)], [catch(MEDIUM)], [("f", 1)]),
        ([catch(CRITICAL)], [catch(CRITICAL), catch(CRITICAL, "g")], [("g", 1)]),
        ([catch(CRITICAL, line=1)], [catch(ACCEPTED, line=1), catch(CRITICAL, line=9)], []),
        ([catch(CRITICAL)], [catch(ACCEPTED), catch(HIGH, line=9)], []),
        ([catch(ACCEPTED), catch(CRITICAL, line=9)], [catch(HIGH, line=5)], []),
        ([catch(CRITICAL, line=1)], [catch(CRITICAL, line=50)], []),
        ([catch(HIGH)], [catch(HIGH), catch(HIGH, "g")], [("g", 1)]),
        ([catch(ACCEPTED), catch(CRITICAL, line=9)], [catch(CRITICAL, line=9)], []),
        ([catch(ACCEPTED), catch(ACCEPTED, line=9)], [catch(ACCEPTED), catch(CRITICAL, line=9)], [("f", 9)]),
        ([], [catch(MEDIUM)], []),
        ([], [catch(CRITICAL)], [("f", 1)]),
        ([catch(CRITICAL)], [], []),
    ],
    ids=[
        "identical", "accepted-to-critical", "medium-to-high", "accepted-to-medium", "one-more",
        "accepted-inserted",
        "improved", "accepted-removed-and-improved", "only-moved", "another-function", "accepted-removed",
        "one-of-two",
        "new-medium", "new-critical", "gone",
    ],
)  # fmt: skip
def test_population(base: list[Violation], current: list[Violation], expected: list[tuple[str, int]]) -> None:
    assert failing(base, current) == expected


def test_moved_with_equal_text_passes() -> None:
    assert failing([catch(CRITICAL, path="a.py")], [catch(CRITICAL, path="b.py")]) == []


def test_moved_with_other_text_fails() -> None:
    assert failing([catch(CRITICAL, path="a.py")], [catch(CRITICAL, path="b.py", content="y")]) == [("f", 1)]


def test_moved_without_text_fails() -> None:
    assert failing([catch(CRITICAL, content="")], [catch(CRITICAL, path="b.py", content="")]) == [("f", 1)]


def test_ambiguous_move_fails() -> None:
    current = [catch(CRITICAL, path="b.py"), catch(CRITICAL, path="c.py")]
    assert failing([catch(CRITICAL)], current) == [("f", 1), ("f", 1)]


def test_same_name_in_a_second_file_fails() -> None:
    assert failing([catch(CRITICAL)], [catch(CRITICAL), catch(CRITICAL, path="b.py")]) == [("f", 1)]


def test_messages_tell_new_from_worse() -> None:
    (new,) = compare([], [catch(CRITICAL)])
    (worse,) = compare([catch(MEDIUM)], [catch(CRITICAL)])
    assert new.message.startswith("New: ")
    assert worse.message.startswith("Worse than before (medium to critical): ")


def rules(report: dict[str, object], *, fails: bool = True) -> list[tuple[str, str, int]]:
    findings: list[dict[str, object]] = report["findings"]  # type: ignore[assignment]  # JSON
    return [(str(f["path"]), str(f["rule"]), int(str(f["line"]))) for f in findings if f["fails"] is fails]


def test_old_findings_pass_and_new_ones_fail(project: Project) -> None:
    project.write(pkg__a=SWALLOW + PRINT, pkg__b=PRESERVE).commit()
    assert project.report("pkg")["exit_code"] == 1
    assert project.report("--base", "HEAD", "pkg")["exit_code"] == 0
    project.write(pkg__a="x = 1\n" + SWALLOW + PRINT + PRINT, pkg__b=SWALLOW)
    report = project.report("--base", "HEAD", "pkg")
    assert report["exit_code"] == 1
    assert rules(report) == [("pkg/a.py", "SG101", 10), ("pkg/b.py", "SG501", 4)]
    assert rules(report, fails=False) == [("pkg/a.py", "SG501", 5), ("pkg/a.py", "SG101", 8)]


def test_moving_a_file_is_no_new_finding(project: Project) -> None:
    project.write(pkg__a=SWALLOW).commit()
    (project.root / "pkg" / "a.py").rename(project.root / "pkg" / "b.py")
    assert project.report("--base", "HEAD", "pkg")["exit_code"] == 0
    project.write(pkg__b=SWALLOW.replace("pass", "return"))
    assert project.report("--base", "HEAD", "pkg")["exit_code"] == 1


def test_comparison_can_be_for_cancellation_only(project: Project) -> None:
    project.configure('base-scope = "cancellation"\n').write(pkg__a=SWALLOW + PRINT).commit()
    assert rules(project.report("--base", "HEAD", "pkg")) == [("pkg/a.py", "SG101", 7)]


def test_project_may_lie_in_a_folder_of_the_repository(project: Project) -> None:
    project.write(service__pkg__a=SWALLOW).put("service/safety-gate.toml", "")
    project.commit()
    inner = Project(project.root / "service")
    assert inner.report("--base", "HEAD", "pkg")["exit_code"] == 0


def test_changed_judges_changed_files_only(project: Project) -> None:
    project.write(pkg__a=PRINT, pkg__b=PRINT).commit()
    project.write(pkg__b=PRINT + PRINT, pkg__c=PRINT)
    assert {path for path, _, _ in rules(project.report("--changed", "HEAD", "pkg"))} == {
        "pkg/b.py",
        "pkg/c.py",
    }


@pytest.mark.parametrize("revision", ["no-such-rev", "--help", ""])
def test_unknown_revision_is_an_error(project: Project, revision: str) -> None:
    project.write(pkg__a=PRINT).commit()
    report = project.report(f"--base={revision}", "pkg")
    assert report["exit_code"] == 2
    assert [error["rule"] for error in report["errors"]] == ["SG906"]


def test_no_repository_is_an_error(project: Project) -> None:
    project.write(pkg__a=PRINT)
    assert project.report("--base", "HEAD", "pkg")["errors"][0]["rule"] == "SG906"


def test_the_text_of_a_finding_is_never_reported(project: Project) -> None:
    project.write(pkg__a=SWALLOW.replace("pass", 'x = "canary-7f3a"'))
    assert "canary" not in project.gate("check", "--format", "json", "pkg").stdout


def test_git_hook_variables_lead_nowhere_else(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.put("sub/safety-gate.toml", "")
    project.write(sub__pkg__a=SWALLOW).commit()
    monkeypatch.chdir(project.root / "sub")
    monkeypatch.setenv("GIT_DIR", ".git")
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/index")
    assert Project(project.root / "sub").report("--base", "HEAD", "pkg")["exit_code"] == 0


def test_content_that_git_does_not_have_is_an_error(project: Project) -> None:
    project.write(pkg__a=SWALLOW).commit()
    blob = project.git("rev-parse", "HEAD:pkg/a.py").strip()
    (project.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    project.write(pkg__a=SWALLOW + "x = 1\n")
    report = project.report("--base", "HEAD", "pkg")
    assert (report["exit_code"], report["errors"][0]["rule"]) == (2, "SG906")
    assert "does not have the contents of 'pkg/a.py'" in report["errors"][0]["message"]


def test_gone_files_of_every_suffix_prove_a_move(project: Project) -> None:
    project.put("pkg/a.pyw", SWALLOW)
    project.commit()
    (project.root / "pkg/a.pyw").rename(project.root / "pkg/b.py")
    assert project.report("--base", "HEAD", "pkg")["exit_code"] == 0
