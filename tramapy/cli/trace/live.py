"""`listening`: operations as an exporter sends them to this machine."""

from __future__ import annotations

import queue
import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from tramapy.cli.trace.address import Address
from tramapy.cli.trace.operations import TracedOperation
from tramapy.cli.trace.otlp import SpanBook
from tramapy.telemetry.otlp_receiver import OtlpReceiver
from tramapy.telemetry.otlp_refusal import OtlpRefusal

if TYPE_CHECKING:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

__all__ = ["Live", "listening"]

_WAITING_EXPORT_COUNT: Final = 16


class Live:
    """Exports on their way from the receiver's threads to whoever shows them.

    Attributes:
        endpoint: What an exporter takes as its endpoint.
        dropped_export_count: Exports that came while too many waited.
        book: Makes operations of them.
    """

    def __init__(self) -> None:
        self.endpoint: str = ""
        self.dropped_export_count: int = 0
        self.book: SpanBook = SpanBook()
        self._exports: queue.SimpleQueue[ExportTraceServiceRequest | None] = queue.SimpleQueue()

    def take(self, export: ExportTraceServiceRequest) -> None:
        """Take an export; called by the receiver, on any thread."""
        if self._exports.qsize() >= _WAITING_EXPORT_COUNT:
            self.dropped_export_count += 1
        else:
            self._exports.put(export)

    def stop(self) -> None:
        """End `operations` after what has come so far; may be called by a signal handler."""
        self._exports.put(None)

    def operations(self) -> Iterator[TracedOperation]:
        """Yield operations as they become whole, and after `stop` those that did not."""
        while (export := self._exports.get()) is not None:
            yield from self.book.add(export)
        yield from self.book.rest()


@contextmanager
def listening(
    address: Address, *, is_remote_allowed: bool, on_refused: Callable[[OtlpRefusal], None]
) -> Generator[Live, None, None]:
    """Listen while the context is open, and stop at the first Ctrl-C.

    Args:
        address: Where.
        is_remote_allowed: Whether it may be one that other machines can reach.
        on_refused: Told the first time that something is refused, for each reason once; on any thread.

    Raises:
        ConfigurationError: Other machines could reach the address, and that is not allowed.
        OSError: The address cannot be listened on.
    """
    live = Live()
    receiver = OtlpReceiver(
        on_traces=live.take,
        on_refused=_once(on_refused),
        host=address.host,
        port=address.port,
        is_remote_allowed=is_remote_allowed,
    )
    with receiver, _stopping(live):
        live.endpoint = receiver.endpoint
        yield live


def _once(tell: Callable[[OtlpRefusal], None]) -> Callable[[OtlpRefusal], None]:
    """Pass each reason on once, however often it comes, and on however many threads."""
    reasons = set(OtlpRefusal)

    def tell_once(reason: OtlpRefusal) -> None:
        try:
            reasons.remove(reason)
        except KeyError:
            return
        tell(reason)

    return tell_once


@contextmanager
def _stopping(live: Live) -> Generator[None, None, None]:
    """Let Ctrl-C stop, so that it never comes in the midst of an operation; the second one interrupts as ever."""

    def stop(*_: object) -> None:
        live.stop()
        signal.signal(signal.SIGINT, previous)

    previous = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
