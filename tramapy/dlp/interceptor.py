"""`RuleBasedDlpInterceptor`: redact by a list of rules, rule by rule."""

from __future__ import annotations

from typing import Literal, get_args

from tramapy.dlp.dialect import PatternError
from tramapy.dlp.finders import Re2, load_re2
from tramapy.dlp.matcher import compile_pattern
from tramapy.dlp.redactor import RuleRedactor
from tramapy.dlp.rules import DlpRule, RuleBasedDlpConfiguration
from tramapy.dlp.streaming import RuleBasedDlpStream, text_too_long_error
from tramapy.errors import ConfigurationError
from tramapy.hooks.dlp import DlpContext, DlpRedaction, DlpResult, StreamingDlpInterceptor

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
        self._redactors = tuple(_compiled(rule, re2) for rule in configuration.rules)

    @property
    def backend_name(self) -> Literal["stdlib", "re2"]:
        """The backend in use."""
        return self._backend_name

    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        """Return `text` redacted, with one redaction a rule that matched, in the order of the rules.

        Raises:
            DlpInspectionError: The text is longer than `max_text_length`; a rule matched the empty string; or
                the replacement of a rule contains what it replaces, ignoring case.
        """
        if len(text) > self._max_text_length:
            raise text_too_long_error(self._max_text_length)
        redactions: list[DlpRedaction] = []
        for redactor in self._redactors:
            if not redactor.applies_to(context):
                continue
            redacted = redactor.redact(text)
            text = redacted.text
            if redacted.count:
                redactions.append(DlpRedaction(redactor.rule.id, redacted.count))
        return DlpResult(text, tuple(redactions))

    def open_stream(self, context: DlpContext) -> RuleBasedDlpStream:
        """Start an inspection that gives what `inspect` gives for the whole text, however it is split."""
        streams = [redactor.open_stream() for redactor in self._redactors if redactor.applies_to(context)]
        return RuleBasedDlpStream(streams, self._max_text_length)


def _re2_for(backend: Backend) -> Re2 | None:
    if backend not in get_args(Backend):
        raise ConfigurationError("backend takes 'auto', 'stdlib' or 're2'")
    re2 = None if backend == "stdlib" else load_re2()
    if backend == "re2" and re2 is None:
        raise ConfigurationError(
            "backend='re2' needs google-re2, which is not installed; install tramapy[re2], or write backend='auto'"
        )
    return re2


def _compiled(rule: DlpRule, re2: Re2 | None) -> RuleRedactor:
    try:
        return RuleRedactor(rule, compile_pattern(rule.pattern, re2))
    except PatternError as refused:
        reason = refused.reason
    # Raised out here, so that no context leads to frames that hold the pattern.
    raise ConfigurationError(
        f"DLP rule {rule.id!r}: its pattern {reason}. See docs/dlp.md for what is supported."
    )
