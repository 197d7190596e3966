"""Wrapped clients of old and new SDKs, each pair of versions in an environment of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Final

from tests.peers.environments import ROOT, python_environment

__all__ = ["PAIRS", "compare"]

PAIRS: Final = (
    # the oldest that are supported
    ("2.0.0", "0.50.0"),
    # the last that make others of all errors
    ("2.30.0", "0.97.0"),
    # the last and the first of the majors behind these
    ("2.54.0", "0.125.0"),
    ("3.0.0", "1.0.0"),
    ("3.57.0", "1.17.0"),
    # refused, and the newest major's first
    ("1.109.1", "2.0.0"),
)
"""Versions of the OpenAI and the Anthropic SDK that stand in one environment."""


def compare() -> Iterator[str]:
    """Run the checks of `sdk_checks` with each pair, and yield lines about what failed; the last one counts."""
    passed = failed = 0
    for openai, anthropic in PAIRS:
        name = f"openai {openai}, anthropic {anthropic}"
        packages = [f"openai=={openai}", f"anthropic=={anthropic}", "trio"]
        folder = python_environment(f"sdks-{openai}", packages, is_constrained=False)
        command = [str(folder / "bin/python"), "-W", "ignore", "-m", "tests.peers.sdk_checks"]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        lines = run.stdout.splitlines()
        bad = [line for line in lines if not line.startswith("passed ")]
        if run.returncode or not lines:
            bad.append(f"ended with {run.returncode}: {run.stderr[-2_000:]}")
        yield from (f"{name}: {line}" for line in bad)
        yield f"{name}: {len(lines) - len(bad)} checks passed" if not bad else f"{name}: {len(bad)} FAILED"
        passed += len([line for line in lines if line.startswith("passed ")])
        failed += len(bad)
    yield f"sdks: {len(PAIRS)} environments, {passed} checks passed; {failed} unexpected differences"
