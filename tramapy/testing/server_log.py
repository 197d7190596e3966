"""What happened on a `ScriptedServer`: requests, connections and mistakes, to be waited for from any thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from tramapy.testing.exchange import ServerRequest, Step
from tramapy.testing.http_server import Connection, ReceivedRequest, ScriptMistake
from tramapy.testing.script import Script, mistake

__all__ = ["ServerLog"]


class ServerLog:
    """Keeps count for the test, and answers from the script for the server.

    Args:
        script: Where the answers come from.
    """

    def __init__(self, script: Script) -> None:
        self._script = script
        self._changed = threading.Condition()
        self._requests: list[ServerRequest] = []
        self._open: set[Connection] = set()
        self._connection_count = 0
        self._abandoned_count = 0
        self._problem: BaseException | None = None

    @property
    def requests(self) -> tuple[ServerRequest, ...]:
        """Every request, in order."""
        with self._changed:
            return tuple(self._requests)

    @property
    def open_count(self) -> int:
        """How many connections are open."""
        with self._changed:
            return len(self._open)

    @property
    def connection_count(self) -> int:
        """How many connections there have been, those that are open included."""
        with self._changed:
            return self._connection_count

    @property
    def abandoned_count(self) -> int:
        """How many clients hung up before the end of their answer."""
        with self._changed:
            return self._abandoned_count

    @property
    def problem(self) -> BaseException | None:
        """The first mistake of the script, where there was one."""
        with self._changed:
            return self._problem

    def wait_for(self, is_so: Callable[[], bool], what: str, timeout_s: float) -> None:
        """Block until `is_so`, which is asked after every change.

        Raises:
            AssertionError: It was not in time.
        """
        with self._changed:
            if not self._changed.wait_for(is_so, timeout_s):
                raise AssertionError(
                    f"waited {timeout_s} s for {what}; there are {len(self._requests)} requests, "
                    f"{len(self._open)} open connections and {self._abandoned_count} abandoned answers"
                )

    def connected(self, connection: Connection) -> None:
        """Take note of a new connection."""
        with self._changed:
            self._open.add(connection)
            self._connection_count += 1
            self._changed.notify_all()

    def disconnected(self, connection: Connection) -> None:
        """Take note of the end of a connection."""
        with self._changed:
            self._open.discard(connection)
            self._changed.notify_all()

    def abandoned(self) -> None:
        """Take note of a client that hung up before the end of its answer."""
        with self._changed:
            self._abandoned_count += 1
            self._changed.notify_all()

    def answer(self, received: ReceivedRequest) -> Iterator[Step]:
        """Record a request and yield the steps of its answer.

        Raises:
            ScriptMistake: The script failed within an answer; what it raised is kept as `problem`. Where it has no
                answer at all, the client is told so in the place of one.
        """
        with self._changed:
            request = received.numbered(len(self._requests) + 1)
            self._requests.append(request)
            self._changed.notify_all()
        exchange = self._script.exchange_of(request)
        first: Step | None
        try:
            steps = self._script.answer_to(request).steps(exchange)
            first = next(steps, None)  # most mistakes show before anything is sent
        except Exception as problem:
            self.failed(problem)
            first, steps = None, mistake(problem, request.number).steps(exchange)
        try:
            if first is not None:
                yield first
            yield from steps
        except Exception as problem:
            self.failed(problem)
            raise ScriptMistake from problem

    def failed(self, problem: BaseException) -> None:
        """Keep a mistake of the script or the server; the first one is told at the end."""
        with self._changed:
            self._problem = self._problem or problem
            self._changed.notify_all()
