"""Random JSON with texts that can be found again."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from hypothesis import strategies as st

Json = st.SearchStrategy[Any]


def fields(required: Mapping[str, Json], *, optional: Mapping[str, Json] | None = None) -> Json:
    """Make objects with these fields."""
    return st.fixed_dictionaries(dict(required), optional=dict(optional or {}))


def named(names: st.SearchStrategy[str], values: Json, *, max_size: int = 2) -> Json:
    """Make objects with some of these names."""
    return st.dictionaries(names, values, max_size=max_size)


def list_of(items: Json, *, min_size: int = 0, max_size: int = 3) -> Json:
    """Make arrays."""
    return st.lists(items, min_size=min_size, max_size=max_size)


def one_of(*values: Json) -> Json:
    """Make one of several."""
    return st.one_of(*values)


TEXT: Json = st.integers(0, 9999).map(lambda number: f"CANARY {number:04}!")

JSON: Json = st.recursive(
    one_of(st.none(), st.booleans(), st.integers(-5, 5), st.just(""), TEXT),
    lambda children: one_of(list_of(children), named(st.sampled_from(["a", "text", "name"]), children)),
    max_leaves=4,
)


def texts_in(value: object) -> Iterator[str]:
    """Yield every planted text of a JSON value."""
    if isinstance(value, str):
        if value.startswith("CANARY"):
            yield value
    elif isinstance(value, dict):
        for item in cast("dict[str, object]", value).values():
            yield from texts_in(item)
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            yield from texts_in(item)
