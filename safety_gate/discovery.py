"""Which files a run looks at, and what each of them is."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from safety_gate.config import Config
from safety_gate.roles import Role, matches, role_of
from safety_gate.violation import Diagnostic

_SKIPPED = frozenset(
    {
        "__pycache__",
        "node_modules",
        "site-packages",
        "build",
        "dist",
        "venv",
        "env",
        "__pypackages__",
        "_build",
    }
)
_SUFFIXES = (".py", ".pyw")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One file to judge.

    Attributes:
        file: Where it is.
        path: As reports show it.
        role: What it is for.
        module: Its dotted name, from the packages around it.
    """

    file: Path
    path: str
    role: Role
    module: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """What a run looks at, in the order of the paths, and what could not be looked at."""

    targets: tuple[Target, ...]
    diagnostics: tuple[Diagnostic, ...]


def discover(paths: Sequence[Path], config: Config) -> Discovery:
    """Find the files under some paths.

    A directory is walked without hidden directories, environments and build output. A file that is named is
    taken
    whatever its suffix; its role still decides whether it is judged.
    """
    search = _Search(config)
    for path in paths:
        search.add(path)
    targets = sorted(search.targets.values(), key=lambda target: target.path)
    diagnostics = sorted(search.diagnostics, key=lambda diagnostic: diagnostic.path)
    return Discovery(targets=tuple(targets), diagnostics=tuple(diagnostics))


def module_name(file: Path) -> str:
    """Return the dotted name of a file: its own and those of the packages around it."""
    parts = [] if file.stem == "__init__" else [file.stem]
    directory = file.parent
    while (directory / "__init__.py").is_file() and directory.name.isidentifier():
        parts.append(directory.name)
        directory = directory.parent
    return ".".join(reversed(parts)) if len(parts) > 1 or file.stem == "__init__" else ""


class _Search:
    def __init__(self, config: Config) -> None:
        self.config = config
        self.root = Path(os.path.abspath(config.root))
        self.targets: dict[Path, Target] = {}
        self.diagnostics: list[Diagnostic] = []
        self._packages: dict[Path, str] = {}

    def add(self, path: Path) -> None:
        file = Path(os.path.abspath(path))
        if file.is_dir() and not file.is_symlink():
            for found in self._walk(file):
                self._take(found, file)
        elif file.is_symlink() or file.exists():
            self._take(file, file.parent)
        else:
            self._report(file, file.parent, "There is no such file or directory.")

    def _walk(self, directory: Path) -> Iterator[Path]:
        stack = [str(directory)]
        while stack:
            current = stack.pop()
            try:
                entries = sorted(os.scandir(current), key=lambda entry: entry.name)
            except OSError as error:
                self._report(
                    Path(current),
                    directory,
                    f"The directory cannot be read: {error.strerror or 'input error'}.",
                )
                continue
            for entry in entries:
                is_source = entry.name.endswith(_SUFFIXES)
                if entry.is_symlink():
                    is_directory = entry.is_dir() and not _is_skipped(entry)
                    if is_source or is_directory:
                        yield Path(entry.path)
                elif entry.is_dir():
                    if not _is_skipped(entry):
                        stack.append(entry.path)
                elif is_source:
                    yield Path(entry.path)

    def _take(self, file: Path, base: Path) -> None:
        path, relative = self._shown(file, base)
        if matches(relative, self.config.exclude):
            return
        if file.is_symlink():
            if self.config.symlinks == "error":
                self._report(file, base, "This is a symbolic link. Name its target, or exclude it.")
            return
        role = Role.PRODUCTION if self.config.is_isolated else role_of(relative, self.config.roles)
        self.targets.setdefault(file, Target(file=file, path=path, role=role, module=self._module(file)))

    def _module(self, file: Path) -> str:
        if file.stem == "__init__":
            return module_name(file)
        package = self._packages.get(file.parent)
        if package is None:
            package = self._packages[file.parent] = (
                module_name(file.parent / "__init__.py") if (file.parent / "__init__.py").is_file() else ""
            )
        return f"{package}.{file.stem}" if package else ""

    def _shown(self, file: Path, base: Path) -> tuple[str, str]:
        """Return a path as reports show it, and as roles see it."""
        if file.is_relative_to(self.root):
            relative = file.relative_to(self.root).as_posix()
            return relative, relative
        inner = file.relative_to(base).as_posix() if file.is_relative_to(base) else file.name
        return file.as_posix(), inner

    def _report(self, file: Path, base: Path, message: str) -> None:
        self.diagnostics.append(
            Diagnostic(rule="SG905", path=self._shown(file, base)[0], line=None, message=message)
        )


def _is_skipped(entry: os.DirEntry[str]) -> bool:
    if entry.name.startswith(".") or entry.name in _SKIPPED or entry.name.endswith(".egg-info"):
        return True
    return os.path.exists(os.path.join(entry.path, "pyvenv.cfg"))
