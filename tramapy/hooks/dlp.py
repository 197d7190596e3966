"""`DlpInterceptor`: inspect what a model or a tool says, and redact or reject it before anyone sees it."""

from __future__ import annotations

import abc
import enum
import re
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

from tramapy.keywords import explains_names
from tramapy.values import MOST, exact_text, instance, listed, shown

__all__ = [
    "ClassificationSource",
    "DataClassification",
    "DlpContentLocation",
    "DlpContentType",
    "DlpContext",
    "DlpInterceptor",
    "DlpRedaction",
    "DlpRedactionAuditEmitter",
    "DlpResult",
    "DlpStream",
    "PartedDlpStream",
    "PlaceholderVault",
    "StreamingDlpInterceptor",
    "ToolResultFilteringSettings",
    "check_rule_id",
    "parted",
    "unchanged",
    "unchecked_result",
]

_RULE_ID = re.compile(r"[a-z0-9][a-z0-9._:\-]{0,127}\Z")


class DlpContentType(enum.Enum):
    """Whose text is inspected."""

    MODEL_OUTPUT = "model_output"
    TOOL_RESULT = "tool_result"
    MODEL_INPUT = "model_input"


class DlpContentLocation(enum.Enum):
    """Where in a message or response the text stands."""

    MODEL_RESPONSE_CONTENT = "model_response_content"
    MODEL_RESPONSE_REFUSAL = "model_response_refusal"
    MODEL_RESPONSE_REASONING = "model_response_reasoning"
    MODEL_RESPONSE_TOOL_ARGUMENTS = "model_response_tool_arguments"
    TOOL_MESSAGE_CONTENT = "tool_message_content"
    TOOL_MESSAGE_TEXT_RUN = "tool_message_text_run"
    PROVIDER_ERROR_BODY = "provider_error_body"
    REQUEST_MESSAGE_CONTENT = "request_message_content"
    REQUEST_TOOL_ARGUMENTS = "request_tool_arguments"


class DataClassification(enum.Enum):
    """How sensitive the caller says the operation's data is."""

    PUBLIC = "public"
    INTERNAL = "internal"
    CONFIDENTIAL = "confidential"
    RESTRICTED = "restricted"


class ClassificationSource(enum.Enum):
    """Who classified the data."""

    DECLARED = "declared"
    RULE_BASED = "rule_based"
    LOCAL_MODEL_ASSISTED = "local_model_assisted"


class PlaceholderVault(Protocol):
    """Takes values out of a text and gives a placeholder for each; `Vault` is one."""

    def protect(self, rule_id: str, value: str) -> str:
        """Return the placeholder to write in the place of a value.

        Raises:
            DlpInspectionError: It takes no more values.
        """
        ...


@explains_names
@dataclass(frozen=True, slots=True, kw_only=True)
class DlpContext:
    """What is inspected, for whom.

    Args:
        content_type: Whose text it is.
        content_location: Where it stands.
        operation_interface: The operation's `service_interface`.
        operation_method: The operation's `method_name`.
        correlation_id: The operation's id.
        provider_id: The provider of the attempt; None for tool results and outgoing text.
        model_name: The route's model; None for tool results and outgoing text.
        tool_name: The tool; None unless the text is a tool's result or its arguments.
        workflow_run_id: The caller's id of a longer run.
        data_classification: What the caller declared.
        classification_source: Who declared it.
        vault: Where the values go that are replaced by placeholders. The engine gives the operation's for
            outgoing text, where `request_dlp` uses placeholders; else None.
    """

    content_type: DlpContentType
    content_location: DlpContentLocation
    operation_interface: str
    operation_method: str
    correlation_id: str
    provider_id: str | None = None
    model_name: str | None = None
    tool_name: str | None = None
    workflow_run_id: str | None = None
    data_classification: DataClassification | None = None
    classification_source: ClassificationSource | None = None
    vault: PlaceholderVault | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        # by a str in an enum's place no rule would look at the text, and nobody would notice
        instance(
            "DlpContext.content_type",
            self.content_type,
            DlpContentType,
            "for example DlpContentType.MODEL_OUTPUT",
        )
        instance(
            "DlpContext.content_location",
            self.content_location,
            DlpContentLocation,
            "for example DlpContentLocation.MODEL_RESPONSE_CONTENT",
        )


@explains_names
@dataclass(frozen=True, slots=True)
class DlpRedaction:
    """Evidence of a redaction: which rule, how often; never what it matched.

    Args:
        rule_id: Lower-case letters, digits, `.`, `_`, `:` and `-`, at most 128 characters.
        replacement_count: How many matches were replaced, at least 1.
    """

    rule_id: str
    replacement_count: int

    def __post_init__(self) -> None:
        check_rule_id(self.rule_id)
        if isinstance(self.replacement_count, bool) or not isinstance(self.replacement_count, int):
            raise TypeError("DlpRedaction.replacement_count takes an int")
        if self.replacement_count < 1:
            raise ValueError(
                "DlpRedaction.replacement_count is below 1; report a rule only where it replaced something"
            )
        if self.replacement_count > MOST:
            raise ValueError(
                "DlpRedaction.replacement_count does not fit into 64 bits; count what was replaced"
            )


