"""`Operation` and `Attempt`: what one call is about, and one try at it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

from tramapy.engine import reporting
from tramapy.engine.arguments import checked_messages, checked_name, checked_seconds
from tramapy.engine.details import NO_DETAILS, CallDetails
from tramapy.engine.drafts import call_context, dlp_context
from tramapy.engine.native import NativeRequest
from tramapy.engine.pipeline import Pipeline
from tramapy.engine.routing import ResolvedRoute
from tramapy.hooks.diagnostics import report_secondary_failure
from tramapy.hooks.dlp import DlpContentLocation, DlpContentType, DlpContext
from tramapy.hooks.event_model import RuntimeEvent
from tramapy.hooks.operation import OperationCallContext
from tramapy.messages import Message, ModelResponse
from tramapy.resilience.budget import TokenBudget, TokenBudgetSettings

if TYPE_CHECKING:
    from tramapy.dlp.vault import Vault

__all__ = ["Attempt", "CancelReason", "Operation"]

CancelReason = Literal["cancelled", "closed", "abandoned"]


class Operation:
    """One `complete` or `stream`: its request, its routes, and what its attempts have used so far.

    The keyword arguments are those of `Tramapy.complete` (`details` are those of `CallDetails`), and two of a wrapped
    client's: a budget of its own, and the request in its vendor's format, whose messages then count in the place of
    `messages`.

    Raises:
        ConfigurationError: An argument cannot work; the message names it.
    """

    __slots__ = (
        *("pipeline", "messages", "model", "routes", "is_stream", "service_interface", "method_name"),
        *("correlation_id", "details", "timeout_s", "deadline_at_s", "started_s", "attempt_count", "budget"),
        *("is_completed", "vault", "native"),
    )

    def __init__(
        self,
        pipeline: Pipeline,
        messages: Iterable[Message],
        *,
        is_stream: bool,
        model: str,
        provider: str | None = None,
        service_interface: str = "tramapy",
        method_name: str | None = None,
        correlation_id: str | None = None,
        timeout_s: float | None = None,
        deadline_s: float | None = None,
        token_budget: TokenBudgetSettings | None = None,
        native: NativeRequest | None = None,
        **details: Any,
    ) -> None:
        self.pipeline = pipeline
        self.native = native
        self.messages: tuple[Message, ...] = checked_messages(messages) if native is None else native.messages
        self.model: str = checked_name("model", model)
        self.routes: tuple[ResolvedRoute, ...] = pipeline.routing.resolve(self.model, provider)
        self.is_stream = is_stream
        self.service_interface: str = checked_name("service_interface", service_interface)
        self.method_name: str = (
            ("stream" if is_stream else "complete")
            if method_name is None
            else checked_name("method_name", method_name)
        )
        self.correlation_id: str = (
            pipeline.new_id() if correlation_id is None else checked_name("correlation_id", correlation_id)
        )
        self.details: CallDetails = NO_DETAILS if not details else CallDetails(**details)
        self.timeout_s: float | None = (
            pipeline.timeout_s if timeout_s is None else checked_seconds("timeout_s", timeout_s)
        )
        deadline_s = pipeline.deadline_s if deadline_s is None else checked_seconds("deadline_s", deadline_s)
        self.started_s: float = pipeline.port.now_s()
        self.deadline_at_s = None if deadline_s is None else self.started_s + deadline_s
        self.attempt_count = 0
        self.is_completed: bool = False
        if token_budget is None:
            token_budget = pipeline.token_budget
        self.budget: TokenBudget | None = None if token_budget is None else TokenBudget(token_budget)
        # one for all attempts, so that a value has the same placeholder in each
        self.vault: Vault | None = None if pipeline.new_vault is None else pipeline.new_vault()

    def report_started(self) -> None:
        """Tell the observers that the operation begins."""
        observers = self.pipeline.observers
        if observers.is_heard:
            observers.notify(
                reporting.operation_started(
                    self.correlation_id,
                    self.service_interface,
                    self.method_name,
                    self.model,
                    is_stream=self.is_stream,
                    workflow_run_id=self.details.workflow_run_id,
                )
            )

    def report_completed(self, outcome: str, error: BaseException | None = None) -> None:
        """Wipe the vault, and tell the observers how the operation ended, once."""
        if self.vault is not None:
            self.vault.wipe()
        observers = self.pipeline.observers
        if not observers.is_heard or self.is_completed:
            return
        self.is_completed = True
        event = reporting.operation_completed(
            self.correlation_id,
            attempt_count=self.attempt_count,
            duration_millis=self.elapsed_millis(self.started_s),
            outcome=outcome,
            error=error,
        )
        if error is None:
            observers.notify(event)
        else:
            observers.notify_beside(event, error)

    def leave_out(self, paused_s: float) -> None:
        """Do not count time that was the consumer's."""
        self.started_s += paused_s
        if self.deadline_at_s is not None:
            self.deadline_at_s += paused_s

    def elapsed_millis(self, since_s: float) -> int:
        """Return whole milliseconds from `since_s` until now."""
        return int((self.pipeline.port.now_s() - since_s) * 1000)


