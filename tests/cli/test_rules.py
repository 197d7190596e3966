import json

import pytest

from tests.cli.running import run
from tramapy.dlp.packs import ALL, encoded

RULES = [(pack.name, rule) for pack in (*ALL, encoded) for rule in pack.rules]


def test_the_table_names_every_rule() -> None:
    outcome = run("rules")
    assert outcome.exit_code == 0
    for pack_name, rule in RULES:
        assert rule.id in outcome.output
        assert pack_name in outcome.output


def test_the_table_says_what_is_off_by_default() -> None:
    lines = [line for line in run("rules").output.splitlines() if "encoded" in line or "jwt" in line]
    assert ["off" in line for line in lines if "_pii" in line] == [True]
    assert [" on " in line for line in lines if "jwt" in line] == [True]


def test_the_table_leaves_out_what_is_the_same_for_all() -> None:
    assert {rule.action.value for _, rule in RULES} == {"redact"}
    assert "Action" not in run("rules").output


def test_json_has_every_rule_with_its_source() -> None:
    rows = json.loads(run("rules", "--format", "json").output)["rules"]
    assert [(row["pack"], row["id"], row["action"]) for row in rows] == [
        (pack_name, rule.id, rule.action.value) for pack_name, rule in RULES
    ]
    assert all(set(row) == {"id", "pack", "is_default", "title", "action", "source"} for row in rows)
    assert {row["pack"] for row in rows if not row["is_default"]} == {"encoded"}
    assert all(row["title"] and row["source"] for row in rows)


@pytest.mark.parametrize("format_", ["text", "json"])
def test_no_pattern_is_printed(format_: str) -> None:
    output = run("rules", "--format", format_).output
    assert not [rule.id for _, rule in RULES if rule.pattern in output]
    assert "(?" not in output
