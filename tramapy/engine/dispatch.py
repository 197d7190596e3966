"""Around the attempts: routes in order, the breaker before each, retries within; one policy for every entry."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, cast

from tramapy.cancellation import cancellation_in, is_cancellation
from tramapy.engine import reporting
from tramapy.engine.attempt import run_attempt
from tramapy.engine.limits import check_deadline
from tramapy.engine.native import NativeAnswer
from tramapy.engine.operation import Attempt, CancelReason, Operation
from tramapy.errors import (
    CircuitBreakerOpenError,
    DeadlineExceededError,
    ProviderError,
    ProviderFailureCode,
    TramapyError,
)
from tramapy.messages import ModelResponse
from tramapy.resilience.breaker import Permit, Rejection, Transition, counts
from tramapy.resilience.retry import NextRoute, NextRouteReason, RetryAfter, Stop

__all__ = ["Dispatch", "complete", "complete_native"]


async def _answered(operation: Operation) -> ModelResponse | NativeAnswer:
    """Answer an operation: attempts until one succeeds, or until the policy says to stop.

    Raises:
        ProviderError: The last executed failure.
        CircuitBreakerOpenError: No attempt was made: every route's breaker is open.
        DeadlineExceededError: The deadline passed.
        TramapyError: Whatever else ended an attempt for good.
    """
    dispatch = Dispatch(operation)
    try:
        operation.report_started()
        while True:
            attempt = dispatch.begin()
            try:
                answer = await run_attempt(attempt)
                dispatch.succeeded(
                    attempt, answer if isinstance(answer, ModelResponse) else answer.responses[0]
                )
                break
            except BaseException as error:
                failure = error
            # not in the handler: there, an observer that logs "the current exception" would log what DLP withheld
            await dispatch.failed(attempt, failure)
            del failure
    except BaseException as error:
        failure = error
    else:
        operation.report_completed("success")
        return answer
    dispatch.release()
    operation.report_completed("cancelled" if is_cancellation(failure) else "failed", failure)
    raise failure


# one coroutine under two types: an operation of messages has a response, one with a `native` request a native answer
complete: Callable[[Operation], Coroutine[Any, Any, ModelResponse]] = cast("Any", _answered)
complete_native: Callable[[Operation], Coroutine[Any, Any, NativeAnswer]] = cast("Any", _answered)


class Dispatch:
    """Where an operation stands among its routes: the permit it holds, its retries, and what failed last.

    A caller begins an attempt, runs it, and reports exactly one of `succeeded`, `failed` and `cancelled`.
    """

    __slots__ = (
        *("_operation", "_pipeline", "_route_index", "_permit", "_retry_index"),
        *("_last_failure", "_last_rejection", "_deadline_stopped", "_told_route_index"),
    )

    def __init__(self, operation: Operation) -> None:
        self._operation = operation
        self._pipeline = operation.pipeline
        self._route_index = 0
        self._permit: Permit | None = None
        self._retry_index = 0
        self._last_failure: ProviderError | None = None
        self._last_rejection: Rejection | None = None
        self._deadline_stopped = False
        self._told_route_index = -1

    def begin(self) -> Attempt:
        """Return the next attempt; a route whose breaker is open is passed over and uses no number.

        Raises:
            ProviderError: The routes are used up; this is the last executed failure.
            CircuitBreakerOpenError: The same, and nothing was executed.
            DeadlineExceededError: The deadline has passed; or the routes are used up, and the last failure was
                not retried for want of time.
        """
        operation = self._operation
        routes = operation.routes
        while self._route_index < len(routes):
            now_s = self._pipeline.port.now_s()
            if operation.deadline_at_s is not None:
                check_deadline(operation, self._last_failure, now_s=now_s)
            route = routes[self._route_index]
            if self._permit is not None or self._admit(route.provider.provider_id):
                return Attempt(operation, route, self._route_index, now_s)
            self._next_route()
        raise self._exhausted()

    def succeeded(self, attempt: Attempt, response: ModelResponse) -> None:
        """Report a good attempt to the breaker, then to the observers."""
        ended_s = self._pipeline.port.now_s()
        permit, self._permit = self._permit, None
        if permit is not None:
            transition = self._pipeline.breaker.succeed(permit, ended_s - attempt.started_s)
            if transition is not None:
                self._announce(attempt, transition)
        attempt.report_completed(response, ended_s)

    async def failed(self, attempt: Attempt, error: BaseException, *, may_retry: bool = True) -> None:
        """Report a failed attempt, and wait where it is to be made again.

        Args:
            attempt: The attempt.
            error: What it raised.
            may_retry: False once something of its answer was released: then nothing may follow.

        Raises:
            BaseException: `error` itself, where it ends the operation.
        """
        if is_cancellation(error):
            found = cancellation_in(error)
            if found is not error:
                attempt.diagnose("attempt", "run", error)
            self.cancelled(attempt, "cancelled", found)
            raise found
        try:
            delay_s = self._verdict(attempt, error, may_retry=may_retry)
        except BaseException as raised:
            # a random source outside its contract, or an observer's cancellation: the attempt still ends once
            if is_cancellation(raised):
                self.cancelled(attempt, "cancelled", raised)
            else:
                attempt.report_failed(raised)
            raise
        if delay_s is not None:
            await self._pipeline.port.sleep_s(delay_s)

    def cancelled(self, attempt: Attempt, reason: CancelReason, error: BaseException | None) -> None:
        """Report an attempt without an outcome; it says nothing about the provider."""
        self.release()
        attempt.report_cancelled(reason, error)

    def release(self) -> None:
        """Give back a permit that is still held, as neutral."""
        permit = self._take_permit()
        if permit is not None:
            self._pipeline.breaker.release(permit)

    def _admit(self, provider_id: str) -> bool:
        admission = self._pipeline.breaker.admit(provider_id)
        observers = self._pipeline.observers
        if isinstance(admission, Rejection):
            self._last_rejection = admission
            if observers.is_heard:
                event = reporting.circuit_rejected(
                    self._operation.correlation_id,
                    provider_id,
                    route_index=self._route_index,
                    retry_after_s=admission.retry_after_s,
                )
                observers.notify(event)
            return False
        self._permit = admission
        if admission.half_opened and observers.is_heard:
            observers.notify(reporting.circuit_half_opened(self._operation.correlation_id, provider_id))
        return True

    def _verdict(self, attempt: Attempt, error: BaseException, *, may_retry: bool) -> float | None:
        """Report a failure and say what follows, as `_after` does."""
        if _is_filtered(error) and attempt.is_heard:
            attempt.notify(reporting.request_refused(attempt.base, "content_filter"))
        if isinstance(error, CircuitBreakerOpenError) and may_retry:
            self._passed_over(attempt, error)
            return None
        if isinstance(error, ProviderError) and may_retry:
            return self._after(attempt, error)
        if isinstance(error, DeadlineExceededError) and error.__cause__ is None:
            error.__cause__ = self._last_failure
        self._settle(attempt, error)
        attempt.report_failed(error)
        raise error

    def _after(self, attempt: Attempt, error: ProviderError) -> float | None:
        """Judge a provider's failure: the delay before a retry, None for the next route, or raise it."""
        operation = self._operation
        decision = self._pipeline.retry.decide(
            error,
            self._retry_index,
            now_s=self._pipeline.port.now_s(),
            deadline_at_s=operation.deadline_at_s,
        )
        if isinstance(decision, RetryAfter) and self._stays_admitted(attempt, error, decision.delay_s):
            self._tell_startup_retry(attempt, error)
            if attempt.is_heard:
                source = decision.source.value
                attempt.notify(
                    reporting.retry_scheduled(attempt.base, self._retry_index, decision.delay_s, source)
                )
            attempt.report_failed(error)
            self._last_failure = error
            self._retry_index += 1
            return decision.delay_s
        self._settle(attempt, error)
        if isinstance(decision, Stop):
            attempt.report_failed(error)
            raise error
        self._deadline_stopped = (
            isinstance(decision, NextRoute) and decision.reason is NextRouteReason.DEADLINE
        )
        self._last_failure = error
        self._next_route()
        if self._has_open_route():
            self._tell_startup_retry(attempt, error)
        attempt.report_failed(error)
        return None

    def _stays_admitted(self, attempt: Attempt, error: ProviderError, delay_s: float) -> bool:
        """Report to a windowed breaker; False where it stays open beyond the delay, which is then in vain."""
        breaker = self._pipeline.breaker
        if not breaker.reports_each_attempt:
            return True
        self._settle(attempt, error)
        open_until_s = breaker.open_until_s(attempt.route.provider.provider_id)
        return open_until_s is None or open_until_s <= self._pipeline.port.now_s() + delay_s

    def _passed_over(self, attempt: Attempt, error: CircuitBreakerOpenError) -> None:
        """Go on to the next route after a provider that has a breaker of its own, and it is open."""
        self.release()
        self._last_rejection = Rejection(error.provider_id, error.retry_after_s)
        self._next_route()
        if self._has_open_route():
            self._tell_startup_retry(attempt, error)
        attempt.report_failed(error)

    def _settle(self, attempt: Attempt, error: BaseException) -> None:
        """Tell the breaker, and the observers if that opened it."""
        permit = self._take_permit()
        if permit is None:
            return
        breaker = self._pipeline.breaker
        if counts(error):
            self._announce(attempt, breaker.fail(permit, self._duration_s(attempt)))
        elif _is_filtered(error):
            self._announce(attempt, breaker.succeed(permit, self._duration_s(attempt)))
        else:
            breaker.release(permit)

    def _announce(self, attempt: Attempt, transition: Transition | None) -> None:
        if transition is None or not attempt.is_heard:
            return
        make = reporting.circuit_opened if transition is Transition.OPENED else reporting.circuit_closed
        attempt.notify(make(attempt.base))

    def _tell_startup_retry(self, attempt: Attempt, error: TramapyError) -> None:
        """Announce, once per route, that a stream that failed before its first piece goes on."""
        if not self._operation.is_stream or self._told_route_index == attempt.route_index:
            return
        self._told_route_index = attempt.route_index
        if attempt.is_heard:
            attempt.notify(reporting.startup_retry(attempt.base, error))

    def _has_open_route(self) -> bool:
        """Whether any of the routes still to come would be admitted now; reading takes no probe's place."""
        breaker = self._pipeline.breaker
        return any(
            breaker.open_until_s(route.provider.provider_id) is None
            for route in self._operation.routes[self._route_index :]
        )

    def _next_route(self) -> None:
        self._route_index += 1
        self._retry_index = 0

    def _take_permit(self) -> Permit | None:
        permit, self._permit = self._permit, None
        return permit

    def _duration_s(self, attempt: Attempt) -> float:
        return self._pipeline.port.now_s() - attempt.started_s

    def _exhausted(self) -> Exception:
        failure, rejection = self._last_failure, self._last_rejection
        if failure is not None and self._deadline_stopped:
            error = DeadlineExceededError(
                "The next retry would end after the operation's deadline_s; its cause is the last failure"
            )
            error.__cause__ = failure
            return error
        if failure is not None:
            return failure
        if rejection is not None:
            return CircuitBreakerOpenError(rejection.provider_id, rejection.retry_after_s)
        return ProviderError("No route was available", retryable=True)


def _is_filtered(error: BaseException) -> bool:
    """Tell whether a provider's content filter refused: a provider that judges content is well."""
    return isinstance(error, ProviderError) and error.failure_code is ProviderFailureCode.CONTENT_FILTERED
