"""`Config`: what a run is told; a file's, or the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from safety_gate.roles import DEFAULT_ROLES, Role
from safety_gate.settings import RuleSettings
from safety_gate.violation import Diagnostic

TYPE_CHECKING = False  # importing it from typing costs a quiet run a twelfth of its time
if TYPE_CHECKING:
    from typing import Final

    from safety_gate.exemptions import Exemption

OWN_FILE: Final = "safety-gate.toml"
PROJECT_FILE: Final = "pyproject.toml"
DEFAULT_MAX_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The configuration of one run.

    Attributes:
        root: The directory that paths are relative to.
        file: The file that was read; None for the defaults.
        settings: What the rules are told.
        roles: Patterns by role, first match wins.
        exclude: Patterns of paths that are never looked at.
        max_file_bytes: Larger files are not judged.
        symlinks: `error` or `skip`.
        base_scope: Whether `--base` forgives old findings of `all` rules, or of the `cancellation` rules
        only.
        exemptions: In the order of the file.
        is_isolated: Whether every path is production code.
    """

    root: Path
    file: Path | None = None
    settings: RuleSettings = field(default_factory=RuleSettings)
    roles: Mapping[Role, tuple[str, ...]] = field(default_factory=lambda: dict(DEFAULT_ROLES))
    exclude: tuple[str, ...] = ()
    max_file_bytes: int = DEFAULT_MAX_BYTES
    symlinks: str = "error"
    base_scope: str = "all"
    exemptions: tuple[Exemption, ...] = ()
    is_isolated: bool = False


class ConfigError(Exception):
    """A defective configuration: one diagnostic for each defect."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__("; ".join(diagnostic.message for diagnostic in diagnostics))
        self.diagnostics = diagnostics


def isolated(root: Path) -> Config:
    """Return the defaults, every path taken for production code."""
    return Config(root=root, roles={}, is_isolated=True)
