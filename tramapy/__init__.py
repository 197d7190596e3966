"""Middleware between Python code and an LLM: redaction, resilience and events, per provider attempt."""

import logging as _logging
from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from tramapy.cancellation import rethrow_if_cancellation
from tramapy.client import AsyncChunkStream, AsyncTramapy, ChunkStream, Tramapy
from tramapy.errors import (
    CircuitBreakerOpenError,
    ConfigurationError,
    DeadlineExceededError,
    DlpInspectionError,
    InterceptorError,
    ProviderCapabilityError,
    ProviderError,
    ProviderFailureCode,
    ProviderTimeoutError,
    ResponseTooLargeError,
    TokenBudgetExceededError,
    TramapyError,
)
from tramapy.hooks.catalogue import CATALOGUE
from tramapy.hooks.clock import Clock, RandomSource
from tramapy.hooks.diagnostics import FailureDiagnostic, FailureDiagnosticObserver
from tramapy.hooks.dlp import (
    ClassificationSource,
    CompositeDlpInterceptor,
    DataClassification,
    DlpContentLocation,
    DlpContentType,
    DlpContext,
    DlpInterceptor,
    DlpRedaction,
    DlpRedactionAuditEmitter,
    DlpResult,
    DlpStream,
    StreamingDlpInterceptor,
    ToolResultFilteringSettings,
)
from tramapy.hooks.event_model import RuntimeEvent, RuntimeEventCatalogue, RuntimeEventDefinition
from tramapy.hooks.events import AttemptContentObserver, EngineEventObserver
from tramapy.hooks.operation import (
    CompositeOperationInterceptor,
    OperationCallContext,
    OperationInterceptor,
)
from tramapy.hooks.provider import AsyncProvider, Provider, ProviderCapability, Route
from tramapy.messages import (
    Chunk,
    CompletedChunk,
    ContentPart,
    FinishReason,
    ImageDetail,
    ImagePart,
    Message,
    MessageRole,
    ModelRequest,
    ModelResponse,
    TextChunk,
    TextPart,
    TokenUsage,
    ToolCall,
    ToolCallChunk,
    ToolDefinition,
)
from tramapy.resilience.breaker import CircuitBreakerSettings, CircuitBreakerWindow
from tramapy.resilience.budget import TokenBudgetSettings
from tramapy.resilience.retry import RetryPolicySettings
from tramapy.settings import CallOptions, PipelineSettings

if _TYPE_CHECKING:
    from tramapy.dlp import DlpRule, RuleBasedDlpConfiguration, RuleBasedDlpInterceptor, Vault

# An application that configures no logging must not find our diagnostics on its stderr.
_logging.getLogger(__name__).addHandler(_logging.NullHandler())

__all__ = [
    "CATALOGUE",
    "AsyncChunkStream",
    "AsyncProvider",
    "AsyncTramapy",
    "AttemptContentObserver",
    "CallOptions",
    "Chunk",
    "ChunkStream",
    "CircuitBreakerOpenError",
    "CircuitBreakerSettings",
    "CircuitBreakerWindow",
    "ClassificationSource",
    "Clock",
    "CompletedChunk",
    "CompositeDlpInterceptor",
    "CompositeOperationInterceptor",
    "ConfigurationError",
    "ContentPart",
    "DataClassification",
    "DeadlineExceededError",
    "DlpContentLocation",
    "DlpContentType",
    "DlpContext",
    "DlpInspectionError",
    "DlpInterceptor",
    "DlpRedaction",
    "DlpRedactionAuditEmitter",
    "DlpResult",
    "DlpRule",
    "DlpStream",
    "EngineEventObserver",
    "FailureDiagnostic",
    "FailureDiagnosticObserver",
    "FinishReason",
    "ImageDetail",
    "ImagePart",
    "InterceptorError",
    "Message",
    "MessageRole",
    "ModelRequest",
    "ModelResponse",
    "OperationCallContext",
    "OperationInterceptor",
    "PipelineSettings",
    "Provider",
    "ProviderCapability",
    "ProviderCapabilityError",
    "ProviderError",
    "ProviderFailureCode",
    "ProviderTimeoutError",
    "RandomSource",
    "ResponseTooLargeError",
    "RetryPolicySettings",
    "Route",
    "RuleBasedDlpConfiguration",
    "RuleBasedDlpInterceptor",
    "RuntimeEvent",
    "RuntimeEventCatalogue",
    "RuntimeEventDefinition",
    "StreamingDlpInterceptor",
    "TextChunk",
    "TextPart",
    "TokenBudgetExceededError",
    "TokenBudgetSettings",
    "TokenUsage",
    "ToolCall",
    "ToolCallChunk",
    "ToolDefinition",
    "ToolResultFilteringSettings",
    "Tramapy",
    "TramapyError",
    "Vault",
    "rethrow_if_cancellation",
]

_FROM_DLP = frozenset({"DlpRule", "RuleBasedDlpConfiguration", "RuleBasedDlpInterceptor", "Vault"})


def __getattr__(name: str) -> object:
    """Import the rule-based DLP at its first use: a quarter of the import time, and not everybody needs it."""
    if name in _FROM_DLP:
        return getattr(_import_module("tramapy.dlp"), name)
    raise AttributeError(f"module 'tramapy' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, those not imported yet included."""
    return sorted(__all__)
