"""The `tramapy` command."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say which extra it needs."""
    _open_closed_streams()
    try:
        from tramapy.cli.app import app
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in ("rich", "typer"):
            raise
        extras = "cli,openai" if "demo" in sys.argv[1:] else "cli"
        message = f"The tramapy command needs {missing}. Install it with: pip install 'tramapy[{extras}]'"
        raise SystemExit(message) from None
    app()


def _open_closed_streams() -> None:
    """Stand in for what the caller closed, where nothing is lost by that; Python has None in its place."""
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115  # as long as the process
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  # the same
    if sys.stdout is None:
        print("The standard output is closed. Send it to a file, or to a pipe.", file=sys.stderr)  # noqa: T201
        raise SystemExit(2)
