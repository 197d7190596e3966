"""Rules for values of any form behind a telling name."""

from __future__ import annotations

import re

from tramapy.dlp.checks import SHORTEST_PASSWORD, SHORTEST_SECRET, is_mixed, is_password, is_secret
from tramapy.dlp.pack_rule import ANY_CASE, Cut, PackRule, either_case, is_in_marker
from tramapy.dlp.packs.joints import ELEMENT, HELD, HELD_ELEMENT, JOINT, hint_of, is_joined
from tramapy.dlp.packs.run import Run
from tramapy.dlp.packs.search_words import holds_word
from tramapy.dlp.view import View

__all__ = ["RULES", "held_name"]

_PASSWORD_NAMES = ("password", "passwd", "passphrase", "passcode", "passwort", "pwd", "pass")
_OF_ANOTHER_KIND = (
    r"(?:[_-]?(?:names?|ids?|type|counts?|len(?:gth)?|size|limits?|max|min|url|uri|path|file|dir|ttl|expir\w*|exp|field|label|"
    r"hints?|policy|arn|version|env|var(?:iable)?|ref(?:erence)?|error|status|usage|budget|used|index|format|prefix|suffix|"
    r"manager|store|provider|endpoint|mask\w*|reset\w*|strength|rules?|regex|pattern|column|input|prompt|placeholder|class|"
    r"required|enabled|valid\w*)(?![a-z0-9]))"
)
_SEPARATOR = (
    r"(?:[\"'`\]*_]{0,3}[ \t]{0,4}(?::=|=>|==?|:[ \t]{0,2}(?:str|string|Optional\[str\])(?: \| None)?"
    r"[ \t]{0,2}=(?!=)|:)"
    r"[*_]{0,2}[ \t]{0,4}"
    r"|[ \t]{1,3}is[ \t]{0,3}:?[ \t]{1,3}|[ \t]{1,3}(?:to|=)[ \t]{1,3})"
)
_VALUE = (
    r"(?:[bBfFrRuU]{1,2}(?=[\"']))?(?:\"\"(?=\"[^\"])|''(?='[^']))?"
    # A quote before a letter or digit ends no value: it was escaped in JSON.
    r"(?:\"(?P<d>(?:[^\"\n]|\"(?=[0-9A-Za-z])){1,256})\"|'(?P<s>[^'\n]{1,256})'|`(?P<b>[^`\n]{1,256})`"
    r"|[\"'`]?(?P<u>[^\s\"'`;,&<>(){}\[\]|]))"
)
_BARE = re.compile(r"[^\s\"'`;,&<>(){}\[\]|]*")
_LONGEST_NAME = 64
_WORD = re.compile(r"[0-9A-Za-z_.-]{0,2048}")
_CLOSE = 12
_KEYS = ("api", "access", "account", "private", "auth", "encryption", "signing", "client", "license")
_SECRET_NAMES = (
    "secret",
    "token",
    "credential",
    *(f"{key}{joint}key" for key in _KEYS for joint in ("", "_", "-", " ")),
)
_BEFORE_KEY = "|".join(f"(?<={key})|(?<={key}[ _-])" for key in _KEYS)
_BEFORE_PASS = "|".join(f"(?<={word})" for word in ("store", "key", "user", "db"))
_MARKED = r"[^\s\"'`;,<>|]"
_BEFORE_OPTION = r"(?P<option>(?<=-)|(?<=-api)|(?<=-store)|(?<=-key)|(?<=-db)|(?<=-user))?"
_VALUE_BODY = re.compile(r"(?:[^\s\"'`;,&<>(){}\[\]|]*[^\s\"'`;,&<>(){}\[\]|.!?:])?")
_NAMED = {
    kind: re.compile(
        rf"(?>{_BEFORE_OPTION}(?:{names})(?!(?!s(?![a-z]))[a-z])(?!{_OF_ANOTHER_KIND})"
        rf"(?P<rest>[0-9A-Za-z_.-]{{0,40}}+)(?:{ELEMENT}|(?:(?P<sep>{_SEPARATOR})|{joint}){_VALUE}))"
        # Too short a value is no other one: what is atomic is not read in another way.
        rf"(?(u)(?={_MARKED}{{{shortest - 1}}})|)",
        ANY_CASE,
    )
    for kind, names, joint, shortest in (
        (
            "password",
            "|".join((*_PASSWORD_NAMES[:-1], rf"(?:(?<![A-Za-z])|{_BEFORE_PASS})pass")),
            JOINT % "",
            SHORTEST_PASSWORD,
        ),
        ("secret", f"secret|token|credential|(?:{_BEFORE_KEY})key", JOINT % "(?!)", SHORTEST_SECRET),
    )
}
_ENDS_IN_ANOTHER_KIND = re.compile(rf".*?{_OF_ANOTHER_KIND}\Z", re.IGNORECASE)
_SHORT_NAME = re.compile(r"pass(?![a-z])", re.IGNORECASE)
"""Also a verb, a ticket and a mark."""
_SHORTEST_OF_SHORT_NAME = 6
_WORDS_ONLY = re.compile(r"[a-z]+[.,!?]?\Z", re.IGNORECASE)
_HEAD_LENGTH = 257
"""How much of a value is looked at; one more than what it is judged by, so that a longer one is known as such."""
_ENDS = ".,!?:"
_LINE_ENDS = re.compile(r"[ \t]{0,8}(?:\r?\n|\Z)")
_OPENED = re.compile(r"[^(\[]+[(\[][^()\[\]]+\Z")
_CONTINUED = ("(", "[", "&")
_MOST_MARKED = 2_048
_WITH_MARKS = re.compile(rf"{_MARKED}{{0,{_MOST_MARKED}}}")
_NEXT_FIELD = re.compile(r"&(?:amp;)?[0-9A-Za-z_.\[\]%-]{0,40}=|&&|&\Z")
_CALLED = re.compile(r"[A-Za-z_$&*][\w.$:>*-]*\Z")
_WITHOUT_BRACKETS = {ord(bracket): "!" for bracket in "()[]"}
_PAIRS = ((")", "("), ("]", "["), ("}", "{"))


