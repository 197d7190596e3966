"""The formats of a report, one file each; `render` picks one by name."""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # see `safety_gate.config`
if TYPE_CHECKING:
    from typing import Final

    from safety_gate.runner import Result

FORMATS: Final = ("text", "json", "github", "sarif", "junit", "gitlab")
"""The names that `--format` takes."""


def render(result: Result, format_name: str) -> str:
    """Return a report as text that ends with a line end, or is empty.

    Args:
        result: What was found.
        format_name: One of `FORMATS`.
    """
    module = importlib.import_module(f"safety_gate.report.{format_name}_format")
    text: str = module.render(result)
    return text
