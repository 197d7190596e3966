"""What is compressed is told, with what to type instead."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from pathlib import Path

import pytest

from tests.cli.running import run
from tramapy.cli.compressed import how_to_unpack


def zipped(data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.txt", data)
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (gzip.compress(b"text"), "it is compressed (gzip). Unpack it first: zcat FILE | tramapy redact -"),
        (bz2.compress(b"text"), "it is compressed (bzip2). Unpack it first: bzcat FILE | tramapy redact -"),
        (lzma.compress(b"text"), "it is compressed (xz). Unpack it first: xzcat FILE | tramapy redact -"),
        (b"\x28\xb5\x2f\xfd\0", "it is compressed (zstd). Unpack it first: zstdcat FILE | tramapy redact -"),
        (zipped(b"text"), "it is compressed (zip). Unpack it first: unzip -p FILE | tramapy redact -"),
        (b"BZh is how a text may begin", None),
        (b"", None),
    ],
    ids=["gzip", "bzip2", "xz", "zstd", "zip", "text", "empty"],
)
def test_the_first_bytes_tell(data: bytes, message: str | None) -> None:
    assert how_to_unpack(data, "| tramapy redact -") == message


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (("redact",), "zcat FILE | tramapy redact -"),
        (("redact", "--jsonl"), "zcat FILE | tramapy redact -"),
        (("redact", "--encoding", "latin-1"), "zcat FILE | tramapy redact -"),
        (("trace",), "zcat FILE | tramapy trace -"),
        (("audit", "verify"), "zcat FILE > audit.jsonl"),
        (("demo",), "zcat FILE > prompt.txt"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_compressed_file_is_answered_with_what_to_type(
    arguments: tuple[str, ...], remedy: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"text"))
    outcome = run(*arguments, str(path))
    assert (outcome.exit_code, outcome.output) == (2, "")
    assert outcome.errors.endswith(f" it is compressed (gzip). Unpack it first: {remedy}\n")


def test_a_directory_is_no_log(tmp_path: Path) -> None:
    outcome = run("audit", "verify", str(tmp_path))
    assert outcome.exit_code == 2
    assert outcome.errors.endswith("Give the path of the log in it, or its files, oldest first.\n")
