"""Tell a number from one that only looks like it, and a secret from a placeholder: checksums and value tests."""

from __future__ import annotations

import base64
import binascii
import re
import string

__all__ = [
    "IBAN_LENGTHS",
    "SHORTEST_PASSWORD",
    "SHORTEST_SECRET",
    "is_basic_credential",
    "is_card",
    "is_iban",
    "is_itin",
    "is_mixed",
    "is_password",
    "is_placeholder",
    "is_secret",
    "is_ssn",
    "is_token",
]

_SHORT_VALUE = 6
SHORTEST_PASSWORD = 4
SHORTEST_SECRET = 8
_HEAD_LENGTH = 256
"""A value is judged by its head, so that a stream need not wait for the end of a long one."""

_ALNUM = frozenset(string.ascii_letters + string.digits)
_THREE_KINDS = re.compile(
    r"[^0-9A-Za-z]*+([0-9A-Za-z])(?:[^0-9A-Za-z]|\1)*+([0-9A-Za-z])(?:[^0-9A-Za-z]|\1|\2)*+[0-9A-Za-z]"
)
"""Three letters or digits that differ; up to ten times as quick as a set of them."""
_NOT_ALNUM = re.compile(r"[^0-9A-Za-z]+")

# First digits and lengths. Source: ISO/IEC 7812 ranges as the card networks publish them; those of Elo, Verve, Troy
# and Dankort that lie in no other's range as Braintree's credit-card-type and Shopify's ActiveMerchant list them.
_ISSUERS = (
    (re.compile(r"4"), {13, 16, 19}),
    (re.compile(r"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720"), {16}),
    (re.compile(r"3[47]"), {15}),
    (re.compile(r"30[0-5]|3095|3[689]"), {14, 16, 17, 18, 19}),
    (re.compile(r"6011|64[4-9]|65"), {16, 17, 18, 19}),
    (re.compile(r"35(?:2[89]|[3-8])"), {16, 17, 18, 19}),
    (re.compile(r"62|81"), {16, 17, 18, 19}),
    (re.compile(r"5018|5020|5038|5893|6304|6759|676[1-3]"), {13, 14, 15, 16, 17, 18, 19}),
    (re.compile(r"220[0-4]"), {16, 17, 18, 19}),
    (re.compile(r"60|508|82"), {16}),
    (re.compile(r"504175|506699|5067[0-6]|50677[0-8]|509|636297|636368|636369"), {16}),
    (re.compile(r"506099|5061[0-8]|50619[0-8]|50786[5-9]|5078[7-9]|5079[0-5]|50796[0-4]"), {16, 18, 19}),
    (re.compile(r"9792[0-8]"), {16}),
    (re.compile(r"5019"), {16}),
)
_ISSUERS_BY_DIGIT = {
    digit: tuple(issuer for issuer in _ISSUERS if re.match(rf"{digit}|\(|.*\|{digit}", issuer[0].pattern))
    for digit in "2345689"
}
_DOUBLED = bytes.maketrans(b"0123456789", b"0246813579")
_NOUGHT = ord("0")

