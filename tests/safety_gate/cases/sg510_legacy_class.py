"""Cases of SG510, which is advice."""
import asyncio
import concurrent.futures
from concurrent.futures import CancelledError


async def mistaken(t):
    try:
        await t
    except CancelledError:  # advice: SG510
        pass
    try:
        await t
    except (ValueError, concurrent.futures.CancelledError):  # advice: SG510
        pass
    try:
        await t
    except asyncio.CancelledError:
        raise
