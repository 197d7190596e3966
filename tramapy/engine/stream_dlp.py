"""The text of a stream under an incremental DLP inspection: nothing is released before its evidence is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from tramapy.engine.inspection import audited, fail_inspection, inspection_error
from tramapy.engine.operation import Attempt
from tramapy.hooks.composite_dlp import end_part
from tramapy.hooks.diagnostics import report_secondary_failure
from tramapy.hooks.dlp import (
    DlpContentLocation,
    DlpContentType,
    DlpContext,
    DlpInterceptor,
    DlpRedaction,
    DlpStream,
    PartedDlpStream,
    StreamingDlpInterceptor,
    parted,
)
from tramapy.values import close_unawaited, exact_text

__all__ = ["InspectedText"]

T = TypeVar("T")


class InspectedText:
    """One text as it arrives: raw pieces go in, inspected pieces come out, redactions are audited in between."""

    __slots__ = (
        "_attempt",
        "_context",
        "_is_aligned",
        "_parted",
        "_pending",
        "_raw",
        "_reported",
        "_sanitized",
        "_stream",
    )

    def __init__(self, attempt: Attempt, context: DlpContext, stream: DlpStream) -> None:
        self._attempt = attempt
        self._context = context
        self._stream = stream
        self._parted = parted(stream)
        self._raw: list[str] = []
        self._sanitized: list[str] = []
        self._pending = ""
        self._is_aligned = True
        self._reported: dict[str, int] = {}

    @classmethod
    def open(
        cls,
        attempt: Attempt,
        dlp: DlpInterceptor,
        location: DlpContentLocation = DlpContentLocation.MODEL_RESPONSE_CONTENT,
        tool_name: str | None = None,
    ) -> InspectedText | None:
        """Start on a text of the answer; None where this interceptor cannot inspect it incrementally.

        Raises:
            DlpInspectionError: The interceptor failed.
        """
        if not isinstance(dlp, StreamingDlpInterceptor):
            return None
        context = attempt.dlp_context(DlpContentType.MODEL_OUTPUT, location, tool_name)

        def opened() -> InspectedText | None:
            stream = dlp.open_stream(context)
            return None if stream is None else cls(attempt, context, stream)

        return _guarded(attempt, context, "open_stream", opened)

    @property
    def can_flush(self) -> bool:
        """Whether it can be flushed, and go on."""
        return self._parted is not None

    @property
    def raw(self) -> str:
        """All that went in."""
        return "".join(self._raw)

    @property
    def sanitized(self) -> str:
        """All that came out."""
        return "".join(self._sanitized)

    async def feed(self, text: str) -> str:
        """Take a piece and return what may be released now.

        Raises:
            DlpInspectionError: The interceptor rejected the text or failed, its evidence does not fit, or the
                audit emitter failed; nothing more may be released.
        """
        self._raw.append(text)
        failure: Exception | None = None
        released = ""
        now_s = self._attempt.pipeline.port.now_s
        started_s = now_s()
        try:
            released = _text(self._stream.feed(text))
        except Exception as error:
            failure = error
        self._attempt.dlp_s += now_s() - started_s
        if failure is not None:
            raise inspection_error(self._attempt, self._context, "feed", failure) from None
        # The common case costs two comparisons: what comes out is what went in, so there is nothing to audit.
        if self._is_aligned and (released != text or self._pending):
            pending = self._pending + text
            self._is_aligned = pending.startswith(released)
            self._pending = pending[len(released) :]
        # A replacement may begin like what it stands for; with an audit emitter, the stream is asked each time.
        if not self._is_aligned or self._attempt.pipeline.audit is not None:
            await self._audit(is_changed=not self._is_aligned)
        if released:
            self._sanitized.append(released)
        return released

    def end_part(self) -> None:
        """End a part of the text, where the stream knows of parts.

        Raises:
            DlpInspectionError: The interceptor failed.
        """
        stream = self._parted
        if stream is not None:
            self._timed("end_part", lambda: end_part(stream))

    async def flush(self) -> str:
        """Return all of the text so far; what comes next is inspected behind it.

        Raises:
            DlpInspectionError: As for `feed`.
        """
        stream = cast("PartedDlpStream", self._parted)
        released = self._timed("flush", lambda: _text(stream.flush()))
        if self._is_aligned:
            self._is_aligned = released == self._pending
            self._pending = ""
        if not self._is_aligned or self._attempt.pipeline.audit is not None:
            await self._audit(is_changed=not self._is_aligned)
        if released:
            self._sanitized.append(released)
        return released

    async def finish(self) -> str:
        """Return the rest of the text; see `feed`."""
        stream = self._stream
        released = self._timed("finish", lambda: _text(stream.finish()))
        if released:
            self._sanitized.append(released)
        if self.raw != self.sanitized:
            await self._audit(is_changed=True)
        elif _guarded(self._attempt, self._context, "redactions", self._fresh) or self._reported:
            raise fail_inspection(self._attempt, self._context, "evidence_without_change", None)
        return released

    def abort(self) -> None:
        """Drop what is held back."""
        try:
            self._stream.abort()
        except Exception as error:  # fail-open: nothing of it is released any more
            failure = error
        else:
            return
        report_secondary_failure("dlp", "abort", failure)

    def _timed(self, callback: str, call: Callable[[], T]) -> T:
        now_s = self._attempt.pipeline.port.now_s
        started_s = now_s()
        result = _guarded(self._attempt, self._context, callback, call)
        self._attempt.dlp_s += now_s() - started_s
        return result

    async def _audit(self, *, is_changed: bool) -> None:
        fresh = _guarded(self._attempt, self._context, "redactions", self._fresh)
        if fresh or (is_changed and not self._reported):
            await audited(self._attempt, self._context, fresh)

    def _fresh(self) -> tuple[DlpRedaction, ...]:
        """Return what was redacted since the last look; a stream counts up."""
        fresh: list[DlpRedaction] = []
        for redaction in self._stream.redactions:
            known = self._reported.get(redaction.rule_id, 0)
            if redaction.replacement_count > known:
                fresh.append(DlpRedaction(redaction.rule_id, redaction.replacement_count - known))
                self._reported[redaction.rule_id] = redaction.replacement_count
        return tuple(fresh)


def _text(released: object) -> str:
    """Return what a DLP stream released."""
    if isinstance(released, str):
        return released if type(released) is str else exact_text(released)
    close_unawaited(released)
    raise TypeError(f"a DlpStream releases a str, not {type(released).__name__}")


def _guarded(attempt: Attempt, context: DlpContext, callback: str, call: Callable[[], T]) -> T:
    """Call a DLP stream and map whatever it raises, as for a whole text."""
    try:
        return call()
    except Exception as error:
        failure = error
    raise inspection_error(attempt, context, callback, failure) from None
