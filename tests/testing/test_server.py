"""`ScriptedServer`: requests are recorded, answers come in order, and mistakes are told."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tramapy.messages import FinishReason, ModelResponse, ToolCall
from tramapy.testing import (
    BeginBody,
    ConnectionReset,
    CutStream,
    EndBody,
    ErrorDetail,
    Exchange,
    Gate,
    HttpRejection,
    MidStreamError,
    OutOfAnswersError,
    PlainAnswer,
    RawBody,
    ResetConnection,
    ScriptedAnswer,
    ScriptedProvider,
    ScriptedServer,
    SendBytes,
    ServerRequest,
    SlowAnswer,
    SseFrame,
    Step,
    split_every,
)
from tramapy.testing import server as server_module

CHAT = "/v1/chat/completions"


class Client:
    """A raw HTTP client on one connection."""

    def __init__(self, server: ScriptedServer) -> None:
        self.connection = http.client.HTTPConnection(server.root_url.removeprefix("http://"), timeout=30)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def post(
        self, body: object = None, path: str = CHAT, headers: dict[str, str] | None = None
    ) -> http.client.HTTPResponse:
        data = body if isinstance(body, bytes) else json.dumps(body or {"model": "m"}).encode()
        self.connection.request("POST", path, data, headers or {})
        return self.connection.getresponse()


def text_of(response: http.client.HTTPResponse) -> str:
    return json.loads(response.read(65536))["choices"][0]["message"]["content"]


def test_answers_come_in_order_on_one_connection() -> None:
    with ScriptedServer(["one", "two"]) as server, Client(server) as client:
        assert [text_of(client.post()), text_of(client.post())] == ["one", "two"]
        assert (server.open_connection_count, server.connection_count) == (1, 1)


def test_request_is_recorded_without_credentials() -> None:
    headers = {"Authorization": "Bearer plainly-fake", "X-Api-Key": "plainly-fake", "X-Trace": "7"}
    with ScriptedServer(["x"]) as server, Client(server) as client:
        client.post({"model": "m", "n": 1}, f"{CHAT}?a=1", headers).read()

    (request,) = server.requests
    assert (request.number, request.method, request.path, request.query) == (1, "POST", CHAT, "a=1")
    assert (request.headers["authorization"], request.headers["x-api-key"]) == ("<redacted>", "<redacted>")
    assert request.headers["x-trace"] == "7"
    assert request.body == {"model": "m", "n": 1}
    assert not request.is_stream


@pytest.mark.parametrize("body", [b"", b"{broken", b"[1]"], ids=["empty", "broken", "array"])
def test_body_that_is_no_object_is_recorded_as_empty(body: bytes) -> None:
    with ScriptedServer(["x"]) as server, Client(server) as client:
        assert client.post(body).status == 200

    assert server.requests[0].body == {}


def test_chunked_request_is_understood() -> None:
    def pieces() -> Iterator[bytes]:
        yield b'{"mod'
        yield b'el": "m"}'

    with ScriptedServer(["x"]) as server, Client(server) as client:
        client.connection.request("POST", CHAT, pieces(), encode_chunked=True)
        assert client.connection.getresponse().status == 200

    assert server.requests[0].body == {"model": "m"}


def test_callable_gets_the_request() -> None:
    def echo(request: ServerRequest) -> str:
        return str(request.body["say"])

    with ScriptedServer([echo], repeat_last=True) as server, Client(server) as client:
        assert text_of(client.post({"say": "hi"})) == "hi"
        assert text_of(client.post({"say": "ho"})) == "ho"


def test_last_answer_repeats_where_told() -> None:
    with ScriptedServer(["one", "last"], repeat_last=True) as server, Client(server) as client:
        assert [text_of(client.post()) for _ in range(3)] == ["one", "last", "last"]


def test_nothing_to_repeat_is_refused() -> None:
    with pytest.raises(ValueError, match="repeat_last needs at least one answer"):
        ScriptedServer(repeat_last=True)


def test_two_runs_are_equal() -> None:
    def run() -> list[bytes]:
        with ScriptedServer(["a b", "c"]) as server, Client(server) as client:
            return [client.post(body).read() for body in ({"stream": True}, {})]

    assert run() == run()


def test_stream_falls_into_pieces_as_told() -> None:
    with ScriptedServer(["ab"], split=split_every(1)) as server, Client(server) as client:
        data = client.post({"stream": True}).read()

    assert (b'"content":"a"' in data, b'"content":"b"' in data) == (True, True)


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", CHAT), ("POST", "/v1/embeddings")],
    ids=["method", "path"],
)
def test_unknown_path_is_404_and_takes_no_answer(method: str, path: str) -> None:
    with ScriptedServer(["x"]) as server, Client(server) as client:
        client.connection.request(method, path)
        response = client.connection.getresponse()
        error = json.loads(response.read())["error"]
        assert (response.status, error["code"]) == (404, "unknown_path")
        assert all(known in error["message"] for known in (CHAT, "/v1/responses", "/v1/messages", "root_url"))
        assert text_of(client.post()) == "x"


def _told(server: ScriptedServer, kind: type[Exception], path: str = CHAT) -> dict[str, Any]:
    """Ask for an answer that the server does not have; return what it says, and expect what it raises when left."""
    client = Client(server.__enter__())
    response = client.post(path=path)
    assert response.status == 410
    said: dict[str, Any] = json.loads(response.read())["error"]
    client.connection.close()
    with pytest.raises(kind):
        server.__exit__(None, None, None)
    assert isinstance(server.mistake, kind)
    return said


def test_running_out_of_answers_is_told_to_the_client_and_at_the_end() -> None:
    server = ScriptedServer()
    said = _told(server, OutOfAnswersError)
    assert said["code"] == "out_of_answers"
    assert said["message"] == (
        "ScriptedServer has 0 answers and got request 1; add an answer, or pass repeat_last=True"
    )
    assert [request.path for request in server.requests] == [CHAT]


def test_answer_that_cannot_be_written_is_told_by_type_and_at_the_end() -> None:
    broken = ModelResponse(tool_calls=(ToolCall(id="c", name="f", arguments_json="{broken"),))
    server = ScriptedServer([broken])
    assert server.mistake is None
    said = _told(server, json.JSONDecodeError, path="/v1/messages")
    assert said["message"].startswith("The answer of ScriptedServer to request 1 raised JSONDecodeError; ")
    assert "broken" not in str(said)


def test_answer_that_breaks_within_drops_the_connection() -> None:
    class Breaking:
        def steps(self, exchange: Exchange) -> Iterator[Step]:
            yield BeginBody(length_bytes=5)
            raise KeyError(exchange.number)

    with pytest.raises(KeyError):
        _read_in_vain(ScriptedServer([Breaking()]))


def _read_in_vain(server: ScriptedServer) -> None:
    with server, Client(server) as client:
        response = client.post()
        with pytest.raises(http.client.IncompleteRead):
            response.read()


def _ask_and_fail(server: ScriptedServer) -> None:
    with server, Client(server) as client:
        assert client.post().status == 410
        raise KeyError


def test_further_paths_answer_any_method() -> None:
    answers = [RawBody(body={"data": []}), "x"]
    with ScriptedServer(answers, paths=["/v1/models"]) as server, Client(server) as client:
        client.connection.request("GET", "/v1/models")
        assert json.loads(client.connection.getresponse().read()) == {"data": []}
        assert text_of(client.post()) == "x"


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (["v1/models"], r"^paths has one that does not begin with a slash; write it as in '/v1/embeddings'$"),
        ("/v1/models", r"^paths takes several values, not str; give a list such as \['/v1/embeddings'\]$"),
    ],
    ids=["no slash", "no list"],
)
def test_paths_are_a_list_and_begin_with_a_slash(paths: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        ScriptedServer(paths=paths)


@pytest.mark.parametrize(
    "answers", ["hello", ModelResponse(content="hello"), 5], ids=["str", "response", "int"]
)
@pytest.mark.parametrize("kind", [ScriptedServer, ScriptedProvider])
def test_one_answer_alone_is_no_list(kind: Any, answers: Any) -> None:
    remedy = rf"^answers is of type \w+; give a list, for example {kind.__name__}\(\['an answer'\]\)$"
    with pytest.raises(TypeError, match=remedy):
        kind(answers)


@pytest.mark.parametrize(
    ("kind", "answer", "what"),
    [
        (ScriptedServer, {"a": 1}, "of type dict"),
        (ScriptedServer, OSError("plainly-fake"), "of type OSError"),
        (ScriptedServer, HttpRejection, "the class HttpRejection, and no instance"),
        (ScriptedProvider, {"a": 1}, "of type dict"),
        (ScriptedProvider, b"hello", "of type bytes"),
        (ScriptedProvider, HttpRejection(status=503), "of type HttpRejection"),
        (ScriptedProvider, HttpRejection, "the class HttpRejection, and no instance"),
    ],
)
def test_what_is_no_answer_is_refused_with_its_place(kind: Any, answer: Any, what: str) -> None:
    with pytest.raises(TypeError, match=rf"^answers\[1\] is {what}; give a string, a ModelResponse, "):
        kind(["hello", answer])


def _raise(_: ServerRequest) -> str:
    raise LookupError("plainly-fake")


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([], "ScriptedServer has 0 answers and got request 1; add an answer, or pass repeat_last=True."),
        ([_raise], "LookupError."),
    ],
    ids=["too few", "broken"],
)
def test_error_of_the_test_wins_over_a_mistake_of_the_script_and_says_so(
    answers: list[ScriptedAnswer], said: str
) -> None:
    with pytest.raises(KeyError) as caught:
        _ask_and_fail(ScriptedServer(answers))
    assert caught.value.__notes__ == [f"The script of ScriptedServer was at fault: {said}"]


def _send_raw(server: ScriptedServer, data: bytes) -> None:
    with server, socket.create_connection(("127.0.0.1", int(server.root_url.rpartition(":")[2]))) as raw:
        raw.sendall(data)
        assert raw.recv(1) == b""


def test_request_that_is_no_http_is_told_at_the_end() -> None:
    with pytest.raises(ValueError, match="not enough values"):
        _send_raw(ScriptedServer(), b"nonsense\r\n\r\n")


def test_client_may_hang_up_within_a_request() -> None:
    with ScriptedServer() as server:
        address = ("127.0.0.1", int(server.root_url.rpartition(":")[2]))
        with socket.create_connection(address) as raw:
            raw.sendall(b"POST /v1/chat/comp")
        server.wait_for_no_connection()
        assert (server.requests, server.abandoned_count) == ((), 0)


def test_addresses_need_a_running_server() -> None:
    server = ScriptedServer()
    for address in ("base_url", "root_url"):
        with pytest.raises(RuntimeError, match="use it in a with statement"):
            getattr(server, address)
    with server:
        assert server.base_url == f"{server.root_url}/v1"
        assert server.root_url.startswith("http://127.0.0.1:")


def test_server_that_was_never_entered_may_be_left() -> None:
    ScriptedServer().__exit__(None, None, None)


def test_idle_connection_is_dropped_at_the_end() -> None:
    with ScriptedServer(["x"]) as server:
        client = Client(server)
        client.post().read()
        assert server.open_connection_count == 1

    assert server.open_connection_count == 0
    client.connection.close()


def test_client_that_hangs_up_before_its_answer_is_counted() -> None:
    gate = Gate()
    with ScriptedServer([SlowAnswer(gate=gate)]) as server:
        with Client(server) as client:
            client.connection.request("POST", CHAT, b"{}")
            gate.wait_until_reached()
            server.wait_for_requests(1)
            assert server.abandoned_count == 0
        server.wait_for_abandoned(1)
        server.wait_for_no_connection()


def test_client_that_hangs_up_within_a_long_answer_is_counted() -> None:
    class Endless:
        def steps(self, exchange: Exchange) -> Iterator[Step]:
            yield BeginBody()
            while True:
                yield SendBytes(b"x" * 65536)

    with ScriptedServer([Endless()]) as server:
        with Client(server) as client, client.post() as response:
            assert response.read(10) == b"x" * 10
        server.wait_for_abandoned(1)
        server.wait_for_no_connection()


def test_gate_lets_the_answer_through() -> None:
    gate = Gate()
    with ScriptedServer([SlowAnswer(gate=gate, answer="late")]) as server, Client(server) as client:
        client.connection.request("POST", CHAT, b"{}")
        gate.wait_until_reached()
        gate.release()
        assert text_of(client.connection.getresponse()) == "late"


def test_server_may_end_while_an_answer_waits() -> None:
    gate = Gate()
    with ScriptedServer([SlowAnswer(gate=gate)]) as server:
        client = Client(server)
        client.connection.request("POST", CHAT, b"{}")
        gate.wait_until_reached()

    assert (server.open_connection_count, server.abandoned_count) == (0, 0)
    client.connection.close()


@pytest.mark.parametrize(
    ("wait", "missing"),
    [
        (lambda server: server.wait_for_requests(1, timeout_s=0.0), "1 requests"),
        (lambda server: server.wait_for_abandoned(1, timeout_s=0.0), "1 abandoned answers"),
    ],
    ids=["requests", "abandoned"],
)
def test_waiting_in_vain_fails_and_says_what_there_is(wait: object, missing: str) -> None:
    with ScriptedServer() as server, pytest.raises(AssertionError, match=missing) as caught:
        wait(server)  # type: ignore[operator]
    assert "0 requests, 0 open connections" in str(caught.value)


def test_waiting_for_no_connection_in_vain_fails() -> None:
    with ScriptedServer(["x"]) as server, Client(server) as client:
        client.post().read()
        with pytest.raises(AssertionError, match="no open connection"):
            server.wait_for_no_connection(timeout_s=0.0)


def test_test_may_write_an_answer_of_its_own() -> None:
    class Teapot:
        def steps(self, exchange: Exchange) -> Iterator[Step]:
            yield BeginBody(status=299, headers={"x-model": exchange.model}, is_delimited=False)
            yield SendBytes(b"")
            yield SendBytes(b"short and stout")
            yield EndBody()

    with ScriptedServer([Teapot()]) as server, Client(server) as client:
        response = client.post({"model": 7})
        assert (response.status, response.reason) == (299, "Scripted")
        assert (response.headers["x-model"], response.read()) == ("scripted-model", b"short and stout")
        server.wait_for_no_connection()  # an undelimited body ends with its connection


@pytest.mark.parametrize(
    "answer",
    [
        ModelResponse(content="secret"),
        PlainAnswer("secret"),
        HttpRejection(status=400, message="secret"),
        MidStreamError(detail=ErrorDetail(message="secret"), answer="secret"),
        CutStream(answer="secret"),
        RawBody(body=b"secret"),
        SendBytes(b"secret"),
        SseFrame(data=b"secret"),
        ConnectionReset(answer="secret"),
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_repr_shows_no_content(answer: object) -> None:
    assert "secret" not in repr(answer)


def test_repr_of_a_server_counts() -> None:
    assert repr(ScriptedServer(["secret"])) == "ScriptedServer(<1 answers>, <0 requests>)"


def test_repr_of_a_request_shows_no_content() -> None:
    request = ServerRequest(number=3, method="POST", path=CHAT, body={"prompt": "secret"})

    assert repr(request) == f"ServerRequest(3, POST {CHAT}, <1 fields>)"


def test_answer_with_calls_ends_with_calls() -> None:
    response = ModelResponse(
        tool_calls=(ToolCall(id="c", name="f", arguments_json="{}"),), finish_reason=FinishReason.STOP
    )
    with ScriptedServer([response]) as server, Client(server) as client:
        body = json.loads(client.post().read())

    assert body["choices"][0]["finish_reason"] == "tool_calls"


def test_rejection_without_a_code_leaves_it_open() -> None:
    with ScriptedServer([HttpRejection(status=503)]) as server, Client(server) as client:
        response = client.post()
        assert (response.status, json.loads(response.read())["error"]["code"]) == (503, None)


def test_answer_that_blocks_the_server_fails_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    is_blocked, is_released = threading.Event(), threading.Event()

    class Blocking:
        def steps(self, exchange: Exchange) -> Iterator[Step]:
            is_blocked.set()
            is_released.wait()
            return iter([ResetConnection()])

    monkeypatch.setattr(server_module, "STOP_LIMIT_S", 0.01)
    server = ScriptedServer([Blocking()])
    server.__enter__()
    with Client(server) as client:
        client.connection.request("POST", CHAT, b"{}")
        is_blocked.wait()
        with pytest.raises(AssertionError, match="the server did not stop"):
            server.__exit__(None, None, None)
        is_released.set()
    server.wait_for_no_connection()
