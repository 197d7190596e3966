"""JSON for scripts. Keys are only ever added."""

from __future__ import annotations

import json

from safety_gate.runner import Result


def render(result: Result) -> str:
    """Return the report as one JSON object."""
    document = {
        "findings": [
            {
                "rule": v.rule, "name": v.name, "path": v.path, "line": v.line, "column": v.column,
                "message": v.message,
                "risk": v.risk.label, "fails": v.fails, "symbol": v.symbol, "function": v.function,
                "exempted": v.is_exempted,
            }
            for v in result.violations
        ],
        "errors": [{"path": d.path, "line": d.line, "message": d.message,
        "rule": d.rule} for d in result.diagnostics],
        "unresolved": result.unresolved_count,
        "files": result.file_count,
    }  # fmt: skip
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"
