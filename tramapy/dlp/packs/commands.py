"""A rule for passwords where a command line or a statement puts them."""

from __future__ import annotations

import re
from typing import NamedTuple

from tramapy.dlp.checks import is_mixed, is_password
from tramapy.dlp.pack_rule import ANY_CASE, Cut, PackRule, either_case, is_in_marker
from tramapy.dlp.packs.config_lines import HELD, HINT, config_passwords, holds_config
from tramapy.dlp.packs.joints import is_over_strings
from tramapy.dlp.packs.marks import holds_dashes
from tramapy.dlp.packs.search_words import holds_word
from tramapy.dlp.view import View

__all__ = ["RULES"]

_VALUE = r"(?:\"(?P<d>[^\"\n]{1,256})\"|'(?P<s>[^'\n]{1,256})'|(?P<u>[^\s\"'`<>|;&-][^\s\"'`<>|;&]{0,255}))"
_OF_USER = (
    r"(?:\"[!#-9;-~]{1,64}:(?P<d>[^\"\n]{1,256})\"|'[!-&(-9;-~]{1,64}:(?P<s>[^'\n]{1,256})'"
    r"|[!#-&(-9;=?-_a-{}~]{1,64}:(?P<u>[^\s\"'`<>|;&]{1,256}))"
)
_USER_HINT = r"[\"']?[!-9;-~]{1,64}:"
_LOGINS = ("docker", "podman", "nerdctl", "buildah", "skopeo", "helm", "oras", "crane")
_SQL = "(?:ysql(?:dump|admin|import)?|ariadb(?:-dump|-admin)?)"
_FAR = 300
_NEAR = 65
_LONGEST_COMMAND = 24
_FREE = "(?<![0-9A-Za-z_-])"


class _Command(NamedTuple):
    """A command that takes a password.

    Args:
        last_word: Its last word, with a blank behind it. The literal in front lets the standard library skip to it.
        reach: How far behind that the option may stand.
        line_end: What must not stand in between.
        hint: The command, for RE2, and what may stand in between; nothing where the option says enough.
    """

    last_word: re.Pattern[str]
    reach: int
    line_end: re.Pattern[str]
    hint: str


def _near(last_word: str, hint: str) -> _Command:
    return _Command(
        re.compile(last_word + "(?= )"), _NEAR, re.compile(r"[^ -~]"), rf"(?:{hint})(?: [ -~]{{0,64}})?"
    )


def _one_of(*commands: str) -> str:
    """Return what tells, behind one of some commands, that it stands on its own."""
    return "(?:" + "|".join(f"(?<={_FREE}{command})" for command in commands) + ")"


_CURL = _Command(re.compile(f"curl{_one_of('curl')}(?= )"), _FAR, re.compile(r"(?<!\\)\n|[^ -~\n]"), "")
_MYSQL = _near(f"m{_one_of('m')}{_SQL}", f"m{_SQL}")
_SSHPASS = _near(f"sshpass{_one_of('sshpass')}", "sshpass")
_REDIS = _near(f"redis-cli{_one_of('redis-cli')}", "redis-cli")
_LOGIN = _near(
    "login" + _one_of(*(f"{name} {word}login" for name in _LOGINS for word in ("", "registry "))),
    rf"(?:{'|'.join(_LOGINS)}) (?:registry )?login",
)


class _Option(NamedTuple):
    """An option of a command that takes a password.

    Args:
        command: The command.
        pattern: The option and its value.
        hint: What stands where it is, for RE2.
    """

    command: _Command
    pattern: re.Pattern[str]
    hint: str


def _of_user(start: str) -> _Option:
    """Make an option of curl, which may stand far behind the command; a user's name tells it."""
    return _Option(_CURL, re.compile(start + _OF_USER), start + _USER_HINT)


def _option(start: str, blank: str, command: _Command) -> _Option:
    return _Option(command, re.compile(start + blank + _VALUE), command.hint + start)


_OPTIONS = (
    _of_user(" -u[ =]?"),
    _of_user(" --user[ =]"),
    _option(" -p", "", _MYSQL),
    _option(" -p", " ?", _SSHPASS),
    _option(" -p", "[ =]", _LOGIN),
    _option(" -a", " ", _REDIS),
)
# The literal in front lets the standard library skip to it.
_OPTION = re.compile(r"-(?<= -)(?:[pua]|-user)")
_BY_BEGINNING = {
    beginning: tuple(option for option in _OPTIONS if option.pattern.pattern.startswith(f" {beginning}"))
    for beginning in ("-p", "-u", "-a", "--user")
}
_BLANK = r"[ \t\r\n]"
_IDENTIFIED_BY = (
    rf"identified{_BLANK}{{1,4}}(?:with{_BLANK}{{1,4}}[0-9a-z_'\"]{{1,40}}{_BLANK}{{1,4}})?by{_BLANK}{{1,4}}"
)
_HASHED = re.compile(r"\*[0-9A-F]{40}\Z")
"""As MySQL writes it."""
_IDENTIFIED = re.compile(rf"{_IDENTIFIED_BY}(?:password{_BLANK}{{1,4}})?{_VALUE}", ANY_CASE)


