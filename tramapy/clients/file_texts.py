"""Files that are sent inline: a data URL that holds text is read, inspected, and written back where it is changed."""

from __future__ import annotations

import base64
import binascii
import re
import urllib.parse
from collections.abc import Iterable, Mapping
from email.message import Message as HeaderMessage
from typing import Final, NamedTuple, cast

from tramapy.clients.rewriting import with_value_at
from tramapy.wire.json_values import mapping_of
from tramapy.wire.rest import SKIP, Plan, is_opaque

__all__ = ["FILE_DATA", "ReadFiles", "file_data_plan", "plain_file_plan", "read_files"]

FILE_DATA: Final = "file_data"
"""The field of a file's content."""

# longer ones pass like any other binary
_LIMIT_CHARACTERS: Final = 16 * 1024 * 1024

_is_text: Final = re.compile(
    r"text/|application/(?:[a-z0-9.\-]+\+)?(?:json|xml|yaml|toml|javascript)\Z"
).match


class _FileText(str):
    """What a file says, in the place of its data URL."""

    __slots__ = ()


class _Document(str):
    """The data URL of what stands in base64 beside its type."""

    __slots__ = ()


class ReadFiles(NamedTuple):
    """A body whose files are read.

    Args:
        body: With texts in the place of their data URLs; the given one where there are none.
        urls: The data URLs, by the path of their place.
        has_others: Whether there are files that are no text, or cannot be read.
    """

    body: Mapping[str, object]
    urls: Mapping[tuple[str | int, ...], str]
    has_others: bool

    def written(self, body: object) -> object:
        """Return a body like `self.body` with data URLs again; those of texts that changed hold the other text."""
        for path, url in self.urls.items():
            text = _value_at(body, path)
            is_same = text == _value_at(self.body, path)
            written = url if is_same else _url_with(url, str(text))
            data = written.partition(",")[2] if isinstance(url, _Document) else written
            body = with_value_at(body, path, data)
        return body


def read_files(body: Mapping[str, object], name: str) -> ReadFiles:
    """Read the files of a request.

    Args:
        body: It is not changed.
        name: The field whose items may hold files: an array.
    """
    urls: dict[tuple[str | int, ...], str] = {}
    has_others = False
    read: object = body
    left: list[tuple[tuple[str | int, ...], object]] = [((name,), body.get(name))]
    while left:
        path, value = left.pop()
        document = _document_url(value)
        items: Iterable[tuple[str | int, object]]
        if isinstance(value, dict):
            items = cast("dict[str | int, object]", value).items()
        else:
            items = enumerate(cast("list[object]", value))
        for key, item in items:
            url = item if key == FILE_DATA else document if key == "data" else None
            if isinstance(item, (dict, list)):
                left.append(((*path, key), cast("object", item)))
            if not url:
                continue
            text = _text_of(url) if isinstance(url, str) else None
            if text is None:
                has_others = True
            else:
                urls[*path, key] = cast("str", url)
                read = with_value_at(read, (*path, key), text)
    return ReadFiles(cast("Mapping[str, object]", read), urls, has_others)


def _document_url(source: object) -> _Document | None:
    """Return the source of a document as a data URL; None for an image's, and for anything else."""
    fields = mapping_of(source)
    kind, data = fields.get("media_type"), fields.get("data")
    if fields.get("type") != "base64" or not isinstance(kind, str) or not isinstance(data, str):
        return None
    return None if kind.startswith("image/") else _Document(f"data:{kind};base64,{data}")


def file_data_plan(value: object) -> Plan:
    """Plan for a file's content: what is encoded, and was not read, is no text."""
    return (
        SKIP if isinstance(value, str) and not isinstance(value, _FileText) and _is_encoded(value) else None
    )


def _is_encoded(value: str) -> bool:
    return is_opaque(value.partition(",")[2] if value.startswith("data:") else value)


def plain_file_plan(value: object) -> Plan:
    """Plan for a file's content that may be a text by itself, too."""
    is_url = isinstance(value, str) and value.startswith("data:") and ";base64," in value[:200]
    return file_data_plan(value) if is_url else None


def _value_at(value: object, path: tuple[str | int, ...]) -> object:
    for step in path:
        value = cast("dict[str | int, object]", value)[step]
    return value


def _text_of(url: str) -> _FileText | None:
    """Return the text in a data URL; None where it holds none."""
    head, comma, encoded = url.partition(",")
    if not comma or not head.startswith("data:") or len(url) > _LIMIT_CHARACTERS:
        return None
    header = HeaderMessage()
    header["content-type"] = head.removeprefix("data:").removesuffix(";base64") or "text/plain"
    if not _is_text(header.get_content_type()):
        return None
    try:
        if head.endswith(";base64"):
            data = base64.b64decode(urllib.parse.unquote(encoded), validate=True)
        else:
            data = urllib.parse.unquote_to_bytes(encoded)
        return _FileText(data.decode(header.get_content_charset("utf-8")))
    except (binascii.Error, LookupError, ValueError):
        return None


def _url_with(url: str, text: str) -> str:
    """Return a data URL of the same kind with another text."""
    head = url.partition(",")[0]
    header = HeaderMessage()
    header["content-type"] = head.removeprefix("data:").removesuffix(";base64") or "text/plain"
    data = text.encode(header.get_content_charset("utf-8"), "replace")
    if head.endswith(";base64"):
        return f"{head},{base64.b64encode(data).decode('ascii')}"
    return f"{head},{urllib.parse.quote(data)}"
