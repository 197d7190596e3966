"""`PromptMasking`: the request interceptor of the demo, and where in a prompt it finds what."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tramapy.dlp import DlpAction, RuleBasedDlpInterceptor, Vault
from tramapy.dlp.packs import ALL
from tramapy.hooks.dlp import DlpContentLocation, DlpContentType, DlpContext
from tramapy.hooks.operation import OperationCallContext, OperationInterceptor
from tramapy.messages import Message

__all__ = ["PromptMasking", "SensitiveSpan", "default_rules", "find_sensitive", "mask", "masked_between"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitiveSpan:
    """Where something sensitive stands, and what it is; never what it says.

    Args:
        kind: The id of the rule that found it, for example `credit_card`.
        start: Its first character.
        end: One past its last.
        shape: How it looks, for example `16 digits`.
    """

    kind: str
    start: int
    end: int
    shape: str

    @property
    def replacement(self) -> str:
        """What is sent in its place."""
        return f"[REDACTED:{self.kind}]"


class PromptMasking(OperationInterceptor):
    """Masks what the default rules find, before a request leaves.

    `request_dlp=RuleBasedDlpInterceptor.with_default_rules()` does the same, and tells of it in events.
    """

    def intercept_request(
        self, context: OperationCallContext, messages: Sequence[Message]
    ) -> Sequence[Message]:
        """Return the messages with what the rules find replaced."""
        return [message.replace(content=mask(message.content)) for message in messages]


@functools.cache
def default_rules() -> RuleBasedDlpInterceptor:
    """Make the rules that every scene uses: those that everybody gets."""
    return RuleBasedDlpInterceptor.with_default_rules()


def mask(text: str) -> str:
    """Return `text` with everything replaced that the default rules find."""
    return default_rules().inspect(_context(None), text).sanitized_text


def masked_between(text: str, spans: Sequence[SensitiveSpan], start: int, end: int) -> str:
    """Return a part of `text` with the spans in it replaced."""
    pieces: list[str] = []
    for span in spans:
        if start <= span.start < end:
            pieces += (text[start : span.start], span.replacement)
            start = span.end
    return "".join([*pieces, text[start:end]])


def find_sensitive(text: str) -> tuple[SensitiveSpan, ...]:
    """Find where everything stands that `mask` replaces, in order."""
    vault = Vault()
    replaced = _placeholder_rules().inspect(_context(vault), text).sanitized_text
    found: list[SensitiveSpan] = []
    read = done = 0
    for match in _PLACEHOLDER.finditer(replaced):
        value = vault.value_of(match[0])
        if value is None:  # the prompt's own
            continue
        # what stands between two is the prompt's own text, but for the quotes that a number of JSON gets
        start = done + match.start() - read
        if not text.startswith(value, start):
            start = text.find(value, max(done, start - len('""')))
        read = match.end()
        if start >= 0:  # not what the prompt writes with escapes
            done = start + len(value)
            found.append(
                SensitiveSpan(kind=match["kind"].lower(), start=start, end=done, shape=_shape(value))
            )
    return tuple(found)


_PLACEHOLDER: Final = re.compile(r"<(?P<kind>[0-9A-Z_]{1,64})_\d{1,9}_[0-9a-z]{1,16}>")


@functools.cache
def _placeholder_rules() -> RuleBasedDlpInterceptor:
    """Make the same rules with placeholders: a vault knows what stood in the place of each."""
    actions = {rule.id: DlpAction.PLACEHOLDER for pack in ALL for rule in pack.rules}
    return RuleBasedDlpInterceptor.with_default_rules(actions=actions)


def _context(vault: Vault | None) -> DlpContext:
    return DlpContext(
        content_type=DlpContentType.MODEL_INPUT,
        content_location=DlpContentLocation.REQUEST_MESSAGE_CONTENT,
        operation_interface="Demo",
        operation_method="complete",
        correlation_id="demo",
        vault=vault,
    )


def _shape(text: str) -> str:
    digit_count = sum(character.isdigit() for character in text)
    is_number = digit_count and not any(character.isalpha() for character in text)
    return f"{digit_count} digits" if is_number else f"{len(text)} characters"
