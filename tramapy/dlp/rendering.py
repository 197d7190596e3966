"""Write a parsed pattern out again, for `re` or for RE2, so that neither reads anything in its own way."""

from __future__ import annotations

import enum

from tramapy.dlp.charset import CharSet
from tramapy.dlp.syntax import Alternation, Assertion, Characters, Check, Node, Repeat, Sequence

__all__ = ["Flavour", "render", "render_set"]


class Flavour(enum.Enum):
    """Whose syntax to write."""

    STDLIB = "stdlib"
    RE2 = "re2"


_ASSERTIONS = {
    Assertion.TEXT_START: r"\A",
    Assertion.TEXT_END: r"\Z",
    Assertion.LINE_END: "$",
    Assertion.WORD_BOUNDARY: r"\b",
    Assertion.NOT_WORD_BOUNDARY: r"\B",
}


def render(node: Node, flavour: Flavour) -> str:
    """Write `node` as a pattern without capturing groups.

    RE2 has no `Assertion.LINE_END`; a node that holds it is for `re` alone.
    """
    match node:
        case Characters(chars=chars):
            return render_set(chars, flavour)
        case Check(assertion=assertion):
            ends_re2 = flavour is Flavour.RE2 and assertion is Assertion.TEXT_END
            return r"\z" if ends_re2 else _ASSERTIONS[assertion]
        case Sequence(parts=parts):
            return "".join(render(part, flavour) for part in parts)
        case Alternation(choices=choices):
            return f"(?:{'|'.join(render(choice, flavour) for choice in choices)})"
        case _:
            return f"(?:{render(node.part, flavour)}){_count(node)}"


def render_set(chars: CharSet, flavour: Flavour) -> str:
    """Write a character set: a single character as itself, so that `re` can search for it as a literal."""
    if chars.single is not None:
        return _character(chars.single, flavour)
    outside = chars.complement()
    if not chars.ranges or 0 < len(outside.ranges) < len(chars.ranges):
        return f"[^{_ranges(outside, flavour)}]"
    return f"[{_ranges(chars, flavour)}]"


def _ranges(chars: CharSet, flavour: Flavour) -> str:
    return "".join(
        _character(first, flavour)
        if first == last
        else f"{_character(first, flavour)}-{_character(last, flavour)}"
        for first, last in chars.ranges
    )


def _character(code_point: int, flavour: Flavour) -> str:
    character = chr(code_point)
    if character.isascii() and character.isalnum():
        return character
    if flavour is Flavour.RE2:
        return f"\\x{{{code_point:x}}}"
    return f"\\U{code_point:08x}"


def _count(repeat: Repeat) -> str:
    most = "" if repeat.most is None else str(repeat.most)
    return f"{{{repeat.least},{most}}}{'?' if repeat.is_lazy else ''}"