class Attempt:
    """One try of an operation on one route: its number, its context, and its events."""

    __slots__ = (
        *("pipeline", "operation", "route", "route_index", "number", "_context"),
        *("base", "started_event", "started_s", "first_chunk_s", "last_chunk_s", "dlp_s"),
        *("is_heard", "notify", "is_reported"),
    )

    def __init__(
        self, operation: Operation, route: ResolvedRoute, route_index: int, started_s: float
    ) -> None:
        self.pipeline: Pipeline = operation.pipeline
        self.operation = operation
        self.route = route
        self.route_index = route_index
        self.number: int = operation.attempt_count
        operation.attempt_count += 1
        provider_id = route.provider.provider_id
        self._context: OperationCallContext | None = None
        self.base: reporting.Base = {
            "correlation_id": operation.correlation_id,
            "provider_id": provider_id,
            "attempt": self.number,
        }
        self.started_event: RuntimeEvent | None = None
        self.started_s: float = started_s
        self.first_chunk_s: float | None = None
        self.last_chunk_s: float | None = None
        self.dlp_s: float = 0.0
        observers = self.pipeline.observers
        self.notify: Callable[[RuntimeEvent], None] = observers.notify
        self.is_heard: bool = observers.is_heard
        self.is_reported: bool = False

    @property
    def context(self) -> OperationCallContext:
        """What interceptors are told; made where there is one."""
        context = self._context
        if context is None:
            provider_id = self.route.provider.provider_id
            context = self._context = call_context(self.operation, provider_id, self.number)
        return context

    def leave_out(self, paused_s: float) -> None:
        """Do not count time that was the consumer's, here and in the operation."""
        self.operation.leave_out(paused_s)
        self.started_s += paused_s
        if self.first_chunk_s is not None:
            self.first_chunk_s += paused_s
        if self.last_chunk_s is not None:
            self.last_chunk_s += paused_s

    def report_chunk(self, at_s: float) -> None:
        """Tell who measures a stream's pieces how long this one took after the one before."""
        last_s, self.last_chunk_s = self.last_chunk_s, at_s
        if last_s is not None and self.started_event is not None:
            self.pipeline.observers.notify_chunk(self.started_event, at_s - last_s)

    def report_started(self) -> RuntimeEvent | None:
        """Announce the route and the attempt; returns the event that scopes and content observers get."""
        pipeline, operation = self.pipeline, self.operation
        if not (self.is_heard or pipeline.observers.has_scopes or pipeline.content_observers):
            return None
        if self.is_heard:
            self.notify(reporting.route_selected(self.base, self.route.model, self.route_index))
        self.started_event = event = reporting.attempt_started(
            self.base,
            service_interface=operation.service_interface,
            method_name=operation.method_name,
            requested_model=operation.model,
            effective_model=self.route.model,
            is_stream=operation.is_stream,
        )
        self.notify(event)
        return event

    def report_completed(self, response: ModelResponse, ended_s: float) -> None:
        """Announce the attempt's success, once."""
        if self._may_report():
            self.notify(
                reporting.attempt_completed(
                    self.base,
                    self.route.model,
                    response,
                    duration_millis=int((ended_s - self.started_s) * 1000),
                    first_chunk_millis=self._first_chunk_millis(),
                    dlp_micros=int(self.dlp_s * 1e6),
                )
            )

    def report_failed(self, error: BaseException) -> None:
        """Announce the attempt's failure, once."""
        if self._may_report():
            event = reporting.attempt_failed(
                self.base,
                self.route.model,
                error,
                duration_millis=self.operation.elapsed_millis(self.started_s),
                first_chunk_millis=self._first_chunk_millis(),
                dlp_micros=int(self.dlp_s * 1e6),
            )
            self.pipeline.observers.notify_beside(event, error)

    def report_cancelled(self, reason: CancelReason, error: BaseException | None) -> None:
        """Announce that the attempt ended without an outcome, once."""
        if self._may_report():
            event = reporting.attempt_cancelled(
                self.base,
                self.route.model,
                reason,
                duration_millis=self.operation.elapsed_millis(self.started_s),
                first_chunk_millis=self._first_chunk_millis(),
                dlp_micros=int(self.dlp_s * 1e6),
            )
            if error is None:
                self.notify(event)
            else:
                self.pipeline.observers.notify_beside(event, error)

    def dlp_context(
        self, content_type: DlpContentType, location: DlpContentLocation, tool_name: str | None = None
    ) -> DlpContext:
        """Say to a DLP interceptor what it looks at; provider and model only for what the model said."""
        return dlp_context(self, content_type, location, tool_name)

    def tool_label(self, name: str | None) -> str | None:
        """Return the name that events and errors may give a tool.

        One that the model proposes may be any text, also where a result's tool is known by the model's call alone:
        it is named only where the operation declares it.
        """
        if name is None:
            return None
        is_declared = any(tool.name == name for tool in self.operation.details.tools)
        return reporting.safe_label(name) if is_declared else reporting.UNREGISTERED_TOOL

    def diagnose(self, extension_point: str, callback: str, error: BaseException) -> None:
        """Hand an original failure to the privileged observers, before its text is dropped."""
        if not self.pipeline.diagnostics:
            return
        from tramapy.hooks.failure_diagnostic import FailureDiagnostic

        diagnostic = FailureDiagnostic(
            extension_point=extension_point,
            callback=callback,
            correlation_id=self.operation.correlation_id,
            error=error,
            provider_id=self.route.provider.provider_id,
            attempt=self.number,
        )
        for observer in self.pipeline.diagnostics:
            failure: Exception | None = None
            try:
                observer.on_failure(diagnostic)
            except Exception as raised:  # fail-open, as for every observer
                failure = raised
            if failure is not None:
                report_secondary_failure("failure_diagnostic_observer", "on_failure", failure)

    def _may_report(self) -> bool:
        """Pass once, and only for an attempt that was announced as started."""
        if self.is_reported or self.started_event is None:
            return False
        self.is_reported = True
        return self.is_heard

    def _first_chunk_millis(self) -> int | None:
        return None if self.first_chunk_s is None else int((self.first_chunk_s - self.started_s) * 1000)
