"""Gates of rules whose matches hold a dash or a dot between what is rare: looked for together."""

from __future__ import annotations

import re

from tramapy.dlp.view import View

__all__ = ["holds_dashes", "holds_dots"]

_HEX = "[0-9A-Fa-f]"
# The literals in front let the standard library skip to them.
_DASHES = re.compile(rf"-(?:(?<= -)(?:[pua]|-user)|---|Lines: |{_HEX}{{2}}-{_HEX}{{2}}-)")
_DOTS = re.compile(
    rf"\.(?=[0-9A-Fa-fs])(?:(?<=[0-9]\.)[0-9]{{1,3}}\.[0-9]{{1,3}}\.[0-9]|{_HEX}{{4}}\.{_HEX}{{4}}|slack)"
)


def _has_dashes(view: View) -> bool:
    return "-" in view.part and _DASHES.search(view.part) is not None


def _has_dots(view: View) -> bool:
    return _DOTS.search(view.part) is not None


def holds_dashes(view: View) -> bool:
    """Search a view that holds an option of a command, the mark of a key block, or pairs of hexadecimal digits."""
    return view.once(_has_dashes)


def holds_dots(view: View) -> bool:
    """Search a view that holds numbers or hexadecimal digits between dots, or the host of a webhook."""
    return view.once(_has_dots)
