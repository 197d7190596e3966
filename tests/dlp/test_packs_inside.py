"""Values inside of long values of others: both backends cut the same, and streams what the whole text is cut to."""

from __future__ import annotations

import random

import pytest

from tests.dlp.contexts import BACKENDS, inspect
from tramapy.dlp import RuleBasedDlpInterceptor
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


@pytest.mark.parametrize("seed", range(60))
def test_backends_cut_values_inside_of_values_alike(seed: int) -> None:
    text = Values(seed).text()
    assert inspect(_QUICK, text) == inspect(_PLAIN, text)


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
        (f"kennwort: {_LONG_VALUE}kennwort:{'x9Y' * 9}!!! end", "kennwort: [REDACTED:foreign_password] end"),
    ],
    ids=[
        "cookies",
        "a cookie in what is none",
        "a mark",
        "a mark behind a long one",
        "a key's mark",
        "another language",
    ],
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_what_begins_inside_of_a_long_value_is_cut_to_its_own_end(
    text: str, expected: str, backend: Backend
) -> None:
    interceptor = RuleBasedDlpInterceptor.with_default_rules(backend=backend)
    assert inspect(interceptor, text).sanitized_text == expected
