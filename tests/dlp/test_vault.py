"""`Vault`: placeholders for values, and the values for placeholders, of one operation and no other."""

from __future__ import annotations

import copy
import json
import pickle
import random
import re
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dlp.contexts import split_at
from tramapy import ConfigurationError, DlpInspectionError
from tramapy.dlp.vault import Vault
from tramapy.testing import assert_no_canary

CANARY = "canary-value-31c0de"
FORM = r"<{kind}_{number}_[0-9b-df-hj-np-tv-z]{{7}}>"


class Bits:
    """A random source that says what it is told."""

    def __init__(self, bits: object) -> None:
        self.bits = bits

    def random(self) -> float:
        return 0.5

    def getrandbits(self, k: int, /):
        return self.bits


def restored(vault: Vault, pieces: list[str]) -> str:
    stream = vault.open_stream()
    return "".join([stream.feed(piece) for piece in pieces]) + stream.finish()


def test_a_placeholder_names_the_rule_and_a_number():
    assert re.fullmatch(FORM.format(kind="EMAIL", number=1), Vault().protect("email", "ann@example.com"))


@pytest.mark.parametrize(
    ("rule_id", "kind"),
    [
        ("us_ssn", "US_SSN"),
        ("presidio.person", "PRESIDIO_PERSON"),
        ("a-b:c.d_e", "A_B_C_D_E"),
        ("a--", "A"),
        ("3ds", "3DS"),
        ("x" * 128, "X" * 32),
    ],
)
def test_the_kind_comes_from_the_rule_id_and_is_short(rule_id, kind):
    assert re.fullmatch(FORM.format(kind=kind, number=1), Vault().protect(rule_id, "value"))


def test_the_same_value_of_a_rule_has_the_same_number():
    vault = Vault()
    first, second, again = (vault.protect("email", f"{name}@example.com") for name in ("ann", "bob", "ann"))
    assert first == again != second
    assert "_2_" in second
    assert len(vault) == 2


def test_values_are_compared_as_they_are_written():
    vault = Vault()
    assert vault.protect("email", "Ann@example.com") != vault.protect("email", "ann@example.com")


def test_each_rule_counts_its_own_values():
    vault = Vault()
    assert "<EMAIL_1_" in vault.protect("email", "x")
    assert "<PHONE_1_" in vault.protect("phone", "x")


def test_rules_of_one_kind_share_no_number():
    vault = Vault()
    placeholders = [vault.protect("a.b", "one"), vault.protect("a_b", "two"), vault.protect("a-b", "one")]
    assert len(set(placeholders)) == 3
    assert vault.restore(" ".join(placeholders)) == "one two one"


def test_vaults_share_no_placeholders():
    first, second = Vault(), Vault()
    theirs = second.protect("email", "bob@example.com")
    ours = first.protect("email", "ann@example.com")
    assert first.restore(f"{ours} {theirs}") == f"ann@example.com {theirs}"


def test_a_seed_repeats_the_placeholders():
    first, second = (Vault(random=random.Random(3)).protect("email", "x") for _ in range(2))
    assert first == second


