"""`require_call_names`: a misspelled name in `allow` is refused where it is given, and not only where it is missed."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Iterable, Sequence
from types import FunctionType

from tramapy.errors import ConfigurationError
from tramapy.values import quoted

__all__ = ["require_call_names"]

_LIKE = 0.8


def require_call_names(client: object, names: Iterable[str]) -> None:
    """Check names of calls against the methods of a vendor's client.

    A name that is like none may be a host, or a call of a newer API: both pass. So does what the client has as
    `beta.` only: the paths are the same.

    Raises:
        ConfigurationError: One is a slip of a call's name.
    """
    roots = [root for root in (client, getattr(client, "beta", None)) if root is not None]
    for name in sorted(names):
        words = name.removeprefix("beta.").split(".")
        meant = [found for root in roots if (found := _like(root, words)) is not None]
        if len(words) > 1 and meant and words not in meant:
            raise ConfigurationError(
                f"allow has {quoted(name)}, which is no call of {type(client).__name__}; did you mean "
                f"{'.'.join(meant[0])}?"
            )


def _like(owner: object, words: Sequence[str]) -> list[str] | None:
    """Return the name below a resource that is like the given one, or is the same; None where there is none."""
    if not words:
        return []
    first, *rest = words
    names = _names_of(owner)
    for name in [first] if first in names else _near(first, names):
        is_resource = isinstance(inspect.getattr_static(type(owner), name), functools.cached_property)
        further = _like(getattr(owner, name), rest) if is_resource else ([] if not rest else None)
        if further is not None:
            return [name, *further]
    return None


def _near(word: str, names: Sequence[str]) -> list[str]:
    """Return the name that a word is a slip of.

    Where the paths of an API have another word than the client, calls are named by the path: `organizations` for
    `organization`, `enrollment_url` for `create_enrollment_url`. These are no slips.
    """
    near = difflib.get_close_matches(word, names, n=1, cutoff=_LIKE)
    return [name for name in near if word != f"{name}s" and not name.endswith(f"_{word}")]


def _names_of(owner: object) -> list[str]:
    """Return what a client or a resource has of resources and methods; what is asked for alone is imported."""
    kind = type(owner)
    return [
        name
        for name in dir(kind)
        if not name.startswith(("_", "with_"))
        and isinstance(inspect.getattr_static(kind, name), (functools.cached_property, FunctionType))
    ]
