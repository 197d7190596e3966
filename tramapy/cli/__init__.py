"""The `tramapy` command."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say which extra it needs."""
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
