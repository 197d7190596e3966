"""Cases of SG502."""
import asyncio
import sys


async def transformed(t):
    try:
        await t
    except asyncio.CancelledError as e:  # expect: SG502
        raise RuntimeError("stopped") from e
    try:
        await t
    except BaseException as e:  # expect: SG502
        e = ValueError("x")
        raise e
    try:
        await t
    except BaseException:  # expect: SG502
        sys.exit(1)
    try:
        await t
    except BaseException as e:  # expect: SG502
        if isinstance(e, asyncio.CancelledError):
            audit(e)
        raise RuntimeError("x") from e


async def narrow(t):
    try:
        await t
    except Exception as e:
        raise RuntimeError("x") from e
    try:
        await t
    except BaseException as e:
        if isinstance(e, asyncio.CancelledError):
            raise
        raise RuntimeError("x") from e


def synchronous(f):
    try:
        f()
    except BaseException as e:  # advice: SG502
        raise RuntimeError("x") from e
