"""A command whose help says what its arguments are in words, and not in Python's."""

from __future__ import annotations

import re
from typing import Any, Final

from typer.core import TyperCommand

__all__ = ["PlainCommand"]

# newer versions of typer write `FILE <list[str]>`
_TYPED_ARGUMENT: Final = re.compile(r"^( +[A-Z]+)( <[^>]*>)", re.MULTILINE)


class PlainCommand(TyperCommand):
    """A typer command without the types of its arguments."""

    def get_help(self, ctx: Any) -> str:  # the class of the context is internal to newer versions
        """Return the help, in the same columns."""
        return _TYPED_ARGUMENT.sub(lambda found: found[1] + " " * len(found[2]), super().get_help(ctx))
