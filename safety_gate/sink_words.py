"""The words that call a sink. Apart from `sinks`, so that the filter reads them without the analysis."""

from __future__ import annotations

LOG_METHODS = frozenset(
    {
        "debug",
        "info",
        "warning",
        "warn",
        "error",
        "exception",
        "critical",
        "fatal",
        "log",
        "trace",
        "success",
        "msg",
    }
    | {
        "adebug",
        "ainfo",
        "awarning",
        "aerror",
        "aexception",
        "acritical",
        "afatal",
        "alog",
        "handle",
        "makeRecord",
    }
)

SINK_WORDS = (
    *sorted(LOG_METHODS), "bind", "new", "bind_contextvars", "bound_contextvars", "contextualize", "patch",
    "catch", "opt",
    "makeLogRecord", "warn_explicit", "print", "stdout", "stderr", "__stdout__", "__stderr__", "pprint",
    "echo", "secho",
    "rich", "set_attribute", "set_attributes", "add_event", "sentry_sdk", "traceback", "os write",
)  # fmt: skip
"""One of these stands in every file that has a sink."""
