"""Cases of SG503."""
import asyncio
import logging

from tramapy import rethrow_if_cancellation


async def late(t):
    try:
        await t
    except BaseException as e:  # expect: SG503
        logging.warning("failed")
        rethrow_if_cancellation(e)
    try:
        await t
    except BaseException as e:  # expect: SG503
        logging.warning("failed")
        if isinstance(e, asyncio.CancelledError):
            raise
    try:
        await t
    except BaseException as e:  # expect: SG503
        x = 1
        rethrow_if_cancellation(e)


async def first(t):
    try:
        await t
    except BaseException as e:
        """The helper comes first."""
        rethrow_if_cancellation(e)
        logging.warning("failed")
    try:
        await t
    except BaseException as e:
        t.close()
        if isinstance(e, asyncio.CancelledError):
            raise
    try:
        await t
    except BaseException as e:
        logging.warning("failed")
        if isinstance(e, asyncio.CancelledError):
            t.cancel()
        raise
    try:
        await t
    except asyncio.CancelledError:
        logging.warning("cancelled")
        if asyncio.current_task().cancelling():
            raise
