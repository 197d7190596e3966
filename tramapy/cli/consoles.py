"""The two consoles of the command line: answers on stdout, complaints on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final, TextIO

from rich.console import Console

__all__ = ["PIPE_WIDTH", "error_console", "output_console"]

PIPE_WIDTH: Final = 100
"""Columns where there is no terminal, so that a pipe always gets the same bytes."""


def output_console() -> Console:
    """Make the console for what was asked for. Colours are left out in a pipe and under NO_COLOR."""
    return _console(sys.stdout)


def error_console() -> Console:
    """Make the console for what went wrong."""
    return _console(sys.stderr)


def _console(stream: TextIO) -> Console:
    # a terminal that cannot show a character gets a question mark instead of a traceback
    reconfigure: Callable[..., None] | None = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
    width = None if stream.isatty() else PIPE_WIDTH
    return Console(file=stream, width=width, highlight=False, emoji=False, soft_wrap=False)
