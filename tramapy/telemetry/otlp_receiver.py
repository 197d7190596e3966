"""`OtlpReceiver`: take what OpenTelemetry's exporters send over HTTP, on loopback, within bounds."""

from __future__ import annotations

import ipaddress
import logging
import socket
import threading
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final, Self

from tramapy.engine.arguments import checked_flag
from tramapy.errors import ConfigurationError
from tramapy.telemetry.otlp_import import (
    DecodeError,
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from tramapy.telemetry.otlp_refusal import OtlpRefusal
from tramapy.values import class_label, described

if TYPE_CHECKING:
    from types import TracebackType

    from google.protobuf.message import Message

__all__ = ["OtlpReceiver"]

_logger = logging.getLogger("tramapy.telemetry")

_PROTOBUF: Final = "application/x-protobuf"
_READ_TIMEOUT_S: Final = 10.0
_MAX_CONNECTION_COUNT: Final = 32
_PORTS: Final = range(65_536)


@dataclass(frozen=True, slots=True)
class _Signal:
    """What is posted to one path, and what answers it."""

    take: Callable[[Any], None] | None
    request: Callable[[], Message]
    response: bytes


class OtlpReceiver:
    """An OTLP/HTTP server for protobuf, plain or gzipped. What anybody sends is bounded, and never trusted.

    Use it as a context manager. Callbacks run on the connections' threads; what one raises is answered with 500
    and logged by its type.

    Args:
        on_traces: Takes each `ExportTraceServiceRequest`.
        on_metrics: Takes each `ExportMetricsServiceRequest`.
        on_logs: Takes each `ExportLogsServiceRequest`. A signal without a taker is answered and dropped.
        host: The address to listen on.
        port: The port; 0 takes a free one.
        on_refused: Told why a request is refused, for each.
        limit_bytes: How large a body may be, also after it is unpacked.
        is_remote_allowed: Whether `host` may be another address than one of this machine alone.

    Raises:
        ConfigurationError: `host` is no loopback address, and that is not allowed; or an argument cannot work.
        OSError: The port is taken.
    """

    def __init__(
        self,
        *,
        on_traces: Callable[[ExportTraceServiceRequest], None] | None = None,
        on_metrics: Callable[[ExportMetricsServiceRequest], None] | None = None,
        on_logs: Callable[[ExportLogsServiceRequest], None] | None = None,
        on_refused: Callable[[OtlpRefusal], None] | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        limit_bytes: int = 4 * 1024 * 1024,
        is_remote_allowed: bool = False,
    ) -> None:
        _check(host, port, limit_bytes)
        for name, take in (
            ("on_traces", on_traces),
            ("on_metrics", on_metrics),
            ("on_logs", on_logs),
            ("on_refused", on_refused),
        ):
            if take is not None and not callable(take):
                raise ConfigurationError(f"OtlpReceiver: {name} is {described(take)}; give a function")
        if not checked_flag("OtlpReceiver: is_remote_allowed", is_remote_allowed) and not _is_loopback(host):
            raise ConfigurationError(
                f"OtlpReceiver listens on {host!r}, which other machines may reach; pass 127.0.0.1, or "
                f"is_remote_allowed=True"
            )
        signals = {
            "/v1/traces": _Signal(
                on_traces, ExportTraceServiceRequest, ExportTraceServiceResponse().SerializeToString()
            ),
            "/v1/metrics": _Signal(
                on_metrics, ExportMetricsServiceRequest, ExportMetricsServiceResponse().SerializeToString()
            ),
            "/v1/logs": _Signal(
                on_logs, ExportLogsServiceRequest, ExportLogsServiceResponse().SerializeToString()
            ),
        }
        self._server = _Server((host, port), signals, limit_bytes, on_refused)
        self._thread: threading.Thread | None = None

    @property
    def endpoint(self) -> str:
        """The address for an exporter's `OTEL_EXPORTER_OTLP_ENDPOINT`."""
        host, port = self._server.server_address[:2]
        return f"http://[{host!s}]:{port}" if self._server.is_ipv6 else f"http://{host!s}:{port}"

    def start(self) -> None:
        """Serve from a thread."""
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": 0.05},
            name="tramapy-otlp",
            daemon=True,
        )
        self._thread.start()

    def close(self) -> None:
        """Stop serving, and free the port."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._server.shutdown()
            thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    """A server whose connections are few, and do not outlive the program."""

    daemon_threads = True
    block_on_close = False
    # the library's 5 makes a burst of exporters wait for a second, or be reset
    request_queue_size = 2 * _MAX_CONNECTION_COUNT

    def __init__(
        self,
        address: tuple[str, int],
        signals: dict[str, _Signal],
        limit_bytes: int,
        on_refused: Callable[[OtlpRefusal], None] | None,
    ) -> None:
        self.signals = signals
        self.limit_bytes = limit_bytes
        self.on_refused = on_refused
        self.is_ipv6: bool = ":" in address[0]
        if self.is_ipv6:
            self.address_family = socket.AF_INET6
        self._places = threading.BoundedSemaphore(_MAX_CONNECTION_COUNT)
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)  # an exporter comes again

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that goes away is no news, and a traceback may hold what it sent."""


