"""The command `safety-gate`.

`argparse`, not a CLI library: a pre-commit hook that has nothing to say should cost less than 60 ms.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from safety_gate.codes import UnknownCodeError, exact, expand
from safety_gate.config import Config, ConfigError, isolated
from safety_gate.config_file import load_config
from safety_gate.judging import RunOptions
from safety_gate.report import FORMATS, render
from safety_gate.runner import Result, check_paths
from safety_gate.violation import Diagnostic

TYPE_CHECKING = False  # see `config`
if TYPE_CHECKING:
    import datetime
    from typing import TextIO

    from _typeshed import SupportsWrite

_MAX_DIGITS = 6


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: What follows the program's name; None for those of the process.

    Returns:
        0 when nothing fails, 1 when a finding does, 2 for a defective configuration or unreadable input.
    """
    try:
        return _command(_parser().parse_args(arguments))
    except UnknownCodeError as error:
        sys.stderr.write(f"safety-gate: {error}\n")
        return 2
    except ModuleNotFoundError as error:
        if error.name not in ("libcst", "rich"):
            raise
        sys.stderr.write(
            f"safety-gate: {error.name} is missing. Install it with: pip install 'tramapy[gate]'\n"
        )
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("safety-gate: interrupted, nothing was judged.\n")
        return 130
    except OSError as error:
        sys.stderr.write(f"safety-gate: the report cannot be written: {error.strerror or 'output error'}.\n")
        _silence(sys.stdout)
        return 2


def _command(options: argparse.Namespace) -> int:
    command: str = options.command
    if command == "check":
        return _check(options)
    if command == "exempt":
        return _exempt(options)
    from safety_gate.catalogue import explain, list_rules

    _write(sys.stdout, list_rules() if command == "list-rules" else explain(options.code))
    return 0


def _silence(stream: TextIO | None) -> None:
    """Let the interpreter flush into nothing when it ends: the stream has failed already."""
    try:
        descriptor = -1 if stream is None else stream.fileno()
    except (OSError, ValueError):  # a stand-in for a stream
        return
    if descriptor >= 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


class _Help(argparse.HelpFormatter):
    """Knows its width: argparse makes one for each option, and asks `shutil`, which imports three compressors."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=100)


class _Parser(argparse.ArgumentParser):
    """Prints its help as everything else is printed."""

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        """Print it; argparse itself leaves it to the interpreter's end to notice that nobody reads it."""
        if file is None and sys.stdout is not None:
            _write(sys.stdout, self.format_help())
        else:
            super().print_help(file)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="safety-gate", description="A static safety gate for production Python.", formatter_class=_Help
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="judge files and directories", formatter_class=_Help)
    _add_scope(check)
    check.add_argument(
        "--format", choices=FORMATS, default="text", dest="format_name", help="how the report is written"
    )
    check.add_argument("--output", type=Path, metavar="FILE", help="write the report to a file")
    check.add_argument("--base", metavar="REV", help="only what is new or worse than in this revision fails")
    check.add_argument("--changed", metavar="REV", help="only judge files that differ from this revision")
    check.add_argument("--statistics", action="store_true", help="count the findings by rule")
    check.add_argument("--no-progress", action="store_true", help="no progress bar on a terminal")
    exempt = commands.add_parser(
        "exempt", help="write exemptions for what is there today", formatter_class=_Help
    )
    _add_scope(exempt)
    exempt.add_argument("--rationale", required=True, help="why this is right as it is")
    exempt.add_argument("--owner", default="", help="who answers for it")
    exempt.add_argument("--expires", type=_date, metavar="DATE", help="the last day on which it holds")
    explain = commands.add_parser("explain", help="show the page of a rule", formatter_class=_Help)
    explain.add_argument("code", help="a code or a name from list-rules")
    commands.add_parser("list-rules", help="show all rules", formatter_class=_Help)
    return parser


