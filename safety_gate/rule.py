"""What a rule is, and how rules are found."""

from __future__ import annotations

import ast
import importlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import ClassVar

from safety_gate.unit import Unit
from safety_gate.violation import Risk, Violation

_FILE = re.compile(r"(sg\d{3})_[a-z_]+\.py")


class Rule(ABC):
    """One rule: a file in `safety_gate/rules`, with its case file and its page.

    Attributes:
        code: Such as `SG101`; the file's name starts with it.
        name: The slug.
        summary: One line for `list-rules`.
        is_optional: Off unless `--strict` or the configuration turns it on.
        triggers: Words of which at least one stands in every file that can have a finding; see `engine`.
        Several words
            in one entry, divided by a blank, must all be there.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    summary: ClassVar[str]
    is_optional: ClassVar[bool] = False
    triggers: ClassVar[tuple[str, ...]]

    @abstractmethod
    def check(self, unit: Unit) -> Iterator[Violation]:
        """Yield the findings in one module, in any order."""

    def violation(
        self,
        unit: Unit,
        node: ast.AST,
        message: str,
        *,
        symbol: str,
        risk: Risk = Risk.HIGH,
        catch_type: str = "",
    ) -> Violation:
        """Build a finding at a node.

        Args:
            unit: The module.
            node: Where; it needs a position.
            message: What is wrong and what to do. Never source text beyond names.
            symbol: What an exemption names.
            risk: `HIGH` and more fails.
            catch_type: For the cancellation rules.
        """
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        return Violation(
            rule=self.code, name=self.name, path=unit.path, line=line, column=column + 1,
            end_line=getattr(node, "end_lineno", None) or line,
            end_column=(getattr(node, "end_col_offset", None) or column) + 1,
            message=message, symbol=symbol, function=unit.names.qualname(node), risk=risk,
            fails=risk >= Risk.HIGH,
            catch_type=catch_type, content=unit.content(node),
        )  # fmt: skip


@cache
def all_rules() -> tuple[Rule, ...]:
    """Return every rule, by code. A rule is found by its file; nothing registers it."""
    rules: list[Rule] = []
    for path in sorted((Path(__file__).parent / "rules").glob("sg*.py")):
        match = _FILE.fullmatch(path.name)
        if match is None:
            raise ImportError(f"{path.name} is not named sgNNN_slug.py")
        module = importlib.import_module(f"safety_gate.rules.{path.stem}")
        found = [value for value in vars(module).values() if _is_rule(value, module.__name__)]
        if len(found) != 1 or found[0].code.lower() != match.group(1):
            raise ImportError(f"{path.name} must define exactly one rule, with the code of its name")
        rules.append(found[0]())
    return tuple(rules)


def _is_rule(value: object, module: str) -> bool:
    return isinstance(value, type) and issubclass(value, Rule) and value.__module__ == module
