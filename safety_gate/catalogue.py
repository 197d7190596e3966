"""The list of rules and their pages."""

from __future__ import annotations

from pathlib import Path

from safety_gate.codes import GATE_CODES, UnknownCodeError, group_of
from safety_gate.rule import all_rules

_PACKAGE = Path(__file__).parent
_PLACES = (_PACKAGE / "pages", _PACKAGE.parent / "docs" / "rules")  # in a wheel; in a checkout


def list_rules() -> str:
    """Return all rules as a table of code, name, group, whether it is optional, and summary."""
    rows = [
        (rule.code, rule.name, group_of(rule.code), "optional" if rule.is_optional else "", rule.summary)
        for rule in all_rules()
    ]
    rows += [(code, name, "gate", "", summary) for code, (name, summary) in GATE_CODES.items()]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]])
        for row in rows
    ]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def explain(code: str) -> str:
    """Return the page of a rule, by code or by name.

    Raises:
        UnknownCodeError: No rule has this code or name.
    """
    wanted = code.strip()
    names = {rule.name: rule.code for rule in all_rules()} | {
        name: key for key, (name, _) in GATE_CODES.items()
    }
    chosen = names.get(wanted.lower(), wanted.upper())
    if chosen in names.values():
        for place in _PLACES:
            page = place / f"{chosen}.md"
            if page.is_file():
                return page.read_text("utf-8")
    raise UnknownCodeError(f"No rule is named {code!r}. See safety-gate list-rules.")
