"""`fitted_spans`: cut spans down to the tokens of a JSON text, so that what is put there leaves it JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from tramapy.dlp.claims import Claim
from tramapy.dlp.json_place import begins_json

__all__ = ["fitted_spans", "is_json"]

_TOKEN = re.compile(r'"(?P<string>(?:[^"\\]|\\.)*)"?|(?P<number>-?[0-9][0-9.eE+-]*)', re.DOTALL)
_UNIT = re.compile(r"\\u[0-9A-Fa-f]{4}|\\.", re.DOTALL)


def is_json(text: str) -> bool:
    """Tell whether a text is an object or a list in JSON; one that only begins so is text like any other."""
    if not begins_json(text):
        return False
    try:
        json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return False
    return True


def fitted_spans(text: str, claims: Iterable[Claim]) -> list[Claim]:
    """Return claims, in order, each inside of one token: a part of a string, or a whole number.

    A claim that reaches over several tokens becomes one for each; half an escape is taken whole; marks between
    tokens are left alone.

    Args:
        text: A JSON text.
        claims: Sorted and without overlaps.
    """
    fitted: list[Claim] = []
    tokens = _TOKEN.finditer(text)
    token = next(tokens, None)
    for claim in claims:
        while token is not None and token.end() <= claim.start:
            token = next(tokens, None)
        while token is not None and token.start() < claim.end:
            fitted += _inside(token, claim)
            if token.end() > claim.end:  # the next claim may need it, too
                break
            token = next(tokens, None)
    return _without_repeats(fitted)


def _inside(token: re.Match[str], claim: Claim) -> Iterator[Claim]:
    if token.group("number") is not None:
        yield claim._replace(start=token.start(), minus_end=-token.end())
        return
    first, last = token.span("string")
    start, end = max(claim.start, first), min(claim.end, last)
    if start >= end:
        return
    for unit in _UNIT.finditer(token.string, first, last):
        if unit.start() >= end:
            break
        if unit.start() < start < unit.end():
            start = unit.start()
        if unit.start() < end < unit.end():
            end = unit.end()
    yield claim._replace(start=start, minus_end=-end)


def _without_repeats(claims: Iterable[Claim]) -> list[Claim]:
    """Leave out a claim on what the one before it took already: two may stand in one number or escape."""
    kept: list[Claim] = []
    for claim in claims:
        if not kept or claim.start >= kept[-1].end:
            kept.append(claim)
        elif claim.end > kept[-1].end:
            kept[-1] = kept[-1]._replace(minus_end=claim.minus_end)
    return kept
