"""Rules for values of any form behind a telling name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tramapy.dlp.checks import SHORTEST_PASSWORD, SHORTEST_SECRET, is_mixed, is_password, is_secret
from tramapy.dlp.pack_rule import ANY_CASE, Cut, PackRule, either_case, is_in_marker
from tramapy.dlp.packs.joints import (
    ELEMENT,
    HELD,
    HELD_ELEMENT,
    HELD_FIELD,
    JOINT,
    hint_of,
    is_apart,
    is_joined,
    is_over_strings,
)
from tramapy.dlp.packs.many_places import MANY, before_mixed
from tramapy.dlp.packs.run import Run, end_with_marks
from tramapy.dlp.packs.search_words import holds_word
from tramapy.dlp.view import View

__all__ = ["RULES", "held_name"]

_PASSWORD_NAMES = ("password", "passwd", "passphrase", "passcode", "passwort", "pwd", "pass", "pw")
_OF_ANOTHER_KIND = (
    r"(?:(?=[_-]?+[a-z])[_-]?"
    r"(?:names?|ids?|type|counts?|len(?:gth)?|size|limits?|max|min|url|uri|path|file|dir|ttl|expir\w*|exp|field|label|"
    r"hints?|policy|arn|version|env|var(?:iable)?|ref(?:erence)?|error|status|usage|budget|used|index|format|prefix|suffix|"
    r"manager|mgr|store|provider|endpoint|mask\w*|reset\w*|strength|rules?|regex|pattern|column|input|prompt|placeholder|class|"
    r"required|enabled|valid\w*)(?![a-z0-9]))"
)
_QUOTE = "&(?:quot|#34|#39|apos);"
_IS = "is|ist|est|es|[\u00e8\u00e9]|lautet"
# What a choice begins with is asked first: most have none of them, and to try one after another takes longest.
_SEPARATOR = (
    r"(?:(?=[\"'`\]*_&= \t:!])"
    rf"(?:(?:[\"'`\]*_]{{0,3}}+|{_QUOTE})[ \t]{{0,4}}+(?=[:=!s])"
    r"(?::=|=>|={1,2}(?!=)|(?:===|!==?)(?=[ \t]{0,4}[\"'])"
    r"|:[ \t]{0,2}(?:str|string|Optional\[str\])(?: \| None)?[ \t]{0,2}=(?!=)|(?<=[a-z][ \t])string[ \t]{0,2}:?=|:)"
    rf"[*_]{{0,2}}[ \t]{{0,4}}(?:(?=[&\[<])(?:{_QUOTE}|(?P<list>\[\s{{0,20}}(?=[\"']))|&nbsp;"
    r"|<(?:b|i|em|strong|code|tt|kbd|span|br ?/?)>[ \t]{0,2})|)"
    rf"|(?=[ \t])(?:[ \t]{{1,3}}+(?:(?:{_IS})[ \t]{{0,3}}:?[ \t]{{1,3}}|(?:to|=)[ \t]{{1,3}})"
    rf"|[ \t](?P<of>for|of)(?:[ \t][^\s:=\"'`,;|<>()]{{1,32}}){{1,4}}?(?:[ \t]?:|[ \t](?:{_IS}):?)[ \t]{{1,3}})))"
)
_IN_JSON_ENDS = r"(?=[ \t]{0,4}(?:[,}\]\r\n]|\Z|(?<=[ \t])(?:\#|//)))"
# No JSON goes on with a comma, something without blanks, and the end of a string.
_IN_JSON = (
    r"(?:[^\"\n]{1,64}+|\"(?:(?![ \t]{0,4}(?:[,:}\]\r\n]|\Z|(?<=[ \t])(?:\#|//)))"
    rf"|(?=,[ \t]?[^\s\"]{{1,64}}\"{_IN_JSON_ENDS})))"
)
# What goes on so behind a quote shows that the quote ends the string that the name is in, and begins no value.
_CLOSED = (
    r"[\"'](?:[ \t]{0,4}[}\])]{0,4}[ \t]{0,4},[ \t]{0,24}(?:[A-Za-z_.]{0,16}[\[{(]{1,3})?[\"']"
    r"|,[ \t][^\"'\n]{0,80},[ \t]?[\"']|[ \t]{0,4},[ \t]{0,4}[A-Za-z_]{1,24}[ \t]?="
    r"|[ \t]{1,4}(?:[+.%&~][ \t]|[A-Za-z_:-]{1,24}=[\"']))"
)
_VALUE = (
    r"(?!\s)(?:(?-i:[bBfFrRuU][bBfFrRuU]?)(?=[\"'])|)(?:\"\"(?=\"[^\"])|''(?='[^'])|)(?:(?=[\"'`])"
    # A quote ends no value where none can: it was escaped.
    rf"(?:(?:(?<=\":)|(?<=\": ))\"(?P<j>{_IN_JSON}{{1,16}}+)\"{_IN_JSON_ENDS}"
    # In runs, and none of them given back: a text full of quotes costs little then.
    rf"|(?!{_CLOSED})(?:"
    r"\"(?P<d>(?:[^\"\n]{1,64}+|\"(?=[0-9A-Za-z])){1,16}+)\"|'(?P<s>(?:[^'\n]{1,64}+|'(?=[0-9A-Za-z])){1,16}+)'"
    r"|\"(?P<e>[^\"\n]{1,256}+)\"|'(?P<f>[^'\n]{1,256}+)')|`(?P<b>[^`\n]{1,256}+)`"
    r")|[\"'`]?(?P<u>[^\s\"'`;,&<>(){}\[\]|]))"
)
_BARE = re.compile(r"[^\s\"'`;,&<>(){}\[\]|]*")
_QUOTED = {"u": None, "e": "d", "f": "s"}
_LONGEST_NAME = 64
_WORD = re.compile(r"[0-9A-Za-z_.-]{0,2048}")
_LONG_WORD = re.compile(rf"[0-9A-Za-z_.-]{{{_LONGEST_NAME + 1}}}")
_CLOSE = 12
_FARTHEST = 1_024
"""How far behind the beginning of a name its value may go on that is judged: its attributes are the most between."""
_KEYS = (
    "api",
    "access",
    "account",
    "private",
    "auth",
    "encryption",
    "signing",
    "client",
    "license",
    "secret",
)
_SECRET_NAMES = (
    "secret",
    "token",
    "credential",
    *(f"{key}{joint}key" for key in _KEYS for joint in ("", "_", "-", " ")),
)
_BEFORE_KEY = "|".join(f"(?<={key})|(?<={key}[ _-])" for key in _KEYS)
_BEFORE_PASS = "|".join(f"(?<={word})" for word in ("store", "key", "user", "db"))
_MARKED = r"[^\s\"'`;,<>|]"
_BEFORE_OPTION = r"(?:(?<=[-ieybr])(?P<option>(?<=-)|(?<=-api)|(?<=-store)|(?<=-key)|(?<=-db)|(?<=-user))|)"
_VALUE_BODY = r"(?:[^\s\"'`;,&<>(){}\[\]|]*[^\s\"'`;,&<>(){}\[\]|.!?:])?"
# What follows rejects, behind the first character of a bare value, some of what `_value` would reject, too: here that
# takes a tenth of the time.
_REFUSED = (
    # a word behind a blank
    r"(?(sep)(?!(?<=[ \t][a-z])[a-z]{0,14}+[.,!?:]*+(?:[\s\"'`;,<>){}\]|]|\Z))"
    # what is not apart, behind all that wants it to be
    r"|(?(form)|(?(blank)|(?:(?<=[^!-~]|[0-9!@#$%^*+?~])|(?=[A-Za-z_./:=\\-]*+[^\sA-Za-z_./:=\\\"'`;,<>|){}\]-])"
    r"|(?=[^\s\"'`;,&<>(){}\[\]|]{256})))))"
)
_NAMED = {
    kind: re.compile(
        rf"(?>{_BEFORE_OPTION}(?:{names})(?!(?!s(?![a-z]))[a-z])(?!{_OF_ANOTHER_KIND})"
        rf"(?P<rest>(?-i:[0-9A-Za-z_.-]{{0,40}}+))(?:{ELEMENT}|(?:(?P<sep>{_SEPARATOR})|{joint}){_VALUE}))"
        # Too short a value is no other one: what is atomic is not read in another way.
        rf"(?(u)(?={_MARKED}{{{shortest - 1}}}){refused}|)",
        ANY_CASE,
    )
    for kind, names, joint, shortest, refused in (
        (
            "password",
            "|".join((*_PASSWORD_NAMES[:-2], rf"(?:(?<![A-Za-z])|{_BEFORE_PASS})(?:pass|pw)")),
            JOINT % "",
            SHORTEST_PASSWORD,
            _REFUSED,
        ),
        ("secret", f"secret|token|credential|(?:{_BEFORE_KEY})key", JOINT % "(?!)", SHORTEST_SECRET, ""),
    )
}
_ENDS_IN_ANOTHER_KIND = re.compile(rf".*?{_OF_ANOTHER_KIND}\Z", re.IGNORECASE)
_SHORT_NAME = re.compile(r"(?:pass|pw)(?![a-z])", re.IGNORECASE)
"""Also a verb, a ticket and a mark."""
_SHORTEST_OF_SHORT_NAME = 6
_VARIABLE = re.compile(r"[A-Za-z_][\w.:]*_(?:password|passwd|pwd)\Z", re.IGNORECASE)
"""A bare one behind `=` is what a password is kept in."""
_DIRECTORY_STARTS = "/~"
_DIRECTORY = re.compile(rf"(?:(?i:pwd)=|PWD[\"']?: ?)[\"']?[{_DIRECTORY_STARTS}]")
"""A shell's working directory."""
_WORDS_ONLY = re.compile(r"[a-z]+[.,!?]?\Z", re.IGNORECASE)
_OTHER = re.compile(r"\s{0,8},\s{0,8}(?P<quote>[\"'])(?P<value>[^\"'\n]{1,256})(?P=quote)")
_MOST_OTHERS = 7
_LONGEST_LIST = 320
_HEAD_LENGTH = 257
"""How much of a value is looked at; one more than what it is judged by, so that a longer one is known as such."""
_VERBS = frozenset(("is", "ist", "est", "es", "\u00e8", "\u00e9", "lautet", "to"))
_ENDS = ".,!?:"
_LINE_ENDS = re.compile(r"[ \t]{0,8}(?:\r?\n|\Z)")
_OPENED = re.compile(r"[^(\[]+[(\[][^()\[\]]+\Z")
_CONTINUED = ("(", "[", "&")
_ENTITIES = ("&quot;", "&#34;", "&#39;", "&apos;", "&lt;", "&gt;", "&nbsp;")
_MOST_MARKED = 2_048
_OPENED_ON_AND_ON = re.compile(
    rf"(?:[^\s\"'`;,&<>(){{}}\[\]|]{{0,{_LONGEST_NAME}}}+(?:[(\[]|&(?!(?:quot|#34|#39|apos|lt|gt|nbsp);))){{2,}}+"
)
"""Where that is much longer than a value, none begins in it: each would go on with a bracket to the end."""
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
            if not self._is_password and len(places) > MANY:
                places = before_mixed(text, places, _FARTHEST)
            run = Run(_BARE, text, tells_dull=not self._is_password)
            last, rest_start = -_CLOSE, -1
            for place in places:
                # A name well inside of a bare value can only have the end of that value as its own.
                if place < rest_start:
                    continue
                # Names of names, on and on, have no value but behind the last ones.
                if place - last < _CLOSE and _LONG_WORD.match(text, place):
                    word = _WORD.match(text, place)
                    rest_start = word.end() - _LONGEST_NAME  # type: ignore[union-attr]  # matches anything
                    continue
                last = place
                match = self._pattern.match(text, place)
                if match is not None:
                    cut = self._value(match, run)
                    if cut is not None and not is_in_marker(text, place):
                        found.append(cut)
                        if match.group("list") is not None:
                            found += self._others(match)
                        if match.lastgroup == "u":
                            # Behind a short one may stand a mark that does not count behind a long one.
                            is_long = cut.end - cut.start >= _HEAD_LENGTH
                            known = _LONGEST_NAME + _HEAD_LENGTH if is_long else _LONGEST_NAME
                            rest_start = max(rest_start, cut.end - known)
                    rest_start = max(rest_start, run.dull_end - _LONGEST_NAME)
        return found

    def _value(self, match: re.Match[str], run: Run) -> Cut | None:
        rest: str = match.group("rest")
        if rest and _ENDS_IN_ANOTHER_KIND.match(rest):
            return None
        text = match.string
        kind = match.lastgroup or "u"
        quoted = _QUOTED.get(kind, kind)
        start, end = match.span(kind)
        behind = match.end()
        if quoted is None:
            run.reach(start)
            behind, end = run.end, run.kept_end
            if (
                run.end - start < _HEAD_LENGTH
                and text.startswith(_CONTINUED, run.end)
                and not text.startswith(_ENTITIES, run.end)
            ):
                run.marked = marked = run.marked or Run(_WITH_MARKS, text, _MOST_MARKED, _HEAD_LENGTH)
                marked.reach(start)
                if marked.end - start >= _HEAD_LENGTH:
                    opened = _OPENED_ON_AND_ON.match(text, start, marked.end - _HEAD_LENGTH)
                    if opened is not None:
                        run.dull_end = (
                            opened.end() - _LONGEST_NAME
                        )  # twice: the longest separator is shorter, too
                    return None
                end = _end_with_marks(text, start, run.end, marked.end)
                behind = max(behind, end)
        value = text[start : min(end, start + _HEAD_LENGTH)]
        if quoted is None and end > run.end:  # no call
            value = value.translate(_WITHOUT_BRACKETS)
        if quoted is not None and is_over_strings(quoted, text, start, end):
            return None
        if not value or not (is_password(value) if self._is_password else is_secret(value)):
            return None
        is_short = self._is_password and _SHORT_NAME.match(text, match.start()) is not None
        if is_short and (len(value) < _SHORTEST_OF_SHORT_NAME or not is_mixed(value)):
            return None
        separator: str | None = match.group("sep")
        if separator is not None:
            if match.group("list") is not None and (rest not in ("", "s") or "==" in separator):
                return None
            if self._is_password and not _is_word(match, separator, value, quoted, is_short=is_short):
                return None
        elif (quoted is not None or end - start < _HEAD_LENGTH) and not is_joined(
            match, value, behind, quoted, is_password=self._is_password
        ):
            return None
        if quoted is None and text.startswith("!", end) and end - start < _HEAD_LENGTH:
            end = end_with_marks(text, end)
        return Cut(start, end)

    def _others(self, match: re.Match[str]) -> Iterator[Cut]:
        """Yield the values of a list that follow its first one."""
        end = match.end()
        for _ in range(_MOST_OTHERS):
            element = _OTHER.match(match.string, end)
            if element is None or element.end() > match.start() + _LONGEST_LIST:
                return
            value = element.group("value")
            if is_password(value) if self._is_password else is_secret(value):
                yield Cut(*element.span("value"))
            end = element.end()


