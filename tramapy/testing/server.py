"""`ScriptedServer`: a loopback server that speaks three wire formats and fails as it is told to."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Coroutine, Iterable
from types import TracebackType
from typing import Final, Self

from tramapy.hooks.diagnostics import add_note_once
from tramapy.testing.answers import OutOfAnswersError
from tramapy.testing.exchange import ServerRequest
from tramapy.testing.gate import WAIT_LIMIT_S
from tramapy.testing.http_server import Connection
from tramapy.testing.pieces import Split, split_words
from tramapy.testing.script import Script, ScriptedAnswer
from tramapy.testing.server_log import ServerLog

__all__ = ["ScriptedServer"]

_HEAD_LIMIT_BYTES: Final = 1024 * 1024

STOP_LIMIT_S = WAIT_LIMIT_S


class ScriptedServer:
    """An HTTP server on 127.0.0.1 that answers from a script, one answer per request.

    It speaks `/v1/chat/completions`, `/v1/responses` and `/v1/messages`, plain and streamed, whichever the
    request asks for. Ids and times are made from the request's number, so that two runs are equal. Use it in
    a `with`, once; leaving it drops every connection.

    Args:
        answers: One for each request, in order.
        split: How text falls into pieces in a stream; by default after each word.
        repeat_last: Whether the last answer serves all further requests.
        paths: Further paths, for any method, such as `/v1/embeddings`; a `RawBody` says what they answer.

    Raises:
        ValueError: `repeat_last` is given without any answer, or a path does not begin with a slash.
        TypeError: `answers` or `paths` is no list.
    """

    def __init__(
        self,
        answers: Iterable[ScriptedAnswer] = (),
        *,
        split: Split = split_words,
        repeat_last: bool = False,
        paths: Iterable[str] = (),
    ) -> None:
        self._script = Script(answers, split=split, repeat_last=repeat_last, paths=paths)
        self._log = ServerLog(self._script)
        self._thread: _LoopThread | None = None
        self._port = 0

    def __enter__(self) -> Self:
        listener = socket.create_server(("127.0.0.1", 0))
        self._port = listener.getsockname()[1]
        self._thread = _LoopThread(lambda stop: self._serve(listener, stop))
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop. Raise what was wrong with the script, for example too few answers; an error on its way gets a note."""
        if self._thread is not None:
            self._thread.stop()
            self._thread = None
        problem = self._log.problem
        if problem is None:
            return
        if error is None:
            raise problem
        said = str(problem) if isinstance(problem, OutOfAnswersError) else type(problem).__name__
        add_note_once(error, f"The script of ScriptedServer was at fault: {said}.")

    @property
    def base_url(self) -> str:
        """The address for an OpenAI client: `http://127.0.0.1:<port>/v1`.

        Raises:
            RuntimeError: The server does not run.
        """
        return f"{self.root_url}/v1"

    @property
    def root_url(self) -> str:
        """The address without `/v1`, for an Anthropic client.

        Raises:
            RuntimeError: The server does not run.
        """
        if self._thread is None:
            raise RuntimeError("the server does not run; use it in a with statement")
        return f"http://127.0.0.1:{self._port}"

    @property
    def requests(self) -> tuple[ServerRequest, ...]:
        """Every request that came, in order."""
        return self._log.requests

    @property
    def open_connection_count(self) -> int:
        """How many clients are connected, idle ones included."""
        return self._log.open_count

    @property
    def connection_count(self) -> int:
        """How many connections there have been; fewer than requests where one served several."""
        return self._log.connection_count

    @property
    def abandoned_count(self) -> int:
        """How many clients hung up before the server had sent its whole answer."""
        return self._log.abandoned_count

    @property
    def mistake(self) -> BaseException | None:
        """What is wrong with the script, the first time: too few answers, or what an answer of your own raised."""
        return self._log.problem

    def wait_for_requests(self, count: int, timeout_s: float = WAIT_LIMIT_S) -> None:
        """Block until `count` requests have come.

        Raises:
            AssertionError: They did not come in time.
        """
        self._log.wait_for(lambda: len(self.requests) >= count, f"{count} requests", timeout_s)

    def wait_for_abandoned(self, count: int, timeout_s: float = WAIT_LIMIT_S) -> None:
        """Block until `count` clients have hung up before the server had sent its whole answer.

        Raises:
            AssertionError: They did not in time.
        """
        self._log.wait_for(lambda: self.abandoned_count >= count, f"{count} abandoned answers", timeout_s)

    def wait_for_no_connection(self, timeout_s: float = WAIT_LIMIT_S) -> None:
        """Block until no client is connected.

        Raises:
            AssertionError: One still is after that time.
        """
        self._log.wait_for(lambda: self.open_connection_count == 0, "no open connection", timeout_s)

    def __repr__(self) -> str:
        return f"ScriptedServer(<{self._script.answer_count} answers>, <{len(self.requests)} requests>)"

    async def _serve(self, listener: socket.socket, stop: asyncio.Event) -> None:
        # not asyncio.start_server: when that stops, what it is about to accept is left open
        tasks: set[asyncio.Task[None]] = set()

        def accept() -> None:
            with contextlib.suppress(BlockingIOError):  # a client that is gone again
                accepted, _ = listener.accept()
                # small answers would wait 40 ms for an acknowledgement
                accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                task = asyncio.create_task(self._serve_socket(accepted))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
                # a task that is cancelled before its first step closes nothing itself
                task.add_done_callback(lambda _: accepted.close())

        loop = asyncio.get_running_loop()
        listener.setblocking(False)
        loop.add_reader(listener, accept)
        await stop.wait()
        loop.remove_reader(listener)
        listener.close()
        left = tuple(tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await asyncio.sleep(0)  # a transport that was cancelled while it was made closes in the next turn

    async def _serve_socket(self, accepted: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=accepted, limit=_HEAD_LIMIT_BYTES)
        try:
            await Connection(reader, writer, self._log).serve()
        except Exception as problem:
            self._log.failed(problem)


class _LoopThread:
    """A thread with an event loop that runs one coroutine, which ends soon after its event is set."""

    def __init__(self, run: Callable[[asyncio.Event], Coroutine[None, None, None]]) -> None:
        self._run = run
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._main, name="tramapy-scripted-server", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(STOP_LIMIT_S)
        if self._thread.is_alive():
            raise AssertionError(
                f"the server did not stop within {STOP_LIMIT_S} s; does an answer of its own block its loop?"
            )

    def _main(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._run(self._stop))
