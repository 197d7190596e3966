"""Requests of chat completions: what is shown, what is beside it, and how changes are written back."""

import copy
import json
from collections.abc import Mapping
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clients.bodies import JSON, fields, list_of, one_of, texts_in
from tramapy import DlpInspectionError, InterceptorError
from tramapy.clients.codec import WireRequest
from tramapy.clients.openai_chat import ChatCodec
from tramapy.messages import ImageDetail, ImagePart, Message, MessageRole, TextPart, ToolCall

CODEC = ChatCodec()
CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q":"a"}'}}
CUSTOM = {"id": "c2", "type": "custom", "custom": {"name": "run", "input": "ls"}}
PIXEL = "data:image/png;base64,iVBORw=="
BODY: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "developer", "content": "be kind", "name": "boss"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": PIXEL, "detail": "low"}, "odd": 1},
                {"type": "text", "text": "closely", "cache_control": {"type": "ephemeral"}},
                {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [CALL, CUSTOM],
            "refusal": "no",
            "audio": {"id": "a1"},
        },
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
        {"role": "narrator", "content": "meanwhile"},
        {"role": "function", "name": "old", "content": "result"},
    ],
    "tools": [{"type": "function", "function": {"name": "find", "description": "finds", "parameters": {}}}],
    "temperature": 0.5,
    "stream": True,
    "seed": 123456789,
    "logit_bias": {"50256": -100},
    "metadata": {"team": "blue"},
}


def request_of(*messages: object, **fields: object) -> WireRequest:
    return CODEC.request({"model": "m", "messages": list(messages), **fields})


def sent(request: WireRequest, *messages: Message, rest: str | None = None) -> list[dict[str, Any]]:
    body = request.encoded(messages, request.model, request.rest if rest is None else rest)
    return cast("list[dict[str, Any]]", body["messages"])


def test_messages_are_shown_as_ours() -> None:
    request = CODEC.request(BODY)
    assert [message.role for message in request.messages] == [
        MessageRole.SYSTEM,
        MessageRole.USER,
        MessageRole.ASSISTANT,
        MessageRole.TOOL,
        MessageRole.TOOL,
    ]
    system, user, assistant, tool, old = request.messages
    assert system.content == "be kind"
    assert user.content_parts is not None
    assert [type(part) for part in user.content_parts] == [TextPart, ImagePart, TextPart]
    assert assistant.tool_calls == (ToolCall(id="c1", name="find", arguments_json='{"q":"a"}'),)
    assert (tool.content, tool.tool_call_id, tool.tool_name) == ("found", "c1", "find")
    assert (old.content, old.tool_call_id, old.tool_name) == ("result", None, "old")
    assert (request.model, request.is_stream) == ("m", True)
    assert [(tool.name, tool.description) for tool in request.tools] == [("find", "finds")]


def test_all_other_text_is_the_rest() -> None:
    request = CODEC.request(BODY)
    assert json.loads(request.rest) == {
        "messages": {
            "0": {"name": "boss"},
            "2": {"refusal": "no", "tool_calls": {"1": {"custom": {"input": "ls"}}}},
            "4": {"role": "narrator", "content": "meanwhile"},
        },
        "tools": {"0": {"function": {"description": "finds"}}},
        "metadata": {"team": "blue"},
    }
    assert request.unscanned == ("audio", "input_audio")


def test_the_address_of_an_image_is_text_that_leaves() -> None:
    part = {"type": "image_url", "image_url": {"url": "https://x.example/?key=1"}}
    request = request_of({"role": "user", "content": [part]})
    assert "key=1" in request.rest
    assert request.messages[0].content_parts == (ImagePart(url="https://x.example/?key=1"),)


def test_files_cannot_be_inspected() -> None:
    file = {"type": "file", "file": {"file_id": "f1", "file_data": "data:x/y,x", "filename": "cv.pdf"}}
    request = request_of({"role": "user", "content": [file, "odd"]})
    assert request.unscanned == ("file_data", "file_id")
    assert json.loads(request.rest) == {
        "messages": {"0": {"content": {"0": {"file": {"filename": "cv.pdf"}}, "1": "odd"}}}
    }


