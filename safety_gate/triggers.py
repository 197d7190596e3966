"""Read which words the rules need from the rules' files, without importing a rule.

Importing the rules costs more than judging a file in which none of their words stands; see `quiet`.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from safety_gate import sink_words
from safety_gate.settings import RuleSettings

_DECLARATION = re.compile(
    r"^    triggers: ClassVar\[tuple\[str, \.\.\.\]\] = ([A-Z_]+$|\([^()]*\))", re.MULTILINE
)


def declared_triggers(file: Path) -> tuple[str, ...] | None:
    """Return the triggers that a rule's file declares: a tuple of strings, or a name of `sink_words`.

    Returns:
        None where they are written in another way, so that only importing the rule tells them.
    """
    match = _DECLARATION.search(file.read_text("utf-8"))
    if match is None:
        return None
    shared: tuple[str, ...] | None = vars(sink_words).get(match[1])
    return shared or ast.literal_eval(match[1])


def needed_words(settings: RuleSettings) -> tuple[frozenset[str], ...]:
    """Return the words of which one entry must stand in a text that has a finding; none where any text may have one.

    Optional rules count as if they were on: that can only send more files to the engine.
    """
    if settings.re_exports or settings.inline_exemptions:
        return ()
    entries: list[frozenset[str]] = []
    for file in sorted((Path(__file__).parent / "rules").glob("sg*.py")):
        code = file.name[:5].upper()
        if code not in settings.ignored and (not settings.selected or code in settings.selected):
            triggers = declared_triggers(file)
            if triggers is None:
                return ()
            entries += [frozenset(entry.split()) for entry in triggers]
    return tuple(dict.fromkeys(entries))
