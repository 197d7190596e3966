"""Bounded reads: text in pieces, records in lines."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator
from typing import Final, NoReturn

from tramapy.cli.compressed import how_to_unpack

__all__ = [
    "LONGEST_LINE_BYTES",
    "PIECE_BYTES",
    "InputError",
    "Read",
    "check_encoding",
    "decode_record",
    "is_json",
    "read_lines",
    "read_pieces",
]

PIECE_BYTES: Final = 64 * 1024
"""How much is read at once."""
LONGEST_LINE_BYTES: Final = 16 * 1024 * 1024
"""A longer record is refused: it is held in memory as a whole."""

Read = Callable[[int], bytes]
"""Read at most so many bytes; none at the end."""


class InputError(Exception):
    """An input that cannot be redacted, or a result that cannot be written; says what to do, holds no text."""


def check_encoding(encoding: str) -> None:
    """Refuse an encoding that Python does not know for text."""
    try:
        "".encode(encoding)
        codecs.getincrementaldecoder(encoding)
    except (LookupError, ValueError):
        pass
    else:
        return
    raise InputError("--encoding takes the name of an encoding of text, such as utf-8, utf-16 or latin-1")


def read_pieces(read: Read, encoding: str) -> Iterator[str]:
    """Yield a text in pieces, decoded strictly.

    Raises:
        InputError: It is compressed, not in the encoding, or holds zero bytes, which no text does.
    """
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    done = 0
    is_end = False
    while not is_end:
        data = read(PIECE_BYTES)
        if not done:
            _refuse_compressed(data)
        is_end = not data
        waiting = len(decoder.getstate()[0])
        try:
            text = decoder.decode(data, is_end)
        except UnicodeDecodeError as error:
            position = done - waiting + error.start
        except UnicodeError:  # no byte order mark where UTF-16 and UTF-32 want one
            position = done - waiting
        else:
            done += len(data)
            _check_zeros(text)
            if text:
                yield text
            continue
        _refuse_bytes(position, encoding)


def read_lines(read_line: Read) -> Iterator[bytes]:
    """Yield lines with their ends.

    Raises:
        InputError: They are compressed, or a line is longer than `LONGEST_LINE_BYTES`.
    """
    number = 0
    while line := read_line(LONGEST_LINE_BYTES + 1):
        number += 1
        if number == 1:
            _refuse_compressed(line)
        if len(line) > LONGEST_LINE_BYTES:
            raise InputError(
                f"line {number} is longer than {LONGEST_LINE_BYTES} bytes. Split the record, or redact the file as "
                "text, without --jsonl."
            )
        yield line


def decode_record(line: bytes, number: int) -> str:
    """Return a line of JSON.

    Raises:
        InputError: It is not in UTF-8, or no JSON.
    """
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        position = error.start
    else:
        if is_json(text):
            return text
        raise InputError(f"line {number} is no JSON. Mend it, or redact the file as text, without --jsonl.")
    raise InputError(
        f"line {number} is not in UTF-8: its byte {position} cannot be read. Convert the file to UTF-8."
    )


def is_json(text: str) -> bool:
    """Tell whether a text is JSON."""
    try:
        # numbers are not made: a long one is refused by int, and no number is looked at
        json.loads(text, parse_int=len, parse_float=len)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse_compressed(head: bytes) -> None:
    remedy = how_to_unpack(head, "| tramapy redact -")
    if remedy is not None:
        raise InputError(remedy)


def _check_zeros(text: str) -> None:
    if "\0" in text:
        raise InputError(
            "it has zero bytes, so it is no text, or in another encoding. Give --encoding, or leave it out."
        )


def _refuse_bytes(position: int, encoding: str) -> NoReturn:
    raise InputError(
        f"it is not in {encoding}: byte {position} cannot be read. Give its --encoding, or convert it to UTF-8."
    )
