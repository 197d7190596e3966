"""Plans for values that every JSON API has."""

import pytest

from tramapy.clients.plans import each, identifier, numbers, opaque, shown, word
from tramapy.wire.rest import OPAQUE, Plan, rest_of


@pytest.mark.parametrize(
    ("plan", "value"),
    [
        (opaque, "an-id"),
        (opaque, 5_000_000),
        (shown, "a text"),
        (word, "tool_calls"),
        (identifier, "mcp:find_1/x.y-z"),
        (numbers, 4111111111111111),
        (numbers, {"a": 5_000_000, "b": None, "c": {"d": [1_000_000, 0.5]}}),
        (each(opaque), ["a", "b"]),
    ],
)
def test_what_is_due_is_skipped(plan: Plan, value: object) -> None:
    assert rest_of({"x": value}, {"x": plan}) is None


@pytest.mark.parametrize(
    ("plan", "value"),
    [
        (opaque, {"a": "b"}),
        (opaque, ["a"]),
        (shown, 4111111111111111),
        (identifier, "a text"),
        (identifier, 4111111111111111),
        (word, "Auto"),
        (word, "a" * 25),
        (word, "sk-1"),
        (word, ["auto"]),
        (numbers, "5"),
        (each(opaque), "a"),
        (each(opaque), {"a": "b"}),
    ],
)
def test_what_is_not_due_is_inspected(plan: Plan, value: object) -> None:
    assert rest_of({"x": value}, {"x": plan}) == {"x": value}


def test_a_text_among_numbers_is_inspected() -> None:
    assert rest_of({"a": 5_000_000, "b": {"c": "text"}}, numbers) == {"b": {"c": "text"}}
    assert opaque is OPAQUE
