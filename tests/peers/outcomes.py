"""What came of a call, as plain JSON that can be compared."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable
from typing import Any, Final

__all__ = ["aoutcome", "described_difference", "joined", "outcome", "replaced"]

# made up by the server for each answer
_MADE_UP: Final = frozenset(
    {"id", "item_id", "response_id", "request_id", "_request_id", "created", "created_at"}
)

# where the formats have a piece of text, or of a tool call's arguments
_PIECES: Final = ("content", "arguments", "delta", "text", "partial_json")


def outcome(make: Callable[[], Any]) -> Any:
    """Make a call with a sync client, read all of what it gives, and return that or the error."""
    try:
        made = make()
        if hasattr(made, "__enter__") and not hasattr(made, "__next__"):
            with made as stream:
                events = [*stream]
                return _told(events, _final(stream)())
        return _told([*made] if hasattr(made, "__next__") else made)
    except Exception as error:
        return _failure(error)


async def aoutcome(make: Callable[[], Any]) -> Any:
    """Do what `outcome` does, with an async client."""
    try:
        made = make()
        if inspect.isawaitable(made):
            made = await made
        if hasattr(made, "__aenter__") and not hasattr(made, "__anext__"):
            async with made as stream:
                events = [event async for event in stream]
                return _told(events, await _final(stream)())
        return _told([event async for event in made] if hasattr(made, "__anext__") else made)
    except Exception as error:
        return _failure(error)


def joined(told: Any) -> Any:
    """Return an outcome in which pieces of the same text that follow each other are one.

    The events of a stream helper tell what was gathered so far; only what is gathered in the end is kept.
    """
    if not isinstance(told, dict) or "events" not in told:
        return told
    if "final" in told:
        return {"final": told["final"]}
    events: list[Any] = []
    shapes: list[str] = []
    for event in told["events"]:
        texts: list[str] = []
        shape = json.dumps(_emptied(event, texts), sort_keys=True)
        if shapes and shapes[-1] == shape and len(texts) == 1:
            events[-1] = _filled(events[-1], texts[0])
        else:
            shapes.append(shape)
            events.append(event)
    return {**told, "events": events}


def replaced(told: Any, old: str, new: str) -> Any:
    """Return an outcome with another text in the place of one, wherever it stands."""
    if isinstance(told, dict):
        return {name: replaced(value, old, new) for name, value in told.items()}
    if isinstance(told, list):
        return [replaced(value, old, new) for value in told]
    return told.replace(old, new) if isinstance(told, str) else told


def _final(stream: Any) -> Callable[[], Any]:
    for name in ("get_final_completion", "get_final_message", "get_final_response"):
        if hasattr(stream, name):
            return getattr(stream, name)
    raise TypeError(f"{type(stream).__name__} gives no final value")


def _told(made: Any, final: Any = None) -> Any:
    names: dict[str, str] = {}
    if isinstance(made, list):
        told: Any = {"events": [_dumped(event) for event in made]}
        if final is not None:
            told["final"] = _dumped(final)
    else:
        told = {"type": type(made).__name__, "answer": _dumped(made)}
    return _named(told, names)


def _dumped(value: Any) -> Any:
    dumped = value.model_dump(mode="json", warnings=False)
    return {"class": type(value).__name__.partition("[")[0], **dumped}


def _named(value: Any, names: dict[str, str]) -> Any:
    """Put numbers in the place of what the server makes up, the same for the same."""
    if isinstance(value, list):
        return [_named(item, names) for item in value]
    if not isinstance(value, dict):
        return names.get(value, value) if isinstance(value, str) else value
    named: dict[str, Any] = {}
    for name, item in value.items():
        if name in _MADE_UP and isinstance(item, (str, int, float)) and not str(item).startswith("call_"):
            named[name] = names.setdefault(str(item), f"made-up-{len(names)}") if isinstance(item, str) else 0
        else:
            named[name] = _named(item, names)
    return named


def _failure(error: Exception) -> Any:
    response = getattr(error, "response", None)
    return {
        "error": type(error).__name__,
        "message": str(error),
        "status": getattr(error, "status_code", None),
        "code": getattr(error, "code", None),
        "body": getattr(error, "body", None),
        "retry_after": None if response is None else response.headers.get("retry-after"),
    }


def _emptied(value: Any, texts: list[str]) -> Any:
    if isinstance(value, list):
        return [_emptied(item, texts) for item in value]
    if not isinstance(value, dict):
        return value
    emptied: dict[str, Any] = {}
    for name, item in value.items():
        if name in _PIECES and isinstance(item, str):
            texts.append(item)
            emptied[name] = ""
        else:
            emptied[name] = _emptied(item, texts)
    return emptied


def _filled(value: Any, text: str) -> Any:
    """Return an event with a further text behind its own."""
    if isinstance(value, list):
        return [_filled(item, text) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: item + text if name in _PIECES and isinstance(item, str) else _filled(item, text)
        for name, item in value.items()
    }


def described_difference(expected: Any, found: Any, where: str = "") -> Iterable[str]:
    """Say where two outcomes differ."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for name in [*expected, *(name for name in found if name not in expected)]:
            if name not in expected or name not in found:
                yield f"{where}.{name} is only in {'the bare' if name in expected else 'the wrapped'} one"
            else:
                yield from described_difference(expected[name], found[name], f"{where}.{name}")
    elif isinstance(expected, list) and isinstance(found, list):
        if len(expected) != len(found):
            yield f"{where} has {len(expected)} items with the bare client, {len(found)} with the wrapped one"
        for position, (one, other) in enumerate(zip(expected, found, strict=False)):
            yield from described_difference(one, other, f"{where}[{position}]")
    elif expected != found:
        yield f"{where} is {expected!r} with the bare client, {found!r} with the wrapped one"
