"""`RuleBasedDlpInterceptor`: redact by a list of rules, rule by rule."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal, Self, get_args

from tramapy.dlp.cascade import Cascade, RuleRedactor
from tramapy.dlp.conditions import Allowed
from tramapy.dlp.dialect import PatternError
from tramapy.dlp.finders import Re2, load_re2
from tramapy.dlp.matcher import Matcher, compile_pattern
from tramapy.dlp.one_pass import OnePass
from tramapy.dlp.one_pass_stream import OnePassStream
from tramapy.dlp.operators import DlpAction, Operators
from tramapy.dlp.pack_rule import PackRule
from tramapy.dlp.rules import DlpRule, RuleBasedDlpConfiguration, RulePack
from tramapy.dlp.streaming import LimitedDlpStream, text_too_long_error
from tramapy.errors import ConfigurationError
from tramapy.hooks.dlp import DlpContext, DlpResult, StreamingDlpInterceptor

__all__ = ["Backend", "RuleBasedDlpInterceptor"]

Backend = Literal["auto", "stdlib", "re2"]
"""What searches whole texts: google-re2, the standard library, or the former where it is installed."""


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

    def __init__(self, configuration: RuleBasedDlpConfiguration, *, backend: Backend = "auto") -> None:
        if not isinstance(configuration, RuleBasedDlpConfiguration):
            raise TypeError(
                f"RuleBasedDlpInterceptor takes a RuleBasedDlpConfiguration, not "
                f"{type(configuration).__name__}; write RuleBasedDlpConfiguration(rules=[...])"
            )
        re2 = _re2_for(backend)
        self._backend_name: Literal["stdlib", "re2"] = "stdlib" if re2 is None else "re2"
        self._max_text_length = configuration.max_text_length
        self.uses_placeholders: bool = any(
            rule.action is DlpAction.PLACEHOLDER for rule in configuration.all_rules()
        )
        self._engine: OnePass | Cascade = _engine(configuration, re2)

    @classmethod
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
        return self._backend_name

    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        """Return `text` redacted, with one redaction a rule that matched, in the order of the rules.

        Raises:
            DlpInspectionError: The text is longer than `max_text_length`; a rule matched the empty string; or
                the replacement of a rule contains what it replaces, ignoring case.
            ConfigurationError: A rule makes placeholders, and the context has no vault.
        """
        self._require_vault(context)
        if self._max_text_length is not None and len(text) > self._max_text_length:
            raise text_too_long_error(self._max_text_length)
        return self._engine.inspect(context, text)

    def open_stream(self, context: DlpContext) -> LimitedDlpStream:
        """Start an inspection that gives what `inspect` gives for the whole text, however it is split.

        Raises:
            ConfigurationError: A rule makes placeholders, and the context has no vault.
        """
        self._require_vault(context)
        engine = self._engine
        stream = (
            OnePassStream(engine, context) if isinstance(engine, OnePass) else engine.open_stream(context)
        )
        return LimitedDlpStream(stream, self._max_text_length)

    def _require_vault(self, context: DlpContext) -> None:
        if self.uses_placeholders and context.vault is None:
            raise ConfigurationError(
                "A DLP rule makes placeholders, and there is no vault for its values: give the interceptor as "
                "request_dlp, or a DlpContext(vault=Vault()) where you call it yourself"
            )


def _default_packs() -> tuple[RulePack, ...]:
    from tramapy.dlp.packs import ALL  # their patterns take longer to compile than all else takes to import

    return ALL


def _re2_for(backend: Backend) -> Re2 | None:
    if backend not in get_args(Backend):
        raise ConfigurationError("backend takes 'auto', 'stdlib' or 're2'")
    re2 = None if backend == "stdlib" else load_re2()
    if backend == "re2" and re2 is None:
        raise ConfigurationError(
            "backend='re2' needs google-re2, which is not installed; install tramapy[re2], or write backend='auto'"
        )
    return re2


def _engine(configuration: RuleBasedDlpConfiguration, re2: Re2 | None) -> OnePass | Cascade:
    rules = configuration.all_rules()
    operators = Operators(configuration.hash_key)
    allowed = Allowed(
        configuration.allowed_texts,
        [
            _compiled(f"allowed_patterns[{place}]", _Reader(configuration, place), re2)
            for place in range(len(configuration.allowed_patterns))
        ],
    )
    packed = [rule for rule in rules if isinstance(rule, PackRule)]
    added = [
        (rule, _compiled(f"DLP rule {rule.id!r}", _Reader(rule), re2))
        for rule in rules
        if not isinstance(rule, PackRule)
    ]
    if packed:
        return OnePass(packed, added, re2=re2, allowed=allowed, operators=operators)
    return Cascade([RuleRedactor(rule, matcher, allowed, operators) for rule, matcher in added])


class _Reader:
    """Reads a pattern where it is compiled, so that no frame on the way there holds it."""

    __slots__ = ("_owner", "_place")

    def __init__(self, owner: DlpRule | RuleBasedDlpConfiguration, place: int = 0) -> None:
        self._owner = owner
        self._place = place

    def __call__(self) -> str:
        owner = self._owner
        return owner.pattern if isinstance(owner, DlpRule) else owner.allowed_patterns[self._place]


def _compiled(owner: str, read_pattern: Callable[[], str], re2: Re2 | None) -> Matcher:
    """Compile a pattern; no frame that an error passes holds it."""
    try:
        return compile_pattern(read_pattern(), re2)
    except PatternError as refused:
        reason = refused.reason
    # Raised out here, so that no context leads to frames that hold the pattern.
    raise ConfigurationError(f"{owner}: its pattern {reason}. See docs/dlp.md for what is supported.")
