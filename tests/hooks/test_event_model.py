"""Runtime events: what may be said, checked where a user makes one, and the catalogue as a whole."""

from __future__ import annotations

import pickle

import pytest

from tramapy import CATALOGUE, ConfigurationError, RuntimeEvent, RuntimeEventCatalogue
from tramapy.hooks.event_model import (
    RuntimeAttributeCardinality,
    RuntimeAttributeKey,
    RuntimeEventDefinition,
    RuntimeEventDomain,
    RuntimeMetric,
    RuntimeMetricInstrument,
)

NAME = RuntimeAttributeKey(name="who", value_type=str)
COUNT = RuntimeAttributeKey(name="count", value_type=int)
FLAG = RuntimeAttributeKey(name="flag", value_type=bool)
CUSTOM = RuntimeEventDefinition(
    name="acme.thing.happened",
    domain=RuntimeEventDomain.ENGINE,
    allowed=(NAME, COUNT, FLAG),
    required=frozenset({"who"}),
)


def test_an_event_carries_what_it_was_given() -> None:
    event = RuntimeEvent.of(CUSTOM, {"who": "me", "count": 3, "flag": True})
    assert event.name == "acme.thing.happened"
    assert dict(event.attributes()) == {"who": "me", "count": 3, "flag": True}
    assert event.attribute("who") == "me"
    assert event.attribute("other") is None


def test_rt122_an_undeclared_key_names_itself_and_the_allowed_ones() -> None:
    with pytest.raises(ValueError, match=r"no attribute 'colour'; allowed: count, flag, who"):
        RuntimeEvent.of(CUSTOM, {"who": "me", "colour": "red"})


def test_rt122_an_event_that_allows_nothing_says_so() -> None:
    bare = RuntimeEventDefinition(name="acme.bare", domain=RuntimeEventDomain.ENGINE)
    with pytest.raises(ValueError, match="allowed: none"):
        RuntimeEvent.of(bare, {"who": "me"})


def test_rt122_missing_required_keys_are_listed() -> None:
    with pytest.raises(ValueError, match="lacks required attributes: who"):
        RuntimeEvent.of(CUSTOM, {"count": 1})


@pytest.mark.parametrize(
    "attributes",
    [
        pytest.param({"who": 5}, id="int-for-str"),
        pytest.param({"who": None}, id="none"),
        pytest.param({"who": "me", "count": True}, id="rt124-bool-for-int"),
        pytest.param({"who": "me", "count": 1.0}, id="float-for-int"),
        pytest.param({"who": "me", "flag": 1}, id="int-for-bool"),
    ],
)
def test_rt122_a_wrong_type_is_refused(attributes: dict) -> None:
    with pytest.raises(TypeError, match="takes"):
        RuntimeEvent.of(CUSTOM, attributes)


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1])
def test_an_integer_that_does_not_fit_64_bits_is_refused(value: int) -> None:
    with pytest.raises(ValueError, match="64 bits"):
        RuntimeEvent.of(CUSTOM, {"who": "me", "count": value})


def test_an_event_is_immutable() -> None:
    event = RuntimeEvent.of(CUSTOM, {"who": "me"})
    with pytest.raises(AttributeError, match="immutable"):
        event.definition = CUSTOM
    with pytest.raises(AttributeError, match="immutable"):
        del event.definition
    with pytest.raises(TypeError):
        event.attributes()["who"] = "you"
    with pytest.raises(TypeError, match=r"RuntimeEvent\.of"):
        RuntimeEvent()


def test_an_event_keeps_no_reference_to_the_mapping_it_came_from() -> None:
    attributes = {"who": "me"}
    event = RuntimeEvent.of(CUSTOM, attributes)
    attributes["who"] = "you"
    assert event.attribute("who") == "me"


def test_events_compare_hash_print_and_pickle_by_value() -> None:
    event, same = RuntimeEvent.of(CUSTOM, {"who": "me"}), RuntimeEvent.of(CUSTOM, {"who": "me"})
    assert event == same
    assert hash(event) == hash(same)
    assert event != RuntimeEvent.of(CUSTOM, {"who": "you"})
    assert event != "acme.thing.happened"
    assert pickle.loads(pickle.dumps(event)) == event
    assert repr(event) == "RuntimeEvent('acme.thing.happened', {'who': 'me'})"


def test_the_catalogue_finds_by_name_and_says_where_to_look() -> None:
    assert CATALOGUE.get("tramai.circuit.opened").name in CATALOGUE
    assert len(CATALOGUE) == len(list(CATALOGUE))
    with pytest.raises(ConfigurationError, match="tramapy events"):
        CATALOGUE.get("tramai.nothing")


def _metric(name: str) -> RuntimeMetric:
    return RuntimeMetric(name=name, unit="{x}", description="x", instrument=RuntimeMetricInstrument.COUNTER)


@pytest.mark.parametrize(
    ("definitions", "metrics", "message"),
    [
        pytest.param([CUSTOM, CUSTOM], [], "declared twice", id="duplicate-event"),
        pytest.param(
            [
                CUSTOM,
                RuntimeEventDefinition(
                    name="acme.other",
                    domain=RuntimeEventDomain.ENGINE,
                    allowed=(RuntimeAttributeKey(name="who", value_type=int),),
                ),
            ],
            [],
            "declared in two ways",
            id="conflicting-types",
        ),
        pytest.param(
            [
                RuntimeEventDefinition(
                    name="acme.x", domain=RuntimeEventDomain.ENGINE, required=frozenset({"who"})
                )
            ],
            [],
            "requires what it does not allow: who",
            id="required-outside-allowed",
        ),
        pytest.param(
            [RuntimeEventDefinition(name="acme.x", domain=RuntimeEventDomain.ENGINE, metric_name="acme.m")],
            [],
            "undeclared metric",
            id="unknown-metric",
        ),
        pytest.param([], [_metric("acme.m"), _metric("acme.m")], "declared twice", id="duplicate-metric"),
    ],
)
def test_rt123_a_catalogue_that_contradicts_itself_does_not_start(definitions, metrics, message) -> None:
    with pytest.raises(ConfigurationError, match=message):
        RuntimeEventCatalogue(definitions, metrics)


def test_every_event_carries_the_correlation_id_and_keys_are_snake_case() -> None:
    for definition in CATALOGUE:
        assert definition.name.startswith("tramai.")
        assert "correlation_id" in definition.required
        assert definition.description
        for key in definition.allowed:
            assert key.name == key.name.lower()
            assert "." not in key.name
            assert key.description


@pytest.mark.parametrize("name", ["correlation_id", "workflow_run_id", "response_model", "tool_name"])
def test_what_callers_and_models_choose_is_never_a_metric_tag(name: str) -> None:
    assert CATALOGUE.keys[name].cardinality is RuntimeAttributeCardinality.HIGH


def test_attributes_can_be_had_as_a_dict_of_ones_own() -> None:
    event = RuntimeEvent.of(
        CATALOGUE.get("tramai.circuit.opened"), {"correlation_id": "c", "provider_id": "p"}
    )
    own = event.to_dict()
    own["provider_id"] = "q"
    assert event.attribute("provider_id") == "p"
