"""What the gate reports: a violation of a rule, or a file that it could not judge."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Risk(enum.IntEnum):
    """How bad a finding is. From `HIGH` on it fails the run."""

    ACCEPTED = 1
    LOW = 2
    MEDIUM = 3
    HIGH = 4
    CRITICAL = 5

    @property
    def label(self) -> str:
        """The name as reports spell it."""
        return self.name.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One finding of one rule.

    Attributes:
        rule: The code, such as `SG101`.
        name: The rule's name, such as `forbidden-stdio`.
        path: With `/`, relative to the project's root where the file lies in it.
        line: From 1.
        column: From 1, in code points.
        end_line: Last line of the construct.
        end_column: From 1, one past the last code point.
        message: What is wrong and what to do.
        symbol: What an exemption names, such as `builtins.print`.
        function: Qualified name of the enclosing function, `<module>` outside any.
        risk: See `Risk`.
        fails: Whether it makes the run fail.
        is_exempted: Whether an exemption covers it.
        catch_type: The class that is caught, for the delta; empty outside SG5xx.
        content: The text of the whole construct, for relocation; never serialised.
    """

    rule: str
    name: str
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    symbol: str
    function: str = "<module>"
    risk: Risk = Risk.HIGH
    fails: bool = True
    is_exempted: bool = False
    catch_type: str = ""
    content: str = ""

    @property
    def order(self) -> tuple[str, int, int, str, str]:
        """The order of every report."""
        return (self.path, self.line, self.column, self.rule, self.symbol)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """A file, a configuration or a revision that the gate could not judge.

    Attributes:
        rule: `SG901`, `SG905` or `SG906`.
        path: What could not be judged.
        line: From 1; None where there is none.
        message: What happened and what to do.
    """

    rule: str
    path: str
    line: int | None
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """All that the gate knows about one file."""

    path: str
    violations: tuple[Violation, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    unresolved_count: int = 0
