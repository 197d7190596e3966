"""Exemptions are exact: neither growth nor silent shrinkage passes."""

from __future__ import annotations

import datetime

import pytest

from safety_gate.config_file import load_config
from safety_gate.exempting import Reason, exempt
from safety_gate.exemptions import Exemption, Scope, apply_exemptions
from safety_gate.judging import RunOptions
from safety_gate.runner import check_paths
from safety_gate.violation import Risk, Violation
from tests.safety_gate.projects import PRINT, SWALLOW, Project

TODAY = datetime.date(2030, 6, 1)


def violation(line: int = 1, **changes: object) -> Violation:
    values: dict[str, object] = {
        "rule": "SG101", "name": "forbidden-stdio", "path": "a.py", "line": line, "column": 1,
        "end_line": line,
        "end_column": 2, "message": "m", "symbol": "builtins.print", "risk": Risk.HIGH, **changes,
    }  # fmt: skip
    return Violation(**values)  # type: ignore[arg-type]  # built from names


def exemption(occurrences: int = 1, **changes: object) -> Exemption:
    values: dict[str, object] = {
        "rule": "SG101", "path": "a.py", "symbol": "builtins.print", "occurrences": occurrences,
        "rationale": "r",
        "file": "safety-gate.toml", "line": 7, **changes,
    }  # fmt: skip
    return Exemption(**values)  # type: ignore[arg-type]  # built from names


def outcome(
    found: list[Violation], *entries: Exemption, paths: tuple[str, ...] = ("a.py", "b.py")
) -> list[str]:
    scope = Scope(paths=paths, rules=("SG101", "SG501"), today=TODAY)
    return [v.rule for v in apply_exemptions(found, entries, scope) if v.fails]


def test_exact_count_covers() -> None:
    assert outcome([violation(1), violation(2)], exemption(2)) == []


def test_two_on_one_line_are_two() -> None:
    assert outcome([violation(1, column=1), violation(1, column=9)], exemption(1)) == [
        "SG101",
        "SG101",
        "SG903",
    ]


def test_growth_shows_every_finding() -> None:
    assert outcome([violation(1), violation(2)], exemption(1)) == ["SG101", "SG101", "SG903"]


def test_shrinking_fails_beside_the_covered_rest() -> None:
    assert outcome([violation(1)], exemption(2)) == ["SG903"]


def test_nothing_left_is_stale() -> None:
    assert outcome([], exemption(1)) == ["SG902"]


def test_another_file_is_not_covered() -> None:
    assert outcome([violation(1, path="b.py")], exemption(1)) == ["SG902", "SG101"][::-1]


def test_another_symbol_is_not_covered() -> None:
    assert sorted(outcome([violation(1, symbol="sys.stdout.write")], exemption(1))) == ["SG101", "SG902"]


def test_expired_covers_nothing() -> None:
    assert outcome([violation(1)], exemption(1, expires=TODAY - datetime.timedelta(days=1))) == [
        "SG101",
        "SG904",
    ]


def test_last_day_still_counts() -> None:
    assert outcome([violation(1)], exemption(1, expires=TODAY)) == []


def test_entry_outside_the_run_is_not_judged() -> None:
    assert outcome([], exemption(1), paths=("b.py",)) == []
    assert outcome([], exemption(1, rule="SG401")) == []


def test_defect_points_at_the_entry() -> None:
    scope = Scope(paths=("a.py",), rules=("SG101",), today=TODAY)
    (stale,) = apply_exemptions([], [exemption(1)], scope)
    assert (stale.path, stale.line) == ("safety-gate.toml", 7)


@pytest.fixture
def printing(project: Project) -> Project:
    """Give a project with two prints and a swallow."""
    return project.write(pkg__a=PRINT + '\nprint("y")\n', pkg__b=SWALLOW).configure(
        "# ours\nstrict = false\n"
    )


def exempted(project: Project, rationale: str = "As it is.", **reason: object) -> tuple[int, int]:
    config = load_config(project.root)
    written = exempt(["pkg"], config, RunOptions(use_cache=False), Reason(rationale=rationale, **reason))  # type: ignore[arg-type]  # built from names
    return written.entry_count, written.finding_count


def test_exempt_writes_what_is_there_today(printing: Project) -> None:
    assert exempted(printing, owner="team", expires=datetime.date(2099, 1, 1)) == (2, 3)
    result = check_paths(["pkg"], options=RunOptions(use_cache=False))
    assert result.exit_code == 0
    assert sum(v.is_exempted for v in result.violations) == 3
    text = (printing.root / "safety-gate.toml").read_text("utf-8")
    assert text.startswith("# ours\nstrict = false\n")
    assert 'owner = "team"\nexpires = 2099-01-01' in text


