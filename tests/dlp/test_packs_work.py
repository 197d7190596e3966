"""The packs' work on hostile text is counted, not timed: calls, and characters that searches are given to read."""

from __future__ import annotations

import functools

import pytest

from benchmarks.dlp_texts import HOSTILE, hostile
from tests.dlp.contexts import BACKENDS, context_of, default_rules, inspect, split_at
from tests.dlp.test_work import count_calls
from tramapy.dlp.detector import PackDetector
from tramapy.dlp.finders import load_re2
from tramapy.dlp.folding import fold
from tramapy.dlp.packs import ALL
from tramapy.dlp.view import View

_LENGTH = 3_000
_RULES = [rule for pack in ALL for rule in pack.rules]
_SHAPES = pytest.mark.parametrize("shape", HOSTILE)


@functools.cache
def _detector() -> PackDetector:
    return PackDetector(_RULES, load_re2())


def _growth(action, shape: str, length: int = _LENGTH) -> float:
    once, twice = hostile(HOSTILE[shape], length), hostile(HOSTILE[shape], 2 * length)
    action(twice)
    return count_calls(lambda: action(twice)) / count_calls(lambda: action(once))


@pytest.mark.parametrize("backend", BACKENDS)
@_SHAPES
def test_twice_the_hostile_text_takes_twice_the_calls(shape, backend):
    interceptor = default_rules(backend)

    def growth(length: int) -> float:
        return _growth(lambda text: inspect(interceptor, text), shape, length)

    # Between two lengths RE2 may give up looking for places, and all rules look at all of the text; but once.
    assert growth(_LENGTH) < 2.3 or growth(2 * _LENGTH) < 2.3


@_SHAPES
def test_hostile_text_takes_few_calls_a_character(shape):
    interceptor = default_rules("stdlib")
    text = hostile(HOSTILE[shape], _LENGTH)
    inspect(interceptor, text)
    assert count_calls(lambda: inspect(interceptor, text)) <= 12 * len(text)


@pytest.mark.unmeasured
@_SHAPES
def test_a_stream_of_hostile_text_takes_few_calls_a_character(shape):
    interceptor = default_rules("stdlib")
    text = hostile(HOSTILE[shape], 4 * _LENGTH)

    def stream_all() -> None:
        stream = interceptor.open_stream(context_of())
        for piece in split_at(text, range(0, len(text), 64)):
            stream.feed(piece)
        stream.finish()

    stream_all()
    assert count_calls(stream_all) <= 20 * len(text)


@_SHAPES
def test_the_claims_of_a_rule_do_not_cover_a_text_window_by_window(shape):
    text = fold(hostile(HOSTILE[shape], 20_000)).text
    covered: dict[int, int] = {}
    for start, minus_end, _, rank in _detector().claims(text):
        covered[rank] = covered.get(rank, 0) - minus_end - start
    assert all(length <= 3 * len(text) for length in covered.values())


@_SHAPES
def test_the_cuts_of_a_rule_do_not_cover_a_text_again_and_again(shape):
    text = fold(hostile(HOSTILE[shape], 2 * _LENGTH)).text
    for rule in _RULES:
        covered = sum(end - start for start, end in rule.search(View(text, 0, len(text))))
        assert covered <= 2 * len(text), rule.id
