"""Rules for keys and tokens of a known form."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tramapy.dlp.checks import is_mixed, is_token
from tramapy.dlp.pack_rule import (
    ANY_CASE,
    Check,
    Look,
    PackRule,
    Search,
    StartGate,
    WithinGate,
    cuts_at,
    holds,
    literals,
    words,
)
from tramapy.dlp.packs.many_places import MANY
from tramapy.dlp.packs.marks import holds_dots
from tramapy.dlp.packs.named_values import held_name
from tramapy.dlp.packs.search_words import holds_word
from tramapy.dlp.view import View

__all__ = ["RULES"]

_FREE = r"(?<![0-9A-Za-z])"
_FREE_OF_DASHES = r"(?<![0-9A-Za-z_-])"


_WORD = "[0-9A-Za-z_-]"
# Each choice begins with a letter: so the standard library knows where none can begin. What is looked for behind it
# and before it is some of what the patterns want: where there is nothing but literals, no place is looked at twice.
_STARTS = re.compile(
    r"A(?:KIA|SIA|BIA|CCA)(?=[0-9A-Z]{16})(?<![0-9A-Za-z]....)"
    rf"|AIza(?={_WORD}{{35}})|GOCSPX-(?={_WORD}{{24}})|ya29\.(?={_WORD}{{20}})"
    r"|gh[pousr]_(?=[0-9A-Za-z]{36})|github_pat_(?=[0-9A-Za-z_]{40})"
    r"|gl(?:pat|dt|rtr?|cbt|ptt|ft|soat|agent|imt|oas|ffct|wt)-(?=[0-9A-Za-z_.-]{20})"
    r"|xox[abcdeoprs](?=-[0-9A-Za-z-]{10}|\.xox)|xapp-(?=[0-9]-)"
    r"|sk_(?:live|test)_(?=[0-9A-Za-z]{10})|rk_(?:live|test)_(?=[0-9A-Za-z]{10})|whsec_(?=[0-9A-Za-z]{10})"
    rf"|sk-(?=[0-9A-Za-z]{{20}}|ant-|(?:or-v1|[a-z]{{2,8}})-(?=[A-Za-z_-]{{0,40}}+[0-9]){_WORD}{{20}})"
    r"|hf_(?=[0-9A-Za-z]{30})|api_org_(?=[0-9A-Za-z]{30})"
    rf"|npm_(?=[0-9A-Za-z]{{36}})|pypi-(?={_WORD}{{32}})|rubygems_(?=[0-9a-f]{{48}})"
    rf"|SG\.(?={_WORD}{{16}})|eyJ(?={_WORD}{{10}})(?<!{_WORD}eyJ)|0(?<=1//0)"
)


_LONGEST_START = 64
"""With what is looked for behind it."""
_MANY = 3


def _starts_in(view: View) -> Mapping[str, Sequence[int]]:
    return view.tokens(_STARTS, _LONGEST_START)


class _Token(NamedTuple):
    """What is matched where a token may begin; see `_token`."""

    pattern: re.Pattern[str]
    check: Check | None
    is_open: bool

    def cuts(self, text: str, places: Iterable[int]) -> Sequence[tuple[int, int]]:
        """Return what is matched at rising places."""
        found: list[tuple[int, int]] = []
        pattern, check, is_open = self
        done = -1
        for place in places:
            # A start inside of an open token ends where that one ends: to look again would be quadratic.
            if place >= done:
                match = pattern.match(text, place)
                if match is not None and (check is None or check(match.group())):
                    span = match.span()
                    found.append(span)
                    if is_open:
                        done = span[1]
        return found


def _tokens(starts: tuple[str, ...], token: _Token) -> Search:
    listed = frozenset(starts)

    def search(view: View) -> Sequence[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for start, places in _starts_in(view).items():
            if start in listed:
                found += token.cuts(view.text, places)
        return found

    return search


def _hinted(starts: tuple[str, ...], token: _Token) -> Search:
    """Do what `_tokens` does, without looking for runs that tokens of other rules may stand in, too."""
    # One search for each is quicker than one for all; the letters that many begin with let the standard library
    # skip to these.
    by_letter = {
        letter: list(alike) for letter, alike in itertools.groupby(sorted(starts), key=lambda start: start[0])
    }
    literals = tuple(start for alike in by_letter.values() if len(alike) < _MANY for start in alike)
    groups = tuple(
        re.compile("|".join(map(re.escape, alike))) for alike in by_letter.values() if len(alike) >= _MANY
    )

    search_many = _tokens(starts, token)

    def search(view: View) -> Sequence[tuple[int, int]]:
        text, first, end = view.text, view.start, view.end
        found: list[tuple[int, int]] = []
        for literal in literals:
            if text.rfind(literal, first, end) >= 0:
                places = view.places_of(literal)
                if len(places) > MANY:
                    return list(search_many(view))
                found += token.cuts(text, places)
        for group in groups:
            matches = view.matches(group, _LONGEST_START)
            if len(matches) > MANY:
                return list(search_many(view))
            if matches:
                found += token.cuts(text, [match.start() for match in matches])
        return found

    return search


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
    bodies: tuple[tuple[str, str], ...] = (),
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
        is_open: Whether it has no longest length; one that begins inside of another then ends with that one.
        is_in_parts: Whether one that begins inside of another may end behind it.
        held: What a stream holds back, where the literals and such characters do not say it.
        bodies: How such a token goes on, where that is not said by these characters; see `PackRule`.
        check: Tells whether it is one.
    """
    prefix = "|".join(map(re.escape, starts))
    token = _Token(re.compile(pattern), check, is_open and not is_in_parts)
    return PackRule(
        id=rule_id,
        title=title,
        source=source,
        pattern=pattern,
        replacement=f"[REDACTED:{rule_id}]",
        search=_tokens(starts, token),
        gate=StartGate(_starts_in, frozenset(starts)),
        hint=prefix,
        held=held or f"(?:{prefix}){tail}{{8,}}",
        bodies=(bodies or (("", f"{tail}*"),)) if is_open else (),
        looks=(Look(prefix, _hinted(starts, token)),),
    )


