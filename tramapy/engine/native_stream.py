"""One attempt of a stream in a vendor's format: each of its texts is a lane, inspected as it comes.

An event goes out as it came where nothing was written into it. What DLP holds back of a lane goes out with a
later event of the lane, or in one made for it. A tool call goes out as a whole, once its arguments are inspected.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping
from typing import Any, Final

from tramapy.engine.answer import inspect_response
from tramapy.engine.attempt import conclude_all
from tramapy.engine.lane_text import LaneText, TextRun
from tramapy.engine.native import Lane, NativeEnd, NativeEvent, NativePiece, NativeText
from tramapy.engine.native_answer import (
    inspect_native_run,
    inspect_native_text,
    refuse_names,
    report_unscanned,
)
from tramapy.engine.operation import Attempt
from tramapy.engine.restoring import restore_response, restore_text
from tramapy.engine.split_texts import SplitTexts
from tramapy.engine.stream_attempt import StreamAttempt, Way
from tramapy.engine.stream_dlp import InspectedText
from tramapy.errors import DlpInspectionError
from tramapy.hooks.dlp import DlpContentLocation
from tramapy.messages import ModelResponse

__all__ = ["NativeStreamAttempt"]

# globals, since a member looked up on its class costs 30 ns on CPython 3.11, and each event passes here
_PASS: Final = Way.PASS
_BUFFER: Final = Way.BUFFER

# how much of a text that was over is inspected again together with what comes behind it
_LATE_CONTEXT: Final = 1_000


class NativeStreamAttempt(StreamAttempt):
    """Does what `StreamAttempt` does; what it makes ready is bytes."""

    __slots__ = (
        *("_buffer", "_is_begun", "_lanes", "_opening", "_runs"),
        *("_spare", "_split_texts", "_told", "_waiting"),
    )

    def __init__(self, attempt: Attempt) -> None:
        super().__init__(attempt)
        self._lanes: dict[Lane, LaneText] = {}
        self._runs: dict[Hashable, TextRun] = {}
        # what opens a held lane, until its end
        self._waiting: dict[Lane, list[bytes]] = {}
        # what says nothing yet, until something is said
        self._opening: list[bytes] = []
        self._is_begun = False
        self._buffer: list[NativeEvent] = []
        self._spare: InspectedText | None = None
        self._told: set[str] = set()
        self._split_texts = SplitTexts()

    async def step(self, ready: deque[Any]) -> ModelResponse | None:
        """Take one event from the provider; append what may be released to `ready`."""
        event: Any = await self._pull()
        is_last = getattr(event, "is_last", None)
        if is_last is None:
            raise self._unusable(event)
        if event.unscanned:
            self._report_unscanned(event)
        if event.names:
            await refuse_names(self._attempt, event.names)
        if is_last:
            return await self._take_last(event, ready)
        if self._way is _BUFFER:
            await self._keep(event)
        elif self._way is _PASS and self._restoring is None:
            self._pass_on(event, ready)
        else:
            await self._take(event, ready)
        return None

    async def _take_last(self, end: NativeEnd, ready: deque[Any]) -> ModelResponse:
        if self._way is _BUFFER:
            await self._keep(end)
            return await self._complete_buffered(end, ready)
        end.ends.extend(self._open_lanes(end.ends))
        if self._way is _PASS and self._restoring is None:
            self._pass_on(end, ready)
        else:
            await self._take(end, ready)
            await self._finish_runs()
        ready.extend(self._opening)
        responses = await conclude_all(self._attempt, end.responses(self._sanitized_of))
        return responses[0]

    def _choose_way(self) -> Way:
        pipeline = self._attempt.pipeline
        if pipeline.hooks.may_rewrite_responses:
            return Way.BUFFER
        if pipeline.dlp is None:
            return Way.PASS
        if pipeline.stream_dlp == "auto":
            # asked once; the first lane of content is inspected by it
            self._spare = InspectedText.open(self._attempt, pipeline.dlp)
        return Way.BUFFER if self._spare is None else Way.INSPECT

    def _abort(self) -> None:
        for lane in self._lanes.values():
            lane.abort()
        for run in self._runs.values():
            run.inspected.abort()
        if self._spare is not None:
            self._spare.abort()

    def _report_unscanned(self, event: NativeEvent) -> None:
        fresh = [reason_code for reason_code in event.unscanned if reason_code not in self._told]
        self._told.update(fresh)
        report_unscanned(self._attempt, fresh, is_strict=event.is_strict)

    def _open_lanes(self, listed: list[Lane]) -> list[Lane]:
        ended = set(listed)  # of calls there may be thousands
        lanes = [lane for lane, text in self._lanes.items() if not text.is_over and lane not in ended]
        return lanes + [lane for lane in self._waiting if lane not in self._lanes and lane not in ended]

    def _pass_on(self, event: NativeEvent, ready: deque[Any]) -> None:
        """Release an event as it came; its texts are kept for those who see the whole response."""
        for piece in event.pieces:
            if piece.lane is not None and not piece.is_repeat:
                self._lane_of(piece.lane, piece).keep(piece.text)
        self._release(event.frame(), ready, is_opening=event.is_opening)

    async def _take(self, event: NativeEvent, ready: deque[Any]) -> None:
        """Inspect an event's pieces, end the lanes that it ends, and release it or let it wait."""
        if len(event.pieces) == 1 and not event.ends and event.opens is None:
            # by far the most events: a piece of a text that goes on
            piece = event.pieces[0]
            text = None if piece.lane is None or piece.is_repeat else self._lanes.get(piece.lane)
            if text is not None and not text.is_over and not text.is_held:
                released = await text.feed(piece.text)
                if released != piece.text:
                    piece.write(released)
                self._release(event.frame(), ready, is_opening=event.is_opening)
                return
        repeats: list[NativePiece] = []
        fed: dict[Lane, tuple[NativePiece, str]] = {}
        for piece in event.pieces:
            if piece.lane is None:
                await self._take_whole(piece)
            elif piece.is_repeat:
                repeats.append(piece)
            else:
                for frame in await self._make_way(piece, event, fed):
                    self._release(frame, ready, is_opening=False)
                await self._take_piece(piece.lane, piece, fed)
        self._pause(event.pauses)
        for lane in event.ends:
            for frame in await self._end(lane, event, fed):
                self._release(frame, ready, is_opening=False)
        for piece in repeats:
            await self._repeat(piece)
        opens = event.opens
        if opens is not None and opens not in event.ends:
            self._waiting.setdefault(opens, []).append(event.frame())
        else:
            self._release(event.frame(), ready, is_opening=event.is_opening)

    async def _make_way(
        self, piece: NativePiece, event: NativeEvent, fed: dict[Lane, tuple[NativePiece, str]]
    ) -> list[bytes]:
        """End the lane behind which a new one begins in the same event; return the frames that go out for it."""
        run = None if piece.run is None or piece.lane in self._lanes else self._runs.get(piece.run)
        if run is None or run.lane not in event.ends:
            return []
        return await self._end(run.lane, event, fed)

    async def _take_piece(
        self, lane: Lane, piece: NativePiece, fed: dict[Lane, tuple[NativePiece, str]]
    ) -> None:
        text = self._lane_of(lane, piece)
        if text.is_over:
            await self._take_late(text, piece)
        elif text.is_held:
            text.keep(piece.text)
            if piece.text:
                piece.write("")
        else:
            released = await text.feed(piece.text)
            if released != piece.text:
                piece.write(released)
            fed[lane] = piece, released

    async def _take_late(self, text: LaneText, piece: NativePiece) -> None:
        """Inspect a piece that comes after the end of its lane behind what the lane said last.

        Raises:
            DlpInspectionError: DLP would change what is released already.
        """
        place, said = text.place, text.sanitized[-_LATE_CONTEXT:]
        whole = NativeText(said + piece.text, place.location, place.tool_name)
        sanitized = await inspect_native_text(self._attempt, whole)
        if not sanitized.startswith(said):
            raise DlpInspectionError(
                "A text went on after its end, and with what was released before it says what DLP does not let "
                "pass; the rest was withheld"
            )
        released = sanitized[len(said) :]
        out = restore_text(self._attempt, released, place.location, place.tool_name)
        text.add_late(piece.text, released, out)
        if out != piece.text:
            piece.write(out)

    async def _take_whole(self, piece: NativePiece) -> None:
        place = NativeText(piece.text, piece.location, piece.tool_name)
        text = await inspect_native_text(self._attempt, place)
        dlp = self._attempt.pipeline.dlp
        if dlp is not None and piece.scope is not None:
            text = await self._split_texts.inspected(self._attempt, dlp, piece, text)
        text = restore_text(self._attempt, text, place.location, place.tool_name)
        if text != piece.text:
            piece.write(text)

    async def _repeat(self, piece: NativePiece) -> None:
        """Let a text that was streamed say the same the second time."""
        lane = self._lanes.get(piece.lane)
        if lane is None or not lane.is_over or lane.raw != piece.text:
            await self._take_whole(piece)
        elif lane.out != piece.text:
            piece.write(lane.out)

    async def _end(
        self, lane: Lane, event: NativeEvent, fed: dict[Lane, tuple[NativePiece, str]]
    ) -> list[bytes]:
        """End a lane and return the frames that go out for it before the event."""
        frames = self._waiting.pop(lane, [])
        text = self._lanes.get(lane)
        if text is None or text.is_over:
            return frames
        if text.is_held:
            await self._settle(text)
            tail = text.out
        else:
            tail = await text.finish()
            if tail and lane in fed:
                piece, released = fed[lane]
                piece.write(released + tail)
                return frames
        if tail:
            frames.append(event.tail(lane, tail))
        return frames

    async def _finish_runs(self) -> None:
        """End the inspections that went on behind their last text.

        Raises:
            DlpInspectionError: One of them failed, or kept text back where it was to give out all of it.
        """
        while self._runs:
            _, run = self._runs.popitem()
            if await run.inspected.finish():
                raise DlpInspectionError(
                    "A PartedDlpStream kept text back in flush(), and gave it out in finish(); it was withheld"
                )

    def _pause(self, lane: Lane | None) -> None:
        text = None if lane is None else self._lanes.get(lane)
        if text is not None:
            text.pause()

    async def _settle(self, text: LaneText) -> None:
        place = text.place
        sanitized = await inspect_native_run(self._attempt, place, text.parts)
        text.settle(sanitized, restore_text(self._attempt, sanitized, place.location, place.tool_name))

    def _lane_of(self, lane: Lane, piece: NativePiece) -> LaneText:
        text = self._lanes.get(lane)
        if text is None:
            is_held, inspected, run = piece.is_held, None, None
            if self._way is Way.INSPECT and not is_held:
                inspected, run = self._opened(lane, piece)
                is_held = inspected is None
            text = self._lanes[lane] = LaneText(self._attempt, piece, inspected, run, is_held=is_held)
        return text

    def _opened(self, lane: Lane, piece: NativePiece) -> tuple[InspectedText | None, TextRun | None]:
        """Return what inspects a lane, and the run that this is the inspection of."""
        name = piece.run
        run = None if name is None else self._runs.get(name)
        if run is not None and run.lane is None:
            run.lane = lane
            return run.inspected, run
        inspected = self._inspection(piece)
        if name is None or run is not None or inspected is None or not inspected.can_flush:
            return inspected, None
        run = self._runs[name] = TextRun(inspected, lane)
        return inspected, run

    def _inspection(self, piece: NativePiece) -> InspectedText | None:
        """Open the inspection of a lane; None where the interceptor has none for it: it is inspected as a whole."""
        dlp, spare = self._attempt.pipeline.dlp, self._spare
        if spare is not None and piece.location is DlpContentLocation.MODEL_RESPONSE_CONTENT:
            self._spare = None
            return spare
        return (
            None if dlp is None else InspectedText.open(self._attempt, dlp, piece.location, piece.tool_name)
        )

    def _release(self, frame: bytes, ready: deque[Any], *, is_opening: bool) -> None:
        if not frame:
            return
        if is_opening and not self._is_begun:
            self._opening.append(frame)
            return
        if not self._is_begun:
            self._is_begun = True
            ready.extend(self._opening)
            self._opening.clear()
        ready.append(frame)

    def _sanitized_of(self, lane: Lane) -> str:
        text = self._lanes.get(lane)
        if text is None:
            return ""
        return text.raw if self._way is Way.PASS and self._restoring is None else text.sanitized

    def _parts_of(self, lane: Lane) -> list[str]:
        text = self._lanes.get(lane)
        return [] if text is None else text.parts

    def _raw_of(self, lane: Lane) -> str:
        text = self._lanes.get(lane)
        return "" if text is None else text.raw

    async def _keep(self, event: NativeEvent) -> None:
        """Let an event wait for the end of the stream; texts that are whole by themselves are inspected now."""
        self._buffer.append(event)
        for piece in event.pieces:
            if piece.lane is None:
                await self._take_whole(piece)
            elif not piece.is_repeat:
                self._lane_of(piece.lane, piece).keep(piece.text)
        self._pause(event.pauses)

    async def _complete_buffered(self, end: NativeEnd, ready: deque[Any]) -> ModelResponse:
        """Do steps 3 to 6 on the whole answer, write it into the events, and release them all."""
        attempt = self._attempt
        responses = end.responses(self._raw_of)
        shown = end.lane_texts(responses)
        content_texts = [part for lane in end.content_lanes for part in self._parts_of(lane)]
        first, *others = responses
        inspected = [
            await inspect_response(
                attempt,
                first,
                content_texts=content_texts,
                refusal_texts=[*map(self._raw_of, end.refusal_lanes)],
            ),
            *[await inspect_response(attempt, response) for response in others],
        ]
        for lane, text in self._lanes.items():
            if lane not in shown:
                await self._settle(text)
        concluded = await conclude_all(attempt, inspected)
        restored = [await restore_response(attempt, response) for response in concluded]
        texts = dict(end.lane_texts(restored))
        texts.update((lane, text.out) for lane, text in self._lanes.items() if lane not in shown)
        is_written: set[Lane] = set()
        for event in self._buffer:
            for piece in event.pieces:
                if piece.lane is not None:
                    await self._write_whole(piece.lane, piece, texts, is_written)
        added = {lane: text for lane, text in texts.items() if text and lane not in self._lanes}
        for event in self._buffer:
            # before a client may stop to read: at the lane's own end, or where the last of the others end
            for lane in [lane for lane in added if event is self._end_for(lane, end)]:
                ready.append(event.tail(lane, added[lane]))
            ready.append(event.frame())
        self._drop_empty(ready)
        return concluded[0]

    async def _write_whole(
        self, lane: Lane, piece: NativePiece, texts: Mapping[Lane, str], is_written: set[Lane]
    ) -> None:
        """Write a lane's whole text into its first piece, and nothing into the others; unless it is unchanged."""
        raw = self._raw_of(lane)
        text = texts.get(lane, "")
        if piece.is_repeat:
            if lane not in self._lanes or piece.text != raw:
                await self._take_whole(piece)
            elif text != raw:
                piece.write(text)
        elif text != raw:
            piece.write("" if lane in is_written else text)
            is_written.add(lane)

    def _end_for(self, lane: Lane, end: NativeEnd) -> NativeEvent:
        """Return the event before which a lane that had no event goes out."""
        own = (event for event in self._buffer if lane in event.ends)
        others = (event for event in reversed(self._buffer) if event.ends)
        return next(own, None) or next(others, end)

    @staticmethod
    def _drop_empty(ready: deque[Any]) -> None:
        frames = [frame for frame in ready if frame]
        ready.clear()
        ready.extend(frames)
