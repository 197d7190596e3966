"""Type checks of the values that text travels in: a slot of the wrong type would pass by DLP unseen.

Text is kept as an exact str: a subclass decides for itself what it equals and how long it is, and the engine
asks both to tell what was inspected.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

__all__ = [
    "MOST",
    "UNLABELLED",
    "class_label",
    "close_unawaited",
    "described",
    "each",
    "exact_text",
    "instance",
    "listed",
    "misspelled",
    "number",
    "optional_texts",
    "quoted",
    "remembering",
    "shown",
    "texts",
    "uncallable",
]

T = TypeVar("T")

MOST: Final = 2**63 - 1
"""The largest count: what an event can hold."""

UNLABELLED: Final = "unlabelled"
"""What stands for a name that could be text."""

_LONGEST_CLASS_NAME = 128
_LONGEST_QUOTED = 128
_LONGEST_REMEMBERED = 256
_CLASS_NAME = vars(type)["__name__"].__get__
_SHOWN_BITS = 128  # Python refuses to write out an int of over 4,300 digits


def class_label(error: BaseException) -> str:
    """Return the name of an error's class, or `unlabelled` where it is no name.

    A class that is made at run time may be called anything, also after what went wrong.
    """
    name: str = _CLASS_NAME(type(error))  # and not what a metaclass says it is
    return name if name.isidentifier() and len(name) <= _LONGEST_CLASS_NAME else UNLABELLED


def exact_text(value: str) -> str:
    """Return the same characters as a str of no subclass."""
    return value if type(value) is str else str.__str__(value)


def quoted(name: str) -> str:
    """Return a name as a message shows it: in no subclass's words, and not at any length."""
    name = exact_text(name)
    return repr(name) if len(name) <= _LONGEST_QUOTED else f"{name[:_LONGEST_QUOTED]!r} and more"


def texts(owner: object, kind: str, *fields: str) -> None:
    """Make text fields of a frozen `owner` exact.

    Raises:
        TypeError: One holds no str; the message names it as a field of `kind`, and never its value.
    """
    for field in fields:
        value: object = getattr(owner, field)
        if type(value) is str:
            continue
        if not isinstance(value, str):
            raise TypeError(f"{kind}.{field} takes a str, not {type(value).__name__}")
        object.__setattr__(owner, field, exact_text(value))


def optional_texts(owner: object, kind: str, *fields: str) -> None:
    """Do what `texts` does, for fields that may be None."""
    for field in fields:
        value: object = getattr(owner, field)
        if value is None or type(value) is str:
            continue
        if not isinstance(value, str):
            raise TypeError(f"{kind}.{field} takes a str or None, not {type(value).__name__}")
        object.__setattr__(owner, field, exact_text(value))


def number(where: str, value: object, *kinds: type[object]) -> None:
    """Raise `TypeError` unless `value` is None or one of `kinds`; a bool is no number."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, kinds)):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"{where} takes {names} or None, not {type(value).__name__}")


def instance(where: str, value: object, kind: type[object], remedy: str) -> None:
    """Raise `TypeError` unless `value` is a `kind`; `remedy` says what to write."""
    if not isinstance(value, kind):
        raise TypeError(f"{where} takes {kind.__name__}, not {type(value).__name__}; {remedy}")


def each(where: str, values: Iterable[T], kinds: tuple[type[object], ...], remedy: str) -> tuple[T, ...]:
    """Return `values` as a tuple, all of them of one of `kinds`.

    Raises:
        TypeError: One is not, or there is nothing to go through.
    """
    found = listed(where, values, remedy)
    for position, value in enumerate(found):
        if not isinstance(value, kinds):
            raise TypeError(f"{where}[{position}] is {described(value)}; {remedy}")
    return found


def listed(where: str, values: Iterable[T], remedy: str) -> tuple[T, ...]:
    """Return `values` as a tuple.

    Raises:
        TypeError: There is nothing to go through, or only characters.
    """
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{where} takes several values, not {type(values).__name__}; {remedy}")
    return tuple(values)


def described(value: object) -> str:
    """Say what a value is, for a message that goes on after "is": by type, never by what it holds."""
    if isinstance(value, type):
        return f"the class {value.__name__}, and no instance"
    if inspect.ismodule(value):
        return f"the module {value.__name__}"
    return "a bare function" if inspect.isroutine(value) else f"of type {type(value).__name__}"


def misspelled(hook: object, base: type[object], *names: str) -> str | None:
    """Say which method of a hook is spelled almost like one of `names`, where it has none of these of its own.

    It would never be called, and nobody would notice.
    """
    kind = type(hook)
    if any(getattr(hook, name, None) is not None and _is_own(hook, base, name) for name in names):
        return None
    # here and not above: most hooks have one, and never pay for the import
    import difflib

    inherited = set(dir(base))
    for method in dir(kind):
        if method.startswith("_") or method in inherited or not callable(getattr(kind, method, None)):
            continue
        near = difflib.get_close_matches(method, names, n=1, cutoff=0.65)
        if near:
            return f"{kind.__name__}.{method} is never called; did you mean {near[0]}?"
    return None


def uncallable(hook: object, name: str, *arguments: str) -> str | None:
    """Say how to write a hook's method that takes other arguments than it gets; None where it can be called."""
    try:
        signature = inspect.signature(getattr(hook, name))
    except ValueError:  # one in C, of which Python knows nothing
        return None
    try:
        signature.bind(*arguments)
    except TypeError:
        how = "takes other arguments"
    else:
        first = list(signature.parameters)[: len(arguments)]
        if first == list(arguments) or sorted(first) != sorted(arguments):
            return None
        how = "takes its arguments in another order"
    return f"{type(hook).__name__}.{name} {how}; write {name}(self, {', '.join(arguments)})"


def _is_own(hook: object, base: type[object], name: str) -> bool:
    found: object = getattr(hook, name)
    return getattr(found, "__func__", found) is not getattr(base, name, None)


def close_unawaited(returned: object) -> None:
    """Close what may be an awaitable, where nobody will await it."""
    close = getattr(returned, "close", None)
    if callable(close):
        close()


def shown(number: float) -> str:
    """Return a number as a message shows it: not in the words of a subclass, and no int of any length."""
    if not isinstance(number, int):
        return float.__repr__(number)
    bit_count = number.bit_length()
    return int.__repr__(number) if bit_count <= _SHOWN_BITS else f"an int of {bit_count} bits"


def remembering(size: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Make a function remember its last results, but for long texts.

    What others choose, such as the name of a model, may be as long as a body is allowed to be, and a cache of some
    hundreds would keep gigabytes.
    """

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        remembered = functools.lru_cache(maxsize=size)(function)

        @functools.wraps(function)
        def recall(text: str) -> T:
            return remembered(text) if len(text) <= _LONGEST_REMEMBERED else function(text)

        return recall

    return decorate
