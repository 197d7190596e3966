"""`LogRedactor`: a DLP interceptor over whatever a log line may hold, without ever raising into what logs."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from tramapy.cancellation import rethrow_if_cancellation
from tramapy.dlp.interceptor import RuleBasedDlpInterceptor
from tramapy.errors import ConfigurationError, DlpInspectionError
from tramapy.hooks.composite_dlp import CompositeDlpInterceptor
from tramapy.hooks.dlp import (
    DlpContentLocation,
    DlpContentType,
    DlpContext,
    DlpInterceptor,
    DlpResult,
)
from tramapy.hooks.events import refuse_async
from tramapy.values import class_label, described

__all__ = ["WITHHELD", "LogRedactor", "WithheldLine"]

WITHHELD: Final = "log line withheld: its inspection failed"
"""The text of a line that could not be inspected."""

_NAME: Final = "log"  # of the operation, in the context that an interceptor gets
_MAX_DEPTH: Final = 2
_REMEMBERED_LENGTH: Final = 64
_REMEMBERED_COUNT: Final = 2_048

_Line = TypeVar("_Line")
_Clean = TypeVar("_Clean")


@dataclass(frozen=True, slots=True)
class WithheldLine:
    """Why a line was withheld, without a word of it.

    Args:
        reason: `rejected` by the interceptor, `failed`, or `reentrant`: logged while a line was inspected.
        error_type: The class of the error, if one was raised.
    """

    reason: str
    error_type: str | None = None


class LogRedactor:
    """Inspects texts of log lines, in any thread.

    Args:
        dlp: A plain interceptor that makes no placeholders.
        content_type: What the texts are inspected as; a rule of your own is for MODEL_OUTPUT unless it says more.

    Raises:
        TypeError: `dlp` is no `DlpInterceptor`.
        ConfigurationError: It is async, makes placeholders, or no rule of it looks at this type of text.
    """

    __slots__ = ("_clean", "_context", "_depth", "_dlp", "_is_fixed")

    def __init__(self, dlp: DlpInterceptor, content_type: DlpContentType) -> None:
        _check(dlp, content_type)
        self._dlp = dlp
        self._context = DlpContext(
            content_type=content_type,
            content_location=DlpContentLocation.MODEL_RESPONSE_CONTENT,
            operation_interface=_NAME,
            operation_method=_NAME,
            correlation_id=_NAME,
        )
        self._depth = _Depth()
        self._is_fixed = _is_fixed(dlp)
        # short texts that came out unchanged lately: most of a line's keys, names and words stand in every line
        self._clean: set[str] = set()

    def guarded(self, redact: Callable[[_Line], _Clean], line: _Line) -> _Clean | WithheldLine:
        """Redact a line, or say why it is withheld. Nothing but a cancellation is raised.

        A line that is logged while another is inspected is inspected too, and one beneath that is withheld.
        """
        depth = self._depth
        if depth.count >= _MAX_DEPTH:
            return WithheldLine("reentrant")
        depth.count += 1
        try:
            return redact(line)
        except Exception as error:  # fail closed; a cancellation is let through below
            failure = error
        finally:
            depth.count -= 1
        rethrow_if_cancellation(failure)
        reason = "rejected" if isinstance(failure, DlpInspectionError) else "failed"
        return WithheldLine(reason, class_label(failure))

    def text(self, text: str) -> str:
        """Return an exact str sanitized; raises whatever the interceptor does."""
        if not text or text in self._clean:
            return text
        result = self._dlp.inspect(self._context, text)
        if not isinstance(result, DlpResult):
            _close(result)
            raise TypeError("a DLP interceptor gave no DlpResult")
        sanitized = result.sanitized_text
        if self._is_fixed and sanitized == text and len(text) <= _REMEMBERED_LENGTH:
            self._remember(text)
        return sanitized

    def is_known(self, text: str) -> bool:
        """Tell whether a text came out unchanged lately."""
        return text in self._clean

    def _remember(self, text: str) -> None:
        if len(self._clean) >= _REMEMBERED_COUNT:
            self._clean = set()
        self._clean.add(text)


class _Depth(threading.local):
    """How many lines are inspected in this thread, one within the other."""

    count = 0


def _check(dlp: DlpInterceptor, content_type: DlpContentType) -> None:
    if not isinstance(dlp, DlpInterceptor):
        raise TypeError(f"dlp is {described(dlp)}; derive it from DlpInterceptor")
    if not isinstance(content_type, DlpContentType):
        raise TypeError(f"content_type is {described(content_type)}; give a DlpContentType")
    refuse_async("dlp", dlp, "inspect")
    if dlp.uses_placeholders:
        raise ConfigurationError(
            "dlp makes placeholders, and nobody would put their values back into a log; give one that redacts"
        )
    enabled_for = getattr(dlp, "enabled_for", None)
    if isinstance(enabled_for, frozenset) and content_type not in enabled_for:
        raise ConfigurationError(
            f"No rule of dlp looks at {content_type.name}, so that log lines would pass as they are; "
            f"give the content_type that its rules are enabled for"
        )


def _is_fixed(dlp: DlpInterceptor) -> bool:
    """Tell whether an interceptor always says the same of a text, so that it need not be asked again."""
    # the very classes: a subclass may look things up
    if type(dlp) is CompositeDlpInterceptor:
        return all(map(_is_fixed, dlp.interceptors))
    return type(dlp) is RuleBasedDlpInterceptor


def _close(result: object) -> None:
    """Close a coroutine that nobody will await."""
    if inspect.iscoroutine(result):
        result.close()
