"""Random JSON with texts that can be found again."""

from collections.abc import Iterator
from typing import cast

from hypothesis import strategies as st

TEXT = st.integers(0, 9999).map(lambda number: f"CANARY {number:04}!")

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.just("") | TEXT,
    lambda children: (
        st.lists(children, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "text", "name"]), children, max_size=2)
    ),
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
