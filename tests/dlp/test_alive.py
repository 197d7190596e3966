"""Where no match can be under way, a text is decided."""

from __future__ import annotations

import random

import pytest

from tests.dlp.cases import CASES
from tramapy.dlp.alive import Alive
from tramapy.dlp.detector import PackDetector
from tramapy.dlp.folding import fold
from tramapy.dlp.packs import ALL

RULES = [rule for pack in ALL for rule in pack.rules]


def idle_places(alive: Alive, text: str) -> set[int]:
    state = alive.idle()
    places: set[int] = set()
    for place, character in enumerate(text, 1):
        state = state[character]
        if state.is_idle:
            places.add(place)
    return places


def test_a_state_is_idle_where_nothing_began() -> None:
    alive = Alive(["ab+c", "[0-9]{3}"])
    assert idle_places(alive, "xabbc-12-123") == {1, 5, 6, 9}


def test_a_state_says_where_a_match_may_have_ended() -> None:
    state = Alive(["ab+"]).idle()
    ended = []
    for character in "xabb":
        state = state[character]
        ended.append(state.is_match)
    assert ended == [False, False, True, True]


def test_what_is_kept_is_bounded_and_streams_go_on() -> None:
    bounded = Alive([rule.held for rule in RULES], most_edges=50)
    unbounded = Alive([rule.held for rule in RULES])
    text = " ".join(case.text for case in CASES)
    assert idle_places(bounded, text) == idle_places(unbounded, text)
    assert bounded._edge_count <= 50


def test_assertions_are_refused() -> None:
    with pytest.raises(ValueError, match="no assertions"):
        Alive([r"\bx"])


@pytest.mark.unmeasured
def test_no_claim_reaches_across_an_idle_place() -> None:
    alive = Alive([rule.held for rule in RULES])
    detector = PackDetector(RULES, None)
    source = random.Random(3)
    for _ in range(1_500):
        text = fold("".join(source.choice(CASES).text for _ in range(source.randrange(1, 4)))).text
        idle = idle_places(alive, text)
        for start, minus_end, _, rank in detector.claims(text):
            assert not idle & set(range(start + 1, -minus_end)), RULES[rank].id