@pytest.mark.parametrize(
    ("url", "unscanned"),
    [
        ("data:text/plain;base64,aGk=", ("data_url",)),
        ("data:text/plain,hi", ()),
        (PIXEL, ()),
        ("https://x.example/;base64,", ()),
    ],
)
def test_encoded_data_that_is_no_image_cannot_be_inspected(url: str, unscanned: tuple[str, ...]) -> None:
    part = {"type": "image_url", "image_url": {"url": url}}
    assert request_of({"role": "user", "content": [part]}).unscanned == unscanned


@pytest.mark.parametrize("model", ["m", "other"])
def test_an_unchanged_request_is_sent_as_it_came(model: str) -> None:
    request = CODEC.request(BODY)
    body = request.encoded(request.messages, model, request.rest)
    assert body == {**BODY, "model": model}
    assert (body is BODY) == (model == "m")


def test_what_came_is_never_changed() -> None:
    before = copy.deepcopy(BODY)
    request = CODEC.request(BODY)
    masked = [message.replace(content="*", content_parts=None) for message in request.messages]
    request.encoded(masked, "x", request.rest.replace("blue", "red"))
    assert before == BODY


def test_a_changed_text_keeps_what_stands_beside_it() -> None:
    request = request_of({"role": "user", "content": "a", "name": "ann"}, {"role": "user", "content": "b"})
    one, two = request.messages
    assert sent(request, one.replace(content="x"), two) == [
        {"role": "user", "content": "x", "name": "ann"},
        {"role": "user", "content": "b"},
    ]


def test_the_rest_is_written_back_beside_changed_messages() -> None:
    request = request_of({"role": "user", "content": "a", "name": "ann"}, {"role": "odd", "content": "b"})
    rest = request.rest.replace("ann", "*").replace('"b"', '"+"')
    assert sent(request, Message.system("new"), request.messages[0].replace(content="x"), rest=rest) == [
        {"role": "system", "content": "new"},
        {"role": "user", "content": "x", "name": "*"},
        {"role": "odd", "content": "+"},
    ]
    assert sent(request, rest=rest) == [{"role": "odd", "content": "+"}]


def test_new_dropped_and_reordered_messages() -> None:
    natives = [{"role": "user", "content": text, "name": text} for text in "abc"]
    request = request_of(*natives)
    one, _, three = request.messages
    new = Message.assistant("", tool_calls=[ToolCall(id="1", name="f", arguments_json="{}")])
    answer = Message.tool("ok", tool_call_id="1")
    image = Message.user([TextPart("see"), ImagePart(data=b"\x89PNG", mime_type="image/png")])
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    picture = {"type": "image_url", "image_url": {"url": PIXEL}}
    assert sent(request, three, new, answer, one, one, image) == [
        natives[2],
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "ok", "tool_call_id": "1"},
        natives[0],
        {"role": "user", "content": "a"},
        {"role": "user", "content": [{"type": "text", "text": "see"}, picture]},
    ]


def test_a_new_system_message_speaks_as_the_others_do() -> None:
    request = request_of({"role": "developer", "content": "a"})
    assert sent(request, *request.messages, Message.system("b"))[1] == {"role": "developer", "content": "b"}


def test_parts_are_written_into_their_places() -> None:
    request = CODEC.request(BODY)
    user = request.messages[1]
    assert user.content_parts is not None
    native = BODY["messages"][1]["content"]
    image = user.content_parts[1]
    messages = list(request.messages)
    messages[1] = user.replace(content_parts=[TextPart("*"), image])
    assert sent(request, *messages)[1]["content"] == [{"type": "text", "text": "*"}, native[1], native[3]]
    other = ImagePart(url="https://x.example/b.png", detail=ImageDetail.HIGH)
    messages[1] = user.replace(content_parts=[user.content_parts[0], other, TextPart("new"), TextPart("end")])
    assert sent(request, *messages)[1]["content"] == [
        native[0],
        {**native[1], "image_url": {"url": "https://x.example/b.png", "detail": "high"}},
        {**native[2], "text": "new"},
        native[3],
        {"type": "text", "text": "end"},
    ]


