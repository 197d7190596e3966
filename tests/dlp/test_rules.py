"""`DlpRule` and `RuleBasedDlpConfiguration` as values."""

from __future__ import annotations

import dataclasses
import pickle

import pytest

from tramapy.dlp import DlpRule, RuleBasedDlpConfiguration
from tramapy.errors import ConfigurationError
from tramapy.hooks.dlp import DlpContentType


def test_sets_are_taken_from_any_iterable():
    rule = DlpRule(
        id="r",
        pattern="x",
        enabled_for=(kind for kind in DlpContentType),
        tool_names=(name for name in ["search", "lookup", "search"]),
    )
    assert rule.enabled_for == frozenset(DlpContentType)
    assert rule.tool_names == frozenset({"lookup", "search"})


def test_rule_is_immutable():
    with pytest.raises(dataclasses.FrozenInstanceError):
        DlpRule(id="r", pattern="x").pattern = "y"


def test_rule_takes_keywords_only():
    with pytest.raises(TypeError):
        DlpRule("r", "x")


def test_equal_rules_are_equal_and_hash_alike():
    assert (
        len({DlpRule(id="r", pattern="x", tool_names=["a"]), DlpRule(id="r", pattern="x", tool_names={"a"})})
        == 1
    )


def test_rule_survives_pickling_and_replacing():
    rule = DlpRule(id="r", pattern="x", tool_names=["a"])
    assert pickle.loads(pickle.dumps(rule)) == rule
    assert dataclasses.replace(rule, id="s").tool_names == rule.tool_names


def test_repr_of_rule_shows_the_id_only():
    rule = DlpRule(id="r", pattern="canary", replacement="other", tool_names=["tool"])
    assert repr(rule) == "DlpRule(id='r')"


def test_repr_of_configuration_shows_ids_and_the_limit():
    configuration = RuleBasedDlpConfiguration([DlpRule(id="r", pattern="canary")], 7)
    shown = repr(configuration)
    assert shown.startswith("RuleBasedDlpConfiguration(rules=(DlpRule(id='r'),), max_text_length=7, packs=()")
    assert "canary" not in shown


def test_configuration_copies_the_rules():
    rules = [DlpRule(id="r", pattern="x")]
    configuration = RuleBasedDlpConfiguration(rules=rules)
    rules.clear()
    assert [rule.id for rule in configuration.rules] == ["r"]


def test_configuration_has_no_rules_and_a_limit_by_default():
    assert RuleBasedDlpConfiguration() == RuleBasedDlpConfiguration((), 100_000)


def test_rule_without_a_type_of_text_is_refused():
    with pytest.raises(ConfigurationError, match="DLP rule 'r' is enabled for nothing"):
        DlpRule(id="r", pattern="x", enabled_for=[])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"pattern": 5}, "DLP rule 'r': pattern takes a str, not int"),
        ({"pattern": b"x"}, "DLP rule 'r': pattern takes a str, not bytes"),
        ({"replacement": None}, "DLP rule 'r': replacement takes a str, not NoneType"),
        ({"enabled_for": DlpContentType.MODEL_OUTPUT}, "DLP rule 'r': enabled_for takes several values"),
        ({"enabled_for": ["model_output"]}, "DLP rule 'r': enabled_for takes members of DlpContentType"),
        ({"tool_names": "lookup"}, "DLP rule 'r': tool_names takes several values, such as a set; not str"),
        ({"tool_names": [5]}, "DLP rule 'r': tool_names takes names of tools, each a str"),
    ],
)
def test_value_of_the_wrong_type_is_refused(values, message):
    with pytest.raises(TypeError, match=message):
        DlpRule(**{"id": "r", "pattern": "x", **values})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rules": ["x"]}, r"rules\[0\] takes a DlpRule, not str"),
        ({"max_text_length": "5"}, "max_text_length takes an int, not str"),
        ({"max_text_length": True}, "max_text_length takes an int, not bool"),
    ],
)
def test_configuration_of_the_wrong_type_is_refused(values, message):
    with pytest.raises(TypeError, match=message):
        RuleBasedDlpConfiguration(**values)


def test_a_malformed_id_is_a_mistake_of_the_configuration():
    with pytest.raises(ConfigurationError, match=r"DlpRule\.id: a DLP rule id is blank; name the rule"):
        DlpRule(id=" ", pattern="x")
