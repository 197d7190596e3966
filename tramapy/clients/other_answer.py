"""What a call without a format of its own answers under another type than JSON's."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from email.message import Message as HeaderMessage
from typing import Final, cast

from tramapy.clients.codec import WireAnswer, json_bytes
from tramapy.clients.rewriting import no_place
from tramapy.clients.text_slots import only_text_of
from tramapy.engine.native import NativeText
from tramapy.hooks.dlp import DlpContentLocation
from tramapy.messages import ModelResponse

__all__ = [
    "EVENT_STREAM",
    "LinesAnswer",
    "OtherAnswer",
    "is_event_stream",
    "is_json",
    "is_text",
    "is_unknown",
]

EVENT_STREAM: Final = "text/event-stream"

# how bytes that are no characters stand in a text
_KEPT: Final = "surrogateescape"

# JSON by the line, which is no JSON as a whole and may be long
_LINES: Final = ("jsonl", "ndjson", "json-lines", "jsonlines")

# what is text under another type
_TEXTS: Final = ("xml", "yaml", "toml", "javascript", "x-www-form-urlencoded")

# what is no text; under any other type it may be one, as SDKs ask for JSON by the line as application/binary
_MEDIA: Final = ("application/pdf", "audio/", "font/", "image/", "video/")


def is_event_stream(content_type: str) -> bool:
    """Tell whether a body is a stream of events."""
    return content_type.lower().startswith(EVENT_STREAM)


def is_json(content_type: str) -> bool:
    """Tell whether a body is one JSON value."""
    kind = content_type.lower()
    return "json" in kind and not any(word in kind for word in _LINES)


def is_text(content_type: str) -> bool:
    """Tell whether a body may be text, or JSON by the line: also where its type was left out, or says nothing."""
    return _says_text(content_type) or is_unknown(content_type)


def is_unknown(content_type: str) -> bool:
    """Tell whether a type does not say whether a body is text."""
    if is_json(content_type) or is_event_stream(content_type) or _says_text(content_type):
        return False
    return not content_type.lower().startswith(_MEDIA)


def _says_text(content_type: str) -> bool:
    kind = content_type.lower().partition(";")[0].strip()
    if not kind or kind.startswith("text/"):
        return not is_event_stream(kind)
    return kind.endswith(_TEXTS) or any(word in kind for word in _LINES)


class OtherAnswer(WireAnswer):
    """A text that is no JSON, or bytes that are none as a whole: these are told of, and what of them is text is seen.

    Args:
        content: The body.
        content_type: Its type, as it was said.
    """

    def __init__(self, content: bytes, content_type: str) -> None:
        self.content: bytes = content
        self._content_type = content_type
        self._charset = _charset_of(content, content_type)
        text = _text_in(content, self._charset)
        is_whole = text is not None and "\0" not in text
        if text is None:
            # a reader may pass over what is no character, or mark it
            self._charset = "utf-8"
            text = content.decode(self._charset, _KEPT)
        self.responses: tuple[ModelResponse, ...] = (ModelResponse(),)
        self.texts: tuple[NativeText, ...] = ()
        if text:
            self.texts = (NativeText(text, DlpContentLocation.MODEL_RESPONSE_CONTENT),)
        self.unscanned: tuple[str, ...] = () if is_whole else ("binary_answer",)

    @property
    def body(self) -> object:
        """Nothing: it is no JSON."""
        return None

    def rewritten(self, responses: Sequence[ModelResponse], texts: Sequence[str]) -> OtherAnswer:
        """Return the answer with another text; see `NativeAnswer`."""
        for response in responses:
            if only_text_of(response):
                raise no_place("a text for an answer that has none")
        if list(texts) == [text.text for text in self.texts]:
            return self
        return OtherAnswer(_bytes_of(texts[0], self._charset), self._content_type)


class LinesAnswer(WireAnswer):
    """JSON by the line.

    Args:
        answer: The lines, as an array.
    """

    def __init__(self, answer: WireAnswer) -> None:
        self._answer = answer
        self.responses: tuple[ModelResponse, ...] = answer.responses
        self.texts: tuple[NativeText, ...] = answer.texts
        self.unscanned: tuple[str, ...] = answer.unscanned

    @property
    def body(self) -> object:
        """The lines."""
        return self._answer.body

    @property
    def content(self) -> bytes:
        """The lines as they go to the client."""
        return b"".join([json_bytes(line) + b"\n" for line in cast("list[object]", self.body)])

    def rewritten(self, responses: Sequence[ModelResponse], texts: Sequence[str]) -> LinesAnswer:
        """Return the answer with other texts; see `NativeAnswer`."""
        answer = self._answer.rewritten(responses, texts)
        return self if answer is self._answer else LinesAnswer(cast("WireAnswer", answer))


def _charset_of(content: bytes, content_type: str) -> str:
    """Return how to read a body: as it says, but for one that reads as plain text, and says that it is none."""
    charset = _charset_in(content_type)
    if (
        _text_in(b"text", charset) != "text"
        and b"\0" not in content
        and _text_in(content, "utf-8") is not None
    ):
        return "utf-8"
    return charset


def _charset_in(content_type: str) -> str:
    header = HeaderMessage()
    header["content-type"] = content_type
    charset = header.get_content_charset("utf-8")
    try:
        codec = codecs.lookup(charset)
        "".encode(codec.name)  # some codecs are none for text
    except (LookupError, ValueError):
        return "utf-8"
    return codec.name


def _text_in(content: bytes, charset: str) -> str | None:
    try:
        return content.decode(charset)
    except ValueError:
        return None


def _bytes_of(text: str, charset: str) -> bytes:
    try:
        return text.encode(charset, _KEPT)
    except ValueError:
        return text.encode(charset, "replace")