class _NamedValues:
    """Find the values of names such as `DB_PASSWORD=` or `"clientSecret": `."""

    def __init__(self, kind: str, roots: tuple[str, ...]) -> None:
        self._roots = tuple(root.encode() for root in roots)
        self._pattern = _NAMED[kind]
        self._is_password = kind == "password"

    def __call__(self, view: View) -> list[Cut]:
        text = view.text
        found: list[Cut] = []
        for name in self._roots:
            places = view.places_of_word(name)
            if not places:
                continue
            run = Run(_BARE, text, tells_dull=not self._is_password)
            word: Run | None = None
            done, last = -1, -_CLOSE
            for place in places:
                # Names of names, on and on, have no value but behind the last ones.
                if place - last < _CLOSE:
                    word = word or Run(_WORD, text, _MOST_MARKED, _LONGEST_NAME)
                    word.reach(place)
                    if word.end - place > _LONGEST_NAME:
                        continue
                last = place
                # A name well inside of a bare value can only have the end of that value as its own.
                if place + _LONGEST_NAME < done or (
                    not self._is_password and place + _LONGEST_NAME < run.dull_end
                ):
                    continue
                match = self._pattern.match(text, place)
                if match is not None and not is_in_marker(text, place):
                    cut = self._value(match, run)
                    if cut is not None:
                        found.append(cut)
                        done = max(done, cut.end if match.lastgroup == "u" else -1)
        return found

    def _value(self, match: re.Match[str], run: Run) -> Cut | None:
        rest: str = match.group("rest")
        if rest and _ENDS_IN_ANOTHER_KIND.match(rest):
            return None
        text = match.string
        kind = match.lastgroup or "u"
        quoted = None if kind == "u" else kind
        start, end = match.span(kind)
        behind = match.end()
        if quoted is None:
            run.reach(start)
            behind, end = run.end, run.kept_end
            if run.end - start < _HEAD_LENGTH and text.startswith(_CONTINUED, run.end):
                run.marked = marked = run.marked or Run(_WITH_MARKS, text, _MOST_MARKED, _HEAD_LENGTH)
                marked.reach(start)
                end = _end_with_marks(text, start, run.end, marked.end)
                behind = max(behind, end)
        value = text[start : min(end, start + _HEAD_LENGTH)]
        if quoted is None and end > run.end:  # no call
            value = value.translate(_WITHOUT_BRACKETS)
        if not value or not (is_password(value) if self._is_password else is_secret(value)):
            return None
        is_short = self._is_password and _SHORT_NAME.match(text, match.start()) is not None
        if is_short and (len(value) < _SHORTEST_OF_SHORT_NAME or not is_mixed(value)):
            return None
        separator = match.group("sep")
        if separator is not None:
            if self._is_password and not _is_word(separator, value, quoted, is_short=is_short):
                return None
        elif end - start < _HEAD_LENGTH and not is_joined(
            match, value, behind, quoted, is_password=self._is_password
        ):
            return None
        return Cut(start, end)


