"""The `tramapy` command."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say which extra it needs."""
    try:
        from tramapy.cli.app import app
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in ("rich", "typer"):
            raise
        message = f"The tramapy command needs {missing}. Install it with: pip install 'tramapy[cli]'"
        raise SystemExit(message) from None
    app()
