"""JUnit XML: one test case a finding."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from safety_gate.runner import Result

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(result: Result) -> str:
    """Return the report as one test suite. Advice and exempted findings pass; so does a clean run."""
    cases: list[str] = []
    failures = 0
    for v in result.violations:
        name = f"{v.rule} {v.name} line {v.line} column {v.column}"
        body = ""
        if v.fails:
            failures += 1
            body = (
                f"<failure message={_attribute(v.message)} "
                f"type={_attribute(v.rule)}>{_text(f'{v.path}:{v.line}')}</failure>"
            )
        cases.append(f"<testcase classname={_attribute(v.path)} name={_attribute(name)}>{body}</testcase>")
    for d in result.diagnostics:
        body = f"<error message={_attribute(d.message)} type={_attribute(d.rule)}/>"
        cases.append(f"<testcase classname={_attribute(d.path)} name={_attribute(d.rule)}>{body}</testcase>")
    if not cases:
        cases.append('<testcase classname="safety-gate" name="clean"></testcase>')
    counts = f'tests="{len(cases)}" failures="{failures}" errors="{len(result.diagnostics)}"'
    head = f'<testsuite name="safety-gate" {counts}>'
    return "\n".join(
        [
            '<?xml version="1.0" encoding="utf-8"?>',
            "<testsuites>",
            head,
            *cases,
            "</testsuite>",
            "</testsuites>",
            "",
        ]
    )


def _attribute(text: str) -> str:
    return quoteattr(_ILLEGAL.sub("?", text))


def _text(text: str) -> str:
    return escape(_ILLEGAL.sub("?", text))
