"""The package exports its adapters, and nothing else."""

from __future__ import annotations

import pytest

from tramapy import providers


@pytest.mark.parametrize("name", providers.__all__)
def test_every_name_is_exported(name: str) -> None:
    assert getattr(providers, name).__name__ == name


def test_other_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"'tramapy\.providers' has no attribute 'Nothing'"):
        _ = providers.Nothing
