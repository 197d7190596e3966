"""Workflow commands that GitHub shows as annotations."""

from __future__ import annotations

from safety_gate.runner import Result


def render(result: Result) -> str:
    """Return one command a finding and a diagnostic. Exempted findings are left out."""
    rows: list[str] = []
    for v in result.violations:
        if not v.is_exempted:
            level = "error" if v.fails else "notice"
            place = f"file={_property(v.path)},line={v.line},col={v.column},endLine={v.end_line}"
            rows.append(f"::{level} {place},title={_property(f'{v.rule} {v.name}')}::{_data(v.message)}")
    for d in result.diagnostics:
        rows.append(
            f"::error "
            f"file={_property(d.path)},line={d.line or 1},title={_property(d.rule)}::{_data(d.message)}"
        )
    return "".join(f"{row}\n" for row in rows)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
