"""Messages, parts and calls that stand for places in native JSON."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tramapy import InterceptorError
from tramapy.clients.rewriting import (
    Origin,
    Slot,
    are_same,
    no_place,
    placed_calls,
    placed_parts,
    positions_of,
    with_value_at,
    woven,
)
from tramapy.messages import ContentPart, ImagePart, Message, MessageRole, TextPart, ToolCall

OWNER = object()
A, B, C, D = (TextPart(letter) for letter in "abcd")
ONE, TWO = (ImagePart(url=f"https://images.example/{name}") for name in ("one", "two"))


def message(position: int, text: str, owner: object = OWNER) -> Message:
    return Message(role=MessageRole.USER, content=text, origin=Origin(owner, position))


SHOWN = (message(0, "a"), message(1, "b"), message(2, "c"))


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        (SHOWN, [0, 1, 2]),
        (SHOWN[::-1], [2, 1, 0]),
        ((SHOWN[0].replace(content="x"), Message.user("new"), SHOWN[2]), [0, None, 2]),
        ((SHOWN[0].replace(role=MessageRole.SYSTEM), SHOWN[1].replace(tool_call_id="c1")), [None, None]),
        ((SHOWN[1], SHOWN[1]), [1, None]),
        ((message(0, "a", object()), Message(role=MessageRole.USER, origin="mine")), [None, None]),
        ((copy.deepcopy(SHOWN[1]), copy.copy(SHOWN[0])), [1, 0]),
    ],
    ids=["same", "reordered", "changed", "another role or call", "twice", "foreign", "copied"],
)
def test_a_message_is_known_by_its_origin(messages: tuple[Message, ...], expected: list[int | None]) -> None:
    assert positions_of(SHOWN, messages, OWNER) == expected


def test_messages_are_the_same_in_order_and_origin() -> None:
    assert are_same(SHOWN, SHOWN)
    assert are_same(SHOWN, [SHOWN[0].replace(content="a"), *SHOWN[1:]])
    assert not are_same(SHOWN, SHOWN[:2])
    assert not are_same(SHOWN, [SHOWN[0].replace(content="x"), *SHOWN[1:]])
    assert not are_same(SHOWN, [Message.user("a"), *SHOWN[1:]])


def test_an_origin_copies_to_itself_and_shows_no_owner() -> None:
    origin = Origin("secret", 1)
    assert copy.copy(origin) is origin
    assert copy.deepcopy(origin) is origin
    assert repr(origin) == "Origin(1)"


@pytest.mark.parametrize(
    ("placed", "expected"),
    [
        ([1, 3], [(0, None), (1, 0), (2, None), (3, 1), (4, None)]),
        ([3, 1], [(0, None), (2, None), (3, 0), (1, 1), (4, None)]),
        ([3], [(0, None), (2, None), (3, 0), (4, None)]),
        (
            [None, 1, None, 3, None],
            [(None, 0), (0, None), (1, 1), (None, 2), (2, None), (3, 3), (4, None), (None, 4)],
        ),
        ([], [(0, None), (2, None), (4, None)]),
    ],
    ids=["same", "reordered", "dropped", "added", "all dropped"],
)
def test_what_was_not_shown_stays_in_its_place(
    placed: list[int | None], expected: list[tuple[int | None, int | None]]
) -> None:
    assert list(woven(5, {1, 3}, placed)) == [Slot(*slot) for slot in expected]


@pytest.mark.parametrize(
    ("shown", "parts", "expected"),
    [
        ((A, ONE, B), (A, ONE, B), [(0, ()), (1, ()), (2, ())]),
        ((A, B, ONE, C, D), (TextPart("*"), ONE, TextPart("+")), [(0, (1,)), (2, ()), (3, (4,))]),
        ((A, B), (A, TextPart("x")), [(0, ()), (1, ())]),
        ((A, B, C), (A, TextPart("x"), D, C), [(0, ()), (1, ()), (None, ()), (2, ())]),
        ((A, ONE, B), (A, B), [(0, ()), (2, ())]),
        ((A, ONE, B), (TextPart("x"), TextPart("y")), [(0, ()), (2, ())]),
        ((A, ONE, TWO, B), (TextPart("x"), TWO, ONE, B), [(0, ()), (2, ()), (None, ()), (3, ())]),
        ((A, ONE), (A, TWO), [(0, ()), (1, ())]),
        ((ONE, A), (B, C, ONE, A), [(None, ()), (None, ()), (0, ()), (1, ())]),
        ((ONE, A), (B, ONE, C), [(None, ()), (0, ()), (1, ())]),
        ((A, B), (A,), [(0, (1,))]),
        ((A,), (), []),
        ((), (A, ONE), [(None, ()), (None, ())]),
        ((A, ONE), (TWO,), [(None, ())]),
    ],
    ids=[
        "same",
        "united runs",
        "changed",
        "changed and added",
        "image gone",
        "image gone, texts changed",
        "images in another order",
        "another image",
        "texts first",
        "text before an image",
        "text gone",
        "all gone",
        "all new",
        "another image alone",
    ],
)
def test_parts_keep_their_places(
    shown: tuple[ContentPart, ...],
    parts: tuple[ContentPart, ...],
    expected: list[tuple[int | None, tuple[int, ...]]],
) -> None:
    placed = placed_parts(shown, parts)
    assert [(item.position, item.united) for item in placed] == expected
    assert [item.part for item in placed] == list(parts)


PARTS = st.lists(st.sampled_from((A, B, C, ONE, TWO)), max_size=6).map(tuple)


@given(PARTS, PARTS)
def test_a_place_is_taken_once_and_by_its_kind(
    shown: tuple[ContentPart, ...], parts: tuple[ContentPart, ...]
) -> None:
    placed = placed_parts(shown, parts)
    positions = [item.position for item in placed if item.position is not None]
    assert positions == sorted(set(positions))
    assert all(type(shown[item.position]) is type(item.part) for item in placed if item.position is not None)
    united = [position for item in placed for position in item.united]
    assert len({*positions, *united}) == len(positions) + len(united)
    if shown == parts:
        assert positions == list(range(len(shown)))


def test_calls_are_known_by_id_and_name() -> None:
    one, two, twin = (ToolCall(id=name, name="f", arguments_json="{}") for name in ("1", "2", "1"))
    new = ToolCall(id="1", name="g", arguments_json="{}")
    changed = two.replace(arguments_json="[]")
    assert placed_calls((one, two, twin), (changed, new, one, one, one)) == [1, None, 0, 2, None]


def test_only_what_is_on_the_way_is_copied() -> None:
    value: dict[str, object] = {"a": [{"b": "c"}, {"d": "e"}], "f": {}}
    changed = with_value_at(value, ("a", 0, "b"), "x")
    assert changed == {"a": [{"b": "x"}, {"d": "e"}], "f": {}}
    assert value == {"a": [{"b": "c"}, {"d": "e"}], "f": {}}
    assert with_value_at(value, ("new",), 1) == {**value, "new": 1}
    assert with_value_at(value, (), 1) == 1


def test_the_error_names_what_has_no_place() -> None:
    with pytest.raises(InterceptorError, match="gave an image, which the format"):
        raise no_place("an image")
