"""`DlpAction.PLACEHOLDER`: what a rule finds becomes a placeholder, and the vault can put it back."""

from __future__ import annotations

import dataclasses
import json
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dlp.cases import CASES
from tests.dlp.contexts import BACKENDS, EMAIL, context_of, default_rules, split_at
from tramapy import CompositeDlpInterceptor, ConfigurationError, DlpInspectionError
from tramapy.dlp import DlpAction, DlpRule, RuleBasedDlpConfiguration, RuleBasedDlpInterceptor, Vault
from tramapy.dlp.packs import ALL, encoded
from tramapy.hooks.dlp import DlpContentType, DlpContext
from tramapy.testing import assert_no_canary

INPUT = DlpContentType.MODEL_INPUT
EVERYTHING = {rule.id: DlpAction.PLACEHOLDER for pack in ALL for rule in pack.rules}
TEXT = (
    "Mail ann@example.com or bob@example.com, SSN 078-05-1120, card 4111 1111 1111 1111,\n"
    'call +1 415 555 0132. {"password": "hunter2!x"} https://ann:pa55word@example.com/ ann@example.com'
)


def with_vault(vault: Vault | None = None, content_type: DlpContentType = INPUT) -> DlpContext:
    return dataclasses.replace(context_of(content_type), vault=Vault() if vault is None else vault)


def packs(backend="auto", **actions) -> RuleBasedDlpInterceptor:
    return RuleBasedDlpInterceptor.with_default_rules(backend=backend, actions=actions or EVERYTHING)


def placing(pattern: str, rule_id: str = "rule", **fields) -> RuleBasedDlpInterceptor:
    rule = DlpRule(
        id=rule_id, pattern=pattern, enabled_for=DlpContentType, action=DlpAction.PLACEHOLDER, **fields
    )
    return RuleBasedDlpInterceptor(RuleBasedDlpConfiguration([rule]))


def streamed(dlp: RuleBasedDlpInterceptor, vault: Vault, pieces: list[str]) -> str:
    stream = dlp.open_stream(with_vault(vault))
    return "".join([stream.feed(piece) for piece in pieces]) + stream.finish()


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_a_rule_finds_becomes_a_placeholder(backend):
    vault = Vault()
    result = packs(backend).inspect(with_vault(vault), TEXT)
    text = re.sub(r"_[0-9a-z]{7}>", ">", result.sanitized_text)
    assert text == (
        "Mail <EMAIL_1> or <EMAIL_2>, SSN <US_SSN_1>, card <CREDIT_CARD_1>,\n"
        'call <PHONE_1>. {"password": "<PASSWORD_1>"} https://ann:<URL_PASSWORD_1>@example.com/ <EMAIL_1>'
    )
    assert sum(each.replacement_count for each in result.redactions) == 8
    assert vault.restore(result.sanitized_text) == TEXT
    assert len(vault) == 7


ENCODED = RuleBasedDlpInterceptor.with_default_rules(
    packs=(*ALL, encoded),
    actions=EVERYTHING | {rule.id: DlpAction.PLACEHOLDER for rule in encoded.rules},
)


def meaning(text: str) -> object:
    """Return what a JSON text means, numbers as strings; any other text as it is."""
    try:
        return json.loads(text, parse_int=str, parse_float=str)
    except ValueError:
        return text


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_each_case_is_protected_restored_and_left_alone_the_second_time(case):
    vault = Vault()
    dlp = ENCODED if case.id == "dlp-148" else STREAMED[0]
    sent = dlp.inspect(with_vault(vault), case.text).sanitized_text
    assert not [secret for secret in case.redacted if secret in sent]
    assert meaning(vault.restore(sent)) == meaning(case.text)
    assert dlp.inspect(with_vault(vault), sent).sanitized_text == sent


