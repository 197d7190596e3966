"""HTTP/1.1 on a loopback port: reads requests, carries out the steps of their answers, notices who hangs up.

It runs on an event loop of its own. `ScriptedServer` is the thing to use; this file knows no answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import http
import json
import socket
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol

from tramapy.testing.exchange import (
    BeginBody,
    EndBody,
    PassGate,
    ResetConnection,
    SendBytes,
    ServerRequest,
    Step,
)

__all__ = ["Connection", "ConnectionLog", "ReceivedRequest", "ScriptMistake"]

_CREDENTIAL_HEADERS: Final = frozenset(
    {"authorization", "proxy-authorization", "x-api-key", "api-key", "cookie"}
)


class ScriptMistake(Exception):  # noqa: N818  # no failure of the server: the test learns of it from the log
    """A script that cannot be carried out; the client sees its connection drop."""


class ConnectionLog(Protocol):
    """Who hears of connections and answers requests; called on the server's loop."""

    def connected(self, connection: Connection) -> None:
        """Take note of a new connection."""
        ...

    def disconnected(self, connection: Connection) -> None:
        """Take note of its end."""
        ...

    def abandoned(self) -> None:
        """Take note of a client that hung up before the end of its answer."""
        ...

    def answer(self, received: ReceivedRequest) -> Iterator[Step]:
        """Return the steps of the answer to a request; raises `ScriptMistake` where there are none."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReceivedRequest:
    """A request off the wire, before it has a number."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    def numbered(self, number: int) -> ServerRequest:
        """Return it as it is recorded."""
        path, _, query = self.target.partition("?")
        shown = {
            name: "<redacted>" if name in _CREDENTIAL_HEADERS else value
            for name, value in self.headers.items()
        }
        return ServerRequest(
            number=number,
            method=self.method,
            path=path,
            query=query,
            headers=MappingProxyType(shown),
            body=MappingProxyType(_json_object(self.body)),
        )


class Connection:
    """One client's connection: requests one after the other, until either side ends it."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, log: ConnectionLog
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._log = log
        # the first byte of the next request, where it came while the last answer was going out
        self._early = b""

    async def serve(self) -> None:
        """Answer requests until the connection ends."""
        self._log.connected(self)
        try:
            # a client may hang up at any point between two answers
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._serve_one():
                    pass
        except ScriptMistake:
            self._writer.transport.abort()
        except asyncio.CancelledError:
            # the server ends: what the client has not taken by now is dropped
            self._writer.transport.abort()
            raise
        finally:
            await self._close()

    async def _close(self) -> None:
        try:
            self._writer.close()
            with contextlib.suppress(ConnectionError):
                await self._writer.wait_closed()
        finally:
            self._log.disconnected(self)

    async def _serve_one(self) -> bool:
        """Answer one request; return whether the connection may serve another."""
        request = await self._receive()
        if request is None:
            return False
        sending = asyncio.ensure_future(_Sender(self._writer).carry_out(self._log.answer(request)))
        # a client sends nothing while it waits, so what comes is its hanging up, or the next request
        watching = asyncio.ensure_future(self._reader.read(1))
        try:
            await asyncio.wait({sending, watching}, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done() and not _received(watching):
                return self._abandoned()
            return await sending
        except ConnectionError:
            return self._abandoned()
        finally:
            await _cancel(sending)
            await _cancel(watching)
            self._early = _received(watching)

    def _abandoned(self) -> bool:
        self._log.abandoned()
        self._writer.transport.abort()
        return False

    async def _receive(self) -> ReceivedRequest | None:
        """Read one request; None where the client sent no more."""
        first = self._early or await self._reader.read(1)
        if not first:
            return None
        self._early = b""
        head = (first + await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        request_line, *lines = head.rstrip("\r\n").split("\r\n")
        method, target, _ = request_line.split(" ", 2)
        fields = (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip() for name, _, value in fields}
        body = await self._receive_body(headers)
        return ReceivedRequest(method=method, target=target, headers=headers, body=body)

    async def _receive_body(self, headers: Mapping[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() != "chunked":
            return await self._reader.readexactly(int(headers.get("content-length", "0")))
        body = bytearray()
        while True:
            size = int((await self._reader.readuntil(b"\r\n")).split(b";")[0], 16)
            body += await self._reader.readexactly(size)
            await self._reader.readexactly(2)
            if size == 0:
                return bytes(body)


class _Sender:
    """Carries out the steps of one answer."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._is_chunked = False
        self._is_closing = False

    async def carry_out(self, steps: Iterator[Step]) -> bool:
        """Do every step; return whether the connection may serve another request."""
        for step in steps:
            if isinstance(step, BeginBody):
                await self._begin(step)
            elif isinstance(step, SendBytes):
                await self._send(step.data)
            elif isinstance(step, PassGate):
                await step.gate.wait_released()
            elif isinstance(step, EndBody):
                await self._end()
            else:
                self._drop(is_reset=isinstance(step, ResetConnection))
                return False
        return not self._is_closing

    async def _begin(self, step: BeginBody) -> None:
        headers = dict(step.headers)
        self._is_chunked = step.length_bytes is None and step.is_delimited
        if step.length_bytes is not None:
            headers["content-length"] = str(step.length_bytes)
        elif self._is_chunked:
            headers["transfer-encoding"] = "chunked"
        else:
            headers["connection"] = "close"
            self._is_closing = True
        lines = [f"HTTP/1.1 {step.status} {_phrase(step.status)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        await self._write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    async def _send(self, data: bytes) -> None:
        if not data:
            return
        await self._write(b"%x\r\n%s\r\n" % (len(data), data) if self._is_chunked else data)

    async def _end(self) -> None:
        if self._is_chunked:
            await self._write(b"0\r\n\r\n")

    async def _write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    def _drop(self, *, is_reset: bool) -> None:
        if not is_reset:
            self._writer.close()
            return
        connection: socket.socket = self._writer.get_extra_info("socket")
        # with a linger time of zero the kernel sends RST instead of FIN
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


async def _cancel(future: asyncio.Future[bytes] | asyncio.Future[bool]) -> None:
    future.cancel()
    await asyncio.wait({future})
    if not future.cancelled():
        future.exception()  # an error that nobody asks for would be logged


def _received(watching: asyncio.Future[bytes]) -> bytes:
    if watching.cancelled() or watching.exception() is not None:
        return b""
    return watching.result()


def _phrase(status: int) -> str:
    try:
        return http.HTTPStatus(status).phrase
    except ValueError:
        return "Scripted"


def _json_object(body: bytes) -> Mapping[str, object]:
    try:
        parsed: object = json.loads(body)
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}  # pyright: ignore[reportUnknownVariableType]
