"""`PortableRules`: rules that travel to another process, which makes one interceptor of them."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from tramapy.dlp.actions import DlpAction
from tramapy.dlp.interceptor import Backend, RuleBasedDlpInterceptor
from tramapy.dlp.packs import ALL, encoded
from tramapy.dlp.rules import DlpRule, RuleBasedDlpConfiguration, RulePack
from tramapy.errors import ConfigurationError
from tramapy.hooks.dlp import DlpContentLocation, DlpContentType, DlpContext

__all__ = ["BULK_CONTEXT", "PortableRules"]

_PACKED: Final[Mapping[str, DlpRule]] = {rule.id: rule for pack in (*ALL, encoded) for rule in pack.rules}

BULK_CONTEXT: Final = DlpContext(
    content_type=DlpContentType.MODEL_INPUT,
    content_location=DlpContentLocation.REQUEST_MESSAGE_CONTENT,
    operation_interface="tramapy",
    operation_method="redact",
    correlation_id="bulk",
)
"""What texts count as that are in no operation: files and batches are on their way to a model."""


@dataclass(frozen=True, slots=True)
class _Pack:
    name: str
    rules: tuple[str | DlpRule, ...]


@dataclass(frozen=True, slots=True, repr=False)
class PortableRules:
    """Rules that can be pickled: those of tramapy's packs travel by id, all others as they are.

    A `validate` of a rule must be a function that can be pickled. A `hash_key` travels along.

    Args:
        configuration: The rules; by default all packs, without a limit on the length of a text.
        backend: What searches: `auto`, `stdlib` or `re2`.
    """

    rules: tuple[str | DlpRule, ...]
    packs: tuple[_Pack, ...]
    max_text_length: int | None
    disabled_rules: frozenset[str]
    actions: tuple[tuple[str, DlpAction], ...]
    allowed_texts: frozenset[str]
    allowed_patterns: tuple[str, ...]
    hash_key: bytes | None
    backend: Backend

    @classmethod
    def of(
        cls, configuration: RuleBasedDlpConfiguration | None = None, *, backend: Backend = "auto"
    ) -> PortableRules:
        """Make them of a configuration; by default of all packs, without a limit on the length of a text.

        Raises:
            ConfigurationError: A rule makes placeholders: their values would be gone with the process; or its
                `validate` cannot be pickled; or no rule looks at such text.
            TypeError: The configuration is something else, such as an interceptor.
        """
        if not isinstance(configuration, RuleBasedDlpConfiguration | None):
            raise TypeError(
                f"PortableRules.of takes a RuleBasedDlpConfiguration, not {type(configuration).__name__}"
            )
        given = RuleBasedDlpConfiguration((), None, packs=ALL) if configuration is None else configuration
        rules = given.all_rules()
        if not any(BULK_CONTEXT.content_type in rule.enabled_for for rule in rules):
            raise ConfigurationError(
                f"No rule is enabled for {BULK_CONTEXT.content_type.name}, so nothing would be redacted; give packs, "
                f"or write enabled_for=DlpContentType on the rules"
            )
        for rule in rules:
            if rule.action is DlpAction.PLACEHOLDER:
                raise ConfigurationError(
                    f"DLP rule {rule.id!r} makes placeholders, and nothing keeps their values here; take another "
                    f"action, such as hash"
                )
            _check_validate(rule)
        return cls(
            rules=_sent(given.rules),
            packs=tuple(_Pack(pack.name, _sent(pack.rules)) for pack in given.packs),
            max_text_length=given.max_text_length,
            disabled_rules=frozenset(given.disabled_rules),
            actions=tuple(given.actions.items()),
            allowed_texts=frozenset(given.allowed_texts),
            allowed_patterns=tuple(given.allowed_patterns),
            hash_key=given.hash_key,
            backend=backend,
        )

    def __repr__(self) -> str:
        return f"PortableRules(<{len(self.packs)} packs, {len(self.rules)} rules>, backend={self.backend!r})"

    def interceptor(self) -> RuleBasedDlpInterceptor:
        """Return the interceptor of this process for these rules; the first call makes it."""
        return _interceptor(self)

    def configuration(self) -> RuleBasedDlpConfiguration:
        """Return the configuration that these were made of."""
        return RuleBasedDlpConfiguration(
            _received(self.rules),
            self.max_text_length,
            packs=[RulePack(pack.name, _received(pack.rules)) for pack in self.packs],
            disabled_rules=self.disabled_rules,
            actions=dict(self.actions),
            allowed_texts=self.allowed_texts,
            allowed_patterns=self.allowed_patterns,
            hash_key=self.hash_key,
        )


@functools.lru_cache(maxsize=4)
def _interceptor(rules: PortableRules) -> RuleBasedDlpInterceptor:
    return RuleBasedDlpInterceptor(rules.configuration(), backend=rules.backend)


def _check_validate(rule: DlpRule) -> None:
    if rule.validate is None or rule is _PACKED.get(rule.id):
        return
    try:
        pickle.dumps(rule.validate)
    except (pickle.PicklingError, AttributeError, TypeError):
        pass
    else:
        return
    raise ConfigurationError(
        f"DLP rule {rule.id!r}: its validate cannot be sent to another process; give a function that is defined at "
        f"the top of a module"
    )


def _sent(rules: Iterable[DlpRule]) -> tuple[str | DlpRule, ...]:
    return tuple(rule.id if rule is _PACKED.get(rule.id) else rule for rule in rules)


def _received(rules: Iterable[str | DlpRule]) -> tuple[DlpRule, ...]:
    return tuple(_PACKED[rule] if isinstance(rule, str) else rule for rule in rules)
