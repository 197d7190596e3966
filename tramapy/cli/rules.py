"""`tramapy rules`: the rule packs as a table or JSON, without their patterns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tramapy.cli.output_format import OutputFormat
from tramapy.dlp.pack_rule import PackRule
from tramapy.dlp.packs import ALL, encoded

__all__ = ["show_rules"]


_SHOWN: Mapping[object, str] = {True: "on", False: "off"}


def show_rules(format_: OutputFormat, console: Console) -> None:
    """Print the rule packs."""
    if format_ is OutputFormat.TEXT:
        console.print(_table())
        return
    text = json.dumps({"rules": list(_rows())}, indent=2, ensure_ascii=False) + "\n"
    console.print(Text(text), soft_wrap=True, end="")


def _table() -> Table:
    table = Table(title="Rules", title_justify="left")
    table.add_column("Id", style="cyan", no_wrap=True)
    # without the action: every rule of the packs redacts unless a configuration says otherwise
    for name in ("Pack", "Default", "Finds", "Source"):
        table.add_column(name, overflow="fold")
    for row in _rows():
        table.add_row(
            *(Text(_SHOWN.get(value, str(value))) for name, value in row.items() if name != "action")
        )
    return table


def _rows() -> Iterator[dict[str, str | bool]]:
    for pack in (*ALL, encoded):
        for rule in pack.rules:
            assert isinstance(rule, PackRule)  # noqa: S101  # all of ours are
            yield {
                "id": rule.id,
                "pack": pack.name,
                "is_default": pack in ALL,
                "title": rule.title,
                "action": rule.action.value,
                "source": rule.source,
            }