def test_united_parts_keep_what_the_others_said() -> None:
    cached = {"type": "text", "text": "b", "cache_control": {"type": "ephemeral"}}
    request = request_of({"role": "user", "content": [{"type": "text", "text": "a"}, cached]})
    united = request.messages[0].replace(content_parts=[TextPart("*")])
    assert sent(request, united)[0]["content"] == [
        {"type": "text", "text": "*", "cache_control": {"type": "ephemeral"}}
    ]


def test_parts_may_become_a_text_and_a_text_parts() -> None:
    audio = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
    request = request_of(
        {"role": "user", "content": [{"type": "text", "text": "a"}, audio]}, {"role": "user", "content": "b"}
    )
    one, two = request.messages
    written = sent(
        request,
        one.replace(content="x", content_parts=None),
        two.replace(content="", content_parts=[TextPart("y")]),
    )
    assert written[0]["content"] == [{"type": "text", "text": "x"}, audio]
    assert written[1]["content"] == [{"type": "text", "text": "y"}]
    emptied = sent(request, one.replace(content_parts=None), two)
    assert emptied[0]["content"] == [audio]


def test_calls_are_written_into_their_places() -> None:
    request = request_of({"role": "assistant", "content": None, "tool_calls": [CALL, CUSTOM]})
    (message,) = request.messages
    changed = message.replace(tool_calls=[message.tool_calls[0].replace(arguments_json="{}")])
    assert sent(request, changed)[0]["tool_calls"] == [
        {**CALL, "function": {"name": "find", "arguments": "{}"}},
        CUSTOM,
    ]
    assert sent(request, message.replace(tool_calls=[]))[0]["tool_calls"] == [CUSTOM]
    added = ToolCall(id="c3", name="f", arguments_json="{}")
    new = {"id": "c3", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    assert sent(request, message.replace(tool_calls=[added, *message.tool_calls]))[0]["tool_calls"] == [
        new,
        CALL,
        CUSTOM,
    ]
    only = request_of({"role": "assistant", "content": "a", "tool_calls": [CALL]})
    assert sent(only, only.messages[0].replace(tool_calls=[])) == [{"role": "assistant", "content": "a"}]


def test_arguments_that_are_no_text_stay_unless_they_change() -> None:
    odd = {"function": {"name": "f", "arguments": {"a": 1}}}
    none = {"id": "2", "function": {"name": "g"}}
    request = request_of({"role": "assistant", "content": "a", "tool_calls": [odd, none]})
    (message,) = request.messages
    assert [call.arguments_json for call in message.tool_calls] == ['{"a":1}', ""]
    assert sent(request, message.replace(content="b"))[0]["tool_calls"] == [odd, none]
    changed = [call.replace(arguments_json="{}") for call in message.tool_calls]
    assert sent(request, message.replace(tool_calls=changed))[0]["tool_calls"] == [
        {"function": {"name": "f", "arguments": "{}"}},
        {"id": "2", "function": {"name": "g", "arguments": "{}"}},
    ]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (Message(role=MessageRole.TOOL, content="a"), "without tool_call_id"),
        (
            Message(role=MessageRole.USER, tool_calls=(ToolCall(id="1", name="f", arguments_json="{}"),)),
            "no ASSISTANT message",
        ),
    ],
)
def test_what_has_no_place_is_refused(message: Message, words: str) -> None:
    request = request_of({"role": "user", "content": "a"})
    with pytest.raises(InterceptorError, match=words):
        sent(request, message)
    with pytest.raises(InterceptorError, match="no ASSISTANT message"):
        sent(
            request, request.messages[0].replace(tool_calls=[ToolCall(id="1", name="f", arguments_json="{}")])
        )


@pytest.mark.parametrize("messages", [None, "a", {"a": "b"}, 5])
def test_messages_of_a_wrong_type_are_left_to_the_provider(messages: object) -> None:
    body: dict[str, object] = {"messages": messages}
    request = CODEC.request(body)
    assert (request.messages, request.model) == ((), "")
    assert request.encoded((), "", request.rest) is body
    assert request.encoded([Message.user("a")], "m", request.rest) == {
        "messages": [{"role": "user", "content": "a"}],
        "model": "m",
    }


def test_a_request_that_is_too_deep_is_refused() -> None:
    deep: object = "x"
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(DlpInspectionError, match="too deeply"):
        _ = CODEC.request({"metadata": {"a": deep}, "messages": []}).rest


