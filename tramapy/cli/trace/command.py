"""The options of `tramapy trace`, and what they come to."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, BinaryIO, NoReturn

import typer
from rich.text import Text

from tramapy.cli.consoles import error_console, output_console
from tramapy.cli.event_lines import HeardEvent
from tramapy.cli.output_format import OutputFormat
from tramapy.cli.trace.address import Address, AddressError, parse_address
from tramapy.cli.trace.event_file import BadLine, read_events
from tramapy.cli.trace.heard import TraceInputError, cleaned
from tramapy.cli.trace.operations import TracedOperation, group_by_id
from tramapy.cli.trace.showing import as_json, plain_timeline, timeline
from tramapy.cli.trace.totals import OperationTotals, Summary
from tramapy.errors import ConfigurationError

__all__ = ["trace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """Which operations are shown, and how."""

    format: OutputFormat
    correlation_id: str | None
    is_failed: bool
    limit: int | None

    def takes(self, operation: TracedOperation) -> bool:
        if self.correlation_id is not None and operation.correlation_id != self.correlation_id:
            return False
        return not self.is_failed or operation.outcome != "success"


def trace(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="What JsonlEventObserver wrote, '-' for the standard input; with --listen HOST:PORT or PORT.",
            show_default=False,
        ),
    ] = None,
    is_listening: Annotated[
        bool,
        typer.Option(
            "--listen", help="Show what an OTLP exporter sends over HTTP, by default to 127.0.0.1:4318."
        ),
    ] = False,
    is_remote_allowed: Annotated[
        bool,
        typer.Option("--allow-remote", help="Listen also where other machines can reach it."),
    ] = False,
    format_: Annotated[
        OutputFormat, typer.Option("--format", help="A timeline, or an object of JSON for each operation.")
    ] = OutputFormat.TEXT,
    correlation_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Only operations of this correlation id.")
    ] = None,
    is_failed: Annotated[bool, typer.Option("--failed", help="Only operations without success.")] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="End after so many operations.", show_default=False)
    ] = None,
) -> None:
    """Show what operations did: attempts, retries, fallbacks, circuits, DLP, tokens, outcomes.

    Exit code 0; 1 where lines of a file are no events, 2 where nothing can be read or listened on.
    """
    choice = _Choice(
        format=format_,
        correlation_id=None if correlation_id is None else cleaned(correlation_id),
        is_failed=is_failed,
        limit=limit,
    )
    if is_listening:
        _trace_live(source, choice, is_remote_allowed=is_remote_allowed)
    elif source is None:
        _fail("Give a file that JsonlEventObserver wrote, or --listen.")
    elif is_remote_allowed:
        _fail("--allow-remote is for --listen.")
    else:
        _trace_file(source, choice)


class _Shown:
    """What has been shown so far, and whether that is enough."""

    def __init__(self, choice: _Choice) -> None:
        self._choice = choice
        self._console = output_console()
        self._is_piped = not sys.stdout.isatty()
        self._summary = Summary()
        self._count = 0
        self._is_id_found = choice.correlation_id is None

    def take(self, operations: Iterable[TracedOperation]) -> None:
        for operation in operations:
            self._is_id_found |= operation.correlation_id == self._choice.correlation_id
            if self._choice.takes(operation):
                self._show(operation)
                if self._is_enough():
                    break

    def end(self) -> None:
        if self._choice.format is OutputFormat.TEXT:
            self._console.print(Text(str(self._summary), "bold"), soft_wrap=self._is_piped)
        if not self._is_id_found:
            _complain(f"No operation has the id {self._choice.correlation_id!r}.")

    def _is_enough(self) -> bool:
        return self._count == self._choice.limit

    def _show(self, operation: TracedOperation) -> None:
        if self._choice.format is OutputFormat.JSON:
            self._console.print(Text(as_json(operation)), soft_wrap=True)
        elif self._is_piped:
            self._console.print(plain_timeline(operation), soft_wrap=True)
        else:
            self._console.print(timeline(operation, self._console))
        self._summary.add(operation, OperationTotals.of(operation))
        self._count += 1


def _trace_file(name: str, choice: _Choice) -> None:
    lines = _Lines()
    shown = _Shown(choice)
    try:
        with _opened(name) as file:
            shown.take(group_by_id(lines.events(read_events(file))))
    except TraceInputError as error:
        _fail(f"{cleaned(name)} cannot be read: {error}")
    except BrokenPipeError:
        raise
    except OSError as error:
        _fail(f"{cleaned(name)} cannot be read: {error.strerror}. Give a file that JsonlEventObserver wrote.")
    shown.end()
    lines.complain()
    if lines.bad_count:
        raise typer.Exit(1 if lines.event_count else 2)


def _opened(name: str) -> BinaryIO:
    return sys.stdin.buffer if name == "-" else Path(name).open("rb")


class _Lines:
    """Counts what lines of a file were, on their way to be shown."""

    def __init__(self) -> None:
        self.event_count = 0
        self.bad_count = 0
        self._first: BadLine | None = None
        self._torn: BadLine | None = None

    def events(self, lines: Iterable[HeardEvent | BadLine]) -> Iterator[HeardEvent]:
        for line in lines:
            if isinstance(line, HeardEvent):
                self.event_count += 1
                yield line
            elif line.is_torn and self.event_count:
                self._torn = line
            else:
                self.bad_count += 1
                self._first = self._first or line

    def complain(self) -> None:
        if self._torn is not None:
            _complain(f"Line {self._torn.number}, the last one, is cut; it is left out.")
        if self._first is not None:
            which = f"Line {self._first.number} is no event: {cleaned(self._first.reason)}."
            more = self.bad_count - 1
            others = "1 other line is" if more == 1 else f"{more:,} other lines are"
            _complain(f"{which} {others} none either." if more else which)


def _trace_live(address: str | None, choice: _Choice, *, is_remote_allowed: bool) -> None:
    try:
        from tramapy.cli.trace.live import listening
    except ImportError as error:
        if error.name is not None:  # a module that is missing by itself, and no extra
            raise
        _fail(str(error))
    shown = _Shown(choice)
    try:
        with listening(
            _address(address),
            is_remote_allowed=is_remote_allowed,
            on_refused=lambda reason: _complain(reason.sentence),
        ) as live:
            _complain(f"Listening on {live.endpoint}; end it with Ctrl-C.")
            shown.take(live.operations())
    except ConfigurationError:
        _fail("Other machines can reach that address; take 127.0.0.1, or say --allow-remote.")
    except BrokenPipeError:
        raise
    except OSError as error:
        _fail(f"That address cannot be listened on: {error.strerror}")
    shown.end()
    book = live.book
    for count, what in (
        (live.dropped_export_count, "exports came too fast and were dropped"),
        (book.bad_span_count, "spans could not be read"),
        (book.foreign_span_count, "spans of other libraries are not shown"),
    ):
        if count:
            _complain(f"{count:,} {what}.")


def _address(text: str | None) -> Address:
    try:
        return parse_address(text)
    except AddressError as error:
        _fail(str(error))


def _complain(message: str) -> None:
    error_console().print(Text(message), soft_wrap=True)


def _fail(message: str) -> NoReturn:
    _complain(message)
    raise typer.Exit(2)
