"""Fixtures of the engine's tests."""

from tests.engine.cancelling import canceller

__all__ = ["canceller"]
