"""What a whole body says: read by the format of its call, or as what it turns out to be."""

from __future__ import annotations

from typing import cast

from tramapy.clients.codec import WireAnswer
from tramapy.clients.exact_body import is_exact
from tramapy.clients.http_call import JSON_TYPE, HttpCall
from tramapy.clients.other_answer import LinesAnswer, OtherAnswer, is_json
from tramapy.wire.json_values import invalid_answer, parse

__all__ = ["whole_answer"]


def whole_answer(call: HttpCall, content_type: str, data: bytes) -> WireAnswer:
    """Read a whole answer, and say under which type the client gets it.

    Raises:
        NativeRejectionError: It is an error in spite of a good status.
        ProviderError: It cannot be understood.
    """
    if call.is_known or is_json(content_type):
        call.answer_type = JSON_TYPE
        answer = call.surface.codec.answer(_json(data))
    else:
        answer = _other_answer(call, content_type, data)
    # it may be a file, whose blanks are its owner's
    if not call.is_known and is_exact(data):
        call.exact_answer, call.content = answer, data
    if call.is_strict:
        answer.is_strict = True
    return answer


def _json(data: bytes) -> object:
    parsed: object = None
    try:
        parsed = parse(data)
    except (ValueError, RecursionError):
        is_json = False
    else:
        is_json = True
    if not is_json:
        raise invalid_answer(
            "is no JSON; see that base_url is that of the API, and not of a page or a proxy before it"
        )
    return parsed


def _other_answer(call: HttpCall, content_type: str, data: bytes) -> WireAnswer:
    """Read an answer of no known format whose type is not JSON's."""
    codec = call.surface.codec
    value = _structure(data)
    lines = _lines(data) if value is None else None
    # JSON is written anew, in UTF-8 whatever it came in
    has_own_charset = value is None and lines is None
    call.answer_type = content_type if has_own_charset else content_type.partition(";")[0]
    if lines is not None:
        return LinesAnswer(codec.answer(lines))
    return OtherAnswer(data, content_type) if value is None else codec.answer(value)


def _structure(data: bytes) -> object | None:
    """Return the JSON object or array that a body is, whatever its type says; None for anything else."""
    try:
        value = parse(data)
    except (ValueError, RecursionError):
        return None
    return cast("object", value) if isinstance(value, (dict, list)) else None


def _lines(data: bytes) -> list[object] | None:
    """Return the objects and arrays that the lines of a body are; None where it is another text."""
    values: list[object] = []
    for line in data.splitlines():
        if line.strip():
            value = _structure(line)
            if value is None:
                return None
            values.append(value)
    return values or None
