"""Fixtures of the wrapped clients' tests."""

from tests.clients.worlds import any_world, simple, world

__all__ = ["any_world", "simple", "world"]
