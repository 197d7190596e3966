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
from tramapy.hooks.composite_dlp import CompositeDlpInterceptor
from tramapy.hooks.diagnostics import FailureDiagnosticObserver
from tramapy.hooks.dlp import (
    ClassificationSource,
    DataClassification,
    DlpContentLocation,
    DlpContentType,
    DlpContext,
    DlpInterceptor,
    DlpRedaction,
    DlpRedactionAuditEmitter,
    DlpResult,
    DlpStream,
    InspectedParts,
    PartedDlpStream,
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
    from tramapy.clients.assembly import WrapSettings
    from tramapy.clients.call_options import call_options
    from tramapy.clients.fallback import Fallback
    from tramapy.clients.transport import AsyncGovernedTransport, GovernedTransport
    from tramapy.dlp import DlpAction, DlpRule, RuleBasedDlpConfiguration, RuleBasedDlpInterceptor, Vault
    from tramapy.hooks.failure_diagnostic import FailureDiagnostic
    from tramapy.wrapping import wrap

# An application that configures no logging must not find our diagnostics on its stderr.
_logging.getLogger(__name__).addHandler(_logging.NullHandler())

__all__ = [
    "CATALOGUE",
    "AsyncChunkStream",
    "AsyncGovernedTransport",
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
    "DlpAction",
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
    "Fallback",
    "FinishReason",
    "GovernedTransport",
    "ImageDetail",
    "ImagePart",
    "InspectedParts",
    "InterceptorError",
    "Message",
    "MessageRole",
    "ModelRequest",
    "ModelResponse",
    "OperationCallContext",
    "OperationInterceptor",
    "PartedDlpStream",
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
    "WrapSettings",
    "call_options",
    "rethrow_if_cancellation",
    "wrap",
]

_LATE = {
    "AsyncGovernedTransport": "tramapy.clients.transport",
    "DlpAction": "tramapy.dlp",
    "DlpRule": "tramapy.dlp",
    "FailureDiagnostic": "tramapy.hooks.failure_diagnostic",
    "Fallback": "tramapy.clients.fallback",
    "GovernedTransport": "tramapy.clients.transport",
    "RuleBasedDlpConfiguration": "tramapy.dlp",
    "RuleBasedDlpInterceptor": "tramapy.dlp",
    "Vault": "tramapy.dlp",
    "WrapSettings": "tramapy.clients.assembly",
    "call_options": "tramapy.clients.call_options",
    "wrap": "tramapy.wrapping",
}


def __getattr__(name: str) -> object:
    """Import at their first use the rule-based DLP and what wraps clients: half of the time, and not for everybody."""
    module = _LATE.get(name)
    if module is not None:
        return getattr(_import_module(module), name)
    raise AttributeError(f"module 'tramapy' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, those not imported yet included."""
    return sorted(__all__)