@explains_names
@dataclass(frozen=True, slots=True, repr=False, init=False)
class DlpResult:
    """The outcome of one inspection; `sanitized_text` is authoritative.

    Text that changed without a redaction is tolerated only where no audit emitter is configured; redactions
    without a change never are. Both fail closed.

    Raises:
        TypeError: The text is no str, or a redaction no `DlpRedaction`.
    """

    sanitized_text: str
    redactions: tuple[DlpRedaction, ...] = ()

    def __init__(self, sanitized_text: str, redactions: Iterable[DlpRedaction] = ()) -> None:
        # through the slots themselves: this runs for every text, and a frozen dataclass's own way costs thrice
        if type(sanitized_text) is not str:
            if not isinstance(sanitized_text, str):
                raise TypeError(f"DlpResult.sanitized_text takes a str, not {type(sanitized_text).__name__}")
            # an exact str: a subclass decides for itself what it equals, and equality decides what is released
            sanitized_text = exact_text(sanitized_text)
        _set_text(self, sanitized_text)
        if redactions == ():
            _set_redactions(self, ())
            return
        found = (
            tuple(redactions)
            if isinstance(redactions, tuple | list)
            else listed("DlpResult.redactions", redactions, "give DlpRedaction values")
        )
        for redaction in found:
            if not isinstance(redaction, DlpRedaction):
                raise TypeError(f"DlpResult.redactions takes DlpRedaction, not {type(redaction).__name__}")
        _set_redactions(self, found)

    @property
    def has_redactions(self) -> bool:
        """Whether any rule replaced something."""
        return bool(self.redactions)

    def __repr__(self) -> str:
        return f"DlpResult(<{len(self.sanitized_text)} characters>, redactions={self.redactions!r})"


_set_text = DlpResult.__dict__["sanitized_text"].__set__
_set_redactions = DlpResult.__dict__["redactions"].__set__


class _ResultDraft:
    """A result that may be filled in; see `engine.drafts`."""

    __slots__ = DlpResult.__slots__


def unchecked_result(sanitized_text: str, redactions: tuple[DlpRedaction, ...]) -> DlpResult:
    """Make a result without the checks, three times as fast; for an exact str and redactions that were made here."""
    draft: Any = _ResultDraft()
    draft.sanitized_text = sanitized_text
    draft.redactions = redactions
    draft.__class__ = DlpResult
    result: DlpResult = draft
    return result


def unchanged(text: str) -> DlpResult:
    """Return what `DlpResult(text)` is: most texts hold nothing."""
    return unchecked_result(text, ()) if type(text) is str else DlpResult(text)


class InspectedParts(NamedTuple):
    """What became of the parts of a text.

    Args:
        texts: The parts as they may go on; those between which something was replaced are one.
        redactions: What was replaced.
    """

    texts: Sequence[str]
    redactions: Sequence[DlpRedaction]

    def __repr__(self) -> str:
        return f"InspectedParts(<{len(self.texts)} texts>, redactions={self.redactions!r})"


class DlpInterceptor(abc.ABC):
    """Inspects text and returns it sanitized; raise `DlpInspectionError` to reject it.

    `inspect` may be `async def` under `AsyncTramapy`. Whatever it raises fails the operation closed: no
    retry, no fallback, no breaker count.
    """

    uses_placeholders: bool = False
    """Set True where `inspect` puts values into `DlpContext.vault`: then as `request_dlp` it gets one.

    The engine restores the values in the answer. As `dlp` such an interceptor is refused.
    """

    @abc.abstractmethod
    def inspect(self, context: DlpContext, text: str) -> DlpResult | Awaitable[DlpResult]:
        """Return `text` sanitized, with evidence of what was redacted.

        Args:
            context: What the text is and where it stands.
            text: A whole slot; adjacent text parts come as one run, and then each by itself.
        """

    def inspect_parts(self, context: DlpContext, parts: Sequence[str]) -> InspectedParts | None:
        """Inspect the parts of a text, all together and each by itself; None asks `inspect` for these texts.

        Where both are looked at before anything is replaced, nothing is left of what one part holds and the joined
        text hides.

        Args:
            context: What the text is and where it stands.
            parts: Two or more, none of them empty.
        """
        return None


@runtime_checkable
class DlpStream(Protocol):
    """The incremental inspection of one text; its pieces joined equal what `inspect` gives for the whole."""

    @property
    def redactions(self) -> Sequence[DlpRedaction]:
        """All redactions so far, counts added up by rule."""
        ...

    def feed(self, text: str) -> str:
        """Take the next piece and return what is safe to release now, possibly nothing."""
        ...

    def finish(self) -> str:
        """Decide what was held back and return it. Called once, at the end."""
        ...

    def abort(self) -> None:
        """Drop what was held back. Called instead of `finish`, on a failure or an early exit."""
        ...


