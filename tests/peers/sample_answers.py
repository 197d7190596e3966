"""A pytest plugin that stands in for the server of a vendor's `tests/api_resources`.

The vendors run those against a server that makes answers from their OpenAPI file, which is not in the source
distribution. This one makes the smallest answer that the type has which the SDK will read it as; the type comes in a
header of the request. It is the same for bare and for wrapped clients.
"""

from __future__ import annotations

import datetime
import functools
import importlib
import itertools
import json
import os
import threading
import types
import typing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import pytest

_VENDOR: Final = os.environ["TRAMAPY_PEER_VENDOR"]
_HEADER: Final = "x-peer-answer"
_DEEPEST: Final = 6
_JSON: Final = "application/json"

_PLAIN: Final[dict[Any, Any]] = {str: "x", int: 1, float: 1.0, bool: True, bytes: "x", type(None): None}

_STREAMS: Final = {
    "openai": b'data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"x","choices":[]}\n\n'
    b'data: {"type":"response.completed","sequence_number":1,"response":{"id":"x","object":"response","output":[]}}'
    b"\n\ndata: [DONE]\n\n",
    "anthropic": b'event: message_start\ndata: {"type":"message_start","message":{"id":"x","type":"message",'
    b'"role":"assistant","content":[],"model":"x","stop_reason":null,"stop_sequence":null,'
    b'"usage":{"input_tokens":1,"output_tokens":1}}}\n\n'
    b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
}

_answers: dict[str, tuple[str, bytes]] = {}
_keys = itertools.count()


def sample(kind: Any, depth: int = 0) -> Any:
    """Return the smallest value of a type, as JSON has it."""
    if hasattr(kind, "__value__"):  # an alias
        return sample(kind.__value__, depth)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return sample(arguments[0], depth)
    if origin in (typing.Union, types.UnionType):
        return None if type(None) in arguments else sample(arguments[0], depth)
    if origin is typing.Literal:
        return arguments[0]
    if origin is list:
        return [sample(arguments[0], depth + 1)] if depth < _DEEPEST else []
    if hasattr(kind, "model_fields"):
        return {
            field.alias or name: sample(field.annotation, depth + 1)
            for name, field in kind.model_fields.items()
            if field.is_required()
        }
    if kind in (datetime.datetime, datetime.date):
        return "2024-01-01T00:00:00Z" if kind is datetime.datetime else "2024-01-01"
    return _PLAIN.get(kind, {})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        content_type, body = _answers.get(self.headers.get(_HEADER, ""), (_JSON, b"{}"))
        self.send_response(200)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815 # the library's names

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


def _told(cast_to: Any, options: Any, *, is_stream: bool) -> Any:
    """Keep the answer to a request, and return its options with the name of it."""
    if is_stream:
        answer = ("text/event-stream", _STREAMS[_VENDOR])
    elif isinstance(cast_to, type) and ("Binary" in cast_to.__name__ or "JSONL" in cast_to.__name__):
        answer = ("application/octet-stream", b'{"foo":"bar"}')
    elif cast_to is str:
        answer = ("text/plain", b"x")
    else:
        answer = (_JSON, json.dumps(sample(cast_to)).encode())
    key = str(next(_keys))
    _answers[key] = answer
    copied = options.model_copy()
    given = options.headers if isinstance(options.headers, dict) else {}
    copied.headers = {**given, _HEADER: key}
    return copied


def _install(kind: Any, *, is_async: bool) -> None:
    request = kind.request

    def ask(client: Any, cast_to: Any, options: Any, *, stream: bool = False, stream_cls: Any = None) -> Any:
        told = _told(cast_to, options, is_stream=stream)
        return request(client, cast_to, told, stream=stream, stream_cls=stream_cls)

    async def aask(
        client: Any, cast_to: Any, options: Any, *, stream: bool = False, stream_cls: Any = None
    ) -> Any:
        told = _told(cast_to, options, is_stream=stream)
        return await request(client, cast_to, told, stream=stream, stream_cls=stream_cls)

    kind.request = functools.wraps(request)(aask if is_async else ask)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Start before the vendor's conftest reads the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["TEST_API_BASE_URL"] = f"http://127.0.0.1:{server.server_port}"
    module: Any = importlib.import_module(f"{_VENDOR}._base_client")
    _install(module.SyncAPIClient, is_async=False)
    _install(module.AsyncAPIClient, is_async=True)
