"""A rule for passwords behind the word for them in languages that do not say `password`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tramapy.dlp.checks import is_password, is_secret
from tramapy.dlp.pack_rule import Cut, PackRule, either_case
from tramapy.dlp.packs.joints import is_apart, is_over_strings
from tramapy.dlp.packs.run import Run, end_with_marks
from tramapy.dlp.packs.search_words import words_here
from tramapy.dlp.view import View

__all__ = ["RULES"]

_PLAIN = ("kennwort", "wachtwoord", "contrasena", "contrase\u00f1a", "senha", "mot de passe")
_PLAIN_STEMS = (
    *(b"kennwort", b"wachtwoord", b"contrase", b"senha", b"mot de passe"),
    *(b"clave", b"chave", b"chiave", b"klucz"),
)
# The stem, in each case that it is written in, and where it stands in the word.
_STEMS = (
    ("\u0430\u0440\u043e\u043b", 1),
    ("\u0410\u0420\u041e\u041b", 1),
    ("\u5bc6\u7801", 0),
    ("\u5bc6\u78bc", 0),
    ("\u53e3\u4ee4", 0),
    ("\u30d1\u30b9\u30ef\u30fc\u30c9", 0),
    ("\ube44\ubc00\ubc88\ud638", 0),
    ("as\u0142o", 1),
    ("\u00f6senord", 1),
    ("\u015fifre", 0),
    ("\u015eifre", 0),
    ("elsz\u00f3", 1),
    ("\u5bc6\u94a5", 0),
    ("\u5bc6\u9470", 0),
    ("\u5bc6\u5319", 0),
    ("\u4ee4\u724c", 0),
    ("\u043e\u043a\u0435\u043d", 1),
    ("\u30c8\u30fc\u30af\u30f3", 0),
    ("\ud1a0\ud070", 0),
    ("\u043b\u044e\u0447", 1),
    ("\u30ad\u30fc", 0),
    ("\ud0a4", 0),
    ("chl\u00fcssel", 1),
    ("l\u00e9", 1),
    ("anahtar\u0131", 0),
)
_BEHIND_STEM = "(?=[\u044c\u044f\u042c]?[\"'`*_ \t:=\u662f\u4e3a\u70ba\u306f\ub294\uc740])"
"""What must follow: it is asked for in a text of nothing but such words, too."""
_STEM_SEARCHES = tuple((stem, offset, re.compile(stem + _BEHIND_STEM)) for stem, offset in _STEMS)
_LONGEST_STEM = 16
_OTHER = (
    "[\u043f\u041f]\u0430\u0440\u043e\u043b[\u044c\u044f]|\u041f\u0410\u0420\u041e\u041b\u042c|\u5bc6[\u7801\u78bc]|\u53e3\u4ee4"
    "|\u30d1\u30b9\u30ef\u30fc\u30c9|\ube44\ubc00\ubc88\ud638|[hH]as\u0142o|[lL]\u00f6senord|[\u015f\u015e]ifre|[jJ]elsz\u00f3"
)
# What must stand before a word for a key, and the word: of an interface, or of access. Of a token it says enough.
_KEYS = (
    (
        "",
        "\u5bc6[\u94a5\u9470\u5319]|\u4ee4\u724c|[\u0442\u0422]\u043e\u043a\u0435\u043d|\u30c8\u30fc\u30af\u30f3|\ud1a0\ud070",
    ),
    ("", "[\u043a\u041a]\u043b\u044e\u0447 (?:API|api|\u0434\u043e\u0441\u0442\u0443\u043f\u0430)"),
    ("", "[cC]l\u00e9 (?:d'|de l')?(?:API|api|acc\u00e8s|secr\u00e8te)"),
    ("", "(?:[cC](?:lave|have|hiave)|[kK]lucz)(?: d[aeio])? (?:API|api)"),
    ("(?<=(?:API|api)[ -])", "\u043a\u043b\u044e\u0447|[sS]chl\u00fcssel|anahtar\u0131"),
    ("(?:(?<=(?:API|api))|(?<=[zZ]ugangs)|(?<=[zZ]ugriffs))", "schl\u00fcssel"),
    ("(?:(?<=API)|(?<=API[ -])|(?<=\u30a2\u30af\u30bb\u30b9))", "\u30ad\u30fc|\ud0a4"),
)
_KEY = "|".join(f"{before}(?:{word})" for before, word in _KEYS)
_WORDS = "|".join((*map(either_case, _PLAIN), _OTHER, f"(?P<key>{_KEY})"))
_VERBS = "ist|lautet|est|es|\u00e9|\u00e8|is|\u00e4r|to|jest"
_SIGN = r"[ \t]{0,4}[:=][*_]{0,2}[ \t]{0,4}"
_JOINT = (
    rf"[\"'`*_]{{0,2}}(?:{_SIGN}|[ \t]{{1,3}}(?P<verb>{_VERBS}):?[ \t]{{1,3}}|(?P<bare>[ \t]{{1,3}})"
    r"|[ \t]?(?P<short>[\u662f\u4e3a\u70ba\u306f\ub294\uc740])[ \t]?:?[ \t]?)"
)
_BARE = r"[!#-%*+\-./0-9:=?@A-Z\\^_a-z~]"
_VALUE = (
    rf"(?:\"(?P<d>[^\"\n]{{4,256}})\"|'(?P<s>[^'\n]{{4,256}})'|`(?P<b>[^`\n]{{4,256}})`|(?P<u>{_BARE}{{4}}))"
)
_PASSWORD = re.compile(rf"(?:{_WORDS}){_JOINT}{_VALUE}")
_BARE_END = r"[#-%*+\-/0-9=@A-Z\\^_a-z~]"
_MOST_READ = 2_048
_BARE_RUN = re.compile(f"{_BARE}{{0,{_MOST_READ}}}")
_ALL_BARE = re.compile(f"(?:{_BARE}*{_BARE_END})?")
_LIVELY = re.compile(r"[0-9!@#$%^*+?~]")
_LONGEST_NAME = 64
_HEAD_LENGTH = 257
_ANY_STEM = frozenset(_PLAIN_STEMS)


def _may_hold(view: View) -> bool:
    return not view.part.isascii() or not _ANY_STEM.isdisjoint(view.once(words_here))


def _passwords(view: View) -> Iterator[Cut]:
    here = view.once(words_here)
    places = [place for stem in _PLAIN_STEMS if stem in here for place in view.places_of_word(stem)]
    part = view.part
    if not part.isascii():
        for stem, offset, pattern in _STEM_SEARCHES:
            if stem in part:
                places += [match.start() - offset for match in view.matches(pattern, _LONGEST_STEM)]
    if not places:
        return
    text = view.text
    run = Run(_BARE_RUN, text, _MOST_READ, _HEAD_LENGTH)
    rest_start, lively = -1, -1
    for place in sorted(places):
        # Well inside of a value, a word can only have the end of that value as its own.
        match = _PASSWORD.match(text, place) if place >= max(rest_start, 0) else None
        if match is None:
            continue
        kind = match.lastgroup or "u"
        start, end = match.span(kind)
        if kind == "u":
            run.reach(start)
            end = run.kept_end
            if lively < start:
                found = _LIVELY.search(text, start, run.end)
                lively = run.end if found is None else found.start()
            if lively >= min(end, start + _HEAD_LENGTH):  # neither a digit nor a special character
                continue
        value = text[start : min(end, start + _HEAD_LENGTH)]
        # Behind a colon a word may begin a sentence, too.
        is_one = is_secret(value) if match.group("key") else is_password(value) and is_apart(value)
        if is_one and not is_over_strings(kind, text, start, end):
            is_short = end - start < _HEAD_LENGTH
            if kind == "u":
                # Behind a short one may stand marks that do not count behind a long one.
                if not is_short:  # only of what is cut, all is read
                    end = max(end, _ALL_BARE.match(text, start).end())  # type: ignore[union-attr]  # matches anything
                rest_start = end - _LONGEST_NAME - (0 if is_short else _HEAD_LENGTH)
                end = end_with_marks(text, end) if is_short else end
            yield Cut(start, end)


_HELD_VERBS = (
    "[iI][sS][tT]?|[lL][aA][uU][tT][eE][tT]|[eE][sS][tT]?|[\u00e9\u00e8\u00c9\u00c8]|\u00e4r|[tT][oO]|[jJ]est"
)

_HELD_WORDS = "|".join((*map(either_case, _PLAIN), _OTHER, *(word for _, word in _KEYS)))

RULES = (
    PackRule(
        id="foreign_password",
        title="Passwords and API keys behind the words for them in a dozen other languages",
        source="OWASP, use of hard-coded password",
        pattern=_PASSWORD.pattern,
        replacement="[REDACTED:foreign_password]",
        search=_passwords,
        gate=_may_hold,
        hint=r"(?i:kennwort|wachtwoord|contrase|senha|mot de passe|(?:clave|chave|chiave|klucz)(?: d[aeio])? api)"
        r"|[?]{2} (?:API|api)[\"'`*_ \t:=?]|(?i:schl[^ -~]ssel|anahtar|cl[^ -~] (?:api|d'|de l'|acc|secr))"
        r"|(?:API|api)[ -]?[?]{1,2}[\"'`*_ \t:=?]"
        r"|[?\x80-\xff]{2}[a-z]{0,6}[\"'`*_]{0,2}"
        r"(?:[ \t]{0,4}[:=]|[ \t]{1,3}(?:is|ist|est?|to|lautet|jest|[\xe8\xe9]|\xe4r):?[ \t]"
        r"|(?:[ \t]{0,3}|[ \t]?[?][ \t]?:?[ \t]?)(?:[\"'`]|[!-~]{4}))"
        r"|(?i:as[?]o|[^ -~]senord|[?]ifre|elsz[^ -~])",
        held=rf"(?:{_HELD_WORDS})[\"'`*_]{{0,2}}(?:{_SIGN}|[ \t]+(?:(?:{_HELD_VERBS}):?[ \t]+)?"
        r"|[ \t]?[\u662f\u4e3a\u70ba\u306f\ub294\uc740][ \t]?:?[ \t]?)"
        rf"(?:\"[^\"\n]{{4,}}\"|'[^'\n]{{4,}}'|`[^`\n]{{4,}}`|{_BARE}{{4,}})",
        bodies=(("", _ALL_BARE.pattern),),
        is_checked=False,
    ),
)
