"""Values inside of long values of others: both backends cut the same, and streams what the whole text is cut to."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.dlp.contexts import BACKENDS, inspect, split_at, streamed
from tramapy.dlp import DlpAction, RuleBasedDlpInterceptor
from tramapy.dlp.interceptor import Backend

_PLAIN, _QUICK = (RuleBasedDlpInterceptor.with_default_rules(backend=backend) for backend in BACKENDS)
_NAMES = (
    *(
        "PGPASSWORD=",
        "password: ",
        "passwort=",
        "token=",
        "api_key: ",
        "Kennwort:",
        "senha: ",
        "requirepass ",
    ),
    *(
        "Cookie: sid=",
        "cookie:y=",
        "; sid=",
        ";a=",
        "Set-Cookie: id=",
        "?token=",
        "&sig=",
        "-bearer=",
        "Bearer ",
    ),
    *(
        "auth=",
        "-glpat-",
        "pypi-",
        "-ghp_",
        "eyJ",
        ".eyJ",
        "-xoxe.xoxp-",
        "://ann:",
        "https://hooks.slack.com/services/",
    ),
)
_LENGTHS = (
    0,
    4,
    8,
    20,
    60,
    100,
    127,
    129,
    190,
    193,
    200,
    255,
    256,
    257,
    258,
    300,
    320,
    511,
    513,
    700,
    1_024,
    1_100,
    1_540,
)
_LONG = (2_000, 3_100, 5_000)
_MARKS = (
    "",
    "",
    "",
    "&yy9",
    "&a=b",
    "(z1)",
    "(z1",
    "!",
    "!!!",
    ".",
    "...",
    ",",
    " ",
    "@h.example ",
    "==",
    "/",
    "-",
    "_",
    ".x9Y9",
)
_CHARACTERS = ("aB3", "c7D-", "f0.9Z", "x9Y", "zq", "Q1_r/")


class Values:
    """Makes texts of names, values and tokens in one another, whose lengths are around every limit."""

    def __init__(self, seed: int) -> None:
        self.source = random.Random(seed)

    def text(self) -> str:
        """Return the next text."""
        source = self.source
        long_at = source.randrange(3)
        pieces = ""
        for place in range(source.randint(2, 6)):
            length = source.choice(_LONG if place == long_at else _LENGTHS)
            body = (source.choice(_CHARACTERS) * length)[:length]
            pieces += source.choice(_NAMES) + body + source.choice(_MARKS)
        return f"a {pieces} end"


@pytest.mark.parametrize("seed", range(40))
def test_values_inside_of_values_are_cut_alike(seed: int) -> None:
    made = Values(seed)
    text = made.text()
    whole = inspect(_PLAIN, text)
    assert inspect(_QUICK, text) == whole
    for interceptor in (_PLAIN, _QUICK):
        for step in (7, 50, 400):
            assert streamed(interceptor, split_at(text, range(0, len(text), step))) == whole


_LONG_VALUE = "aB3" * 1_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"Cookie: sid={_LONG_VALUE}cookie:y={'x9Y' * 20}; sid={'c7D' * 10}; x=1",
            "Cookie: sid=[REDACTED:cookie]; sid=[REDACTED:cookie]; x=1",
        ),
        (
            f"cookie: a={'a' * 3_000}cookie:sid={'x9Y' * 9} end",
            f"cookie: a={'a' * 3_000}cookie:sid=[REDACTED:cookie] end",
        ),
        (f"PGPASSWORD={_LONG_VALUE}password={'x9' * 50}&yy9 end", "PGPASSWORD=[REDACTED:password] end"),
        (f"PGPASSWORD={_LONG_VALUE}password={'x9' * 200}&yy9 end", "PGPASSWORD=[REDACTED:password]&yy9 end"),
        (f"token: {_LONG_VALUE}token={'x9Y' * 70}&yy!9 end", "token: [REDACTED:secret] end"),
        (f"pypi-{_LONG_VALUE}-glpat-{_LONG_VALUE}.{'c7D' * 10} end", "[REDACTED:package_registry_token] end"),
        (f"PGPASSWORD={_LONG_VALUE}?token={'x9Y' * 80}(zzz end", "PGPASSWORD=[REDACTED:password] end"),
        (f"PGPASSWORD={_LONG_VALUE}-xoxb-{_LONG_VALUE}/;x", "PGPASSWORD=[REDACTED:password];x"),
        (f"kennwort: {_LONG_VALUE}kennwort:{'x9Y' * 9}!!! end", "kennwort: [REDACTED:foreign_password] end"),
    ],
    ids=[
        "cookies",
        "a cookie in what is none",
        "a mark",
        "a mark behind a long one",
        "a key's mark",
        "a token in a token",
        "a key in a password",
        "a token in a password",
        "another language",
    ],
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_what_begins_inside_of_a_long_value_is_cut_to_its_own_end(
    text: str, expected: str, backend: Backend
) -> None:
    interceptor = RuleBasedDlpInterceptor.with_default_rules(backend=backend)
    assert inspect(interceptor, text).sanitized_text == expected
    for step in (1, 300, 5_000):
        assert streamed(interceptor, split_at(text, range(0, len(text), step))).sanitized_text == expected


_CHAINS = {
    "addresses": "a@b.co",
    "addresses with dots": "ann@b.com.ann@c.org.",
    "extensions": "415-555-0132 ext ",
    "a token before them": "xoxb-aB3aB3aB3aB3a@b.co",
}


@pytest.mark.parametrize("step", [7, 400])
@pytest.mark.parametrize("piece", _CHAINS.values(), ids=_CHAINS)
def test_matches_that_overlap_on_and_on_are_one_cut_of_a_stream_too(piece: str, step: int) -> None:
    text = f"so {piece * (9_000 // len(piece))} end"
    whole = inspect(_PLAIN, text)
    assert len(whole.sanitized_text) < 60
    assert streamed(_PLAIN, split_at(text, range(0, len(text), step))) == whole


@pytest.mark.parametrize(
    "settings",
    [
        {"actions": {"email": DlpAction.MASK}},
        {"actions": {"email": DlpAction.LOG}},
        {"actions": {"password": DlpAction.LOG}},
        {"allowed_patterns": ["[a-z]@b.co"]},
    ],
    ids=["masked", "logged", "logged around", "allowed"],
)
def test_matches_of_which_all_is_needed_are_held(settings: dict[str, Any]) -> None:
    interceptor = RuleBasedDlpInterceptor.with_default_rules(**settings)
    text = f"PASSWORD={'aB3' * 1_500}/{'a@b.co' * 1_500}(x end"
    assert streamed(interceptor, split_at(text, range(0, len(text), 100))) == inspect(interceptor, text)


@pytest.mark.parametrize("piece", ["PASSWORD '", "Private-Lines: 1\n"])
def test_the_replacement_of_a_short_match_is_that_of_all_of_it(piece: str) -> None:
    text = piece * (4_000 // len(piece))
    for start in range(len(piece)):
        assert streamed(_PLAIN, split_at(text[start:], range(0, 4_000, 97))) == inspect(_PLAIN, text[start:])


_UNDECIDED = "-----BEGIN X-----\n"
"""Behind it, words may belong to the block of a key."""


def test_what_a_match_is_found_by_is_kept_until_it_is_decided() -> None:
    cookies = f"Cookie: theme=dark; {'b=1; ' * 150}sid={'aB3' * 9} "
    for length in range(0, 2_000, 100):
        text = f"{_UNDECIDED}{'aa ' * (length // 3)}{cookies}{'aa ' * 1_300}"
        whole = inspect(_PLAIN, text)
        assert len(whole.redactions) == 1
        assert streamed(_PLAIN, split_at(text, range(0, len(text), 97))) == whole


def test_what_a_match_is_found_by_is_kept_while_all_of_it_is_needed() -> None:
    interceptor = RuleBasedDlpInterceptor.with_default_rules(actions={"cookie": DlpAction.MASK})
    text = f"Cookie: a1={'x9Y' * 170}; sid={'aB3' * 1_200} end"
    whole = inspect(interceptor, text)
    assert whole.redactions[0].replacement_count == 2
    assert streamed(interceptor, split_at(text, range(0, len(text), 50))) == whole
