"""Comments that exempt: `# safety-gate: allow SG101 -- reason`, where the configuration allows them."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass, replace

from safety_gate.codes import GATE_CODES, rule_codes
from safety_gate.source import split_lines
from safety_gate.violation import Risk, Violation

MARK = "safety-gate:"
_COMMENT = re.compile(r"#\s*safety-gate:\s*(.*)")
_ALLOW = re.compile(r"allow\s+(SG\d{3}(?:\s*,\s*SG\d{3})*)\s*(?:--\s*(.*\S))?\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Allowance:
    codes: frozenset[str]
    line: int
    column: int
    covers_line: int


def apply_inline(
    text: str, path: str, violations: Iterable[Violation], rules: Iterable[str]
) -> tuple[Violation, ...]:
    """Mark what comments exempt, and add what is wrong with the comments.

    A comment covers the findings that start on its line; alone on a line, those on the next line of code.

    Args:
        text: The source.
        path: As reports show it.
        violations: What was found.
        rules: The codes that ran: a comment for another one is not judged.
    """
    found = list(violations)
    allowances, defects = _read(text, path)
    ran = frozenset(rules)
    for allowance in allowances:
        covered = [v for v in found if v.line == allowance.covers_line and v.rule in allowance.codes]
        found = [replace(v, is_exempted=True, fails=False) if v in covered else v for v in found]
        unused = sorted((allowance.codes & ran) - {v.rule for v in covered})
        if unused:
            message = f"This comment allows {', '.join(unused)} and covers nothing. Remove it."
            defects.append(_own("SG902", path, allowance.line, allowance.column, message))
    return tuple(sorted([*found, *defects], key=lambda violation: violation.order))


def _read(text: str, path: str) -> tuple[list[_Allowance], list[Violation]]:
    allowances: list[_Allowance] = []
    defects: list[Violation] = []
    lines = split_lines(text)
    for line, column, comment in _comments(text):
        match = _COMMENT.match(comment)
        if match is None:
            continue
        allow = _ALLOW.match(match.group(1))
        if allow is None or not allow.group(2):
            message = "Write `# safety-gate: allow SGnnn -- reason`; the reason is required."
            defects.append(_own("SG901", path, line, column + 1, message))
            continue
        codes = frozenset(code.strip() for code in allow.group(1).split(","))
        unknown = sorted(codes - set(rule_codes()))
        if unknown:
            message = (
                f"This comment allows {', '.join(unknown)}, and no rule that can be allowed has this code."
            )
            defects.append(_own("SG901", path, line, column + 1, message))
            continue
        is_alone = not lines[line - 1][:column].strip()
        covers = _next_code(lines, line) if is_alone else line
        allowances.append(_Allowance(codes=codes, line=line, column=column + 1, covers_line=covers))
    return allowances, defects


def _comments(text: str) -> list[tuple[int, int, str]]:
    found: list[tuple[int, int, str]] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text, newline=None).readline):
            if token.type == tokenize.COMMENT and MARK in token.string:
                found.append((*token.start, token.string))
    except (tokenize.TokenError, SyntaxError):
        return found  # newer syntax than the interpreter's: the comments before it still count
    return found


def _next_code(lines: list[str], line: int) -> int:
    for number in range(line, len(lines)):
        text = lines[number].strip()
        if text and not text.startswith("#"):
            return number + 1
    return line


def _own(code: str, path: str, line: int, column: int, message: str) -> Violation:
    return Violation(
        rule=code, name=GATE_CODES[code][0], path=path, line=line, column=column, end_line=line,
        end_column=column,
        message=message, symbol="comment", risk=Risk.HIGH,
    )  # fmt: skip
