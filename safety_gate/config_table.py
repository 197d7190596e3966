"""Read a configuration from its table, and name every defect on the way."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

from safety_gate.codes import UnknownCodeError, exact, expand
from safety_gate.config import DEFAULT_MAX_BYTES, PROJECT_FILE, Config, ConfigError
from safety_gate.roles import DEFAULT_ROLES, Role
from safety_gate.settings import DEFAULT_MAX_MEMORY_MB, RuleSettings
from safety_gate.violation import Diagnostic

_BOOLEANS = {
    "strict": "is_strict", "exception-is-broad": "exception_is_broad", "cli-guard-allowed": "allow_cli_guard",
    "inline-exemptions": "inline_exemptions",
}  # fmt: skip
_LISTS = {
    "sensitive-words": "sensitive_words", "harmless-words": "harmless_words", "sanitizers": "sanitizers",
    "rethrow-helpers": "rethrow_helpers", "never-returns": "never_returns",
    "cancellation-classes": "cancellation_classes", "exception-text-paths": "exception_text_paths",
}  # fmt: skip
_CODES = {"enable": "enabled", "select": "selected", "ignore": "ignored"}
_OTHER = frozenset(
    {
        "schema-version",
        "exclude",
        "max-file-bytes",
        "max-memory-mb",
        "symlinks",
        "base-scope",
        "re-exports",
        "roles",
        "exemptions",
    }
)
_CHOICES = {"symlinks": ("error", "skip"), "base-scope": ("all", "cancellation")}


def read_config(file: Path) -> Config:
    """Read one configuration file.

    Raises:
        ConfigError: With every defect that was found.
    """
    return parse_config(file, _text(file))


def parse_config(file: Path, text: str) -> Config:
    """Read a configuration that may not be in its file yet.

    Raises:
        ConfigError: With every defect that was found.
    """
    return _Reader(file, text).read(_table(file, text))


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except OSError as error:
        reason = error.strerror or "input error"
        raise _single(file, f"The configuration cannot be read: {reason}.") from None
    except UnicodeDecodeError:
        raise _single(file, "The configuration cannot be read as UTF-8.") from None


def _table(file: Path, text: str) -> Mapping[str, object]:
    try:
        document: dict[str, object] = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # beside a syntax error, a number or a nesting without end
        line = re.search(r"at line (\d+)", str(error))
        raise _single(
            file, "The configuration is no valid TOML.", int(line.group(1)) if line else None
        ) from None
    if file.name != PROJECT_FILE:
        return document
    tool = document.get("tool")
    table = cast(dict[str, object], tool).get("safety-gate") if isinstance(tool, dict) else None
    if not isinstance(table, dict):
        raise _single(file, "tool.safety-gate must be a table.")
    return cast(dict[str, object], table)


def _single(file: Path, message: str, line: int | None = None) -> ConfigError:
    return ConfigError((Diagnostic(rule="SG901", path=file.name, line=line, message=message),))


class _Reader:
    """Turns a table into a `Config` and collects every defect on the way."""

    def __init__(self, file: Path, text: str) -> None:
        self.file = file
        self.text = text
        self.defects: list[Diagnostic] = []

    def read(self, table: Mapping[str, object]) -> Config:
        known = {*_BOOLEANS, *_LISTS, *_CODES, *_OTHER}
        for key in sorted(set(table) - known):
            self._defect(key, "is no setting")
        version = table.get("schema-version", 1)
        if isinstance(version, bool) or version != 1 or not isinstance(version, int):
            self._defect("schema-version", "must be the integer 1")
        values: dict[str, object] = {name: self._boolean(table, key) for key, name in _BOOLEANS.items()}
        values |= {name: self._strings(table, key) for key, name in _LISTS.items()}
        values |= {name: self._codes(table, key) for key, name in _CODES.items()}
        # a group in `enable` can only mean its optional rules; in `select` it need not mean them
        enabled = [*self._codes(table, "enable"), *exact(self._strings(table, "select"))]
        values["enabled"] = tuple(sorted(set(enabled)))
        values["max_memory_mb"] = self._limit(table, "max-memory-mb", DEFAULT_MAX_MEMORY_MB)
        settings = replace(RuleSettings(), re_exports=self._re_exports(table), **values)  # type: ignore[arg-type]  # names and types pair up in the tables above
        roles = self._roles(table)
        config = Config(
            root=self.file.parent, file=self.file, settings=settings, roles=roles,
            exclude=self._strings(table, "exclude"),
            max_file_bytes=self._limit(table, "max-file-bytes", DEFAULT_MAX_BYTES),
            symlinks=self._choice(table, "symlinks"), base_scope=self._choice(table, "base-scope"),
        )  # fmt: skip
        if "exemptions" not in table:
            return self._whole(config)
        from safety_gate.exemptions import read_exemptions

        exemptions, defects = read_exemptions(table["exemptions"], self.text, self.file, roles)
        self.defects.extend(defects)
        return self._whole(replace(config, exemptions=exemptions))

    def _whole(self, config: Config) -> Config:
        if self.defects:
            raise ConfigError(tuple(self.defects))
        return config

    def _defect(self, key: str, what: str) -> None:
        line = next(
            (
                n
                for n, text in enumerate(self.text.splitlines(), 1)
                if re.match(rf"\s*\"?{re.escape(key)}\"?\s*=", text)
            ),
            None,
        )
        self.defects.append(
            Diagnostic(rule="SG901", path=self.file.name, line=line, message=f"{key} {what}.")
        )

    def _boolean(self, table: Mapping[str, object], key: str) -> bool:
        value = table.get(key, False)
        if not isinstance(value, bool):
            self._defect(key, "must be true or false")
            return False
        return value

    def _strings(self, table: Mapping[str, object], key: str) -> tuple[str, ...]:
        value = table.get(key, [])
        items = cast(list[object], value) if isinstance(value, list) else None
        if items is None or any(not isinstance(item, str) or not item.strip() for item in items):
            self._defect(key, "must be a list of non-blank strings")
            return ()
        return tuple(str(item) for item in items)

    def _codes(self, table: Mapping[str, object], key: str) -> tuple[str, ...]:
        try:
            return expand(self._strings(table, key))
        except UnknownCodeError:
            self._defect(key, "names a rule or group that does not exist")
            return ()

    def _limit(self, table: Mapping[str, object], key: str, default: int) -> int:
        value = table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            self._defect(key, "must be a positive integer")
            return default
        return value

    def _choice(self, table: Mapping[str, object], key: str) -> str:
        choices = _CHOICES[key]
        value = table.get(key, choices[0])
        if value not in choices:
            self._defect(key, f"must be one of {', '.join(choices)}")
            return choices[0]
        return str(value)

    def _re_exports(self, table: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
        value = table.get("re-exports", {})
        if not isinstance(value, dict):
            self._defect("re-exports", "must be a table of names")
            return ()
        pairs = cast(dict[str, object], value)
        if any(
            not name.strip() or not isinstance(target, str) or not target.strip()
            for name, target in pairs.items()
        ):
            self._defect("re-exports", "must map names to names")
            return ()
        return tuple((name, str(target)) for name, target in sorted(pairs.items()))

    def _roles(self, table: Mapping[str, object]) -> dict[Role, tuple[str, ...]]:
        roles = dict(DEFAULT_ROLES)
        value = table.get("roles", {})
        if not isinstance(value, dict):
            self._defect("roles", "must be a table of lists")
            return roles
        configured = cast(dict[str, object], value)
        names = {role.value: role for role in DEFAULT_ROLES}
        for name in configured:
            if name not in names:
                self._defect(f"roles.{name}", f"is no role; choose from {', '.join(sorted(names))}")
                continue
            roles[names[name]] = self._strings(configured, name)
        return roles
