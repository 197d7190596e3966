"""Every place where the vendors' formats have text, with a secret in each: none of it is sent, and none comes back.

What is left of a body is compared as a whole, so that a place that is lost is found as well as one that is passed over.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest

from tests.clients.every_call import CHAT, MESSAGES, RESPONSES, Call
from tests.clients.worlds import Use, World
from tramapy import DlpContentType, DlpRule, RuleBasedDlpConfiguration, RuleBasedDlpInterceptor

SECRET, RESULT = "canary 5b1e77", "canary 90ab1c"
S = f"say {SECRET} here"  # in any text
R = f"see {RESULT} there"  # in the result of a tool


def rules(pattern: str) -> RuleBasedDlpInterceptor:
    rule = DlpRule(id="canary", pattern=pattern, replacement="[gone]", enabled_for=list(DlpContentType))
    return RuleBasedDlpInterceptor(RuleBasedDlpConfiguration(rules=[rule]))


BOTH = rules(f"{SECRET}|{RESULT}")
PATHS = {CHAT: "/chat/completions", RESPONSES: "/responses", MESSAGES: "/v1/messages"}
ARGUMENTS = json.dumps({"q": S, S: [S]})
SCHEMA = {
    "type": "object",
    "description": S,
    "properties": {"q": {"type": "string", "description": S, "enum": [S], "default": S}},
}
PNG = "data:image/png;base64,iVBORw0KGgo="
AT = f"https://a.example/{S}"
LOCATION = {"type": "char_location", "cited_text": S, "document_title": S, "document_index": 0}

CHAT_REQUEST: Mapping[str, Any] = {
    "messages": [
        {"role": "system", "content": S, "name": S},
        {"role": "developer", "content": [{"type": "text", "text": S}]},
        {
            "role": "user",
            "name": S,
            "content": [
                {"type": "text", "text": S},
                {"type": "image_url", "image_url": {"url": AT}},
                {"type": "image_url", "image_url": {"url": PNG}},
                {"type": "image_url", "image_url": {"url": f"data:text/plain,{S}"}},
                {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
                {"type": "file", "file": {"file_id": "file-1", "filename": S}},
                {"type": "tomorrow", "words": [S]},
            ],
        },
        {
            "role": "assistant",
            "content": [{"type": "text", "text": S}, {"type": "refusal", "refusal": S}],
            "refusal": S,
            "reasoning_content": S,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": ARGUMENTS}},
                {"id": "c2", "type": "custom", "custom": {"name": "g", "input": S}},
            ],
            "function_call": {"name": "f", "arguments": ARGUMENTS},
        },
        {"role": "tool", "tool_call_id": "c1", "content": R},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": R}]},
        {"role": "function", "name": "f", "content": R},
        {"role": "tomorrow", "content": S},
    ],
    "tools": [
        {"type": "function", "function": {"name": "f", "description": S, "parameters": SCHEMA}},
        {
            "type": "custom",
            "custom": {
                "name": "g",
                "description": S,
                "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": S}},
            },
        },
        {"type": "tomorrow", "words": S},
    ],
    "functions": [{"name": "f", "description": S, "parameters": SCHEMA}],
    "response_format": {
        "type": "json_schema",
        "json_schema": {"name": "s", "description": S, "schema": SCHEMA},
    },
    "prediction": {"type": "content", "content": [{"type": "text", "text": S}]},
    "web_search_options": {"user_location": {"approximate": {"city": S}, "type": "approximate"}},
    "metadata": {"team": S},
    "user": S,
    "safety_identifier": S,
    "prompt_cache_key": S,
    "stop": [S],
    "of_tomorrow": {"words": [S]},
}

LOGS = [{"type": "logs", "logs": S}]
SHELL = {"stdout": S, "stderr": S, "outcome": {"type": "exit", "exit_code": 0}}
# what both a request and an answer may hold
ITEMS: list[dict[str, Any]] = [
    {"type": "function_call", "id": "fc", "call_id": "c1", "name": "f", "arguments": ARGUMENTS},
    {"type": "custom_tool_call", "id": "ct", "call_id": "c2", "name": "g", "input": S},
    {
        "type": "reasoning",
        "id": "rs",
        "encrypted_content": "AAAA",
        "summary": [{"type": "summary_text", "text": S}],
        "content": [{"type": "reasoning_text", "text": S}],
    },
    {"type": "file_search_call", "id": "fs", "queries": [S], "results": [{"text": S, "filename": S}]},
    {
        "type": "web_search_call",
        "id": "ws",
        "action": {"type": "search", "query": S, "sources": [{"type": "url", "url": AT}]},
    },
    {
        "type": "computer_call",
        "id": "cc",
        "call_id": "c3",
        "action": {"type": "type", "text": S},
        "pending_safety_checks": [{"id": "p", "code": "x", "message": S}],
    },
    {"type": "code_interpreter_call", "id": "ci", "container_id": "k", "code": S, "outputs": LOGS},
    {
        "type": "local_shell_call",
        "id": "ls",
        "call_id": "c4",
        "action": {"type": "exec", "command": ["echo", S], "env": {"A": S}, "working_directory": S},
    },
    {"type": "shell_call", "id": "sc", "call_id": "c5", "action": {"commands": [S]}},
    {
        "type": "apply_patch_call",
        "id": "ap",
        "call_id": "c6",
        "operation": {"type": "create_file", "path": S, "diff": S},
    },
    {"type": "mcp_list_tools", "id": "ml", "server_label": S, "tools": [{"name": "f", "description": S}]},
    {"type": "mcp_approval_request", "id": "ma", "server_label": S, "name": "f", "arguments": ARGUMENTS},
    {
        "type": "mcp_call",
        "id": "mc",
        "server_label": S,
        "name": "f",
        "arguments": ARGUMENTS,
        "output": S,
        "error": S,
    },
    {"type": "image_generation_call", "id": "ig", "result": "AAAA", "revised_prompt": S},
    {"type": "tool_search_call", "id": "ts", "call_id": "c7", "arguments": {"q": S}},
    {"type": "tool_search_output", "id": "to", "call_id": "c7", "tools": [{"name": "f", "description": S}]},
    {"type": "program", "id": "pr", "code": S},
    {"type": "program_output", "id": "po", "result": S},
    {"type": "compaction", "id": "cp", "encrypted_content": "AAAA", "note": S},
    {"type": "of_tomorrow", "words": [S]},
]

RESPONSES_REQUEST: Mapping[str, Any] = {
    "instructions": S,
    "input": [
        {"role": "developer", "content": S},
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": S},
                {"type": "input_image", "image_url": AT},
                {"type": "input_file", "file_id": "file-1", "filename": S, "file_url": AT},
                {"type": "of_tomorrow", "words": [S]},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "output_text", "text": S, "annotations": [{"type": "url_citation", "title": S}]}
            ],
        },
        {"role": "assistant", "content": [{"type": "refusal", "refusal": S}]},
        *ITEMS,
        {"type": "function_call_output", "call_id": "c1", "output": R},
        {
            "type": "custom_tool_call_output",
            "call_id": "c2",
            "output": [{"type": "input_text", "text": R}],
        },
        {"type": "local_shell_call_output", "id": "c4", "output": R},
        {
            "type": "shell_call_output",
            "call_id": "c5",
            "output": [{**SHELL, "stdout": R, "stderr": R}],
        },
        {"type": "apply_patch_call_output", "call_id": "c6", "status": "completed", "output": R},
        {
            "type": "computer_call_output",
            "call_id": "c3",
            "output": {"type": "computer_screenshot", "image_url": AT},
        },
        {"type": "mcp_approval_response", "approval_request_id": "ma", "approve": True, "reason": S},
    ],
    "prompt": {"id": "p", "version": "1", "variables": {"who": S, "what": {"type": "input_text", "text": S}}},
    "tools": [
        {"type": "function", "name": "f", "description": S, "parameters": SCHEMA, "strict": None},
        {"type": "custom", "name": "g", "description": S},
        {"type": "mcp", "server_label": S, "server_url": AT, "server_description": S, "allowed_tools": [S]},
        {"type": "file_search", "vector_store_ids": ["v"], "filters": {"type": "eq", "key": S, "value": S}},
        {"type": "of_tomorrow", "words": S},
    ],
    "text": {"format": {"type": "json_schema", "name": "s", "description": S, "schema": SCHEMA}},
    "metadata": {"team": S},
    "user": S,
    "safety_identifier": S,
    "prompt_cache_key": S,
    "of_tomorrow": [S],
}

# the server's own tools and the documents of both directions
BLOCKS: list[dict[str, Any]] = [
    {"type": "text", "text": S, "citations": [LOCATION]},
    {"type": "redacted_thinking", "data": "AAAA"},
    {"type": "tool_use", "id": "t1", "name": "f", "input": {"q": S, S: [S]}},
    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": S}},
    {
        "type": "web_search_tool_result",
        "tool_use_id": "s1",
        "content": [{"type": "web_search_result", "title": S, "url": AT, "encrypted_content": "AAAA"}],
    },
    {
        "type": "web_fetch_tool_result",
        "tool_use_id": "s1",
        "content": {
            "type": "web_fetch_result",
            "url": AT,
            "content": {
                "type": "document",
                "title": S,
                "source": {"type": "text", "media_type": "text/plain", "data": S},
            },
        },
    },
    {
        "type": "bash_code_execution_tool_result",
        "tool_use_id": "s1",
        "content": {"type": "bash_code_execution_result", "stdout": S, "stderr": S, "content": []},
    },
    {
        "type": "text_editor_code_execution_tool_result",
        "tool_use_id": "s1",
        "content": {"type": "text_editor_code_execution_view_result", "content": S, "file_type": "text"},
    },
    {"type": "mcp_tool_use", "id": "m1", "name": "f", "server_name": S, "input": {"q": S}},
    {"type": "mcp_tool_result", "tool_use_id": "m1", "content": [{"type": "text", "text": S}]},
    {"type": "of_tomorrow", "words": [S]},
]

MESSAGES_REQUEST: Mapping[str, Any] = {
    "max_tokens": 9,
    "system": [{"type": "text", "text": S}],
    "messages": [
        {"role": "user", "content": S},
        {"role": "assistant", "content": BLOCKS},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": R},
                {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": R}]},
                {"type": "image", "source": {"type": "url", "url": AT}},
                {
                    "type": "document",
                    "title": S,
                    "context": S,
                    "source": {"type": "text", "media_type": "text/plain", "data": S},
                },
                {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": S}]}},
                {"type": "document", "source": {"type": "url", "url": AT}},
                {"type": "search_result", "source": S, "title": S, "content": [{"type": "text", "text": S}]},
                {"type": "container_upload", "file_id": "f"},
            ],
        },
    ],
    "tools": [
        {"name": "f", "description": S, "input_schema": SCHEMA, "input_examples": [{"q": S}]},
        {"type": "web_search_20250305", "name": "web_search", "allowed_domains": [S]},
    ],
    "mcp_servers": [{"type": "url", "url": AT, "name": S}],
    "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
    "stop_sequences": [S],
    "metadata": {"user_id": S},
    "of_tomorrow": {"words": S},
}

REQUESTS = {CHAT: CHAT_REQUEST, RESPONSES: RESPONSES_REQUEST, MESSAGES: MESSAGES_REQUEST}

TOKENS = {"content": [{"token": S, "logprob": -1.0, "bytes": None, "top_logprobs": []}], "refusal": None}
SAID = {"role": "assistant", "content": S, "refusal": S, "reasoning_content": S}
ANSWERS: dict[Call, dict[str, Any]] = {
    CHAT: {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {"index": 0, "finish_reason": "stop", "logprobs": TOKENS, "message": SAID},
            {
                "index": 1,
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "content": S,
                    "annotations": [{"type": "url_citation", "url_citation": {"title": S, "url": AT}}],
                    "audio": {"id": "a", "data": "AAAA", "expires_at": 1, "transcript": S},
                    "tool_calls": CHAT_REQUEST["messages"][3]["tool_calls"],
                    "function_call": {"name": "f", "arguments": ARGUMENTS},
                    "of_tomorrow": [S],
                },
            },
        ],
        "of_tomorrow": {"words": S},
    },
    RESPONSES: {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "m",
        "instructions": S,
        "metadata": {"team": S},
        "output": [
            {
                "type": "message",
                "id": "m",
                "role": "assistant",
                "status": "completed",
                "content": [
                    {
                        "type": "output_text",
                        "text": S,
                        "annotations": [
                            {"type": "url_citation", "title": S, "url": AT},
                            {"type": "file_citation", "file_id": "f", "filename": S},
                        ],
                    },
                    {"type": "refusal", "refusal": S},
                ],
            },
            *ITEMS,
        ],
        "tools": RESPONSES_REQUEST["tools"],
    },
    MESSAGES: {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "stop_reason": "refusal",
        "stop_details": {"type": "refusal", "category": "x", "explanation": S},
        "stop_sequence": S,
        "content": BLOCKS,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
}


def without(value: Any, *secrets: str) -> Any:
    """Return the body that is left: of secrets nothing, and of probabilities of a text that was changed."""
    text = json.dumps(value)
    for secret in secrets:
        text = text.replace(secret, "[gone]")
    left: Any = json.loads(text)
    for choice in left.get("choices", ()):
        if choice.get("logprobs"):
            choice["logprobs"] = None
    return left


def asked(call: Call, body: Mapping[str, Any], **settings: Any) -> Any:
    """Send a body, and return what came to the provider."""

    async def step(use: Use) -> None:
        use.client.post(PATHS[call], body={"model": "m", **body}, cast_to=object)

    answer = httpx2.Response(200, json=without(ANSWERS[call], SECRET))
    [request] = World("sync", call.vendor).use_stub([answer], step, **settings)
    return json.loads(request.content)


@pytest.mark.parametrize("call", REQUESTS, ids=repr)
def test_every_text_of_a_request_is_inspected(call: Call) -> None:
    body = REQUESTS[call]
    assert asked(call, body, request_dlp=BOTH) == {"model": "m", **without(body, SECRET, RESULT)}
    # without it nothing but the results of tools
    assert asked(call, body, dlp=BOTH) == {"model": "m", **without(body, RESULT)}


@pytest.mark.parametrize("call", ANSWERS, ids=repr)
def test_every_text_of_an_answer_is_inspected(call: Call) -> None:
    async def step(use: Use) -> None:
        raw = call.start(use.client.with_raw_response, "hello")
        assert json.loads(raw.http_response.read()) == without(ANSWERS[call], SECRET)

    World("sync", call.vendor).use_stub([httpx2.Response(200, json=ANSWERS[call])], step, dlp=rules(SECRET))
