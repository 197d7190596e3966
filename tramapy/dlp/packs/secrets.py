"""Rules for credentials: keys with a known prefix, key blocks, and values behind a telling name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tramapy.dlp.checks import (
    SHORTEST_PASSWORD,
    SHORTEST_SECRET,
    is_basic_credential,
    is_mixed,
    is_password,
    is_placeholder,
    is_secret,
    is_token,
)
from tramapy.dlp.pack_rule import (
    Check,
    Cut,
    Gate,
    PackRule,
    Search,
    cut_at,
    holds,
    is_in_marker,
    literals,
    words,
)
from tramapy.dlp.view import View

__all__ = ["RULES"]

# Without ASCII, a `k` would also match the sign for Kelvin, which no stream holds back.
_ANY_CASE = re.IGNORECASE | re.ASCII
_FREE = r"(?<![0-9A-Za-z])"
_FREE_OF_DASHES = r"(?<![0-9A-Za-z_-])"


_STARTS = re.compile(
    r"AKIA|ASIA|ABIA|ACCA|gh[pousr]_|github_pat_|gl(?:pat|dt|rtr?|cbt|ptt|ft|soat|agent|imt|oas|ffct|wt)-|xox[abcdeoprs]|xapp-"
    # Each choice begins with a letter: so the standard library knows where none can begin.
    r"|sk_(?:live|test)_|rk_(?:live|test)_|whsec_|sk-|AIza|GOCSPX-|ya29\.|hf_|api_org_|npm_|pypi-|rubygems_|SG\.|eyJ"
)


def _holds_token(view: View) -> bool:
    return bool(view.tokens(_STARTS))


def _tokens(
    starts: tuple[str, ...], pattern: re.Pattern[str], check: Check | None, *, is_open: bool
) -> Search:
    def search(view: View) -> Iterator[Cut]:
        found = view.tokens(_STARTS)
        for start in starts:
            done = -1
            for place in found.get(start, ()):
                # A start inside of an open token ends where that one ends: to look again would be quadratic.
                if place >= done:
                    for cut in cut_at(view.text, pattern, place, check):
                        yield cut
                        if is_open:
                            done = cut.end

    return search


_WORDS = (b"secret", b"token", b"key", b"credential", b"pass", b"pwd", b"bearer", b"authorization", b"basic")


def _words_here(view: View) -> list[bytes]:
    """Return which of all words stand somewhere, whatever their case; looked for from behind, as in `View`."""
    lower = view.lower
    return [word for word in _WORDS if lower.rfind(word) >= 0]


def _holds_word(*listed: str) -> Gate:
    """Search a view that holds one of some words of `_WORDS`."""
    encoded = frozenset(word.encode() for word in listed)

    def gate(view: View) -> bool:
        return not encoded.isdisjoint(view.once(_words_here))

    return gate


def _either_case(word: str) -> str:
    """Write a word for our dialect, where a part of a pattern cannot ignore case."""
    return "".join(
        f"[{letter}{letter.upper()}]" if letter.isalpha() else re.escape(letter) for letter in word
    )


def _token(
    rule_id: str,
    title: str,
    source: str,
    starts: tuple[str, ...],
    pattern: str,
    *,
    tail: str = r"[0-9A-Za-z_\-]",
    is_open: bool = True,
    is_in_parts: bool = False,
    held: str | None = None,
    body: str | None = None,
    check: Check | None = is_token,
) -> PackRule:
    """Make the rule for a token that begins with one of some literals.

    Args:
        rule_id: The rule's id.
        title: What it finds.
        source: Where the form is documented.
        starts: The literals.
        pattern: What is matched from a literal on.
        tail: The characters that such a token goes on with.
        is_open: Whether it has no longest length.
        is_in_parts: Whether one that begins inside of another may end behind it.
        held: What a stream holds back, where the literals and such characters do not say it.
        body: How such a token goes on, where that is not said by these characters.
        check: Tells whether it is one.
    """
    prefix = "|".join(map(re.escape, starts))
    return PackRule(
        id=rule_id,
        title=title,
        source=source,
        pattern=pattern,
        replacement=f"[REDACTED:{rule_id}]",
        search=_tokens(starts, re.compile(pattern), check, is_open=is_open and not is_in_parts),
        gate=_holds_token,
        hint=prefix,
        held=held or f"(?:{prefix}){tail}{{8,}}",
        body=re.compile(body or f"{tail}*") if is_open else None,
    )


# What stands between the lines of a block that is indented, quoted, commented, numbered, in a diff or in code.
_PEM_MARKS = r"[\s>|#*\"'`+/\\,;:.-]"
_PEM_JOINT = rf"(?:{_PEM_MARKS}{{0,8}}\n{_PEM_MARKS}{{0,20}}(?:[0-9]{{1,5}}[\s>|:.]{{1,2}})?|\s{{0,4}})"
_PEM_HEADER = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|MessageID): ?[^\n]{0,100}\n"
_PEM_END = r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_PEM_REST = (
    rf"(?:{_PEM_JOINT}[0-9A-Za-z+/=]{{16,}})*"
    # A stream looks 128 characters ahead: this is 118 of them at most.
    rf"(?:{_PEM_JOINT}=?[0-9A-Za-z+/=]{{1,15}}(?:\n[\s>|#*]{{0,4}}=?[0-9A-Za-z+/=]{{1,15}})?(?={_PEM_JOINT}-----END )"
    rf"|\s{{0,4}}=?[0-9A-Za-z+/=]{{1,15}})?"
    rf"(?:{_PEM_JOINT}{_PEM_END})?"
)
_PEM = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    rf"(?:{_PEM_JOINT}{_PEM_HEADER})*{_PEM_REST}",
    re.ASCII,
)
_PEM_BODY = re.compile(rf"[0-9A-Za-z+/=]*{_PEM_REST}", re.ASCII)


def _pem_blocks(view: View) -> Iterator[Cut]:
    for place in view.places_of("-----BEGIN "):
        match = _PEM.match(view.text, place)
        if match is not None:
            yield Cut(*match.span())


_WEBHOOK = re.compile(
    r"https://hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[0-9A-Za-z_/+-]{16,}"
)
_BEARER = re.compile(
    rf"{_FREE}(?:bearer(?:[ \t]{{1,4}}|[\"']?[ \t]{{0,4}}[:=][ \t]{{0,4}}[\"']?)"
    rf"|authorization[\"']?[ \t]{{0,4}}[:=][ \t]{{0,4}}[\"']?(?:(?:token|apikey|oauth)[ \t]{{1,4}})?)"
    rf"(?P<cut>[0-9A-Za-z._~+/-]{{16,}}={{0,2}})",
    _ANY_CASE,
)
_BASIC = re.compile(rf"{_FREE}basic[ \t]{{1,4}}(?P<cut>[0-9A-Za-z+/]{{8,}}={{0,2}})", _ANY_CASE)


def _is_bearer(value: str) -> bool:
    return not is_placeholder(value) and is_mixed(value)


_URL_PASSWORD = re.compile(
    r"://[^\s/?#:\"'<>]{0,128}:(?P<cut>[^\s/\"'<>]{1,256})@(?=[0-9A-Za-z\[_-])", re.IGNORECASE
)


def _is_url_password(value: str) -> bool:
    return not is_placeholder(value) or value.lower() in ("password", "secret", "pass")


_URL_KEY_NAMES = (
    r"(?:[a-z]{0,12}[_-]?api[_-]?key|x-api-key|[a-z]{0,12}[_-]?token|auth|key|sig|signature|x-amz-signature|"
    r"(?:client[_-]?)?secret|password|passwd|pwd|code|access[_-]?key)"
)
_URL_KEY_START = re.compile(rf"[?&]{_URL_KEY_NAMES}=", _ANY_CASE)
_URL_CHARACTER = r"[^\s&#\"'<>`)\]}]"
_URL_KEY_END = "".join(
    rf"(?<={end}=)|"
    for end in ("key", "token", "auth", "sig", "signature", "secret", "password", "passwd", "pwd", "code")
).rstrip("|")
_URL_KEY_MARKS = tuple(
    re.compile(rf"{mark}[a-z_-]{{3,32}}+=(?:{_URL_KEY_END})(?={_URL_CHARACTER}{{8}})", _ANY_CASE)
    for mark in (r"\?", "&")
)
_LONGEST_URL_KEY_NAME = 48
_URL_VALUE = re.compile(rf"{_URL_CHARACTER}*")
_SHORTEST_URL_KEY = 8
_LONGEST_URL_KEY = 512
_URL_KEY = rf"[?&]{_URL_KEY_NAMES}=(?P<cut>{_URL_CHARACTER}{{8,512}})(?!{_URL_CHARACTER})"


def _holds_query(view: View) -> bool:
    part = view.part
    return "=" in part and ("?" in part or "&" in part)


def _url_keys(view: View) -> Iterator[Cut]:
    text = view.text
    for mark, pattern in zip(("?", "&"), _URL_KEY_MARKS, strict=True):
        if mark not in view.part:
            continue
        run = _Run(_URL_VALUE, text)
        for found in view.matches(pattern, _LONGEST_URL_KEY_NAME):
            match = _URL_KEY_START.match(text, found.start())
            if match is None:
                continue
            start = match.end()
            run.reach(start)
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
_CALLED = ("(", "[")
_LONGEST_NAME = 64
_KEYS = ("api", "access", "account", "private", "auth", "encryption", "signing", "client", "license")
_SECRET_NAMES = (
    "secret",
    "token",
    "credential",
    *(f"{key}{joint}key" for key in _KEYS for joint in ("", "_", "-", " ")),
)
_BEFORE_KEY = "|".join(f"(?<={key})|(?<={key}[ _-])" for key in _KEYS)
_VALUE_BODY = re.compile(r"(?:[^\s\"'`;,&<>(){}\[\]|]*[^\s\"'`;,&<>(){}\[\]|.!?:])?")
_NAMED = {
    kind: re.compile(
        rf"(?>(?:{names})(?!(?!s(?![a-z]))[a-z])(?!{_OF_ANOTHER_KIND})"
        rf"(?P<rest>[0-9A-Za-z_.-]{{0,40}}+)(?P<sep>{_SEPARATOR}){_VALUE})"
        # Too short a value is no other one: what is atomic is not read in another way.
        rf"(?(u)(?={_BARE.pattern[:-1]}{{{shortest - 1}}})|)",
        _ANY_CASE,
    )
    for kind, names, shortest in (
        ("password", "|".join((*_PASSWORD_NAMES[:-1], r"(?<![A-Za-z])pass")), SHORTEST_PASSWORD),
        ("secret", f"secret|token|credential|(?:{_BEFORE_KEY})key", SHORTEST_SECRET),
    )
}
_ENDS_IN_ANOTHER_KIND = re.compile(rf".*?{_OF_ANOTHER_KIND}\Z", re.IGNORECASE)
_SHORT_NAME = re.compile(r"pass(?![a-z])", re.IGNORECASE)
_SHORTEST_OF_SHORT_NAME = 6
_WORDS_ONLY = re.compile(r"[a-z]+[.,!?]?\Z", re.IGNORECASE)
_ENDS = ".,!?:"
_HEAD_LENGTH = 257
"""How much of a value is looked at; one more than what it is judged by, so that a longer one is known as such."""


_LIVELY = re.compile(r"[^\W_a-z]")


class _Run:
    """Where the value that was read last ends; read once for all names inside of it.

    Args:
        pattern: Matches characters of values.
        text: The folded text.
    """

    __slots__ = ("_pattern", "_text", "dull_end", "end", "kept_end")

    def __init__(self, pattern: re.Pattern[str], text: str) -> None:
        self._pattern = pattern
        self._text = text
        self.end = -1
        """Its end."""
        self.kept_end = -1
        """Its end without the marks that end a sentence."""
        self.dull_end = -1
        """The end of the last one that was found to hold neither a digit nor a capital: no part of it is a secret."""

    def reach(self, start: int) -> None:
        """Read the value that a place is in."""
        if start >= self.end:
            match = self._pattern.match(self._text, start)
            self.end = start if match is None else match.end()
            self.kept_end = start + len(self._text[start : self.end].rstrip(_ENDS))
            if _LIVELY.search(self._text, start, self.end) is None:
                self.dull_end = self.end


class _NamedValues:
    """Find the values of names such as `DB_PASSWORD=` or `"clientSecret": `."""

    def __init__(self, kind: str, roots: tuple[str, ...]) -> None:
        self._roots = tuple(root.encode() for root in roots)
        self._pattern = _NAMED[kind]
        self._is_password = kind == "password"

    def __call__(self, view: View) -> Iterator[Cut]:
        text = view.text
        for name in self._roots:
            run = _Run(_BARE, text)
            done = -1
            for place in view.places_of_word(name):
                # A name well inside of a bare value can only have the end of that value as its own.
                if place + _LONGEST_NAME < done or (
                    not self._is_password and place + _LONGEST_NAME < run.dull_end
                ):
                    continue
                match = self._pattern.match(text, place)
                if match is not None and not is_in_marker(text, place):
                    for cut in self._value(match, run):
                        yield cut
                        done = max(done, run.kept_end if cut.end == run.kept_end else -1)

    def _value(self, match: re.Match[str], run: _Run) -> Iterator[Cut]:
        if match.group("rest") and _ENDS_IN_ANOTHER_KIND.match(match.group("rest")):
            return
        kind = match.lastgroup or "u"
        quoted = None if kind == "u" else kind
        start, end = match.span(kind)
        if quoted is None:
            run.reach(start)
            if run.end - start < _HEAD_LENGTH and match.string.startswith(_CALLED, run.end):
                return
            end = run.kept_end
        value = match.string[start : min(end, start + _HEAD_LENGTH)]
        if value and (self._is_word(match, value, quoted) if self._is_password else is_secret(value)):
            yield Cut(start, end)

    def _is_word(self, match: re.Match[str], value: str, quoted: str | None) -> bool:
        """Tell whether the value of a password's name is one; a bare word in a sentence is not."""
        if not is_password(value):
            return False
        separator = match.group("sep")
        if _SHORT_NAME.match(match.group()):  # also a verb, a ticket and a mark
            return not separator[0].isspace() and len(value) >= _SHORTEST_OF_SHORT_NAME and is_mixed(value)
        is_prose = (
            "is" in separator or "to" in separator or (quoted is None and separator.endswith((" ", "\t")))
        )
        return not (is_prose and _WORDS_ONLY.match(value))


