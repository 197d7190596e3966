"""`tramapy audit verify`: whether the files of an audit log are whole."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from tramapy.cli.compressed import how_to_unpack
from tramapy.cli.consoles import error_console, leave_output, output_console, printable
from tramapy.cli.output_format import OutputFormat
from tramapy.cli.plain_command import PlainCommand
from tramapy.errors import ConfigurationError
from tramapy.telemetry.audit_verify import AuditVerification, verify_audit_files

__all__ = ["audit"]

audit: typer.Typer = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@audit.callback()
def _root() -> None:  # pyright: ignore[reportUnusedFunction]  # typer calls it
    """Check the audit trail of redactions."""


@audit.command(cls=PlainCommand)
def verify(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE", help="The path of a log, or its files, oldest first.", show_default=False
        ),
    ],
    is_partial: Annotated[
        bool, typer.Option("--partial", help="Files before the first may be missing.")
    ] = False,
    head: Annotated[
        str | None,
        typer.Option(
            "--head",
            metavar="HASH",
            help="The hash that a line must have, as printed behind Head.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=0, help="How many problems are printed.")] = 100,
    format_: Annotated[OutputFormat, typer.Option("--format", help="How to print it.")] = OutputFormat.TEXT,
) -> None:
    """Verify the hash chain of audit files. Exit code 0, 1 where it is broken, 2 where it cannot be read."""
    try:
        _refuse_compressed(files)
        found = verify_audit_files(*files, is_partial=is_partial, head=head, limit_problem_count=limit)
    except ConfigurationError as error:
        _fail(f"{error}.")
    except OSError as error:
        name = "" if error.filename is None else f" {str(error.filename)!r}"
        what = "the path of the log in it" if isinstance(error, IsADirectoryError) else "the path of a log"
        _fail(
            f"Cannot read{name}: {error.strerror or type(error).__name__}. Give {what}, or its files, oldest first."
        )
    except sqlite3.Error as error:
        _fail(f"Cannot keep what was read in a temporary file: {error.sqlite_errorname}")
    else:
        try:
            _show(found, format_, output_console())
        except BrokenPipeError:  # who reads no further gets the verdict
            leave_output()
        raise typer.Exit(0 if found.is_valid else 1)


def _refuse_compressed(files: list[Path]) -> None:
    for path in files:
        if path.is_file():
            with path.open("rb") as file:
                remedy = how_to_unpack(file.read(16), "> audit.jsonl")
            if remedy is not None:
                _fail(f"{path}: {remedy}")


def _fail(message: str) -> None:
    error_console().print(Text(printable(message)), soft_wrap=True)
    raise typer.Exit(2)


def _show(found: AuditVerification, format_: OutputFormat, console: Console) -> None:
    if format_ is OutputFormat.JSON:
        console.print(Text(json.dumps(_as_json(found), indent=2)), soft_wrap=True)
        return
    for problem in found.problems:
        console.print(
            Text(printable(f"{problem.path}:{problem.line_number}: {problem.code.value}: {problem.message}")),
            soft_wrap=True,
        )
    hidden_count = found.problem_count - len(found.problems)
    if hidden_count:
        console.print(Text(f"… and {hidden_count} more"))
    verdict = "Valid" if found.is_valid else f"Broken: {_counted(found.problem_count, 'problem')}"
    recoveries = f", {_counted(found.recovery_count, 'recovery note')}" if found.recovery_count else ""
    console.print(
        Text(
            f"{verdict}. {_counted(found.event_count, 'event')} in {_counted(found.stream_count, 'stream')}"
            f"{recoveries}. Head: {found.head or 'none'}"
        ),
        soft_wrap=True,
    )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _as_json(found: AuditVerification) -> dict[str, object]:
    return {
        "is_valid": found.is_valid,
        "event_count": found.event_count,
        "stream_count": found.stream_count,
        "recovery_count": found.recovery_count,
        "head": found.head,
        "problem_count": found.problem_count,
        "problems": [
            {**dataclasses.asdict(problem), "code": problem.code.value} for problem in found.problems
        ],
    }