_holds_identified = holds_word("identified")


def _holds_command(view: View) -> bool:
    return (
        (holds_dashes(view) and _OPTION.search(view.part) is not None)
        or _holds_identified(view)
        or holds_config(view)
    )


def _passwords(view: View) -> list[Cut]:
    text = view.text
    found: list[Cut] = []
    readers: dict[str, list[tuple[_Reader, re.Pattern[str]]]] = {}
    for option in view.matches(_OPTION, len(" -u")):
        beginning = option.group()
        if beginning not in readers:
            readers[beginning] = _readers(view, beginning)
        place = option.start() - len(" ")
        for reader, pattern in readers[beginning]:
            if reader.stands_before(place):
                match = pattern.match(text, place)
                if match is not None:
                    found += _password(match)
                    break
    for place in view.places_of_word(b"identified"):
        match = _IDENTIFIED.match(text, place)
        # In a sentence, what something is identified by is a word.
        if match is not None and (
            text.startswith("IDENTIFIED", place) or is_mixed(match.group(match.lastgroup or 0))
        ):
            found += _password(match)
    found += config_passwords(view)
    return found


def _readers(view: View, beginning: str) -> list[tuple[_Reader, re.Pattern[str]]]:
    """Return the options that begin so, of commands that stand somewhere in a view."""
    readers = [(_Reader(command, view), pattern) for command, pattern, _ in _BY_BEGINNING[beginning]]
    return [(reader, pattern) for reader, pattern in readers if reader.is_here]


class _Reader:
    """Tells whether a command stands before rising places; each part of the text is read once."""

    __slots__ = ("_command", "_end", "_is_broken", "_line_read", "_next", "_text", "_words", "is_here")

    def __init__(self, command: _Command, view: View) -> None:
        self._command = command
        self._text = view.text
        first = max(view.start - command.reach - _LONGEST_COMMAND, 0)
        self._words = command.last_word.finditer(view.text, first, view.end)
        self._next = next(self._words, None)
        self.is_here: bool = self._next is not None
        """Whether the command stands somewhere."""
        self._end = -command.reach - 1
        self._line_read = 0
        self._is_broken = False

    def stands_before(self, place: int) -> bool:
        """Tell whether the command stands before a place, on the same line."""
        last = self._next
        if last is not None and last.end() <= place:
            while last is not None and last.end() <= place:
                self._end = last.end()
                last = next(self._words, None)
            self._next = last
            self._line_read = self._end
            self._is_broken = False
        if place - self._end > self._command.reach:
            return False
        if not self._is_broken:
            self._is_broken = self._command.line_end.search(self._text, self._line_read, place) is not None
            self._line_read = place
        return not self._is_broken


def _password(match: re.Match[str]) -> tuple[Cut, ...]:
    start, end = match.span(match.lastgroup or 0)
    value = match.string[start:end].rstrip(".,") if match.lastgroup == "u" else match.string[start:end]
    if not (is_password(value) or _HASHED.match(value)) or is_in_marker(match.string, start):
        return ()
    if is_over_strings(match.lastgroup, match.string, start, end):
        return ()
    return (Cut(start, start + len(value)),)


_HELD_VALUE = r"""(?:"[^"\n]+"?|'[^'\n]+'?|[^\s"'`<>|;&]{4,})"""

RULES = (
    PackRule(
        id="command_password",
        title="Passwords given to curl, mysql, docker, Redis and sshpass, in `IDENTIFIED BY` and `.pgpass`",
        source="These commands' manuals; MySQL and Oracle, CREATE USER; PostgreSQL, the password file",
        pattern=_IDENTIFIED.pattern,
        replacement="[REDACTED:command_password]",
        search=_passwords,
        gate=_holds_command,
        hint="|".join((*(option.hint for option in _OPTIONS), "(?i:identified)[ \t\r\n]", HINT)),
        held=(
            rf"(?:-[pua][ =]?|--user[ =]){_HELD_VALUE}"
            r"|(?:-u[ =]?|--user[ =])[!#-&(-9;=?-_a-{}~]+:[^\s\"'`<>|;&]+"
            rf"|{either_case('identified')}\s+(?:{either_case('with')}\s+[^\s]+\s+)?{either_case('by')}\s+"
            rf"(?:{either_case('password')}\s+)?{_HELD_VALUE}"
            rf"|{HELD}"
        ),
        is_checked=False,
    ),
)
