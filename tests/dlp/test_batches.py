from typing import Any

import pytest

from tramapy.dlp import DlpRule, RuleBasedDlpConfiguration
from tramapy.dlp.batches import PortableRules, map_batches
from tramapy.errors import ConfigurationError
from tramapy.hooks.dlp import DlpContentType

TICKET = RuleBasedDlpConfiguration(
    [DlpRule(id="ticket", pattern=r"T-\d{4}", replacement="[T]", enabled_for=set(DlpContentType))]
)


class Array:
    """As much of a numpy array as is used."""

    def __init__(self, values: list[Any], dtype: Any = "<U17") -> None:
        self.values = values
        self.dtype = dtype

    def astype(self, dtype: Any) -> "Array":
        return Array(list(self.values), dtype)

    def tolist(self) -> list[Any]:
        return list(self.values)

    def __setitem__(self, place: slice, values: list[Any]) -> None:
        self.values[place] = values


def test_fields_are_redacted_and_other_columns_handed_on() -> None:
    numbers = (1, 2, 3)
    batch = {"text": ["ann@example.com", None, "clean"], "mail": ("bob@example.com", "", ""), "n": numbers}
    redacted = map_batches(batch, fields=["text"])
    assert redacted["text"] == ["[REDACTED:email]", None, "clean"]
    assert redacted["mail"] is batch["mail"]
    assert redacted["n"] is numbers
    assert batch["text"][0] == "ann@example.com"


def test_replacements_are_counted_over_all_fields() -> None:
    batch = {"a": ["ann@example.com bob@example.com", "x"], "b": ("ann@example.com", "y")}
    redacted = map_batches(batch, fields=["a", "b", "a"], count_field="count")
    assert redacted["count"] == [3, 0]
    assert redacted["b"] == ["[REDACTED:email]", "y"]


@pytest.mark.parametrize("rules", [TICKET, PortableRules.of(TICKET)], ids=["configuration", "portable"])
def test_rules_of_your_own(rules: RuleBasedDlpConfiguration | PortableRules) -> None:
    batch = {"text": ["T-1234 ann@example.com"]}
    assert map_batches(batch, fields=["text"], rules=rules) == {"text": ["[T] ann@example.com"]}


def test_an_array_comes_back_as_an_array_of_objects() -> None:
    column = Array(["ann@example.com", "clean"])
    redacted = map_batches({"text": column}, fields=["text"], count_field="count")
    assert (redacted["text"].values, redacted["text"].dtype) == (["[REDACTED:email]", "clean"], object)
    assert (redacted["count"].values, redacted["count"].dtype) == ([1, 0], "int64")
    assert column.values == ["ann@example.com", "clean"]


def test_an_empty_batch_stays_empty() -> None:
    assert map_batches({"text": []}, fields=["text"], count_field="count") == {"text": [], "count": []}


@pytest.mark.parametrize(
    ("batch", "options", "message"),
    [
        ({"text": ["x"]}, {"fields": ["txt"]}, "There is no column 'txt' to redact; the batch has 'text'"),
        ({}, {"fields": ["txt"]}, "There is no column 'txt' to redact; the batch has none"),
        ({"text": ["x"]}, {"fields": []}, "fields is empty"),
        (
            {"text": ["x", 5]},
            {"fields": ["text"]},
            "Column 'text' holds a int in row 1; it takes str and None",
        ),
        ({"text": "x"}, {"fields": ["text"]}, "Column 'text' is a str; it takes a list or a numpy array"),
        ({"text": {"x"}}, {"fields": ["text"]}, "Column 'text' is a set"),
        ({"text": ["x"]}, {"fields": ["text"], "count_field": "text"}, "there is a column 'text' already"),
        ({"a": ["x"], "b": []}, {"fields": ["a", "b"]}, "Column 'b' is not as long as the one before"),
    ],
)
def test_a_batch_that_does_not_fit_is_refused(batch: Any, options: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        map_batches(batch, **options)


@pytest.mark.parametrize(
    "options", [{"fields": "text"}, {"fields": ["text"], "rules": [1]}], ids=["fields", "rules"]
)
def test_a_wrong_type_is_refused(options: Any) -> None:
    with pytest.raises(TypeError, match="takes"):
        map_batches({"text": ["x"]}, **options)


@pytest.mark.filterwarnings("ignore")  # ray warns of itself
def test_it_runs_on_ray_data() -> None:
    data = pytest.importorskip("ray.data")
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, ignore_reinit_error=True)
    try:
        rows = [{"text": f"row {number}: ann@example.com T-1234", "n": number} for number in range(100)]
        options = {"fields": ["text"], "rules": PortableRules.of(TICKET), "count_field": "count"}
        dataset = data.from_items(rows).map_batches(map_batches, fn_kwargs=options, batch_size=10)
        redacted = sorted(dataset.take_all(), key=lambda row: row["n"])
    finally:
        ray.shutdown()
    assert [row["text"] for row in redacted] == [f"row {n}: ann@example.com [T]" for n in range(100)]
    assert {row["count"] for row in redacted} == {1}


def test_rows_are_refused() -> None:
    rows: Any = [{"text": "ann@example.com"}]
    with pytest.raises(TypeError, match=r"^batch takes columns by name, such as a dict of lists; not list$"):
        map_batches(rows, fields=["text"])
