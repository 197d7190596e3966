"""The tokens of a stream that its client did not ask for: asked for where a budget counts them, and not shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from tramapy.wire.json_values import mapping_of
from tramapy.wire.sse import SseEvent

__all__ = ["asking_usage", "lacks_usage", "without_usage"]

_OPTIONS: Final = "stream_options"
_ASKS: Final = "include_usage"

_NO_USAGE: Final = b',"usage":null'


def lacks_usage(body: Mapping[str, object]) -> bool:
    """Tell whether a request leaves open whether its stream tells tokens; a false is an answer."""
    options = body.get(_OPTIONS)
    if options is None:
        return True
    return isinstance(options, dict) and cast("dict[str, object]", options).get(_ASKS) is None


def asking_usage(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return a request that asks for the tokens."""
    return {**body, _OPTIONS: {**mapping_of(body.get(_OPTIONS)), _ASKS: True}}


def without_usage(event: SseEvent, value: dict[str, object]) -> tuple[SseEvent, bool]:
    """Take out of an event what it says only because tokens were asked for.

    Args:
        event: As it came.
        value: Its data, parsed; it is changed.

    Returns:
        The event to pass on, and whether its data is no longer that of `value`.
    """
    if "usage" not in value or (value["usage"] is not None and value.get("choices")):
        return event, False  # a server that tells them with the text does so unasked
    is_told = value.pop("usage") is not None
    if not is_told and event.data.count(_NO_USAGE) == 1:
        # no text can hold these bytes, and nothing is written anew
        return event._replace(data=event.data.replace(_NO_USAGE, b"")), False
    return event, True
