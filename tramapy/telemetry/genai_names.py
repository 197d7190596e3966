"""The names of the GenAI semantic conventions that we write, as our own constants.

The conventions are in development, and moved to a repository of their own; names of a package would move under us.
"""

from __future__ import annotations

from typing import Final

__all__ = ["ALL_NAMES", "CAPTURE_CONTENT_VARIABLE", "SCHEMA_URL", "SEMCONV_VERSION"]

SEMCONV_VERSION: Final = "1.44.0"
SCHEMA_URL: Final = f"https://opentelemetry.io/schemas/{SEMCONV_VERSION}"

CAPTURE_CONTENT_VARIABLE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

ERROR_TYPE: Final = "error.type"
OPERATION_NAME: Final = "gen_ai.operation.name"
PROVIDER_NAME: Final = "gen_ai.provider.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
REQUEST_STREAM: Final = "gen_ai.request.stream"
RESPONSE_MODEL: Final = "gen_ai.response.model"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
TIME_TO_FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
REASONING_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"
CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS: Final = "gen_ai.usage.cache_creation.input_tokens"
TOKEN_TYPE: Final = "gen_ai.token.type"  # noqa: S105  # a name, no secret
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"

ALL_NAMES: Final = (
    *(ERROR_TYPE, OPERATION_NAME, PROVIDER_NAME, REQUEST_MODEL, REQUEST_STREAM, RESPONSE_MODEL),
    *(FINISH_REASONS, TIME_TO_FIRST_CHUNK, INPUT_TOKENS, OUTPUT_TOKENS, REASONING_TOKENS),
    *(CACHE_READ_TOKENS, CACHE_WRITE_TOKENS, TOKEN_TYPE),
    *(INPUT_MESSAGES, OUTPUT_MESSAGES, SYSTEM_INSTRUCTIONS),
)
"""Every name of the conventions that we write, in the order of the reference table."""

USAGE_NAMES: Final = {
    "input_tokens": INPUT_TOKENS,
    "output_tokens": OUTPUT_TOKENS,
    "reasoning_tokens": REASONING_TOKENS,
    "cache_read_tokens": CACHE_READ_TOKENS,
    "cache_write_tokens": CACHE_WRITE_TOKENS,
}
"""Token counts of an attempt that completed, and what the conventions call them."""
