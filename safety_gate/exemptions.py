"""Exemptions: exact counts of findings that the team accepts, each with a reason."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from safety_gate.codes import GATE_CODES, rule_codes
from safety_gate.roles import Role, role_of
from safety_gate.violation import Diagnostic, Risk, Violation

_REQUIRED = ("rule", "path", "symbol", "occurrences", "rationale")
_OPTIONAL = ("owner", "expires")
_HEADER = re.compile(r"^[ \t]*\[\[\s*(?:tool\.\"?safety-gate\"?\.)?exemptions\s*\]\]", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exemption:
    """One accepted family of findings.

    Attributes:
        rule: The code.
        path: With `/`, relative to the root.
        symbol: What the findings show as their symbol.
        occurrences: Exactly so many.
        rationale: Why.
        owner: Who answers for it; may be empty.
        expires: The last day on which it holds; None for no end.
        line: Of the entry in the configuration.
        file: The configuration's name.
    """

    rule: str
    path: str
    symbol: str
    occurrences: int
    rationale: str
    owner: str = ""
    expires: datetime.date | None = None
    line: int = 1
    file: str = ""

    @property
    def family(self) -> tuple[str, str, str]:
        """What it covers."""
        return (self.rule, self.path, self.symbol)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a run looked at: exemptions outside it are not judged.

    Attributes:
        paths: The files that were judged.
        rules: The codes that ran.
        today: For expiry.
    """

    paths: Collection[str]
    rules: Collection[str]
    today: datetime.date


def read_exemptions(
    section: object, text: str, file: Path, roles: Mapping[Role, Sequence[str]]
) -> tuple[tuple[Exemption, ...], list[Diagnostic]]:
    """Read the entries of a configuration.

    Returns:
        The entries, and one diagnostic for each defect, naming the entry.
    """
    if not isinstance(section, list):
        return (), [_defect(file, None, "exemptions must be a list of tables")]
    lines = entry_lines(text)
    entries: list[Exemption] = []
    defects: list[Diagnostic] = []
    for number, raw in enumerate(cast(list[object], section)):
        line = lines[number] if number < len(lines) else None
        problems = _problems(raw, file.parent, roles)
        name = f"exemptions[{number + 1}]"
        if problems:
            defects.extend(_defect(file, line, f"{name}: {problem}") for problem in problems)
            continue
        entry = _entry(cast(dict[str, object], raw), line or 1, file.name)
        if any(entry.family == other.family for other in entries):
            defects.append(_defect(file, line, f"{name}: the same rule, path and symbol are exempted twice"))
        entries.append(entry)
    return tuple(entries), defects


def apply_exemptions(
    violations: Iterable[Violation], exemptions: Sequence[Exemption], scope: Scope
) -> tuple[Violation, ...]:
    """Mark what is exempted, and add what is wrong with the exemptions themselves.

    An entry whose count is exceeded, or that has expired, covers nothing: its findings fail beside it.
    """
    found = list(violations)
    # What only `--strict` shows does not count: one entry has to hold with and without it.
    counts = Counter((v.rule, v.path, v.symbol) for v in found if v.risk > Risk.LOW and not v.is_exempted)
    covered: set[tuple[str, str, str]] = set()
    extra: list[Violation] = []
    for entry in exemptions:
        if entry.path not in scope.paths or entry.rule not in scope.rules:
            continue
        count = counts[entry.family]
        if entry.expires is not None and entry.expires < scope.today:
            extra.append(
                _own("SG904", entry, f"expired on {entry.expires.isoformat()}. Remove the cause or renew it")
            )
            continue
        if count == 0:
            extra.append(_own("SG902", entry, "covers nothing any more. Remove it"))
        elif count != entry.occurrences:
            extra.append(
                _own(
                    "SG903",
                    entry,
                    f"says {entry.occurrences} and {count} are there. Correct the code or the count",
                )
            )
        if count <= entry.occurrences:
            covered.add(entry.family)
    marked = [
        replace(v, is_exempted=True, fails=False) if (v.rule, v.path, v.symbol) in covered else v
        for v in found
    ]
    return tuple(sorted([*marked, *extra], key=lambda violation: violation.order))


