"""`DlpRule` and `RuleBasedDlpConfiguration`: what the rule-based interceptor looks for."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tramapy.errors import ConfigurationError
from tramapy.hooks.dlp import DlpContentType, check_rule_id
from tramapy.values import listed, shown

__all__ = ["DlpRule", "RuleBasedDlpConfiguration"]

_T = TypeVar("_T")
_LARGEST_TEXT_LENGTH = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DlpRule:
    """One thing to look for, and what to put in its place.

    Args:
        id: Names the rule in redactions and errors: lower-case letters, digits, `.`, `_`, `:` and `-`.
        pattern: A regular expression of the dialect in `docs/dlp.md`; it is searched anywhere in the text.
        replacement: Put in place of every match, as it is: `$1` and backslashes have no meaning.
        enabled_for: The types of text to inspect, at least one.
        tool_names: Only the results and arguments of these tools; empty for any text.

    Raises:
        ConfigurationError: A value cannot work.
        ValueError: The id is malformed; the message does not repeat it.
        TypeError: A value has the wrong type.
    """

    id: str
    pattern: str
    replacement: str = "[REDACTED]"
    enabled_for: Collection[DlpContentType] = frozenset({DlpContentType.MODEL_OUTPUT})
    tool_names: Collection[str] = frozenset()

    def __post_init__(self) -> None:
        check_rule_id(self.id)
        self._check_texts()
        object.__setattr__(self, "enabled_for", frozenset(self._members("enabled_for", self.enabled_for)))
        object.__setattr__(self, "tool_names", frozenset(self._members("tool_names", self.tool_names)))
        self._check_enabled_for()
        self._check_tool_names()

    def __repr__(self) -> str:
        return f"DlpRule(id={self.id!r})"

    def _check_texts(self) -> None:
        for name, text in (("pattern", self.pattern), ("replacement", self.replacement)):
            if not isinstance(text, str):
                raise TypeError(f"DLP rule {self.id!r}: {name} takes a str, not {type(text).__name__}")
        if not self.pattern.strip():
            raise ConfigurationError(f"DLP rule {self.id!r}: its pattern is blank; write what it looks for")

    def _members(self, name: str, values: Collection[_T]) -> Collection[_T]:
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            raise TypeError(
                f"DLP rule {self.id!r}: {name} takes several values, such as a set; not "
                f"{type(values).__name__}"
            )
        members = tuple(values)
        if not all(isinstance(member, Hashable) for member in members):
            raise TypeError(f"DLP rule {self.id!r}: {name} has a value that cannot be in a set; see its type")
        return members

    def _check_enabled_for(self) -> None:
        if not self.enabled_for:
            raise ConfigurationError(
                f"DLP rule {self.id!r} is enabled for nothing; name at least one DlpContentType in "
                f"enabled_for, or remove it"
            )
        if not all(isinstance(content_type, DlpContentType) for content_type in self.enabled_for):
            raise TypeError(f"DLP rule {self.id!r}: enabled_for takes members of DlpContentType")

    def _check_tool_names(self) -> None:
        if not all(isinstance(tool_name, str) for tool_name in self.tool_names):
            raise TypeError(f"DLP rule {self.id!r}: tool_names takes names of tools, each a str")
        if not all(tool_name and tool_name == tool_name.strip() for tool_name in self.tool_names):
            raise ConfigurationError(
                f"DLP rule {self.id!r} has a tool name that is blank or has blanks around it; write the name "
                f"as the model calls it"
            )


@dataclass(frozen=True, slots=True)
class RuleBasedDlpConfiguration:
    """The rules, in the order in which they run, and the longest text that they inspect.

    Args:
        rules: Each inspects what the one before it returned. Their ids differ.
        max_text_length: The limit in characters (code points), 1 to 10,000,000; a longer text is refused.

    Raises:
        ConfigurationError: A value cannot work.
        TypeError: A value has the wrong type.
    """

    rules: Sequence[DlpRule] = ()
    max_text_length: int = 100_000

    def __post_init__(self) -> None:
        rules = listed("RuleBasedDlpConfiguration.rules", self.rules, "give a list of DlpRule")
        object.__setattr__(self, "rules", rules)
        ids: set[str] = set()
        for place, rule in enumerate(self.rules):
            if not isinstance(rule, DlpRule):
                raise TypeError(f"rules[{place}] takes a DlpRule, not {type(rule).__name__}")
            if rule.id in ids:
                raise ConfigurationError(f"Two DLP rules have the id {rule.id!r}; give each its own")
            ids.add(rule.id)
        self._check_max_text_length()

    def _check_max_text_length(self) -> None:
        limit = self.max_text_length
        if isinstance(limit, bool) or not isinstance(limit, int):
            raise TypeError(f"max_text_length takes an int, not {type(limit).__name__}")
        if not 1 <= limit <= _LARGEST_TEXT_LENGTH:
            raise ConfigurationError(
                f"max_text_length is {shown(limit)}; it must be between 1 and {_LARGEST_TEXT_LENGTH}"
            )
