import json

import pytest

from tests.cli.running import run
from tramapy import CATALOGUE
from tramapy.hooks.event_page import render_event_page


def test_the_table_names_every_event_and_attribute() -> None:
    outcome = run("events")
    assert outcome.exit_code == 0
    for name in (*(event.name for event in CATALOGUE), *CATALOGUE.keys):
        assert name in outcome.output


def test_markdown_is_the_rendered_page() -> None:
    assert run("events", "--format", "markdown").output == render_event_page(CATALOGUE)


def test_json_has_every_event_with_its_attributes() -> None:
    catalogue = json.loads(run("events", "--format", "json").output)
    for event, definition in zip(catalogue["events"], CATALOGUE, strict=True):
        assert event["name"] == definition.name
        assert set(event["required"]) == definition.required
        assert {*event["required"], *event["optional"]} == set(definition.allowed_names)


def test_json_declares_type_sensitivity_and_cardinality_of_each_attribute() -> None:
    attributes = json.loads(run("events", "--format", "json").output)["attributes"]
    assert {attribute["name"] for attribute in attributes} == set(CATALOGUE.keys)
    for attribute in attributes:
        key = CATALOGUE.keys[attribute["name"]]
        assert attribute["type"] == key.value_type.__name__
        assert attribute["sensitivity"] == key.sensitivity.value
        assert attribute["cardinality"] == key.cardinality.value


@pytest.mark.parametrize(
    "arguments", [("events", "--format", "xml"), ("events", "extra")], ids=["format", "argument"]
)
def test_bad_usage_is_exit_code_2(arguments: tuple[str, ...]) -> None:
    assert run(*arguments).exit_code == 2
