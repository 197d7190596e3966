"""Read a provider's `Retry-After` hint: seconds, milliseconds or an HTTP date, as seconds from now."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Literal

__all__ = ["parse_retry_after", "retry_after_from_headers"]

_HEADERS: tuple[tuple[str, Literal["seconds", "milliseconds"]], ...] = (
    ("retry-after-ms", "milliseconds"),
    ("retry-after", "seconds"),
)
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")
_MAX_LENGTH = 64  # the longest legal date has 33 characters


def retry_after_from_headers(headers: Mapping[str, str], now_epoch_s: float) -> float | None:
    """Return the hint of a response's headers, in seconds from now; None where there is none to use.

    `retry-after-ms` comes first, being the finer one; where it is garbage, `retry-after` is read.

    Args:
        headers: By name, in any case.
        now_epoch_s: Wall time, for hints that are dates.
    """
    values = {name.lower(): value for name, value in headers.items()}
    for name, kind in _HEADERS:
        value = values.get(name)
        if value is not None:
            delay_s = parse_retry_after(value, kind=kind, now_epoch_s=now_epoch_s)
            if delay_s is not None:
                return delay_s
    return None


def parse_retry_after(
    value: str, *, kind: Literal["seconds", "milliseconds"], now_epoch_s: float
) -> float | None:
    """Return the hint as seconds from now, not negative; None for anything that is no hint.

    No hint is a word, a negative or signed number, an infinity or NaN, or more than 64 characters. A date
    that has passed is 0.0. There is no upper bound: how long to wait is the retry policy's to say.

    Args:
        value: The header's value.
        kind: The unit of a number. Only `seconds` may be a date.
        now_epoch_s: Wall time, for a date.
    """
    text = value.strip()
    if len(text) > _MAX_LENGTH:
        return None
    if _NUMBER.fullmatch(text):
        # Not float() alone: it takes '1_0', 'nan', other scripts' digits.
        return float(text) / 1000.0 if kind == "milliseconds" else float(text)
    return _seconds_until(text, now_epoch_s) if kind == "seconds" else None


def _seconds_until(http_date: str, now_epoch_s: float) -> float | None:
    try:
        moment = parsedate_to_datetime(http_date)
        if moment.tzinfo is None:  # '-0000', or the C library's form, both UTC by RFC 9110
            moment = moment.replace(tzinfo=UTC)
        delay_s = moment.timestamp() - now_epoch_s
    except (ValueError, OverflowError):
        return None
    return max(0.0, delay_s) if math.isfinite(delay_s) else None
