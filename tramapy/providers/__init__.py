"""Adapters from vendors' clients to `Provider` and `AsyncProvider`."""
