"""What the configuration says to the rules: plain values, for worker processes and cache keys."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_MAX_MEMORY_MB = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSettings:
    """The settings that change what a rule finds.

    Attributes:
        is_strict: Judge reads on receivers of unknown origin; turn optional rules on.
        exception_is_broad: Treat `except Exception` as if it received cancellation.
        allow_cli_guard: Leave `print` under `if __name__ == "__main__"` alone.
        re_exports: Pairs of a project name and the library name that it stands for.
        sensitive_words: Added to the words of SG201.
        harmless_words: Taken from them.
        sanitizers: Functions whose result is clean: qualified names or bare last names, `*` at the end
        allowed.
        rethrow_helpers: Functions that raise their argument if it is a cancellation.
        never_returns: Functions that end the process or always raise.
        cancellation_classes: Further exception classes that hold a cancellation.
        exception_text_paths: Where SG203 is on.
        enabled: Codes of optional rules that are on.
        selected: Codes that run; empty for all.
        ignored: Codes that do not run.
        inline_exemptions: Whether comments in the source exempt.
        max_memory_mb: What judging one file may take; larger files are not judged.
    """

    is_strict: bool = False
    exception_is_broad: bool = False
    allow_cli_guard: bool = False
    re_exports: tuple[tuple[str, str], ...] = ()
    sensitive_words: tuple[str, ...] = ()
    harmless_words: tuple[str, ...] = ()
    sanitizers: tuple[str, ...] = ()
    rethrow_helpers: tuple[str, ...] = ()
    never_returns: tuple[str, ...] = ()
    cancellation_classes: tuple[str, ...] = ()
    exception_text_paths: tuple[str, ...] = ()
    enabled: tuple[str, ...] = ()
    selected: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    inline_exemptions: bool = False
    max_memory_mb: int = DEFAULT_MAX_MEMORY_MB