def _end_with_marks(text: str, start: int, mark_at: int, last: int) -> int:
    """Return where a value ends that may hold the bracket or ampersand that it goes on with; its start for a call."""
    if last - start >= _HEAD_LENGTH:
        return start
    value = text[start:last]
    if text[mark_at] == "&":
        following = _NEXT_FIELD.search(value, mark_at - start)
        if following is not None:
            value = value[: following.start()]
    elif _CALLED.match(text, start, mark_at) and not _is_open(text, value, last):
        return start
    for closing, opening in _PAIRS:
        if value.endswith(closing) and value.count(opening) < value.count(closing):
            value = value[:-1]
    return start + len(value.rstrip(_ENDS))


def _is_open(text: str, value: str, end: int) -> bool:
    """Tell whether a bracket is never closed, as in no call: the value ends its line."""
    return _LINE_ENDS.match(text, end) is not None and _OPENED.match(value) is not None and is_mixed(value)


def _is_word(separator: str, value: str, quoted: str | None, *, is_short: bool) -> bool:
    """Tell whether the value of a password's name is one; a bare word in a sentence is not."""
    if is_short:
        return not separator[0].isspace()
    is_prose = "is" in separator or "to" in separator or (quoted is None and separator.endswith((" ", "\t")))
    return not (is_prose and _WORDS_ONLY.match(value))


def _hint_of(names: tuple[str, ...]) -> str:
    name = "|".join(names)
    return rf"(?i:{name})[0-9A-Za-z_.-]{{0,40}}[\"'`\]*_]{{0,3}}[ \t]{{0,4}}(?:[:=]|(?i:is|to)[ \t:])|{hint_of(name)}"


_HELD_SEPARATOR = (
    r"""["'`\]*_]{0,3}[ \t]{0,4}(?::=|=>|==?|:[ \t]{0,2}(?:str|string|Optional\[str\])(?: \| None)?"""
    r"""[ \t]{0,2}="""
    r"""|:|[iI][sS]|[tT][oO])[*_]{0,2}[ \t]{0,4}:?[ \t]{0,4}"""
)
_HELD_VALUE = (
    r"""[bBfFrRuU]{0,2}["']{0,2}(?:"(?:[^"\n]|"[0-9A-Za-z]){4,}|'[^'\n]{4,}|`[^`\n]{4,}"""
    r"""|["'`]?[^\s"'`;,<>|]{4,})"""
)


def held_name(names: tuple[str, ...]) -> str:
    """Return what a stream holds back for names, in our dialect."""
    name = "|".join(either_case(name) for name in names)
    return f"(?:{name})[0-9A-Za-z_.\\-]*(?:(?:{_HELD_SEPARATOR}|{HELD}){_HELD_VALUE}|{HELD_ELEMENT})"


RULES = (
    PackRule(
        id="password",
        title="Passwords behind their name, in connection strings too",
        source="OWASP, use of hard-coded password",
        pattern=_NAMED["password"].pattern,
        replacement="[REDACTED:password]",
        search=_NamedValues("password", ("pass", "pwd")),
        gate=holds_word("pass", "pwd"),
        hint=_hint_of(_PASSWORD_NAMES),
        held=held_name(_PASSWORD_NAMES),
        body=_VALUE_BODY,
        is_checked=False,
    ),
    PackRule(
        id="secret",
        title="Keys, tokens and secrets of unknown form behind their name",
        source="OWASP, use of hard-coded credentials",
        pattern=_NAMED["secret"].pattern,
        replacement="[REDACTED:secret]",
        search=_NamedValues("secret", ("secret", "token", "key", "credential")),
        gate=holds_word("secret", "token", "key", "credential"),
        hint=_hint_of(_SECRET_NAMES),
        held=held_name(_SECRET_NAMES),
        body=_VALUE_BODY,
        is_checked=False,
    ),
)
