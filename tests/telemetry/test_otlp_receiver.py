"""`OtlpReceiver`: what it takes, what it refuses, and what bounds it."""

from __future__ import annotations

import gzip
import http.client
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from tramapy.errors import ConfigurationError
from tramapy.telemetry import OtlpReceiver, OtlpRefusal

PROTOBUF = {"Content-Type": "application/x-protobuf"}


def traces(name: str = "a span") -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.add().name = name
    return request


class Taken:
    """A receiver that keeps what it takes."""

    def __init__(self, **settings: Any) -> None:
        self.messages: list[Any] = []
        take = self.messages.append
        self.refusals: list[OtlpRefusal] = []
        self.receiver = OtlpReceiver(
            **{"on_traces": take, "on_metrics": take, "on_logs": take, "limit_bytes": 1_000}
            | {"on_refused": self.refusals.append}
            | settings
        )

    def post(self, path: str, body: bytes, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.receiver.endpoint.removeprefix("http://"), timeout=30)
        try:
            connection.request("POST", path, body, PROTOBUF if headers is None else headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


@pytest.fixture
def taken() -> Iterator[Taken]:
    taken = Taken()
    with taken.receiver:
        yield taken


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/v1/traces", traces()),
        ("/v1/metrics", ExportMetricsServiceRequest()),
        ("/v1/logs", ExportLogsServiceRequest()),
    ],
)
def test_each_signal_is_decoded_and_answered(taken: Taken, path: str, message: Any) -> None:
    assert taken.post(path, message.SerializeToString()) == (200, b"")
    assert taken.messages == [message]
    assert type(taken.messages[0]) is type(message)


def test_a_gzipped_body_is_unpacked(taken: Taken) -> None:
    body = gzip.compress(traces().SerializeToString())
    status, answer = taken.post("/v1/traces", body, PROTOBUF | {"Content-Encoding": "gzip"})
    assert status == 200
    assert ExportTraceServiceResponse.FromString(answer) == ExportTraceServiceResponse()
    assert taken.messages == [traces()]


def test_several_exports_go_over_one_connection(taken: Taken) -> None:
    connection = http.client.HTTPConnection(taken.receiver.endpoint.removeprefix("http://"), timeout=30)
    for name in ("one", "two"):
        connection.request("POST", "/v1/traces", traces(name).SerializeToString(), PROTOBUF)
        response = connection.getresponse()
        assert (response.status, response.read()) == (200, b"")
    connection.close()
    assert taken.messages == [traces("one"), traces("two")]


BOMB = gzip.compress(b"\0" * 1_000_000)
GZIP = PROTOBUF | {"Content-Encoding": "gzip"}
REFUSED: dict[str, tuple[str, bytes, dict[str, str], int]] = {
    "unknown-path": ("/v1/secrets", b"", PROTOBUF, 404),
    "json": ("/v1/traces", b"{}", {"Content-Type": "application/json"}, 415),
    "another-type": ("/v1/traces", b"a=b", {"Content-Type": "text/plain"}, 415),
    "unknown-encoding": ("/v1/traces", b"x", PROTOBUF | {"Content-Encoding": "br"}, 415),
    "not-protobuf": ("/v1/traces", b"\xff\xff\xff", PROTOBUF, 400),
    "not-gzip": ("/v1/traces", b"plain", GZIP, 400),
    "cut-gzip": ("/v1/traces", gzip.compress(traces("long" * 50).SerializeToString())[:-9], GZIP, 400),
    "too-long": ("/v1/traces", b"\0" * 1_001, PROTOBUF, 413),
    "too-long-unpacked": ("/v1/traces", BOMB, GZIP, 413),
    "odd-length": ("/v1/traces", b"", PROTOBUF | {"Content-Length": "-1"}, 411),
    "absurd-length": ("/v1/traces", b"", PROTOBUF | {"Content-Length": "9" * 500}, 413),
    "chunked": ("/v1/traces", b"", PROTOBUF | {"Transfer-Encoding": "chunked", "Content-Length": ""}, 411),
}


WHY = {
    "unknown-path": OtlpRefusal.PATH,
    "json": OtlpRefusal.JSON,
    "another-type": OtlpRefusal.CONTENT_TYPE,
    "unknown-encoding": OtlpRefusal.ENCODING,
    "too-long": OtlpRefusal.TOO_LONG,
    "too-long-unpacked": OtlpRefusal.TOO_LONG,
    "absurd-length": OtlpRefusal.TOO_LONG,
    "odd-length": OtlpRefusal.LENGTH,
    "chunked": OtlpRefusal.LENGTH,
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_malformed_or_too_long_is_refused(name: str) -> None:
    path, body, headers, status = REFUSED[name]
    taken = Taken(limit_bytes=len(BOMB) + 1 if name == "too-long-unpacked" else 1_000)
    with taken.receiver:
        assert taken.post(path, body, headers)[0] == status
        assert taken.messages == []
        assert taken.post("/v1/traces", traces().SerializeToString())[0] == 200, "and it goes on"
    assert taken.refusals == [WHY.get(name, OtlpRefusal.MALFORMED)]


@pytest.mark.parametrize(
    ("data", "refusals"),
    [
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [OtlpRefusal.GRPC]),
        (b"\x16\x03\x01\x02\n", [OtlpRefusal.MALFORMED]),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", []),
    ],
    ids=["grpc", "tls", "browser"],
)
def test_what_is_no_export_is_told_and_answered(
    taken: Taken, data: bytes, refusals: list[OtlpRefusal]
) -> None:
    host, port = taken.receiver.endpoint.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(4_096)
    assert taken.refusals == refusals


