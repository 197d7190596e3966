"""`Vault`: the values behind the placeholders of one operation, in memory alone and gone at its end."""

from __future__ import annotations

import json
import random as _random
import re
import threading
from bisect import bisect_left
from typing import Final, Self

from tramapy.dlp.json_place import JsonPlace
from tramapy.errors import ConfigurationError, DlpInspectionError
from tramapy.hooks.clock import RandomSource
from tramapy.hooks.dlp import check_rule_id
from tramapy.values import described, instance, shown

__all__ = ["RestoringText", "Vault"]

_ALPHABET: Final = "0123456789bcdfghjklmnpqrstvwxyz"
"""Without vowels, so that a nonce spells no word; 31 to the power of 7 is more than 2 to the power of 34."""
_NONCE_LENGTH: Final = 7
_DRAWN_BITS: Final = 64
_LONGEST_KIND: Final = 32
_MOST_VALUES: Final = 10_000
_LARGEST_LIMIT: Final = 1_000_000
_NO_KIND: Final = re.compile(r"[^0-9a-z]+")
_PLACEHOLDER: Final = re.compile(rf"<[0-9A-Z_]{{1,64}}_[{_ALPHABET}]{{{_NONCE_LENGTH}}}>")
_JSON_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


class Vault:
    """Makes placeholders such as `<EMAIL_1_k3f9x2b>` for values, and puts the values back.

    The kind is the rule's id, the number counts its distinct values, and the rest is the vault's own: text that
    names a placeholder of another vault, or a number that was never given, is left as it is. `repr` shows a
    count; a copy or a pickle is an empty vault that is wiped. Any number of threads may use one.

    Args:
        random: Where the vault's own part comes from; by default the system's randomness.
        max_value_count: How many values it takes, 1 to 1,000,000.

    Raises:
        ConfigurationError: An argument cannot work.
        TypeError: `max_value_count` is no int.
    """

    __slots__ = (
        "_begun",
        "_counts",
        "_is_wiped",
        "_lock",
        "_max_value_count",
        "_nonce",
        "_placeholders",
        "_values",
    )

    def __init__(self, *, random: RandomSource | None = None, max_value_count: int = _MOST_VALUES) -> None:
        if isinstance(max_value_count, bool) or not isinstance(max_value_count, int):
            raise TypeError(f"max_value_count takes an int, not {type(max_value_count).__name__}")
        if not 1 <= max_value_count <= _LARGEST_LIMIT:
            raise ConfigurationError(
                f"max_value_count is {shown(max_value_count)}; it must be between 1 and {_LARGEST_LIMIT}"
            )
        if random is not None and not callable(getattr(random, "getrandbits", None)):
            raise ConfigurationError(
                f"random is {described(random)}, without getrandbits; pass one like random.Random()"
            )
        self._max_value_count = max_value_count
        self._nonce = _new_nonce(_random.SystemRandom() if random is None else random)
        self._placeholders: dict[tuple[str, str], str] = {}
        self._values: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._begun: list[str] | None = None
        self._is_wiped = False
        self._lock = threading.RLock()  # a dropped stream wipes it in the middle of anything

    def __len__(self) -> int:
        """Return how many values it holds."""
        return len(self._values)

    @property
    def is_wiped(self) -> bool:
        """Whether its values are gone, and it takes no more."""
        return self._is_wiped

    def protect(self, rule_id: str, value: str) -> str:
        """Return the placeholder of a value; the same value of the same rule has the same one.

        Args:
            rule_id: Names what the value is, as in `DlpRedaction`.
            value: Not empty; compared as it is written.

        Raises:
            DlpInspectionError: The vault is full or wiped.
        """
        if not isinstance(value, str):
            raise TypeError(f"Vault.protect takes a str, not {type(value).__name__}")
        if not value:
            raise ValueError("Vault.protect takes a value that is not empty")
        with self._lock:
            if self._is_wiped:
                raise DlpInspectionError(
                    "This vault was wiped at its operation's end and takes no more values; make another one"
                )
            known = self._placeholders.get((rule_id, value))
            return self._added(rule_id, value) if known is None else known

    def restore(self, text: str) -> str:
        """Return a text with the values in the place of this vault's placeholders.

        In the strings of a text that begins like JSON the values are escaped.
        """
        if not self._values or self._nonce not in text:
            return text
        stream = self.open_stream()
        return stream.feed(text) + stream.finish()

    def restore_json(self, text: str) -> str:
        """Return a JSON text with the values, escaped, in its strings; what is no JSON is returned as it is.

        All but the strings that hold a placeholder stays as it is written.
        """
        if not self._values or self._nonce not in text:
            return text
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return text
        return _JSON_STRING.sub(self._restored_string, text)

    def open_stream(self) -> RestoringText:
        """Start restoring a text that comes in pieces."""
        return RestoringText(self)

    def wipe(self) -> None:
        """Forget all values, and take no more."""
        with self._lock:
            self._is_wiped = True
            self._placeholders = {}
            self._values = {}
            self._counts = {}
            self._begun = None

    def value_of(self, placeholder: str) -> str | None:
        """Return the value of a whole placeholder; None for one that the vault did not give."""
        return self._values.get(placeholder)

    def is_begun(self, text: str) -> bool:
        """Tell whether a text is the beginning of one of its placeholders, and not all of it."""
        begun = self._begun
        if begun is None:
            with self._lock:
                begun = self._begun = sorted(self._values)
        place = bisect_left(begun, text)
        return place < len(begun) and begun[place] != text and begun[place].startswith(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.wipe()

    def __repr__(self) -> str:
        return f"Vault(<{len(self._values)} values>)"

    def __reduce__(self) -> tuple[object, ...]:
        """Give nothing to a copy or a pickle."""
        return (_wiped_vault, ())

    def _added(self, rule_id: str, value: str) -> str:
        if len(self._values) >= self._max_value_count:
            raise DlpInspectionError(
                f"The text has more than {self._max_value_count} values that need a placeholder; send less at once"
            )
        kind = _NO_KIND.sub("_", check_rule_id(rule_id)).strip("_")[:_LONGEST_KIND].upper()
        # counted by kind: two ids may be written alike once they are one
        number = self._counts[kind] = self._counts.get(kind, 0) + 1
        placeholder = f"<{kind}_{number}_{self._nonce}>"
        self._placeholders[rule_id, value] = placeholder
        self._values[placeholder] = value
        self._begun = None
        return placeholder

    def _restored_string(self, match: re.Match[str]) -> str:
        written = match.group()
        text: str = json.loads(written)
        restored = _PLACEHOLDER.sub(lambda found: self._values.get(found.group(), found.group()), text)
        return written if restored == text else json.dumps(restored, ensure_ascii=False)


class RestoringText:
    """One text as it comes: pieces with placeholders go in, pieces with values come out.

    Args:
        vault: Whose placeholders are restored.
    """

    __slots__ = ("_held", "_json", "_vault")

    def __init__(self, vault: Vault) -> None:
        instance("RestoringText: vault", vault, Vault, "write vault.open_stream()")
        self._vault = vault
        self._held = ""
        self._json = JsonPlace()

    def feed(self, text: str) -> str:
        """Take the next piece; what may be the beginning of a placeholder waits for the rest of it."""
        if self._held:
            text = self._held + text
            self._held = ""
        start = text.rfind("<")
        if start >= 0 and self._vault.is_begun(text[start:]):
            self._held = text[start:]
            text = text[:start]
        return self._restored(text)

    def finish(self) -> str:
        """Return what still waits: the beginning of a placeholder is none."""
        held, self._held = self._held, ""
        return held

    def _restored(self, text: str) -> str:
        pieces: list[str] = []
        done = 0
        for match in _PLACEHOLDER.finditer(text):
            value = self._vault.value_of(match.group())
            if value is not None:
                kept = text[done : match.start()]
                self._json.read(kept)
                pieces += (kept, self._json.escaped(value))
                self._json.read(match.group())
                done = match.end()
        rest = text[done:]
        self._json.read(rest)
        return "".join((*pieces, rest))


def _new_nonce(random: RandomSource) -> str:
    bits: object = random.getrandbits(_DRAWN_BITS)
    if not isinstance(bits, int) or bits < 0:
        raise ConfigurationError(
            "random.getrandbits returned no whole number from 0; pass one like random.Random()"
        )
    characters: list[str] = []
    for _ in range(_NONCE_LENGTH):
        bits, place = divmod(bits, len(_ALPHABET))
        characters.append(_ALPHABET[place])
    return "".join(characters)


def _wiped_vault() -> Vault:
    vault = Vault()
    vault.wipe()
    return vault
