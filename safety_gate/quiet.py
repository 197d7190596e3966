"""Tell without the rules that a file has nothing for them: none of the words that they need stands in it.

Importing the rules costs more than judging a file in which none of their words stands.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable

from safety_gate.parsing import is_giant

_WORD = re.compile(r"[^\W\d]\w*")


def is_quiet(data: bytes, entries: Iterable[frozenset[str]], max_memory_mb: int) -> bool:
    """Tell whether a file is plain ASCII that the interpreter parses, and holds the words of no entry.

    Args:
        data: The file.
        entries: Words that must all be there for some rule to have a finding.
        max_memory_mb: What judging it may take.

    Returns:
        False also wherever it takes the engine to tell.
    """
    if not data.isascii() or b"\0" in data or b"coding" in data:
        return False
    text = data.decode("ascii")
    words = frozenset(_WORD.findall(text))
    if any(entry <= words for entry in entries) or is_giant(text, max_memory_mb):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
