"""The role of a path: which rules hold for it."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping, Sequence
from functools import cache


class Role(enum.Enum):
    """What a file is for: production is judged by every rule, cli by all but SG101, the rest by none."""

    PRODUCTION = "production"
    CLI = "cli"
    TEST = "test"
    EXAMPLE = "example"
    TOOL = "tool"
    GENERATED = "generated"


DEFAULT_ROLES: dict[Role, tuple[str, ...]] = {
    Role.GENERATED: ("**/*_pb2.py", "**/*_pb2_grpc.py", "**/_generated/**", "**/*_generated.py"),
    Role.TEST: (
        "tests/**", "test/**", "**/tests/**", "**/test_*.py", "**/*_test.py", "**/conftest.py",
        "**/_tests/**",
    ),
    Role.EXAMPLE: ("examples/**", "example/**", "docs/**", "doc/**", "docs_src/**", "samples/**"),
    Role.TOOL: (
        "scripts/**", "script/**", "tools/**", "benchmarks/**", "setup.py", "noxfile.py", "tasks.py",
        "fabfile.py",
        "manage.py",
    ),
    Role.CLI: ("**/cli.py", "**/cli/**", "**/_cli.py", "**/__main__.py", "**/management/commands/**"),
}  # fmt: skip
"""Patterns by role; the first role with a match holds. A configured list replaces the role's own."""


def role_of(path: str, roles: Mapping[Role, Sequence[str]]) -> Role:
    """Return the role of a path.

    Args:
        path: With `/`, relative to the project's root.
        roles: Patterns by role, first match wins.
    """
    for role, patterns in roles.items():
        if patterns and _matcher(tuple(patterns)).fullmatch(path):
            return role
    return Role.PRODUCTION


def matches(path: str, patterns: Sequence[str]) -> bool:
    """Tell whether a path matches: `**` spans directories, `*` and `?` do not."""
    return bool(patterns) and _matcher(tuple(patterns)).fullmatch(path) is not None


@cache
def _matcher(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(_expression(pattern) for pattern in patterns))


def _expression(pattern: str) -> str:
    pieces: list[str] = []
    rest = pattern.strip("/")
    while rest:
        for mark, expression in (("**/", "(?:[^/]+/)*"), ("**", ".*"), ("*", "[^/]*"), ("?", "[^/]")):
            if rest.startswith(mark):
                pieces.append(expression)
                rest = rest[len(mark) :]
                break
        else:
            pieces.append(re.escape(rest[0]))
            rest = rest[1:]
    return "".join(pieces) + "(?:/.*)?"
