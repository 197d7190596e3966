"""Where the configuration is: `[tool.safety-gate]` in `pyproject.toml`, or a `safety-gate.toml` of its own.

`config_table` reads it. A project without one, and a run with `--isolated`, pay for neither TOML nor its checks.
"""

from __future__ import annotations

from pathlib import Path

from safety_gate.config import OWN_FILE, PROJECT_FILE, Config, ConfigError
from safety_gate.violation import Diagnostic


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
