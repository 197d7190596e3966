"""The steps after the provider call on an answer in a vendor's format: every text of it, each choice by itself."""

from __future__ import annotations

from collections.abc import Sequence

from tramapy.engine import reporting
from tramapy.engine.answer import inspect_response, refuse_sensitive_name
from tramapy.engine.inspection import inspect_text
from tramapy.engine.native import NativeAnswer, NativeText
from tramapy.engine.operation import Attempt
from tramapy.engine.restoring import restore_response, restore_text
from tramapy.engine.run_inspection import inspect_run
from tramapy.errors import DlpInspectionError
from tramapy.hooks.dlp import DlpContentType, DlpContext
from tramapy.messages import ModelResponse

__all__ = [
    "inspect_native",
    "inspect_native_run",
    "inspect_native_text",
    "refuse_names",
    "report_unscanned",
    "restore_native",
]


async def inspect_native(
    attempt: Attempt, answer: NativeAnswer
) -> tuple[tuple[ModelResponse, ...], tuple[str, ...]]:
    """Do step 3: return the responses and the other texts as DLP leaves them.

    Raises:
        DlpInspectionError: Any text failed; nothing of the answer goes on.
    """
    if answer.unscanned:
        report_unscanned(attempt, answer.unscanned, is_strict=answer.is_strict)
    if answer.names:
        await refuse_names(attempt, answer.names)
    first, *others = answer.responses
    responses = (
        await inspect_response(
            attempt, first, content_texts=answer.content_texts, refusal_texts=answer.refusal_texts
        ),
        *[await inspect_response(attempt, response) for response in others],
    )
    texts = tuple([await inspect_native_text(attempt, text) for text in answer.texts])
    return responses, texts


async def inspect_native_text(attempt: Attempt, text: NativeText) -> str:
    """Inspect a text that no response shows."""
    dlp = attempt.pipeline.dlp
    if dlp is None or not text.text:
        return text.text
    return await inspect_text(attempt, dlp, _context(attempt, text), text.text)


async def inspect_native_run(attempt: Attempt, place: NativeText, texts: Sequence[str]) -> str:
    """Inspect texts that no response shows, and that stand at the same place, as one and each by itself."""
    dlp = attempt.pipeline.dlp
    if dlp is None or not any(texts):
        return "".join(texts)
    return await inspect_run(attempt, dlp, _context(attempt, place), texts)


def _context(attempt: Attempt, text: NativeText) -> DlpContext:
    return attempt.dlp_context(DlpContentType.MODEL_OUTPUT, text.location, text.tool_name)


async def refuse_names(attempt: Attempt, names: Sequence[str]) -> None:
    """Inspect the names of called tools.

    Raises:
        DlpInspectionError: One holds what DLP would replace.
    """
    dlp = attempt.pipeline.dlp
    if dlp is not None:
        for name in names:
            await refuse_sensitive_name(attempt, dlp, name)


async def restore_native(
    attempt: Attempt, answer: NativeAnswer, responses: Sequence[ModelResponse], texts: Sequence[str]
) -> NativeAnswer:
    """Do step 6: put the values in the place of placeholders, and write everything into the answer."""
    if attempt.operation.vault is not None:
        responses = [await restore_response(attempt, response) for response in responses]
        texts = [
            restore_text(attempt, text, native.location, native.tool_name)
            for text, native in zip(texts, answer.texts, strict=True)
        ]
    return answer.rewritten(responses, texts)


def report_unscanned(attempt: Attempt, reason_codes: Sequence[str], *, is_strict: bool) -> None:
    """Say what cannot be inspected; where nothing uninspected may pass, refuse it.

    Raises:
        DlpInspectionError: It may not.
    """
    for reason_code in reason_codes:
        if attempt.is_heard:
            attempt.notify(reporting.content_unscanned(attempt.base, reason_code))
        if is_strict:
            raise DlpInspectionError(
                f"Content cannot be inspected ({reason_code}), and strict=True lets nothing else pass; send the "
                f"content itself, or leave strict out"
            )
