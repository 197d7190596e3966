"""Rules for credentials where a protocol puts them: headers and URLs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tramapy.dlp.checks import is_basic_credential, is_mixed, is_password, is_placeholder
from tramapy.dlp.pack_rule import ANY_CASE, Cut, Look, PackRule, cuts_at, either_case, holds, one_of, words
from tramapy.dlp.packs.joints import is_apart
from tramapy.dlp.packs.many_places import MANY, before
from tramapy.dlp.packs.run import Run
from tramapy.dlp.packs.search_words import holds_word, words_here
from tramapy.dlp.view import View

__all__ = ["RULES"]

_FREE = r"(?<![0-9A-Za-z])"
_BEARER = re.compile(
    rf"{_FREE}(?:bearer(?:[ \t]{{1,4}}|[\"']?[ \t]{{0,4}}[:=][ \t]{{0,4}}[\"']?)"
    rf"|authorization[\"']?[ \t]{{0,4}}[:=][ \t]{{0,4}}[\"']?(?:(?:token|apikey|oauth)[ \t]{{1,4}})?)"
    rf"(?P<cut>[0-9A-Za-z._~+/-]{{16,}}={{0,2}})",
    ANY_CASE,
)
_BASIC = re.compile(rf"{_FREE}basic[ \t]{{1,4}}(?P<cut>[0-9A-Za-z+/]{{8,}}={{0,2}})", ANY_CASE)

_AUTH = re.compile(r"auth[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?(?P<cut>[0-9A-Za-z+/]{8,}={0,2})", ANY_CASE)
_basic_words = words(("basic",), _BASIC, is_basic_credential)
_auth_words = words(("auth",), _AUTH, is_basic_credential)


# How programs hand over a name and a password: `auth=("ann", "…")`, `HTTPBasicAuth(…)`, `NetworkCredential(…)`.
_CALL = re.compile(
    r"(?:auth ?=?|credential) ?\( ?[\"'][^\"'\n]{1,64}[\"'], ?[\"'](?P<cut>[^\"'\n]{4,256})[\"'] ?[,)]",
    ANY_CASE,
)


def _is_called_with(value: str) -> bool:
    return is_password(value) and is_apart(value)


_auth_calls = words(("auth",), _CALL, _is_called_with)
_credential_calls = words(("credential",), _CALL, _is_called_with)


def _basic(view: View) -> Iterator[tuple[int, int]]:
    here = view.once(words_here)
    if b"basic" in here:
        yield from _basic_words(view)
    if b"auth" in here:
        yield from _auth_words(view)
        yield from _auth_calls(view)
    if b"credential" in here:
        yield from _credential_calls(view)


_BASIC_LOOKS = (
    Look(r"(?i:basic)[ \t]{1,4}[0-9A-Za-z+/]{8}", _basic_words),
    Look(r"(?i:auth)[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?[0-9A-Za-z+/]{8}", _auth_words),
    Look(r"(?i:auth) ?=? ?[(] ?[\"']", _auth_calls),
    Look(r"(?i:credential) ?[(] ?[\"']", _credential_calls),
)


def _is_bearer(value: str) -> bool:
    return not is_placeholder(value) and is_mixed(value)


_URL_PASSWORD = re.compile(
    r"://[^\s/?#:\"'<>]{0,128}:(?P<cut>[^\s/\"'<>]{1,256})@(?=[0-9A-Za-z\[_-])", re.IGNORECASE
)


_LONGEST_BEFORE_AT = 400


def _url_passwords(view: View) -> Sequence[tuple[int, int]]:
    places = view.places_of("://")
    if len(places) > MANY:
        places = before("@", view.text, places, _LONGEST_BEFORE_AT)
    return cuts_at(view.text, _URL_PASSWORD, places, _is_url_password)


def _is_url_password(value: str) -> bool:
    return not is_placeholder(value) or value.lower() in ("password", "secret", "pass")


_URL_KEY_NAMES = (
    r"(?:[a-z]{0,12}[_-]?api[_-]?key|x-api-key|[a-z]{0,12}[_-]?token|auth|key|sig|signature|x-amz-signature|"
    r"(?:client[_-]?)?secret|password|passwd|pwd|code|access[_-]?key)"
)
_URL_KEY_START = re.compile(rf"[?&]{_URL_KEY_NAMES}=", ANY_CASE)
_URL_CHARACTER = r"[^\s&#\"'<>`)\]}]"
_URL_KEY_END = "".join(
    rf"(?<={end}=)|"
    for end in ("key", "token", "auth", "sig", "signature", "secret", "password", "passwd", "pwd", "code")
).rstrip("|")
_URL_KEY_MARKS = {
    mark: re.compile(
        rf"{re.escape(mark)}[a-z_-]{{3,32}}+=(?:{_URL_KEY_END})(?={_URL_CHARACTER}{{8}})", ANY_CASE
    )
    for mark in "?&"
}
_LONGEST_URL_KEY_NAME = 48
_MOST_READ = 2_048
_URL_VALUE = re.compile(rf"{_URL_CHARACTER}{{0,{_MOST_READ}}}")
_SHORTEST_URL_KEY = 8
_LONGEST_URL_KEY = 512
_URL_KEY = rf"[?&]{_URL_KEY_NAMES}=(?P<cut>{_URL_CHARACTER}{{8,512}})(?!{_URL_CHARACTER})"


def _holds_query(view: View) -> bool:
    part = view.part
    return "=" in part and (
        ("?" in part and _URL_KEY_MARKS["?"].search(part) is not None)
        or ("&" in part and _URL_KEY_MARKS["&"].search(part) is not None)
    )


def _url_keys(view: View) -> Iterator[tuple[int, int]]:
    text = view.text
    for mark, pattern in _URL_KEY_MARKS.items():
        if mark not in view.part:
            continue
        run: Run | None = None
        rest_start = -1
        for found in view.matches(pattern, _LONGEST_URL_KEY_NAME):
            # Well inside of a value that is too long, none begins that is not.
            match = None if found.start() < rest_start else _URL_KEY_START.match(text, found.start())
            if match is None:
                continue
            start = match.end()
            run = run or Run(_URL_VALUE, text, _MOST_READ, _LONGEST_URL_KEY + 1)
            run.reach(start)
            rest_start = run.end - _LONGEST_URL_KEY - _LONGEST_URL_KEY_NAME
            if _SHORTEST_URL_KEY <= run.end - start <= _LONGEST_URL_KEY and _is_url_key(
                match.group()[1:-1].lower(), text[start : run.end]
            ):
                yield Cut(start, run.end)


def _is_url_key(name: str, value: str) -> bool:
    if is_placeholder(value) or value.isdigit():
        return False
    if name in ("key", "code", "auth"):
        return len(value) >= 16 and is_mixed(value)
    return "pass" in name or "pwd" in name or is_mixed(value)


_COOKIE_HEADER = re.compile(
    r"(?P<set>set-)?cookie(?:[\"']?[ \t]{0,4}[:=]|(?<=--cookie)[ =]|[\"'],\s{0,24}[\"']value[\"'] ?:)"
    r"[ \t]{0,4}[\"']?(?=[0-9A-Za-z_.-]{1,64}=)",
    ANY_CASE,
)
_COOKIE = re.compile(r";? ?(?P<name>[0-9A-Za-z_.-]{1,64})=")
_COOKIE_VALUE = re.compile(r"[^\s;,\"'<>]*")
_COOKIE_NAME = re.compile(
    r"sess|(?:^|[._-])s?id\Z|sid\Z|auth|token|jwt|csrf|xsrf|login|remember|credential|secret|key|pass",
    re.IGNORECASE,
)
_SHORTEST_COOKIE = 8
_SHORTEST_UNNAMED_COOKIE = 20
_LONGEST_COOKIES = 1_024
_HEAD_LENGTH = 257
"""How much of a value is looked at."""


def _cookies(view: View) -> Iterator[tuple[int, int]]:
    text = view.text
    first, following = Run(_COOKIE_VALUE, text), Run(_COOKIE_VALUE, text)
    ends: set[int] = set()
    done = -1
    for place in view.places_of_word(b"cookie"):
        header = _COOKIE_HEADER.match(text, max(place - len("set-"), 0)) or _COOKIE_HEADER.match(text, place)
        if header is None:
            continue
        start, run = header.end(), first
        while start - place <= _LONGEST_COOKIES and (cookie := _COOKIE.match(text, start)) is not None:
            value_start = cookie.end()
            run.reach(value_start)
            value = text[value_start : min(run.end, value_start + _HEAD_LENGTH)]
            # What ends with a value that is cut is a part of it.
            if run.end not in ends and _is_cookie(cookie.group("name"), value):
                ends.add(run.end)
                yield value_start, run.end
            if header.group("set") is not None:  # what follows is when and where it counts
                break
            # Behind the value that a header stands in, the cookies are those of the header before it.
            start = done = max(run.end, done)
            run = following


def _is_cookie(name: str, value: str) -> bool:
    """Tell whether a cookie may be one that a session hangs on, and no setting."""
    if len(value) < _SHORTEST_COOKIE or is_placeholder(value) or not is_mixed(value):
        return False
    return _COOKIE_NAME.search(name) is not None or len(value) >= _SHORTEST_UNNAMED_COOKIE


RULES = (
    PackRule(
        id="bearer_token",
        title="Bearer tokens",
        source="RFC 6750",
        pattern=_BEARER.pattern,
        replacement="[REDACTED:bearer_token]",
        search=words(("bearer", "authorization"), _BEARER, _is_bearer),
        gate=holds_word("bearer", "auth"),
        hint=r"(?i:bearer|authorization)[\"' \t:=]",
        held=rf"""(?:{either_case("bearer")}|{either_case("authorization")})["']?[ \t]{{0,4}}[:=]?[ \t]{{0,4}}["']?"""
        rf"""(?:(?:{either_case("token")}|{either_case("apikey")}|{either_case("oauth")})[ \t]{{1,4}})?"""
        rf"""[0-9A-Za-z._~+/=\-]{{16,}}""",
        bodies=(("", r"[0-9A-Za-z._~+/-]*={0,2}"),),
    ),
    PackRule(
        id="basic_auth",
        title="Basic credentials, those of Docker's and npm's configuration too",
        source="RFC 7617; Docker, config.json; npm, .npmrc",
        pattern=_BASIC.pattern,
        replacement="[REDACTED:basic_auth]",
        search=_basic,
        gate=holds_word("basic", "auth", "credential"),
        hint=one_of(_BASIC_LOOKS),
        looks=_BASIC_LOOKS,
        held=rf"{either_case('basic')}[ \t]{{0,4}}[0-9A-Za-z+/=]{{8,}}"
        rf"""|{either_case("auth")}["']?[ \t]{{0,4}}[:=][ \t]{{0,4}}["']?[0-9A-Za-z+/=]{{8,}}"""
        rf"""|(?:{either_case("auth")} ?=?|{either_case("credential")})"""
        rf""" ?\( ?["'][^"'\n]+["'], ?["'][^"'\n]{{4,}}["'] ?""",
        bodies=(("", r"[0-9A-Za-z+/]*={0,2}"),),
    ),
    PackRule(
        id="cookie",
        title="Cookies that a session may hang on, in headers",
        source="RFC 6265",
        pattern=_COOKIE_HEADER.pattern,
        replacement="[REDACTED:cookie]",
        search=_cookies,
        gate=holds_word("cookie"),
        hint=r"(?i:cookie)[\"']?[ \t]{0,4}[:=, ]",
        held=(
            rf"""{either_case("cookie")}["']?[ \t]*(?:[:=]?|,\s*["']{either_case("value")}["'] ?:)[ \t]*"""
            r"""["']?[0-9A-Za-z_.\-]+=[^\s;,"'<>]*"""
            r"""(?:;? ?[0-9A-Za-z_.\-]+=[^\s;,"'<>]*)*"""
        ),
        bodies=(("", _COOKIE_VALUE.pattern),),
        is_checked=False,
    ),
    PackRule(
        id="url_password",
        title="Passwords in URLs",
        source="RFC 3986, 3.2.1",
        pattern=_URL_PASSWORD.pattern,
        replacement="[REDACTED:url_password]",
        search=_url_passwords,
        gate=holds("@"),
        hint=r"://[^ \n\r\t/#:\"'<>]{0,128}:",
        held=r"""://[^\s/?#:"'<>]*:[^\s/"'<>]*@[^\s/"'<>]*""",
    ),
    PackRule(
        id="url_key",
        title="Keys and tokens in the query of an URL",
        source="OWASP, information exposure through query strings",
        pattern=_URL_KEY,
        replacement="[REDACTED:url_key]",
        search=_url_keys,
        gate=_holds_query,
        hint=rf"[?&](?i:{_URL_KEY_NAMES})=",
        held=r"""[?&][A-Za-z_\-]{1,40}=[^\s&#"'<>`)\]}]{8,}""",
        is_checked=False,
    ),
)
