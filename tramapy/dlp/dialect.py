r"""Parse the pattern dialect: what `re` (with `re.ASCII`) and RE2 both mean in the same way.

What one of them lacks, or reads differently, is refused. Reasons are fixed words: a pattern may itself be a
secret, so nothing here repeats any of it.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable

from tramapy.dlp.charset import ANY, DIGITS, NEWLINE, SPACES, WORDS, CharSet
from tramapy.dlp.syntax import (
    Alternation,
    Assertion,
    Characters,
    Check,
    Node,
    Repeat,
    Sequence,
    min_length,
    size,
)

__all__ = ["PatternError", "parse"]

_LONGEST_PATTERN = 5_000
_DEEPEST_GROUP = 32
_MOST_REPEATS = 1_000
_LARGEST_PROGRAM = 2_000

_INVALID = "is not valid; check its brackets, groups and repeats"
_LOOK_AROUND = r"uses look-around; match the surroundings too, or test them with \b"
_BACK_REFERENCE = "uses a back-reference or an octal escape; write the text itself, or \\xHH"
_FLAGS = "sets flags; only (?i) at the very start is supported"
_GROUP = "uses a kind of group that is not supported; write (?:...)"
_ESCAPE = "uses an escape that is not supported; write the characters themselves, or \\xHH"
_POSSESSIVE = "uses a possessive repeat; write a plain one, which takes linear time here anyway"
_EMPTY_REPEAT = "repeats something that can match nothing; repeat what takes at least one character"
_COUNT = f"repeats more than {_MOST_REPEATS} times; write a smaller count, or none as in {{3,}}"
_OPEN_COUNT = "has a repeat without a lower count; write {0,n}"
_NESTED_CLASS = r"uses a class inside a class; write \[ for a bracket and \& for an ampersand"
_SURROGATE = "holds a lone surrogate; remove it"
_TOO_LARGE = f"is larger than {_LARGEST_PROGRAM} steps once its repeats are written out; lower its counts"
_TOO_LONG = f"has more than {_LONGEST_PATTERN} characters; split the rule"
_TOO_DEEP = f"nests groups more than {_DEEPEST_GROUP} deep; flatten it"

_COUNTED = re.compile(r"\{([0-9]+)(?:(,)([0-9]*))?\}")
_GROUP_NAME = re.compile(r"\?P<([A-Za-z_][A-Za-z0-9_]*)>")
_HEX = re.compile(r"x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}")
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_SETS = {
    "d": DIGITS,
    "w": WORDS,
    "s": SPACES,
    "D": DIGITS.complement(),
    "W": WORDS.complement(),
    "S": SPACES.complement(),
}
_ASSERTIONS = {
    "b": Assertion.WORD_BOUNDARY,
    "B": Assertion.NOT_WORD_BOUNDARY,
    "A": Assertion.TEXT_START,
    "Z": Assertion.TEXT_END,
    "z": Assertion.TEXT_END,
}


class PatternError(Exception):
    """A pattern outside the dialect; `reason` is a fixed clause that says what is wrong and what to write."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def parse(pattern: str) -> Node:
    """Parse `pattern`.

    Raises:
        PatternError: It is no pattern of the dialect.
    """
    if len(pattern) > _LONGEST_PATTERN:
        raise PatternError(_TOO_LONG)
    if any("\ud800" <= character <= "\udfff" for character in pattern):
        raise PatternError(_SURROGATE)
    node = _Parser(pattern).parse()
    if size(node) > _LARGEST_PROGRAM:
        raise PatternError(_TOO_LARGE)
    return node


class _Group:
    """An open group: the choices that are done, and the parts of the current one."""

    __slots__ = ("choices", "parts")

    def __init__(self) -> None:
        self.choices: list[Node] = []
        self.parts: list[Node] = []

    def end_choice(self) -> None:
        parts = self.parts
        self.choices.append(parts[0] if len(parts) == 1 else Sequence(tuple(parts)))
        self.parts = []

    def close(self) -> Node:
        self.end_choice()
        return self.choices[0] if len(self.choices) == 1 else Alternation(tuple(self.choices))


