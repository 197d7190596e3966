"""`Pipeline`: everything that governs an attempt, resolved once and never changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from tramapy.engine.port import Port
from tramapy.engine.routing import Routing
from tramapy.hooks.diagnostics import FailureDiagnosticObserver
from tramapy.hooks.dlp import DlpInterceptor, DlpRedactionAuditEmitter, ToolResultFilteringSettings
from tramapy.hooks.events import AttemptContentObserver, ObserverChain
from tramapy.hooks.operation import CompositeOperationInterceptor, OperationCallContext, OperationInterceptor
from tramapy.messages import Message, ModelResponse
from tramapy.resilience.breaker import CircuitBreaker
from tramapy.resilience.budget import TokenBudgetSettings
from tramapy.resilience.retry import RetryPolicy

if TYPE_CHECKING:
    from tramapy.dlp.vault import Vault

__all__ = ["HookChain", "Pipeline", "RequestHook", "ResponseHook", "StreamDlp"]

StreamDlp: TypeAlias = Literal["auto", "buffer"]

# Nothing here is frozen, though nothing is ever set: the guards of five classes take a millisecond of the import.


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class RequestHook:
    """One interceptor's request side, and the name that errors give it."""

    intercept: Callable[
        [OperationCallContext, Sequence[Message]], Sequence[Message] | Awaitable[Sequence[Message]]
    ]
    name: str


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class ResponseHook:
    """One interceptor's response side; one that only observes must return what it was given."""

    intercept: Callable[[OperationCallContext, ModelResponse], ModelResponse | Awaitable[ModelResponse]]
    name: str
    observes_only: bool


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class HookChain:
    """The interceptors' two sides, in order; a side that an interceptor does not override costs nothing."""

    requests: tuple[RequestHook, ...]
    responses: tuple[ResponseHook, ...]

    @classmethod
    def of(cls, interceptors: Iterable[OperationInterceptor]) -> HookChain:
        """Take interceptors apart; composites are folded into the list."""
        listed = tuple(_flat(interceptors))
        base = OperationInterceptor
        return cls(
            requests=tuple(
                RequestHook(intercept=hook.intercept_request, name=type(hook).__name__)
                for hook in listed
                if _is_own(hook.intercept_request, base.intercept_request)
            ),
            responses=tuple(
                ResponseHook(
                    intercept=hook.intercept_response,
                    name=type(hook).__name__,
                    observes_only=hook.observes_only,
                )
                for hook in listed
                if _is_own(hook.intercept_response, base.intercept_response)
            ),
        )

    @property
    def may_rewrite_responses(self) -> bool:
        """Whether a stream must wait for the whole response before anything is released."""
        return any(not hook.observes_only for hook in self.responses)


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Pipeline:
    """A tenant's settings, ready to run; two tenants are two pipelines."""

    port: Port
    routing: Routing
    hooks: HookChain
    dlp: DlpInterceptor | None
    request_dlp: DlpInterceptor | None
    audit: DlpRedactionAuditEmitter | None
    tool_results: ToolResultFilteringSettings
    observers: ObserverChain
    content_observers: tuple[AttemptContentObserver, ...]
    diagnostics: tuple[FailureDiagnosticObserver, ...]
    retry: RetryPolicy
    breaker: CircuitBreaker
    token_budget: TokenBudgetSettings | None
    timeout_s: float | None
    deadline_s: float | None
    stream_dlp: StreamDlp
    new_id: Callable[[], str]
    new_vault: Callable[[], Vault] | None
    restore_for_tools: frozenset[str]


def _is_own(method: object, inherited: object) -> bool:
    """Tell whether a side was written, on the class or on the instance, and is not the pass-through."""
    return getattr(method, "__func__", None) is not inherited


def _flat(interceptors: Iterable[OperationInterceptor]) -> Iterable[OperationInterceptor]:
    for interceptor in interceptors:
        if type(interceptor) is CompositeOperationInterceptor:
            yield from _flat(interceptor.interceptors)
        else:
            yield interceptor
