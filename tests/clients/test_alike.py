"""Events of a stream that are alike but for one text: read and written as if each were read whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tramapy import ProviderError
from tramapy.clients.openai_chat_stream import CHAT_STREAM
from tramapy.clients.openai_choice_events import ChoiceEvent, ChoiceLane
from tramapy.clients.openai_choices import ChoiceDecoder
from tramapy.engine.native import NativeEvent
from tramapy.wire.sse import SseEvent

HEAD = '{"id":"c1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":'
END = "}}]}"
PADDED = '}}],"usage":null,"obfuscation":'


def _data(text: str, *, padding: str | None = None) -> bytes:
    behind = END if padding is None else f"{PADDED}{json.dumps(padding)}}}"
    return f"{HEAD}{json.dumps(text, ensure_ascii=False)}{behind}".encode()


def _read(*events: bytes) -> list[NativeEvent]:
    decoder = ChoiceDecoder(CHAT_STREAM, 100_000)
    return [native for data in events for native in decoder.feed(SseEvent("", data))]


def _is_alike(event: NativeEvent) -> bool:
    return not isinstance(event, ChoiceEvent)


TEXTS = [
    "two",
    " three",
    'a "quoted" one',
    "back\\slash",
    "tab\t and\nline",
    "\u00e9\u4f60\U0001f600",
    "\x7f",
]


@pytest.mark.parametrize("padding", [None, "xK9", ""], ids=["plain", "padded", "empty-padding"])
@pytest.mark.parametrize("text", TEXTS)
def test_alike_event_says_what_it_says_when_read_whole(text: str, padding: str | None) -> None:
    data = _data(text, padding=padding)
    (whole,) = _read(data)
    _, alike = _read(_data("one", padding=None if padding is None else "a"), data)
    assert _is_alike(alike)
    for event in (whole, alike):
        assert [(piece.text, piece.lane, piece.location) for piece in event.pieces] == [
            (text, ChoiceLane("content", 0), whole.pieces[0].location)
        ]
        assert (event.ends, event.opens, event.is_opening, event.unscanned) == ([], None, False, ())
    assert alike.frame() == whole.frame() == b"data: " + data + b"\n\n"
    assert alike.tail(ChoiceLane("content", 0), "rest") == whole.tail(ChoiceLane("content", 0), "rest")


@pytest.mark.parametrize("text", [*TEXTS, "\ud800", "x"])
@pytest.mark.parametrize("padding", [None, "xK9"], ids=["plain", "padded"])
def test_another_text_is_written_into_an_alike_event(text: str, padding: str | None) -> None:
    data = _data("two", padding=padding)
    _, alike = _read(_data("one", padding=padding), data)
    alike.pieces[0].write(text)
    value = json.loads(data)
    value["choices"][0]["delta"]["content"] = text
    frame = alike.frame()
    assert frame.startswith(b"data: ")
    assert frame.endswith(b"\n\n")
    assert json.loads(frame[6:]) == value


def test_alike_event_whose_text_is_held_back_says_nothing() -> None:
    _, alike = _read(_data("one"), _data("two"))
    alike.pieces[0].write("")
    assert alike.frame() == b""


def test_alike_event_that_says_more_goes_out_without_its_text() -> None:
    head = HEAD.replace('"content"', '"role":"assistant","content"')
    _, alike = _read(f'{head}"one"{END}'.encode(), f'{head}"two"{END}'.encode())
    assert _is_alike(alike)
    alike.pieces[0].write("")
    assert b'"role":"assistant","content":""' in alike.frame()


def test_blanks_between_tokens_are_kept() -> None:
    first, second = (json.dumps(json.loads(_data(text))).encode() for text in ("one", "two"))
    _, alike = _read(first, second)
    assert _is_alike(alike)
    assert alike.frame() == b"data: " + second + b"\n\n"


def test_one_with_equal_names_is_read_whole_and_written_anew() -> None:
    head = HEAD.replace('"content":', '"content":"zero","content":"one","content":')
    _, alike = _read(f'{head}"one"{END}'.encode(), f'{head}"two"{END}'.encode())
    assert not _is_alike(alike)
    assert alike.pieces[0].text == "two"
    assert b"zero" not in alike.frame()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (_data("one"), _data("two").replace(b"c1", b"c2")),
        (_data("one"), _data("two").replace(b'"}}]}', b'"},"note":"a secret"}]}')),
        (_data("one"), _data("two")[:-1] + b',"note":"a secret"}'),
        (_data("one"), _data("two").replace(b"}}]}", b'},"finish_reason":"stop"}]}')),
        (_data("one"), _data("")),
        (_data("one"), (HEAD + "null" + END).encode()),
        (_data("one", padding="a"), _data("two")),
        (_data("one", padding="a"), _data("two", padding="b")[:-1] + b',"note":"a secret"}'),
        (_data("one", padding="a"), _data("two", padding="b")[:-2].replace(b'"b', b'["a secret"]}')),
        (_data("one").replace(b":[{", b":\n[{"), _data("two").replace(b":[{", b":\n[{")),
        (_data("one").replace(b'"content"', b'"cont\\u0065nt"'), _data("two")),
        (_data("one").replace(b'{"id"', b'{"obfuscation":"a","id"'), _data("two")),
        (_data("one").decode().encode("utf-16"), _data("two").decode().encode("utf-16")),
        (
            _data("one").replace(b"}}]}", b'},"logprobs":{"content":[]}}]}'),
            _data("two").replace(b"}}]}", b'},"logprobs":{"content":[]}}]}'),
        ),
    ],
    ids=[
        "other-id",
        "more-in-choice",
        "more-behind",
        "end",
        "no-text",
        "no-string",
        "padding-gone",
        "more-behind-padding",
        "padding-no-string",
        "lines",
        "escaped-name",
        "padding-before",
        "other-encoding",
        "logprobs",
    ],
)
def test_event_that_differs_in_more_than_its_text_is_read_whole(first: bytes, second: bytes) -> None:
    decoder = ChoiceDecoder(CHAT_STREAM, 100_000)
    decoder.feed(SseEvent("", first))
    read = [*decoder.feed(SseEvent("", second)), *decoder.feed(SseEvent("", b"[DONE]"))]
    assert not any(map(_is_alike, read))
    if b"a secret" in second:
        assert any("a secret" in piece.text for event in read for piece in event.pieces)


@pytest.mark.parametrize("data", [_data("two")[: len(HEAD) + 3], _data("two")[:-1]], ids=["text", "end"])
def test_unreadable_event_is_refused_as_ever(data: bytes) -> None:
    decoder = ChoiceDecoder(CHAT_STREAM, 100_000)
    decoder.feed(SseEvent("", _data("one")))
    with pytest.raises(ProviderError, match="is no JSON object"):
        decoder.feed(SseEvent("", data))


def test_event_of_another_type_is_read_whole() -> None:
    decoder = ChoiceDecoder(CHAT_STREAM, 100_000)
    decoder.feed(SseEvent("", _data("one")))
    (event,) = decoder.feed(SseEvent("other", _data("two")))
    assert not _is_alike(event)


def test_stream_of_many_kinds_of_events_is_not_looked_at_for_long() -> None:
    events: list[Any] = _read(*(_data("x").replace(b"c1", f"c{number}".encode()) for number in range(9)))
    assert not any(map(_is_alike, events))
    last = _read(*(_data("x").replace(b"c1", f"c{number}".encode()) for number in (*range(9), 8)))[-1]
    assert not _is_alike(last)