def _hint_of(names: tuple[str, ...]) -> str:
    name = "|".join(names)
    return rf"(?i:{name})[0-9A-Za-z_.-]{{0,40}}[\"'`\]*_]{{0,3}}[ \t]{{0,4}}(?:[:=]|(?i:is|to)[ \t:])"


def _held_name(names: tuple[str, ...]) -> str:
    name = "|".join(_either_case(name) for name in names)
    separator = (
        r"""["'`\]*_]{0,3}[ \t]{0,4}(?::=|=>|==?|:[ \t]{0,2}(?:str|string|Optional\[str\])(?: \| None)?"""
        r"""[ \t]{0,2}="""
        r"""|:|[iI][sS]|[tT][oO])[*_]{0,2}[ \t]{0,4}:?[ \t]{0,4}"""
    )
    value = (
        r"""[bBfFrRuU]{0,2}["']{0,2}(?:"(?:[^"\n]|"[0-9A-Za-z]){4,}|'[^'\n]{4,}|`[^`\n]{4,}"""
        r"""|["'`]?[^\s"'`;,&<>(){}\[\]|]{4,}[(\[]?)"""
    )
    return f"(?:{name})[0-9A-Za-z_.\\-]*{separator}{value}"


_AWS_SECRET = re.compile(
    r"secret(?:[_ -]?access[_ -]?key|(?:(?<=aws[_ -]secret)|(?<=awssecret))(?:[_ -]?key)?)"
    r"[\"'\]]{0,2}[ \t]{0,4}(?:[:=]|=>|is)[ \t]{0,4}[\"']?"
    r"(?P<cut>[0-9A-Za-z/+]{40})(?![0-9A-Za-z/+=])",
    _ANY_CASE,
)

