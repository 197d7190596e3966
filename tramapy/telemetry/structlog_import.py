"""structlog, or an `ImportError` that says how to get it."""

from __future__ import annotations

try:
    import structlog
except ImportError:
    raise ImportError("This needs structlog. Install it with: pip install 'tramapy[structlog]'") from None

__all__ = ["structlog"]
