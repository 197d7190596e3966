"""Fixtures of the whole suite, and how its random tests run."""

import gc

from hypothesis import settings

from tests.drivers import async_driver, driver

__all__ = ["async_driver", "driver"]

# The same examples in every run: what is covered, and what fails, must not hang on chance.
settings.register_profile("suite", deadline=None, derandomize=True)
settings.load_profile("suite")


def pytest_collection_finish() -> None:
    # Many tests ask for a full collection. What stands in memory now stays to the end, so none need look at it.
    gc.collect()
    gc.freeze()
