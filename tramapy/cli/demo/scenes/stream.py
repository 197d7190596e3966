"""A streamed answer whose secrets straddle the pieces in which it comes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rich.table import Table

from tramapy.cli.demo.answers import PLANTED, streamed_answer
from tramapy.cli.demo.masking import default_rules
from tramapy.cli.demo.prompt_file import PromptFile
from tramapy.cli.demo.scene import Claim, Scene
from tramapy.cli.demo.show_text import dotted
from tramapy.cli.demo.stage import MODEL, on_stage
from tramapy.cli.demo.timeline import mark_placeholders
from tramapy.dlp import RuleBasedDlpInterceptor
from tramapy.errors import TramapyError
from tramapy.hooks.dlp import DlpContext, DlpRedaction, DlpResult, DlpStream, StreamingDlpInterceptor
from tramapy.messages import TextChunk
from tramapy.testing import split_every

__all__ = ["play"]

_PIECE_LENGTH: Final = 9


def play(prompt: PromptFile) -> Scene:
    """Stream an answer, then ask for the same one as a whole."""
    watched = _WatchedDlp(default_rules())
    answers = [streamed_answer(), streamed_answer()]
    with on_stage(prompt, answers, split=split_every(_PIECE_LENGTH), dlp=watched) as stage:
        with stage.tramapy.stream(stage.messages, model=MODEL, correlation_id="demo-c") as chunks:
            received = "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk))
        whole = stage.ask("demo-c2")
    if isinstance(whole, TramapyError):
        raise whole
    cut = [
        secret for secret in PLANTED if secret in streamed_answer() and not watched.came_in_one_piece(secret)
    ]
    return Scene(
        title="A stream is redacted as it passes, secrets cut into pieces included",
        body=(_table(watched.steps),),
        claims=(
            Claim(
                f"{len(cut)} secrets came cut into pieces, and none came out",
                _is_clean(received) and bool(cut),
            ),
            Claim(
                "the pieces that came out, joined, are the answer redacted as a whole",
                received == whole.content,
            ),
            Claim("text was released while the answer was still coming", watched.released_early),
        ),
    )


def _is_clean(text: str) -> bool:
    return not any(secret in text for secret in PLANTED)


@dataclass(frozen=True, slots=True, repr=False)
class _Step:
    piece: str
    released: str


class _WatchedDlp(StreamingDlpInterceptor):
    """The demo's DLP, with a record of what went in and what came out at each step."""

    def __init__(self, rules: RuleBasedDlpInterceptor) -> None:
        self._rules = rules
        self.steps: list[_Step] = []

    @property
    def released_early(self) -> bool:
        return any(step.released for step in self.steps[:-1])

    def came_in_one_piece(self, secret: str) -> bool:
        return any(secret in step.piece for step in self.steps)

    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        return self._rules.inspect(context, text)

    def open_stream(self, context: DlpContext) -> DlpStream:
        return _WatchedStream(self._rules.open_stream(context), self.steps)


class _WatchedStream:
    def __init__(self, stream: DlpStream, steps: list[_Step]) -> None:
        self._stream = stream
        self._steps = steps

    @property
    def redactions(self) -> tuple[DlpRedaction, ...]:
        return tuple(self._stream.redactions)

    def feed(self, text: str) -> str:
        released = self._stream.feed(text)
        self._steps.append(_Step(text, released))
        return released

    def finish(self) -> str:
        released = self._stream.finish()
        self._steps.append(_Step("", released))
        return released

    def abort(self) -> None:
        self._stream.abort()


def _table(steps: list[_Step]) -> Table:
    """Show each piece with its secret characters as dots, and what was released when it had come."""
    raw = dotted("".join(step.piece for step in steps), PLANTED)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("piece", justify="right")
    table.add_column("as it comes", no_wrap=True)
    table.add_column("what is released")
    start = 0
    for number, step in enumerate(steps, 1):
        shown = raw[start : start + len(step.piece)]
        start += len(step.piece)
        label = str(number) if step.piece else "end"
        table.add_row(label, shown.replace(" ", "·"), mark_placeholders(step.released.replace(" ", "·")))
    return table
