"""`OutputFormat`: the words after `--format`, the same for every command."""

from __future__ import annotations

import enum

__all__ = ["OutputFormat"]


class OutputFormat(enum.StrEnum):
    """For people, or for programs."""

    TEXT = "text"
    JSON = "json"
