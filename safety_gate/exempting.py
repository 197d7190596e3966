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
from safety_gate.exemptions import Exemption, render_entry
from safety_gate.runner import RunOptions, check_paths
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
    counts = Counter(
        (v.rule, v.path, v.symbol) for v in result.violations if v.fails and v.rule not in GATE_CODES
    )
    file = config.file or config.root / OWN_FILE
    text = file.read_text("utf-8") if file.exists() else ""
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
    file.write_text(text, "utf-8")
    return Written(file=file, entry_count=written, finding_count=total)


def _recounted(text: str, line: int, count: int) -> str:
    lines = text.splitlines(keepends=True)
    head, rest = "".join(lines[:line]), "".join(lines[line:])
    following = _NEXT_TABLE.search(rest)
    end = following.start() if following else len(rest)
    return head + _OCCURRENCES.sub(rf"\g<1>{count}", rest[:end], count=1) + rest[end:]


def _refusal(message: str) -> ConfigError:
    return ConfigError((Diagnostic(rule="SG901", path="safety-gate", line=None, message=message),))
