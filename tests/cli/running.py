"""One way to run the command line in this process, and one to run it as its users do."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass

from typer.testing import CliRunner

from tests.docs.pages import ROOT
from tramapy.cli.app import app

PROMPTS = sorted((ROOT / "docs" / "examples" / "prompts").glob("*.txt"))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run gave."""

    exit_code: int
    output: str
    errors: str


def run(*arguments: str) -> Outcome:
    """Run `tramapy` here."""
    result = CliRunner().invoke(app, list(arguments))
    return Outcome(result.exit_code, result.stdout, result.stderr)


def run_in_a_pipe(*arguments: str, **environment: str) -> bytes:
    """Run `tramapy` in a process of its own and return the bytes that a pipe gets."""
    return subprocess.run(
        [sys.executable, "-m", "tramapy.cli", *arguments],
        check=True,
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    ).stdout
