"""What happened, told outside of the process; each part is imported when it is first asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tramapy.telemetry.audit import AuditLog
    from tramapy.telemetry.audit_async import AsyncAuditLog
    from tramapy.telemetry.audit_event import AuditEvent
    from tramapy.telemetry.audit_file import FileAuditStore
    from tramapy.telemetry.audit_store import AuditHead, AuditStore, AuditStoreError, MemoryAuditStore
    from tramapy.telemetry.audit_verify import (
        AuditProblem,
        AuditProblemCode,
        AuditVerification,
        verify_audit,
        verify_audit_files,
    )
    from tramapy.telemetry.jsonl import JsonlEventObserver
    from tramapy.telemetry.log_context import AttemptContextObserver, TraceIdsProcessor, attempt_fields
    from tramapy.telemetry.log_filter import DlpLogFilter
    from tramapy.telemetry.log_processor import DlpProcessor
    from tramapy.telemetry.logs import StructlogEventObserver
    from tramapy.telemetry.otel import OpenTelemetryEventObserver, TelemetryLimits
    from tramapy.telemetry.otlp_receiver import OtlpReceiver
    from tramapy.telemetry.otlp_refusal import OtlpRefusal

__all__ = [
    "AsyncAuditLog",
    "AttemptContextObserver",
    "AuditEvent",
    "AuditHead",
    "AuditLog",
    "AuditProblem",
    "AuditProblemCode",
    "AuditStore",
    "AuditStoreError",
    "AuditVerification",
    "DlpLogFilter",
    "DlpProcessor",
    "FileAuditStore",
    "JsonlEventObserver",
    "MemoryAuditStore",
    "OpenTelemetryEventObserver",
    "OtlpReceiver",
    "OtlpRefusal",
    "StructlogEventObserver",
    "TelemetryLimits",
    "TraceIdsProcessor",
    "attempt_fields",
    "verify_audit",
    "verify_audit_files",
]

_LAZY = {
    "AsyncAuditLog": "tramapy.telemetry.audit_async",
    "AttemptContextObserver": "tramapy.telemetry.log_context",
    "AuditEvent": "tramapy.telemetry.audit_event",
    "AuditHead": "tramapy.telemetry.audit_store",
    "AuditLog": "tramapy.telemetry.audit",
    "AuditProblem": "tramapy.telemetry.audit_verify",
    "AuditProblemCode": "tramapy.telemetry.audit_verify",
    "AuditStore": "tramapy.telemetry.audit_store",
    "AuditStoreError": "tramapy.telemetry.audit_store",
    "AuditVerification": "tramapy.telemetry.audit_verify",
    "DlpLogFilter": "tramapy.telemetry.log_filter",
    "DlpProcessor": "tramapy.telemetry.log_processor",
    "FileAuditStore": "tramapy.telemetry.audit_file",
    "JsonlEventObserver": "tramapy.telemetry.jsonl",
    "MemoryAuditStore": "tramapy.telemetry.audit_store",
    "OpenTelemetryEventObserver": "tramapy.telemetry.otel",
    "OtlpReceiver": "tramapy.telemetry.otlp_receiver",
    "OtlpRefusal": "tramapy.telemetry.otlp_refusal",
    "StructlogEventObserver": "tramapy.telemetry.logs",
    "TelemetryLimits": "tramapy.telemetry.otel",
    "TraceIdsProcessor": "tramapy.telemetry.log_context",
    "attempt_fields": "tramapy.telemetry.log_context",
    "verify_audit": "tramapy.telemetry.audit_verify",
    "verify_audit_files": "tramapy.telemetry.audit_verify",
}


def __getattr__(name: str) -> object:
    """Import at first use: some need an extra, and few programs need all."""
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, those not imported yet included."""
    return sorted(__all__)
