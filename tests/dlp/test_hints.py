"""Where google-re2 says that rules need not look, there is nothing; whatever the ends of stretches cut."""

from __future__ import annotations

import random
from re import _parser as re_parser  # the one that knows how long a match can be

import pytest

from benchmarks.dlp_fuzz import Mixture
from benchmarks.dlp_texts import PLANTED, clean, dirty
from tests.dlp.contexts import default_rules, inspect
from tramapy.dlp import RuleBasedDlpInterceptor, detector, hints
from tramapy.dlp.finders import load_re2
from tramapy.dlp.hints import Hints
from tramapy.dlp.packs import ALL

RULES = [rule for pack in ALL for rule in pack.rules]
LONG = clean(3_000) + "b@c.dd " + clean(9_000) + "".join(f"{planted} " for planted in PLANTED)


@pytest.fixture(name="backends", scope="module")
def _backends() -> tuple[RuleBasedDlpInterceptor, RuleBasedDlpInterceptor]:
    pytest.importorskip("re2")
    plain, quick = (default_rules(name) for name in ("stdlib", "re2"))
    return plain, quick


def test_rules_look_near_hints_only_and_further_where_hints_are_many() -> None:
    re2 = pytest.importorskip("re2") and load_re2()
    assert re2 is not None
    made = Hints([rule.hint for rule in RULES], re2)
    (start, end, hits), *others = made.stretches(LONG, 0)
    assert (start, end) == (2_808, 3_256)
    assert [RULES[rank].id for rank in hits] == ["email"]
    assert [start for start, _, _ in others] == [11_819, 12_075, 12_217, 12_487]
    assert list(made.stretches(clean(9_000), 0)) == []
    assert [(start, end) for start, end, _ in made.stretches(LONG, 12_824)] == [(12_824, 12_844)]
    assert {RULES[rank].id for rank in made.hits("a@b.cc, ssn", 0, 11)} == {"email", "us_ssn", "us_itin"}


def test_no_hint_is_longer_than_what_is_looked_at_beside_a_stretch() -> None:
    for rule in RULES:
        for hint in [look.hint for look in rule.looks] or [rule.hint]:
            # only to measure it: the standard library writes the end of a text in another way
            shortest, longest = re_parser.parse(hint.replace(r"\z", r"\Z")).getwidth()
            assert 0 < shortest <= longest <= 192, rule.id


def test_backends_agree_on_long_texts(backends: tuple[RuleBasedDlpInterceptor, ...]) -> None:
    plain, quick = backends
    for text in (
        dirty(40_000),
        LONG,
        "sk-" + "a1B2c3D4" * 5_000 + " x",
        "\u5bc6\u7801@\u4f8b\u5b50.cc " * 2_000,
        "pwd=!(" * 1_500 + "a1b2",
        ("token_" * 400 + "=a1b2c3d4e5 ") * 3,
        "y9" * 600 + "user|pwd\n" + "y9" * 600 + "\u00e94111111111111111",
    ):
        assert inspect(quick, text) == inspect(plain, text)


def test_backends_agree_wherever_stretches_end(
    backends: tuple[RuleBasedDlpInterceptor, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, quick = backends
    mixture = Mixture(random.Random(4), longest=1_000)
    monkeypatch.setattr(detector, "SHORT_LENGTH", 0)
    for shortest in (1, 37, 100):
        monkeypatch.setattr(hints, "_SHORTEST", shortest)
        monkeypatch.setattr(hints, "_LONGEST", 3 * shortest)
        for _ in range(60):
            text = "".join(mixture.fragments())
            assert inspect(quick, text) == inspect(plain, text), text


def test_a_long_value_behind_a_blank_is_one_for_both(backends: tuple[RuleBasedDlpInterceptor, ...]) -> None:
    plain, quick = backends
    text = "the password " + "a1B2c3D4" * 40
    assert inspect(quick, text) == inspect(plain, text)
    assert inspect(quick, text).sanitized_text == "the password [REDACTED:password]"