def test_exempt_again_writes_nothing(printing: Project) -> None:
    exempted(printing)
    assert exempted(printing) == (0, 0)


def test_exempt_corrects_counts_and_keeps_reasons(printing: Project) -> None:
    exempted(printing, rationale='A "quoted" \\ reason')
    printing.write(pkg__a=PRINT)
    assert exempted(printing, rationale="other") == (1, 0)
    text = (printing.root / "safety-gate.toml").read_text("utf-8")
    assert "other" not in text
    assert check_paths(["pkg"], options=RunOptions(use_cache=False)).exit_code == 0


def test_exempt_needs_a_rationale(printing: Project) -> None:
    done = printing.gate("exempt", "pkg", "--rationale", " ")
    assert (done.returncode, "rationale is required" in done.stdout) == (2, True)
    assert printing.gate("exempt", "pkg").returncode == 2


def test_exempt_writes_into_a_project_file(project: Project) -> None:
    project.write(pkg__a=PRINT).put(
        "pyproject.toml", '[project]\nname = "x"\n\n[tool.safety-gate]\nstrict = false\n'
    )
    done = project.gate("exempt", "--rationale", "As it is.", "pkg")
    assert (done.returncode, done.stdout) == (0, "1 exemption for 1 finding in pyproject.toml\n")
    assert project.gate("check", "pkg").returncode == 0


def test_exempting_one_function_does_not_cover_another(project: Project) -> None:
    project.write(pkg__a=SWALLOW).configure("")
    assert project.gate("exempt", "--rationale", "As it is.", "pkg").returncode == 0
    project.write(pkg__a=SWALLOW + SWALLOW.replace("f(t)", "g(t)"))
    report = project.report("pkg")
    assert [(f["rule"], f["line"]) for f in report["findings"] if f["fails"]] == [("SG501", 9)]


TWO_IN_ONE = """async def f(t):
    try:
        await t
    except BaseException:
        pass
    try:
        t.close()
    except BaseException:
        pass
"""


def test_exempt_counts_the_advice_of_its_family(project: Project) -> None:
    project.write(pkg__a=TWO_IN_ONE)
    assert project.gate("exempt", "--rationale", "r", "pkg").returncode == 0
    assert project.report("pkg")["exit_code"] == 0


def test_entry_holds_with_and_without_strict(project: Project) -> None:
    source = TWO_IN_ONE.replace("except BaseException", "except asyncio.CancelledError")
    project.write(pkg__a="import asyncio\n" + source)
    assert project.gate("exempt", "--rationale", "r", "pkg").returncode == 0
    assert [project.report(*options, "pkg")["exit_code"] for options in ((), ("--strict",))] == [0, 0]


def test_comment_and_entry_do_not_count_the_same_finding(project: Project) -> None:
    project.write(pkg__a="print(1)  # safety-gate: allow SG101 -- the banner\nprint(2)\n")
    project.configure("inline-exemptions = true\n")
    assert project.gate("exempt", "--rationale", "r", "pkg").returncode == 0
    assert project.report("pkg")["exit_code"] == 0


def test_exempt_without_a_finding_writes_no_file(project: Project) -> None:
    project.write(pkg__a="x = 1\n")
    assert project.gate("exempt", "--rationale", "r", "pkg").returncode == 0
    assert not (project.root / "safety-gate.toml").exists()


def test_exempt_keeps_line_ends(project: Project) -> None:
    file = project.write(pkg__a=PRINT).put("safety-gate.toml", b"strict = false\r\n")
    project.gate("exempt", "--rationale", "r", "pkg")
    assert b"\n" not in file.read_bytes().replace(b"\r\n", b"")
    assert project.report("pkg")["exit_code"] == 0


def test_exempt_refuses_a_list_in_one_line(project: Project) -> None:
    project.write(pkg__a=PRINT, pkg__b=PRINT)
    line = (
        'exemptions = [{rule = "SG101", path = "pkg/a.py", symbol = "builtins.print", '
        'occurrences = 1, rationale = "r"}]\n'
    )
    project.configure(line)
    done = project.gate("exempt", "--rationale", "r", "pkg")
    assert (done.returncode, "in one line" in done.stdout) == (2, True)
    assert (project.root / "safety-gate.toml").read_text("utf-8") == line


def test_exempt_leaves_files_outside_the_project_alone(project: Project) -> None:
    outside = project.root.parent / "outside.py"
    outside.write_text(PRINT, "utf-8")
    done = project.gate("exempt", "--rationale", "r", str(outside))
    assert (done.returncode, "must be relative" in done.stdout) == (2, True)
    assert not (project.root / "safety-gate.toml").exists()
