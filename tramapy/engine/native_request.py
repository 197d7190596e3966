"""What goes out of a request in a vendor's format beside its messages."""

from __future__ import annotations

from tramapy.engine.native import NativeRequest, NativeSent
from tramapy.engine.native_answer import report_unscanned
from tramapy.engine.operation import Attempt
from tramapy.engine.outgoing import inspect_outgoing

__all__ = ["prepare_native"]


async def prepare_native(attempt: Attempt, request: NativeRequest) -> NativeSent:
    """Return the request with its `rest` as it may be sent.

    Raises:
        DlpInspectionError: Its inspection failed, or it has what cannot be inspected and must be.
    """
    if request.unscanned:
        report_unscanned(attempt, request.unscanned, is_strict=request.is_strict)
    if attempt.pipeline.request_dlp is None:
        return NativeSent(request)
    return NativeSent(request, await inspect_outgoing(attempt, request.rest))
