"""Commands whose help is in words, and not in Python's types, and that end quietly where nobody reads them."""

from __future__ import annotations

import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from tramapy.cli.consoles import leave_output

__all__ = ["PlainCommand", "QuietGroup"]

# newer versions of typer write `FILE <list[str]>`
_TYPED_ARGUMENT: Final = re.compile(r"^( +[A-Z]+)( <[^>]*>)", re.MULTILINE)


class PlainCommand(TyperCommand):
    """A typer command without the types of its arguments."""

    def get_help(self, ctx: Any) -> str:  # the class of the context is internal to newer versions
        """Return the help, in the same columns."""
        return _TYPED_ARGUMENT.sub(lambda found: found[1] + " " * len(found[2]), super().get_help(ctx))


class QuietGroup(TyperGroup):
    """All commands: a reader that has seen enough, such as `head`, is no failure of theirs."""

    def make_context(self, *arguments: Any, **named: Any) -> Any:
        """Read the arguments; help and version are printed here."""
        with _quiet_where_unread():
            return super().make_context(*arguments, **named)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        with _quiet_where_unread():
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result


@contextmanager
def _quiet_where_unread() -> Generator[None]:
    try:
        yield
    except BrokenPipeError:
        leave_output()
        raise typer.Exit(0) from None
