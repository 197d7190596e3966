"""A body of no known type: its beginning tells whether it is text, to be read whole, or passes as it comes."""

from __future__ import annotations

import codecs
from collections.abc import AsyncGenerator, Generator

from tramapy.clients.http_messages import HttpResponse

__all__ = ["AsyncPeekedBody", "Peek", "PeekedBody"]


class Peek:
    """What was read of a body.

    Args:
        limit_bytes: How much of it is kept.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._left_bytes = limit_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self.chunks: list[bytes] = []

    def goes_on(self, chunk: bytes) -> bool:
        """Keep a chunk, and tell whether the body may still be a text that can be inspected."""
        self.chunks.append(chunk)
        self._left_bytes -= len(chunk)
        try:
            return self._left_bytes >= 0 and "\0" not in self._decoder.decode(chunk)
        except ValueError:
            return False

    @property
    def content(self) -> bytes:
        """All that was read."""
        return b"".join(self.chunks)


class PeekedBody:
    """A body of which something was read.

    Args:
        peek: That.
        chunks: What is left.
        response: Is closed with it.
    """

    def __init__(self, peek: Peek, chunks: Generator[bytes, None, None], response: HttpResponse) -> None:
        self._peek = peek
        self._chunks = chunks
        self._response = response

    def __iter__(self) -> Generator[bytes, None, None]:
        yield from self._peek.chunks
        yield from self._chunks

    def close(self) -> None:
        """Close the response."""
        self._chunks.close()
        self._response.close()


class AsyncPeekedBody:
    """Does what `PeekedBody` does."""

    def __init__(self, peek: Peek, chunks: AsyncGenerator[bytes, None], response: HttpResponse) -> None:
        self._peek = peek
        self._chunks = chunks
        self._response = response

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        for chunk in self._peek.chunks:
            yield chunk
        async for chunk in self._chunks:
            yield chunk

    async def aclose(self) -> None:
        """Close the response."""
        await self._chunks.aclose()
        await self._response.aclose()