def test_the_vaults_own_part_has_at_least_32_bits():
    nonces = {
        Vault(random=Bits(bits)).protect("a", "x")[-8:-1] for bits in range(0, 1 << 34, (1 << 34) // 997)
    }
    assert len(nonces) >= 997
    assert 31**7 > 2**32


@pytest.mark.parametrize("bits", [-1, 0.5, None], ids=["negative", "a float", "nothing"])
def test_a_random_source_outside_its_contract_is_refused(bits):
    with pytest.raises(ConfigurationError, match="getrandbits"):
        Vault(random=Bits(bits))


def test_text_around_placeholders_stays():
    vault = Vault()
    placeholder = vault.protect("email", "ann@example.com")
    assert vault.restore(f"Mail {placeholder}, not <b>{placeholder}</b>.") == (
        "Mail ann@example.com, not <b>ann@example.com</b>."
    )


def test_numbers_that_were_not_given_stay():
    vault = Vault()
    placeholder = vault.protect("email", "ann@example.com")
    invented = placeholder.replace("_1_", "_2_")
    other_kind = placeholder.replace("EMAIL", "PHONE")
    text = f"{invented} {other_kind} {placeholder.lower()} {placeholder[1:-1]}"
    assert vault.restore(text) == text
    assert vault.restore_json(json.dumps(text)) == json.dumps(text)


def test_a_restored_value_is_not_restored_again():
    vault = Vault()
    inner = vault.protect("email", "ann@example.com")
    outer = vault.protect("note", f"see {inner}")
    assert vault.restore(outer) == f"see {inner}"


def test_text_that_is_json_stays_json():
    vault = Vault()
    value = 'a "quoted"\nline \\ and é'
    placeholder = vault.protect("note", value)
    text = f'  {{"say": "<{placeholder}>", "n": [1, "{placeholder}"], "e": "\\\\"}} {placeholder}'
    assert vault.restore(text).endswith(f" {value}")
    whole = json.loads(vault.restore(text.removesuffix(placeholder)))
    assert whole == {"say": f"<{value}>", "n": [1, value], "e": "\\"}
    assert vault.restore(f'say "{placeholder}"') == f'say "{value}"'
    assert vault.restore(f'{placeholder}{{"{placeholder}"') == f'{value}{{"{value}"'


def test_json_arguments_are_restored_in_their_strings_alone():
    vault = Vault()
    value = 'a "quoted"\nline'
    placeholder = vault.protect("note", value)
    escaped = placeholder.replace("<", "\\u003c").replace(">", "\\u003E")
    text = f'{{ "a" :\t"{placeholder}", "b":[ "x\\u0041", 1.50 , "{escaped}"], "{placeholder}": null}}'
    done = vault.restore_json(text)
    assert json.loads(done) == {"a": value, "b": ["xA", 1.5, value], value: None}
    assert done.startswith('{ "a" :\t"')
    assert '[ "x\\u0041", 1.50 , ' in done


@pytest.mark.parametrize(
    "form", ["{}", '{{"a": {}}}', '{{"a": "{}"', "[" * 100_000 + '"{}"', '{{"a": "\n{}"}}', "'{}'"]
)
def test_arguments_that_are_no_json_stay(form):
    vault = Vault()
    text = form.format(vault.protect("email", "ann@example.com")) if "{}" in form else form
    assert vault.restore_json(text) == text


def test_nothing_to_restore_is_the_same_object():
    vault = Vault()
    text = "no placeholder"
    assert vault.restore(text) is text
    assert vault.restore_json(text) is text
    vault.protect("email", "ann@example.com")
    assert vault.restore(text) is text
    assert vault.restore_json(text) is text


def test_a_stream_holds_back_only_what_may_become_a_placeholder():
    vault = Vault()
    placeholder = vault.protect("email", "ann@example.com")
    stream = vault.open_stream()
    assert stream.feed(f"a < b <c> <EMAIL {placeholder[:5]}") == "a < b <c> <EMAIL "
    assert stream.feed(placeholder[5:-1]) == ""
    assert stream.feed("> and <EMAIL_") == "ann@example.com and "
    assert stream.feed("2") == "<EMAIL_2"
    assert stream.feed("<") == ""
    assert stream.finish() == "<"
    assert stream.finish() == ""


def test_a_stream_of_an_empty_vault_holds_nothing_back():
    assert Vault().open_stream().feed("a <") == "a <"


def test_a_stream_knows_what_came_into_the_vault_after_it_began():
    vault = Vault()
    stream = vault.open_stream()
    assert stream.feed("<") == "<"
    placeholder = vault.protect("email", "ann@example.com")
    assert stream.feed(placeholder[:3]) == ""
    assert stream.feed(placeholder[3:]) == "ann@example.com"


@given(st.data())
def test_every_split_gives_what_the_whole_gives(data):
    vault = Vault(random=random.Random(5))
    placeholders = [vault.protect(rule, value) for rule in ("email", "e", "e_1") for value in ('a"b\n', "c")]
    fragments = [
        *placeholders,
        *(each[:-3] for each in placeholders),
        "<",
        ">",
        "_1_",
        " ",
        '"',
        "\\",
        "{",
        "[",
    ]
    text = "".join(data.draw(st.lists(st.sampled_from(fragments), max_size=12)))
    places = data.draw(st.lists(st.integers(0, len(text)), max_size=6))
    assert restored(vault, split_at(text, places)) == vault.restore(text)
    assert restored(vault, list(text)) == vault.restore(text)


def test_a_full_vault_takes_no_other_value():
    vault = Vault(max_value_count=2)
    first = vault.protect("email", "one")
    vault.protect("email", "two")
    with pytest.raises(DlpInspectionError, match="more than 2 values") as caught:
        vault.protect("email", CANARY)
    assert_no_canary(CANARY, str(caught.value), vault)
    assert vault.protect("email", "one") == first


@pytest.mark.parametrize(
    ("count", "error"),
    [
        (True, TypeError),
        (1.5, TypeError),
        ("1", TypeError),
        (0, ConfigurationError),
        (-1, ConfigurationError),
        (1_000_001, ConfigurationError),
    ],
)
def test_a_limit_that_cannot_work_is_refused(count, error):
    with pytest.raises(error, match="max_value_count"):
        Vault(max_value_count=count)


def test_an_empty_value_is_refused():
    with pytest.raises(ValueError, match="not empty"):
        Vault().protect("email", "")


def test_a_value_that_is_no_text_is_refused():
    with pytest.raises(TypeError, match="takes a str, not int"):
        Vault().protect("number", 78051120)


def test_a_malformed_rule_id_is_refused():
    with pytest.raises(ValueError, match="rule id"):
        Vault().protect("E-Mail", "x")


def test_a_wiped_vault_knows_nothing_and_takes_nothing():
    vault = Vault()
    placeholder = vault.protect("email", CANARY)
    stream = vault.open_stream()
    assert not vault.is_wiped
    vault.wipe()
    assert vault.is_wiped
    assert len(vault) == 0
    assert vault.restore(placeholder) == placeholder
    assert vault.restore_json(f'"{placeholder}"') == f'"{placeholder}"'
    assert stream.feed(placeholder) == placeholder
    with pytest.raises(DlpInspectionError, match="was wiped"):
        vault.protect("email", "other")
    assert_no_canary(CANARY, vault, stream)


def test_a_with_block_wipes_it():
    with Vault() as vault:
        vault.protect("email", "x")
    assert vault.is_wiped


def test_repr_copies_and_pickles_give_nothing():
    vault = Vault()
    placeholder = vault.protect("email", CANARY)
    assert repr(vault) == str(vault) == "Vault(<1 values>)"
    copies = [copy.copy(vault), copy.deepcopy(vault), pickle.loads(pickle.dumps(vault))]
    for each in copies:
        assert each.is_wiped
        assert each.restore(placeholder) == placeholder
    assert_no_canary(CANARY, copies, pickle.dumps(vault), repr(vault))
    assert vault.restore(placeholder) == CANARY


def test_threads_share_the_numbers():
    vault = Vault()
    found: list[list[str]] = []

    def work():
        found.append([vault.protect("email", str(number)) for number in range(200)])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(each == found[0] for each in found)
    assert len(set(found[0])) == len(vault) == 200