def test_whoever_is_told_may_fail_or_not_be_there(caplog: pytest.LogCaptureFixture) -> None:
    def fails(reason: OtlpRefusal) -> None:
        raise ValueError("canary-7f3a91c2")

    for on_refused in (fails, None):
        taken = Taken(on_refused=on_refused)
        with taken.receiver:
            assert taken.post("/", b"")[0] == 404
    assert caplog.text.count("error_type=ValueError") == 1
    assert "canary" not in caplog.text


def test_a_body_that_ends_early_is_refused(taken: Taken) -> None:
    address = taken.receiver.endpoint.removeprefix("http://").split(":")
    with socket.create_connection((address[0], int(address[1])), timeout=30) as connection:
        connection.sendall(
            b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n"
            b"Content-Length: 100\r\n\r\nshort"
        )
        connection.shutdown(socket.SHUT_WR)
        answer = connection.recv(4_096)
    assert b" 400 " in answer
    assert taken.messages == []


def test_a_client_that_goes_away_is_no_news(taken: Taken, capfd: pytest.CaptureFixture[str]) -> None:
    address = taken.receiver.endpoint.removeprefix("http://").split(":")
    with socket.create_connection((address[0], int(address[1])), timeout=30) as connection:
        connection.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n")
    assert taken.post("/v1/traces", traces().SerializeToString())[0] == 200
    taken.receiver._server.handle_error(None, None)
    assert capfd.readouterr() == ("", "")


def test_a_taker_that_fails_is_answered_with_500_and_logged_by_type(caplog: pytest.LogCaptureFixture) -> None:
    def fails(message: object) -> None:
        raise ValueError("canary-7f3a91c2")

    taken = Taken(on_traces=fails)
    with taken.receiver:
        assert taken.post("/v1/traces", traces().SerializeToString()) == (500, b"")
        assert taken.post("/v1/logs", b"")[0] == 200
    assert "error_type=ValueError" in caplog.text
    assert "canary" not in caplog.text


def test_a_signal_without_a_taker_is_answered_and_dropped() -> None:
    taken = Taken(on_traces=None)
    with taken.receiver:
        assert taken.post("/v1/traces", traces().SerializeToString())[0] == 200
    assert taken.messages == []


def test_one_connection_more_than_there_is_room_for_is_closed() -> None:
    is_inside, may_go = threading.Semaphore(0), threading.Event()

    def take(message: object) -> None:
        is_inside.release()
        assert may_go.wait(30)

    taken = Taken(on_traces=take)
    body = traces().SerializeToString()
    with taken.receiver:
        threads = [threading.Thread(target=taken.post, args=("/v1/traces", body)) for _ in range(32)]
        for thread in threads:
            thread.start()
        for _ in threads:
            assert is_inside.acquire(timeout=30)
        with pytest.raises((http.client.HTTPException, OSError)):
            taken.post("/v1/traces", body)
        may_go.set()
        for thread in threads:
            thread.join()


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "collector.test", "::"])
def test_an_address_that_others_reach_is_refused_unless_allowed(host: str) -> None:
    with pytest.raises(ConfigurationError, match="other machines may reach"):
        OtlpReceiver(host=host)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"host": 5}, "host is of type int; give an address"),
        ({"port": "4318"}, "port takes an int from 0 to 65535"),
        ({"port": 65_536}, "port takes an int from 0 to 65535"),
        ({"limit_bytes": 0}, "limit_bytes takes an int of at least 1"),
        ({"on_traces": 5}, "on_traces is of type int; give a function"),
    ],
)
def test_an_argument_that_cannot_work_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        OtlpReceiver(**arguments)


def test_an_address_that_others_reach_may_be_allowed() -> None:
    receiver = OtlpReceiver(host="0.0.0.0", is_remote_allowed=True)
    assert receiver.endpoint.startswith("http://0.0.0.0:")
    receiver.close()


def test_ipv6_and_a_name_of_this_machine_may_be_listened_on() -> None:
    taken = Taken(host="::1")
    with taken.receiver:
        assert taken.receiver.endpoint.startswith("http://[::1]:")
        assert taken.post("/v1/logs", b"")[0] == 200
    named = OtlpReceiver(host="localhost")
    named.close()


def test_closing_frees_the_port() -> None:
    first = OtlpReceiver()
    port = int(first.endpoint.rsplit(":", 1)[1])
    with first:
        pass
    with OtlpReceiver(port=port) as second:
        assert second.endpoint == first.endpoint
