"""`TokenBudget`: add up the tokens of one operation and tell when a limit is passed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from tramapy.keywords import explains_names
from tramapy.resilience.validation import whole_number
from tramapy.values import shown

__all__ = [
    "BudgetOutcome",
    "HardLimitExceeded",
    "SoftLimitExceeded",
    "TokenBudget",
    "TokenBudgetSettings",
    "UsageUnavailable",
]


@explains_names
@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBudgetSettings:
    """Limits on tokens, input and output together; None for no limit. What equals a limit passes.

    Args:
        hard_max_tokens_per_attempt: More in one answer drops it.
        hard_max_tokens_per_operation: More over all answers of an operation, tool rounds included, drops the
            last one.
        soft_max_tokens_per_operation: More over an operation is reported once, and nothing else.

    Raises:
        TypeError: A limit is no int.
        ValueError: A limit is below 1, or the soft one is not below the operation's hard one: then it could
            never be reported.
    """

    hard_max_tokens_per_attempt: int | None = None
    hard_max_tokens_per_operation: int | None = None
    soft_max_tokens_per_operation: int | None = None

    def __post_init__(self) -> None:
        for name, limit in self._limits():
            if limit is not None:
                whole_number(f"TokenBudgetSettings.{name}", limit, minimum=1)
        soft, hard = self.soft_max_tokens_per_operation, self.hard_max_tokens_per_operation
        if soft is not None and hard is not None and soft >= hard:
            raise ValueError(
                f"TokenBudgetSettings.soft_max_tokens_per_operation is {shown(soft)}, which would never be "
                f"reported; give less than hard_max_tokens_per_operation ({shown(hard)}), or leave it out"
            )

    @property
    def is_active(self) -> bool:
        """Whether there is any limit."""
        return any(limit is not None for _, limit in self._limits())

    def _limits(self) -> tuple[tuple[str, int | None], ...]:
        return (
            ("hard_max_tokens_per_attempt", self.hard_max_tokens_per_attempt),
            ("hard_max_tokens_per_operation", self.hard_max_tokens_per_operation),
            ("soft_max_tokens_per_operation", self.soft_max_tokens_per_operation),
        )


class UsageUnavailable:
    """The provider did not say what it used, so nothing was added and nothing can be judged."""


class SoftLimitExceeded(NamedTuple):
    """The operation has used more than its soft limit; comes once per operation."""

    limit_tokens: int
    observed_tokens: int


class HardLimitExceeded(NamedTuple):
    """A hard limit was passed: the answer must not be used."""

    scope: Literal["attempt", "operation"]
    limit_tokens: int
    observed_tokens: int


BudgetOutcome: TypeAlias = UsageUnavailable | SoftLimitExceeded | HardLimitExceeded


class TokenBudget:
    """Tokens of one operation so far. Belongs to that operation, whose attempts come one after the other.

    Args:
        settings: The limits.
    """

    __slots__ = ("_settings", "_soft_is_reported", "_used_tokens")

    def __init__(self, settings: TokenBudgetSettings) -> None:
        self._settings = settings
        self._used_tokens = 0
        self._soft_is_reported = False

    def add(self, input_tokens: int | None, output_tokens: int | None) -> BudgetOutcome | None:
        """Add the usage of one answer.

        Args:
            input_tokens: As the provider counts them; None or less than 0 is no usage report.
            output_tokens: The same.

        Returns:
            None within the limits. One outcome at most: the attempt's hard limit comes before the
            operation's, and a hard limit hides the soft one, which is then still to be reported.
        """
        if not self._settings.is_active:
            return None
        if input_tokens is None or output_tokens is None or input_tokens < 0 or output_tokens < 0:
            return UsageUnavailable()
        attempt_tokens = input_tokens + output_tokens
        self._used_tokens += attempt_tokens
        return self._hard_outcome(attempt_tokens) or self._soft_outcome()

    def _hard_outcome(self, attempt_tokens: int) -> HardLimitExceeded | None:
        limit = self._settings.hard_max_tokens_per_attempt
        if limit is not None and attempt_tokens > limit:
            return HardLimitExceeded(scope="attempt", limit_tokens=limit, observed_tokens=attempt_tokens)
        limit = self._settings.hard_max_tokens_per_operation
        if limit is not None and self._used_tokens > limit:
            return HardLimitExceeded(scope="operation", limit_tokens=limit, observed_tokens=self._used_tokens)
        return None

    def _soft_outcome(self) -> SoftLimitExceeded | None:
        limit = self._settings.soft_max_tokens_per_operation
        if limit is None or self._used_tokens <= limit or self._soft_is_reported:
            return None
        self._soft_is_reported = True
        return SoftLimitExceeded(limit_tokens=limit, observed_tokens=self._used_tokens)
