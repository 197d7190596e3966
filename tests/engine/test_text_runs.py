"""Text parts as runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramapy.engine.text_runs import map_text_runs, text_runs
from tramapy.messages import ContentPart, ImagePart, TextPart
from tramapy.runtime import run_sync

IMAGE = ImagePart(data=b"png", mime_type="image/png")
LINK = ImagePart(url="https://example.com/x.png")


def texts(*parts: str | ImagePart) -> tuple[ContentPart, ...]:
    return tuple(TextPart(part) if isinstance(part, str) else part for part in parts)


def mapped(parts: Sequence[ContentPart], change: Callable[[str], str]) -> tuple[ContentPart, ...]:
    async def achange(text: str) -> str:
        return change(text)

    return run_sync(map_text_runs(parts, achange))


@pytest.mark.parametrize(
    ("parts", "runs"),
    [
        ((), []),
        (texts("a"), ["a"]),
        (texts("a", "b"), ["ab"]),
        (texts("a", IMAGE, "b"), ["a", "b"]),
        (texts(IMAGE), []),
        (texts("", IMAGE), [""]),
        (texts(IMAGE, "a", "", "b", IMAGE, LINK, "c"), ["ab", "c"]),
    ],
    ids=["none", "one", "adjacent", "apart", "image", "empty", "mixed"],
)
def test_adjacent_texts_are_one_run(parts: tuple[ContentPart, ...], runs: list[str]) -> None:
    assert text_runs(parts) == runs


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (texts("a", "b"), texts("AB")),
        (texts("A", "B"), texts("A", "B")),
        (texts("a", IMAGE, "B"), texts("A", IMAGE, "B")),
        (texts("x", IMAGE), (IMAGE,)),
        (texts("x", IMAGE, "x"), (IMAGE,)),
        (texts("", IMAGE), (IMAGE,)),
        (texts("x"), ()),
    ],
    ids=["changed", "unchanged", "one of two", "emptied", "both emptied", "empty before", "nothing left"],
)
def test_a_changed_run_is_one_part_and_an_emptied_one_goes(
    parts: tuple[ContentPart, ...], expected: tuple[ContentPart, ...]
) -> None:
    assert mapped(parts, lambda text: text.replace("x", "").upper()) == expected


def test_nothing_changed_is_the_very_same_tuple() -> None:
    parts = texts("a", "b", IMAGE)
    assert mapped(parts, lambda text: text) is parts


def test_an_empty_run_is_not_passed_on() -> None:
    seen: list[str] = []
    mapped(texts("", "", IMAGE, "a"), lambda text: seen.append(text) or text)
    assert seen == ["a"]


def test_a_change_may_wait() -> None:
    async def change(text: str) -> str:
        await asyncio.sleep(0)
        return text.upper()

    assert asyncio.run(map_text_runs(texts("a", IMAGE, "b"), change)) == texts("A", IMAGE, "B")


PARTS = st.lists(
    st.one_of(st.text("ab", max_size=3).map(TextPart), st.sampled_from([IMAGE, LINK])), max_size=8
)


@given(PARTS)
@settings(max_examples=200)
def test_images_and_their_order_are_never_touched(parts: list[ContentPart]) -> None:
    changed = mapped(parts, lambda text: text.replace("a", ""))
    assert [part for part in changed if isinstance(part, ImagePart)] == [
        part for part in parts if isinstance(part, ImagePart)
    ]


@given(PARTS)
@settings(max_examples=200)
def test_the_runs_of_what_comes_out_are_the_changed_runs(parts: list[ContentPart]) -> None:
    changed = mapped(parts, lambda text: text + "!")
    expected = [run + "!" for run in text_runs(parts) if run]
    assert text_runs(changed) == expected
