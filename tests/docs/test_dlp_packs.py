"""The table of the packs' rules is that of the code."""

from __future__ import annotations

from pathlib import Path

from tramapy.dlp.packs import ALL, encoded

PAGE = Path(__file__).parents[2] / "docs" / "dlp-packs.md"


def test_every_rule_is_documented_with_its_source() -> None:
    written = [
        line for line in PAGE.read_text("utf-8").splitlines() if line.count(" | ") == 3 and "`" in line[:4]
    ]
    assert written == [
        f"| `{rule.id}` | `{pack.name}` | {rule.title} | {rule.source} |"
        for pack in (*ALL, encoded)
        for rule in pack.rules
    ]
