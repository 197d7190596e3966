"""The tables of the page say what the code says."""

import typer

from tests.docs.pages import DOCS, table_rows
from tramapy.cli.app import app
from tramapy.dlp import DlpAction, rule_file
from tramapy.hooks.dlp import DlpContentType

PAGE = DOCS / "redact.md"


def names(*head: str) -> list[str]:
    return [row[0].strip("`") for row in table_rows(PAGE, *head)]


def test_every_option_is_listed() -> None:
    command = typer.main.get_command(app).commands["redact"]  # type: ignore[attr-defined]
    options = [parameter.opts[0] for parameter in command.params if parameter.opts[0].startswith("--")]
    assert names("Option", "Does") == options


def test_every_key_is_listed() -> None:
    assert names("Key of the file") == list(rule_file._FILE_KEYS)
    assert names("Key of a rule") == list(rule_file._RULE_KEYS)


def test_every_action_and_type_of_text_is_listed() -> None:
    rows = {row[0]: row[1] for row in table_rows(PAGE, "Key of a rule")}
    assert all(f"`{action.value}`" in rows["`action`"] for action in DlpAction)
    assert all(f"`{content_type.value}`" in rows["`enabled_for`"] for content_type in DlpContentType)
