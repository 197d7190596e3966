"""The Anthropic SDK: its oldest version that works, its clients, its errors."""

from __future__ import annotations

from typing import Final

from tramapy.providers.anthropic_import import anthropic
from tramapy.providers.sdk import Sdk
from tramapy.providers.sdk_failures import SdkErrors

__all__ = ["ANTHROPIC"]

ANTHROPIC: Final = Sdk(
    title="Anthropic",
    extra="anthropic",
    version=anthropic.__version__,
    # older ones ask asyncio for threads, and fail on trio
    oldest=(0, 50),
    client=anthropic.Anthropic,
    async_client=anthropic.AsyncAnthropic,
    errors=SdkErrors(
        base=anthropic.AnthropicError,
        connection=anthropic.APIConnectionError,
        timeout=anthropic.APITimeoutError,
        status=anthropic.APIStatusError,
        validation=anthropic.APIResponseValidationError,
    ),
)
