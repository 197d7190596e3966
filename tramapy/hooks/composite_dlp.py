"""Several DLP interceptors as one, on whole texts and on streams."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Never, cast

from tramapy.hooks.dlp import (
    DlpContext,
    DlpInterceptor,
    DlpRedaction,
    DlpResult,
    DlpStream,
    PartedDlpStream,
    StreamingDlpInterceptor,
    parted,
)
from tramapy.hooks.pending_fold import PendingFold
from tramapy.values import close_unawaited, described, listed

__all__ = ["ChainedDlpStream", "CompositeDlpInterceptor", "end_part", "merged_redactions"]


class CompositeDlpInterceptor(StreamingDlpInterceptor):
    """Several DLP interceptors as one: each inspects what the one before returned; counts merge by rule id.

    Args:
        interceptors: In the order in which they run. None leaves every text as it is.
        *more: Refused: it takes one list.
    """

    def __init__(self, interceptors: Iterable[DlpInterceptor], *more: Never) -> None:
        if more:
            raise TypeError("CompositeDlpInterceptor takes one list; write [...] around its interceptors")
        self.interceptors: tuple[DlpInterceptor, ...] = listed(
            "interceptors", interceptors, "give a list of DlpInterceptor"
        )
        for position, interceptor in enumerate(self.interceptors):
            if not isinstance(interceptor, DlpInterceptor):
                raise TypeError(
                    f"interceptors[{position}] is {described(interceptor)}; derive it from DlpInterceptor"
                )
        self.uses_placeholders: bool = any(interceptor.uses_placeholders for interceptor in self.interceptors)

    def inspect(self, context: DlpContext, text: str) -> DlpResult | Awaitable[DlpResult]:
        """Fold the inspections; the first awaitable makes the rest of the fold awaitable too."""
        found: list[DlpRedaction] = []
        for position, interceptor in enumerate(self.interceptors):
            result = interceptor.inspect(context, text)
            if isinstance(result, Awaitable):
                return PendingFold(self._fold(position + 1, context, found, result), result)
            text = result.sanitized_text
            found.extend(result.redactions)
        return DlpResult(text, merged_redactions(found))

    async def _fold(
        self, start: int, context: DlpContext, found: list[DlpRedaction], pending: Awaitable[DlpResult]
    ) -> DlpResult:
        result = await pending
        found.extend(result.redactions)
        for interceptor in self.interceptors[start:]:
            step = interceptor.inspect(context, result.sanitized_text)
            result = await step if isinstance(step, Awaitable) else step
            found.extend(result.redactions)
        return DlpResult(result.sanitized_text, merged_redactions(found))

    def open_stream(self, context: DlpContext) -> DlpStream | None:
        """Chain one stream per interceptor; None where one of them cannot inspect incrementally."""
        streams: list[DlpStream] = []
        for interceptor in self.interceptors:
            stream = (
                interceptor.open_stream(context) if isinstance(interceptor, StreamingDlpInterceptor) else None
            )
            if stream is None:
                for opened in streams:
                    opened.abort()
                return None
            streams.append(stream)
        return ChainedDlpStream(
            streams, [partial(_opened_again, interceptor, context) for interceptor in self.interceptors]
        )


class ChainedDlpStream:
    """Streams in a row, a `PartedDlpStream`: what one releases feeds the next.

    Args:
        streams: In order.
        openers: Each opens such a stream. One that is no `PartedDlpStream` cannot be flushed: it ends, and another one
            takes what comes next.
    """

    __slots__ = ("_links", "_openers", "_seams", "_streams")

    def __init__(self, streams: Iterable[DlpStream], openers: Iterable[Callable[[], DlpStream]]) -> None:
        self._streams = tuple(streams)
        self._openers = tuple(openers)
        self._links: Sequence[_Link] | None = None
        """The streams, once the text has parts."""
        self._seams: Sequence[int] = ()

    @property
    def redactions(self) -> tuple[DlpRedaction, ...]:
        """All redactions so far, counts added up by rule."""
        owners = self._streams if self._links is None else self._links
        return merged_redactions([redaction for owner in owners for redaction in owner.redactions])

    def feed(self, text: str) -> str:
        """Pass a piece down the chain."""
        if self._links is not None:
            return self._pass_parts(self._links, text, None)
        for stream in self._streams:
            text = stream.feed(text)
        return text

    def end_part(self) -> None:
        """End a part of the text; what one stream releases tells the next one where that was."""
        links = self._linked()
        if links:
            links[0].end_part()

    def flush(self) -> str:
        """End a part and return all that any stream holds back."""
        return self._pass_parts(self._linked(), "", _Link.flush)

    def take_seams(self) -> Sequence[int]:
        """Return where in what was released last one part ends and the next one begins."""
        return self._seams

    def finish(self) -> str:
        """End the streams in order; what one still releases is fed to the next before that one ends."""
        if self._links is not None:
            return self._pass_parts(self._links, "", _Link.finish)
        text = ""
        for stream in self._streams:
            text = (stream.feed(text) if text else "") + stream.finish()
        return text

    def abort(self) -> None:
        """Drop what any stream holds."""
        for owner in self._streams if self._links is None else self._links:
            owner.abort()

    def _linked(self) -> Sequence[_Link]:
        if self._links is None:
            self._links = [*map(_Link, self._streams, self._openers)]
        return self._links

    def _pass_parts(self, links: Sequence[_Link], text: str, end: Callable[[_Link], str] | None) -> str:
        self._seams = ()
        for link in links:
            text, self._seams = link.passed(text, self._seams, end)
        return text


class _Link:
    """A stream of a chain through which a text with parts passes."""

    __slots__ = ("_before", "_is_ended", "_open", "_parted", "_stream")

    def __init__(self, stream: DlpStream, open_: Callable[[], DlpStream]) -> None:
        self._open = open_
        self._stream = stream
        self._parted = parted(stream)
        self._is_ended = False
        self._before: Sequence[DlpRedaction] = ()
        """What streams redacted that ended here."""

    @property
    def redactions(self) -> Sequence[DlpRedaction]:
        return (*self._before, *self._stream.redactions)

    def end_part(self) -> None:
        """End a part, if the stream knows of parts."""
        if self._parted is not None:
            end_part(self._parted)

    def flush(self) -> str:
        """Return all that the stream holds back."""
        if self._parted is not None:
            return self._parted.flush()
        return self.finish()

    def finish(self) -> str:
        """End the stream; another one takes what still comes."""
        if self._is_ended:
            return ""
        self._is_ended = True
        return self._stream.finish()

    def abort(self) -> None:
        if not self._is_ended:
            self._stream.abort()

    def passed(
        self, text: str, seams: Sequence[int], end: Callable[[_Link], str] | None
    ) -> tuple[str, Sequence[int]]:
        """Feed a piece part by part; return what was released, and where its seams are.

        Args:
            text: The piece.
            seams: Where its parts meet.
            end: What follows: `flush`, `finish` or nothing.
        """
        released = ""
        found: list[int] = []
        for place, (first, last) in enumerate(pairwise((0, *seams, len(text)))):
            if place:
                self.end_part()
            released = self._joined(released, self._feed(text[first:last]), found)
        return (released if end is None else self._joined(released, end(self), found)), found

    def _feed(self, text: str) -> str:
        if self._is_ended and text:
            self._before = self.redactions
            self._stream = self._open()
            self._is_ended = False
        return "" if self._is_ended else self._stream.feed(text)

    def _joined(self, released: str, more: str, seams: list[int]) -> str:
        if self._parted is not None:
            seams.extend(len(released) + place for place in _seams_of(self._parted, more))
        return released + more


def end_part(stream: PartedDlpStream) -> None:
    """End a part of a text.

    Raises:
        TypeError: Something came back, such as an awaitable that nobody awaits: then the part has not ended.
    """
    returned = cast("Any", stream).end_part()
    if returned is not None:
        close_unawaited(returned)
        raise TypeError(f"end_part of a PartedDlpStream returns None, not {type(returned).__name__}")


def _seams_of(stream: PartedDlpStream, released: str) -> Sequence[int]:
    """Return the seams in what was released; by wrong ones, text would be said twice or not at all."""
    returned = cast("object", stream.take_seams())
    if not isinstance(returned, Sequence):
        close_unawaited(returned)
        raise TypeError(f"take_seams of a PartedDlpStream returns a list, not {type(returned).__name__}")
    places = cast("Sequence[int]", returned)
    if any(first > last for first, last in pairwise((0, *places, len(released)))):
        raise ValueError("take_seams of a PartedDlpStream returns places in what was released last, in order")
    return places


def _opened_again(interceptor: DlpInterceptor, context: DlpContext) -> DlpStream:
    stream = interceptor.open_stream(context) if isinstance(interceptor, StreamingDlpInterceptor) else None
    if stream is None:
        raise TypeError("open_stream gave no stream for the end of a text whose beginning it gave one for")
    return stream


def merged_redactions(redactions: Iterable[DlpRedaction]) -> tuple[DlpRedaction, ...]:
    """Return counts added up by rule."""
    counts: dict[str, int] = {}
    for redaction in redactions:
        counts[redaction.rule_id] = counts.get(redaction.rule_id, 0) + redaction.replacement_count
    return tuple(DlpRedaction(rule_id, count) for rule_id, count in counts.items())