def test_only_the_rules_that_say_so_make_placeholders():
    vault = Vault()
    text = packs(email=DlpAction.PLACEHOLDER).inspect(with_vault(vault), TEXT).sanitized_text
    assert text.count("<EMAIL_1_") == 2
    assert "[REDACTED:us_ssn]" in text
    assert len(vault) == 2


@pytest.mark.unmeasured
@pytest.mark.parametrize("backend", BACKENDS)
def test_no_rule_of_a_pack_finds_a_placeholder(backend):
    dlp = packs(backend)
    clean = default_rules(backend)
    seeds = random.Random(11)
    for rule_id in EVERYTHING:
        for _ in range(12):
            vault = Vault(random=seeds)
            placeholder = vault.protect(rule_id, "value")
            for form in (
                "{}",
                "password: {}",
                'secret = "{}"',
                "api_key={}&x",
                "https://u:{}@example.com/?token={}",
                "{}@example.com",
                "Bearer {}",
                "Basic {}",
                '{{"password": "{}", "{}": 1}}',
                "tel {} phone: {} 1",
                "{}{}",
                "-----BEGIN {} -----",
                "**{}** _{}_ `{}` [{}](mailto:{})",
            ):
                text = form.replace("{}", placeholder).replace("{{", "{").replace("}}", "}")
                assert dlp.inspect(with_vault(vault), text).sanitized_text == text
                assert clean.inspect(context_of(INPUT), text).sanitized_text == text


def test_inspecting_again_changes_nothing():
    vault = Vault()
    dlp = packs()
    once = dlp.inspect(with_vault(vault), TEXT).sanitized_text
    assert dlp.inspect(with_vault(vault), once).sanitized_text == once


def test_texts_of_one_vault_share_placeholders_and_others_do_not():
    dlp = packs()
    vault = Vault()
    first, again = (dlp.inspect(with_vault(vault), "ann@example.com").sanitized_text for _ in range(2))
    other = dlp.inspect(with_vault(), "ann@example.com").sanitized_text
    assert first == again != other


def test_json_stays_json_with_the_values_that_it_had():
    vault = Vault()
    arguments = (
        '{"to": ["ann\\u0040example.com", "ann@example.com"], "card": 4111111111111111, "say": "\\"hi\\""}'
    )
    sent = json.loads(packs().inspect(with_vault(vault), arguments).sanitized_text)
    assert sent["to"][0] == sent["to"][1]
    assert vault.restore(sent["to"][0]) == "ann@example.com"
    assert vault.restore(sent["card"]) == "4111111111111111"
    assert sent["say"] == '"hi"'
    assert len(vault) == 2


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"\bn[0-9]+\b", '{"a": "n12", "b": ["n13", "x"], "c": 7}'),
        (r"\b[0-9]{3}\b", '[123, {"a": 456, "b": "789 \\" 123"}, "\\\\"]'),
    ],
)
def test_rules_of_your_own_keep_json(pattern, text):
    vault = Vault()
    dlp = placing(pattern)
    sent = dlp.inspect(with_vault(vault), text).sanitized_text
    json.loads(sent)
    for size in (1, 2, 3, 5):
        pieces = [text[place : place + size] for place in range(0, len(text), size)]
        assert streamed(dlp, vault, pieces) == sent


def test_an_escaped_match_of_your_own_stands_for_what_it_means():
    vault = Vault()
    dlp = placing(r"key-[^ ]+")
    sent = dlp.inspect(with_vault(vault), '{"a": "key-\\u00e9\\"x end", "b": "key-\\q ."}').sanitized_text
    first, second = re.findall(r"<[^>]+>", sent)
    assert vault.value_of(first) == 'key-é"x'
    assert vault.value_of(second) == "key-\\q"


