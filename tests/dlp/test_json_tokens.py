"""JSON in tool arguments and tool results, by rules of one's own."""

from __future__ import annotations

import json

import pytest

from tests.dlp.contexts import BACKENDS, EMAIL, SSN, counts, interceptor_of
from tramapy.dlp import DlpRule
from tramapy.dlp.interceptor import Backend
from tramapy.errors import DlpInspectionError
from tramapy.hooks.dlp import DlpContentLocation, DlpContentType, DlpContext

ALL_TYPES = frozenset(DlpContentType)
ARGUMENTS = DlpContext(
    content_type=DlpContentType.MODEL_OUTPUT,
    content_location=DlpContentLocation.MODEL_RESPONSE_TOOL_ARGUMENTS,
    operation_interface="Support",
    operation_method="answer",
    correlation_id="c-1",
    tool_name="book",
)
RULES = (
    DlpRule(id="mail", pattern=EMAIL, replacement='"mail"', enabled_for=ALL_TYPES),
    DlpRule(id="number", pattern=r"\b\d{9}\b", replacement="[N]", enabled_for=ALL_TYPES),
    DlpRule(id="gone", pattern="VOID", replacement="", enabled_for=ALL_TYPES),
    DlpRule(id="ssn", pattern=SSN, replacement="[SSN]", enabled_for=ALL_TYPES),
)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("text", "expected", "found"),
    [
        (r'{"to": "carol\u0040example.com"}', r'{"to": "\"mail\""}', [("mail", 1)]),
        ('{"a":123456789 , "b":-1.5e3}', '{"a":"[N]" , "b":-1.5e3}', [("number", 1)]),
        (
            '{"a@example.com": [{"x": "VOID"}]}',
            r'{"\"mail\"": [{"x": "[REDACTED]"}]}',
            [("mail", 1), ("gone", 1)],
        ),
        ('{"k": "123-45-6789", "k": "123-45-6789"}', '{"k": "[SSN]", "k": "[SSN]"}', [("ssn", 2)]),
        ('{"caf\u00e9": "\u00e9 a@example.com"}', '{"caf\u00e9": "\u00e9 \\"mail\\""}', [("mail", 1)]),
        (r'{"keep": "\/ \u00e9", "n": null}', r'{"keep": "\/ \u00e9", "n": null}', []),
        ("[123456789, broken", "[[N], broken", [("number", 1)]),
        ("not JSON: a@example.com", 'not JSON: "mail"', [("mail", 1)]),
    ],
)
def test_a_token_is_rewritten_as_what_it_stands_for(
    text: str, expected: str, found: list[tuple[str, int]], backend: Backend
) -> None:
    interceptor = interceptor_of(*RULES, backend=backend)
    result = interceptor.inspect(ARGUMENTS, text)
    assert (result.sanitized_text, counts(result)) == (expected, found)
    stream = interceptor.open_stream(ARGUMENTS)
    released = "".join(stream.feed(character) for character in text)
    assert (released == "") is text.startswith(("{", "["))
    assert released + stream.finish() == expected
    assert list(stream.redactions) == list(result.redactions)


def test_what_holds_the_tokens_is_seen_as_it_is_written() -> None:
    rule = DlpRule(id="field", pattern=r'"pin": \d+', replacement='"pin": 0', enabled_for=ALL_TYPES)
    assert interceptor_of(rule).inspect(ARGUMENTS, '{"pin": 4711}').sanitized_text == '{"pin": 0}'


def test_a_number_longer_than_python_converts_is_looked_at() -> None:
    digits = "1" * 5_000
    text = json.dumps({"n": 1}).replace("1", digits)
    assert interceptor_of(*RULES).inspect(ARGUMENTS, text).sanitized_text == text


@pytest.mark.parametrize("depth", [201, 40_000])
def test_json_that_is_nested_too_deep_fails_closed(depth: int) -> None:
    text = "[" * depth + "]" * depth
    with pytest.raises(DlpInspectionError, match="nested"):
        interceptor_of(*RULES).inspect(ARGUMENTS, text)


@pytest.mark.parametrize("text", ['["a@example.com"]', "text", " \n"])
def test_a_stream_can_be_dropped(text: str) -> None:
    stream = interceptor_of(*RULES).open_stream(ARGUMENTS)
    stream.feed(text)
    stream.abort()
    with pytest.raises(ValueError, match="has ended"):
        stream.finish()
