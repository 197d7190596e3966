"""Runs against a revision: judge only what changed, and let only what is new or worse fail."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from safety_gate.config import Config
from safety_gate.delta import compare, is_cancellation
from safety_gate.discovery import SUFFIXES, Target, module_name
from safety_gate.git import Revision, RevisionError
from safety_gate.judging import RunOptions, Task, judge, judge_all
from safety_gate.roles import Role, matches, role_of
from safety_gate.source import SourceError, read_source
from safety_gate.violation import Diagnostic, FileReport, Violation


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The reports of a compared run, and the revision that could not be read."""

    reports: list[FileReport]
    diagnostics: list[Diagnostic]


def run_compared(targets: Sequence[Target], config: Config, run: RunOptions) -> Compared:
    """Judge targets with `--changed`, `--base` or both."""
    chosen = list(targets)
    try:
        if run.changed is not None:
            revision = Revision(config.root, run.changed)
            chosen = [target for target in chosen if not _is_unchanged(revision, target, config)]
        if run.base is None:
            return Compared(reports=judge_all(chosen, config, run), diagnostics=[])
        return _against(Revision(config.root, run.base), chosen, config, run)
    except RevisionError as error:
        diagnostic = Diagnostic(rule="SG906", path=config.root.name or ".", line=None, message=str(error))
        return Compared(reports=[], diagnostics=[diagnostic])


def _is_unchanged(revision: Revision, target: Target, config: Config) -> bool:
    try:
        return revision.is_unchanged(target.path, read_source(target.file, config.max_file_bytes))
    except SourceError:
        return False  # judging it reports why


def _against(revision: Revision, targets: Sequence[Target], config: Config, run: RunOptions) -> Compared:
    same = [target for target in targets if _is_unchanged(revision, target, config)]
    unchanged = {target.path for target in same}
    changed = [target for target in targets if target.path not in unchanged]
    reports = {report.path: report for report in judge_all(same, config, run)}
    current = {t.path: judge(Task(target=t, config=config, with_accepted=True)).report for t in changed}
    base = _base_violations(revision, changed, targets, config)
    judged = compare(base, [violation for report in current.values() for violation in report.violations])
    for path, report in current.items():
        mine = tuple(violation for violation in judged if violation.path == path)
        reports[path] = replace(report, violations=_scoped(mine, report.violations, config))
    for target in same:
        report = reports[target.path]
        old = tuple(replace(violation, fails=False) for violation in report.violations)
        reports[target.path] = replace(report, violations=_scoped(old, report.violations, config))
    return Compared(reports=[reports[target.path] for target in targets], diagnostics=[])


def _scoped(
    compared: Sequence[Violation], plain: Sequence[Violation], config: Config
) -> tuple[Violation, ...]:
    """Keep the comparison for the rules that it is configured for; the others keep zero tolerance."""
    if config.base_scope == "all":
        return tuple(compared)
    kept = [violation for violation in compared if is_cancellation(violation)]
    return tuple(sorted([*kept, *(v for v in plain if not is_cancellation(v))], key=lambda v: v.order))


def _base_violations(
    revision: Revision, changed: Sequence[Target], targets: Sequence[Target], config: Config
) -> list[Violation]:
    """Judge the old contents of the changed files, and of those that are gone: findings may have moved."""
    known = {target.path: target for target in changed}
    present = {target.path for target in targets}
    gone = [
        path
        for path in revision.blobs
        if path.endswith(SUFFIXES) and path not in present and not (config.root / path).exists()
    ]
    found: list[Violation] = []
    for path, data in revision.contents([*known, *gone]).items():
        target = known.get(path) or _gone(path, config)
        if target.role in (Role.PRODUCTION, Role.CLI) and not matches(path, config.exclude):
            found.extend(
                judge(Task(target=target, data=data, config=config, with_accepted=True)).report.violations
            )
    return found


def _gone(path: str, config: Config) -> Target:
    file = os.path.join(config.root, path)
    role = Role.PRODUCTION if config.is_isolated else role_of(path, config.roles)
    return Target(file=file, path=path, role=role, module=module_name(file, config))
