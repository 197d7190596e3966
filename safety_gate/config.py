"""The configuration, and where it is: `[tool.safety-gate]` in `pyproject.toml`, or a `safety-gate.toml` of its own.

`config_table` reads it. A project without one, and a run with `--isolated`, pay for neither TOML nor its checks.
"""

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


def load_config(start: Path, file: Path | None = None) -> Config:
    """Read the configuration that holds for a directory.

    Args:
        start: Where the search upwards begins.
        file: Read this one instead of searching.

    Raises:
        ConfigError: With every defect that was found.
    """
    found = file or _find(start)
    if found is None:
        return Config(root=start)
    from safety_gate.config_table import read_config

    return read_config(found)


def _find(start: Path) -> Path | None:
    for directory in (start, *start.parents):
        own, project = directory / OWN_FILE, directory / PROJECT_FILE
        has_table = project.is_file() and _has_table(project)
        if own.is_file() and has_table:
            message = f"{OWN_FILE} and [tool.safety-gate] in {PROJECT_FILE} are both there. Keep one."
            raise ConfigError((Diagnostic(rule="SG901", path=OWN_FILE, line=None, message=message),))
        if own.is_file():
            return own
        if has_table:
            return project
    return None


def _has_table(project: Path) -> bool:
    """Tell whether a project file configures the gate. TOML has many spellings of one table, so it is parsed.

    A file that mentions the gate and cannot be read counts: reading it says what is wrong with it.
    """
    try:
        data = project.read_bytes()
    except OSError:
        return True
    if b"safety-gate" not in data and b"\\" not in data:
        return False
    import tomllib

    try:
        tool = tomllib.loads(data.decode("utf-8")).get("tool")
    except (ValueError, RecursionError):
        return b"safety-gate" in data
    return isinstance(tool, dict) and "safety-gate" in tool
