"""How each libcst `match` pattern becomes an `ast` pattern. See `lowering`."""

from __future__ import annotations

import ast
from typing import Any

import libcst as cst

from safety_gate.lowering_expressions import Steps, identifier, many


def _value(node: cst.MatchValue) -> Steps:
    return ast.MatchValue(value=(yield node.value))


def _singleton(node: cst.MatchSingleton) -> Steps:
    constant = yield node.value
    return ast.MatchSingleton(value=constant.value)


def _sequence(node: cst.MatchList | cst.MatchTuple) -> Steps:
    return ast.MatchSequence(patterns=(yield from many(node.patterns)))


def _sequence_element(node: cst.MatchSequenceElement) -> Steps:
    return (yield node.value)


def _star(node: cst.MatchStar) -> ast.pattern:
    return ast.MatchStar(name=_optional(node.name))


def _optional(name: cst.Name | None) -> str | None:
    return None if name is None or name.value == "_" else identifier(name.value)


def _mapping(node: cst.MatchMapping) -> Steps:
    keys = yield from many([element.key for element in node.elements])
    patterns = yield from many([element.pattern for element in node.elements])
    keys = [key.value if isinstance(key, ast.MatchValue) else key for key in keys]
    rest = None if node.rest is None else identifier(node.rest.value)
    return ast.MatchMapping(keys=keys, patterns=patterns, rest=rest)


def _class(node: cst.MatchClass) -> Steps:
    cls = yield node.cls
    patterns = yield from many([element.value for element in node.patterns])
    kwd_patterns = yield from many([element.pattern for element in node.kwds])
    kwd_attrs = [identifier(element.key.value) for element in node.kwds]
    return ast.MatchClass(cls=cls, patterns=patterns, kwd_attrs=kwd_attrs, kwd_patterns=kwd_patterns)


def _as(node: cst.MatchAs) -> Steps:
    pattern = None if node.pattern is None else (yield node.pattern)
    return ast.MatchAs(pattern=pattern, name=_optional(node.name))


def _or(node: cst.MatchOr) -> Steps:
    return ast.MatchOr(patterns=(yield from many([element.pattern for element in node.patterns])))


PATTERNS: dict[type[cst.CSTNode], Any] = {
    cst.MatchValue: _value, cst.MatchSingleton: _singleton, cst.MatchList: _sequence, cst.MatchTuple:
    _sequence, cst.MatchSequenceElement: _sequence_element, cst.MatchMapping: _mapping, cst.MatchClass:
    _class, cst.MatchAs: _as, cst.MatchOr: _or,
}  # fmt: skip
"""Handlers of nodes with children."""

PATTERN_LEAVES: dict[type[cst.CSTNode], Any] = {
    cst.MatchStar: _star,
}  # fmt: skip
"""Functions for nodes without."""
