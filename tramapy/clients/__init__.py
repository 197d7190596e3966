"""Wrapped clients: the vendors' wire formats under the engine, and the transport that governs every call."""