# Length by country. Source: SWIFT, IBAN Registry (ISO 13616).
IBAN_LENGTHS = {
    country: length
    for length, countries in {
        15: "NO",
        16: "BE",
        18: "DK FI FO GL NL SD FK",
        19: "MK SI",
        20: "AT BA EE KZ LT LU MN XK",
        21: "CH HR LI LV",
        22: "BG BH CR DE GB GE IE ME RS VA",
        23: "AE GI IL IQ OM SO TL",
        24: "AD CZ ES MD PK RO SA SE SK TN VG DZ",
        25: "LY PT ST",
        26: "IS TR",
        27: "BI DJ FR GR IT MC MR SM",
        28: "AL AZ BY CY DO GT HN HU LB NI PL SV",
        29: "BR EG PS QA UA",
        30: "JO KW MU YE",
        31: "MT SC",
        32: "LC",
        33: "RU",
    }.items()
    for country in countries.split()
}
_BETWEEN_GROUPS = "- .\n"
_ITIN_GROUPS = frozenset((*range(50, 66), *range(70, 89), *range(90, 93), *range(94, 100)))
_IBAN_VALUES = {character: str(int(character, 36)) for character in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def is_card(digits: str) -> bool:
    """Tell whether digits are a card number: issuer, length and checksum (Luhn, US patent 2,950,048)."""
    length = len(digits)
    encoded = digits.encode("ascii", "replace")
    total = sum(encoded[-1::-2]) + sum(encoded[-2::-2].translate(_DOUBLED))
    if (total - length * _NOUGHT) % 10:
        return False
    for first, lengths in _ISSUERS_BY_DIGIT.get(digits[:1], ()):
        if length in lengths and first.match(digits):
            return digits.strip(digits[0]) != ""
    return False


def is_iban(text: str) -> bool:
    """Tell whether text without blanks, in capitals, is an IBAN: country, length and remainder (ISO 7064, 97)."""
    if IBAN_LENGTHS.get(text[:2]) != len(text):
        return False
    return int("".join(map(_IBAN_VALUES.__getitem__, text[4:] + text[:4]))) % 97 == 1


def is_ssn(text: str) -> bool:
    """Tell whether nine digits can be a US social security number (SSA: no area 000, 666, 9xx; no zero groups)."""
    area = text[:3]
    return (
        area not in ("000", "666")
        and area < "900"
        and text[3:-4].strip(_BETWEEN_GROUPS) != "00"
        and not text.endswith("0000")
    )


def is_itin(text: str) -> bool:
    """Tell whether nine digits can be a US taxpayer number (IRS: 9xx, groups 50-65, 70-88, 90-92, 94-99)."""
    return text[0] == "9" and int(text[3:-4].strip(_BETWEEN_GROUPS)) in _ITIN_GROUPS


_TEMPLATE_MARKS = frozenset("<[{$%*#.xX")
_TEMPLATE = re.compile(
    r"[<\[{]|\$(?:[({]|[A-Za-z_]\w*(?:\W?\Z|->?|::?[A-Za-z]|\.\w|/))|%(?:[({]|[sSdD]\b|\w*%)|\*(?:\*|\w*\Z)|#[{(]"
    r"|\.\.\.|[xX]{3}"
)
_TEMPLATE_BEGINNINGS = frozenset(
    (
        "yo",
        "my",
        "th",
        "so",
        "in",
        "en",
        "pu",
        "re",
        "ch",
        "du",
        "sa",
        "pl",
        *(f"a{second}" for second in "naskpwhmtio_- "),
    )
)
"""Of the words below; to ask for these first takes a fifth of the time."""
_TEMPLATE_WORDS = re.compile(
    r"(?:your|my|the|some|an?|insert|enter|put|replace|change|dummy|sample|placeholder|redacted)[-_ ]?"
    r"(?:own[-_ ]?)?(?:api|secret|token|key|pass|pwd|access|here|me\b|this|it\b)",
    re.IGNORECASE,
)
_WORDS_FOR_NOTHING = (
    "none null nil true false undefined required optional string str int bool bytes object any text password passwd "
    "pwd passphrase secret token key apikey api_key bearer basic yes no on off na n/a unset empty missing invalid "
    "redacted hidden masked"
)
_NO_VALUES = frozenset(_WORDS_FOR_NOTHING.split())
_LONGEST_NO_VALUE = max(map(len, _NO_VALUES))
_REFERENCE = re.compile(
    r"(?:os|process|env|ENV|self|this|config|settings|secrets?|vault|var|vars|data|args|opts|options|request|req|ctx|System)\b"
    r"[.\[(:]|[A-Za-z_][\w.]*\(|[A-Za-z_]\w*\[|\w+(?:\.\w+)+\Z(?<=[A-Za-z_])|&\w+\Z|/(?:[a-z._-]+/)+[a-z0-9._-]*\Z"
)
_NUMBER = re.compile(r"[\d.,_:/-]+\Z")
_WORDS = re.compile(r"[A-Za-z]+(?:[-_ .'/][A-Za-z]+)*[.!?]*\Z")


def is_placeholder(value: str) -> bool:
    """Tell whether a value only stands for one: a template, a word for nothing, one character repeated."""
    if len(value) <= _LONGEST_NO_VALUE and value.lower() in _NO_VALUES:
        return True
    if value[:1] in _TEMPLATE_MARKS and _TEMPLATE.match(value):
        return True
    if value[:2].lower() in _TEMPLATE_BEGINNINGS and _TEMPLATE_WORDS.match(value):
        return True
    if _THREE_KINDS.match(value, 0, _HEAD_LENGTH):  # by far the most
        return False
    head = value[:_HEAD_LENGTH]
    kind_count = len(_ALNUM.intersection(head))
    return kind_count < 2 or (kind_count == 2 and len(_NOT_ALNUM.sub("", head)) > _SHORT_VALUE)


def is_token(token: str) -> bool:
    """Tell whether a token with a known prefix is more than a placeholder of one repeated character."""
    start = token.find("-" if "-" in token[:8] else "_") + 1
    return _THREE_KINDS.match(token, start, start + _HEAD_LENGTH) is not None


def is_mixed(value: str) -> bool:
    """Tell whether a value has digits among its letters, or mixes cases as no name does."""
    head = value[:_HEAD_LENGTH]
    if _DIGIT.search(head):
        return _LETTER.search(head) is not None
    return len(head) >= _SHORTEST_SCRAMBLED and _is_scrambled(head)


def _is_scrambled(value: str) -> bool:
    """Tell letters of a key from those of a name such as `getUserTokenFromHeader`."""
    cases = value.encode("latin-1", "replace").translate(_CASES)
    turns = cases.count(b"aA")
    doubles = cases.count(b"A") - turns - cases.count(b"xA") - cases.startswith(b"A")
    return turns >= _FEWEST_TURNS and doubles >= _FEWEST_DOUBLES


_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_CASES = bytes(
    ord("A" if chr(byte).isupper() else "a" if chr(byte).islower() else "x") for byte in range(256)
)
_FEWEST_TURNS = 3
_FEWEST_DOUBLES = 2
_SHORTEST_SCRAMBLED = 16


def is_password(value: str) -> bool:
    """Tell whether the value of a password's name is a password, not a reference or a template."""
    head = value[:_HEAD_LENGTH]
    return len(head) >= SHORTEST_PASSWORD and not _is_reference(head) and not is_placeholder(head)


def _is_reference(value: str) -> bool:
    return not value.isalnum() and _REFERENCE.match(value) is not None


def is_secret(value: str) -> bool:
    """Tell whether the value of a secret's name is a secret: long enough, and neither words nor a number."""
    head = value[:_HEAD_LENGTH]
    # The cheapest test first: in a hostile text this runs for every name.
    if len(head) < SHORTEST_SECRET or not is_mixed(head):
        return False
    return not (_is_reference(head) or _NUMBER.match(head) or is_placeholder(head))


def is_basic_credential(value: str) -> bool:
    """Tell whether base64 holds `user:password` (RFC 7617)."""
    head = value[:1024].rstrip("=")
    try:
        decoded = base64.b64decode(head + "=" * (-len(head) % 4))
    except (binascii.Error, ValueError):
        return False
    try:
        return b":" in decoded and decoded.decode().isprintable()
    except UnicodeDecodeError:
        return False
