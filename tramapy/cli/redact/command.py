"""The options of `tramapy redact`, and what they come to."""

from __future__ import annotations

import enum
import sys
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.text import Text

from tramapy.cli.consoles import error_console, printable
from tramapy.cli.output_format import OutputFormat
from tramapy.cli.redact.inputs import Inputs, Target, find_inputs
from tramapy.cli.redact.jobs import redact_all
from tramapy.cli.redact.reading import InputError, check_encoding
from tramapy.cli.redact.records import parse_field
from tramapy.cli.redact.redaction import FileReport, RedactSettings
from tramapy.cli.redact.showing import progress, summary
from tramapy.dlp import RuleBasedDlpConfiguration, RulePack, load_rule_file
from tramapy.dlp.finders import load_re2
from tramapy.dlp.interceptor import Backend
from tramapy.dlp.packs import ALL, encoded
from tramapy.dlp.portable import PortableRules
from tramapy.errors import ConfigurationError
from tramapy.remedies import unknown_name

__all__ = ["BackendChoice", "redact"]


class BackendChoice(enum.StrEnum):
    """The words after `--backend`."""

    AUTO = "auto"
    STDLIB = "stdlib"
    RE2 = "re2"


_BACKENDS: Final[dict[BackendChoice, Backend]] = {
    BackendChoice.AUTO: "auto",
    BackendChoice.STDLIB: "stdlib",
    BackendChoice.RE2: "re2",
}


def redact(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="Files and directories; the standard input where there is none, or for '-'.",
            show_default=False,
        ),
    ] = None,
    format_: Annotated[
        OutputFormat, typer.Option("--format", help="The text alone, or an object of JSON for each input.")
    ] = OutputFormat.TEXT,
    rules: Annotated[
        Path | None,
        typer.Option("--rules", metavar="FILE", help="Rules in TOML; by default all packs but encoded."),
    ] = None,
    pack: Annotated[
        list[str] | None,
        typer.Option("--pack", metavar="NAME", help="Only this rule pack; may be given again."),
    ] = None,
    disable: Annotated[
        list[str] | None,
        typer.Option("--disable", metavar="RULE", help="Leave out a rule of a pack; may be given again."),
    ] = None,
    backend: Annotated[BackendChoice, typer.Option("--backend", help="What searches.")] = BackendChoice.AUTO,
    is_jsonl: Annotated[
        bool, typer.Option("--jsonl", help="Inputs are records of JSON, one a line.")
    ] = False,
    field: Annotated[
        list[str] | None,
        typer.Option(
            "--field",
            metavar="NAME",
            help="Only this field of records, such as messages.content; may be given again.",
        ),
    ] = None,
    encoding: Annotated[
        str, typer.Option("--encoding", metavar="NAME", help="The encoding of the inputs.")
    ] = "utf-8",
    output: Annotated[
        Path | None, typer.Option("--output", metavar="DIR", help="A directory for the results.")
    ] = None,
    is_in_place: Annotated[
        bool, typer.Option("--in-place", help="Put each result in the place of its input.")
    ] = False,
    jobs: Annotated[
        int, typer.Option("--jobs", min=1, metavar="N", help="How many processes work at a time.")
    ] = 1,
    is_summary: Annotated[
        bool, typer.Option("--summary", help="Print a table of what was replaced to the standard error.")
    ] = False,
) -> None:
    """Redact files: text in, sanitized text out. Exit code 0, or 2 where an input could not be redacted."""
    console = error_console()
    try:
        settings = RedactSettings(
            rules=_portable(rules, pack or [], disable or [], backend),
            encoding=encoding,
            is_json=format_ is OutputFormat.JSON,
            is_jsonl=is_jsonl,
            fields=tuple(map(parse_field, field or [])),
        )
        _check(settings)
        target = Target(directory=output, is_in_place=is_in_place)
        inputs = find_inputs(files or [], target, is_json=settings.is_json)
    except (ConfigurationError, InputError) as error:
        _complain(console, str(error))
        raise typer.Exit(2) from None
    try:
        reports = _run(inputs, settings, console, jobs=jobs, is_output=target.is_output)
    except BrokenProcessPool:
        _complain(
            console, "A process of --jobs ended early, perhaps for want of memory; take fewer, or none."
        )
        raise typer.Exit(2) from None
    complaints = [*inputs.errors, *_missing_fields(settings, reports)]
    for complaint in complaints:
        _complain(console, complaint)
    if is_summary:
        console.print(summary(reports))
    if complaints or any(report.error is not None for report in reports):
        raise typer.Exit(2)


def _portable(
    rules: Path | None, packs: list[str], disabled: list[str], backend: BackendChoice
) -> PortableRules:
    if backend is BackendChoice.RE2 and load_re2() is None:
        raise InputError(
            "--backend re2 needs google-re2. Install it with: pip install 'tramapy[re2]', or leave --backend out"
        )
    default = RuleBasedDlpConfiguration((), None, packs=ALL)
    configuration = default if rules is None else load_rule_file(rules)
    if packs:
        configuration = replace(configuration, packs=[_pack(name) for name in dict.fromkeys(packs)])
    known = sorted({rule.id for pack in configuration.packs for rule in pack.rules})
    for name in disabled:
        if name not in known:
            raise InputError(f"--disable: {unknown_name('rule', name, known)}")
    if disabled:
        configuration = replace(configuration, disabled_rules={*configuration.disabled_rules, *disabled})
    portable = PortableRules.of(configuration, backend=_BACKENDS[backend])
    portable.interceptor()  # so that what cannot work is said once, before any input is read
    return portable


def _pack(name: str) -> RulePack:
    known = {pack.name: pack for pack in (*ALL, encoded)}
    if name not in known:
        raise InputError(f"--pack takes one of {', '.join(known)}")
    return known[name]


def _check(settings: RedactSettings) -> None:
    check_encoding(settings.encoding)
    if settings.fields and not settings.is_jsonl:
        raise InputError("--field is for records; say --jsonl too")
    if settings.is_jsonl and settings.encoding != "utf-8":
        raise InputError("--jsonl reads UTF-8 only; convert the file and leave out --encoding")


def _run(
    inputs: Inputs, settings: RedactSettings, console: Console, *, jobs: int, is_output: bool
) -> list[FileReport]:
    reports: list[FileReport] = []
    # on one terminal it would stand in the midst of the result
    is_shown = console.is_terminal and not (is_output and sys.stdout.isatty())
    with progress(console, inputs.size_bytes, is_shown=is_shown) as advance:
        for report in redact_all(inputs.tasks, settings, sys.stdout.buffer, advance, jobs=jobs):
            reports.append(report)
            if report.error is not None:
                _complain(console, report.error)
    return reports


def _missing_fields(settings: RedactSettings, reports: list[FileReport]) -> list[str]:
    """Complain of fields that no record has: a slip in a name must not leave everything as it was."""
    if not any(report.record_count for report in reports):
        return []
    found = {path for report in reports for path in report.found_fields}
    return [
        f"--field: no record has {'.'.join(path)}; nothing was redacted for it. Check the name."
        for path in settings.fields
        if path not in found
    ]


def _complain(console: Console, message: str) -> None:
    console.print(Text(printable(message)), soft_wrap=True)
