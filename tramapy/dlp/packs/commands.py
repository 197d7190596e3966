"""A rule for passwords where a command line or a statement puts them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tramapy.dlp.checks import is_mixed, is_password
from tramapy.dlp.pack_rule import ANY_CASE, Cut, PackRule, either_case, is_in_marker
from tramapy.dlp.packs.search_words import holds_word
from tramapy.dlp.view import View

__all__ = ["RULES"]

_VALUE = r"(?:\"(?P<d>[^\"\n]{1,256})\"|'(?P<s>[^'\n]{1,256})'|(?P<u>[^\s\"'`<>|;&-][^\s\"'`<>|;&]{0,255}))"
_OF_USER = (
    r"(?:\"[!#-9;-~]{1,64}:(?P<d>[^\"\n]{1,256})\"|'[!-&(-9;-~]{1,64}:(?P<s>[^'\n]{1,256})'"
    r"|[!#-&(-9;=?-_a-{}~]{1,64}:(?P<u>[^\s\"'`<>|;&]{1,256}))"
)
_USER_HINT = r"[\"']?[!-9;-~]{1,64}:"
_LOGIN = "(?:docker|podman|nerdctl|buildah|skopeo|helm|oras|crane) (?:registry )?login"
_SQL = "mysql|mysqldump|mysqladmin|mysqlimport|mariadb|mariadb-dump|mariadb-admin"
_FAR = 300
_NEAR = 64
_LONGEST_COMMAND = 32


class _Option(NamedTuple):
    """An option of a command that takes a password.

    Args:
        start: How it begins.
        before: The command and what may stand between.
        reach: How far before the option that may begin.
        pattern: The option and its value.
        hint: What stands where it is, for RE2.
    """

    start: str
    before: re.Pattern[str]
    reach: int
    pattern: re.Pattern[str]
    hint: str


def _far(start: str, blank: str) -> _Option:
    """Make an option of curl, which may stand far behind the command; a user's name tells it."""
    return _Option(
        start,
        re.compile(rf"(?:\A|[^0-9A-Za-z_-])curl(?: (?:\\\n|[ -~]){{0,{_FAR}}})?\Z"),
        _FAR,
        re.compile(rf"{start}{blank}{_OF_USER}"),
        rf"{start}{blank}{_USER_HINT}",
    )


def _near(start: str, command: str, blank: str) -> _Option:
    between = rf"(?: [ -~]{{0,{_NEAR}}})?"
    return _Option(
        start,
        re.compile(rf"(?:\A|[^0-9A-Za-z_-])(?:{command}){between}\Z"),
        _NEAR + _LONGEST_COMMAND,
        re.compile(rf"{start}{blank}{_VALUE}"),
        rf"(?:{command}){between}{start}",
    )


_OPTIONS = (
    _far(" -u", "[ =]?"),
    _far(" --user", "[ =]"),
    _near(" -p", _SQL, ""),
    _near(" -p", "sshpass", " ?"),
    _near(" -p", _LOGIN, "[ =]"),
    _near(" -a", "redis-cli", " "),
)
# The literal in front lets the standard library skip to it.
_OPTION = re.compile(r"-(?<= -)(?:[pua]|-user)")
_BLANK = r"[ \t\r\n]"
_IDENTIFIED_BY = (
    rf"identified{_BLANK}{{1,4}}(?:with{_BLANK}{{1,4}}[0-9a-z_'\"]{{1,40}}{_BLANK}{{1,4}})?by{_BLANK}{{1,4}}"
)
_HASHED = re.compile(r"\*[0-9A-F]{40}\Z")
"""As MySQL writes it."""
_IDENTIFIED = re.compile(rf"{_IDENTIFIED_BY}(?:password{_BLANK}{{1,4}})?{_VALUE}", ANY_CASE)


_holds_identified = holds_word("identified")


def _holds_command(view: View) -> bool:
    return ("-" in view.part and _OPTION.search(view.part) is not None) or _holds_identified(view)


def _passwords(view: View) -> Iterator[Cut]:
    text = view.text
    for found in view.matches(_OPTION, len(" -u")):
        yield from _argument(text, found.start() - len(" "))
    for place in view.places_of_word(b"identified"):
        match = _IDENTIFIED.match(text, place)
        # In a sentence, what something is identified by is a word.
        if match is not None and (
            text.startswith("IDENTIFIED", place) or is_mixed(match.group(match.lastgroup or 0))
        ):
            yield from _password(match)


def _argument(text: str, place: int) -> Iterator[Cut]:
    for option in _OPTIONS:
        match = option.pattern.match(text, place)
        if match is not None and option.before.search(text, max(place - option.reach, 0), place) is not None:
            yield from _password(match)
            return


def _password(match: re.Match[str]) -> Iterator[Cut]:
    start, end = match.span(match.lastgroup or 0)
    value = match.string[start:end].rstrip(".,") if match.lastgroup == "u" else match.string[start:end]
    if (is_password(value) or _HASHED.match(value)) and not is_in_marker(match.string, start):
        yield Cut(start, start + len(value))


_HELD_VALUE = r"""(?:"[^"\n]+"?|'[^'\n]+'?|[^\s"'`<>|;&]{4,})"""

RULES = (
    PackRule(
        id="command_password",
        title="Passwords given to curl, mysql, docker, redis-cli and sshpass, and in `IDENTIFIED BY`",
        source="These commands' manuals; MySQL and Oracle, CREATE USER",
        pattern=_IDENTIFIED.pattern,
        replacement="[REDACTED:command_password]",
        search=_passwords,
        gate=_holds_command,
        hint="|".join((*(option.hint for option in _OPTIONS), "(?i:identified)[ \t\r\n]")),
        held=(
            rf"(?:-[pua][ =]?|--user[ =]){_HELD_VALUE}"
            rf"|{either_case('identified')}\s+(?:{either_case('with')}\s+[^\s]+\s+)?{either_case('by')}\s+"
            rf"(?:{either_case('password')}\s+)?{_HELD_VALUE}"
        ),
        is_checked=False,
    ),
)
