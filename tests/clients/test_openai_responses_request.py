"""Requests of OpenAI responses: which messages they show, what else is inspected, and how changes are written."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tramapy import DlpInspectionError, ImagePart, InterceptorError, Message, MessageRole, TextPart, ToolCall
from tramapy.clients.openai_responses import ResponsesCodec

PNG = "data:image/png;base64,iVBORw0KGgo="
CODEC = ResponsesCodec()


def request(*items: Any, **fields: Any) -> Any:
    return CODEC.request({"model": "m", "input": list(items), **fields})


def written(asked: Any, *messages: Message, **options: Any) -> Any:
    body = asked.encoded(messages, options.get("model", "m"), options.get("rest", asked.rest))
    json.dumps(body)
    return body


def call(arguments: str = "{}", **fields: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": "c1", "name": "f", "arguments": arguments, **fields}


def output(value: Any, kind: str = "function_call_output", **fields: Any) -> dict[str, Any]:
    return {"type": kind, "call_id": "c1", "output": value, **fields}


def text(value: str, kind: str = "input_text", **fields: Any) -> dict[str, Any]:
    return {"type": kind, "text": value, **fields}


USER = {"role": "user", "content": "hello"}
IMAGE = {"type": "input_image", "image_url": PNG, "detail": "high"}
SHELL = output(
    [{"stdout": "out", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}], "shell_call_output"
)


SHOWN = {
    "user": (USER, Message.user("hello")),
    "typed": ({**USER, "type": "message", "id": "m1", "status": "completed"}, Message.user("hello")),
    "developer": ({"role": "developer", "content": "be"}, Message.system("be")),
    "parts": (
        {"role": "user", "content": [text("a"), IMAGE, {"type": "input_file", "file_id": "f"}]},
        Message.user([TextPart("a"), ImagePart(data=b"\x89PNG\r\n\x1a\n", mime_type="image/png")]),
    ),
    "assistant": (
        {"role": "assistant", "content": [text("a", "output_text"), {"type": "refusal", "refusal": "no"}]},
        Message(role=MessageRole.ASSISTANT, content_parts=(TextPart("a"), TextPart("no"))),
    ),
    "call": (
        call('{"a":1}'),
        Message.assistant(tool_calls=[ToolCall(id="c1", name="f", arguments_json='{"a":1}')]),
    ),
    "custom": (
        {"type": "custom_tool_call", "call_id": "c1", "name": "f", "input": "x"},
        Message.assistant(tool_calls=[ToolCall(id="c1", name="f", arguments_json="x")]),
    ),
    "output": (output("x"), Message.tool("x", tool_call_id="c1")),
    "named output": (output("x", name="f"), Message.tool("x", tool_call_id="c1", tool_name="f")),
    "custom output": (output("x", "custom_tool_call_output"), Message.tool("x", tool_call_id="c1")),
    "output of parts": (
        output([text("a"), text("b")]),
        Message(role=MessageRole.TOOL, content_parts=(TextPart("a"), TextPart("b")), tool_call_id="c1"),
    ),
    "local shell": (
        {"type": "local_shell_call_output", "id": "c1", "output": "x"},
        Message(role=MessageRole.TOOL, content="x"),
    ),
    "patch": (output("x", "apply_patch_call_output"), Message.tool("x", tool_call_id="c1")),
    "shell": (SHELL, Message(role=MessageRole.TOOL, content_parts=(TextPart("out"),), tool_call_id="c1")),
}


@pytest.mark.parametrize("name", SHOWN)
def test_an_item_is_shown_as_a_message(name: str) -> None:
    item, message = SHOWN[name]
    shown = request(item).messages
    assert [each.replace() for each in shown] == [message if not message.has_image else shown[0]]
    assert shown[0].content_parts == message.content_parts or message.has_image


def test_instructions_and_a_text_are_messages() -> None:
    asked = CODEC.request({"model": "m", "instructions": "be", "input": "hello", "stream": True})
    assert asked.messages == (Message.system("be"), Message.user("hello"))
    assert asked.is_stream
    assert asked.rest == ""


def test_a_result_knows_the_tool_of_its_call() -> None:
    assert request(call(), output("x")).messages[1].tool_name == "f"


NOT_SHOWN = [
    {"role": "critic", "content": "canary"},
    {"role": 7, "content": "canary"},
    {"role": "user", "content": {"canary": 1}},
    {"role": "user", "content": [{"type": "input_text", "text": ["canary"]}]},
    {"role": "user", "content": [{"type": "new", "text": "canary"}, "canary", None]},
    {"role": "user", "content": [{"type": ["canary"]}]},
    {"role": "user", "content": [{"type": "reasoning_text", "text": "canary"}]},
    {"role": "user", "content": [{"type": "input_file", "filename": "canary"}]},
    {"role": "user", "content": [{"type": "input_file", "file_data": "canary"}]},
    {"role": "user", "content": [{"type": "input_image", "image_url": "https://example.org/canary"}]},
    {"role": "user", "content": [{"type": "input_image", "image_url": ["canary"]}]},
    {"role": "user", "content": "x", "status": {"canary": 1}},
    {
        "role": "assistant",
        "content": [{"type": "output_text", "text": "", "annotations": [{"title": "canary"}]}],
    },
    {"type": {"canary": 1}},
    {"type": "function_call", "call_id": "c", "name": "f", "arguments": {"canary": 1}},
    {"type": "function_call", "call_id": "c", "arguments": "canary"},
    {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "namespace": "canary"},
    output({"canary": 1}),
    output(["canary"], "apply_patch_call_output"),
    output(["canary"], "shell_call_output"),
    output({"canary": 1}, "shell_call_output"),
    {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "canary"}]},
    {"type": "file_search_call", "queries": ["canary"]},
    {"type": "web_search_call", "action": {"type": "search", "query": "canary"}},
    {"type": "computer_call", "action": {"type": "type", "text": "canary"}},
    {"type": "computer_call_output", "output": {"type": "computer_screenshot", "image_url": "http://canary"}},
    {"type": "mcp_call", "arguments": "canary"},
    {"type": "mcp_call", "output": "canary"},
    {"type": "code_interpreter_call", "code": "canary", "outputs": [{"type": "logs", "logs": "canary"}]},
    {"type": "local_shell_call", "action": {"command": ["canary"], "env": {"a": "canary"}}},
    {"type": "shell_call", "action": {"commands": ["canary"]}},
    {"type": "apply_patch_call", "operation": {"type": "create_file", "diff": "canary"}},
    {"type": "image_generation_call", "revised_prompt": "canary"},
    {"type": "additional_tools", "role": "developer", "tools": [{"description": "canary"}]},
    {"type": "program", "code": "canary"},
    {"type": "program_output", "result": "canary"},
    {"type": "mcp_approval_response", "reason": "canary"},
    {"type": "tomorrow", "id": "canary"},
    "canary",
    ["canary"],
    {"canary": None, "type": None},
]


@pytest.mark.parametrize("item", NOT_SHOWN, ids=lambda item: json.dumps(item)[:60])
def test_all_other_text_of_an_item_is_in_the_rest(item: Any) -> None:
    asked = request(USER, item)
    assert "canary" in asked.rest
    assert written(asked, *asked.messages) == {"model": "m", "input": [USER, item]}
    changed = asked.rest.replace("canary", "[C]")
    body = written(asked, *asked.messages, rest=changed)
    assert "canary" not in json.dumps(body)
    assert body["input"][0] is USER


FIELDS = [
    {"metadata": {"a": "canary"}},
    {"user": "canary"},
    {"safety_identifier": "canary"},
    {"prompt_cache_key": "canary"},
    {"prompt": {"id": "p", "variables": {"a": "canary"}}},
    {"tools": [{"type": "function", "name": "f", "description": "canary", "parameters": {}}]},
    {"tools": [{"type": "function", "name": "f", "parameters": {"properties": {"a": {"enum": ["canary"]}}}}]},
    {"tools": [{"type": "mcp", "server_description": "canary"}]},
    {"tools": {"canary": 1}},
    {"tool_choice": {"type": "function", "name": "canary"}},
    {"tool_choice": "CANARY canary"},
    {"text": {"format": {"type": "json_schema", "schema": {"description": "canary"}}}},
    {"instructions": ["canary"]},
    {"conversation": {"id": "c", "more": "canary"}},
    {"stream": {"more": "canary"}},
    {"tomorrow": {"deep": ["canary"]}},
]


@pytest.mark.parametrize("fields", FIELDS, ids=lambda fields: json.dumps(fields)[:60])
def test_all_other_text_of_a_request_is_in_the_rest(fields: dict[str, Any]) -> None:
    asked = request(USER, **fields)
    assert "canary" in asked.rest
    body = written(asked, *asked.messages, rest=asked.rest.replace("canary", "[C]"))
    assert "canary" not in json.dumps(body)
    assert json.dumps(body).count("[C]") == json.dumps(fields).count("canary")


def test_what_is_no_text_is_no_rest() -> None:
    asked = request(
        {"role": "user", "content": [IMAGE, {"type": "input_file", "file_data": "data:a/b;base64,AAAA"}]},
        {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "AAAA"},
        {"type": "compaction", "id": "r", "encrypted_content": "AAAA"},
        {"type": "item_reference", "id": "m_1"},
        {"id": "m_2"},
        {
            "type": "computer_call_output",
            "call_id": "c",
            "output": {"type": "computer_screenshot", "file_id": "f"},
        },
        {
            "role": "user",
            "content": [{"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}}],
        },
        call(),
        output("x"),
        SHELL,
        temperature=1.0,
        max_output_tokens=10_000_000,
        previous_response_id="resp_1",
        conversation="conv_1",
        prompt={"id": "p", "version": "1"},
        background=True,
        include=["reasoning.encrypted_content"],
        reasoning={"effort": "low"},
        text={"format": {"type": "text"}, "verbosity": "low"},
        tool_choice="auto",
        tools=[
            {"type": "web_search_2025_08_26"},
            {"type": "file_search", "vector_store_ids": ["vs_1"]},
            {"type": "mcp", "authorization": "plainly-fake", "headers": {"X-Key": "plainly-fake"}},
        ],
    )
    assert asked.rest == ""
    assert asked.unscanned == (
        "previous_response_id",
        "conversation",
        "prompt",
        "background",
        "mcp_authorization",
        "file_data",
        "encrypted_content",
        "item_reference",
        "file_id",
        "input_audio",
    )


def test_tools_are_declared() -> None:
    tools = [
        {"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}},
        {"type": "namespace", "name": "n", "tools": [{"type": "custom", "name": "g"}]},
        {"type": "web_search"},
        7,
    ]
    names = [(tool.name, tool.description) for tool in request(tools=tools).tools]
    assert names == [("f", "d"), ("g", "")]


def test_nothing_changed_is_the_very_body() -> None:
    body: Any = {"model": "m", "instructions": "be", "input": [USER, call(), output("x")], "user": "u"}
    before = copy.deepcopy(body)
    asked = CODEC.request(body)
    assert asked.encoded(asked.messages, "m", asked.rest) is body
    other = asked.encoded(tuple(message.replace() for message in asked.messages), "n", asked.rest)
    assert other == {**body, "model": "n"}
    assert other["input"] is body["input"]
    assert body == before


CHANGED = {
    "text": (USER, {"content": "x"}, [{**USER, "content": "x"}]),
    "text to parts": (
        USER,
        {"content": "", "content_parts": [TextPart("x")]},
        [{**USER, "content": [text("x")]}],
    ),
    "parts to text": (
        {"role": "user", "content": [text("a"), IMAGE, text("b"), {"type": "input_file", "file_id": "f"}]},
        {"content": "x", "content_parts": None},
        [{"role": "user", "content": [text("x"), {"type": "input_file", "file_id": "f"}]}],
    ),
    "parts to nothing": (
        {"role": "user", "content": [text("a")]},
        {"content": "", "content_parts": None},
        [{"role": "user", "content": []}],
    ),
    "united": (
        {"role": "user", "content": [text("a"), text("b", prompt_cache_breakpoint={"mode": "explicit"})]},
        {"content_parts": [TextPart("x")]},
        [{"role": "user", "content": [text("x", prompt_cache_breakpoint={"mode": "explicit"})]}],
    ),
    "tokens": (
        {"role": "assistant", "content": [text("a", "output_text", logprobs=[1], annotations=[])]},
        {"content_parts": [TextPart("x")]},
        [{"role": "assistant", "content": [text("x", "output_text", annotations=[])]}],
    ),
    "refusal": (
        {"role": "assistant", "content": [text("a", "output_text"), {"type": "refusal", "refusal": "no"}]},
        {"content_parts": [TextPart("a"), TextPart("x")]},
        [{"role": "assistant", "content": [text("a", "output_text"), {"type": "refusal", "refusal": "x"}]}],
    ),
    "new parts": (
        {"role": "user", "content": [text("a")]},
        {"content_parts": [TextPart("a"), ImagePart(url="https://example.org/i"), TextPart("b")]},
        [
            {
                "role": "user",
                "content": [
                    text("a"),
                    {"type": "input_image", "image_url": "https://example.org/i", "detail": "auto"},
                    text("b"),
                ],
            }
        ],
    ),
    "other image": (
        {"role": "user", "content": [IMAGE]},
        {"content_parts": [ImagePart(url="https://example.org/i")]},
        [
            {
                "role": "user",
                "content": [{**IMAGE, "image_url": "https://example.org/i", "detail": "auto"}],
            }
        ],
    ),
    "assistant's new part": (
        {"role": "assistant", "content": "a"},
        {"content": "", "content_parts": [TextPart("x")]},
        [{"role": "assistant", "content": [text("x", "output_text", annotations=[])]}],
    ),
    "assistant's new call": (
        {"role": "assistant", "content": "a"},
        {"tool_calls": [ToolCall(id="n", name="g", arguments_json="{}")]},
        [{"role": "assistant", "content": "a"}, call(call_id="n", name="g")],
    ),
    "arguments": (
        call("{}", id="fc_1"),
        {"tool_calls": [ToolCall(id="c1", name="f", arguments_json="[]")]},
        [call("[]", id="fc_1")],
    ),
    "input": (
        {"type": "custom_tool_call", "call_id": "c1", "name": "f", "input": "x"},
        {"tool_calls": [ToolCall(id="c1", name="f", arguments_json="y")]},
        [{"type": "custom_tool_call", "call_id": "c1", "name": "f", "input": "y"}],
    ),
    "call with text and another call": (
        call(),
        {
            "content": "so",
            "tool_calls": [
                ToolCall(id="n", name="g", arguments_json="{}"),
                ToolCall(id="c1", name="f", arguments_json="{}"),
            ],
        },
        [{"role": "assistant", "content": "so"}, call(call_id="n", name="g"), call()],
    ),
    "call to nothing": (call(), {"tool_calls": []}, []),
    "output": (output("a", id="o"), {"content": "x"}, [output("x", id="o")]),
    "output of parts": (
        output([text("a"), IMAGE]),
        {"content_parts": [TextPart("x")]},
        [output([text("x")])],
    ),
    "local shell": (
        {"type": "local_shell_call_output", "id": "c1", "output": "a"},
        {"content": "", "content_parts": [TextPart("x"), TextPart("y")]},
        [{"type": "local_shell_call_output", "id": "c1", "output": "xy"}],
    ),
    "shell": (
        output(
            [{"stdout": "a secret", "stderr": "warned"}, {"stdout": "", "stderr": ""}], "shell_call_output"
        ),
        {"content_parts": [TextPart("a [S]warned")]},
        [
            output(
                [{"stdout": "a [S]", "stderr": "warned"}, {"stdout": "", "stderr": ""}], "shell_call_output"
            )
        ],
    ),
    "silent shell": (
        output([{"stdout": "", "stderr": ""}], "shell_call_output"),
        {"content": " ", "content_parts": []},
        [output([{"stdout": "", "stderr": ""}], "shell_call_output")],
    ),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_change_is_written_in_its_place(name: str) -> None:
    item, changes, items = CHANGED[name]
    before = copy.deepcopy(item)
    asked = request(USER, item, USER)
    first, shown, last = asked.messages
    body = written(asked, first, shown.replace(**changes), last)
    assert body["input"] == [USER, *items, USER]
    assert item == before


def test_an_image_that_stays_keeps_its_native_form() -> None:
    asked = request({"role": "user", "content": [text("a"), {**IMAGE, "detail": "original"}]})
    (shown,) = asked.messages
    assert shown.content_parts is not None
    body = written(asked, shown.replace(content_parts=[TextPart("x"), shown.content_parts[1]]))
    assert body["input"][0]["content"] == [text("x"), {**IMAGE, "detail": "original"}]


def test_an_address_that_was_inspected_stays_so_where_the_text_beside_it_changes() -> None:
    asked = request(
        {"role": "user", "content": [text("a"), {"type": "input_image", "image_url": "https://secret"}]}
    )
    (shown,) = asked.messages
    assert shown.content_parts is not None
    changed = shown.replace(content_parts=[TextPart("x"), shown.content_parts[1]])
    body = asked.encoded([changed], asked.model, asked.rest.replace("secret", "***"))
    assert body["input"] == [
        {"role": "user", "content": [text("x"), {"type": "input_image", "image_url": "https://***"}]}
    ]


REFUSED = {
    "calls of a user": (USER, {"tool_calls": [ToolCall(id="n", name="g", arguments_json="{}")]}),
    "calls of a tool": (output("x"), {"tool_calls": [ToolCall(id="n", name="g", arguments_json="{}")]}),
    "image of the assistant": (
        {"role": "assistant", "content": []},
        {"content_parts": [ImagePart(url="https://example.org/i")]},
    ),
    "image of a shell": (SHELL, {"content_parts": [ImagePart(url="https://example.org/i")]}),
    "text of a silent shell": (output([], "shell_call_output"), {"content_parts": [TextPart("x")]}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_format_cannot_hold_is_refused(name: str) -> None:
    item, changes = REFUSED[name]
    asked = request(item)
    with pytest.raises(InterceptorError, match="no place"):
        written(asked, asked.messages[0].replace(**changes))


NEW = {
    "system": (Message.system("x"), [{"role": "system", "content": "x"}]),
    "user": (Message.user([TextPart("x")]), [{"role": "user", "content": [text("x")]}]),
    "assistant": (Message.assistant("x"), [{"role": "assistant", "content": "x"}]),
    "silent assistant": (Message.assistant(""), [{"role": "assistant", "content": ""}]),
    "calls": (
        Message.assistant(tool_calls=[ToolCall(id="n", name="g", arguments_json="{}")]),
        [call(call_id="n", name="g")],
    ),
    "result": (Message.tool("x", tool_call_id="n"), [output("x", call_id="n")]),
    "result of a custom call": (
        Message.tool("x", tool_call_id="c9"),
        [output("x", "custom_tool_call_output", call_id="c9")],
    ),
}
CUSTOM = {"type": "custom_tool_call", "call_id": "c9", "name": "f", "input": "x"}


@pytest.mark.parametrize("name", NEW)
def test_a_new_message_stands_at_its_place(name: str) -> None:
    message, items = NEW[name]
    asked = request(CUSTOM, USER)
    assert written(asked, asked.messages[0], message, asked.messages[1])["input"] == [CUSTOM, *items, USER]


def test_a_result_of_no_call_is_refused() -> None:
    asked = request(USER)
    with pytest.raises(InterceptorError, match="tool_call_id"):
        written(asked, Message(role=MessageRole.TOOL, content="x"))


def test_messages_are_dropped_and_reordered() -> None:
    reference = {"type": "item_reference", "id": "m"}
    asked = request(USER, reference, call(), output("x"))
    user, called, result = asked.messages
    assert written(asked, called, result)["input"] == [reference, call(), output("x")]
    assert written(asked, result, user)["input"] == [reference, output("x"), USER]
    assert written(asked)["input"] == [reference]


def test_another_role_makes_a_new_message() -> None:
    item = {**USER, "id": "m1"}
    asked = request(item)
    body = written(asked, asked.messages[0].replace(role=MessageRole.ASSISTANT))
    assert body["input"] == [{"role": "assistant", "content": "hello"}]


def test_reasoning_goes_with_what_it_led_to() -> None:
    thoughts = [{"type": "reasoning", "id": f"r{at}", "summary": []} for at in range(4)]
    last = {"type": "web_search_call", "id": "w", "status": "completed"}
    asked = request(
        thoughts[0], thoughts[1], call(), {"role": "assistant", "content": "a"}, USER, thoughts[2], last
    )
    called, said, user = asked.messages
    assert written(asked, user)["input"] == [USER, thoughts[2], last]
    assert written(asked, said, user)["input"] == [
        *thoughts[:2],
        {"role": "assistant", "content": "a"},
        USER,
        thoughts[2],
        last,
    ]
    assert written(asked, called)["input"] == [*thoughts[:2], call(), thoughts[2], last]
    alone = request(USER, thoughts[3])
    assert written(alone)["input"] == [thoughts[3]]


def test_a_call_goes_with_its_output() -> None:
    ran = {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}}
    asked = request(ran, SHELL, USER)
    result, user = asked.messages
    assert written(asked, user)["input"] == [USER]
    body = written(asked, result.replace(tool_call_id="c2"), user)
    assert body["input"][0]["type"] == "function_call_output"
    again = written(asked, Message.tool("x", tool_call_id="c1"), Message.tool("y", tool_call_id="c1"), user)
    ran_again = {**SHELL["output"][0], "stdout": "x"}
    assert again["input"] == [ran, {**SHELL, "output": [ran_again]}, output("y"), USER]


def lead(**fields: Any) -> Any:
    return CODEC.request({"model": "m", "instructions": "be", "input": "hello", **fields})


def test_a_text_stays_a_text_and_instructions_stay_instructions() -> None:
    asked = lead()
    system, user = asked.messages
    assert written(asked, system.replace(content="do"), user.replace(content="x")) == {
        "model": "m",
        "instructions": "do",
        "input": "x",
    }
    assert written(asked, user) == {"model": "m", "input": "hello"}
    assert written(asked, system) == {"model": "m", "instructions": "be", "input": []}
    assert written(asked, Message.system("new"), system, user) == {
        "model": "m",
        "instructions": "be",
        "input": [{"role": "system", "content": "new"}, USER],
    }
    assert written(asked, user, system)["input"] == [USER, {"role": "system", "content": "be"}]
    assert "instructions" not in written(asked, user, system)
    turned = written(asked, system.replace(content="", content_parts=[TextPart("be")]), user)
    assert turned == {"model": "m", "input": [{"role": "system", "content": [text("be")]}, USER]}
    assert written(asked, Message.user("first"), system)["input"] == [
        {"role": "user", "content": "first"},
        {"role": "system", "content": "be"},
    ]
    assert written(asked, system, user, Message.assistant("x"))["input"] == [
        USER,
        {"role": "assistant", "content": "x"},
    ]


def test_a_request_without_input_takes_messages() -> None:
    asked = CODEC.request({"model": "m", "prompt": {"id": "p"}})
    assert asked.messages == ()
    assert written(asked, Message.user("x"))["input"] == [{"role": "user", "content": "x"}]
    asked = CODEC.request({"instructions": "be"})
    assert written(asked) == {"model": "m"}
    asked = CODEC.request({"instructions": ["be"], "input": [USER]})
    assert asked.encoded((), "", asked.rest) == {"instructions": ["be"], "input": []}


def test_an_input_that_is_no_list_takes_no_messages() -> None:
    asked = CODEC.request({"input": {"a": "canary"}})
    assert asked.rest == '{"input":{"a":"canary"}}'
    with pytest.raises(InterceptorError, match="no list"):
        asked.encoded([Message.user("x")], "", asked.rest)


def test_rest_and_messages_change_together() -> None:
    asked = request({"role": "user", "content": [text("a"), {"type": "new", "b": "canary"}]}, USER)
    first, second = asked.messages
    body = written(
        asked, second, first.replace(content_parts=[TextPart("x")]), rest=asked.rest.replace("canary", "*")
    )
    assert body["input"] == [USER, {"role": "user", "content": [text("x"), {"type": "new", "b": "*"}]}]


def test_a_request_that_is_nested_too_deeply_is_not_sent() -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(DlpInspectionError, match="nested"):
        _ = request(USER, tomorrow=deep).rest
    while deep and isinstance(deep, list):
        deep = deep.pop()


LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=4)
VALUES = st.recursive(
    LEAVES,
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=4), children, max_size=3)
    ),
    max_leaves=6,
)
KINDS = [item["type"] for item, _ in SHOWN.values() if "type" in item] + [
    "reasoning",
    "mcp_call",
    "shell_call",
    "item_reference",
    "tomorrow",
    "message",
]
PART_KINDS = ["input_text", "output_text", "refusal", "input_image", "input_file", "input_audio", "new"]
PARTS = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(PART_KINDS)},
        optional={
            "text": VALUES,
            "refusal": VALUES,
            "image_url": VALUES,
            "file_data": VALUES,
            "note": VALUES,
        },
    ),
    max_size=3,
)
ITEMS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(KINDS) | VALUES,
        "role": st.sampled_from(["user", "assistant", "system", "tool"]) | VALUES,
        "content": st.text(max_size=4) | PARTS | VALUES,
        "call_id": st.text(max_size=2) | VALUES,
        "name": st.text(max_size=2) | VALUES,
        "arguments": st.text(max_size=4) | VALUES,
        "input": st.text(max_size=4) | VALUES,
        "output": st.text(max_size=4)
        | PARTS
        | st.lists(
            st.fixed_dictionaries({"stdout": st.text(max_size=3), "stderr": st.text(max_size=3)}), max_size=2
        )
        | VALUES,
        "summary": PARTS | VALUES,
        "status": VALUES,
    },
)
BODIES = st.fixed_dictionaries(
    {"input": st.text(max_size=4) | st.lists(ITEMS, max_size=5) | VALUES},
    optional={
        "model": st.text(max_size=3) | VALUES,
        "instructions": st.text(max_size=4) | VALUES,
        "tools": st.lists(VALUES, max_size=2) | VALUES,
        "metadata": VALUES,
        "prompt": VALUES,
        "stream": VALUES,
    },
)


@given(body=BODIES)
def test_what_is_shown_is_written_back_as_it_was(body: dict[str, Any]) -> None:
    asked = CODEC.request(body)
    assert asked.encoded(asked.messages, asked.model, asked.rest) is body
    # as new lists, with one dropped and put back by a change that is none
    if asked.messages and asked.encoded(asked.messages[::-1], asked.model, asked.rest) is body:
        assert len(asked.messages) == 1 or asked.messages == asked.messages[::-1]


CANARY = "canary-4111"


def planted(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all texts of a value."""
    if isinstance(value, str):
        return [path]
    if isinstance(value, dict):
        return [found for name, item in value.items() for found in planted(item, (*path, name))]
    if isinstance(value, list):
        return [found for at, item in enumerate(value) for found in planted(item, (*path, at))]
    return []


OPAQUE = {"type", "id", "call_id", "model", "name", "role", "file_data", "status"}


@given(body=BODIES, data=st.data())
def test_every_text_of_a_request_is_seen(body: dict[str, Any], data: st.DataObject) -> None:
    paths = [path for path in planted(body) if path[-1] not in OPAQUE]
    if not paths:
        return
    path = data.draw(st.sampled_from(paths))
    body = copy.deepcopy(body)
    place: Any = body
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = CANARY
    asked = CODEC.request(body)
    seen = json.dumps([asked.rest, [_shown(message) for message in asked.messages]])
    assert CANARY in seen


def _shown(message: Message) -> list[str]:
    parts = [
        part.text if isinstance(part, TextPart) else str(part.url) for part in message.content_parts or ()
    ]
    return [message.content, *parts, *(call.arguments_json for call in message.tool_calls)]
