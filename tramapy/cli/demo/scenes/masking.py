"""What a request interceptor masks before anything leaves, by the server's own record."""

from __future__ import annotations

import json
from collections import Counter
from typing import Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tramapy.cli.demo.answers import plain_answer, sent_text
from tramapy.cli.demo.masking import SensitiveSpan, find_sensitive, mask, masked_between
from tramapy.cli.demo.prompt_file import PromptFile
from tramapy.cli.demo.scene import Claim, Scene
from tramapy.cli.demo.show_text import printable
from tramapy.cli.demo.stage import on_stage
from tramapy.cli.demo.timeline import mark_placeholders
from tramapy.testing import ServerRequest

__all__ = ["play"]

_SHOWN_ROWS: Final = 8
_CONTEXT: Final = 26


def play(prompt: PromptFile) -> Scene:
    """Send the prompt once, and compare it with what the server received."""
    with on_stage(prompt, [plain_answer]) as stage:
        stage.ask("demo-a")
        request = stage.server.requests[0]
    spans = find_sensitive(prompt.text)
    return Scene(
        title="A request interceptor masks the prompt by the default rules, before it leaves",
        body=(_changes(prompt.text, spans), _record(request), _hint()),
        claims=_claims(prompt.text, spans, request),
    )


def _changes(text: str, spans: tuple[SensitiveSpan, ...]) -> RenderableType:
    if not spans:
        return Text("The default rules find nothing in this prompt.")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("line", justify="right")
    table.add_column("was there", no_wrap=True)
    table.add_column("what the provider gets")
    for span in spans[:_SHOWN_ROWS]:
        line_number = text.count("\n", 0, span.start) + 1
        table.add_row(
            str(line_number),
            f"{span.kind}, {span.shape}",
            mark_placeholders(printable(_around(text, spans, span))),
        )
    if len(spans) > _SHOWN_ROWS:
        table.add_row("", "", f"and {len(spans) - _SHOWN_ROWS} more")
    return table


def _around(text: str, spans: tuple[SensitiveSpan, ...], span: SensitiveSpan) -> str:
    """Return the masked line around a span, shortened on both sides."""
    line_start = text.rfind("\n", 0, span.start) + 1
    line_end = text.find("\n", span.end)
    left = masked_between(text, spans, line_start, span.start)
    right = masked_between(text, spans, span.end, line_end if line_end >= 0 else len(text))
    return f"{_ending(left)}{span.replacement}{_beginning(right)}"


def _beginning(text: str) -> str:
    """Return the first words of a text; a replacement is one of them, so it is never cut."""
    return text if len(text) <= _CONTEXT else f"{text[:_CONTEXT].rpartition(' ')[0]} …"


def _ending(text: str) -> str:
    return text if len(text) <= _CONTEXT else f"… {text[-_CONTEXT:].partition(' ')[2]}"


def _record(request: ServerRequest) -> Text:
    return Text(
        f"The server's record: request {request.number}, {request.method} {request.path}, "
        f"{len(sent_text(request))} characters of prompt",
        style="dim",
    )


def _hint() -> Text:
    return Text(
        "request_dlp=RuleBasedDlpInterceptor.with_default_rules() does so without an interceptor", "dim"
    )


def _claims(text: str, spans: tuple[SensitiveSpan, ...], request: ServerRequest) -> tuple[Claim, ...]:
    sent, record = sent_text(request), json.dumps(dict(request.body), ensure_ascii=False)
    if not spans:
        return (Claim("the server received the prompt as it is", sent == text),)
    originals = {text[span.start : span.end] for span in spans}
    count = len(originals)
    gone = (
        f"none of the {count} original values is anywhere" if count > 1 else "the original value is nowhere"
    )
    replacements = Counter(span.replacement for span in spans)
    counted = ", ".join(f"{count} of {replacement}" for replacement, count in sorted(replacements.items()))
    return (
        Claim(
            f"{gone} in the server's record",
            not any(original in record for original in originals),
        ),
        Claim(
            f"it received {counted} instead, and every other character as it was",
            sent == mask(text) and all(sent.count(name) >= count for name, count in replacements.items()),
        ),
    )
