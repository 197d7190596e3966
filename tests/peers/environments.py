"""Environments of their own for peers: made once, and again when what they hold has changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

__all__ = ["ROOT", "node_package", "python_environment", "source_distribution"]

ROOT: Final = Path(__file__).resolve().parents[2]

_CONSTRAINTS: Final = ROOT / "constraints.txt"
_PIP: Final = ("-m", "pip", "--quiet", "--disable-pip-version-check")


def python_environment(name: str, packages: Sequence[str], *, is_constrained: bool = True) -> Path:
    """Return the folder of an environment `.venv-peers-<name>` that holds packages, and tramapy as it stands here.

    Args:
        name: Of the environment.
        packages: As for pip.
        is_constrained: Whether the versions are those that tramapy is tested with.
    """
    folder = ROOT / f".venv-peers-{name}"
    wanted = "\n".join([*packages, _CONSTRAINTS.read_text()])
    stamp = folder / ".installed"
    if not stamp.is_file() or stamp.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        limits = ["--constraint", str(_CONSTRAINTS)] if is_constrained else []
        install = [*_PIP, "install", *limits, "--editable", str(ROOT), *packages]
        subprocess.run([str(folder / "bin/python"), *install], check=True)
        stamp.write_text(wanted)
    return folder


def source_distribution(environment: Path, package: str, version: str) -> Path:
    """Return the unpacked source distribution of a package, as the index has it; it is never committed."""
    folder = environment / "sources"
    unpacked = folder / f"{package}-{version}"
    if not unpacked.is_dir():
        python = str(environment / "bin/python")
        fetch = ["download", "--no-deps", "--no-binary", ":all:", "--no-build-isolation"]
        where = ["--dest", str(folder), f"{package}=={version}"]
        subprocess.run([python, *_PIP, *fetch, *where], check=True)
        shutil.unpack_archive(folder / f"{unpacked.name}.tar.gz", folder, filter="data")
    return unpacked


def node_package(name: str, package: str, version: str) -> Path:
    """Return the folder of the commands of an npm package in `.venv-peers-<name>`; its scripts are not run.

    Raises:
        FileNotFoundError: There is no npm.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise FileNotFoundError("npm is not installed")
    folder = ROOT / f".venv-peers-{name}"
    stamp = folder / ".installed"
    wanted = f"{package}@{version}"
    if not stamp.is_file() or stamp.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        options = ["--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder)]
        subprocess.run(
            [npm, "install", *options, wanted], check=True, env={**os.environ, "HOME": str(folder)}
        )
        stamp.write_text(wanted)
    return folder / "node_modules/.bin"
