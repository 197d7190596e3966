"""The dashboard and the alert rules ask for metrics and tags that `OpenTelemetryEventObserver` declares."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.docs.pages import DOCS, table_rows
from tramapy.telemetry.metric_names import ALL_METRICS, MetricKind, TelemetryMetric
from tramapy.telemetry.otel_metrics import CIRCUIT_STATES

FOLDER = DOCS / "dashboards"
DASHBOARD: dict[str, Any] = json.loads((FOLDER / "tramapy.json").read_text(encoding="utf-8"))
RULES: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((FOLDER / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
]
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
VARIABLES = DASHBOARD["templating"]["list"]

_METRIC = re.compile(r"\b(?:tramapy|gen_ai)_\w+\b")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_BY = re.compile(r"\bby \(([^)]*)\)")
_MATCHERS = re.compile(r"\{([^}]*)\}")
_LEGEND_TAG = re.compile(r"\{\{\s*(?:\$labels\.)?([a-z_]+)\s*\}\}")


def queries() -> Iterator[tuple[str, str]]:
    """Yield every expression, and where it stands."""
    for panel in PANELS:
        for target in panel["targets"]:
            yield f"panel {panel['title']} {target['refId']}", target["expr"]
    for rule in RULES:
        yield f"alert {rule['alert']}", rule["expr"]


def samples_of(metric: TelemetryMetric) -> set[str]:
    """Return the names that a metric's samples have in Prometheus."""
    name = metric.prometheus_name
    if metric.kind is MetricKind.HISTOGRAM:
        return {f"{name}_bucket", f"{name}_sum", f"{name}_count"}
    return {name}


def tags_of(metric: TelemetryMetric) -> set[str]:
    """Return the labels that a metric's samples have in Prometheus."""
    labels = {tag.replace(".", "_") for tag in metric.tags}
    return labels | {"le"} if metric.kind is MetricKind.HISTOGRAM else labels


SAMPLES = {sample: metric for metric in ALL_METRICS for sample in samples_of(metric)}
QUERIES = dict(queries())


def parts_of(expression: str) -> tuple[set[str], set[str]]:
    """Return the metrics and the labels that an expression names."""
    bare = _STRING.sub('""', expression)
    matchers = ",".join(_MATCHERS.findall(bare))
    labels = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers))
    for group in _BY.findall(bare):
        labels.update(label.strip() for label in group.split(","))
    metrics = set(_METRIC.findall(_MATCHERS.sub("", _BY.sub("", bare))))
    return metrics, labels


@pytest.mark.parametrize("place", QUERIES)
def test_a_query_asks_for_metrics_and_labels_that_exist(place: str) -> None:
    metrics, labels = parts_of(QUERIES[place])
    assert metrics
    assert metrics <= SAMPLES.keys()
    for metric in metrics:
        assert labels <= tags_of(SAMPLES[metric]), f"{metric} has no such label"


# the words of labels that take few: a query for another one would find nothing, and an alert stay silent
WORDS = {
    "tramapy_outcome": {
        row[0].strip("`") for row in table_rows(DOCS / "tracing.md", "`tramapy.outcome`", "When")
    },
    "tramapy_circuit_state": set(CIRCUIT_STATES),
}


@pytest.mark.parametrize("place", QUERIES)
def test_a_query_asks_for_values_that_a_label_takes(place: str) -> None:
    for label, value in re.findall(r'(\w+)(?:=~|!~|!=|=)"([^"$]+)"', QUERIES[place]):
        assert set(value.split("|")) <= WORDS[label]


@pytest.mark.parametrize("place", QUERIES)
def test_a_query_of_a_histogram_or_counter_takes_its_rate(place: str) -> None:
    expression = QUERIES[place]
    for metric in parts_of(expression)[0]:
        if SAMPLES[metric].kind is not MetricKind.GAUGE:
            assert re.search(rf"\b(rate|increase)\({metric}\b", expression)


@pytest.mark.parametrize("place", QUERIES)
def test_brackets_of_a_query_match(place: str) -> None:
    open_brackets: list[str] = []
    for bracket in re.findall(r"[(\[{}\])]", _STRING.sub("", QUERIES[place])):
        if bracket in "([{":
            open_brackets.append({"(": ")", "[": "]", "{": "}"}[bracket])
        else:
            assert open_brackets.pop() == bracket
    assert not open_brackets


@pytest.mark.parametrize("metric", ALL_METRICS, ids=lambda metric: metric.name)
def test_every_metric_is_on_the_dashboard(metric: TelemetryMetric) -> None:
    asked = {name for panel in PANELS for target in panel["targets"] for name in parts_of(target["expr"])[0]}
    assert samples_of(metric) & asked


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_legend_names_labels_of_its_query(panel: dict[str, Any]) -> None:
    for target in panel["targets"]:
        kept = {label for group in _BY.findall(target["expr"]) for label in re.split(r",\s*", group)}
        is_one = panel["type"] == "stat"
        assert set(_LEGEND_TAG.findall(target["legendFormat"])) == (set() if is_one else kept - {"le"})


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_panel_has_a_place_a_unit_and_a_description(panel: dict[str, Any]) -> None:
    place = panel["gridPos"]
    assert place["x"] + place["w"] <= 24
    assert panel["fieldConfig"]["defaults"]["unit"]
    assert panel["description"].endswith(".")
    assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}


def test_panels_have_ids_of_their_own_and_do_not_overlap() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for panel in panels
        for place in [panel["gridPos"]]
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(cells)) == len(cells)


def test_variables_are_values_of_labels_and_every_one_is_used() -> None:
    text = json.dumps(PANELS)
    for variable in VARIABLES:
        name = variable["name"]
        assert f"${name}" in text or f"${{{name}}}" in text
        if variable["type"] == "query":
            found = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]["query"])
            assert found is not None
            assert found[2] in tags_of(SAMPLES[found[1]])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_says_what_it_is_and_names_only_labels_that_it_has(rule: dict[str, Any]) -> None:
    kept = {label for group in _BY.findall(rule["expr"]) for label in re.split(r",\s*", group)} - {"le"}
    assert set(rule["annotations"]) == {"summary", "description"}
    named = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
    assert named <= kept
    assert rule["labels"]["severity"] in ("critical", "warning")


def test_the_page_lists_every_alert_with_its_severity() -> None:
    rows = table_rows(FOLDER / "README.md", "Alert")
    assert [(row[0].strip("`"), row[1]) for row in rows] == [
        (rule["alert"], rule["labels"]["severity"]) for rule in RULES
    ]


def test_the_page_lists_every_metric_by_its_name_in_prometheus() -> None:
    rows = table_rows(FOLDER / "README.md", "Metric", "In Prometheus")
    assert [(row[0].strip("`"), row[1].strip("`")) for row in rows] == [
        (metric.name, metric.prometheus_name) for metric in ALL_METRICS
    ]
    for row, metric in zip(rows, ALL_METRICS, strict=True):
        assert re.findall(r"`(\w+)`", row[2]) == [tag.replace(".", "_") for tag in metric.tags]


@pytest.mark.parametrize(
    "expression",
    ["sum(rate(tramapy_nothing_total[5m]))", "sum by (nothing) (rate(tramapy_attempts_total[5m]))"],
)
def test_a_query_of_something_else_would_be_found(expression: str) -> None:
    metrics, labels = parts_of(expression)
    known = {label for metric in metrics & SAMPLES.keys() for label in tags_of(SAMPLES[metric])}
    assert not metrics <= SAMPLES.keys() or not labels <= known
