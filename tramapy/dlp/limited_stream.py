"""`LimitedDlpStream`: a `PartedDlpStream` with a bound on its text, and closed for good after its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from tramapy.errors import DlpInspectionError
from tramapy.hooks.dlp import DlpRedaction, PartedDlpStream

__all__ = ["LimitedDlpStream", "text_too_long_error"]

T = TypeVar("T")


class LimitedDlpStream:
    """A `PartedDlpStream` that bounds its text; after an error it is closed, and what it held back is gone.

    Args:
        stream: What inspects the text.
        max_text_length: How many characters may be fed altogether; None sets no limit.
    """

    __slots__ = ("_fed_length", "_is_open", "_max_text_length", "_stream")

    def __init__(self, stream: PartedDlpStream, max_text_length: int | None) -> None:
        self._stream = stream
        self._max_text_length = max_text_length
        self._fed_length = 0
        self._is_open = True

    @property
    def redactions(self) -> Sequence[DlpRedaction]:
        """All redactions so far, one a rule that matched, in the order of the rules."""
        return self._stream.redactions

    def feed(self, text: str) -> str:
        """Take the next piece and return what is decided.

        Raises:
            DlpInspectionError: The text is too long, or a rule cannot redact it.
            ValueError: The stream has ended.
        """
        if not self._is_open:
            raise _ended()
        self._is_open = False
        self._fed_length += len(text)
        try:
            if self._max_text_length is not None and self._fed_length > self._max_text_length:
                raise text_too_long_error(self._max_text_length)
            released = self._stream.feed(text)
            self._is_open = True
        finally:
            if not self._is_open:
                self._stream.abort()
        return released

    def end_part(self) -> None:
        """End a part; what comes next is another one.

        Raises:
            DlpInspectionError: A rule cannot redact it.
            ValueError: The stream has ended.
        """
        self._guarded(self._stream.end_part)

    def flush(self) -> str:
        """End a part and return all that was held back; what comes next is read behind it.

        Raises:
            DlpInspectionError: A rule cannot redact it.
            ValueError: The stream has ended.
        """
        return self._guarded(self._stream.flush)

    def take_seams(self) -> Sequence[int]:
        """Return where in what was released last one part ends and the next one begins."""
        return self._stream.take_seams()

    def finish(self) -> str:
        """End the text and return what was held back.

        Raises:
            DlpInspectionError: A rule cannot redact it.
            ValueError: The stream has ended.
        """
        if not self._is_open:
            raise _ended()
        self._is_open = False
        try:
            return self._stream.finish()
        finally:
            self._stream.abort()

    def abort(self) -> None:
        """Drop what was held back."""
        self._is_open = False
        self._stream.abort()

    def _guarded(self, step: Callable[[], T]) -> T:
        if not self._is_open:
            raise _ended()
        self._is_open = False
        try:
            result = step()
            self._is_open = True
        finally:
            if not self._is_open:
                self._stream.abort()
        return result


def _ended() -> ValueError:
    return ValueError("This DLP stream has ended, by finish(), abort() or an error; open another one")


def text_too_long_error(max_text_length: int) -> DlpInspectionError:
    """Return the error for a text over the limit."""
    return DlpInspectionError(
        f"The text is longer than max_text_length={max_text_length} characters, so DLP did not inspect it. "
        f"Raise max_text_length, or send shorter texts."
    )