class _RefusedError(Exception):
    """A request that is answered with an error; of one without a reason nothing is told."""

    def __init__(self, status: int, reason: OtlpRefusal | None) -> None:
        super().__init__(status)
        self.status = status
        self.reason = reason


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride]  # the library types it as any server
    protocol_version = "HTTP/1.1"
    timeout = _READ_TIMEOUT_S

    def do_POST(self) -> None:
        """Take one export."""
        try:
            answer = self._export()
        except _RefusedError as refused:
            # what is left of the body is not read, so the connection cannot go on
            self.close_connection = True
            status, answer = refused.status, b""
            self._tell(refused.reason)
        else:
            status = 200
        self._answer(status, answer)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what the library cannot read, in its own words."""
        if code == HTTPStatus.HTTP_VERSION_NOT_SUPPORTED:
            self._tell(OtlpRefusal.GRPC)
        elif code != HTTPStatus.NOT_IMPLEMENTED:  # a browser that looks what is here
            self._tell(OtlpRefusal.MALFORMED)
        super().send_error(code)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the library's name
        """Say nothing on stderr."""

    def _tell(self, reason: OtlpRefusal | None) -> None:
        tell = self.server.on_refused
        if tell is not None and reason is not None:
            try:
                tell(reason)
            except Exception as error:  # as in _hand_on
                error_type = class_label(error)
            else:
                return
            _log_callback(error_type)

    def _export(self) -> bytes:
        content_type = self.headers.get_content_type()
        signal = self.server.signals.get(self.path)
        if signal is None:
            raise _RefusedError(404, OtlpRefusal.PATH)
        if content_type != _PROTOBUF:
            is_json = content_type == "application/json"
            raise _RefusedError(415, OtlpRefusal.JSON if is_json else OtlpRefusal.CONTENT_TYPE)
        message = signal.request()
        try:
            message.ParseFromString(self._body())
        except DecodeError:
            raise _RefusedError(400, OtlpRefusal.MALFORMED) from None
        if signal.take is not None:
            self._hand_on(signal.take, message)
        return signal.response

    def _hand_on(self, take: Callable[[Any], None], message: Message) -> None:
        try:
            take(message)
        except Exception as error:  # the caller's callback must not end the server
            error_type = class_label(error)
        else:
            return
        _log_callback(error_type)
        raise _RefusedError(500, None)

    def _body(self) -> bytes:
        limit_bytes = self.server.limit_bytes
        length_text = self.headers.get("Content-Length", "")
        if not (length_text.isascii() and length_text.isdigit()):
            raise _RefusedError(411, OtlpRefusal.LENGTH)
        length = int(length_text[:12])
        if length > limit_bytes:
            raise _RefusedError(413, OtlpRefusal.TOO_LONG)
        body = self.rfile.read(length)
        if len(body) < length:
            raise _RefusedError(400, OtlpRefusal.MALFORMED)
        encoding = self.headers.get("Content-Encoding", "identity").strip().lower()
        if encoding == "identity":
            return body
        if encoding != "gzip":
            raise _RefusedError(415, OtlpRefusal.ENCODING)
        return _unpacked(body, limit_bytes)

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", _PROTOBUF)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _unpacked(body: bytes, limit_bytes: int) -> bytes:
    """Unpack gzip up to a limit: a small body may stand for a huge one."""
    stream = zlib.decompressobj(wbits=31)
    try:
        unpacked = stream.decompress(body, limit_bytes + 1)
    except zlib.error:
        raise _RefusedError(400, OtlpRefusal.MALFORMED) from None
    if len(unpacked) > limit_bytes:
        raise _RefusedError(413, OtlpRefusal.TOO_LONG)
    if not stream.eof:
        raise _RefusedError(400, OtlpRefusal.MALFORMED)
    return unpacked


def _log_callback(error_type: str) -> None:
    _logger.warning("an OTLP callback failed error_type=%s", error_type)


def _check(host: object, port: object, limit_bytes: object) -> None:
    if not isinstance(host, str):
        raise ConfigurationError(
            f"OtlpReceiver: host is {described(host)}; give an address such as '127.0.0.1'"
        )
    if type(port) is not int or port not in _PORTS:
        raise ConfigurationError("OtlpReceiver: port takes an int from 0 to 65535")
    if type(limit_bytes) is not int or limit_bytes < 1:
        raise ConfigurationError("OtlpReceiver: limit_bytes takes an int of at least 1")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