def test_conditions_and_allowed_texts_hold():
    vault = Vault()
    rule = DlpRule(
        id="order",
        pattern=r"[0-9]{4}",
        enabled_for=DlpContentType,
        context_words=["order"],
        action=DlpAction.PLACEHOLDER,
    )
    dlp = RuleBasedDlpInterceptor(RuleBasedDlpConfiguration([rule], allowed_texts=["1234"]))
    text = 'order 1234 and 5678, {"x": 1}' + " " * 60 + "9999"
    sent = dlp.inspect(with_vault(vault), text).sanitized_text
    assert vault.restore(sent) == text
    assert list(re.sub(r"_[0-9a-z]{7}>", ">", sent).split()[:4]) == ["order", "1234", "and", "<ORDER_1>,"]
    assert len(vault) == 1


STREAMED = (packs("stdlib"), placing(EMAIL, "email"))


@given(st.lists(st.integers(0, len(TEXT)), max_size=8))
def test_a_stream_gives_what_the_whole_gives(places):
    vault = Vault(random=random.Random(2))
    for dlp in STREAMED:
        whole = dlp.inspect(with_vault(vault), TEXT).sanitized_text
        assert streamed(dlp, vault, split_at(TEXT, places)) == whole


def test_a_long_match_has_one_placeholder_in_a_stream():
    key = "-----BEGIN PRIVATE KEY-----\n" + "EXAMPLE0" * 1_000 + "\n-----END PRIVATE KEY-----"
    vault = Vault()
    text = f"a {key} b"
    pieces = [text[place : place + 64] for place in range(0, len(text), 64)]
    sent = streamed(packs("stdlib"), vault, pieces)
    assert re.fullmatch(r"a <PRIVATE_KEY_1_[0-9a-z]{7}> b", sent)
    assert vault.restore(sent) == text


def test_without_a_vault_nothing_is_inspected():
    for dlp in (packs(), placing("x")):
        for call in (
            lambda dlp=dlp: dlp.inspect(context_of(), "text"),
            lambda dlp=dlp: dlp.open_stream(context_of()),
        ):
            with pytest.raises(ConfigurationError, match=r"no vault.*vault=Vault\(\)"):
                call()


def test_a_vault_without_such_a_rule_is_not_used():
    vault = Vault()
    dlp = default_rules()
    assert dlp.inspect(with_vault(vault), "ann@example.com").sanitized_text == "[REDACTED:email]"
    assert not len(vault)


KEY = b"0123456789abcdef"
MIXED = {
    "a": (DlpAction.MASK, r"\*{13}3456"),
    "b": (DlpAction.HASH, r"\[b:[0-9a-f]{16}\]"),
    "c": (DlpAction.LOG, "c1234567890123456"),
    "d": (DlpAction.REDACT, r"\[D\]"),
    "e": (DlpAction.PLACEHOLDER, "<E_1_[0-9a-z]{7}>"),
}


@pytest.mark.parametrize("is_packed", [False, True], ids=["cascade", "one pass"])
def test_other_actions_work_beside_it(is_packed, caplog):
    caplog.set_level("INFO")
    rules = [
        DlpRule(
            id=letter,
            pattern=f"{letter}[0-9]{{16}}",
            enabled_for=DlpContentType,
            replacement=f"[{letter.upper()}]",
            action=action,
            max_length=20,
        )
        for letter, (action, _) in MIXED.items()
    ]
    configuration = RuleBasedDlpConfiguration(rules, packs=ALL if is_packed else (), hash_key=KEY)
    dlp = RuleBasedDlpInterceptor(configuration)
    text = " ".join(f"{letter}1234567890123456" for letter in MIXED)
    sent = dlp.inspect(with_vault(), text).sanitized_text
    assert re.fullmatch(" ".join(form for _, form in MIXED.values()), sent)
    assert [record.getMessage() for record in caplog.records] == [
        "DLP rule c found something; its action is to log"
    ]