def test_a_rest_of_another_shape_is_refused() -> None:
    request = CODEC.request(BODY)
    for rest in ("", "{}", "text"):
        with pytest.raises(DlpInspectionError):
            request.encoded(request.messages, "m", rest)


@pytest.mark.parametrize(
    ("fields", "rest"),
    [
        ({"tool_choice": "auto", "function_call": "none"}, {}),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, {}),
        ({"functions": [{"name": "f", "description": "d"}]}, {"functions": {"0": {"description": "d"}}}),
        (
            {"tools": [{"type": "custom", "custom": {"name": "c", "description": "d"}}]},
            {"tools": {"0": {"custom": {"description": "d"}}}},
        ),
        ({"tools": [{"type": 5, "x": "y"}, 7]}, {"tools": {"0": {"type": 5, "x": "y"}}}),
        ({"logit_bias": {"a secret": 1}}, {"logit_bias": {"a secret": 1}}),
        ({"logit_bias": "a"}, {"logit_bias": "a"}),
        ({"stop": ["x"], "user": "u"}, {"stop": ["x"], "user": "u"}),
        ({"model": {"a": "b"}}, {"model": {"a": "b"}}),
    ],
)
def test_other_fields(fields: Mapping[str, object], rest: Mapping[str, object]) -> None:
    request = CODEC.request(fields)
    assert (json.loads(request.rest) if request.rest else {}) == rest


def test_tools_are_known_by_name() -> None:
    request = CODEC.request(
        {
            "tools": [
                {"type": "custom", "custom": {"name": "c"}},
                {"type": "function", "function": {"name": 5}},
            ],
            "functions": [{"name": "f", "description": 7, "parameters": {"type": "object"}}],
        }
    )
    assert [tool.name for tool in request.tools] == ["c", "f"]


PART = one_of(
    fields({"type": st.just("text"), "text": JSON}, optional={"more": JSON}),
    fields({"type": st.just("image_url"), "image_url": one_of(JSON, fields({"url": JSON}))}),
    JSON,
)
TOOL_CALL = one_of(
    fields(
        {"function": fields({"name": JSON, "arguments": JSON})},
        optional={"id": st.just("i"), "type": JSON},
    ),
    fields({"custom": fields({"name": st.just("n"), "input": JSON})}),
    JSON,
)
MESSAGE = one_of(
    fields(
        {"role": st.sampled_from(["system", "developer", "user", "assistant", "tool", "function", "odd"])},
        optional={
            "content": one_of(JSON, list_of(PART, max_size=3)),
            "name": JSON,
            "tool_calls": one_of(JSON, list_of(TOOL_CALL, max_size=2)),
            "function_call": JSON,
            "more": JSON,
        },
    ),
    JSON,
)
BODIES = fields(
    {"messages": one_of(list_of(MESSAGE, max_size=3), JSON)},
    optional={"model": st.just("m"), "tools": JSON, "stop": JSON, "tool_choice": JSON, "more": JSON},
)


@given(BODIES)
def test_every_text_is_shown_or_rest(body: dict[str, object]) -> None:
    request = CODEC.request(body)
    shown = [request.rest, request.model]
    for message in request.messages:
        shown.append(message.content)
        shown.extend(
            getattr(part, "text", None) or getattr(part, "url", "") for part in message.content_parts or ()
        )
        for call in message.tool_calls:
            shown.extend((call.name, call.arguments_json))
        shown.extend((message.tool_call_id or "", message.tool_name or ""))
    everything = "\n".join(shown)
    assert [text for text in texts_in(body) if text not in everything] == []


@given(BODIES)
def test_an_unchanged_body_comes_back(body: dict[str, object]) -> None:
    before = copy.deepcopy(body)
    request = CODEC.request(body)
    assert request.encoded(request.messages, request.model, request.rest) is body
    # written as if each message had changed
    masked = [
        message.replace(content="*", content_parts=None) if message.content_parts is None else message
        for message in request.messages
    ]
    request.encoded(masked, request.model, request.rest)
    again = request.encoded([*request.messages, Message.user("new")], request.model, request.rest)
    if isinstance(body["messages"], list):
        assert again == {**body, "messages": [*body["messages"], {"role": "user", "content": "new"}]}
    assert body == before