RULES = (
    _token(
        "aws_access_key",
        "AWS access key ids",
        "AWS IAM, unique identifiers",
        ("AKIA", "ASIA", "ABIA", "ACCA"),
        rf"{_FREE}(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{{16}}(?![0-9A-Za-z])",
        tail=r"[0-9A-Z]",
        is_open=False,
        check=None,
    ),
    PackRule(
        id="aws_secret_key",
        title="AWS secret access keys behind their name",
        source="AWS, security credentials",
        pattern=_AWS_SECRET.pattern,
        replacement="[REDACTED:aws_secret_key]",
        search=words(("secret",), _AWS_SECRET),
        gate=_holds_word("secret"),
        hint=r"(?i:secret[_ -]?access[_ -]?key|aws[_ -]?secret)",
        held=_held_name(("secret", "secret access key", "secretaccesskey", "aws secret key", "aws secret")),
    ),
    _token(
        "github_token",
        "GitHub tokens",
        "GitHub, token formats",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        rf"{_FREE}(?:gh[pousr]_[0-9A-Za-z]{{36,}}|github_pat_[0-9A-Za-z_]{{40,}})",
    ),
    _token(
        "gitlab_token",
        "GitLab tokens",
        "GitLab, token overview",
        (
            "glpat-",
            "gldt-",
            "glrt-",
            "glrtr-",
            "gloas-",
            "glffct-",
            "glwt-",
            "glcbt-",
            "glptt-",
            "glft-",
            "glsoat-",
            "glagent-",
            "glimt-",
        ),
        rf"{_FREE}gl(?:pat|dt|rtr?|cbt|ptt|ft|soat|agent|imt|oas|ffct|wt)-[0-9A-Za-z_.-]{{19,}}[0-9A-Za-z_-]",
        tail=r"[0-9A-Za-z_.\-]",
    ),
    _token(
        "slack_token",
        "Slack tokens",
        "Slack, token types",
        ("xoxb", "xoxc", "xoxd", "xoxp", "xoxa", "xoxe", "xoxo", "xoxr", "xoxs", "xapp-"),
        rf"{_FREE}(?:xox[abcdeoprs]-|xoxe\.xox[bp]-|xapp-[0-9]-)[0-9A-Za-z-]{{10,}}",
        tail=r"[0-9A-Za-z.\-]",
    ),
    PackRule(
        id="slack_webhook",
        title="Slack webhook addresses",
        source="Slack, incoming webhooks",
        pattern=_WEBHOOK.pattern,
        replacement="[REDACTED:slack_webhook]",
        search=literals(("https://hooks.slack",), _WEBHOOK),
        gate=holds("hooks.slack"),
        hint=r"https://hooks\.slack",
        held=r"https://hooks\.slack[0-9A-Za-z_/+.\-]*",
        body=re.compile(r"[0-9A-Za-z_/+-]*"),
    ),
    _token(
        "stripe_key",
        "Stripe secret keys",
        "Stripe, API keys",
        ("sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"),
        rf"{_FREE}(?:[sr]k_(?:live|test)_|whsec_)[0-9A-Za-z]{{10,}}",
        tail=r"[0-9A-Za-z]",
    ),
    _token(
        "anthropic_key",
        "Anthropic keys",
        "Anthropic, API keys",
        ("sk-",),
        rf"{_FREE}sk-ant-[0-9A-Za-z_-]{{20,}}",
    ),
    _token(
        "openai_key",
        "OpenAI keys, and those of services that write them alike",
        "OpenAI, API keys",
        ("sk-",),
        rf"{_FREE}(?:sk-[0-9A-Za-z]{{20,}}|sk-(?:proj|svcacct|admin|or-v1|lf|[a-z]{{2,8}})-(?=[0-9A-Za-z_-]{{0,40}}[0-9])[0-9A-Za-z_-]{{20,}})",
    ),
    _token(
        "google_key",
        "Google API keys and OAuth secrets",
        "Google Cloud, API keys",
        ("AIza", "GOCSPX-", "ya29."),
        rf"{_FREE_OF_DASHES}(?:AIza[0-9A-Za-z_-]{{35}}|GOCSPX-[0-9A-Za-z_-]{{24,}}|ya29\.[0-9A-Za-z_-]{{20,}})",
        tail=r"[0-9A-Za-z_.\-]",
        is_open=False,
        check=None,
    ),
    _token(
        "huggingface_token",
        "Hugging Face tokens",
        "Hugging Face, user access tokens",
        ("hf_", "api_org_"),
        rf"{_FREE}(?:hf|api_org)_[0-9A-Za-z]{{30,}}",
        tail=r"[0-9A-Za-z]",
    ),
    _token(
        "package_registry_token",
        "npm, PyPI and RubyGems tokens",
        "npm, access tokens; PyPI, API tokens; RubyGems, API keys",
        ("npm_", "pypi-", "rubygems_"),
        rf"{_FREE}(?:npm_[0-9A-Za-z]{{36,}}|pypi-[0-9A-Za-z_-]{{32,}}|rubygems_[0-9a-f]{{48,}})",
    ),
    _token(
        "sendgrid_key",
        "SendGrid keys",
        "Twilio SendGrid, API keys",
        ("SG.",),
        rf"{_FREE}SG\.[0-9A-Za-z_-]{{16,32}}\.[0-9A-Za-z_-]{{16,}}",
        tail=r"[0-9A-Za-z_.\-]",
        is_in_parts=True,
        check=None,
    ),
    _token(
        "jwt",
        "JSON web tokens",
        "RFC 7519",
        ("eyJ",),
        rf"{_FREE_OF_DASHES}eyJ[0-9A-Za-z_-]{{10,1000}}\.(?:eyJ[0-9A-Za-z_-]{{4,}}|[0-9A-Za-z_-]*\.[0-9A-Za-z_-]{{8,}})(?:\.[0-9A-Za-z_-]+)*",
        body=r"[0-9A-Za-z_-]*(?:\.[0-9A-Za-z_-]+)*",
        held=r"eyJ[0-9A-Za-z_\-]{10,}\.[0-9A-Za-z_.\-]*",
        check=None,
    ),
    PackRule(
        id="private_key",
        title="Private key blocks, truncated ones too",
        source="RFC 7468, RFC 1421, RFC 4880",
        pattern=_PEM.pattern,
        replacement="[REDACTED:private_key]",
        search=_pem_blocks,
        gate=holds("-----BEGIN "),
        hint=r"-----BEGIN ",
        held=(
            r"-----BEGIN [0-9A-Z ]*-----"
            r"""(?:[\s>|#*"'`+/\\,;:.\-]*(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|MessageID): ?[^\n]*\n)*"""
            r"""[0-9A-Za-z+/=\s>|#*"'`\\,;:.\-]*"""
        ),
        body=_PEM_BODY,
    ),
    PackRule(
        id="bearer_token",
        title="Bearer tokens",
        source="RFC 6750",
        pattern=_BEARER.pattern,
        replacement="[REDACTED:bearer_token]",
        search=words(("bearer", "authorization"), _BEARER, _is_bearer),
        gate=_holds_word("bearer", "authorization"),
        hint=r"(?i:bearer|authorization)[\"' \t:=]",
        held=rf"""(?:{_either_case("bearer")}|{_either_case("authorization")})["']?[ \t]{{0,4}}[:=]?[ \t]{{0,4}}["']?"""
        rf"""(?:(?:{_either_case("token")}|{_either_case("apikey")}|{_either_case("oauth")})[ \t]{{1,4}})?"""
        rf"""[0-9A-Za-z._~+/=\-]{{16,}}""",
        body=re.compile(r"[0-9A-Za-z._~+/-]*={0,2}"),
    ),
    PackRule(
        id="basic_auth",
        title="Basic credentials",
        source="RFC 7617",
        pattern=_BASIC.pattern,
        replacement="[REDACTED:basic_auth]",
        search=words(("basic",), _BASIC, is_basic_credential),
        gate=_holds_word("basic"),
        hint=r"(?i:basic)[ \t]{1,4}[0-9A-Za-z+/]{8}",
        held=rf"{_either_case('basic')}[ \t]{{0,4}}[0-9A-Za-z+/=]{{8,}}",
        body=re.compile(r"[0-9A-Za-z+/]*={0,2}"),
    ),
    PackRule(
        id="url_password",
        title="Passwords in URLs",
        source="RFC 3986, 3.2.1",
        pattern=_URL_PASSWORD.pattern,
        replacement="[REDACTED:url_password]",
        search=literals(("://",), _URL_PASSWORD, _is_url_password),
        gate=holds("@"),
        hint=r"://[^ \n\r\t/?#:\"'<>]{0,128}:",
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
    PackRule(
        id="password",
        title="Passwords behind their name, in connection strings too",
        source="OWASP, use of hard-coded password",
        pattern=_NAMED["password"].pattern,
        replacement="[REDACTED:password]",
        search=_NamedValues("password", ("pass", "pwd")),
        gate=_holds_word("pass", "pwd"),
        hint=_hint_of(_PASSWORD_NAMES),
        held=_held_name(_PASSWORD_NAMES),
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
        gate=_holds_word("secret", "token", "key", "credential"),
        hint=_hint_of(_SECRET_NAMES),
        held=_held_name(_SECRET_NAMES),
        body=_VALUE_BODY,
        is_checked=False,
    ),
)
