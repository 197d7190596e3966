"""Values in the place of placeholders: the last step on an answer, when nothing inspects or observes it any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tramapy.engine.operation import Attempt
from tramapy.engine.text_runs import map_text_runs
from tramapy.hooks.dlp import DlpContentLocation
from tramapy.messages import ContentPart, ModelResponse, ToolCall

if TYPE_CHECKING:
    from tramapy.dlp.vault import Vault

__all__ = ["restore_call", "restore_response", "restore_text"]


async def restore_response(attempt: Attempt, response: ModelResponse) -> ModelResponse:
    """Return a response with the operation's values in all its texts, and in the arguments for tools that are named."""
    vault = attempt.operation.vault
    if vault is None or not len(vault):
        return response
    restored = response.replace(
        content=vault.restore(response.content),
        content_parts=await _parts(vault, response.content_parts),
        refusal=_optional(vault, response.refusal),
        reasoning=_optional(vault, response.reasoning),
        tool_calls=[restore_call(attempt, call) for call in response.tool_calls],
    )
    return response if restored == response else restored


def restore_call(attempt: Attempt, call: ToolCall) -> ToolCall:
    """Return a call with the values in its arguments, if `restore_for_tools` names its tool."""
    vault = attempt.operation.vault
    if vault is None or call.name not in attempt.pipeline.restore_for_tools:
        return call
    restored = vault.restore_json(call.arguments_json)
    return call if restored == call.arguments_json else call.replace(arguments_json=restored)


def restore_text(attempt: Attempt, text: str, location: DlpContentLocation, tool_name: str | None) -> str:
    """Return a text of an answer with the values; the arguments of a call only where its tool is named."""
    vault = attempt.operation.vault
    if vault is None or not text:
        return text
    if location is not DlpContentLocation.MODEL_RESPONSE_TOOL_ARGUMENTS:
        return vault.restore(text)
    return vault.restore_json(text) if tool_name in attempt.pipeline.restore_for_tools else text


async def _parts(vault: Vault, parts: tuple[ContentPart, ...] | None) -> tuple[ContentPart, ...] | None:
    if parts is None:
        return None

    async def change(text: str) -> str:
        return vault.restore(text)

    return await map_text_runs(parts, change)


def _optional(vault: Vault, text: str | None) -> str | None:
    return None if text is None else vault.restore(text)
