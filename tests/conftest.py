"""Fixtures of the whole suite, and how its random tests run."""

import gc
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.drivers import async_driver, driver

__all__ = ["async_driver", "driver"]

# The same examples in every run: what is covered, and what fails, must not hang on chance.
settings.register_profile("suite", max_examples=50, deadline=None, derandomize=True)
settings.load_profile("suite")


@pytest.fixture(autouse=True)
def _put_away() -> Iterator[None]:
    """Collect what a test has left, so that it is told of there, and put away the rest.

    Many tests ask for a full collection: what stands in memory from before them need not be looked at again.
    """
    yield
    gc.collect()
    gc.freeze()
