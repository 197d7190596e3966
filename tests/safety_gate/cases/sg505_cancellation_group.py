"""Cases of SG505."""
import asyncio


async def stars(t):
    try:
        await t
    except* asyncio.CancelledError:  # expect: SG505
        pass
    try:
        await t
    except* BaseException:  # expect: SG505
        raise
    try:
        await t
    except* Exception:
        pass


async def groups(t):
    async with asyncio.TaskGroup() as group:
        try:
            await t
        except BaseExceptionGroup:  # expect: SG505
            pass
    try:
        await t
    except BaseExceptionGroup:
        raise
    try:
        await t
    except BaseExceptionGroup as eg:
        cancelled, rest = eg.split(asyncio.CancelledError)
        if cancelled:
            raise cancelled
    try:
        await t
    except ExceptionGroup:
        pass
    return group
