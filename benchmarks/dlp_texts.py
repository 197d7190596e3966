"""The texts that DLP is measured and fuzzed on: clean, dirty and hostile ones, all seeded.

Clean text is what goes through a chat: English prose, code, JSON with ids, times and UUIDs, URLs; 2.5 % digits.
Dirty text has one planted item about every 512 bytes. Every planted value is a documented test value or plainly
made up.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

__all__ = ["GATES_OPEN", "HOSTILE", "MATCHING", "PLANTED", "RE_25", "clean", "dirty", "hostile"]

_PROSE = """the order was shipped and our team will answer as soon as possible because every customer wants to know
what happens next when a delivery is late or an item is missing from the box please look at the table below and tell
us which colour size and price you would like we can change it until the evening thank you for your patience about
this question there are several ways to solve it first open the settings then choose language region and time zone
after that restart the program if nothing helps write down the steps that led to the problem and send them along with
a short description of the system model version and what you expected instead of what you saw on the screen the
weather should stay dry over the weekend with some clouds in the north and light wind from the sea most people like
walking near the river under old trees while others prefer reading a good book at home"""
_WORDS = _PROSE.split()
_NAMES = (
    "count",
    "items",
    "result",
    "value",
    "total",
    "index",
    "name",
    "price",
    "text",
    "line",
    "user",
    "path",
)
_HOSTS = ("example.com", "docs.example.org", "shop.example.net", "www.example.com")

PLANTED: Final = (
    "4111 1111 1111 1111",
    "5555555555554444",
    "3782 822463 10005",
    "GB82 WEST 1234 5698 7654 32",
    "DE89370400440532013000",
    "078-05-1120",
    "ann.smith@example.com",
    "jos\u00e9@ex\u00e4mple.org",
    "+44 20 7946 0958",
    "(555) 234-0199",
    "192.0.2.17",
    "2001:db8::8a2e:370:7334",
    "00:1b:44:11:3a:b7",
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_" + "a1B2c3" * 6,
    "glpat-" + "x9Y8z7" * 4,
    "xoxb-" + "1234567890-" * 2 + "abcdefabcdef",
    "sk_test_" + "4eC39HqLyjWD" * 2,
    "sk-ant-" + "api03-Ab1" * 5,
    "AIza" + "Sy1bC2d" * 5,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLWZha2U",
    "https://ann:hunter22x@db.example.com/x",
    "Authorization: Bearer abcdef0123456789abcdef",
    "password = hunter2hunter2",
    "-----BEGIN PRIVATE KEY-----\n"
    + "MIIBVgIBADANBgkqhkiG9w0BAQEFAASCAUA1\n" * 3
    + "-----END PRIVATE KEY-----",
)
"""One item of each kind, documented test values or plainly made up."""


def _sentence(source: random.Random) -> str:
    words = source.choices(_WORDS, k=source.randint(6, 18))
    if source.random() < 0.2:
        words.insert(source.randrange(len(words)), str(source.randint(2, 999)))
    return " ".join(words).capitalize() + source.choice(".....?!") + " "


def _code(source: random.Random) -> str:
    first, second, third = source.sample(_NAMES, 3)
    return (
        f"def {first}_{second}({third}: list[str]) -> int:\n"
        f"    {second} = 0\n"
        f"    for {first} in {third}:\n"
        f"        if {first}.strip() != '' and {second} < {source.randint(1, 500)}:\n"
        f"            {second} += len({first})\n"
        f"    return {second}\n"
    )


def _json(source: random.Random) -> str:
    first, second = source.sample(_NAMES, 2)
    return (
        f'{{"{first}": "{" ".join(source.choices(_WORDS, k=6))}", "order": {source.randint(10**6, 10**7)}, '
        f'"at": "2026-0{source.randint(1, 9)}-1{source.randint(0, 9)}T0{source.randint(0, 9)}:15:30Z", '
        f'"{second}": {source.random() * 90:.2f}, "id": "{uuid.UUID(int=source.getrandbits(128), version=4)}"}}\n'
    )


def _url(source: random.Random) -> str:
    words = source.choices(_WORDS, k=3)
    return f"See https://{source.choice(_HOSTS)}/{words[0]}/{words[1]}?page={source.randint(1, 40)}&sort={words[2]} "


_KINDS: tuple[Callable[[random.Random], str], ...] = (_sentence,) * 25 + (_code,) * 3 + (_json, _url)


def clean(length: int, seed: int = 20) -> str:
    """Return seeded text of so many characters, ASCII, in which no rule of the packs finds anything."""
    source = random.Random(seed)
    pieces: list[str] = []
    missing = length
    while missing > 0:
        pieces.append(source.choice(_KINDS)(source))
        missing -= len(pieces[-1])
    return "".join(pieces)[:length]


def dirty(length: int, seed: int = 20, *, gap: int = 512) -> str:
    """Return clean text with an item of `PLANTED` about every `gap` characters."""
    source = random.Random(seed)
    text = clean(length, seed)
    pieces: list[str] = []
    done = 0
    number = source.randrange(len(PLANTED))
    for place in range(gap // 2, length, gap):
        blank = text.find(" ", place)
        if blank < 0:
            break
        pieces += [text[done:blank], " ", PLANTED[number % len(PLANTED)], " "]
        number += 1
        done = blank + 1
    return ("".join(pieces) + text[done:])[:length]


RE_25: Final = (
    r"\b(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|3[47][0-9]{13})\b",
    r"\b[0-9]{4}[ -][0-9]{4}[ -][0-9]{4}[ -][0-9]{4}\b",
    r"\b[0-9]{3}-[0-9]{2}-[0-9]{4}\b",
    r"\b[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}\b",
    r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9.-]{1,255}\.[A-Za-z]{2,24}",
    r"\+[1-9][0-9 ()-]{6,18}[0-9]",
    r"\b[2-9][0-9]{2}[ .-][0-9]{3}[ .-][0-9]{4}\b",
    r"\b(?:[0-9]{1,3}\.){3}[0-9]{1,3}\b",
    r"\b(?:[0-9A-Fa-f]{1,4}:){2,7}[0-9A-Fa-f]{1,4}\b",
    r"\b(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\b",
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"\bgh[pousr]_[0-9A-Za-z]{36,255}\b",
    r"\bglpat-[0-9A-Za-z_-]{20,64}\b",
    r"\bxox[abeoprs]-[0-9A-Za-z-]{10,250}\b",
    r"\b[sr]k_(?:live|test)_[0-9A-Za-z]{10,99}\b",
    r"\bsk-ant-[0-9A-Za-z_-]{20,200}\b",
    r"\bsk-[0-9A-Za-z]{20,200}\b",
    r"\bAIza[0-9A-Za-z_-]{35}\b",
    r"\bnpm_[0-9A-Za-z]{36}\b",
    r"\bSG\.[0-9A-Za-z_-]{16,32}\.[0-9A-Za-z_-]{16,64}\b",
    r"\beyJ[0-9A-Za-z_-]{10,900}\.eyJ[0-9A-Za-z_-]{4,900}\.[0-9A-Za-z_-]{4,900}",
    r"-----BEGIN (?:[A-Z]{1,12} ){0,2}PRIVATE KEY-----",
    r"(?i)\bbearer[ \t]{1,4}[0-9A-Za-z._~+/-]{16,512}",
    r"://[^\s/:@]{1,64}:[^\s/@]{1,64}@",
    r"(?i)\b(?:password|passwd|pwd|secret|token|api_?key)\b[\"']?[ \t]{0,4}[:=][ \t]{0,4}[^\s\"']{4,128}",
)
"""Twenty-five plain patterns, bounded, as a program would have them: the measure beside which we stand."""

HOSTILE: Final[Mapping[str, str]] = MappingProxyType(
    {
        # shapes that hurt other products
        "one letter": "a",
        "one digit": "1",
        "dots": ".",
        "a dot": "a.",
        "a dash": "a-",
        "address without an end": "a@a.a.",
        "numbers of one digit": "1 ",
        "begin lines": "-----BEGIN PRIVATE KEY-----\n",
        "begin lines of nothing": "-----BEGIN ",
        "schemes": "http://",
        "prefixes of a web token": "eyJ",
        # email
        "ats": "@",
        "a and at": "a@",
        "a long local part": "a.+%-" * 12 + "@ ",
        "domains of one letter each": "a@" + "a." * 9 + "@",
        "user information": "//a@b.cc",
        # cards, bank accounts, social security numbers
        "groups of four": "1234 ",
        "groups of four and dots": "1234.",
        "groups of four and dashes": "1234-",
        "thirteen digits": "4" * 13 + " ",
        "a bank account that is none": "GB82",
        "a bank account in groups": "GB82 WEST 1234 5698 7654 33 ",
        "a country and digits": "gb82abcd",
        "social numbers": "000-00-0000 ",
        "a word for a social number": "ssn ",
        "nine digits after a word": "ssn 000456789 ",
        # telephones
        "pluses": "+",
        "plus and digit": "+1",
        "plus and groups": "+1 1 1 1 1 1 1 1 ",
        "brackets": "(0",
        "double noughts": " 0044 20",
        "extensions": "415-555-0132 ext ",
        "groups of four and slashes": "1234/",
        "groups of four and wide dashes": "1234 - ",
        "dotted quadruples": "aa11.",
        "quoted local parts": '"a"@',
        "blank and nought": " 0",
        "a word for a telephone": "tel 0",
        "a number that goes on": "+" + "1" * 60 + "a ",
        "groups that go on": "+1" + " 1" * 30 + "a ",
        "noughts behind a word": "tel " + "0" * 60 + "a ",
        "seven digits": "123-4567 ",
        # addresses of machines
        "octets": "1.",
        "octets of three digits": "256.",
        "colons": ":",
        "colons and digits": "1:",
        "double colons": "a::",
        "pairs of digits and colons": "aa:",
        "pairs of digits and dashes": "aa-",
        # keys with a known prefix
        "sk- alone": "sk-",
        "sk-ant- on and on": "sk-ant-",
        "sk- in short": "sk-ab-",
        "github_pat_ on and on": "github_pat_",
        "ghp_ on and on": "ghp_",
        "glpat- on and on": "glpat-",
        "glpat- and dots": "glpat-.",
        "xoxb- on and on": "xoxb-",
        "pypi- on and on": "pypi-",
        "SG. on and on": "SG.",
        "SG. with a part": "SG." + "a" * 16 + ".",
        "AKIA on and on": "AKIA",
        "hf_ on and on": "hf_",
        "npm_ on and on": "npm_",
        "AIza on and on": "AIza-",
        "ya29. on and on": "ya29.",
        "web tokens of one part": "eyJ" + "a" * 12 + ".",
        "web tokens of one long part": ".eyJ" + "a" * 1_000,
        "webhooks": "https://hooks.slack.com/services/",
        # credentials behind a name
        "bearer": "bearer ",
        "bearer and colon": "bearer:",
        "basic": "basic ",
        "basic and a value": "basic abcdefgh ",
        "passwords of passwords": "pwd=",
        "a name in capitals and an apostrophe": "PASSWORD '",
        "a name between a colon and a line's end": ":PASS\n",
        "passwords of names": "pwd_",
        "password is": "password is ",
        "secrets of secrets": "secret=",
        "tokens of tokens": "token:",
        "names of a token": "token_",
        "names of a key": "api_key_",
        "keys": "key ",
        "a quote that never ends": 'pwd="' + "a" * 260 + "'",
        "a name that goes on": "secret" + "-" * 40,
        "blanks behind a name": "secret    ",
        "elements": "<password>",
        "elements with attributes": "<password a='b' ",
        "cells": "| password ",
        "next lines": "password:\n",
        "headings": "secret,\n",
        "a word of another language": "kennwort=",
        "options": " --password x",
        "fields": "password value=",
        "ampersands in a value": "pwd=a1&b",
        "brackets in a value": "pwd=!(",
        "logins": "machine a login b password ",
        "options of curl": "curl -u a:",
        "options of mysql": "mysql -p",
        "identified by": "identified by ",
        "cookies": "cookie: sid=",
        "pairs of a cookie": "cookie: sid=a1b2c3d4; ",
        "auth": "auth=",
        "private lines": "Private-Lines: 1\n",
        # URLs
        "passwords in URLs": "://a:b",
        "an URL's user without an end": "://" + "a" * 128 + ":",
        "queries": "?key=",
        "queries with and": "&token=a",
        "question marks": "?=",
        "ands": "&=",
        "queries of letters": "&abcdefghijkl",
        # folding
        "backslashes": "\\",
        "escapes": "\\u0041",
        "escapes of halves": "\\ud83d",
        "escaped quotes": '\\"',
        "percents": "%4",
        "escaped ats": "%40",
        "zero width": "a\u200b",
        "full width": "\uff11\uff12",
        "digits of other scripts": "\u0661\u0662\u0663 ",
        "letters of other scripts": "\u5bc6\u7801",
        "capitals that grow": "\u0130",
        # structure
        "objects": '{"a":',
        "lists": "[",
        "quotes": '"',
    }
)
"""Pieces that are repeated to make a hostile text; some need a little of what opens a gate, so it is put in front."""

GATES_OPEN: Final = "@ = : is -----BEGIN hooks.slack 0.0 00 "
"""In front of a hostile text, so that no gate closes."""

MATCHING: Final[Mapping[str, str]] = MappingProxyType(
    {
        "addresses": "a@b.cc ",
        "cards": "4111111111111111 ",
        "machines": "192.0.2.1 ",
        "passwords": "pwd=x1y2 ",
        "keys": "AKIAIOSFODNN7EXAMPLE ",
        "telephones": "+442079460958 ",
    }
)
"""Nothing but matches: each costs its replacement, so these are told in microseconds a match."""


def hostile(piece: str, length: int) -> str:
    """Return a hostile text of about so many characters."""
    return GATES_OPEN + piece * (length // len(piece))