def entry_lines(text: str) -> tuple[int, ...]:
    """Return the lines of a configuration on which an entry starts as a table of its own."""
    return tuple(text.count("\n", 0, match.start()) + 1 for match in _HEADER.finditer(text))


def render_entry(entry: Exemption, *, in_project_file: bool) -> str:
    """Return an entry as TOML."""
    table = "tool.safety-gate.exemptions" if in_project_file else "exemptions"
    lines = [
        f"[[{table}]]", f"rule = {_quote(entry.rule)}", f"path = {_quote(entry.path)}",
        f"symbol = {_quote(entry.symbol)}", f"occurrences = {entry.occurrences}",
        f"rationale = {_quote(entry.rationale)}",
    ]  # fmt: skip
    if entry.owner:
        lines.append(f"owner = {_quote(entry.owner)}")
    if entry.expires is not None:
        lines.append(f"expires = {entry.expires.isoformat()}")
    return "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(f"\\u{ord(c):04x}" if ord(c) < 32 or ord(c) == 127 else c for c in escaped) + '"'


def _defect(file: Path, line: int | None, message: str) -> Diagnostic:
    return Diagnostic(rule="SG901", path=file.name, line=line, message=f"{message}.")


def _own(code: str, entry: Exemption, what: str) -> Violation:
    return Violation(
        rule=code, name=GATE_CODES[code][0], path=entry.file, line=entry.line, column=1, end_line=entry.line,
        end_column=1, message=f"The exemption of {entry.rule} `{entry.symbol}` in {entry.path} {what}.",
        symbol=f"{entry.rule}:{entry.path}:{entry.symbol}",
    )  # fmt: skip


def _entry(raw: Mapping[str, object], line: int, file: str) -> Exemption:
    expires = raw.get("expires")
    if isinstance(expires, str):
        expires = datetime.date.fromisoformat(expires)
    return Exemption(
        rule=str(raw["rule"]), path=str(raw["path"]), symbol=str(raw["symbol"]),
        occurrences=int(cast(int, raw["occurrences"])), rationale=str(raw["rationale"]),
        owner=str(raw.get("owner", "")), expires=cast(datetime.date | None, expires), line=line, file=file,
    )  # fmt: skip


def _problems(raw: object, root: Path, roles: Mapping[Role, Sequence[str]]) -> list[str]:
    if not isinstance(raw, dict):
        return ["must be a table"]
    entry = cast(dict[str, object], raw)
    problems = [f"{name} is missing" for name in _REQUIRED if name not in entry]
    problems += [f"{name} is no field" for name in sorted(set(entry) - {*_REQUIRED, *_OPTIONAL})]
    for name in ("rule", "path", "symbol", "rationale", "owner"):
        value = entry.get(name, "x")
        if not isinstance(value, str) or not value.strip():
            problems.append(f"{name} must be a non-blank string")
    if problems:
        return problems
    occurrences = entry["occurrences"]
    if isinstance(occurrences, bool) or not isinstance(occurrences, int) or occurrences < 1:
        problems.append("occurrences must be an integer of at least 1")
    if entry["rule"] not in rule_codes():
        problems.append(f"there is no rule {entry['rule']}")
    if "expires" in entry and not _is_date(entry["expires"]):
        problems.append("expires must be a date such as 2030-12-31")
    return problems + _path_problems(str(entry["path"]), root, roles)


def _is_date(value: object) -> bool:
    if isinstance(value, str):
        try:
            datetime.date.fromisoformat(value)
        except ValueError:
            return False
        return True
    return isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)


def _path_problems(path: str, root: Path, roles: Mapping[Role, Sequence[str]]) -> list[str]:
    parts = path.split("/")
    if path.startswith("/") or "\\" in path or (len(path) > 1 and path[1] == ":"):
        return ["path must be relative and use /"]
    if ".." in parts or "." in parts or "" in parts:
        return ["path must not hold ., .. or empty parts"]
    if any(mark in path for mark in "*?["):
        return ["path must name one file; patterns are not allowed"]
    file = root / path
    if not file.is_file():
        return [f"there is no file {path}"]
    if not file.resolve().is_relative_to(root.resolve()):
        return [f"{path} leads out of the project"]
    if role_of(path, roles) not in (Role.PRODUCTION, Role.CLI):
        return [f"{path} is no production code, so nothing in it needs an exemption"]
    return []
