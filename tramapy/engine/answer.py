"""DLP on what a model says: every text slot of a response, and only the changed ones the second time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tramapy.engine.drafts import dlp_context
from tramapy.engine.inspection import fail_inspection, inspect_text, scan_text
from tramapy.engine.operation import Attempt
from tramapy.engine.plain_values import plain_response
from tramapy.engine.run_inspection import inspect_run
from tramapy.engine.text_runs import inspect_text_runs, split_runs
from tramapy.hooks.dlp import DlpContentLocation, DlpContentType, DlpInterceptor
from tramapy.messages import ContentPart, ModelResponse, TokenUsage, ToolCall

__all__ = ["inspect_response", "inspect_tool_call", "refuse_sensitive_name"]

_NOTHING = ModelResponse()

# how providers write ids and models; what looks otherwise may be any text
_is_word: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/+\-]{0,127}\Z").match

# A member looked up on its class costs 30 ns on CPython 3.11, a global 2; each answer passes here.
_MODEL_OUTPUT = DlpContentType.MODEL_OUTPUT
_RESPONSE_CONTENT = DlpContentLocation.MODEL_RESPONSE_CONTENT


async def inspect_response(
    attempt: Attempt,
    response: ModelResponse,
    *,
    inspected: ModelResponse = _NOTHING,
    content_texts: Sequence[str] = (),
    refusal_texts: Sequence[str] = (),
) -> ModelResponse:
    """Inspect each slot of `response` that is not the same in `inspected`, and return it sanitized.

    Args:
        attempt: The attempt that the response belongs to.
        response: What the provider or a response interceptor returned.
        inspected: What has been through inspection already.
        content_texts: What its content is joined of, where it is several texts.
        refusal_texts: What its refusal is joined of, likewise.

    Raises:
        DlpInspectionError: Any slot failed; nothing of the response goes on.
    """
    dlp = attempt.pipeline.dlp
    if dlp is None:
        return response
    is_text = (
        type(response) is ModelResponse
        and type(response.usage) is TokenUsage
        and response.content_parts is None
        and not response.tool_calls
        and response.refusal is None
        and response.reasoning is None
    )
    if not is_text:
        response = plain_response(response)
    for word in (response.response_id, response.model):
        if word is not None and not _is_word(word):
            await _refuse_sensitive(attempt, dlp, _RESPONSE_CONTENT, word)
    content = response.content
    if content and content != inspected.content:
        context = dlp_context(attempt, _MODEL_OUTPUT, _RESPONSE_CONTENT, None)
        if content_texts:
            content = await inspect_run(attempt, dlp, context, content_texts)
        else:
            content = await inspect_text(attempt, dlp, context, content)
    if is_text:
        return response if content == response.content else response.replace(content=content)
    sanitized = response.replace(
        content=content,
        content_parts=await _parts(attempt, dlp, response.content_parts, inspected.content_parts),
        refusal=await _optional(
            attempt,
            dlp,
            DlpContentLocation.MODEL_RESPONSE_REFUSAL,
            response.refusal,
            seen=inspected.refusal,
            texts=refusal_texts,
        ),
        reasoning=await _optional(
            attempt,
            dlp,
            DlpContentLocation.MODEL_RESPONSE_REASONING,
            response.reasoning,
            seen=inspected.reasoning,
        ),
        tool_calls=[
            call if call in inspected.tool_calls else await inspect_tool_call(attempt, dlp, call)
            for call in response.tool_calls
        ],
    )
    return response if sanitized == response else sanitized


async def inspect_tool_call(attempt: Attempt, dlp: DlpInterceptor, call: ToolCall) -> ToolCall:
    """Inspect the arguments that the model proposes for one call, and its name and id where they may be text.

    Raises:
        DlpInspectionError: As for a response; also where a name or an id holds what DLP would replace: the call
            could not be answered under another one.
    """
    location = DlpContentLocation.MODEL_RESPONSE_TOOL_ARGUMENTS
    await refuse_sensitive_name(attempt, dlp, call.name)
    if not _is_word(call.id):
        await _refuse_sensitive(attempt, dlp, location, call.id)
    if not call.arguments_json:
        return call
    context = attempt.dlp_context(DlpContentType.MODEL_OUTPUT, location, call.name)
    sanitized = await inspect_text(attempt, dlp, context, call.arguments_json)
    return call if sanitized == call.arguments_json else call.replace(arguments_json=sanitized)


async def refuse_sensitive_name(attempt: Attempt, dlp: DlpInterceptor, name: str) -> None:
    """Inspect the name of a tool that the operation does not declare.

    Raises:
        DlpInspectionError: It holds what DLP would replace.
    """
    if not any(tool.name == name for tool in attempt.operation.details.tools):
        await _refuse_sensitive(attempt, dlp, DlpContentLocation.MODEL_RESPONSE_TOOL_ARGUMENTS, name)


async def _refuse_sensitive(
    attempt: Attempt, dlp: DlpInterceptor, location: DlpContentLocation, word: str
) -> None:
    """Refuse an answer for a name or an id: a scan for detection alone, since nothing can stand in its place."""
    if not word:
        return
    context = attempt.dlp_context(DlpContentType.MODEL_OUTPUT, location)
    if (await scan_text(attempt, dlp, context, word)).sanitized_text != word:
        raise fail_inspection(attempt, context, "sensitive_name", None)


async def _parts(
    attempt: Attempt,
    dlp: DlpInterceptor,
    parts: tuple[ContentPart, ...] | None,
    seen: tuple[ContentPart, ...] | None,
) -> tuple[ContentPart, ...] | None:
    if parts is None or parts == seen:
        return parts
    seen_runs = () if seen is None else split_runs(seen)
    seen_texts = [*map("".join, seen_runs)]

    async def change(texts: Sequence[str]) -> str:
        text = "".join(texts)
        # where it is cut in another way, each part is a text that nobody has looked at
        if tuple(texts) in seen_runs or (len(texts) == 1 and text in seen_texts):
            return text
        context = attempt.dlp_context(DlpContentType.MODEL_OUTPUT, DlpContentLocation.MODEL_RESPONSE_CONTENT)
        return await inspect_run(attempt, dlp, context, texts)

    return await inspect_text_runs(parts, change)


async def _optional(
    attempt: Attempt,
    dlp: DlpInterceptor,
    location: DlpContentLocation,
    text: str | None,
    *,
    seen: str | None,
    texts: Sequence[str] = (),
) -> str | None:
    if not text or text == seen:
        return text
    context = attempt.dlp_context(DlpContentType.MODEL_OUTPUT, location)
    return await inspect_run(attempt, dlp, context, texts or [text])
