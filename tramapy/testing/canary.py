"""`assert_no_canary`: prove that a planted secret did not come out, wherever it may hide."""

from __future__ import annotations

import collections
import contextlib
import enum
import io
import itertools
import logging
import pickle
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping, Set
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    TracebackType,
)
from typing import Final, cast

from tramapy.testing.canary_forms import CanaryForms

__all__ = ["assert_no_canary"]

_MAX_OBJECT_COUNT: Final = 100_000

_OPAQUE: Final = (
    type,
    ModuleType,
    FunctionType,
    BuiltinFunctionType,
    MethodType,
    FrameType,
    CodeType,
)


def assert_no_canary(canaries: str | Iterable[str], *sources: object) -> None:
    """Search everything that `sources` hold or show for planted secrets, and fail where one is found.

    Searched are strings, bytes and numbers; the keys and values of mappings; sequences and sets; the fields
    of dataclasses and the attributes of any other object, private ones included; their `str`, `repr` and
    pickle; exceptions with their arguments, notes, causes, contexts, groups and tracebacks, formatted with
    locals; log records with their message. Found are also JSON-escaped, URL-quoted, HTML-escaped, hex and
    base64 forms, the last at any alignment. Not searched are classes, modules, functions and iterators, and
    nothing is decompressed.

    A traceback's frames that are still running are left out: they are the test itself, which knows the
    canary. A helper of yours that has returned is searched.

    Args:
        canaries: The planted secrets, each of at least 8 bytes.
        sources: What came out.

    Raises:
        AssertionError: One was found. The message says where and in which form, never the canary.
        ValueError: There is no canary or a short one, or the sources hold more than 100,000 objects.
    """
    __tracebackhide__ = True  # pytest would print the arguments of this frame
    forms = CanaryForms((canaries,) if isinstance(canaries, str) else tuple(canaries))
    search = _Search(forms, _running_frames())
    places = [place for number, source in enumerate(sources) for place in search.places(number, source)]
    if places:
        raise AssertionError("a canary came out:\n" + "\n".join(f"  - {place}" for place in places))


def _running_frames() -> frozenset[FrameType]:
    frames: list[FrameType] = []
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frozenset(frames)


class _Search:
    """One walk over object graphs; every object is looked at once."""

    def __init__(self, forms: CanaryForms, running_frames: frozenset[FrameType]) -> None:
        self._forms = forms
        self._running_frames = running_frames
        # by id, with a reference, so that no id is used twice
        self._seen: dict[int, object] = {}

    def places(self, number: int, source: object) -> Iterator[str]:
        """Yield each place under `source` that holds a canary."""
        pending = [(f"source {number}", source), (f"source {number} pickled", _pickled(source))]
        while pending:
            path, current = pending.pop()
            if self._is_known(current):
                continue
            found = self._found_in(current)
            if found is not None:
                yield f"{path} ({found})"
            pending.extend((path + step, child) for step, child in self._children(current))

    def _is_known(self, current: object) -> bool:
        if id(current) in self._seen:
            return True
        self._seen[id(current)] = current
        if len(self._seen) > _MAX_OBJECT_COUNT:
            raise ValueError(f"the sources hold more than {_MAX_OBJECT_COUNT:_} objects; pass smaller ones")
        return False

    def _found_in(self, current: object) -> str | None:
        if isinstance(current, str):
            return self._forms.found_in_text(current)
        if isinstance(current, (bytes, bytearray, memoryview)):
            return self._forms.found_in_bytes(bytes(cast("bytes", current)))
        if isinstance(current, (int, float)):
            with contextlib.suppress(ValueError):  # an integer too long to be written in digits
                return self._forms.found_in_text(str(current))
        return None

    def _children(self, current: object) -> Iterator[tuple[str, object]]:
        """Yield what `current` is made of and what it shows, each with its step of the path."""
        if current is None or isinstance(current, (str, bytes, bytearray, memoryview, int, float, *_OPAQUE)):
            return
        if isinstance(current, TracebackType):
            yield " formatted with locals", self._formatted(current)
            return
        yield from itertools.chain(_shown(current), _attributes(current))
        if isinstance(current, Mapping):
            yield from self._items(cast("Mapping[object, object]", current))
        elif isinstance(current, (list, tuple, collections.deque, Set)):
            for position, item in enumerate(cast("Iterable[object]", current)):
                yield f"[{position}]", item
        if isinstance(current, BaseException):
            yield from _exception_parts(current)

    def _items(self, mapping: Mapping[object, object]) -> Iterator[tuple[str, object]]:
        for position, (key, value) in enumerate(mapping.items()):
            shown = repr(key) if isinstance(key, (str, int)) else ""
            # a key may itself be the leak, and a path is shown
            is_clean = bool(shown) and len(shown) <= 60 and self._forms.found_in_text(shown) is None
            yield f"<key {position}>", key
            yield f"[{shown}]" if is_clean else f"[<key {position}>]", value

    def _formatted(self, start: TracebackType) -> str:
        frames = ((frame, line) for frame, line in traceback.walk_tb(start) if not self._is_running(frame))
        return "".join(traceback.StackSummary.extract(frames, capture_locals=True).format())

    def _is_running(self, frame: FrameType) -> bool:
        return frame in self._running_frames


def _pickled(source: object) -> bytes | None:
    with contextlib.suppress(Exception):  # what cannot be pickled does not come out that way
        return pickle.dumps(source)
    return None


def _shown(current: object) -> Iterator[tuple[str, object]]:
    """Yield the texts that an object shows of itself; one that fails to is judged by its other parts."""
    for name, show in (("str()", str), ("repr()", repr)):
        with contextlib.suppress(Exception):
            yield f" {name}", show(current)
    if isinstance(current, logging.LogRecord):
        with contextlib.suppress(Exception):
            yield ".getMessage()", current.getMessage()
    if isinstance(current, (io.StringIO, io.BytesIO)) and not current.closed:
        yield ".getvalue()", current.getvalue()


def _attributes(current: object) -> Iterator[tuple[str, object]]:
    if isinstance(current, enum.Enum):
        return
    for name, value in dict(cast("Mapping[str, object]", getattr(current, "__dict__", {}))).items():
        yield f".{name}", value
    # slots, and what an exception of the interpreter keeps outside of its arguments
    for base in type(current).__mro__:
        for name, member in vars(base).items():
            if isinstance(member, MemberDescriptorType) and name != "__dict__":
                with contextlib.suppress(AttributeError):
                    yield f".{name}", cast("object", member.__get__(current))


def _exception_parts(error: BaseException) -> Iterator[tuple[str, object]]:
    yield ".args", error.args
    yield ".__cause__", error.__cause__
    yield ".__context__", error.__context__
    yield ".__traceback__", error.__traceback__
    yield " pickled", _pickled(error)
    if isinstance(error, BaseExceptionGroup):
        yield ".exceptions", cast("BaseExceptionGroup[BaseException]", error).exceptions
