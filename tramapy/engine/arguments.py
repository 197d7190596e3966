"""Checks of what a caller passes: the message names the argument and the remedy, and repeats no text of it."""

from __future__ import annotations

import enum
import sys
from collections.abc import Iterable, Mapping
from typing import TypeVar

from tramapy.errors import ConfigurationError
from tramapy.messages import Message, ToolDefinition
from tramapy.resilience.validation import LONGEST_S
from tramapy.values import MOST, described, exact_text, shown

__all__ = [
    "checked_count",
    "checked_flag",
    "checked_member",
    "checked_messages",
    "checked_name",
    "checked_number",
    "checked_seconds",
    "checked_text",
    "checked_tools",
]

E = TypeVar("E", bound=enum.Enum)

_SEQUENCES = frozenset((list, tuple))
_NO_SEQUENCE = (str, bytes, Message)  # a union would be built anew for every call
_NO_TOOLS = (str, bytes, Mapping)
_LARGEST = sys.float_info.max  # above it lie infinity, and ints that no float can hold


def checked_messages(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Return the conversation as a tuple; it has at least one message."""
    if type(messages) not in _SEQUENCES:  # to ask whether it is an Iterable costs 0.2 µs
        _refuse_single(messages)
    listed = tuple(messages)
    if not listed:
        raise ConfigurationError("messages is empty; pass at least one Message")
    for position, message in enumerate(listed):
        if not isinstance(message, Message):
            raise ConfigurationError(
                f"messages[{position}] is {described(message)}; make it a Message, "
                f"for example Message.user(...)"
            )
    return listed


def _refuse_single(messages: Iterable[Message]) -> None:
    if isinstance(messages, _NO_SEQUENCE):
        raise ConfigurationError(
            f"messages takes a sequence of Message, not {type(messages).__name__}; "
            f"for one prompt pass [Message.user(...)]"
        )
    if not isinstance(messages, Iterable):
        raise ConfigurationError(f"messages takes a sequence of Message, not {type(messages).__name__}")


def checked_tools(tools: Iterable[ToolDefinition]) -> tuple[ToolDefinition, ...]:
    """Return the tools as a tuple, possibly empty."""
    kind = type(tools).__name__
    if isinstance(tools, _NO_TOOLS) or not isinstance(tools, Iterable):
        raise ConfigurationError(f"tools takes a sequence of ToolDefinition, not {kind}")
    listed = tuple(tools)
    for position, tool in enumerate(listed):
        if not isinstance(tool, ToolDefinition):
            raise ConfigurationError(
                f"tools[{position}] is {described(tool)}; make it a ToolDefinition(name=...)"
            )
    return listed


def checked_name(name: str, value: str) -> str:
    """Return a name of the caller's that is not blank, as a plain str: events carry no enum members."""
    if type(value) is str and value and not value.isspace():
        return value
    if not isinstance(value, str):
        raise ConfigurationError(f"{name} takes a str, not {type(value).__name__}")
    if not value.strip():
        raise ConfigurationError(f"{name} is blank; give it a name or leave it out")
    return str.__str__(value)


def checked_text(name: str, value: str) -> str:
    """Return a text of any length."""
    if not isinstance(value, str):
        raise ConfigurationError(f"{name} takes a str, not {type(value).__name__}")
    return exact_text(value)


def checked_member(name: str, value: E, kind: type[E]) -> E:
    """Return a member of an enum."""
    if not isinstance(value, kind):
        raise ConfigurationError(
            f"{name} takes {kind.__name__}, not {type(value).__name__}; one of {', '.join(kind.__members__)}"
        )
    return value


def checked_flag(name: str, value: bool) -> bool:
    """Return a switch. A word is none: `"false"`, as it stands in a file or a variable, would switch it on."""
    if not isinstance(value, bool):
        raise ConfigurationError(f"{name} is {described(value)}; give True or False")
    return value


def checked_number(name: str, value: float, *, maximum: float = _LARGEST) -> float:
    """Return a sampling parameter: a finite number from 0 to `maximum`; what more it may be, a provider says."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigurationError(f"{name} takes a number, not {type(value).__name__}")
    if not 0 <= value <= maximum:
        raise ConfigurationError(
            f"{name} is {shown(value)}; it must be a number from 0 to {maximum:g}, or None"
        )
    return value


def checked_count(name: str, value: int) -> int:
    """Return a whole number of at least 1, and of at most 64 bits."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigurationError(f"{name} takes an int, not {type(value).__name__}")
    if value < 1:
        raise ConfigurationError(f"{name} is {shown(value)}; it must be at least 1, or None")
    if value > MOST:
        raise ConfigurationError(f"{name} is {shown(value)}; it must fit into 64 bits; give less, or None")
    return value


def checked_seconds(name: str, value: float) -> float:
    """Return a positive duration of at most 1e9 seconds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigurationError(f"{name} takes seconds as a number, not {type(value).__name__}")
    if not 0 < value <= _LARGEST:
        raise ConfigurationError(
            f"{name} is {shown(value)}; it must be a positive, finite number of seconds, or None"
        )
    if value > LONGEST_S:
        raise ConfigurationError(
            f"{name} is {shown(value)}; it must be at most {LONGEST_S:g} seconds, or None"
        )
    return float(value)
