"""Where results go: the standard output, a file that appears only when it is whole, an object of JSON."""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import IO, Final, Protocol

from tramapy.cli.redact.reading import InputError
from tramapy.hooks.dlp import DlpRedaction

__all__ = ["JsonSink", "Sink", "TextSink", "copy_bytes", "whole_file"]

_IN_MEMORY_BYTES: Final = 8 * 1024 * 1024
_BOM: Final = "\ufeff"


class Sink(Protocol):
    """Takes a sanitized text in pieces."""

    def write(self, text: str) -> None:
        """Take the next piece."""
        ...

    def end(self, redactions: Iterable[DlpRedaction]) -> None:
        """Take the evidence, after the last piece."""
        ...

    def close(self) -> None:
        """Give back what it holds; without an `end` before there is no result."""
        ...


class TextSink:
    """Writes the text alone.

    Args:
        output: Takes the bytes.
        encoding: The encoding of the input.
        is_live: Whether each piece is passed on at once.
    """

    def __init__(self, output: IO[bytes], encoding: str, *, is_live: bool = False) -> None:
        self._output = output
        self._encoder = codecs.getincrementalencoder(encoding)("strict")
        self._encoding = encoding
        self._is_live = is_live

    def write(self, text: str) -> None:
        """Write a piece.

        Raises:
            InputError: A replacement cannot be written in the encoding.
        """
        self._output.write(self._encoded(text))
        if self._is_live:
            self._output.flush()

    def end(self, redactions: Iterable[DlpRedaction]) -> None:
        """Pass on what is buffered."""
        self._output.flush()

    def close(self) -> None:
        """Keep what was written."""

    def _encoded(self, text: str) -> bytes:
        try:
            return self._encoder.encode(text)
        except UnicodeEncodeError:
            pass
        raise InputError(
            f"a replacement cannot be written in {self._encoding}. Convert the file to UTF-8, or take another "
            "replacement."
        )


class JsonSink:
    """Writes one object on one line, and nothing where there is no result.

    Args:
        output: Takes the bytes.
        path: The input's name.
    """

    def __init__(self, output: IO[bytes], path: str) -> None:
        self._output = output
        self._is_first = True
        self._spool: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES)  # noqa: SIM115  # closed at the end
        self._put(f'{{"path": {json.dumps(path)}, "sanitized_text": "')

    def write(self, text: str) -> None:
        """Write a piece."""
        kept = text.removeprefix(_BOM) if self._is_first else text
        self._is_first = False
        self._put(json.dumps(kept, ensure_ascii=False)[1:-1])

    def end(self, redactions: Iterable[DlpRedaction]) -> None:
        """Write the evidence, and hand the object on."""
        listed = [
            {"rule_id": redaction.rule_id, "replacement_count": redaction.replacement_count}
            for redaction in redactions
        ]
        self._put(f'", "redactions": {json.dumps(listed)}}}\n')
        self._spool.seek(0)
        copy_bytes(self._spool, self._output)
        self._output.flush()

    def close(self) -> None:
        """Forget the object."""
        self._spool.close()

    def _put(self, text: str) -> None:
        self._spool.write(text.encode("utf-8", "backslashreplace"))


@contextlib.contextmanager
def whole_file(destination: Path, source: Path) -> Generator[IO[bytes]]:
    """Give a file to write that takes its place, with the permissions of the source, when all went well."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=destination.parent, prefix=".tramapy-", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        shutil.copymode(source, name)
        os.replace(name, destination)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


def copy_bytes(source: IO[bytes], output: IO[bytes]) -> None:
    """Copy what is left of a file."""
    shutil.copyfileobj(source, output, 64 * 1024)
