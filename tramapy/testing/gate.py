"""`Gate`: where a scripted server stops until the test lets it go on, so that no test sleeps."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Final

__all__ = ["WAIT_LIMIT_S", "Gate"]

WAIT_LIMIT_S: Final = 30.0
"""How long a test waits before it fails; no test that passes gets near it."""


class Gate:
    """A door that is shut until `release` is called; it stays open afterwards.

    The server reaches it and waits; the test waits for that, does what it wants to, and releases.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._is_reached = False
        self._is_released = False
        self._wakers: list[Callable[[], object]] = []

    def release(self) -> None:
        """Let everything through that waits here, and whatever comes later."""
        with self._changed:
            self._is_released = True
            for wake in self._wakers:
                wake()

    def wait_until_reached(self, timeout_s: float = WAIT_LIMIT_S) -> None:
        """Block until the server stands at this gate; in async code, run it in a worker thread.

        Raises:
            AssertionError: It did not come in time.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._is_reached, timeout_s):
                raise AssertionError(f"the server did not reach the gate within {timeout_s} s")

    async def wait_released(self) -> None:
        """Stand at the gate; called on the server's event loop."""
        loop = asyncio.get_running_loop()
        released = asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(released.set)

        with self._changed:
            self._is_reached = True
            self._changed.notify_all()
            if self._is_released:
                return
            self._wakers.append(wake)
        try:
            await released.wait()
        finally:
            with self._changed:
                self._wakers.remove(wake)

    def __repr__(self) -> str:
        return f"Gate(is_reached={self._is_reached}, is_released={self._is_released})"
