"""Files that are compressed: told by their first bytes, and what to type instead."""

from __future__ import annotations

from typing import Final

__all__ = ["how_to_unpack"]

# the magic numbers of the formats' own specifications, each with what writes the content to a pipe
_FORMATS: Final = (
    (b"\x1f\x8b\x08", "gzip", "zcat"),
    (b"BZh", "bzip2", "bzcat"),
    (b"\xfd7zXZ\0", "xz", "xzcat"),
    (b"\x28\xb5\x2f\xfd", "zstd", "zstdcat"),
    (b"PK\3\4", "zip", "unzip -p"),
)
_BZIP2_BLOCK: Final = b"1AY&SY"  # three letters alone could begin a text


def how_to_unpack(head: bytes, then: str) -> str | None:
    """Say that a file is compressed, and how to go on; None where it is not.

    Args:
        head: Its first ten bytes, or more.
        then: What the command goes on with, for example `| tramapy redact -`.
    """
    for magic, name, command in _FORMATS:
        if head.startswith(magic) and (name != "bzip2" or head[4:10] == _BZIP2_BLOCK):
            return f"it is compressed ({name}). Unpack it first: {command} FILE {then}"
    return None
