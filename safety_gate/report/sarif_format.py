"""SARIF 2.1.0, for code scanning."""

from __future__ import annotations

import json
from urllib.parse import quote

from safety_gate.codes import GATE_CODES
from safety_gate.rule import all_rules
from safety_gate.runner import Result
from safety_gate.violation import Diagnostic, Violation

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(result: Result) -> str:
    """Return the report as one SARIF log with one run."""
    rules = [{"id": r.code, "name": r.name, "shortDescription": {"text": r.summary}} for r in all_rules()]
    rules += [
        {"id": code, "name": name, "shortDescription": {"text": text}}
        for code, (name, text) in GATE_CODES.items()
    ]
    index = {rule["id"]: number for number, rule in enumerate(rules)}
    run = {
        "tool": {"driver": {"name": "safety-gate", "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(v, index[v.rule]) for v in result.violations],
        "invocations": [
            {"executionSuccessful": not result.diagnostics,
             "toolExecutionNotifications": [_notification(d) for d in result.diagnostics]}
        ],
    }  # fmt: skip
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _result(violation: Violation, index: int) -> dict[str, object]:
    region = {
        "startLine": violation.line, "startColumn": violation.column, "endLine": violation.end_line,
        "endColumn": max(violation.end_column, 1),
    }  # fmt: skip
    row: dict[str, object] = {
        "ruleId": violation.rule, "ruleIndex": index, "level": "error" if violation.fails else "note",
        "message": {"text": violation.message},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(violation.path)},
        "region": region}}],
        "properties": {"risk": violation.risk.label, "symbol": violation.symbol},
    }  # fmt: skip
    if violation.is_exempted:
        row["suppressions"] = [{"kind": "external", "status": "accepted"}]
    return row


def _notification(diagnostic: Diagnostic) -> dict[str, object]:
    location: dict[str, object] = {"artifactLocation": {"uri": _uri(diagnostic.path)}}
    if diagnostic.line is not None:
        location["region"] = {"startLine": diagnostic.line}
    return {
        "level": "error", "message": {"text": diagnostic.message}, "descriptor": {"id": diagnostic.rule},
        "locations": [{"physicalLocation": location}],
    }  # fmt: skip


def _uri(path: str) -> str:
    return quote(path, errors="surrogateescape")
