"""Rewrite the strings and numbers of a JSON text in place, as what they stand for; all else stays byte for byte."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from tramapy.errors import DlpInspectionError

__all__ = ["rewrite_tokens"]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?', re.DOTALL)
_INSTEAD_OF_NOTHING = "[REDACTED]"
_DEEPEST = 200


def rewrite_tokens(text: str, rewrite: Callable[[str], str]) -> str | None:
    """Return a JSON text with each string, keys too, and each number rewritten; None where it is no JSON.

    A number that changes becomes a string. Only tokens that change are written anew.

    Args:
        text: Any text.
        rewrite: Takes what a token stands for, and returns what it shall stand for.

    Raises:
        DlpInspectionError: It is nested too deep to be looked at.
    """
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        json.loads(text, parse_int=str, parse_float=str)  # a number may be longer than Python converts
    except ValueError:
        return None
    except RecursionError:
        raise DlpInspectionError("The JSON is nested too deep to be inspected; flatten it") from None
    if _is_too_deep(text):
        raise DlpInspectionError(f"The JSON is nested deeper than {_DEEPEST} levels; flatten it")

    def replace(match: re.Match[str]) -> str:
        token = match.group()
        value: str = json.loads(token) if token[0] == '"' else token
        rewritten = rewrite(value)
        if rewritten == value:
            return token
        return json.dumps(rewritten or _INSTEAD_OF_NOTHING, ensure_ascii=token.isascii())

    return _TOKEN.sub(replace, text)


def _is_too_deep(text: str) -> bool:
    depth = 0
    for mark in re.findall(r"[\[{\]}]", _TOKEN.sub("", text)):
        depth += 1 if mark in "[{" else -1
        if depth > _DEEPEST:
            return True
    return False
