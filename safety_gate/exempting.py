"""Write exemptions for what is there today."""

from __future__ import annotations

import datetime
import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from safety_gate.codes import GATE_CODES
from safety_gate.config import OWN_FILE, PROJECT_FILE, Config, ConfigError
from safety_gate.config_table import parse_config
from safety_gate.exemptions import Exemption, entry_lines, render_entry
from safety_gate.judging import RunOptions
from safety_gate.runner import check_paths
from safety_gate.violation import Diagnostic

_OCCURRENCES = re.compile(r"^([ \t]*occurrences\s*=\s*)\d+", re.MULTILINE)
_NEXT_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why findings are accepted: the rationale, who answers for it, and until when."""

    rationale: str
    owner: str = ""
    expires: datetime.date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What was written: the file, how many entries, and for how many findings."""

    file: Path
    entry_count: int
    finding_count: int


def exempt(
    paths: Iterable[str | os.PathLike[str]], config: Config, run: RunOptions, reason: Reason
) -> Written:
    """Write an entry for each family of failing findings under some paths.

    An entry that is there with another count gets the new count and keeps its reason.

    Raises:
        ConfigError: The rationale is blank, the run has no configuration, or a file could not be judged.
    """
    if not reason.rationale.strip():
        raise _refusal("A rationale is required.")
    if config.is_isolated:
        raise _refusal("An isolated run has no configuration to write to.")
    result = check_paths(paths, config=replace(config, exemptions=()), options=run)
    if result.diagnostics:
        raise ConfigError(result.diagnostics)
    # An entry counts the whole family, advice too; a family of advice alone needs none.
    shown = [v for v in result.violations if v.rule not in GATE_CODES and not v.is_exempted]
    failing = {(v.rule, v.path, v.symbol) for v in shown if v.fails}
    counts = Counter(family for v in shown if (family := (v.rule, v.path, v.symbol)) in failing)
    file = config.file or config.root / OWN_FILE
    before = _read(file)
    text = before.replace("\r\n", "\n")
    if len(entry_lines(text)) != len(config.exemptions):
        raise _refusal(
            f"{file.name} lists its exemptions in one line. Write them as [[…exemptions]] tables first."
        )
    known = {entry.family: entry for entry in config.exemptions}
    written = 0
    # From the last entry up, so that the lines of those above stay true.
    for entry in sorted(known.values(), key=lambda entry: -entry.line):
        count = counts.pop(entry.family, 0)
        if count and count != entry.occurrences:
            text = _recounted(text, entry.line, count)
            written += 1
    total = sum(counts.values())
    for (rule, path, symbol), count in sorted(counts.items()):
        entry = Exemption(
            rule=rule, path=path, symbol=symbol, occurrences=count, rationale=reason.rationale.strip(),
            owner=reason.owner.strip(), expires=reason.expires,
        )  # fmt: skip
        text = f"{text.rstrip()}\n\n" if text.strip() else ""
        text += render_entry(entry, in_project_file=file.name == PROJECT_FILE)
        written += 1
    if written:
        parse_config(file, text)  # rather nothing than a file that the next run refuses
        _write(file, text.replace("\n", "\r\n") if "\r\n" in before else text)
    return Written(file=file, entry_count=written, finding_count=total)


def _read(file: Path) -> str:
    if not file.exists():
        return ""
    with file.open(encoding="utf-8", newline="") as stream:
        return stream.read()


def _write(file: Path, text: str) -> None:
    with file.open("w", encoding="utf-8", newline="") as stream:
        stream.write(text)


def _recounted(text: str, line: int, count: int) -> str:
    lines = text.splitlines(keepends=True)
    head, rest = "".join(lines[:line]), "".join(lines[line:])
    following = _NEXT_TABLE.search(rest)
    end = following.start() if following else len(rest)
    return head + _OCCURRENCES.sub(rf"\g<1>{count}", rest[:end], count=1) + rest[end:]


def _refusal(message: str) -> ConfigError:
    return ConfigError((Diagnostic(rule="SG901", path="safety-gate", line=None, message=message),))
