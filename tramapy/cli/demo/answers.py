"""What the scripted model says: it quotes what reached it, and lets slip secrets that were never sent.

All of them are documented test values or plainly fake. The demo shows none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from tramapy.messages import ModelResponse, TokenUsage, ToolCall
from tramapy.testing import ServerRequest

__all__ = [
    "PLANTED",
    "leaking_answer",
    "plain_answer",
    "redaction_rule_ids",
    "sent_text",
    "streamed_answer",
]

_SSN: Final = "123-45-6789"
_CARD: Final = "4012 8888 8888 1881"
_TOKEN: Final = "sk_test_FAKE0123456789abcd"  # noqa: S105  # it opens nothing

PLANTED: Final = (_SSN, _CARD, _TOKEN)
"""What must come out of no scene."""

_QUOTE_LENGTH: Final = 90


def redaction_rule_ids() -> tuple[str, ...]:
    """Return the rules that `leaking_answer` sets off, in the order of the rules."""
    return ("stripe_key", "us_ssn", "credit_card")


def sent_text(request: ServerRequest) -> str:
    """Return the prompt as the server received it."""
    messages = cast("Sequence[Mapping[str, object]]", request.body["messages"])
    return str(messages[-1]["content"])


def leaking_answer(request: ServerRequest) -> ModelResponse:
    """Answer with a quote of the prompt, three secrets, and one more in the arguments of a tool call."""
    return ModelResponse(
        content=(
            f'You wrote: "{_quote(sent_text(request))}"\n'
            f"Our file on you has the social security number {_SSN}, and an older card, {_CARD}.\n"
            f"I used the key {_TOKEN} to look that up. A colleague will write to you today."
        ),
        tool_calls=(
            ToolCall(id="call_1", name="open_case", arguments_json=f'{{"ssn": "{_SSN}", "urgent": true}}'),
        ),
        usage=TokenUsage(input_tokens=len(sent_text(request)) // 4, output_tokens=61),
    )


def streamed_answer() -> str:
    """Return an answer for a stream; it is cut into pieces without regard to what stands in it."""
    return f"The card ending in 1881 is {_CARD}, and the number you asked for is {_SSN}. Anything else?"


def plain_answer(request: ServerRequest) -> str:
    """Answer with a quote of the prompt and nothing else of interest."""
    return f'I have read "{_quote(sent_text(request))}" and will answer within the day.'


def _quote(text: str) -> str:
    """Return the line with a placeholder, where there is one; else the first with words."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    line = next((line for line in lines if "[REDACTED" in line), lines[0])
    start = max(0, line.find("[REDACTED") - _QUOTE_LENGTH // 2)
    return line[start : start + _QUOTE_LENGTH].strip()
