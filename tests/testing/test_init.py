"""What `tramapy.testing` exports."""

from __future__ import annotations

import inspect

import pytest

from tramapy import testing


def test_names_are_sorted_and_unique() -> None:
    names = [name for name in testing.__all__ if name[0].isupper()]

    assert names == sorted(set(names))
    assert len(testing.__all__) == len(set(testing.__all__))


@pytest.mark.parametrize("name", testing.__all__)
def test_every_name_is_there_and_explained(name: str) -> None:
    exported = getattr(testing, name)
    if inspect.isclass(exported) or inspect.isfunction(exported):
        assert inspect.getdoc(exported)
