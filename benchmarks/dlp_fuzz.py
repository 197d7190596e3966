"""Fuzz the rule packs: backends, folding, streams, JSON, and redacting twice.

Run: `python -m benchmarks.dlp_fuzz [minutes] [seed]`; 10 minutes unless told. A failure is printed cut down to the
fewest fragments that still fail.
"""

from __future__ import annotations

import json
import random
import re
import sys
import time
from collections.abc import Callable, Sequence

from benchmarks.dlp_rules import CONTEXT
from benchmarks.dlp_texts import HOSTILE, PLANTED, clean
from tramapy.dlp import RuleBasedDlpInterceptor
from tramapy.dlp.finders import load_re2
from tramapy.dlp.folding import FoldedPieces, fold
from tramapy.dlp.pack_rule import PackRule
from tramapy.dlp.packs import ALL
from tramapy.dlp.view import View
from tramapy.errors import DlpInspectionError
from tramapy.hooks.dlp import DlpResult

__all__ = ["Fuzzer", "Mixture"]

_MARKERS = tuple(f"[REDACTED:{rule.id}]" for pack in ALL for rule in pack.rules)
_NAMES = (
    "ITIN 912701234",
    "tax id ",
    "password",
    "passwd: ",
    "pwd=",
    "PGPASSWORD=",
    "api_key",
    "api-key: ",
    'apiKey": "',
    "client_secret=",
    "token: ",
    "secret is ",
    "secret_access_key = ",
    "Bearer ",
    "bearer: ",
    "Basic ",
    "basic dXNlcjpodW50ZXIyMjI=",
    "ssn ",
    "SSN: ",
    "tel. ",
    "phone: ",
    "version ",
    "?key=",
    "&token=",
    "?api_key=",
    "&sig=",
    "credential: ",
    "<password>",
    "</password>",
    '<entry key="token">',
    "| password | ",
    "password\t",
    " --password ",
    "--api-key ",
    "password:\n  ",
    "password: |\n",
    "name: DB_PASSWORD\n  value: ",
    "PASSWORD '",
    "machine h login ann password ",
    "curl -u ann:",
    "mysql -p",
    "docker login -p ",
    "IDENTIFIED BY '",
    "Cookie: sid=",
    "; sid=",
    "Set-Cookie: session=",
    '"auth": "',
    "MAC ",
    "\nuser,password\n",
    "\nid;userPassword;Secret access key\n1;",
    "\napi_key\tname\n",
    "\n| a | password |\n|---|---|\n| 1 | ",
    "\nuser|pwd\nann|",
    "kennwort: ",
    "\u5bc6\u94a5\uff1a",
    "\u043a\u043b\u044e\u0447 API ",
    "clave de api: ",
    "requirepass ",
    "localhost:5432:shop:ann:",
    '"Password:", "value": "',
    '["--password", "',
)
_BITS = (
    "a",
    "Z",
    "0",
    "7",
    "42",
    "123",
    "1234",
    "12345678",
    "123456789",
    "AB12",
    "0044 20 ",
    "0011.22aa.",
    " x123",
    " ext. 12",
    " - ",
    "\n+",
    "\n@@ -1 +1 @@\n",
    "x9",
    "deadbeef",
    " ",
    "  ",
    "\n",
    "\r\n",
    "\t",
    "-",
    "--",
    ".",
    "..",
    ",",
    ":",
    "::",
    ";",
    "=",
    "==",
    "/",
    "//",
    "://",
    "@",
    "#",
    "?",
    "&",
    "%",
    "+",
    "_",
    "~",
    "|",
    "!",
    "'",
    '"',
    "`",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "\\",
    "\\n",
    "\\\\n",
    '\\"',
    "\\u0040",
    "\\u00",
    "\\\\u0030",
    "\\ud83d\\ude00",
    "\\ud83d",
    "\\u200b",
    "%40",
    "%3A",
    "%2",
    "%",
    "\u200b",
    "\u00ad",
    "\ufeff",
    "\u2011",
    "\u2013",
    "\u2212",
    "\u00a0",
    "\u3000",
    "\u2028",
    "\uff11",
    "\u0661",
    "\u0966",
    "\uff20",
    "\uff0e",
    "\uff0d",
    "\u00e9",
    "\u00df",
    "\u0130",
    "\u212a",
    "\u017f",
    "\u5bc6\u7801",
    "\u0645",
    "\U0001f600",
    "\U0001d7d9",
    "\ud800",
    "\udc00",
    "e\u0301",
    "\x00",
    "\x7f",
    "\x85",
    "\x1c",
)
_STARTS = (
    "sk-",
    "sk-ant-",
    "sk-proj-",
    "ghp_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xapp-1-",
    "sk_live_",
    "whsec_",
    "AKIA",
    "ASIA",
    "AIza",
    "GOCSPX-",
    "ya29.",
    "hf_",
    "api_org_",
    "npm_",
    "pypi-",
    "rubygems_",
    "SG.",
    "eyJ",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----\n",
    "-----BEGIN RSA PRIVATE KEY-----\\n",
    "-----END PRIVATE KEY-----",
    "---- BEGIN SSH2 PRIVATE KEY ----\n",
    "Private-Lines: 3\n",
    "1//0",
    "https://hooks.slack.com/services/",
    "postgres://ann:",
)
_TOKEN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_LOOK_ALIKE = (
    lambda character: chr(ord(character) - ord("!") + 0xFF01) if "!" <= character <= "~" else character,
    lambda character: chr(0x660 + int(character)) if character in "0123456789" else character,
    lambda character: "\u2013" if character == "-" else character,
    lambda character: "\u00a0" if character == " " else character,
    lambda character: character + "\u200b",
    lambda character: f"\\u{ord(character):04x}" if ord(character) < 0x10000 else character,
    lambda character: f"\\\\u{ord(character):04X}" if ord(character) < 0x10000 else character,
    lambda character: f"%{ord(character):02x}" if character in "@ +-:=" else character,
)


