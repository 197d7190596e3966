"""Codes and groups: how `--select` and `--ignore` name rules, and the gate's own codes SG901 to SG906."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

TYPE_CHECKING = False  # see `config`
if TYPE_CHECKING:
    from typing import Final

GROUPS: Final[dict[str, str]] = {
    "no-print": "SG1",
    "no-sensitive-logging": "SG2",
    "bounded-read": "SG3",
    "lifecycle": "SG4",
    "cancellation-rethrow": "SG5",
}
"""Names that stand for a family of rules."""

GATE_CODES: Final[dict[str, tuple[str, str]]] = {
    "SG901": ("gate-config-invalid", "The configuration of the gate is defective."),
    "SG902": ("gate-stale-exemption", "An exemption covers nothing."),
    "SG903": ("gate-count-mismatch", "An exemption covers another number of findings than it says."),
    "SG904": ("gate-expired-exemption", "An exemption has expired."),
    "SG905": ("gate-unparseable", "A file cannot be read or parsed, so it was not judged."),
    "SG906": ("gate-unresolved-base", "The revision to compare with cannot be resolved."),
}
"""What the gate reports about itself; these cannot be selected, ignored or exempted."""

_CODE = re.compile(r"SG\d{1,3}")
_FILE = re.compile(r"(sg\d{3})_[a-z_]+\.py")


class UnknownCodeError(ValueError):
    """A code or group that no rule has."""


@cache
def rule_codes() -> tuple[str, ...]:
    """Return the codes of all rules, from their file names: no rule is imported."""
    matches = (_FILE.fullmatch(path.name) for path in (Path(__file__).parent / "rules").glob("sg*.py"))
    return tuple(sorted(match.group(1).upper() for match in matches if match))


def expand(names: Iterable[str]) -> tuple[str, ...]:
    """Return the rule codes that codes, prefixes and group names stand for.

    Raises:
        UnknownCodeError: With the name.
    """
    chosen: set[str] = set()
    for name in names:
        prefix = GROUPS.get(name.lower(), name.upper())
        found = [code for code in rule_codes() if code.startswith(prefix)]
        if not _CODE.fullmatch(prefix) or not found:
            raise UnknownCodeError(f"No rule or group is named {name!r}. See safety-gate list-rules.")
        chosen.update(found)
    return tuple(sorted(chosen))


def exact(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names that are whole codes: naming an optional rule turns it on, its group does not."""
    return tuple(sorted({name.upper() for name in names} & set(rule_codes())))


def group_of(code: str) -> str:
    """Return the name of a code's group."""
    return next((name for name, prefix in GROUPS.items() if code.startswith(prefix)), "gate")
