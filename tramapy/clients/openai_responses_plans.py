"""What in requests and answers of OpenAI responses is no text, or is shown elsewhere; all else is inspected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from tramapy.clients.file_texts import plain_file_plan
from tramapy.clients.images import is_inline
from tramapy.clients.logprobs import TOKENS
from tramapy.clients.openai_responses_items import PART_KINDS, TEXT_KEYS, text_key
from tramapy.clients.plans import each, numbers, opaque, shown, word
from tramapy.wire.json_values import mapping_of
from tramapy.wire.rest import SKIP, Plan

__all__ = [
    "ANNOTATION",
    "IDS",
    "INPUT_ITEMS",
    "RESPONSE",
    "SETTINGS",
    "known",
    "output_item_plan",
    "output_part_plan",
    "part_plan",
]


def known(*names: str, words: Sequence[str] = (), **plans: Plan) -> Mapping[str, Plan]:
    """Return the plan of an object.

    Args:
        names: Of its ids and numbers.
        words: The names of its fields that say a word of the format.
        plans: For its other fields.
    """
    return {**dict.fromkeys(names, opaque), **dict.fromkeys(words, word), **plans}


def _address(value: object) -> Plan:
    """Plan for an image's address: an inline image is no text, an address leaves as text."""
    return SKIP if value is None or (isinstance(value, str) and is_inline(value)) else None


_BREAKPOINT: Final = known(words=("mode",), ttl=opaque)
ANNOTATION: Final = known("type", "file_id", "container_id", "index", "start_index", "end_index")
"""Plan for an annotation of a text: its title, address and file name are text."""

_PARTS: Final[Mapping[object, Plan]] = {
    "input_text": known("type", text=shown, prompt_cache_breakpoint=_BREAKPOINT),
    "output_text": known("type", text=shown, logprobs=TOKENS, annotations=each(ANNOTATION)),
    "text": known("type", text=shown),
    "refusal": known("type", refusal=shown),
    "reasoning_text": known("type", text=shown),
    "summary_text": known("type", text=shown),
    "input_image": known(
        "type", "file_id", words=("detail",), image_url=_address, prompt_cache_breakpoint=_BREAKPOINT
    ),
    "input_file": known(
        "type", "file_id", words=("detail",), file_data=plain_file_plan, prompt_cache_breakpoint=_BREAKPOINT
    ),
    "input_audio": known("type", input_audio=known("data", words=("format",))),
    "computer_screenshot": known("type", "file_id", words=("detail",), image_url=_address),
}


# tokens go with the text that they are of; without one they are inspected
_EMPTY_TEXT: Final = known("type", text=shown, annotations=each(ANNOTATION))


def part_plan(part: object) -> Plan:
    """Plan for a part of a message that is sent."""
    kind = mapping_of(part).get("type")
    if not isinstance(kind, str) or kind in ("reasoning_text", "summary_text"):
        return None
    if kind in TEXT_KEYS and text_key(part) is None:
        return None
    return _PARTS.get(kind)


def output_part_plan(part: object) -> Plan:
    """Plan for a part of an answer's item."""
    fields = mapping_of(part)
    kind = fields.get("type")
    if kind == "output_text" and not fields.get("text"):
        return _EMPTY_TEXT
    return _PARTS.get(kind) if isinstance(kind, str) and kind in PART_KINDS else None


_CALLER: Final = known("type", "caller_id")
IDS: Final = known(
    "id", "type", "call_id", "approval_request_id", words=("status", "execution"), caller=_CALLER
)
"""Plan for what items of every kind have."""

