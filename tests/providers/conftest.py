"""Fixtures of the providers' tests."""

from tests.providers.worlds import world

__all__ = ["world"]
