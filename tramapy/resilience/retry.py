"""`RetryPolicy`: whether a failed attempt is made again on its route, and after how long."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from tramapy.cancellation import leaves
from tramapy.errors import ConfigurationError, ProviderError
from tramapy.keywords import explains_names
from tramapy.resilience.validation import finite_number, whole_number

__all__ = [
    "DelaySource",
    "NextRoute",
    "NextRouteReason",
    "RetryAfter",
    "RetryDecision",
    "RetryPolicy",
    "RetryPolicySettings",
    "Stop",
    "is_retryable",
]

_DEFAULT_PROVIDER_RETRIES = 3
_FIRST_DELAY_MS = 50
_LONGEST_DELAY_MS = 1000
_LARGEST_JITTER_RATIO = 100.0
_LAST_DOUBLING = 5  # 50 · 2^5 is over the longest delay: a shift by more would only cost memory


@explains_names
@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicySettings:
    """How often a route is tried again, and how long to wait in between.

    Args:
        provider_retries: Further attempts per route after the first; None for 3, or under `wrap` for the
            client's own `max_retries`.
        max_retry_after_s: The longest wait that a provider's hint may ask for, jitter included. A longer hint
            is not waited for: the next route is taken.
        jitter_ratio: Each delay grows by a random share of itself, up to this one; at most 100. 0 switches it
            off.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field is out of range.
    """

    provider_retries: int | None = None
    max_retry_after_s: float = 30.0
    jitter_ratio: float = 0.2

    def __post_init__(self) -> None:
        if self.provider_retries is not None:
            whole_number("RetryPolicySettings.provider_retries", self.provider_retries, minimum=0)
        cap_s = finite_number("RetryPolicySettings.max_retry_after_s", self.max_retry_after_s)
        object.__setattr__(self, "max_retry_after_s", cap_s)
        ratio = finite_number(
            "RetryPolicySettings.jitter_ratio",
            self.jitter_ratio,
            may_equal_minimum=True,
            maximum=_LARGEST_JITTER_RATIO,
        )
        object.__setattr__(self, "jitter_ratio", ratio)


class DelaySource(enum.Enum):
    """Who set a delay: the provider's hint, or our own doubling backoff."""

    RETRY_AFTER = "retry_after"
    BACKOFF = "backoff"


class NextRouteReason(enum.Enum):
    """Why a retryable failure is not retried on its route."""

    EXHAUSTED = "exhausted"
    HINT_TOO_LONG = "hint_too_long"
    DEADLINE = "deadline"


class RetryAfter(NamedTuple):
    """Wait for `delay_s`, then try the same route again."""

    delay_s: float
    source: DelaySource


class NextRoute(NamedTuple):
    """Do not wait for this route; take the next one, or raise at once where there is none."""

    reason: NextRouteReason


class Stop:
    """The error is not retryable: raise it, on this route and on any other."""


RetryDecision: TypeAlias = RetryAfter | NextRoute | Stop


class RetryPolicy:
    """Decides on failed attempts. It keeps no state, so one policy serves every operation and thread.

    Args:
        settings: The limits.
        sample: A source of random floats, at least 0 and below 1, such as `random.random`.
    """

    def __init__(self, settings: RetryPolicySettings, sample: Callable[[], float]) -> None:
        self._settings = settings
        self._sample = sample

    @property
    def provider_retries(self) -> int:
        """The retries in force per route."""
        retries = self._settings.provider_retries
        return _DEFAULT_PROVIDER_RETRIES if retries is None else retries

    def with_default(self, provider_retries: int) -> RetryPolicy:
        """Return a policy that tries so often again where its settings do not say."""
        if self._settings.provider_retries is not None:
            return self
        return RetryPolicy(replace(self._settings, provider_retries=provider_retries), self._sample)

    def decide(
        self, error: BaseException, retry_index: int, *, now_s: float, deadline_at_s: float | None
    ) -> RetryDecision:
        """Decide what follows a failed attempt.

        Args:
            error: What the attempt raised. An exception group is judged by all of its errors.
            retry_index: How many retries this route has had, so 0 after its first attempt.
            now_s: The time, on the clock of `deadline_at_s`.
            deadline_at_s: When the whole operation must be over; None for no limit.

        Raises:
            ConfigurationError: The random source gave what is no number of its range.
            ValueError: `retry_index` is negative.
        """
        if not is_retryable(error):
            return Stop()
        if retry_index >= self.provider_retries:
            return NextRoute(NextRouteReason.EXHAUSTED)
        hint_s = _longest_hint_s(error)
        if hint_s is not None and hint_s > self._settings.max_retry_after_s:
            return NextRoute(NextRouteReason.HINT_TOO_LONG)
        retry = self._backoff(retry_index) if hint_s is None else self._hinted(hint_s)
        # A wait that ends with the deadline leaves no time to call in.
        if deadline_at_s is not None and now_s + retry.delay_s >= deadline_at_s:
            return NextRoute(NextRouteReason.DEADLINE)
        return retry

    def _backoff(self, retry_index: int) -> RetryAfter:
        base_ms = min(_FIRST_DELAY_MS << min(retry_index, _LAST_DOUBLING), _LONGEST_DELAY_MS)
        return RetryAfter(self._jittered(base_ms / 1000.0), DelaySource.BACKOFF)

    def _hinted(self, hint_s: float) -> RetryAfter:
        # Capped after jitter, so that the cap is what it says; the original lets jitter pass it.
        delay_s = min(self._jittered(hint_s), self._settings.max_retry_after_s)
        return RetryAfter(delay_s, DelaySource.RETRY_AFTER)

    def _jittered(self, delay_s: float) -> float:
        """Lengthen a delay by a random share; never shorten it, since a hint is a minimum."""
        sample: object = self._sample()
        if not isinstance(sample, int | float) or not 0.0 <= sample < 1.0:
            raise ConfigurationError(
                "random gave a sample that is no number in [0, 1); pass a source like random.Random()"
            )
        return delay_s + delay_s * self._settings.jitter_ratio * sample


def is_retryable(error: BaseException) -> bool:
    """Tell whether the same request may succeed later.

    True for a retryable `ProviderError`, and for a group of nothing else. A cancellation, an exit, a DLP
    refusal or an open circuit is not, alone or inside a group.
    """
    return all(isinstance(leaf, ProviderError) and leaf.retryable for leaf in leaves(error))


def _longest_hint_s(error: BaseException) -> float | None:
    """Return the hint to wait for; in a group every provider wants its own to pass."""
    hints = [leaf.retry_after_s for leaf in leaves(error) if isinstance(leaf, ProviderError)]
    return max((hint for hint in hints if hint is not None and hint >= 0.0), default=None)
