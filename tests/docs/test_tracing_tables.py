"""The tables of the tracing page say what the observer does."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path

import pytest
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
from opentelemetry.semconv.attributes import error_attributes
from opentelemetry.semconv.schemas import Schemas

from tests.docs.pages import DOCS, table_rows
from tramapy.hooks.catalogue import COMPAT_METRICS
from tramapy.telemetry import OpenTelemetryEventObserver, genai_names, otel_outcome, otel_spans
from tramapy.telemetry.metric_names import ALL_METRICS, MetricKind
from tramapy.telemetry.otel import TelemetryLimits

PAGE = DOCS / "tracing.md"


def code(cell: str) -> str:
    return cell.strip("`")


def test_every_name_of_the_conventions_stands_in_the_table() -> None:
    rows = table_rows(PAGE, "Attribute", "Where", "Says")
    assert [code(row[0]) for row in rows] == list(genai_names.ALL_NAMES)


def test_every_attribute_of_ours_stands_in_the_table() -> None:
    rows = own_rows()
    assert [code(row[0]) for row in rows] == list(otel_spans.OWN_ATTRIBUTES)


def own_rows() -> list[list[str]]:
    section = PAGE.read_text(encoding="utf-8").split("### Attributes of ours")[1].split("## Metrics")[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith("| `")
    ]


def test_every_metric_stands_in_the_table_with_its_tags() -> None:
    rows = table_rows(PAGE, "Metric", "Kind", "Unit", "Tags")
    assert rows == [
        [
            f"`{metric.name}`",
            metric.kind.value,
            f"`{metric.unit}`",
            ", ".join(f"`{tag}`" for tag in metric.tags),
            metric.description,
        ]
        for metric in ALL_METRICS
    ]


def test_every_compatible_metric_stands_in_the_table() -> None:
    page = PAGE.read_text(encoding="utf-8").split("With `compat_metrics=True`")[1].split("## Content")[0]
    rows = re.findall(r"^\| `(.+?)` \| (\w+) \| `(.+?)` \|$", page, re.MULTILINE)
    assert rows == [(metric.name, metric.instrument.value, metric.unit) for metric in COMPAT_METRICS]


def test_every_argument_and_limit_stands_in_its_table() -> None:
    arguments = inspect.signature(OpenTelemetryEventObserver).parameters.values()
    rows = table_rows(PAGE, "Argument", "Default")
    assert [code(row[0]) for row in rows] == [argument.name for argument in arguments]
    for row, argument in zip(rows, arguments, strict=True):
        assert code(row[1]) in (repr(argument.default), "the global one")
    limits = table_rows(PAGE, "`TelemetryLimits`", "Default")
    assert [(code(row[0]), row[1]) for row in limits] == [
        (field.name, str(field.default)) for field in dataclasses.fields(TelemetryLimits)
    ]


def test_every_error_type_and_outcome_stands_in_its_table() -> None:
    written = {code(row[0]) for row in table_rows(PAGE, "`error.type`", "Failure")}
    known = {
        *otel_outcome._ERROR_TYPES.values(),
        otel_outcome.DLP_BLOCKED,
        otel_outcome.CANCELLED_ERROR_TYPE,
        otel_outcome.OTHER,
    }
    assert known == {name for name in written if " " not in name}
    outcomes = {code(row[0]) for row in table_rows(PAGE, "`tramapy.outcome`", "When")}
    assert outcomes == set(re.findall(r"`(\w+)`", otel_outcome.Outcome.__doc__ or ""))


def test_names_are_those_of_the_conventions_package() -> None:
    modules = (gen_ai_attributes, error_attributes)
    published = {value for module in modules for value in vars(module).values() if isinstance(value, str)}
    assert set(genai_names.ALL_NAMES) <= published
    metrics = {value for value in vars(gen_ai_metrics).values() if isinstance(value, str)}
    assert {metric.name for metric in ALL_METRICS if metric.name.startswith("gen_ai")} <= metrics
    assert genai_names.SCHEMA_URL in {schema.value for schema in Schemas}


def test_the_page_names_the_pinned_version() -> None:
    assert f"version {genai_names.SEMCONV_VERSION} of" in PAGE.read_text(encoding="utf-8")


SOURCES = sorted((Path(otel_spans.__file__).parent).glob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_names_of_the_conventions_are_written_in_two_places_alone(path: Path) -> None:
    found = re.findall(r'"(gen_ai\.[\w.]+)"', path.read_text(encoding="utf-8"))
    if path.name not in ("genai_names.py", "metric_names.py"):
        assert found == []


def test_buckets_are_those_of_the_conventions() -> None:
    by_name = {metric.name: metric for metric in ALL_METRICS}
    seconds = by_name["gen_ai.client.operation.duration"].buckets
    assert (seconds[0], seconds[-1], len(seconds)) == (0.01, 81.92, 14)
    tokens = by_name["gen_ai.client.token.usage"].buckets
    assert (tokens[0], tokens[1], tokens[-1]) == (1.0, 4.0, 67_108_864.0)


@pytest.mark.parametrize(
    ("name", "prometheus_name"),
    [
        ("gen_ai.client.operation.duration", "gen_ai_client_operation_duration_seconds"),
        ("tramapy.attempts", "tramapy_attempts_total"),
        ("tramapy.circuit.state", "tramapy_circuit_state"),
        ("gen_ai.client.token.usage", "gen_ai_client_token_usage"),
    ],
)
def test_names_become_those_of_prometheus(name: str, prometheus_name: str) -> None:
    [metric] = [metric for metric in ALL_METRICS if metric.name == name]
    assert metric.prometheus_name == prometheus_name
    assert metric.kind in MetricKind