class Mixture:
    """Makes texts of fragments, seeded.

    Args:
        source: The randomness.
        cases: Texts in which something is to be found, or that look as if.
        longest: How long the longest fragment may be.
    """

    def __init__(self, source: random.Random, cases: Sequence[str] = (), longest: int = 20_000) -> None:
        self.source = source
        self._longest = longest
        self._cases = (*PLANTED, *cases)
        self._prose = clean(20_000)

    def fragments(self) -> list[str]:
        """Return the fragments of the next text."""
        return [self._fragment() for _ in range(self.source.randint(1, 12))]

    def document(self) -> object:
        """Return the next value for JSON."""
        value = self._value(0)
        return value if isinstance(value, dict | list) else [value]

    def splits(self, text: str) -> list[str]:
        """Cut a text in pieces."""
        kind = self.source.randrange(4)
        count = min(len(text), (1, 3, len(text) // 4, len(text))[kind])
        places = sorted(self.source.sample(range(len(text) + 1), min(count, 2_000)))
        starts = [0, *places]
        return [text[start:end] for start, end in zip(starts, [*places, len(text)], strict=True)]

    def _value(self, depth: int) -> object:
        source = self.source
        kind = source.randrange(8 if depth < 4 else 5)
        if kind == 0:
            return source.choice(
                [None, True, False, 0, 1.5, 4111111111111111, 1700000000004, -3, 123456789, 78051120]
            )
        if kind < 5:
            return "".join(self._fragment(short=True) for _ in range(source.randint(0, 3)))
        if kind < 6:
            return [self._value(depth + 1) for _ in range(source.randint(0, 4))]
        return {
            source.choice(("password", "token", "ssn", "id", "card", self._fragment(short=True)))
            + str(number): self._value(depth + 1)
            for number in range(source.randint(0, 4))
        }

    def _fragment(self, *, short: bool = False) -> str:
        source = self.source
        kind = source.randrange(20)
        if kind == 19:
            return self._token(20) if short or source.random() < 0.7 else self._long()
        if kind < 6:
            return self._changed(source.choice(self._cases))
        if kind < 9:
            return source.choice(_BITS)
        if kind < 11:
            return source.choice(_NAMES)
        if kind < 13:
            return source.choice(_STARTS) + self._token(source.choice((0, 4, 20, 40, 60)))
        if kind < 14:
            return source.choice(_MARKERS)
        if kind < 16:
            start = source.randrange(len(self._prose) - 200)
            return self._prose[start : start + source.randint(1, 200)]
        return "".join(source.choices(_BITS, k=source.randint(2, 8)))

    def _token(self, length: int) -> str:
        return "".join(self.source.choices(_TOKEN, k=length))

    def _long(self) -> str:
        """Return something long: a token, a PEM body, a table of digits, base64, a hostile shape."""
        source = self.source
        kind = source.randrange(7)
        length = min(source.choice((300, 1_500, 3_000, source.randint(5_000, 20_000))), self._longest)
        if kind == 0:
            return source.choice(_STARTS) + self._token(length)
        if kind == 1:
            lines = "\n".join(self._token(64) for _ in range(length // 65))
            return f"-----BEGIN PRIVATE KEY-----\n{lines}\n" + source.choice(
                ("", "-----END PRIVATE KEY-----", "abc\n-----END PRIVATE KEY-----\n")
            )
        if kind == 2:
            return "\n".join(
                " ".join(str(source.randrange(10**4)) for _ in range(8)) for _ in range(length // 40)
            )
        if kind == 3:
            return "".join(source.choices(_TOKEN + "+/", k=length)) + source.choice(("", "=", "=="))
        if kind == 4:
            return source.choice(_NAMES) + self._token(length)
        if kind == 5:
            start = source.randrange(len(self._prose) // 2)
            return self._prose[start : start + length]
        piece = source.choice(list(HOSTILE.values()))
        return piece * (min(length, 2_000) // len(piece) + 1)

    def _changed(self, text: str) -> str:
        source = self.source
        kind = source.randrange(8)
        if kind == 0:
            change = source.choice(_LOOK_ALIKE)
            return "".join(change(character) if source.random() < 0.4 else character for character in text)
        if kind == 1:
            return json.dumps(text)[1:-1]
        if kind == 2 and text:
            place = source.randrange(len(text))
            return text[:place] + source.choice(_BITS) + text[place:]
        if kind == 3 and text:
            place = source.randrange(len(text))
            return text[:place] + text[place + 1 :]
        if kind == 4:
            return text[: source.randint(0, len(text))]
        if kind == 5:
            return text[source.randint(0, len(text)) :]
        return text


class Fuzzer:
    """Checks what must hold for every text.

    Args:
        seed: For the randomness.
        cases: See `Mixture`.
        longest: See `Mixture`.
    """

    def __init__(self, seed: int, cases: Sequence[str] = (), longest: int = 20_000) -> None:
        self.text_count = 0
        self._mixture = Mixture(random.Random(seed), cases, longest)
        self._plain = RuleBasedDlpInterceptor.with_default_rules(backend="stdlib")
        self._quick = (
            None if load_re2() is None else RuleBasedDlpInterceptor.with_default_rules(backend="re2")
        )

    def step(self) -> str | None:
        """Check the next text; return what failed, with the text cut down, or None."""
        self.text_count += 1
        fragments = self._mixture.fragments()
        text = "".join(fragments)
        if self._mixture.source.random() < 0.2:
            document = json.dumps(self._mixture.document(), ensure_ascii=self._mixture.source.random() < 0.5)
            failed = self._check_json(document) or self.check(document)
            return failed and f"{failed}: {document!r}"
        failed = self.check(text)
        if failed is None:
            return None
        shortest = _cut_down(fragments, lambda listed: self.check("".join(listed)) == failed)
        return f"{failed}: {''.join(shortest)!r}"

    def check(self, text: str) -> str | None:
        """Return what does not hold for a text."""
        try:
            return self._check(text)
        except DlpInspectionError:
            return "a text cannot be inspected"

    def _check(self, text: str) -> str | None:
        whole = self._plain.inspect(CONTEXT, text)
        if self._quick is not None:
            quick = self._quick.inspect(CONTEXT, text)
            if (quick.sanitized_text, quick.redactions) != (whole.sanitized_text, whole.redactions):
                return "the backends differ"
        pieces = self._mixture.splits(text)
        return (
            self._check_fold(text, pieces)
            or _check_claims(text)
            or self._check_stream(text, pieces, whole.sanitized_text, whole.redactions)
            or self._check_twice(whole)
        )

    def _check_fold(self, text: str, pieces: Sequence[str]) -> str | None:
        folded = fold(text)
        folder = FoldedPieces()
        parts = [*map(folder.feed, pieces), folder.finish()]
        if "".join(original for original, _ in parts) != text:
            return "folding in pieces loses text"
        if "".join(part.text for _, part in parts) != folded.text:
            return "folding in pieces differs"
        last = 0
        for place in range(len(folded.text)):
            start, end = folded.original(place, place + 1)
            if not last <= start < end <= len(text):
                return "folding has a place that is none"
            last = start
        return None

    def _check_stream(
        self, text: str, pieces: Sequence[str], sanitized: str, redactions: object
    ) -> str | None:
        for interceptor in (self._plain, self._quick):
            if interceptor is None:
                continue
            stream = interceptor.open_stream(CONTEXT)
            released = "".join([stream.feed(piece) for piece in pieces]) + stream.finish()
            if released != sanitized:
                return "the stream differs"
            if stream.redactions != redactions:
                return "the stream counts otherwise"
        return None

    def _check_twice(self, whole: DlpResult) -> str | None:
        sanitized = whole.sanitized_text
        # Text that was glued to a match has a boundary now that it did not have, so more may be found in it.
        if _GLUED.search(sanitized) is not None:
            return None
        twice = self._plain.inspect(CONTEXT, sanitized)
        if twice.sanitized_text == sanitized:
            return None
        # A word for a number comes nearer where something long between them goes, and lines where a block does.
        if any(redaction.rule_id in _OVER_LINES for redaction in whole.redactions) or all(
            redaction.rule_id in _BEHIND_WORDS for redaction in twice.redactions
        ):
            return None
        return "redacting twice changes more"

    def _check_json(self, document: str) -> str | None:
        sanitized = self._plain.inspect(CONTEXT, document).sanitized_text
        try:
            after = json.loads(sanitized, object_pairs_hook=_Members)
        except ValueError:
            return "JSON is none any more"
        before = json.loads(document, object_pairs_hook=_Members)
        return None if _is_alike(before, after) else "JSON has another shape"


def _check_claims(text: str) -> str | None:
    folded = fold(text)
    for rule in _pack_rules():
        for start, end in rule.search(View(folded.text, 0, len(folded.text))):
            if not 0 <= start < end <= len(folded.text):
                return f"{rule.id} cuts outside of the text"
            first, last = folded.original(start, end)
            if not 0 <= first < last <= len(text):
                return f"{rule.id} cuts outside of the original"
    return None


def _pack_rules() -> tuple[PackRule, ...]:
    return tuple(rule for pack in ALL for rule in pack.rules if isinstance(rule, PackRule))


_OVER_LINES = frozenset({"private_key"})
_BEHIND_WORDS = frozenset({"us_ssn", "us_itin", "phone", "mac", "command_password"})
_GLUED = re.compile(r"\[REDACTED:\w+\](?:[^\s\"',;)}\]]|[,;)]\w)|[^\s\"'({\[]\[REDACTED:")


class _Members(list[tuple[str, object]]):
    """The members of an object: two names that are cut by the same rule become the same name."""


def _is_alike(before: object, after: object) -> bool:
    """Tell whether a value has the shape of another: a value that was redacted is a string."""
    if isinstance(before, list):
        return (
            type(after) is type(before) and len(before) == len(after) and all(map(_is_alike, before, after))
        )
    if isinstance(before, tuple):  # a name and its value
        return isinstance(after, tuple) and all(map(_is_alike, before, after))
    if isinstance(before, str):
        return isinstance(after, str) and bool(after) == bool(before)
    return isinstance(after, str) or (type(before) is type(after) and before == after)


def _cut_down(fragments: list[str], fails: Callable[[list[str]], bool]) -> list[str]:
    """Leave out what a failure does not need, for some seconds."""
    ends_s = time.monotonic() + _LONGEST_CUT_S
    best = fragments
    for size in (0, 1_000, 100, 10, 1):
        text = "".join(best)
        if size:
            best = [text[start : start + size] for start in range(0, len(text), size)]
        place = 0
        while place < len(best) and time.monotonic() < ends_s:
            fewer = best[:place] + best[place + 1 :]
            # the splits are random, so a failure of a stream may take a few tries
            if fewer and any(fails(fewer) for _ in range(_TRIES)):
                best = fewer
            else:
                place += 1
    return best


_LONGEST_CUT_S = 15.0
_TRIES = 6


def main() -> None:
    """Fuzz for some minutes; the exit status is 1 where something failed."""
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(10**9)
    print(f"fuzzing for {minutes:g} minutes, seed {seed}", flush=True)
    fuzzer = Fuzzer(seed)
    ends_s = time.monotonic() + 60 * minutes
    failures = 0
    while time.monotonic() < ends_s and failures < 20:
        failed = fuzzer.step()
        if failed is not None:
            failures += 1
            print(f"text {fuzzer.text_count}: {failed}", flush=True)
    print(f"{fuzzer.text_count} texts, {failures} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