INPUT_ITEMS: Final[Mapping[str, Plan]] = {
    "file_search_call": {**IDS, "results": each(known("file_id", "score"))},
    "web_search_call": {**IDS, "action": known("type")},
    "computer_call": IDS,
    "computer_call_output": {**IDS, "output": _PARTS["computer_screenshot"]},
    "tool_search_call": IDS,
    "tool_search_output": IDS,
    "additional_tools": {**IDS, "role": word},
    "configuration_update": IDS,
    "reasoning": {
        **IDS,
        "encrypted_content": opaque,
        "summary": each(known("type")),
        "content": each(known("type")),
    },
    "compaction": {**IDS, "encrypted_content": opaque},
    "compaction_trigger": IDS,
    "image_generation_call": {
        **IDS,
        **known("result", "size", words=("action", "background", "output_format", "quality")),
        "svg_usage": numbers,
    },
    "code_interpreter_call": {
        **IDS,
        "container_id": opaque,
        "outputs": each(known("type", url=_address)),
    },
    "local_shell_call": IDS,
    "shell_call": IDS,
    "apply_patch_call": IDS,
    "mcp_list_tools": IDS,
    "mcp_approval_request": IDS,
    "mcp_approval_response": IDS,
    "mcp_call": IDS,
    "item_reference": IDS,
    "program": {**IDS, "fingerprint": opaque},
    "program_output": IDS,
}
"""Plans for the items of a request that are no messages."""

_OUTPUT_ITEMS: Final[Mapping[str, Plan]] = {
    **INPUT_ITEMS,
    "message": {**IDS, **known(words=("role", "phase")), "content": each(output_part_plan)},
    "reasoning": {
        **IDS,
        "encrypted_content": opaque,
        "summary": each(output_part_plan),
        "content": each(output_part_plan),
    },
    "function_call": {**IDS, "name": shown, "arguments": shown},
    "custom_tool_call": {**IDS, "input": shown},
    "mcp_call": {**IDS, "arguments": shown},
    "code_interpreter_call": {
        **cast("Mapping[str, Plan]", INPUT_ITEMS["code_interpreter_call"]),
        "code": shown,
    },
    "function_call_output": IDS,
    "custom_tool_call_output": IDS,
    "local_shell_call_output": IDS,
    "shell_call_output": IDS,
    "apply_patch_call_output": IDS,
}


def output_item_plan(item: object) -> Plan:
    """Plan for an item of an answer, beside its `slots_of`."""
    kind = mapping_of(item).get("type")
    return _OUTPUT_ITEMS.get(kind) if isinstance(kind, str) else None


def _mode(value: object) -> Plan:
    """Plan for what is a word, or an object that says more."""
    return word(value) if isinstance(value, str) else _MODE


_MODE: Final = known("type", words=("mode",))

SETTINGS: Final[Mapping[str, Plan]] = {
    **dict.fromkeys(
        (
            "background",
            "frequency_penalty",
            "max_output_tokens",
            "max_tool_calls",
            "parallel_tool_calls",
            "presence_penalty",
            "store",
            "temperature",
            "top_logprobs",
            "top_p",
        ),
        numbers,
    ),
    **known("model", "previous_response_id", "prompt_cache_retention", words=("service_tier", "truncation")),
    "reasoning": known(words=("effort", "summary", "generate_summary", "context", "mode")),
    "text": known(words=("verbosity",), format=known("type", "strict")),
    "tool_choice": _mode,
    "prompt": known("id", "version"),
    "prompt_cache_options": known("ttl", "prewarm", "comparison_response_id", words=("mode",)),
}
"""Plan for what a request and its answer both say."""

RESPONSE: Final[Plan] = {
    **SETTINGS,
    **known("id", "object", words=("status",)),
    **dict.fromkeys(("created_at", "completed_at", "input_tokens"), numbers),
    "output": each(output_item_plan),
    "usage": numbers,
    "tool_usage": numbers,
    "billing": known(words=("payer",)),
    "conversation": known("id"),
    "incomplete_details": known(words=("reason",)),
    "tools": each(known("type", "strict")),
    "error": known(words=("code",)),
}
"""Plan for a response: the request's own text, which it says again, is in the rest."""
