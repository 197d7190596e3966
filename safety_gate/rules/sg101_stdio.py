"""SG101: production code does not write to standard output or standard error."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from safety_gate.references import references
from safety_gate.roles import Role
from safety_gate.rule import Rule
from safety_gate.stdio import PRINTERS, stdio_calls
from safety_gate.unit import Unit
from safety_gate.violation import Violation


class ForbiddenStdio(Rule):
    """Bans `print`, the standard streams and everything that ends there."""

    code = "SG101"
    name = "forbidden-stdio"
    summary = "Production code writes to standard output or standard error."
    triggers: ClassVar[tuple[str, ...]] = (
        "print", "stdout", "stderr", "__stdout__", "__stderr__", "pprint", "echo", "secho", "rich",
        "os write", "help",
        "traceback",
    )  # fmt: skip

    def check(self, unit: Unit) -> Iterator[Violation]:
        """Yield every call that writes to a standard stream, and every mention of a function that does."""
        if unit.role is Role.CLI:
            return
        for call, path in unit.shared(stdio_calls):
            if not self._is_allowed(unit, call):
                yield self.violation(unit, call, _message(path), symbol=path)
        for node, paths in unit.shared(references):
            for path in sorted(paths & PRINTERS):
                if not self._is_allowed(unit, node):
                    yield self.violation(unit, node, _message(path), symbol=path)

    def _is_allowed(self, unit: Unit, node: ast.AST) -> bool:
        return unit.settings.allow_cli_guard and any(
            isinstance(parent, ast.If) and _is_main_guard(parent.test)
            for parent in unit.index.ancestors(node)
        )


def _is_main_guard(test: ast.expr) -> bool:
    match test:
        case ast.Compare(left=ast.Name(id="__name__"), comparators=[ast.Constant(value="__main__")]):
            return True
        case ast.Compare(left=ast.Constant(value="__main__"), comparators=[ast.Name(id="__name__")]):
            return True
        case _:
            return False


def _message(path: str) -> str:
    return (
        f"`{path.removeprefix('builtins.')}` writes to a standard stream. Use a logger, or return the text."
    )
