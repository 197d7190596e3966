"""`UsualAnswer`: one text, and beside it nothing that anybody could read anything into."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress, repeat
from operator import is_
from typing import Final, NamedTuple, cast

from tramapy.messages import ModelResponse
from tramapy.wire.rest import is_opaque

__all__ = ["UsualAnswer", "joined_words"]

_LONGEST: Final = 256


def joined_words(values: Iterable[object], kinds: Iterable[type[object]]) -> str | None:
    """Return all texts among values as one; None where one of them may say something.

    Args:
        values: Of an object.
        kinds: The type of each.
    """
    words = "".join(compress(cast("Iterable[str]", values), map(is_, kinds, repeat(str))))
    return words if len(words) <= _LONGEST and is_opaque(words) else None


class UsualAnswer(NamedTuple):
    """An answer with one text, none of whose names has a colon, and whose numbers are integers.

    Args:
        response: What it says.
        colon_count: How many names all its objects have together, and colons all its texts beside the content.
    """

    response: ModelResponse
    colon_count: int

    def is_all_of(self, data: bytes) -> bool:
        """Tell whether the JSON that this was read from says nothing else: it may go on as it came.

        An object may have a name twice, and then a reader sees the last value alone. But behind each name there is
        a colon; other colons stand in texts, as themselves where none is escaped. In UTF-16 and UTF-32, which JSON
        may be written in, there are zeros.
        """
        count = self.colon_count + self.response.content.count(":")
        return data.count(b":") == count and b"\\u003" not in data and b"\0" not in data
