import dataclasses
import pickle
from typing import Any

import pytest

from tests.dlp.contexts import context_of, default_rules
from tramapy.dlp import DlpAction, DlpRule, RuleBasedDlpConfiguration, RulePack
from tramapy.dlp.packs import ALL, pii
from tramapy.dlp.portable import PortableRules
from tramapy.errors import ConfigurationError
from tramapy.hooks.dlp import DlpContentType

EMAIL = next(rule for rule in pii.rules if rule.id == "email")
TICKET = DlpRule(id="ticket", pattern=r"T-\d{4}", replacement="[TICKET]", enabled_for=set(DlpContentType))
CONFIGURATION = RuleBasedDlpConfiguration(
    [TICKET],
    500,
    packs=[RulePack("mine", (EMAIL, DlpRule(id="x", pattern="xyzzy")))],
    disabled_rules=["x"],
    actions={"email": DlpAction.HASH},
    allowed_texts=["info@example.com"],
    allowed_patterns=["nobody@.*"],
    hash_key=b"k" * 16,
)


def test_they_survive_pickling_and_give_the_same_configuration() -> None:
    sent = PortableRules.of(CONFIGURATION, backend="stdlib")
    received = pickle.loads(pickle.dumps(sent))
    assert received == sent
    assert received.backend == "stdlib"
    configuration = received.configuration()
    assert configuration == CONFIGURATION
    assert configuration.packs[0].rules[0] is EMAIL


def test_all_packs_are_the_default() -> None:
    assert PortableRules.of().configuration() == RuleBasedDlpConfiguration((), None, packs=ALL)


def test_placeholders_are_refused() -> None:
    given = RuleBasedDlpConfiguration(packs=[pii], actions={"email": DlpAction.PLACEHOLDER})
    with pytest.raises(
        ConfigurationError, match="'email' makes placeholders, and nothing keeps their values"
    ):
        PortableRules.of(given)


def test_rules_that_look_at_no_such_text_are_refused() -> None:
    for rules in ([], [DlpRule(id="ssn", pattern="x")]):
        with pytest.raises(ConfigurationError, match="No rule is enabled for MODEL_INPUT"):
            PortableRules.of(RuleBasedDlpConfiguration(rules))


def test_a_process_makes_one_interceptor_for_equal_rules() -> None:
    first = pickle.loads(pickle.dumps(PortableRules.of(CONFIGURATION))).interceptor()
    assert pickle.loads(pickle.dumps(PortableRules.of(CONFIGURATION))).interceptor() is first
    assert (
        first.inspect(context_of(), "T-1234 info@example.com").sanitized_text == "[TICKET] info@example.com"
    )


def test_a_packs_rule_that_was_changed_travels_as_it_is() -> None:
    other = DlpRule(id="email", pattern="nobody", enabled_for=set(DlpContentType))
    assert PortableRules.of(RuleBasedDlpConfiguration([other])).rules == (other,)


def test_repr_shows_no_pattern_text_or_key() -> None:
    shown = repr(PortableRules.of(CONFIGURATION))
    assert shown == "PortableRules(<1 packs, 1 rules>, backend='auto')"


def test_anything_but_a_configuration_is_refused() -> None:
    dlp: Any = default_rules()
    with pytest.raises(
        TypeError, match=r"^PortableRules\.of takes a RuleBasedDlpConfiguration, not RuleBasedDlpI"
    ):
        PortableRules.of(dlp)


def test_a_validate_that_cannot_be_sent_is_refused_by_name():
    rule = DlpRule(id="ticket", pattern="T", enabled_for=DlpContentType, validate=lambda _: True)
    with pytest.raises(ConfigurationError, match="DLP rule 'ticket': its validate cannot be sent"):
        PortableRules.of(RuleBasedDlpConfiguration([rule]))
    sent = PortableRules.of(RuleBasedDlpConfiguration([dataclasses.replace(rule, validate=str.isalpha)]))
    assert pickle.loads(pickle.dumps(sent)).configuration().rules[0].validate is not None
