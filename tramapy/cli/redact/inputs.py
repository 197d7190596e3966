"""`find_inputs`: what there is to redact, and where each result goes."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tramapy.cli.redact.reading import InputError
from tramapy.cli.redact.redaction import RedactTask

__all__ = ["Inputs", "Target", "find_inputs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where results go; without either to the standard output.

    Args:
        directory: A directory for files.
        is_in_place: Whether a result takes the place of its input.
    """

    directory: Path | None = None
    is_in_place: bool = False

    @property
    def is_output(self) -> bool:
        """Whether results go to the standard output."""
        return self.directory is None and not self.is_in_place


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What was found.

    Args:
        tasks: One for each input.
        errors: What could not be looked into.
        size_bytes: How large the files are; None where an input has no size.
    """

    tasks: tuple[RedactTask, ...]
    errors: tuple[str, ...]
    size_bytes: int | None


def find_inputs(names: Sequence[str], target: Target, *, is_json: bool) -> Inputs:
    """List the inputs; directories with all regular files in them, links left out.

    Raises:
        InputError: The target does not fit the inputs, or a result would take the place of an input.
    """
    if target.directory is not None and target.is_in_place:
        raise InputError("--output and --in-place exclude each other; take one of them")
    if is_json and not target.is_output:
        raise InputError("--format json goes to the standard output; leave out --output and --in-place")
    there = _status(target.directory)
    if there is not None and not stat.S_ISDIR(there.st_mode):
        raise InputError(
            f"--output takes a directory, and {target.directory} is none; for one result write: "
            "tramapy redact FILE > RESULT"
        )
    tasks: list[RedactTask] = []
    errors: list[str] = []
    for name in names or ("-",):
        tasks += _tasks(name, target, errors, is_json=is_json)
    size_bytes = _check_files(tasks, target)
    return Inputs(tasks=tuple(tasks), errors=tuple(errors), size_bytes=size_bytes)


def _tasks(name: str, target: Target, errors: list[str], *, is_json: bool) -> Iterator[RedactTask]:
    path = Path(name)
    if name == "-":
        if not target.is_output:
            raise InputError("the standard input has no name for a file; leave out --output and --in-place")
        yield RedactTask(name="-", source=None)
    elif not path.is_dir():
        yield RedactTask(name=name, source=path, destination=_destination(path, Path(path.name), target))
    elif target.is_output and not is_json:
        raise InputError(f"{name} is a directory; say --output DIR, --in-place or --format json")
    else:
        for found in _files(path, target, errors):
            destination = _destination(found, found.relative_to(path), target)
            yield RedactTask(name=str(found), source=found, destination=destination)


def _files(directory: Path, target: Target, errors: list[str]) -> Iterator[Path]:
    left_out = None if target.directory is None else target.directory.resolve()

    def failed(error: OSError) -> None:
        errors.append(f"{error.filename}: {error.strerror}. Check its permissions.")

    for place, directories, files in os.walk(directory, onerror=failed):
        directories[:] = sorted(name for name in directories if Path(place, name).resolve() != left_out)
        for name in sorted(files):
            path = Path(place, name)
            if path.is_file() and not path.is_symlink():
                yield path


def _destination(path: Path, relative: Path, target: Target) -> Path | None:
    if target.is_in_place:
        return path.resolve()
    return None if target.directory is None else target.directory / relative


def _check_files(tasks: Sequence[RedactTask], target: Target) -> int | None:
    """Return how large the files are, once no result takes the place of an input or of another result."""
    sizes = [_status(task.source) for task in tasks]
    inputs = {(status.st_dev, status.st_ino) for status in sizes if status is not None}
    if target.directory is not None:
        taken: dict[Path, str] = {}
        for task in tasks:
            assert task.destination is not None  # noqa: S101  # there is a directory
            other = taken.setdefault(task.destination, task.name)
            if other != task.name:
                raise InputError(
                    f"{other} and {task.name} would both become {task.destination}; redact them apart"
                )
            status = _status(task.destination)
            if status is not None and (status.st_dev, status.st_ino) in inputs:
                raise InputError(f"{task.destination} is an input; take another --output, or say --in-place")
    if any(task.source is None for task in tasks):
        return None
    return sum(status.st_size for status in sizes if status is not None)


def _status(path: Path | None) -> os.stat_result | None:
    try:
        return None if path is None else path.stat()
    except OSError:
        return None  # whoever opens it says why