class _Version(argparse.Action):
    """Asks the package metadata only when it is wanted: the import costs as much as a small run."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        _write(sys.stdout, f"safety-gate {version('tramapy')}\n")
        parser.exit()


def _add_scope(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="*",
        default=["."],
        metavar="PATH",
        help="files and directories; the working directory if none",
    )
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="read this configuration, do not search for one"
    )
    parser.add_argument(
        "--isolated", action="store_true", help="no configuration; every path is production code"
    )
    parser.add_argument(
        "--strict", action="store_true", help="judge unknown receivers; turn optional rules on"
    )
    codes = "codes (SG4: all SG4xx) or groups, with commas"
    parser.add_argument("--select", action="append", default=[], metavar="CODES", help=codes)
    parser.add_argument("--ignore", action="append", default=[], metavar="CODES", help=codes)
    parser.add_argument(
        "--jobs", type=_count, default=0, metavar="N", help="worker processes; 0 for one per core"
    )
    parser.add_argument("--no-cache", action="store_true", help="neither read nor write remembered verdicts")


def _check(options: argparse.Namespace) -> int:
    output: Path | None = options.output
    if output is not None and (output.is_dir() or not output.parent.is_dir()):  # said before the work
        wrong = (
            "it is a directory. Give a file in it."
            if output.is_dir()
            else f"there is no directory {str(output.parent)!r}. Make it first."
        )
        sys.stderr.write(f"safety-gate: --output cannot be written: {wrong}\n")
        return 2
    result = _run(options)
    text = _with_statistics(result, options)
    if output is not None:
        output.write_text(text, "utf-8", errors="backslashreplace")
    elif options.format_name == "text" and sys.stdout is not None and sys.stdout.isatty():
        from safety_gate.terminal import show

        show(result, with_statistics=options.statistics)
    else:
        _write(sys.stdout, text)
    return result.exit_code


def _with_statistics(result: Result, options: argparse.Namespace) -> str:
    text = render(result, options.format_name)
    if not options.statistics or options.format_name != "text":
        return text
    from safety_gate.report.text_format import statistics

    return text + "".join(f"{line}\n" for line in statistics(result))


def _run(options: argparse.Namespace) -> Result:
    try:
        config = _config(options)
    except ConfigError as error:
        return _defective(error.diagnostics)
    run = RunOptions(
        jobs=options.jobs, use_cache=not options.no_cache, base=getattr(options, "base", None),
        changed=getattr(options, "changed", None),
    )  # fmt: skip
    if sys.stderr is not None and sys.stderr.isatty() and not getattr(options, "no_progress", True):
        from safety_gate.terminal import progress

        with progress() as on_progress:
            return check_paths(options.paths, config=config, options=replace(run, on_progress=on_progress))
    return check_paths(options.paths, config=config, options=run)


def _defective(diagnostics: tuple[Diagnostic, ...]) -> Result:
    return Result(violations=(), diagnostics=diagnostics, unresolved_count=0, file_count=0, root=Path.cwd())


def _config(options: argparse.Namespace) -> Config:
    config = isolated(Path.cwd()) if options.isolated else load_config(Path.cwd(), options.config)
    settings = config.settings
    names = _names(options.select)
    selected, ignored = expand(names), expand(_names(options.ignore))
    settings = replace(
        settings, is_strict=settings.is_strict or options.strict, selected=selected or settings.selected,
        enabled=tuple(sorted({*settings.enabled, *exact(names)})),
        ignored=tuple(sorted({*settings.ignored, *ignored})),
    )  # fmt: skip
    return replace(config, settings=settings)


def _names(values: Sequence[str]) -> list[str]:
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


def _exempt(options: argparse.Namespace) -> int:
    from safety_gate.exempting import Reason, exempt
    from safety_gate.report.text_format import counted

    reason = Reason(rationale=options.rationale, owner=options.owner, expires=options.expires)
    try:
        config = _config(options)
        run = RunOptions(jobs=options.jobs, use_cache=not options.no_cache)
        written = exempt(options.paths, config, run, reason)
    except ConfigError as error:
        _write(sys.stdout, render(_defective(error.diagnostics), "text"))
        return 2
    _write(
        sys.stdout,
        f"{counted(written.entry_count, 'exemption')} for {counted(written.finding_count, 'finding')}"
        f" in {written.file.name}\n",
    )
    return 0


def _date(text: str) -> datetime.date:
    import datetime

    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no date such as 2030-12-31") from None


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > _MAX_DIGITS:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of processes")
    return int(text)


def _write(stream: TextIO | None, text: str) -> None:
    if stream is None:  # started without a standard output
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except (
        BrokenPipeError
    ):  # who reads no further, such as `head`, is no failure of ours, and gets the verdict
        _silence(stream)


if __name__ == "__main__":
    sys.exit(main())
