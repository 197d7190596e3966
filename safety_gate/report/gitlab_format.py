"""GitLab's code quality report."""

from __future__ import annotations

import hashlib
import json
from collections import Counter

from safety_gate.runner import Result
from safety_gate.violation import Risk

_SEVERITIES = {
    Risk.LOW: "info",
    Risk.MEDIUM: "minor",
    Risk.HIGH: "major",
    Risk.CRITICAL: "critical",
    Risk.ACCEPTED: "info",
}


def render(result: Result) -> str:
    """Return the report as a list of issues. Exempted findings are left out."""
    seen: Counter[str] = Counter()
    issues: list[dict[str, object]] = []
    for v in result.violations:
        if not v.is_exempted:
            identity = f"{v.rule}\0{v.path}\0{v.function}\0{v.symbol}"
            issues.append(
                _issue(
                    v.rule, v.message, v.path, v.line, _SEVERITIES[v.risk], f"{identity}\0{seen[identity]}"
                )
            )
            seen[identity] += 1
    for d in result.diagnostics:
        issues.append(
            _issue(d.rule, d.message, d.path, d.line or 1, "blocker", f"{d.rule}\0{d.path}\0{d.message}")
        )
    return json.dumps(issues, indent=2) + "\n"


def _issue(rule: str, message: str, path: str, line: int, severity: str, identity: str) -> dict[str, object]:
    # No line number in the fingerprint: an issue stays itself when lines move.
    digest = hashlib.blake2b(identity.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    return {
        "check_name": rule, "description": message, "fingerprint": digest, "severity": severity,
        "location": {"path": path, "lines": {"begin": line}},
    }  # fmt: skip