_WEBHOOK = re.compile(
    r"https://hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[0-9A-Za-z_/+-]{16,}"
)
_AWS_SECRET = re.compile(
    r"secret(?:[_ -]?access[_ -]?key|(?:(?<=aws[_ -]secret)|(?<=awssecret))(?:[_ -]?key)?)"
    r"[\"'\]]{0,2}[ \t]{0,4}(?:[:=]|=>|is)[ \t]{0,4}[\"']?"
    r"(?P<cut>[0-9A-Za-z/+]{40})(?![0-9A-Za-z/+=])",
    ANY_CASE,
)

# One of these tokens may begin inside of another, and must end where that one does: so what a token may begin with goes
# on one as well.
_SLACK_INSIDE = r"(?:(?<=-xoxe)\.xox[bp]-[0-9A-Za-z-]{10,})*"
_WEB_PARTS = rf"(?:\.{_WORD}+|\.\.{_WORD}{{8,}})*"
"""An empty part stands for a key, where none is sent."""

_REFRESH = re.compile(r"(?<![0-9A-Za-z/:.-])1//0[0-9A-Za-z_-]{30,256}(?![0-9A-Za-z_/-])")


def _refresh_tokens(view: View) -> Sequence[tuple[int, int]]:
    places = [place - len("1//") for place in _starts_in(view).get("0", ())]
    return cuts_at(view.text, _REFRESH, places, is_mixed)


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
        gate=holds_word("secret"),
        hint=r"(?i:secret[_ -]?access[_ -]?key|aws[_ -]?secret)",
        held=held_name(("secret", "secret access key", "secretaccesskey", "aws secret key", "aws secret")),
    ),
    _token(
        "github_token",
        "GitHub tokens",
        "GitHub, token formats",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        rf"{_FREE}(?:gh[pousr]_[0-9A-Za-z]{{36,}}|github_pat_[0-9A-Za-z_]{{40,}})",
        bodies=(("github_pat_", "[0-9A-Za-z_]*"), ("", "[0-9A-Za-z]*")),
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
        bodies=(("", r"(?:[0-9A-Za-z_.-]*[0-9A-Za-z_-])?"),),
    ),
    _token(
        "slack_token",
        "Slack tokens",
        "Slack, token types",
        ("xoxb", "xoxc", "xoxd", "xoxp", "xoxa", "xoxe", "xoxo", "xoxr", "xoxs", "xapp-"),
        rf"{_FREE}(?:xox[abcdeoprs]-|xoxe\.xox[bp]-|xapp-[0-9]-)[0-9A-Za-z-]{{10,}}{_SLACK_INSIDE}",
        tail=r"[0-9A-Za-z.\-]",
        bodies=(("", f"[0-9A-Za-z-]*{_SLACK_INSIDE}"),),
    ),
    PackRule(
        id="slack_webhook",
        title="Slack webhook addresses",
        source="Slack, incoming webhooks",
        pattern=_WEBHOOK.pattern,
        replacement="[REDACTED:slack_webhook]",
        search=literals(("https://hooks.slack",), _WEBHOOK),
        gate=WithinGate(holds_dots, holds("hooks.slack")),
        hint=r"https://hooks\.slack",
        held=r"https://hooks\.slack[0-9A-Za-z_/+.\-]*",
        bodies=(("", r"[0-9A-Za-z_/+-]*"),),
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
        rf"{_FREE}(?:sk-[0-9A-Za-z]{{20,}}|sk-(?:proj|svcacct|admin|or-v1|lf|[a-z]{{2,8}})-(?=[A-Za-z_-]{{0,40}}+[0-9])[0-9A-Za-z_-]{{20,}})",
        bodies=(("sk-[0-9A-Za-z]{20}", "[0-9A-Za-z]*"), ("", r"[0-9A-Za-z_\-]*")),
    ),
    _token(
        "google_key",
        "Google API keys and OAuth secrets",
        "Google Cloud, API keys",
        ("AIza", "GOCSPX-", "ya29."),
        rf"{_FREE_OF_DASHES}(?:AIza[0-9A-Za-z_-]{{35}}|GOCSPX-[0-9A-Za-z_-]{{24,}}|ya29\.[0-9A-Za-z_-]{{20,}})",
        tail=r"[0-9A-Za-z_.\-]",
        check=None,
        bodies=(("", "[0-9A-Za-z_-]*"),),
    ),
    PackRule(
        id="google_refresh_token",
        title="Google OAuth refresh tokens",
        source="Google, Using OAuth 2.0",
        pattern=_REFRESH.pattern,
        replacement="[REDACTED:google_refresh_token]",
        search=_refresh_tokens,
        gate=StartGate(_starts_in, frozenset("0")),
        hint="1//0",
        held=r"1//0[0-9A-Za-z_\-]+",
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
        bodies=(("npm_", "[0-9A-Za-z]*"), ("pypi-", "[0-9A-Za-z_-]*"), ("", "[0-9a-f]*")),
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
        bodies=(("", "[0-9A-Za-z_-]*"),),
    ),
    _token(
        "jwt",
        "JSON web tokens",
        "RFC 7519",
        ("eyJ",),
        # A part of so many characters is known for one without what follows: a stream does not hold more. Behind a head
        # that is longer, as one with certificates is, what is signed and the signature go.
        rf"{_FREE_OF_DASHES}(?:eyJ{_WORD}{{10,1000}}\.(?:eyJ{_WORD}{{4,}}|{_WORD}{{512,}}|{_WORD}*\.{_WORD}{{8,}})"
        rf"|(?<={_WORD}\.)eyJ(?:{_WORD}{{512,}}|{_WORD}{{10,}}\.{_WORD}{{43,}})){_WEB_PARTS}",
        bodies=(("", f"{_WORD}*{_WEB_PARTS}"),),
        held=r"eyJ[0-9A-Za-z_\-]{10,}[0-9A-Za-z_.\-]*",
        check=None,
    ),
)
