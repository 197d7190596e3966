"""`LaneText`: what is known of one text of a stream; `TextRun`: such texts that are inspected as one."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tramapy.engine.native import Lane, NativePiece, NativeText
from tramapy.engine.operation import Attempt
from tramapy.engine.stream_dlp import InspectedText

if TYPE_CHECKING:
    from tramapy.dlp.vault import RestoringText

__all__ = ["LaneText", "TextRun"]


class TextRun:
    """Texts that follow one another in a stream, and that a reader joins: one inspection reads them all.

    Args:
        inspected: The inspection.
        lane: The text that goes on; another one that comes meanwhile is inspected by itself.
    """

    __slots__ = ("inspected", "lane")

    def __init__(self, inspected: InspectedText, lane: Lane) -> None:
        self.inspected: InspectedText = inspected
        self.lane: Lane | None = lane


class LaneText:
    """What is known of a lane: its text as it came, as DLP left it, and as it goes out.

    Args:
        attempt: The attempt.
        first: The first piece of it.
        inspected: Its inspection; None where it is inspected as a whole, or not at all.
        run: Whose inspection that is; None where it is the lane's own.
        is_held: Whether the text waits for its end.
    """

    __slots__ = (
        *("_inspected", "_out", "_part_counts", "_raw", "_restoring", "_run", "_sanitized"),
        *("is_held", "is_over", "place"),
    )

    def __init__(
        self,
        attempt: Attempt,
        first: NativePiece,
        inspected: InspectedText | None,
        run: TextRun | None,
        *,
        is_held: bool,
    ) -> None:
        self.place: NativeText = NativeText("", first.location, first.tool_name)
        self.is_held: bool = is_held
        self.is_over: bool = False
        self._inspected = inspected
        self._run = run
        vault = attempt.operation.vault
        self._restoring: RestoringText | None = None if vault is None else vault.open_stream()
        self._raw: list[str] = []
        self._part_counts: list[int] = []
        self._sanitized: list[str] = []
        self._out: list[str] = self._sanitized if self._restoring is None else []

    @property
    def raw(self) -> str:
        """All that came."""
        return "".join(self._raw)

    @property
    def sanitized(self) -> str:
        """All that DLP let go."""
        return "".join(self._sanitized)

    @property
    def out(self) -> str:
        """All that went out."""
        return "".join(self._out)

    @property
    def parts(self) -> list[str]:
        """The text as it came, by its parts."""
        places = [0, *self._part_counts, len(self._raw)]
        return ["".join(self._raw[start:end]) for start, end in pairwise(places)]

    def keep(self, text: str) -> None:
        """Take a piece that waits for the rest."""
        self._raw.append(text)

    async def feed(self, text: str) -> str:
        """Take a piece and return what may go out."""
        self._raw.append(text)
        if self._inspected is not None:
            text = await self._inspected.feed(text)
        return self._passed(text)

    def pause(self) -> None:
        """End a part."""
        self._part_counts.append(len(self._raw))
        if self._inspected is not None:
            self._inspected.end_part()

    async def finish(self) -> str:
        """Return the rest."""
        self.is_over = True
        rest = ""
        if self._run is not None:
            rest = await self._run.inspected.flush()
            self._run.lane = None
        elif self._inspected is not None:
            rest = await self._inspected.finish()
        rest = self._passed(rest)
        if self._restoring is None:
            return rest
        held = self._restoring.finish()
        self._out.append(held)
        return rest + held

    def settle(self, sanitized: str, out: str) -> None:
        """Take the text of a lane that was inspected as a whole."""
        self.is_over = True
        self._sanitized = [sanitized]
        self._out = [out]

    def add_late(self, text: str, sanitized: str, out: str) -> None:
        """Take a piece that came after the end, and what became of it."""
        self._raw.append(text)
        self._out = [self.out, out]
        self._sanitized.append(sanitized)

    def abort(self) -> None:
        """Drop what the lane's own inspection holds back."""
        if self._inspected is not None and self._run is None and not self.is_over:
            self._inspected.abort()

    def _passed(self, released: str) -> str:
        if released:
            self._sanitized.append(released)
            if self._restoring is not None:
                released = self._restoring.feed(released)
                self._out.append(released)
        return released
