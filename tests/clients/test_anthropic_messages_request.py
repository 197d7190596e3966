"""Requests of `/v1/messages`: shown as messages, and written back."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from tramapy import (
    DlpInspectionError,
    ImagePart,
    InterceptorError,
    Message,
    MessageRole,
    TextPart,
    ToolCall,
)
from tramapy.clients.anthropic_messages import CountTokensCodec, MessageBatchesCodec, MessagesCodec
from tramapy.clients.anthropic_messages_blocks import CHANGED_SIGNATURE
from tramapy.clients.codec import WireRequest

CACHE = {"type": "ephemeral", "ttl": "5m"}
PIXEL = {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}
AT_ADDRESS = {"type": "image", "source": {"type": "url", "url": "https://images.example/one"}}
CALL = {"type": "tool_use", "id": "t1", "name": "search", "input": {"q": "x"}, "caller": {"type": "direct"}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "found", "is_error": False}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "signed"}
DOCUMENT = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": "all of it"},
    "title": "T",
    "cache_control": CACHE,
}


def text(words: str, **more: object) -> dict[str, object]:
    return {"type": "text", "text": words, **more}


def user(*blocks: object) -> dict[str, object]:
    return {"role": "user", "content": [*blocks]}


def assistant(*blocks: object) -> dict[str, object]:
    return {"role": "assistant", "content": [*blocks]}


def body(*turns: object, **more: object) -> dict[str, Any]:
    return {"model": "claude", "max_tokens": 100, "messages": [*turns], **more}


def read(value: dict[str, Any]) -> WireRequest:
    return MessagesCodec().request(value)


WHOLE = body(
    {"role": "user", "content": "hello"},
    assistant(THINKING, text("I look", cache_control=CACHE), CALL),
    user(RESULT, DOCUMENT, text("go on")),
    {"role": "assistant", "content": "done"},
    system=[text("be kind", cache_control=CACHE), text("and short")],
    tools=[{"name": "search", "description": "finds", "input_schema": {"type": "object"}}],
    metadata={"user_id": "u-1"},
    stream=True,
)


def test_every_turn_is_shown() -> None:
    request = read(WHOLE)
    call = ToolCall(id="t1", name="search", arguments_json='{"q":"x"}')
    assert request.messages == (
        Message(role=MessageRole.SYSTEM, content_parts=(TextPart("be kind"), TextPart("and short"))),
        Message.user("hello"),
        Message(role=MessageRole.ASSISTANT, content_parts=(TextPart("I look"),), tool_calls=(call,)),
        Message.tool("found", tool_call_id="t1", tool_name="search"),
        Message.user([TextPart("go on")]),
        Message.assistant("done"),
    )
    assert (request.model, request.is_stream, [tool.name for tool in request.tools]) == (
        "claude",
        True,
        ["search"],
    )
    assert json.loads(request.rest) == {
        "tools": {"0": {"description": "finds", "input_schema": {"type": "object"}}},
        "metadata": {"user_id": "u-1"},
        "messages": {
            "1": {"content": {"0": {"thinking": "hm"}}},
            "2": {"content": {"1": {"source": {"data": "all of it"}, "title": "T"}}},
        },
    }


def test_what_is_unchanged_is_sent_as_it_came() -> None:
    request = read(WHOLE)
    assert request.encoded(request.messages, "claude", request.rest) is WHOLE
    assert request.encoded([*request.messages], "other", request.rest) == {**WHOLE, "model": "other"}


CHANGES: dict[str, tuple[list[object], int, dict[str, Any], list[object]]] = {
    "a plain text": (
        [{"role": "user", "content": "a", "x": 1}],
        0,
        {"content": "b"},
        [{"role": "user", "content": "b", "x": 1}],
    ),
    "a plain text into parts": (
        [{"role": "user", "content": "a"}],
        0,
        {"content": "", "content_parts": (TextPart("b"), ImagePart(url="https://images.example/two"))},
        [user(text("b"), {"type": "image", "source": {"type": "url", "url": "https://images.example/two"}})],
    ),
    "parts into a plain text": (
        [user(DOCUMENT, text("a", cache_control=CACHE))],
        0,
        {"content": "b", "content_parts": None},
        [user(DOCUMENT, text("b", cache_control=CACHE))],
    ),
    "parts that DLP united": (
        [user(text("a secret"), text(" is here", cache_control=CACHE, citations=[{"type": "x"}]), DOCUMENT)],
        0,
        {"content_parts": (TextPart("a <S> is here"),)},
        [user(text("a <S>"), text(" is here", cache_control=CACHE, citations=[{"type": "x"}]), DOCUMENT)],
    ),
    "parts of which one is emptied": (
        [user(text("stay", citations=[1]), text("gone", cache_control=CACHE, citations=[2]))],
        0,
        {"content_parts": (TextPart("stay"),)},
        [user(text("stay", citations=[1, 2], cache_control=CACHE))],
    ),
    "parts that DLP united, the first one emptied": (
        [user(text("gone", cache_control=CACHE), text("stay here long"))],
        0,
        {"content_parts": (TextPart("stay here long!"),)},
        [user(text("stay here long!"))],
    ),
    "parts of which the first is emptied": (
        [user(text("gone", cache_control=CACHE), text("stay"))],
        0,
        {"content_parts": (TextPart("stay"),)},
        [user(text("stay"))],
    ),
    "an image": (
        [user(text("see"), {"type": "image", "source": PIXEL, "cache_control": CACHE})],
        0,
        {"content_parts": (TextPart("see"), ImagePart(data=b"other", mime_type="image/gif"))},
        [
            user(
                text("see"),
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/gif", "data": "b3RoZXI="},
                    "cache_control": CACHE,
                },
            )
        ],
    ),
    "a text beside an image": (
        [user({"type": "image", "source": PIXEL}, text("see"), AT_ADDRESS)],
        0,
        {"content_parts": (ImagePart(data=b"hello", mime_type="image/png"), TextPart("look"))},
        [user({"type": "image", "source": PIXEL}, text("look"))],
    ),
    "a new part": (
        [user(DOCUMENT)],
        0,
        {"content_parts": (TextPart("b"),)},
        [user(DOCUMENT, text("b"))],
    ),
    "arguments": (
        [assistant(text("a"), CALL)],
        0,
        {"tool_calls": (ToolCall(id="t1", name="search", arguments_json='{"q":"y"}'),)},
        [assistant(text("a"), {**CALL, "input": {"q": "y"}})],
    ),
    "a call that goes and one that comes": (
        [assistant(THINKING, text("a"), CALL)],
        0,
        {"tool_calls": (ToolCall(id="t2", name="find", arguments_json=" "),)},
        [assistant(THINKING, text("a"), {"type": "tool_use", "id": "t2", "name": "find", "input": {}})],
    ),
    "a plain text with a call": (
        [{"role": "assistant", "content": "a"}],
        0,
        {"tool_calls": (ToolCall(id="t2", name="find", arguments_json="{}"),)},
        [assistant(text("a"), {"type": "tool_use", "id": "t2", "name": "find", "input": {}})],
    ),
    "a plain result": (
        [assistant(CALL), user(RESULT)],
        1,
        {"content": "hidden"},
        [assistant(CALL), user({**RESULT, "content": "hidden"})],
    ),
    "a plain result into parts": (
        [assistant(CALL), user(RESULT)],
        1,
        {"content": "", "content_parts": (TextPart("b"),)},
        [assistant(CALL), user({**RESULT, "content": [text("b")]})],
    ),
    "a result without content": (
        [user({"type": "tool_result", "tool_use_id": "t1"})],
        0,
        {"content": "b"},
        [user({"type": "tool_result", "tool_use_id": "t1", "content": "b"})],
    ),
    "a result of blocks": (
        [user({**RESULT, "content": [text("a"), DOCUMENT, 7]}, text("b"))],
        0,
        {"content_parts": (TextPart("c"),)},
        [user({**RESULT, "content": [text("c"), DOCUMENT, 7]}, text("b"))],
    ),
    "a message that is emptied": (
        [user(text("a")), {"role": "user", "content": "b"}],
        0,
        {"content_parts": ()},
        [{"role": "user", "content": "b"}],
    ),
    "a system message within the turns": (
        [{"role": "user", "content": "b"}, {"role": "system", "content": "a"}],
        1,
        {"content": "c"},
        [{"role": "user", "content": "b"}, {"role": "system", "content": "c"}],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("turns", "position", "change", "expected"), CHANGES.values(), ids=CHANGES)
def test_a_change_is_written_into_the_native_form(
    turns: list[object], position: int, change: dict[str, Any], expected: list[object]
) -> None:
    value = body(*turns)
    before = copy.deepcopy(value)
    request = read(value)
    messages = [*request.messages]
    messages[position] = messages[position].replace(**change)
    assert request.encoded(messages, "claude", request.rest) == body(*expected)
    assert value == before


def written(value: dict[str, Any], pick: Any) -> list[Any]:
    request = read(value)
    encoded: Any = request.encoded(pick([*request.messages]), "claude", request.rest)
    return [encoded.get("system"), *encoded["messages"]]


TURNS = (
    {"role": "user", "content": "hello"},
    assistant(THINKING, text("I look"), CALL),
    {"role": "robot", "content": "?"},
    user(RESULT, {**RESULT, "tool_use_id": "t0"}, DOCUMENT, text("go on")),
)
NEW = Message.user("new")
NEW_TURN = {"role": "user", "content": "new"}
NEW_RESULT = Message.tool("made", tool_call_id="t9")
NEW_RESULT_BLOCK = {"type": "tool_result", "tool_use_id": "t9", "content": "made"}


@pytest.mark.parametrize(
    ("pick", "expected"),
    [
        (lambda all_: all_[1:], [None, *TURNS]),
        (lambda all_: [*all_[:2], *all_[3:]], ["sys", TURNS[0], *TURNS[2:]]),
        (
            lambda all_: [*all_[:4], all_[5]],
            ["sys", *TURNS[:3], user(RESULT, DOCUMENT, text("go on"))],
        ),
        (lambda all_: all_[:3], ["sys", *TURNS[:3]]),
        (
            lambda all_: [*all_[:4], NEW, *all_[4:]],
            ["sys", *TURNS[:3], user(RESULT), NEW_TURN, user({**RESULT, "tool_use_id": "t0"}, DOCUMENT, text("go on"))],
        ),
        (
            lambda all_: [*all_[:5], NEW_RESULT, NEW_RESULT],
            ["sys", *TURNS[:3], user(RESULT, {**RESULT, "tool_use_id": "t0"}, NEW_RESULT_BLOCK, NEW_RESULT_BLOCK)],
        ),
        (lambda all_: [all_[2], all_[1], NEW_RESULT], [None, TURNS[1], TURNS[0], user(NEW_RESULT_BLOCK), TURNS[2]]),
        (lambda all_: [Message.system("also"), *all_[:2]], [[text("also"), text("sys")], TURNS[0], TURNS[2]]),
        (lambda all_: [all_[0].replace(content=""), all_[1]], [None, TURNS[0], TURNS[2]]),
        (
            lambda all_: [Message.assistant("a", tool_calls=[ToolCall(id="t2", name="n", arguments_json="{}")])],
            [None, assistant(text("a"), {"type": "tool_use", "id": "t2", "name": "n", "input": {}}), TURNS[2]],
        ),
        (lambda all_: [Message.user([TextPart("new")])], [None, user(text("new")), TURNS[2]]),
        (lambda all_: [all_[4], all_[3]], [None, *TURNS[2:3], user({**RESULT, "tool_use_id": "t0"}), user(RESULT)]),
    ],
    ids=[
        "no system",
        "no assistant",
        "one result less",
        "no last turn",
        "new between results",
        "new results",
        "reordered",
        "more system",
        "emptied system",
        "new assistant",
        "new parts",
        "results reordered",
    ],
)  # fmt: skip
def test_messages_may_go_come_and_change_places(pick: Any, expected: list[object]) -> None:
    assert written(body(*TURNS, system="sys"), pick) == expected


def test_a_system_prompt_can_come_where_there_is_none() -> None:
    assert written(body(NEW_TURN, system=""), lambda all_: [*all_, Message.system("be kind")]) == [
        "be kind",
        NEW_TURN,
    ]


def test_messages_come_where_there_are_none() -> None:
    request = read({"model": "claude"})
    assert request.encoded([NEW], "claude", "") == {"model": "claude", "messages": [NEW_TURN]}
    assert request.encoded([], "claude", "") == {"model": "claude"}
    assert read({}).encoded([], "m", "") == {"model": "m"}


@pytest.mark.parametrize(
    "message",
    [
        Message(role=MessageRole.TOOL, content="a"),
        Message(role=MessageRole.USER, content="a", tool_call_id="t1"),
        Message(role=MessageRole.USER, content="a", tool_calls=(ToolCall(id="a", name="b", arguments_json=""),)),
        Message(role=MessageRole.SYSTEM, content_parts=(ImagePart(url="https://images.example"),)),
        Message(role=MessageRole.ASSISTANT, content_parts=(ImagePart(url="https://images.example"),)),
    ],
    ids=["tool without id", "id without tool", "calls of the user", "image of the system", "image of the model"],
)  # fmt: skip
def test_a_message_without_a_place_is_refused(message: Message) -> None:
    request = read(body(system={"odd": 1}))
    with pytest.raises(InterceptorError, match="has no place"):
        request.encoded([message], "claude", request.rest)


def test_a_change_without_a_place_is_refused() -> None:
    request = read(body(user(RESULT), assistant(text("a")), system={"odd": 1}))
    result, answer = request.messages
    call = ToolCall(id="a", name="b", arguments_json="[1]")
    for changed in (
        [result.replace(tool_calls=[call]), answer],
        [result, answer.replace(content_parts=[ImagePart(url="https://images.example")])],
        [Message.system("a"), result, answer],
    ):
        with pytest.raises(InterceptorError, match="has no place"):
            request.encoded(changed, "claude", request.rest)
    for arguments_json in ("[1]", "{", "[" * 100_000):
        with pytest.raises(DlpInspectionError, match="no JSON object"):
            request.encoded(
                [
                    result,
                    answer.replace(tool_calls=[ToolCall(id="a", name="b", arguments_json=arguments_json)]),
                ],
                "claude",
                request.rest,
            )


def with_rest(value: dict[str, Any], old: str, new: str) -> Any:
    request = read(value)
    return request.encoded(request.messages, "claude", request.rest.replace(old, new))


def test_thinking_that_is_not_what_was_signed_goes() -> None:
    redacted = {"type": "redacted_thinking", "data": "xyz"}
    value = body(assistant(THINKING, redacted, text("a")), {"role": "user", "content": "b"})
    assert with_rest(value, "hm", "<S>")["messages"][0] == assistant(redacted, text("a"))
    assert with_rest(value, "none", "such") is value
    unsigned = body(assistant({"type": "thinking", "thinking": "hm"}, text("a")))
    assert with_rest(unsigned, "hm", "<S>")["messages"] == [
        assistant({"type": "thinking", "thinking": "<S>"}, text("a"))
    ]


def test_thinking_that_was_changed_in_an_answer_goes() -> None:
    changed = {**THINKING, "signature": CHANGED_SIGNATURE}
    request = read(body(assistant(changed, text("a"), CALL), assistant(changed)))
    assert request.encoded(request.messages, "claude", request.rest) == body(assistant(text("a"), CALL))
    messages = [request.messages[0].replace(content_parts=[TextPart("b")])]
    assert request.encoded(messages, "claude", request.rest) == body(assistant(text("b"), CALL))


def test_the_rest_is_written_where_messages_go() -> None:
    request = read(WHOLE)
    messages = [message for message in request.messages if message.role is not MessageRole.ASSISTANT]
    encoded: Any = request.encoded(messages, "claude", request.rest.replace("all of it", "<S>"))
    hidden = {**DOCUMENT, "source": {"type": "text", "media_type": "text/plain", "data": "<S>"}}
    assert encoded["messages"] == [{"role": "user", "content": "hello"}, user(RESULT, hidden, text("go on"))]


@pytest.mark.parametrize("rest", ["", "{", '{"metadata": 7}'])
def test_a_rest_of_another_shape_is_refused(rest: str) -> None:
    request = read(WHOLE)
    with pytest.raises(DlpInspectionError):
        request.encoded(request.messages, "claude", rest)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (body(user(DOCUMENT, AT_ADDRESS, {"type": "image", "source": PIXEL})), ()),
        (body(user({"type": "document", "source": {"type": "base64", "data": "JVBERi0="}})), ("document_data",)),
        (body(user({"type": "document", "source": {"type": "url", "url": "https://a.example"}})), ("document_url",)),
        (body(user({"type": "document", "source": {"type": "file", "file_id": "f"}})), ("file_id",)),
        (body(user({"type": "document", "source": "odd"})), ()),
        (body(user({"type": "image", "source": {"type": "file", "file_id": "f"}})), ("file_id", "image")),
        (body(user({"type": "image", "source": {**PIXEL, "data": "no base64!"}})), ("image",)),
        (body(user({"type": "container_upload", "file_id": "f"})), ("file_id",)),
        (body(assistant({"type": "redacted_thinking", "data": "x"})), ("encrypted",)),
        (
            body(
                assistant(
                    {
                        "type": "web_search_tool_result",
                        "tool_use_id": "t",
                        "content": [{"type": "web_search_result", "encrypted_content": "x"}],
                    }
                )
            ),
            ("encrypted",),
        ),
        (body(user({**RESULT, "content": [{"type": "document", "source": {"type": "url"}}]})), ("document_url",)),
        (body({"role": "odd", "content": [{"file_id": "f"}]}), ("file_id",)),
        (body(container="c"), ("container",)),
        (body(container={"id": "c"}), ("container",)),
    ],
)  # fmt: skip
def test_what_cannot_be_inspected_is_named(value: dict[str, Any], words: tuple[str, ...]) -> None:
    assert read(value).unscanned == words


def test_a_batch_is_many_requests() -> None:
    codec = MessageBatchesCodec()
    value: dict[str, Any] = {
        "requests": [
            {"custom_id": "one", "params": body({"role": "user", "content": "a"}, system="sys")},
            "odd",
            {"custom_id": "two", "params": body({"role": "user", "content": "b"}, metadata={"user_id": "u"})},
            {"custom_id": "three", "params": 7},
        ]
    }
    request = codec.request(value)
    assert [message.content for message in request.messages] == ["sys", "a", "b"]
    assert request.encoded(request.messages, request.model, request.rest) is value
    system, first, second = request.messages
    changed = [NEW, system, second.replace(content="c"), Message.assistant("d"), first]
    encoded: Any = request.encoded(changed, request.model, request.rest.replace('"u"', '"v"'))
    one, odd, two, three = encoded["requests"]
    assert one["params"] == body(NEW_TURN, {"role": "user", "content": "a"}, system="sys")
    assert two["params"] == body(
        {"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}, metadata={"user_id": "v"}
    )
    assert (odd, three) == ("odd", {"custom_id": "three", "params": 7})


def test_another_model_takes_the_place_of_the_first_in_a_batch() -> None:
    items = [
        {"custom_id": name, "params": {"model": name, "messages": []}} for name in ("", "one", "two", "one")
    ]
    request = MessageBatchesCodec().request({"requests": items})
    assert request.model == "one"
    encoded: Any = request.encoded(request.messages, "other", request.rest)
    assert [item["params"]["model"] for item in encoded["requests"]] == ["", "other", "two", "other"]


def test_a_batch_without_requests_takes_no_message() -> None:
    request = MessageBatchesCodec().request({"requests": "odd"})
    assert request.encoded([], "", request.rest.replace("odd", "even")) == {"requests": "even"}
    with pytest.raises(InterceptorError, match="has no place"):
        request.encoded([NEW], "", request.rest)


def test_tokens_are_counted_of_the_same_request() -> None:
    assert CountTokensCodec().request(WHOLE).messages == read(WHOLE).messages


def test_deep_nesting_is_refused() -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(DlpInspectionError, match="nested too deeply"):
        _ = read(body(metadata=deep)).rest
    while isinstance(deep, list):
        deep = deep.pop()
