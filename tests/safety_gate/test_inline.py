"""Comments exempt only where the configuration allows them, with a reason, and only what is there."""

from __future__ import annotations

import pytest

from safety_gate.engine import check_source
from safety_gate.roles import Role
from safety_gate.settings import RuleSettings


def failing(source: str, *, is_allowed: bool = True) -> list[tuple[str, int]]:
    report = check_source(source, settings=RuleSettings(inline_exemptions=is_allowed))
    return [(v.rule, v.line) for v in report.violations if v.fails]


COMMENT = "# safety-gate: allow SG101 -- the banner"


def test_comment_exempts_nothing_by_default() -> None:
    assert failing(f"print(1)  {COMMENT}\n", is_allowed=False) == [("SG101", 1)]


def test_comment_on_the_line_covers_it() -> None:
    assert failing(f"print(1)  {COMMENT}\nprint(2)\n") == [("SG101", 2)]


def test_comment_alone_covers_the_next_line_of_code() -> None:
    assert failing(f"{COMMENT}\n# why\n\nprint(1)\nprint(2)\n") == [("SG101", 5)]


def test_comment_covers_all_its_codes() -> None:
    source = "def f(token):\n    print(token)  # safety-gate: allow SG101, SG201 -- a test double\n"
    assert failing(source) == []


@pytest.mark.parametrize(
    "comment",
    [
        "# safety-gate: allow SG101",
        "# safety-gate: allow SG101 --",
        "# safety-gate: allow -- x",
        "# safety-gate: off",
    ],
)
def test_comment_without_a_reason_is_a_finding(comment: str) -> None:
    assert failing(f"print(1)  {comment}\n") == [("SG101", 1), ("SG901", 1)]


def test_comment_that_covers_nothing_is_a_finding() -> None:
    assert failing(f"x = 1  {COMMENT}\n") == [("SG902", 1)]


def test_comment_for_a_rule_that_did_not_run_is_not_judged() -> None:
    settings = RuleSettings(inline_exemptions=True, ignored=("SG101",))
    assert check_source(f"x = 1  {COMMENT}\n", settings=settings).violations == ()


def test_comment_in_a_string_is_text() -> None:
    assert failing(f'x = """\n{COMMENT}\n"""\nprint(1)\n') == [("SG101", 4)]


@pytest.mark.parametrize(
    "comment", ["# noqa", "# type: ignore", "# pragma: no cover", "# nosec", "# safety: ignore"]
)
def test_other_tools_comments_have_no_effect(comment: str) -> None:
    assert failing(f"print(1)  {comment}\n") == [("SG101", 1)]


def test_comment_for_an_unknown_rule_is_a_finding() -> None:
    assert failing("x = 1  # safety-gate: allow SG999 -- x\n") == [("SG901", 1)]
    assert failing("x = 1  # safety-gate: allow SG905 -- x\n") == [("SG901", 1)]


@pytest.mark.parametrize("noise", ["# \x0c", "# \x1c", "# \u2028", "# \x85"], ids=ascii)
def test_odd_line_ends_move_no_comment(noise: str) -> None:
    assert failing(f"{noise}\n{COMMENT}\nprint(1)\n") == []


@pytest.mark.parametrize("end", ["\r", "\r\n"], ids=ascii)
def test_every_line_end_is_one(end: str) -> None:
    assert failing(f"x = 1{end}print(1)  {COMMENT}{end}print(2){end}") == [("SG101", 3)]


def test_comment_in_a_file_that_is_not_judged_is_not_judged() -> None:
    settings = RuleSettings(inline_exemptions=True)
    report = check_source(f"print(1)\nx = 1  {COMMENT}\n", settings=settings, role=Role.TEST)
    assert report.violations == ()
