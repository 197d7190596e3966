"""Remember the verdict on a file by its content, the gate's version and the configuration."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, Final, cast

from safety_gate.config import Config
from safety_gate.discovery import Target
from safety_gate.violation import Diagnostic, FileReport, Risk, Violation

DIRECTORY: Final = ".safety-gate-cache"
_FORMAT: Final = 3
_MAX_AGE_S: Final = 30 * 24 * 3600.0
_FIELDS: Final = (
    "rule",
    "name",
    "line",
    "column",
    "end_line",
    "end_column",
    "message",
    "symbol",
    "function",
    "catch_type",
)


class Cache:
    """The verdicts of one configuration, in one file that is replaced as a whole.

    Two runs at once cannot harm each other: each reads a whole file and replaces it by a whole file; the
    loser's
    entries are computed again next time. A file that cannot be read as a cache is no cache.
    """

    def __init__(self, config: Config) -> None:
        self._directory = config.root / DIRECTORY
        self._file = self._directory / f"{_fingerprint(config)}.json"
        self._entries: dict[str, list[Any]] = self._read()
        self._is_changed = False

    def knows(self, target: Target) -> bool:
        """Tell whether there is a verdict on some content of a target."""
        return target.path in self._entries

    def get(self, target: Target, data: bytes) -> FileReport | None:
        """Return the verdict on this content; None if there is none."""
        try:
            entry = self._entries[target.path]
            return _restored(target.path, entry) if entry[0] == digest_of(target, data) else None
        except (KeyError, TypeError, ValueError, IndexError):
            return None

    def put(self, target: Target, digest: str, report: FileReport) -> None:
        """Remember the verdict on the content with this digest."""
        self._entries[target.path] = [digest, *_plain(report)]
        self._is_changed = True

    def save(self) -> None:
        """Write the file if anything was added. A read-only tree is no error: the run is only slower."""
        if not self._is_changed:
            return
        with contextlib.suppress(OSError):
            self._directory.mkdir(exist_ok=True)
            for name, text in (
                ("CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n"),
                (".gitignore", "*\n"),
            ):
                if not (self._directory / name).exists():
                    (self._directory / name).write_text(text, "utf-8")
            self._replace(json.dumps({"format": _FORMAT, "entries": self._entries}, separators=(",", ":")))
            self._prune()

    def _replace(self, text: str) -> None:
        draft = self._file.with_suffix(f".{os.getpid()}.tmp")
        try:
            draft.write_text(text, "utf-8")
            os.replace(draft, self._file)
        except OSError:
            draft.unlink(missing_ok=True)
            raise

    def _prune(self) -> None:
        limit = time.time() - _MAX_AGE_S
        for file in self._directory.glob("*.json"):
            if file.stat().st_mtime < limit:
                file.unlink(missing_ok=True)

    def _read(self) -> dict[str, list[Any]]:
        try:
            document: object = json.loads(self._file.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        known = cast(dict[str, Any], document) if isinstance(document, dict) else {}
        entries: object = known.get("entries")
        if known.get("format") != _FORMAT or not isinstance(entries, dict):
            return {}
        return cast(dict[str, list[Any]], entries)


def digest_of(target: Target, data: bytes) -> str:
    """Return the digest of a content, and of what else about a target decides its verdict."""
    digest = hashlib.blake2b(data, digest_size=16)
    digest.update(f"\0{target.role.value}\0{target.module}".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _fingerprint(config: Config) -> str:
    """Hash what a verdict depends on beside the content: settings, the gate itself, interpreter, libcst."""
    parts = [repr(config.settings), str(config.max_file_bytes), sys.version, _libcst_version(), *_own_files()]
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=12).hexdigest()


def _own_files() -> list[str]:
    package = Path(__file__).parent
    files = sorted(
        entry
        for folder in (package, package / "rules", package / "cancellation")
        for entry in folder.glob("*.py")
    )
    return [f"{file.name}:{(stat := file.stat()).st_size}:{stat.st_mtime_ns}" for file in files]


def _libcst_version() -> str:
    """Return the version of libcst without importing it or the package metadata."""
    for folder in sys.path:
        if folder and os.path.isdir(folder):
            for name in os.listdir(folder):
                if name.startswith("libcst-") and name.endswith(".dist-info"):
                    return name
    return ""


def _plain(report: FileReport) -> list[Any]:
    violations = [
        [*(getattr(v, name) for name in _FIELDS), int(v.risk), v.fails, v.is_exempted]
        for v in report.violations
    ]
    diagnostics = [[d.rule, d.line, d.message] for d in report.diagnostics]
    return [report.unresolved_count, violations, diagnostics]


def _restored(path: str, entry: list[Any]) -> FileReport:
    _, unresolved, violations, diagnostics = entry
    count = len(_FIELDS)
    return FileReport(
        path=path,
        unresolved_count=int(unresolved),
        violations=tuple(
            Violation(
                path=path,
                **dict(zip(_FIELDS, row[:count], strict=True)),
                risk=Risk(row[count]),
                fails=bool(row[count + 1]),
                is_exempted=bool(row[count + 2]),
            )
            for row in violations
        ),
        diagnostics=tuple(
            Diagnostic(rule=r, path=path, line=line, message=message) for r, line, message in diagnostics
        ),
    )
