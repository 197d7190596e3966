"""Work is counted in calls, not in seconds: twice the text takes at most about twice the calls."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from tests.dlp.contexts import context_of, inspect, interceptor_of, rule_of, split_at
from tests.dlp.test_scanner import HOSTILE


def count_calls(action: Callable[[], object]) -> int:
    calls = 0

    def on_event(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(on_event)
    try:
        action()
    finally:
        sys.setprofile(before)
    return calls


def growth(action: Callable[[str], object], pump: str) -> float:
    """How many times as many calls twice the text takes, once all transitions are known."""
    half, whole = pump * (3_000 // len(pump)), pump * (6_000 // len(pump))
    action(whole)
    return count_calls(lambda: action(whole)) / count_calls(lambda: action(half))


@pytest.mark.parametrize("backend", ["stdlib", "re2"])
@pytest.mark.parametrize("shape", HOSTILE)
def test_inspection_takes_linear_calls(shape, backend):
    pattern, pump = HOSTILE[shape]
    interceptor = interceptor_of(rule_of(pattern), backend=backend)
    assert growth(lambda text: inspect(interceptor, text), pump) < 2.3


@pytest.mark.unmeasured
@pytest.mark.parametrize("shape", HOSTILE)
def test_stream_takes_linear_calls(shape):
    pattern, pump = HOSTILE[shape]
    interceptor = interceptor_of(rule_of(pattern))

    def stream_all(text: str) -> None:
        stream = interceptor.open_stream(context_of())
        for piece in split_at(text, range(0, len(text), 4)):
            stream.feed(piece)
        stream.finish()

    assert growth(stream_all, pump) < 2.3


def test_a_small_piece_of_clean_text_takes_few_calls():
    interceptor = interceptor_of(rule_of("[0-9]{16}", "a"), rule_of("sk-[a-z]+", "b"), rule_of("A{4}", "c"))
    stream = interceptor.open_stream(context_of())
    stream.feed("The ")
    assert count_calls(lambda: stream.feed("fox ")) <= 80
