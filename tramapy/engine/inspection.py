"""One authoritative DLP inspection: text, evidence, and the audit record before anyone sees the result."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Sequence
from typing import cast

from tramapy.cancellation import rethrow_if_cancellation
from tramapy.engine import reporting
from tramapy.engine.operation import Attempt
from tramapy.errors import ConfigurationError, DlpInspectionError
from tramapy.hooks.dlp import DlpContext, DlpInterceptor, DlpRedaction, DlpResult
from tramapy.values import class_label, exact_text

__all__ = [
    "audited",
    "fail_inspection",
    "inspect_text",
    "inspection_error",
    "scan_text",
    "settled",
]


async def inspect_text(attempt: Attempt, dlp: DlpInterceptor, context: DlpContext, text: str) -> str:
    """Inspect `text` and return what may go on.

    Raises:
        DlpInspectionError: The interceptor rejected the text, failed, or gave evidence that does not fit the
            text; or the audit emitter failed. An event says which.
    """
    text = text if type(text) is str else exact_text(text)
    is_timed = attempt.is_heard
    started_s = attempt.pipeline.port.now_s() if is_timed else 0.0
    failure: Exception | None = None
    try:  # as `ask` does, and without a call of it: most texts take this way
        result: object = dlp.inspect(context, text)
    except Exception as error:
        result, failure = None, error
    if failure is not None:
        raise inspection_error(attempt, context, "inspect", failure) from None
    if type(result) is not DlpResult:
        result = await _answered(attempt, context, result)
    if is_timed:
        attempt.dlp_s += attempt.pipeline.port.now_s() - started_s
    sanitized = result.sanitized_text
    if sanitized == text:
        if result.redactions:
            raise fail_inspection(attempt, context, "evidence_without_change", None)
        return text
    await audited(attempt, context, result.redactions)
    return sanitized


async def scan_text(attempt: Attempt, dlp: DlpInterceptor, context: DlpContext, text: str) -> DlpResult:
    """Ask a DLP interceptor; evidence and audit are the caller's business."""
    now_s = attempt.pipeline.port.now_s
    started_s = now_s()
    result = await _answered(attempt, context, ask(attempt, dlp, context, text))
    attempt.dlp_s += now_s() - started_s
    return result


def ask(attempt: Attempt, dlp: DlpInterceptor, context: DlpContext, text: str) -> object:
    """Call `inspect` and map whatever it raises; what it returned may still be awaitable, or no result at all."""
    try:
        return dlp.inspect(context, text)
    except Exception as error:
        failure = error
    # not in the handler: there, an observer that logs "the current exception" would log the text
    raise inspection_error(attempt, context, "inspect", failure) from None


async def _answered(attempt: Attempt, context: DlpContext, result: object) -> DlpResult:
    if type(result) is DlpResult:
        return result
    failure: Exception | None = None
    try:
        if not isinstance(result, DlpResult):
            result = await settled(attempt, result)
        if isinstance(result, DlpResult):
            return DlpResult(result.sanitized_text, result.redactions)  # a subclass says other things twice
    except Exception as error:
        failure = error
    if failure is not None:
        raise inspection_error(attempt, context, "inspect", failure) from None
    raise fail_inspection(attempt, context, "invalid_result", None)


def inspection_error(attempt: Attempt, context: DlpContext, callback: str, error: Exception) -> Exception:
    """Return the error to raise for what a DLP hook raised; a rejection stays the same object, and is announced."""
    rethrow_if_cancellation(error)
    if isinstance(error, ConfigurationError):
        return error
    if isinstance(error, DlpInspectionError):
        if attempt.is_heard:
            attempt.notify(
                reporting.dlp_inspection_failed(
                    attempt.base, context, "rejected", error, attempt.tool_label(context.tool_name)
                )
            )
        return error
    attempt.diagnose("dlp", callback, error)
    return fail_inspection(attempt, context, "interceptor_failed", error)


async def audited(attempt: Attempt, context: DlpContext, redactions: Sequence[DlpRedaction]) -> None:
    """Write the audit record of a change and then announce it; a change without evidence cannot be audited."""
    emitter = attempt.pipeline.audit
    if emitter is not None:
        if not redactions:
            raise fail_inspection(attempt, context, "change_without_evidence", None)
        failure: Exception | None = None
        try:
            await settled(attempt, emitter.emit(_recorded(attempt, context), redactions))
        except Exception as error:
            failure = error
        if failure is not None:
            raise _audit_error(attempt, context, failure) from None
    if attempt.is_heard:
        for redaction in redactions:
            attempt.notify(
                reporting.dlp_redacted(
                    attempt.base, context, redaction, attempt.tool_label(context.tool_name)
                )
            )


def _recorded(attempt: Attempt, context: DlpContext) -> DlpContext:
    """Return the context of an audit record: without values, and with a tool's name only where an event may have it."""
    tool_name = attempt.tool_label(context.tool_name)
    if context.vault is None and tool_name == context.tool_name:
        return context
    return dataclasses.replace(context, vault=None, tool_name=tool_name)


def _audit_error(attempt: Attempt, context: DlpContext, error: Exception) -> Exception:
    rethrow_if_cancellation(error)
    if isinstance(error, ConfigurationError):
        return error
    attempt.diagnose("audit", "emit", error)
    return fail_inspection(attempt, context, "audit_failed", error)


async def settled(attempt: Attempt, result: object) -> object:
    """Return what a hook returned, awaited where it is `async def`; a cancellation it swallowed is raised."""
    if not hasattr(result, "__await__"):
        return result
    port = attempt.pipeline.port
    baseline = port.cancel_count()
    try:
        value = await port.resolve(cast("Awaitable[object]", result))
    except Exception as error:
        await port.checkpoint(baseline, error)
        raise
    await port.checkpoint(baseline)
    return value


def fail_inspection(
    attempt: Attempt, context: DlpContext, reason_code: str, error: BaseException | None
) -> DlpInspectionError:
    """Announce a failed inspection and return the error to raise, in fixed words."""
    if attempt.is_heard:
        attempt.notify(
            reporting.dlp_inspection_failed(
                attempt.base, context, reason_code, error, attempt.tool_label(context.tool_name)
            )
        )
    where = f"{context.content_type.name} at {context.content_location.name}"
    whose = "" if context.provider_id is None else f" of provider {context.provider_id!r}"
    label = attempt.tool_label(context.tool_name)
    if label is not None:
        whose += f", tool {label!r}"
    # its class, never its text
    how = "" if error is None else f" with {class_label(error)}"
    return DlpInspectionError(f"{_REASONS[reason_code]}{how} ({where}{whose}); the text was withheld")


_REASONS = {
    "interceptor_failed": "The DLP interceptor failed",
    "invalid_result": "The DLP interceptor returned no DlpResult, such as DlpResult(text)",
    "evidence_without_change": "The DLP interceptor reported redactions but changed nothing",
    "change_without_evidence": "The DLP interceptor changed text without redactions to audit",
    "audit_failed": "The DLP audit emitter failed",
    "sensitive_name": "A name or an id holds sensitive text",
}
