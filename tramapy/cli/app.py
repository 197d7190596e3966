"""The commands, and what they take."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.text import Text

from tramapy.cli.audit import audit
from tramapy.cli.consoles import error_console, output_console, printable
from tramapy.cli.demo.prompt_file import PromptFileError, default_prompt_path, read_prompt_file
from tramapy.cli.events import EventsFormat, show_events
from tramapy.cli.output_format import OutputFormat
from tramapy.cli.plain_command import PlainCommand, QuietGroup
from tramapy.cli.redact.command import redact
from tramapy.cli.rules import show_rules
from tramapy.cli.trace.command import trace

__all__ = ["app"]

app: typer.Typer = typer.Typer(
    name="tramapy",
    cls=QuietGroup,
    help="Middleware between Python code and an LLM.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # its tables give a flag a type
    pretty_exceptions_enable=False,  # they print local variables, which hold prompts
)


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        output_console().print(Text(f"tramapy {_installed_version()}"))
        raise typer.Exit


def _installed_version() -> str:
    try:
        return version("tramapy")
    except PackageNotFoundError:  # run from a source tree
        return "(not installed)"


@app.callback()
def _root(  # pyright: ignore[reportUnusedFunction]  # typer calls it
    is_version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Middleware between Python code and an LLM."""


@app.command(cls=PlainCommand, short_help="Show the pipeline at work on a prompt file.")
def demo(
    prompt_file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", help="A text file in UTF-8; by default a support mail.", show_default=False
        ),
    ] = None,
) -> None:
    """Send a prompt file through the pipeline, over real HTTP to a server on this machine, and show what happens."""
    try:
        prompt = read_prompt_file(prompt_file or default_prompt_path())
    except PromptFileError as error:
        _fail(str(error))
    try:
        from tramapy.cli.demo.show import play_demo
    except ModuleNotFoundError as error:
        if error.name != "openai":
            raise
        _fail("The demo needs the OpenAI SDK. Install it with: pip install 'tramapy[cli,openai]'")
    if not play_demo(prompt, output_console()):
        raise typer.Exit(1)


@app.command()
def events(
    format_: Annotated[EventsFormat, typer.Option("--format", help="How to print it.")] = EventsFormat.TEXT,
) -> None:
    """Print the catalogue of engine events."""
    show_events(format_, output_console())


app.add_typer(audit, name="audit")

app.command(cls=PlainCommand, short_help="Redact files: text in, sanitized text out.")(redact)


@app.command()
def rules(
    format_: Annotated[OutputFormat, typer.Option("--format", help="How to print it.")] = OutputFormat.TEXT,
) -> None:
    """Print the rule packs."""
    show_rules(format_, output_console())


app.command(cls=PlainCommand, short_help="Show what operations did, from a file or live.")(trace)


def _fail(message: str) -> NoReturn:
    error_console().print(Text(printable(message)), soft_wrap=True)
    raise typer.Exit(2)
