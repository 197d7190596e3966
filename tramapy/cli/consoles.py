"""The two consoles of the command line: answers on stdout, complaints on stderr."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Callable
from typing import Final, TextIO

from rich.console import Console

__all__ = ["PIPE_WIDTH", "error_console", "leave_output", "output_console", "printable"]

PIPE_WIDTH: Final = 100
"""Columns where there is no terminal, so that a pipe always gets the same bytes."""

# control, format (those that turn the direction are among them), surrogates, line and paragraph separators
_HARMFUL: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def printable(text: str) -> str:
    """Return text on one line, without what would command a terminal: names of files may hold anything."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(character) in _HARMFUL else character
        for character in text
    )


def output_console() -> Console:
    """Make the console for what was asked for. Colours are left out in a pipe and under NO_COLOR."""
    return _console(sys.stdout)


def error_console() -> Console:
    """Make the console for what went wrong."""
    return _console(sys.stderr)


def leave_output() -> None:
    """Send what is buffered to nowhere, so that the interpreter does not complain of a closed pipe at its end."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):  # a stand-in for a stream
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


class _Console(Console):
    """A console whose closed pipe is an error like another file's; newer versions of rich end the process."""

    def on_broken_pipe(self) -> None:
        """Say so to the command, which may have a verdict to give."""
        raise BrokenPipeError


def _console(stream: TextIO) -> Console:
    # a terminal that cannot show a character gets a question mark instead of a traceback
    reconfigure: Callable[..., None] | None = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
    width = None if stream.isatty() else PIPE_WIDTH
    return _Console(file=stream, width=width, highlight=False, emoji=False, soft_wrap=False)
