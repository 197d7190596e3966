"""`PromptFile`: the text that the demo sends, read with a limit."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tramapy.cli.compressed import how_to_unpack

__all__ = ["LIMIT_BYTES", "PromptFile", "PromptFileError", "default_prompt_path", "read_prompt_file"]

LIMIT_BYTES: Final = 64 * 1024
"""How much of a file is read; what is longer is cut there."""


class PromptFileError(Exception):
    """The file cannot be a prompt; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PromptFile:
    """A prompt and where it came from.

    Args:
        name: The file's name, without its folders.
        text: Its text, not blank.
        is_cut: Whether there was more.
    """

    name: str
    text: str
    is_cut: bool

    def __repr__(self) -> str:
        return f"PromptFile({self.name!r}, <{len(self.text)} characters>, is_cut={self.is_cut})"


def default_prompt_path() -> Path:
    """Return the prompt that comes with the package; `docs/examples/prompts` has it too, and others."""
    return Path(__file__).with_name("support-mail.txt")


def read_prompt_file(path: Path) -> PromptFile:
    """Read a text file, at most `LIMIT_BYTES` of it.

    Raises:
        PromptFileError: It cannot be read, is blank, or is not text in UTF-8.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LIMIT_BYTES + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise PromptFileError(f"{path}: {reason}. Give the path of a text file.") from None
    is_cut = len(data) > LIMIT_BYTES
    text = _decode(path, data[:LIMIT_BYTES], is_cut=is_cut)
    if not text.strip():
        raise PromptFileError(f"{path} has no text. Give a file with a prompt in it.")
    return PromptFile(name=path.name, text=text, is_cut=is_cut)


def _decode(path: Path, data: bytes, *, is_cut: bool) -> str:
    remedy = how_to_unpack(data, "> prompt.txt")
    if remedy is not None:
        raise PromptFileError(f"{path} cannot be read: {remedy}")
    if b"\0" in data:
        raise PromptFileError(
            f"{path} has zero bytes, so it is no text in UTF-8. Convert it, or give another."
        )
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        # a limit may fall inside a character, which is no fault of the file's
        return decoder.decode(data, final=not is_cut)
    except UnicodeDecodeError as error:
        position = error.start
    raise PromptFileError(
        f"{path} is not in UTF-8: byte {position} cannot be read. Convert it, for example with iconv -t utf-8."
    )
