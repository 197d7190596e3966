"""Fixtures of the whole suite, and how its random tests run."""

from hypothesis import settings

from tests.drivers import async_driver, driver

__all__ = ["async_driver", "driver"]

# The same examples in every run: what is covered, and what fails, must not hang on chance.
settings.register_profile("suite", deadline=None, derandomize=True)
settings.load_profile("suite")
