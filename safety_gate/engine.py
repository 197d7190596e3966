"""Judge one module: read, filter, screen, and where the screen finds something, the verdict.

The order of the steps lives here only. The filter looks for words, the screen runs the rules on CPython's
tree, the
verdict runs them on libcst's. The first two can only skip work: what is reported is always the verdict's.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from safety_gate.index import Index
from safety_gate.inline import MARK, apply_inline
from safety_gate.names import Names
from safety_gate.parsing import (
    ParseError,
    code_point_columns,
    is_giant,
    parse_screen,
    parse_verdict,
    refuse_nesting,
    too_large,
)
from safety_gate.roles import Role
from safety_gate.rule import Rule, all_rules
from safety_gate.settings import RuleSettings
from safety_gate.source import SourceError, decode, split_lines
from safety_gate.unit import Unit
from safety_gate.violation import Diagnostic, FileReport, Risk, Violation

_WORD = re.compile(r"[^\W\d]\w*")


def check_source(
    source: str | bytes,
    path: str = "<string>",
    *,
    settings: RuleSettings | None = None,
    role: Role = Role.PRODUCTION,
    module: str = "",
    with_accepted: bool = False,
) -> FileReport:
    """Judge one module.

    Args:
        source: The text, or the bytes of the file, to be decoded by its own declaration.
        path: As reports show it; an `__init__.py` is taken for a package.
        settings: What the configuration says to the rules.
        role: What the file is for; roles other than production and cli are not judged.
        module: Dotted name, so that relative imports can be followed.
        with_accepted: Also return what is accepted or of low risk, for a comparison with another revision.

    Returns:
        The findings in order; or the reason why there is no verdict.
    """
    chosen = settings or RuleSettings()
    floor = Risk.ACCEPTED if with_accepted else Risk.LOW if chosen.is_strict else Risk.MEDIUM
    try:
        text = decode(source) if isinstance(source, bytes) else source.removeprefix("\ufeff")
        violations, unresolved = _judge(
            text, _Request(path=path, settings=chosen, role=role, module=module, floor=floor)
        )
    except (SourceError, ParseError) as error:
        diagnostic = Diagnostic(rule="SG905", path=path, line=error.line, message=error.message)
        return FileReport(path=path, diagnostics=(diagnostic,))
    if chosen.inline_exemptions and MARK in text and role in (Role.PRODUCTION, Role.CLI):
        violations = apply_inline(text, path, violations, [rule.code for rule in rules_for(chosen)])
    return FileReport(path=path, violations=violations, unresolved_count=unresolved)


def rules_for(settings: RuleSettings) -> tuple[Rule, ...]:
    """Return the rules that run under these settings."""
    return tuple(rule for rule in all_rules() if _runs(rule, settings))


def _runs(rule: Rule, settings: RuleSettings) -> bool:
    if rule.code in settings.ignored or (settings.selected and rule.code not in settings.selected):
        return False
    if not rule.is_optional or settings.is_strict or rule.code in settings.enabled:
        return True
    return rule.code == "SG203" and bool(settings.exception_text_paths)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    path: str
    settings: RuleSettings
    role: Role
    module: str
    floor: Risk


def _judge(text: str, request: _Request) -> tuple[tuple[Violation, ...], int]:
    if request.role not in (Role.PRODUCTION, Role.CLI):
        return (), 0
    rules = _candidates(text, rules_for(request.settings), request.settings)
    limit_mb = request.settings.max_memory_mb
    if is_giant(text, limit_mb):
        refuse_nesting(text)
        if rules:
            raise ParseError(too_large(limit_mb), None)
        return (), 0
    screen = parse_screen(text)
    if not rules and screen is not None:
        return (), 0
    lines = split_lines(text)
    unresolved: int | None = None
    if screen is not None:
        found, unresolved = _run(rules, screen, lines, request)
        if not found:
            return (), unresolved
        # Rules are independent, so only those that found something on the screen are asked for the verdict.
        codes = {violation.rule for violation in found}
        rules = tuple(rule for rule in rules if rule.code in codes)
        code_point_columns(screen, lines)
    tree, doubtful = parse_verdict(text, screen, limit_mb)
    violations, counted = _run(rules, tree, lines, request)
    if any((violation.line, violation.column - 1) in doubtful for violation in violations):
        tree, _ = parse_verdict(text, None, limit_mb)
        violations, counted = _run(rules, tree, lines, request)
    ordered = tuple(sorted(violations, key=lambda violation: violation.order))
    return ordered, counted if unresolved is None else unresolved


def _run(
    rules: Sequence[Rule], tree: ast.Module, lines: list[str], request: _Request
) -> tuple[list[Violation], int]:
    settings, index = request.settings, Index(tree)
    is_package = request.path.endswith("__init__.py")
    names = Names(index, module=request.module, is_package=is_package, re_exports=dict(settings.re_exports))
    unit = Unit(
        path=request.path, lines=lines, role=request.role, settings=settings, index=index, names=names
    )
    found: dict[tuple[object, ...], Violation] = {}
    for rule in rules:
        for violation in rule.check(unit):
            key = (violation.rule, violation.line, violation.column, violation.symbol)
            known = found.get(key)
            if violation.risk >= request.floor and (known is None or known.risk < violation.risk):
                found[key] = violation
    return list(found.values()), unit.unresolved_count


def _candidates(text: str, rules: Sequence[Rule], settings: RuleSettings) -> tuple[Rule, ...]:
    """Return the rules whose words stand in the text. A name may be written in another Unicode form."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    words = frozenset(_WORD.findall(plain))
    if any(name.rpartition(".")[2] in words for name, _ in settings.re_exports):
        return tuple(rules)
    return tuple(rule for rule in rules if _may_find(rule, words))


def _may_find(rule: Rule, words: frozenset[str]) -> bool:
    single, several = _triggers(rule)
    return not single.isdisjoint(words) or any(entry <= words for entry in several)


@cache
def _triggers(rule: Rule) -> tuple[frozenset[str], tuple[frozenset[str], ...]]:
    entries = [frozenset(entry.split()) for entry in rule.triggers]
    return frozenset[str]().union(*(e for e in entries if len(e) == 1)), tuple(
        e for e in entries if len(e) > 1
    )
