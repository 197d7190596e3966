"""The OpenAI SDK: its oldest version that works, its clients, its errors."""

from __future__ import annotations

from typing import Final

from tramapy.providers.openai_import import openai
from tramapy.providers.sdk import Sdk
from tramapy.providers.sdk_failures import SdkErrors

__all__ = ["OPENAI"]

OPENAI: Final = Sdk(
    title="OpenAI",
    extra="openai",
    version=openai.__version__,
    # version 1 wraps every error and has other internals
    oldest=(2, 0),
    client=openai.OpenAI,
    async_client=openai.AsyncOpenAI,
    errors=SdkErrors(
        base=openai.OpenAIError,
        connection=openai.APIConnectionError,
        timeout=openai.APITimeoutError,
        status=openai.APIStatusError,
        validation=openai.APIResponseValidationError,
    ),
)
