"""`UsualAnswer`: one text, and beside it nothing that anybody could read anything into."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import itemgetter, methodcaller
from typing import Any, Final, NamedTuple

from tramapy.messages import ModelResponse
from tramapy.values import MOST
from tramapy.wire.rest import is_opaque

__all__ = [
    "ARRAY",
    "COUNTS",
    "NONE",
    "NO_DETAILS",
    "OBJECT",
    "Shapes",
    "UsualAnswer",
    "are_counts",
    "are_words",
]

# compared with, since a type checker would want a cast behind `type(value) is dict`, which costs 60 ns
OBJECT: Final[Any] = dict
ARRAY: Final[Any] = list
NONE: Final[Any] = type(None)

COUNTS: Final = frozenset((int, NONE))
"""The types of what may be a count."""

NO_DETAILS: Final[Any] = {}

_VALUES: Final = methodcaller("values")

_LONGEST: Final = 256
_MOST_SHAPES: Final = 64

_is_count: Final = range(MOST + 1).__contains__


def are_counts(values: Iterable[Any]) -> bool:
    """Tell whether all of these are counts, or nothing."""
    given: Iterable[Any] = filter(None, values)
    return all(map(_is_count, given))


def are_words(texts: str) -> bool:
    """Tell whether texts that stand where ids and words are due, as one, say nothing else."""
    return len(texts) <= _LONGEST and is_opaque(texts)


class Shapes:
    """What answers were found to look like: the names in their objects, and the types of the values.

    A server's answers have one shape or two, and to see that it is known takes a fifth of looking at it. Only what
    was found to be usual is remembered, so names are those of the format.

    Args:
        word_objects: How many of the objects, from the first, have words that must be looked at.
    """

    def __init__(self, word_objects: int) -> None:
        self._word_objects = word_objects
        self._known: dict[object, Callable[[Any], Sequence[str]]] = {}

    def words(self, objects: Any, is_usual: Callable[..., bool]) -> str | None:
        """Return the words of an answer as one text; None where its shape is not usual.

        Args:
            objects: All objects of the answer, the same in the same order each time.
            is_usual: Tells whether they have a usual shape; takes each by itself.
        """
        values = (*chain.from_iterable(map(_VALUES, objects)),)
        shape = ((*chain.from_iterable(objects),), (*map(type, values),), (*map(len, objects),))
        words_in = self._known.get(shape)
        if words_in is None:
            if not is_usual(*objects):
                return None
            words_in = self._words_in(objects)
            if len(self._known) < _MOST_SHAPES:
                self._known[shape] = words_in
        return "".join(words_in(values))

    def _words_in(self, objects: Any) -> Callable[[Any], Sequence[str]]:
        """Return what picks the texts of the first objects out of the values of all."""
        values = [value for each in objects[: self._word_objects] for value in each.values()]
        places = [place for place, value in enumerate(values) if type(value) is str]
        if not places:
            return _nothing
        # of a single text, the text itself is its characters
        return itemgetter(*places)


def _nothing(values: object) -> Sequence[str]:
    """Pick no text: there is none."""
    del values
    return ()


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
