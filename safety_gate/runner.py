"""Check many files. The order lives here: discovery, judging, comparison, exemptions."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from safety_gate.codes import rule_codes
from safety_gate.config import Config
from safety_gate.config_file import load_config
from safety_gate.discovery import discover
from safety_gate.judging import RunOptions, judge_all
from safety_gate.roles import Role
from safety_gate.violation import Diagnostic, Risk, Violation

_JUDGED = (Role.PRODUCTION, Role.CLI)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a run found.

    Attributes:
        violations: In order; exempted ones are marked.
        diagnostics: What could not be judged.
        unresolved_count: Constructs that were passed over because a receiver is unknown.
        file_count: Files that were looked at.
        root: The directory that relative paths start from.
    """

    violations: tuple[Violation, ...]
    diagnostics: tuple[Diagnostic, ...]
    unresolved_count: int
    file_count: int
    root: Path

    @property
    def exit_code(self) -> int:
        """0 when nothing fails, 1 when a finding does, 2 when something could not be judged."""
        if self.diagnostics:
            return 2
        return 1 if any(violation.fails for violation in self.violations) else 0


def check_paths(
    paths: Iterable[str | os.PathLike[str]],
    *,
    config: Config | None = None,
    options: RunOptions | None = None,
) -> Result:
    """Check files and directories.

    Args:
        paths: What to look at.
        config: The configuration; None to search for one from the working directory upwards.
        options: How the run is done.

    Raises:
        ConfigError: The configuration that was found is defective.
    """
    chosen = config or load_config(Path.cwd())
    run = options or RunOptions()
    found = discover(list(paths), chosen)
    diagnostics = list(found.diagnostics)
    targets = [target for target in found.targets if target.role in _JUDGED]
    with _without_collector():
        if run.changed is not None or run.base is not None:
            from safety_gate.comparison import run_compared  # few runs need it

            compared = run_compared(targets, chosen, run)
            reports, diagnostics = compared.reports, [*diagnostics, *compared.diagnostics]
        else:
            reports = judge_all(targets, chosen, run)
    violations = tuple(violation for report in reports for violation in report.violations)
    violations = _exempted(violations, [report.path for report in reports], chosen, run)
    diagnostics += [diagnostic for report in reports for diagnostic in report.diagnostics]
    return Result(
        violations=violations,
        diagnostics=tuple(sorted(diagnostics, key=lambda d: (d.path, d.line or 0, d.message))),
        unresolved_count=sum(report.unresolved_count for report in reports),
        file_count=len(found.targets),
        root=chosen.root,
    )


@contextmanager
def _without_collector() -> Generator[None, None, None]:
    """Switch the cyclic collector off: it would walk every live node again and again. `judge` collects instead."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _exempted(
    violations: tuple[Violation, ...], paths: Sequence[str], config: Config, run: RunOptions
) -> tuple[Violation, ...]:
    floor = Risk.LOW if config.settings.is_strict else Risk.MEDIUM
    shown = tuple(violation for violation in violations if violation.fails or violation.risk >= floor)
    if not config.exemptions:
        return tuple(sorted(shown, key=lambda violation: violation.order))
    import datetime

    from safety_gate.exemptions import Scope, apply_exemptions

    settings = config.settings
    ran = [
        code
        for code in rule_codes()
        if code not in settings.ignored and (not settings.selected or code in settings.selected)
    ]
    scope = Scope(paths=frozenset(paths), rules=frozenset(ran), today=run.today or datetime.date.today())
    return apply_exemptions(shown, config.exemptions, scope)
