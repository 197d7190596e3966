"""`RuleBasedDlpInterceptor`: redact by a list of rules, rule by rule."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Self, get_args

from tramapy.dlp.actions import DlpAction
from tramapy.dlp.limited_stream import LimitedDlpStream, text_too_long_error
from tramapy.dlp.refusing import without_arguments
from tramapy.dlp.rules import DlpRule, RuleBasedDlpConfiguration, RulePack
from tramapy.errors import ConfigurationError
from tramapy.hooks.dlp import (
    DlpContentLocation,
    DlpContentType,
    DlpContext,
    DlpResult,
    InspectedParts,
    PlaceholderVault,
    StreamingDlpInterceptor,
)
from tramapy.keywords import requires

if TYPE_CHECKING:
    from tramapy.dlp.compiling import Engine

__all__ = ["Backend", "RuleBasedDlpInterceptor"]

Backend = Literal["auto", "stdlib", "re2"]
"""What searches whole texts: google-re2, the standard library, or the former where it is installed."""

_LOCATIONS = {
    DlpContentType.MODEL_OUTPUT: DlpContentLocation.MODEL_RESPONSE_CONTENT,
    DlpContentType.TOOL_RESULT: DlpContentLocation.TOOL_MESSAGE_CONTENT,
    DlpContentType.MODEL_INPUT: DlpContentLocation.REQUEST_MESSAGE_CONTENT,
}


class RuleBasedDlpInterceptor(StreamingDlpInterceptor):
    """Redacts what a list of rules matches, in time linear in the text.

    The rules run in their order, each on the text that the one before it returned. One instance may serve any
    number of threads.

    Args:
        configuration: The rules and the longest text.
        backend: `re2` or `stdlib`; `auto` is `re2` where it is installed. The results are the same.

    Raises:
        ConfigurationError: A pattern is outside the dialect, or `re2` is not installed. The message names the
            rule, never its pattern.
    """

    _rule_count = 0

    @requires(
        "configuration",
        "write RuleBasedDlpInterceptor.with_default_rules(), or give a RuleBasedDlpConfiguration(rules=[...])",
    )
    def __init__(self, configuration: RuleBasedDlpConfiguration, *, backend: Backend = "auto") -> None:
        if not isinstance(configuration, RuleBasedDlpConfiguration):
            raise TypeError(
                f"RuleBasedDlpInterceptor takes a RuleBasedDlpConfiguration, not "
                f"{type(configuration).__name__}; write RuleBasedDlpConfiguration(rules=[...])"
            )
        if backend not in get_args(Backend):
            raise ConfigurationError("backend takes 'auto', 'stdlib' or 're2'")
        self._max_text_length = configuration.max_text_length
        rules = configuration.all_rules()
        self.uses_placeholders: bool = any(rule.action is DlpAction.PLACEHOLDER for rule in rules)
        self.enabled_for: frozenset[DlpContentType] = frozenset().union(*(rule.enabled_for for rule in rules))
        """The types of text that any of its rules looks at."""
        self._rule_count = len(rules)
        self._engine: Engine = _compiled(configuration, backend)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(<{self._rule_count} rules>)"

    @classmethod
    @without_arguments
    def with_default_rules(
        cls,
        *,
        backend: Backend = "auto",
        packs: Sequence[RulePack] | None = None,
        rules: Sequence[DlpRule] = (),
        disabled_rules: Collection[str] = (),
        actions: Mapping[str, DlpAction] | None = None,
        allowed_texts: Collection[str] = (),
        allowed_patterns: Sequence[str] = (),
        hash_key: bytes | None = None,
    ) -> Self:
        """Make an interceptor with all rule packs, or those named, and no limit on the length of a text.

        The arguments are those of `RuleBasedDlpConfiguration`; `packs=None` takes `tramapy.dlp.packs.ALL`.
        """
        configuration = RuleBasedDlpConfiguration(
            rules,
            None,
            packs=_default_packs() if packs is None else packs,
            disabled_rules=disabled_rules,
            actions={} if actions is None else actions,
            allowed_texts=allowed_texts,
            allowed_patterns=allowed_patterns,
            hash_key=hash_key,
        )
        return cls(configuration, backend=backend)

    @property
    def backend_name(self) -> Literal["stdlib", "re2"]:
        """The backend in use."""
        return self._engine.backend_name

    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        """Return `text` redacted, with one redaction a rule that matched, in the order of the rules.

        Raises:
            DlpInspectionError: The text is longer than `max_text_length`; a rule matched the empty string; or
                the replacement of a rule contains what it replaces, ignoring case.
            ConfigurationError: A rule makes placeholders, and the context has no vault.
            TypeError: There is no context, or no text; for a text of no operation there is `redact`.
        """
        if type(context) is not DlpContext or type(text) is not str:
            _require_context(context, text)
        if (
            self.uses_placeholders or self._max_text_length is not None
        ):  # a call costs 60 ns, and each text passes here
            self._check(context, len(text))
        return self._engine.inspect(context, text)

    def inspect_parts(self, context: DlpContext, parts: Sequence[str]) -> InspectedParts | None:
        """Return the parts of a text redacted, by what all hold together and by what each holds by itself.

        Args:
            context: What the text is.
            parts: What it is joined of.

        Returns:
            None where the parts are to be inspected one after another: by rules without packs, and by subclasses that
            override `inspect` alone.

        Raises:
            DlpInspectionError: As `inspect` does.
            ConfigurationError: As `inspect` does.
        """
        self._check(context, sum(map(len, parts)))
        return self._engine.inspect_parts(context, parts)

    def _check(self, context: DlpContext, length: int) -> None:
        if self.uses_placeholders:
            _require_vault(context)
        if self._max_text_length is not None and length > self._max_text_length:
            raise text_too_long_error(self._max_text_length)

    def redact(
        self,
        text: str,
        *,
        content_type: DlpContentType = DlpContentType.MODEL_OUTPUT,
        vault: PlaceholderVault | None = None,
    ) -> DlpResult:
        """Return a text redacted that belongs to no operation: a log line, a record, an example in a test.

        Args:
            text: The text.
            content_type: Whose text it is taken for: the rules that are enabled for it run.
            vault: Takes the values of placeholders.

        Raises:
            DlpInspectionError: As `inspect` does.
            ConfigurationError: A rule makes placeholders, and there is no vault.
            TypeError: The text is no `str`, or `content_type` no member of `DlpContentType`.
        """
        if not isinstance(text, str):
            raise _no_text(text)
        if not isinstance(content_type, DlpContentType):
            raise TypeError("content_type takes a DlpContentType, such as DlpContentType.MODEL_OUTPUT")
        context = DlpContext(
            content_type=content_type,
            content_location=_LOCATIONS[content_type],
            operation_interface="",
            operation_method="redact",
            correlation_id="",
            vault=vault,
        )
        return self.inspect(context, text)

    def __init_subclass__(cls, **options: object) -> None:
        """Let a subclass that inspects in its own way be asked for whole texts alone."""
        super().__init_subclass__(**options)
        base = RuleBasedDlpInterceptor
        if cls.inspect is not base.inspect and cls.open_stream is base.open_stream:
            # otherwise a stream would pass by the subclass's rules
            setattr(cls, "open_stream", _whole_texts_only)  # noqa: B010  # the type stays that of the base
        if cls.inspect is not base.inspect and cls.inspect_parts is base.inspect_parts:
            setattr(cls, "inspect_parts", _one_after_another)  # noqa: B010

    def open_stream(self, context: DlpContext) -> LimitedDlpStream:
        """Start an inspection that gives what `inspect` gives for the whole text, however it is split.

        Raises:
            ConfigurationError: A rule makes placeholders, and the context has no vault.
            TypeError: It is no context.
        """
        _require_context(context, "")
        if self.uses_placeholders:
            _require_vault(context)
        return LimitedDlpStream(self._engine.open_stream(context), self._max_text_length)


def _one_after_another(
    interceptor: RuleBasedDlpInterceptor, context: DlpContext, parts: Sequence[str]
) -> None:
    """Inspect no parts."""


# a text that is missing is refused in our words, at no cost; for type checkers it stays required
RuleBasedDlpInterceptor.inspect.__defaults__ = (None,)


def _whole_texts_only(interceptor: RuleBasedDlpInterceptor, context: DlpContext) -> None:
    """Open no stream."""


def _no_text(given: object) -> TypeError:
    kind = type(given)
    how = "; decode bytes first" if issubclass(kind, bytes | bytearray) else ""
    return TypeError(f"text takes a str, not {kind.__name__}{how}")


def _require_context(context: object, text: object) -> None:
    if isinstance(context, DlpContext) and isinstance(text, str):
        return
    if isinstance(context, DlpContext):
        raise _no_text(text)
    raise TypeError(
        f"context takes a DlpContext, not {type(context).__name__}; for a text of no operation write redact(text)"
    )


def _require_vault(context: DlpContext) -> None:
    if context.vault is None:
        raise ConfigurationError(
            "A DLP rule makes placeholders, and there is no vault for its values: give the interceptor as "
            "request_dlp, or write vault=Vault() where you call it yourself"
        )


def _default_packs() -> tuple[RulePack, ...]:
    from tramapy.dlp.packs import ALL  # their patterns take longer to compile than all else takes to import

    return ALL


def _compiled(configuration: RuleBasedDlpConfiguration, backend: Backend) -> Engine:
    from tramapy.dlp.compiling import compile_rules  # takes thrice as long to import as all else here

    return compile_rules(configuration, backend)
