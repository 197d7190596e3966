"""`inspect_parts` and a `PartedDlpStream` cut the same of the same parts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from tests.dlp.contexts import context_of
from tramapy import RuleBasedDlpInterceptor
from tramapy.dlp import DlpRule

WORDS = (
    *("AKIAIOSFODNN7EXAMPLE", "4111111111111111", "jo@example.com", "123-45-6789", "password: hunter2x9z"),
    *('{"password": "ab3x9z!q"}', "ssn: 123456789", "call 0301234567", "10.20.30.40", "123456789", "k1"),
    *("ssn", "card", "mac", "what", "is it", " ", "x", "\n", "-", ".", " - ", ":", "\u200b", "\uff11"),
)
CONTEXT = context_of()
OWN = DlpRule(id="k", pattern=r"\bk[0-9]\b", replacement="[K]")
SETTINGS: dict[str, dict[str, Any]] = {
    "usual": {},
    "allowed texts": {"allowed_texts": ["AKIAIOSFODNN7EXAMPLE", "jo@example.com"]},
    "allowed patterns": {"allowed_patterns": [r"[a-z]+@example\.com"]},
    "added": {"rules": [OWN], "disabled_rules": ["phone"]},
}


def random_parts(rng: random.Random) -> list[str]:
    """Return whole words in each part, or parts that are cut inside of them."""
    parts = ["".join(rng.choices(WORDS, k=rng.choice([1, 2, 4]))) for _ in range(rng.choice([2, 3, 5]))]
    text = "".join(parts)
    if rng.random() < 0.5:
        places = sorted(rng.sample(range(1, len(text)), min(len(text) - 1, rng.choice([1, 2, 3]))))
        parts = [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
    return parts if len(parts) > 1 else [*parts, "x"]


def streamed(dlp: RuleBasedDlpInterceptor, parts: Sequence[str], size: int) -> tuple[str, Any]:
    stream = dlp.open_stream(CONTEXT)
    released: list[str] = []
    for number, part in enumerate(parts):
        if number:
            stream.end_part()
        released += [stream.feed(part[start : start + size]) for start in range(0, len(part), size)]
    released.append(stream.finish())
    return "".join(released), stream.redactions


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("backend", ["stdlib", "re2"])
def test_parts_are_cut_as_in_a_stream(setting: str, backend: Any) -> None:
    dlp = RuleBasedDlpInterceptor.with_default_rules(backend=backend, **SETTINGS[setting])
    rng = random.Random(f"parts {setting}")
    for _ in range(150):
        parts = random_parts(rng)
        inspected = dlp.inspect_parts(CONTEXT, parts)
        assert inspected is not None
        whole = "".join(inspected.texts), inspected.redactions
        assert [streamed(dlp, parts, size) for size in (1, 7, 1_000)] == [whole] * 3, parts