def _end_with_marks(text: str, start: int, mark_at: int, last: int) -> int:
    """Return where a value ends that may hold the bracket or ampersand that it goes on with; its start for a call."""
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


def _is_word(match: re.Match[str], separator: str, value: str, quoted: str | None, *, is_short: bool) -> bool:
    """Tell whether the value of a password's name is one; a bare word in a sentence is not."""
    if is_short:
        return not separator[0].isspace()
    if quoted is None and "=" in separator and _VARIABLE.match(value):
        return False
    if value[0] in _DIRECTORY_STARTS and _DIRECTORY.match(match.string, match.start()):
        return False
    if match.group("of") is not None:
        return is_apart(value) and " " not in value
    is_prose = separator.strip(" \t:").lower() in _VERBS or (
        quoted is None and separator.endswith((" ", "\t"))
    )
    return not (is_prose and _WORDS_ONLY.match(value))


_WORDS_HINT = "is|ist|est|es|lautet|to|for|of"


def _hint_of(names: tuple[str, ...]) -> str:
    name = "|".join(names)
    return (
        rf"(?i:{name})[0-9A-Za-z_.-]{{0,40}}[\"'`\]*_]{{0,3}}[ \t]{{0,4}}"
        rf"(?:[:=!&]|(?:(?i:{_WORDS_HINT})|[^ -~])[ \t:]|(?i:string))|{hint_of(name)}"
    )