@runtime_checkable
class PartedDlpStream(DlpStream, Protocol):
    """A `DlpStream` that knows of parts: a text that a provider cuts into blocks is read both joined and by its blocks.

    What ends or begins a part is then found where the other part goes on with a letter or a digit, too. A stream
    without these methods inspects adjacent parts as one text, and those on both sides of a tool call as two.
    """

    def end_part(self) -> None:
        """End a part behind what was fed; what comes next is another one."""
        ...

    def flush(self) -> str:
        """End a part and return all that is held back, as `finish` would: something else comes before the next part.

        That one is read behind all of the parts before it. Of what lies across, the beginning may be out.
        """
        ...

    def take_seams(self) -> Sequence[int]:
        """Return where in what was released last one part ends and the next one begins; asked at most once."""
        ...


def parted(stream: DlpStream) -> PartedDlpStream | None:
    """Return a stream that knows of parts; None for any other. `isinstance` takes 20 µs, and each text passes here."""
    knows_parts = all(hasattr(stream, name) for name in ("end_part", "flush", "take_seams"))
    return cast("PartedDlpStream", stream) if knows_parts else None


class StreamingDlpInterceptor(DlpInterceptor):
    """A `DlpInterceptor` that can also inspect a text while it arrives."""

    @abc.abstractmethod
    def open_stream(self, context: DlpContext) -> DlpStream | None:
        """Start an incremental inspection; None makes the engine buffer this text and call `inspect`."""


class DlpRedactionAuditEmitter(abc.ABC):
    """Records redactions in an audit trail; a failure fails the operation with `DlpInspectionError`.

    Attributes:
        may_block: Whether a plain `emit` may wait, for a disk or a network. `AsyncTramapy` and wrapped async clients
            refuse one that may: it would stop every task of the event loop.
    """

    may_block: bool = False

    @abc.abstractmethod
    def emit(self, context: DlpContext, redactions: Sequence[DlpRedaction]) -> Awaitable[None] | None:
        """Record `redactions`; it is awaited before the sanitized text is handed on. May be `async def`."""


@explains_names
@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultFilteringSettings:
    """How much text a tool result may hold, before and after its inspection.

    Args:
        default_max_aggregate_text_length: Limit in characters (code points).
        max_aggregate_text_length_by_tool: Limits for single tools, by the called name.
    """

    default_max_aggregate_text_length: int = 100_000
    max_aggregate_text_length_by_tool: Mapping[str, int] = field(default_factory=dict[str, int])

    def __post_init__(self) -> None:
        _check_limit("default_max_aggregate_text_length", self.default_max_aggregate_text_length)
        if not isinstance(self.max_aggregate_text_length_by_tool, Mapping):
            raise TypeError(
                f"max_aggregate_text_length_by_tool takes a mapping, not a "
                f"{type(self.max_aggregate_text_length_by_tool).__name__}; for example {{'search': 5000}}"
            )
        limits = dict(self.max_aggregate_text_length_by_tool)
        for tool_name, limit in limits.items():
            if not isinstance(tool_name, str):
                raise TypeError(
                    f"max_aggregate_text_length_by_tool has a key of type {type(tool_name).__name__}; each is a str"
                )
            if not tool_name or tool_name != tool_name.strip():
                raise ValueError(
                    "max_aggregate_text_length_by_tool has a tool name that is blank or has blanks around it"
                )
            _check_limit(f"max_aggregate_text_length_by_tool[{tool_name!r}]", limit)
        object.__setattr__(self, "max_aggregate_text_length_by_tool", MappingProxyType(limits))

    def limit_for(self, tool_name: str | None) -> int:
        """Return the limit in characters for a tool."""
        if tool_name is None:
            return self.default_max_aggregate_text_length
        return self.max_aggregate_text_length_by_tool.get(tool_name, self.default_max_aggregate_text_length)


def check_rule_id(rule_id: str) -> str:
    """Return `rule_id`, or raise `ValueError` in words that never repeat it: it may hold what it matched."""
    if not isinstance(rule_id, str):
        raise TypeError(f"a DLP rule id is a str, not {type(rule_id).__name__}")
    if _RULE_ID.match(rule_id) is not None:
        return rule_id
    if not rule_id.strip():
        raise ValueError("a DLP rule id is blank; name the rule, for example 'ssn'")
    if rule_id != rule_id.strip():
        raise ValueError("a DLP rule id has blanks around it; remove them")
    if len(rule_id) > 128:
        raise ValueError("a DLP rule id is longer than 128 characters; shorten it")
    raise ValueError(
        "a DLP rule id starts with a lower-case letter or digit; then also '.', '_', ':' and '-'"
    )


def _check_limit(name: str, limit: int) -> None:
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise TypeError(f"{name} takes an int, not {type(limit).__name__}")
    if limit < 1:
        raise ValueError(f"{name} is {shown(limit)}; it must be at least 1")
