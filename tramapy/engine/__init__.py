"""The attempt pipeline: one `async def` core for sync and async callers."""
