"""The report and the progress on a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from safety_gate.judging import RunOptions
from safety_gate.report import render
from safety_gate.runner import check_paths
from safety_gate.terminal import progress, show
from tests.safety_gate.projects import PRINT, Project


def test_terminal_shows_what_the_plain_report_says(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.put("[a].py", PRINT.replace("x", "[bold]x"))
    result = check_paths(["[a].py"], options=RunOptions(use_cache=False))
    show(result)
    assert capsys.readouterr().out == render(result, "text")


def test_terminal_adds_statistics(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.write(a=PRINT)
    show(check_paths(["a.py"], options=RunOptions(use_cache=False)), with_statistics=True)
    assert capsys.readouterr().out.splitlines()[-1].split() == ["1", "SG101", "forbidden-stdio"]


def test_progress_is_silent_for_short_runs(capsys: pytest.CaptureFixture[str]) -> None:
    with progress() as on_progress:
        on_progress(1, 10)
    assert capsys.readouterr().err == ""


def test_progress_counts_long_runs(project: Project) -> None:
    for number in range(5):
        project.write(**{f"m{number}": "x = 1\n"})
    seen: list[tuple[int, int]] = []
    options = RunOptions(use_cache=False, on_progress=lambda done, total: seen.append((done, total)))
    check_paths([Path()], options=options)
    assert seen == [(number, 5) for number in range(1, 6)]
    with progress() as on_progress:
        on_progress(1, 500)
        on_progress(500, 500)
