"""DLP on what a tool says, before a model reads it: bounded, inspected, and no secret hidden around an image.

After TramAI's tool-result sanitizer; the order of its checks is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from tramapy.engine import reporting
from tramapy.engine.inspection import inspect_text, scan_text
from tramapy.engine.operation import Attempt
from tramapy.engine.plain_values import plain_message
from tramapy.engine.run_inspection import inspect_run
from tramapy.engine.text_runs import inspect_text_runs, text_runs
from tramapy.errors import DlpInspectionError
from tramapy.hooks.dlp import DlpContentLocation, DlpContentType, DlpContext, DlpInterceptor
from tramapy.messages import ContentPart, Message, MessageRole, TextPart

__all__ = ["inspect_tool_messages"]


async def inspect_tool_messages(
    attempt: Attempt, dlp: DlpInterceptor, messages: Sequence[Message]
) -> tuple[Message, ...]:
    """Return `messages` with every TOOL message sanitized.

    Raises:
        DlpInspectionError: A result is too long, or its inspection failed; nothing is sent.
    """
    names = {call.id: call.name for message in messages for call in message.tool_calls}
    return tuple(
        [
            await _sanitize(attempt, dlp, message, _tool_name(message, names))
            if message.role is MessageRole.TOOL
            else message
            for message in messages
        ]
    )


def _tool_name(message: Message, names: dict[str, str]) -> str | None:
    if message.tool_name is not None:
        return message.tool_name
    return names.get(message.tool_call_id or "")


async def _sanitize(
    attempt: Attempt, dlp: DlpInterceptor, message: Message, tool_name: str | None
) -> Message:
    result = _ToolResult(attempt, dlp, tool_name)
    message = plain_message(message)
    if message.content_parts is not None:
        return message.replace(content_parts=await result.parts(message.content_parts))
    if not message.content:
        return message
    return message.replace(content=await result.content(message.content))


class _ToolResult:
    """One result under inspection: whose it is, and how long it may be."""

    __slots__ = ("_attempt", "_dlp", "_limit", "_tool_name")

    def __init__(self, attempt: Attempt, dlp: DlpInterceptor, tool_name: str | None) -> None:
        self._attempt = attempt
        self._dlp = dlp
        self._tool_name = tool_name
        self._limit = attempt.pipeline.tool_results.limit_for(tool_name)

    async def content(self, text: str) -> str:
        """Inspect a plain result."""
        self._check_length(len(text), "aggregate_text_limit_exceeded")
        sanitized = await inspect_text(
            self._attempt, self._dlp, self._context(DlpContentLocation.TOOL_MESSAGE_CONTENT), text
        )
        self._check_length(len(sanitized), "sanitized_text_limit_exceeded")
        return sanitized

    async def parts(self, parts: Sequence[ContentPart]) -> tuple[ContentPart, ...]:
        """Inspect a multimodal result run by run, and then what its runs say together."""
        self._check_length(sum(map(len, text_runs(parts))), "aggregate_text_limit_exceeded")
        context = self._context(DlpContentLocation.TOOL_MESSAGE_TEXT_RUN)

        async def inspect(texts: Sequence[str]) -> str:
            sanitized = await inspect_run(self._attempt, self._dlp, context, texts)
            self._check_length(len(sanitized), "sanitized_text_limit_exceeded")
            return sanitized

        sanitized = await inspect_text_runs(parts, inspect)
        self._check_length(sum(map(len, text_runs(sanitized))), "sanitized_text_limit_exceeded")
        if sum(isinstance(part, TextPart) for part in parts) > 1:
            await self._check_boundaries(context, text_runs(parts), text_runs(sanitized))
        return sanitized

    async def _check_boundaries(self, context: DlpContext, original: list[str], sanitized: list[str]) -> None:
        """Refuse sensitive text that spans something that is no text.

        Two scans for detection alone, without evidence or audit: what the joined original would become, and
        whether the joined sanitized runs still hold something.
        """
        whole = (await scan_text(self._attempt, self._dlp, context, "".join(original))).sanitized_text
        self._check_length(len(whole), "sanitized_text_limit_exceeded")
        joined = "".join(sanitized)
        if whole == joined:
            return
        again = (await scan_text(self._attempt, self._dlp, context, joined)).sanitized_text
        self._check_length(len(again), "sanitized_text_limit_exceeded")
        if again != joined:
            raise self._rejection("cross_boundary_sensitive_text_detected", None)

    def _context(self, location: DlpContentLocation) -> DlpContext:
        return self._attempt.dlp_context(DlpContentType.TOOL_RESULT, location, self._tool_name)

    def _check_length(self, length: int, reason_code: str) -> None:
        if length > self._limit:
            raise self._rejection(reason_code, length)

    def _rejection(self, reason_code: str, length: int | None) -> DlpInspectionError:
        attempt = self._attempt
        label = attempt.tool_label(self._tool_name)
        if attempt.is_heard:
            attempt.notify(
                reporting.tool_result_rejected(
                    attempt.base,
                    reason_code,
                    configured_limit=self._limit,
                    aggregate_text_length=length,
                    tool_label=label,
                )
            )
        tool = "unnamed" if label is None else repr(label)
        if length is None:
            return DlpInspectionError(
                f"The result of tool {tool} hides sensitive text around a non-text part"
            )
        return DlpInspectionError(
            f"The result of tool {tool} has {length} characters; the limit is {self._limit}. Shorten it, or "
            f"raise the limit in tool_result_filtering"
        )
