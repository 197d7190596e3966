"""Rules, case files and pages are one set, and nothing else lists them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from safety_gate.codes import GATE_CODES, GROUPS, UnknownCodeError, expand, group_of, rule_codes
from safety_gate.engine import check_source
from safety_gate.rule import Rule, all_rules
from safety_gate.settings import RuleSettings
from safety_gate.triggers import declared_triggers

ROOT = Path(__file__).parents[2]
CASES = Path(__file__).parent / "cases"
PAGES = ROOT / "docs" / "rules"
RULES = ROOT / "safety_gate" / "rules"
SECTIONS = ("## Why", "## Bad", "## Good", "## How to allow it", "## What it does not see")


def test_rules_cases_and_pages_are_the_same_set() -> None:
    rules = {rule.code for rule in all_rules()}
    assert rules == {file.name[:5].upper() for file in CASES.glob("sg*.py")}
    assert rules | set(GATE_CODES) == {file.stem for file in PAGES.glob("SG*.md")}
    assert rules == set(rule_codes())


def test_case_file_is_named_like_its_rule() -> None:
    files = {file.name for file in RULES.glob("sg*.py")}
    assert files == {file.name for file in CASES.glob("sg*.py")}


def test_names_are_unique() -> None:
    names = [rule.name for rule in all_rules()] + [name for name, _ in GATE_CODES.values()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_rule_describes_itself(rule: Rule) -> None:
    assert re.fullmatch(r"SG\d{3}", rule.code)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)+", rule.name)
    assert rule.summary.endswith(".")
    assert rule.triggers
    assert group_of(rule.code) in GROUPS


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_triggers_can_be_read_without_importing_the_rule(rule: Rule) -> None:
    (file,) = RULES.glob(f"{rule.code.lower()}_*.py")
    assert declared_triggers(file) == rule.triggers


def test_triggers_that_only_an_import_tells_are_unknown(tmp_path: Path) -> None:
    file = tmp_path / "sg999_computed.py"
    file.write_text(
        "class A(Rule):\n    triggers: ClassVar[tuple[str, ...]] = tuple(sorted(WORDS))\n", "utf-8"
    )
    assert declared_triggers(file) is None


@pytest.mark.parametrize("page", sorted(PAGES.glob("SG*.md")), ids=lambda page: page.stem)
def test_page_tells_all_it_must(page: Path) -> None:
    text = page.read_text("utf-8")
    names = {rule.code: rule.name for rule in all_rules()} | {
        code: name for code, (name, _) in GATE_CODES.items()
    }
    assert text.startswith(f"# {page.stem}: {names[page.stem]}\n")
    positions = [text.find(section) for section in SECTIONS]
    assert -1 not in positions
    assert positions == sorted(positions)


def test_groups_expand_to_their_codes() -> None:
    assert expand(["no-print"]) == ("SG101", "SG102")
    assert expand(["SG5"]) == tuple(code for code in rule_codes() if code.startswith("SG5"))
    assert expand(["sg101", "SG101"]) == ("SG101",)


@pytest.mark.parametrize("name", ["SG7", "SG9", "SG901", "no-such-group", "", "S"])
def test_unknown_name_is_an_error(name: str) -> None:
    with pytest.raises(UnknownCodeError):
        expand([name])


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_page_exempts_a_symbol_that_the_rule_reports(rule: Rule) -> None:
    page = (PAGES / f"{rule.code}.md").read_text("utf-8")
    case = next((Path(__file__).parent / "cases").glob(f"{rule.code.lower()}_*.py"))
    report = check_source(case.read_bytes(), "cases/x.py", settings=RuleSettings(is_strict=True))
    reported = {v.symbol.partition("@")[0] for v in report.violations if v.rule == rule.code}
    shown = {symbol.partition("@")[0] for symbol in re.findall('^symbol = "(.*)"$', page, re.MULTILINE)}
    assert shown <= reported
