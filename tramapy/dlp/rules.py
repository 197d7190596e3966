"""`DlpRule` and `RuleBasedDlpConfiguration`: what the rule-based interceptor looks for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeVar

from tramapy.dlp.actions import DlpAction
from tramapy.dlp.refusing import refuses_quietly
from tramapy.errors import ConfigurationError
from tramapy.hooks.dlp import DlpContentType, check_rule_id
from tramapy.values import each, listed, shown, texts

__all__ = ["DlpRule", "RuleBasedDlpConfiguration", "RulePack"]

_T = TypeVar("_T")
_LARGEST_TEXT_LENGTH = 10_000_000
_SHORTEST_KEY = 16


@refuses_quietly
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DlpRule:
    """One thing to look for, and what to put in its place.

    Args:
        id: Names the rule in redactions and errors: lower-case letters, digits, `.`, `_`, `:` and `-`.
        pattern: A regular expression of the dialect in `docs/dlp.md`; it is searched anywhere in the text.
        replacement: Put in place of every match, as it is: `$1` and backslashes have no meaning.
        enabled_for: The types of text to inspect, at least one.
        tool_names: Only the results and arguments of these tools; empty for any text.
        validate: Called with each match; where it returns False the match is left alone.
        context_words: A match counts only where one of them stands in the 40 characters before it, in any case.
        max_length: A longer match is left alone, in characters.
        action: What is done to a match; `REDACT` puts `replacement` there. `PLACEHOLDER` needs `MODEL_INPUT` among
            `enabled_for`.

    Raises:
        ConfigurationError: A value cannot work. Of a malformed id the message does not repeat it.
        TypeError: A value has the wrong type.
    """

    id: str
    pattern: str
    replacement: str = "[REDACTED]"
    enabled_for: Collection[DlpContentType] = frozenset({DlpContentType.MODEL_OUTPUT})
    tool_names: Collection[str] = frozenset()
    validate: Callable[[str], bool] | None = None
    context_words: Collection[str] = ()
    max_length: int | None = None
    action: DlpAction = DlpAction.REDACT

    def __post_init__(self) -> None:
        _check_id(self.id)
        self._check_texts()
        object.__setattr__(self, "enabled_for", frozenset(self._members("enabled_for", self.enabled_for)))
        object.__setattr__(self, "tool_names", frozenset(self._members("tool_names", self.tool_names)))
        self._check_enabled_for()
        self._check_tool_names()
        self._check_conditions()

    def __repr__(self) -> str:
        return f"DlpRule(id={self.id!r})"

    def _check_texts(self) -> None:
        texts: tuple[tuple[str, object], ...] = (
            ("pattern", self.pattern),
            ("replacement", self.replacement),
        )
        for name, text in texts:
            if not isinstance(text, str):
                remedy = "; give its text, .pattern" if hasattr(text, "pattern") else ""
                raise TypeError(
                    f"DLP rule {self.id!r}: {name} takes a str, not {type(text).__name__}{remedy}"
                )
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

    def _check_conditions(self) -> None:
        words = tuple(self._members("context_words", self.context_words))
        if not all(isinstance(word, str) for word in words):
            raise TypeError(f"DLP rule {self.id!r}: context_words takes words, each a str")
        if not all(word.strip() for word in words):
            raise ConfigurationError(f"DLP rule {self.id!r} has a blank context word; remove it")
        object.__setattr__(self, "context_words", words)
        if self.validate is not None and not callable(self.validate):
            raise TypeError(
                f"DLP rule {self.id!r}: validate takes a function of the match, not {_type_of(self.validate)}"
            )
        if not isinstance(self.action, DlpAction):
            raise TypeError(
                f"DLP rule {self.id!r}: action takes a DlpAction, not {_type_of(self.action)}; for example "
                "DlpAction.MASK"
            )
        if self.action is DlpAction.PLACEHOLDER and DlpContentType.MODEL_INPUT not in self.enabled_for:
            raise ConfigurationError(
                f"DLP rule {self.id!r} makes placeholders, which outgoing text is for; add "
                f"DlpContentType.MODEL_INPUT to its enabled_for"
            )
        if self.max_length is not None:
            if isinstance(self.max_length, bool) or not isinstance(self.max_length, int):
                raise TypeError(
                    f"DLP rule {self.id!r}: max_length takes an int, not {_type_of(self.max_length)}"
                )
            if self.max_length < 1:
                raise ConfigurationError(
                    f"DLP rule {self.id!r}: max_length is {shown(self.max_length)}; at least 1"
                )


@dataclass(frozen=True, slots=True)
class RulePack:
    """Rules that belong together.

    Args:
        name: Names the pack in rule files.
        rules: In order of precedence.

    Raises:
        TypeError: A field has the wrong type.
    """

    name: str
    rules: tuple[DlpRule, ...]

    def __post_init__(self) -> None:
        texts(self, "RulePack", "name")
        object.__setattr__(self, "rules", each("RulePack.rules", self.rules, (DlpRule,), "give DlpRule(...)"))


@refuses_quietly
@dataclass(frozen=True, slots=True)
class RuleBasedDlpConfiguration:
    """What to look for, and what to do about it.

    Without packs the rules run one after another, each on the text that the one before it returned. With packs,
    theirs and `rules` look at the same text in one pass, and cuts that overlap become one.

    Args:
        rules: Your own. Their ids differ; one with the id of a pack's rule takes its place.
        max_text_length: The limit in characters (code points), 1 to 10,000,000; a longer text is refused. None
            sets no limit.
        packs: Such as `tramapy.dlp.packs.secrets`.
        disabled_rules: Ids of rules of the packs that are left out.
        actions: What is done to the matches of a rule, by its id; the others do what they say themselves.
        allowed_texts: Matches that stay as they are, in any case.
        allowed_patterns: Patterns of the dialect; what one of them matches as a whole stays as it is.
        hash_key: The key for `DlpAction.HASH`, at least 16 bytes.

    Raises:
        ConfigurationError: A value cannot work.
        TypeError: A value has the wrong type.
    """

    rules: Sequence[DlpRule] = ()
    max_text_length: int | None = 100_000
    packs: Sequence[RulePack] = field(default=(), kw_only=True)
    disabled_rules: Collection[str] = field(default=frozenset(), kw_only=True)
    actions: Mapping[str, DlpAction] = field(default_factory=dict[str, DlpAction], kw_only=True)
    allowed_texts: Collection[str] = field(default=frozenset(), kw_only=True, repr=False)
    allowed_patterns: Sequence[str] = field(default=(), kw_only=True, repr=False)
    hash_key: bytes | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        rules = listed("RuleBasedDlpConfiguration.rules", self.rules, "give a list of DlpRule")
        packs = listed("RuleBasedDlpConfiguration.packs", self.packs, "give a list of RulePack")
        object.__setattr__(self, "rules", rules)
        object.__setattr__(self, "packs", packs)
        _check_rules(self.rules)
        self._check_packs()
        self._check_actions()
        self._check_allowed()
        self._check_max_text_length()

    def all_rules(self) -> tuple[DlpRule, ...]:
        """Return the rules of the packs that are in use, then the others, each with the action that it takes."""
        own = {rule.id for rule in self.rules}
        packed = (rule for pack in self.packs for rule in pack.rules)
        used = [rule for rule in packed if rule.id not in own and rule.id not in self.disabled_rules]
        return tuple(
            replace(rule, action=self.actions[rule.id]) if rule.id in self.actions else rule
            for rule in (*used, *self.rules)
        )

    def _check_packs(self) -> None:
        for place, pack in enumerate(self.packs):
            if not isinstance(pack, RulePack):
                raise TypeError(
                    f"packs[{place}] takes a RulePack such as tramapy.dlp.packs.secrets, not {_type_of(pack)}"
                )
        _check_rules([rule for pack in self.packs for rule in pack.rules])
        disabled = _strings("disabled_rules", self.disabled_rules)
        object.__setattr__(self, "disabled_rules", frozenset(disabled))
        _check_known("disabled_rules", disabled, {rule.id for pack in self.packs for rule in pack.rules})

    def _check_actions(self) -> None:
        if not isinstance(self.actions, Mapping):
            raise TypeError(f"actions takes a mapping of rule ids to DlpAction, not {_type_of(self.actions)}")
        actions = dict(self.actions)
        _check_known(
            "actions", actions, {rule.id for rule in (*self.rules, *(r for p in self.packs for r in p.rules))}
        )
        for rule_id, action in actions.items():
            if not isinstance(action, DlpAction):
                raise TypeError(
                    f"actions[{rule_id!r}] takes a DlpAction, not {_type_of(action)}; for example DlpAction.MASK"
                )
        object.__setattr__(self, "actions", MappingProxyType(actions))
        if self.hash_key is not None:
            if not isinstance(self.hash_key, bytes):
                raise TypeError(f"hash_key takes bytes, not {_type_of(self.hash_key)}")
            if len(self.hash_key) < _SHORTEST_KEY:
                raise ConfigurationError(
                    f"hash_key has {len(self.hash_key)} bytes; take at least {_SHORTEST_KEY}, from secrets.token_bytes"
                )
        elif any(rule.action is DlpAction.HASH for rule in self.all_rules()):
            raise ConfigurationError(
                "A rule's action is HASH; give a secret hash_key, from secrets.token_bytes(32); "
                "in a file of rules hash_key_env names the variable that holds it"
            )

    def _check_allowed(self) -> None:
        object.__setattr__(self, "allowed_texts", frozenset(_strings("allowed_texts", self.allowed_texts)))
        object.__setattr__(
            self, "allowed_patterns", tuple(_strings("allowed_patterns", self.allowed_patterns))
        )

    def _check_max_text_length(self) -> None:
        limit = self.max_text_length
        if limit is None:
            return
        if isinstance(limit, bool) or not isinstance(limit, int):
            raise TypeError(f"max_text_length takes an int, not {_type_of(limit)}")
        if not 1 <= limit <= _LARGEST_TEXT_LENGTH:
            raise ConfigurationError(
                f"max_text_length is {shown(limit)}; it must be between 1 and {_LARGEST_TEXT_LENGTH}"
            )


def _check_rules(rules: Sequence[DlpRule]) -> None:
    ids: set[str] = set()
    for place, rule in enumerate(rules):
        if not isinstance(rule, DlpRule):
            raise TypeError(f"rules[{place}] takes a DlpRule, not {_type_of(rule)}")
        if rule.id in ids:
            raise ConfigurationError(f"Two DLP rules have the id {rule.id!r}; give each its own")
        ids.add(rule.id)


def _check_known(name: str, ids: Iterable[str], known: Collection[str]) -> None:
    for rule_id in ids:
        if rule_id not in known:
            named = f": {rule_id!r}" if _is_rule_id(rule_id) else ""
            raise ConfigurationError(
                f"{name} names a rule that there is not{named}; {_remedy(rule_id, sorted(known))}"
            )


def _remedy(rule_id: str, known: Sequence[str]) -> str:
    import difflib  # only who is wrong pays for it

    near = difflib.get_close_matches(rule_id, known, n=1) if _is_rule_id(rule_id) else []
    return f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known) or 'none: give packs'}"


def _check_id(rule_id: str) -> None:
    try:
        check_rule_id(rule_id)
    except ValueError as error:
        refused = ConfigurationError(f"DlpRule.id: {error}")
    else:
        return
    raise refused


def _is_rule_id(text: str) -> bool:
    """Tell whether a text is formed as a rule's id; another may be anything, and is not shown."""
    try:
        check_rule_id(text)
    except (TypeError, ValueError):
        return False
    return True


def _strings(name: str, values: Collection[str]) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name} takes several strings, such as a list; not {_type_of(values)}")
    strings = tuple(values)
    if not all(isinstance(value, str) for value in strings):
        raise TypeError(f"{name} takes strings only")
    return strings


def _type_of(value: object) -> str:
    return type(value).__name__
