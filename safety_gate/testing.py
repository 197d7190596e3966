"""A helper for a project's own test suite.

from safety_gate.testing import assert_safe

def test_production_code_passes_the_gate():
    assert_safe("mypackage")
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from safety_gate.codes import exact, expand
from safety_gate.config import Config
from safety_gate.config_file import load_config
from safety_gate.judging import RunOptions
from safety_gate.report.text_format import render
from safety_gate.runner import check_paths


def assert_safe(
    *paths: str | os.PathLike[str],
    root: str | os.PathLike[str] | None = None,
    select: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    strict: bool = False,
) -> None:
    """Fail with the report if the gate would fail.

    Args:
        paths: What to look at, relative to the root; the root itself if there is none.
        root: The project's directory; None for the working directory. Its configuration holds.
        select: Codes or groups that run; empty for all.
        ignore: Codes or groups that do not run.
        strict: As `--strict`.

    Raises:
        AssertionError: With the report as its message.
        ConfigError: The configuration is defective.
    """
    directory = Path(root) if root is not None else Path.cwd()
    config = _narrowed(load_config(directory), select, ignore, strict)
    result = check_paths(
        [directory / path for path in paths or (".",)], config=config, options=RunOptions(use_cache=False)
    )
    if result.exit_code:
        raise AssertionError(f"safety-gate found failures:\n{render(result)}")


def _narrowed(config: Config, select: tuple[str, ...], ignore: tuple[str, ...], strict: bool) -> Config:
    settings = config.settings
    settings = replace(
        settings, is_strict=settings.is_strict or strict, selected=expand(select) or settings.selected,
        enabled=tuple(sorted({*settings.enabled, *exact(select)})),
        ignored=tuple(sorted({*settings.ignored, *expand(ignore)})),
    )  # fmt: skip
    return replace(config, settings=settings)