_HELD_QUOTE = "&(?:[qQ][uU][oO][tT]|#34|#39|[aA][pP][oO][sS]);"
_HELD_IS = "(?:[iI][sS][tT]?|[eE][sS][tT]?|[\u00e8\u00e9\u00c8\u00c9]|[lL][aA][uU][tT][eE][tT])"
_HELD_SEPARATOR = (
    rf"""(?:(?:["'`\]*_]{{0,3}}|{_HELD_QUOTE})[ \t]{{0,4}}(?::=|=>|={{1,3}}|!={{1,2}}|(?::[ \t]{{0,2}})?"""
    r"""(?:[sS][tT][rR](?:[iI][nN][gG])?|[oO][pP][tT][iI][oO][nN][aA][lL]\[[sS][tT][rR]\])(?: \| [nN][oO][nN][eE])?"""
    rf"""[ \t]{{0,2}}:?=|:|{_HELD_IS}|[tT][oO])[*_]{{0,2}}[ \t]{{0,4}}:?[ \t]{{0,4}}"""
    rf"""(?:{_HELD_QUOTE}|\[\s*|<[A-Za-z]+ ?/?>[ \t]*|&[nN][bB][sS][pP];)?"""
    r"""|[ \t](?:[fF][oO][rR]|[oO][fF])(?:[ \t][^\s:="'`,;|<>()]+){1,4}"""
    rf"""(?:[ \t]?:|[ \t]{_HELD_IS}:?)[ \t]+)"""
)
_HELD_VALUE = (
    r"""[bBfFrRuU]{0,2}["']{0,2}(?:"(?:[^"\n]|"[0-9A-Za-z]){2,}|'(?:[^'\n]|'[0-9A-Za-z]){2,}|`[^`\n]{4,}"""
    r"""|["'`]?[^\s"'`;,<>|]{4,})"""
)
_HELD_LIST = (
    rf"""["']?[ \t]*[:=]+[ \t]*\[\s*["'][^"'\n]+["'](?:\s*,\s*["'][^"'\n]+["']){{0,{_MOST_OTHERS}}}"""
)
_HELD_IN_JSON = (
    rf"""(?:["'`\]*_]{{0,2}}|{HELD_FIELD})":[ \t]*"(?:[^"\n]|"(?:"|[ \t])*[^",:}}\]\r\n \t]"""
    rf"""|",[ \t]?[^\s"]{{1,64}}")+"""
)


def held_name(names: tuple[str, ...]) -> str:
    """Return what a stream holds back for names, in our dialect."""
    name = "|".join(either_case(name) for name in names)
    joined = f"(?:{_HELD_SEPARATOR}|{HELD}){_HELD_VALUE}"
    return f"(?:{name})[0-9A-Za-z_.\\-]*(?:{joined}|{_HELD_IN_JSON}|{_HELD_LIST}|{HELD_ELEMENT})"


RULES = (
    PackRule(
        id="password",
        title="Passwords behind their name, in connection strings too",
        source="OWASP, use of hard-coded password",
        pattern=_NAMED["password"].pattern,
        replacement="[REDACTED:password]",
        search=_NamedValues("password", ("pass", "pw")),
        gate=holds_word("pass", "pw"),
        hint=_hint_of(_PASSWORD_NAMES),
        held=held_name(_PASSWORD_NAMES),
        bodies=(("", _VALUE_BODY),),
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
        bodies=(("", _VALUE_BODY),),
        is_checked=False,
    ),
)
