"""safety_gate: a static gate for production Python.

Four rules, checked on names and not on spelling: no writing to standard streams, no payloads or secrets in
logs, no
unbounded reads, no lost cancellation. See `safety-gate list-rules`.
"""

from safety_gate.config import Config, ConfigError
from safety_gate.config_file import load_config
from safety_gate.judging import RunOptions
from safety_gate.roles import Role
from safety_gate.runner import Result, check_paths
from safety_gate.settings import RuleSettings
from safety_gate.violation import Diagnostic, FileReport, Risk, Violation

__all__ = [
    "Config",
    "ConfigError",
    "Diagnostic",
    "FileReport",
    "Result",
    "Risk",
    "Role",
    "RuleSettings",
    "RunOptions",
    "Violation",
    "check_paths",
    "check_source",
    "load_config",
]


def check_source(
    source: str | bytes,
    path: str = "<string>",
    *,
    settings: RuleSettings | None = None,
    role: Role = Role.PRODUCTION,
    module: str = "",
) -> FileReport:
    """Judge one module. See `safety_gate.engine.check_source`."""
    from safety_gate import engine

    return engine.check_source(source, path, settings=settings, role=role, module=module)