class _Parser:
    """One pass over a pattern; open groups stand on a stack of their own, not on Python's."""

    def __init__(self, pattern: str) -> None:
        self._ignores_case = pattern.startswith("(?i)")
        self._pattern = pattern
        self._at = len("(?i)") if self._ignores_case else 0
        self._groups = [_Group()]
        self._names: set[str] = set()
        self._can_repeat = False

    def parse(self) -> Node:
        special: dict[str, Callable[[], None]] = {
            "(": self._open_group,
            ")": self._close_group,
            "|": self._end_choice,
            "*": self._star,
            "+": self._plus,
            "?": self._optional,
            "{": self._brace,
            "[": self._class,
            "\\": self._escape,
            "^": self._text_start,
            "$": self._line_end,
            ".": self._dot,
        }
        while self._at < len(self._pattern):
            character = self._take()
            handler = special.get(character)
            if handler is None:
                self._add(self._characters(CharSet.holding(character)))
            else:
                handler()
        if len(self._groups) > 1:
            raise PatternError(_INVALID)
        return self._groups[0].close()

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _take(self) -> str:
        character = self._peek()
        if not character:
            raise PatternError(_INVALID)
        self._at += 1
        return character

    def _skip(self, text: str) -> bool:
        if not self._pattern.startswith(text, self._at):
            return False
        self._at += len(text)
        return True

    def _add(self, node: Node) -> None:
        self._groups[-1].parts.append(node)
        self._can_repeat = True

    def _characters(self, chars: CharSet, *, is_negated: bool = False) -> Characters:
        if self._ignores_case:
            chars = chars.ignoring_case()
        return Characters(chars.complement() if is_negated else chars)

    def _open_group(self) -> None:
        if self._peek() == "?":
            self._group_kind()
        if len(self._groups) > _DEEPEST_GROUP:
            raise PatternError(_TOO_DEEP)
        self._groups.append(_Group())
        self._can_repeat = False

    def _group_kind(self) -> None:
        if self._skip("?:"):
            return
        named = _GROUP_NAME.match(self._pattern, self._at)
        if named is not None:
            if named[1] in self._names:
                raise PatternError(_INVALID)
            self._names.add(named[1])
            self._at = named.end()
            return
        raise PatternError(self._refused_group())

    def _refused_group(self) -> str:
        rest = self._pattern[self._at + 1 : self._at + 3]
        if rest.startswith(("=", "!")) or rest in {"<=", "<!"}:
            return _LOOK_AROUND
        if rest == "P=":
            return _BACK_REFERENCE
        return _FLAGS if rest[:1] and rest[0] in "aiLmsux-" else _GROUP

    def _close_group(self) -> None:
        if len(self._groups) == 1:
            raise PatternError(_INVALID)
        self._add(self._groups.pop().close())

    def _end_choice(self) -> None:
        self._groups[-1].end_choice()
        self._can_repeat = False

    def _star(self) -> None:
        self._repeat(0, None)

    def _plus(self) -> None:
        self._repeat(1, None)

    def _optional(self) -> None:
        self._repeat(0, 1)

    def _brace(self) -> None:
        counted = _COUNTED.match(self._pattern, self._at - 1)
        if counted is None:
            if self._peek() == ",":
                raise PatternError(_OPEN_COUNT)
            self._add(self._characters(CharSet.holding("{")))
            return
        self._at = counted.end()
        least = _count(counted[1])
        if counted[2] is None:
            self._repeat(least, least)
        elif counted[3]:
            self._repeat(least, _count(counted[3]))
        else:
            self._repeat(least, None)

    def _repeat(self, least: int, most: int | None) -> None:
        if not self._can_repeat or (most is not None and most < least):
            raise PatternError(_INVALID)
        parts = self._groups[-1].parts
        if min_length(parts[-1]) == 0:
            raise PatternError(_EMPTY_REPEAT)
        is_lazy = self._skip("?")
        if not is_lazy and self._peek() == "+":
            raise PatternError(_POSSESSIVE)
        parts[-1] = Repeat(part=parts[-1], least=least, most=most, is_lazy=is_lazy)
        self._can_repeat = False

    def _text_start(self) -> None:
        self._add(Check(Assertion.TEXT_START))

    def _line_end(self) -> None:
        self._add(Check(Assertion.LINE_END))

    def _dot(self) -> None:
        self._add(Characters(NEWLINE.complement()))

    def _escape(self) -> None:
        assertion = _ASSERTIONS.get(self._peek())
        if assertion is not None:
            self._at += 1
            self._add(Check(assertion))
        else:
            self._add(self._characters(self._escaped()))

    def _escaped(self) -> CharSet:
        coded = _HEX.match(self._pattern, self._at)
        if coded is not None:
            self._at = coded.end()
            return _coded(int(coded[0][1:], 16))
        character = self._take()
        if character in _SETS:
            return _SETS[character]
        if character in string.digits:
            raise PatternError(_BACK_REFERENCE)
        if character in string.ascii_letters and character not in _CONTROLS:
            raise PatternError(_ESCAPE)
        return CharSet.holding(_CONTROLS.get(character, character))

    def _class(self) -> None:
        is_negated = self._skip("^")
        members = [self._class_member()]
        while not self._skip("]"):
            members.append(self._class_member())
        self._add(self._characters(members[0].union(members[1:]), is_negated=is_negated))

    def _class_member(self) -> CharSet:
        first = self._class_item()
        follows = self._pattern[self._at : self._at + 2]
        if follows[:1] != "-" or follows in {"-", "-]"}:
            return first
        self._at += 1
        last = self._class_item()
        if first.single is None or last.single is None or last.single < first.single:
            raise PatternError(_INVALID)
        return CharSet.of((first.single, last.single))

    def _class_item(self) -> CharSet:
        character = self._take()
        if character == "\\":
            return self._escaped()
        if (character == "[" and self._peek() in {":", "=", "."}) or (
            character == "&" and self._peek() == "&"
        ):
            raise PatternError(_NESTED_CLASS)
        return CharSet.holding(character)


def _count(digits: str) -> int:
    significant = digits.lstrip("0") or "0"
    if len(significant) > len(str(_MOST_REPEATS)) or int(significant) > _MOST_REPEATS:
        raise PatternError(_COUNT)
    return int(significant)


def _coded(code_point: int) -> CharSet:
    if code_point not in ANY:
        raise PatternError(_INVALID)
    if 0xD800 <= code_point <= 0xDFFF:
        raise PatternError(_SURROGATE)
    return CharSet.of((code_point, code_point))