@pytest.mark.parametrize("is_packed", [False, True], ids=["cascade", "one pass"])
@pytest.mark.parametrize(
    ("action", "replacement", "message"),
    [
        (DlpAction.BLOCK, "[X]", "'word' blocks this text"),
        (DlpAction.REDACT, "[no Secret]", "'word': the replacement contains"),
    ],
)
def test_what_another_action_refuses_is_refused(is_packed, action, replacement, message):
    rule = DlpRule(
        id="word",
        pattern="secret",
        enabled_for=DlpContentType,
        replacement=replacement,
        action=action,
        max_length=9,
    )
    dlp = RuleBasedDlpInterceptor(RuleBasedDlpConfiguration([rule], packs=ALL if is_packed else ()))
    with pytest.raises(DlpInspectionError, match=message):
        dlp.inspect(context_of(INPUT), "a secret")


def test_a_full_vault_rejects_the_text():
    canary = "canary-mail@example.com"
    with pytest.raises(DlpInspectionError, match="more than 1 values") as caught:
        packs().inspect(with_vault(Vault(max_value_count=1)), f"ann@example.com {canary}")
    assert_no_canary(canary, str(caught.value))


def test_a_match_that_the_rules_id_shows_is_refused():
    vault = Vault()
    with pytest.raises(DlpInspectionError, match="part of its own id"):
        placing("e", "note").inspect(with_vault(vault), "e")
    assert not len(vault)


@pytest.mark.parametrize(
    ("rule_id", "matched", "kind"),
    [("person", "Per", "VALUE"), ("value", "Val", "TEXT"), ("person", "Ann", "PERSON")],
)
def test_a_kind_does_not_show_the_match(rule_id, matched, kind):
    vault = Vault()
    sent = placing(matched, rule_id).inspect(with_vault(vault), matched).sanitized_text
    assert re.fullmatch(f"<{kind}_1_[0-9a-z]{{7}}>", sent)
    assert vault.restore(sent) == matched


def test_a_match_may_look_like_chance():
    vault = Vault(random=random.Random(1))
    dlp = placing(r"\b[0-9]\b", "digit")
    for digit in "0123456789":
        sent = dlp.inspect(with_vault(vault), digit).sanitized_text
        assert vault.value_of(sent) == digit


@pytest.mark.parametrize("content_types", [[DlpContentType.MODEL_OUTPUT], [DlpContentType.TOOL_RESULT]])
def test_a_rule_that_outgoing_text_never_meets_is_refused(content_types):
    with pytest.raises(ConfigurationError, match=r"'mail' makes placeholders.*MODEL_INPUT"):
        DlpRule(id="mail", pattern="@", enabled_for=content_types, action=DlpAction.PLACEHOLDER)
    rule = DlpRule(id="mail", pattern="@", enabled_for=content_types)
    with pytest.raises(ConfigurationError, match=r"'mail' makes placeholders.*MODEL_INPUT"):
        RuleBasedDlpInterceptor(RuleBasedDlpConfiguration([rule], actions={"mail": DlpAction.PLACEHOLDER}))


def test_an_interceptor_says_whether_it_makes_placeholders():
    plain = default_rules()
    assert not plain.uses_placeholders
    assert packs().uses_placeholders
    assert CompositeDlpInterceptor([plain, packs()]).uses_placeholders
    assert not CompositeDlpInterceptor([plain]).uses_placeholders
    disabled = RuleBasedDlpInterceptor.with_default_rules(
        actions={"email": DlpAction.PLACEHOLDER}, disabled_rules=["email"]
    )
    assert not disabled.uses_placeholders


def test_a_composite_shares_the_vault():
    vault = Vault()
    dlp = CompositeDlpInterceptor([placing("Ann", "name"), packs()])
    result = dlp.inspect(with_vault(vault), "Ann, ann@example.com")
    assert vault.restore(result.sanitized_text) == "Ann, ann@example.com"
    assert len(vault) == 2


def test_a_context_shows_no_vault():
    vault = Vault()
    context = with_vault(vault)
    assert "vault" not in repr(context).lower()
    assert context == context_of(INPUT)
    assert hash(context) == hash(context_of(INPUT))
