"""Fixtures of the whole suite."""

from tests.drivers import async_driver, driver

__all__ = ["async_driver", "driver"]
