"""Packs with rules of one's own, conditions, actions and what is allowed; whole and in a stream."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import random
import string
from dataclasses import replace
from typing import Any

import pytest

from tests.dlp.contexts import BACKENDS, EMAIL, context_of, counts, default_rules, inspect, split_at, streamed
from tests.memory import peak_bytes
from tramapy.dlp import DlpAction, DlpRule, RuleBasedDlpConfiguration, RuleBasedDlpInterceptor, RulePack
from tramapy.dlp.interceptor import Backend
from tramapy.dlp.packs import ALL, financial, pii, secrets
from tramapy.errors import ConfigurationError, DlpInspectionError
from tramapy.hooks.dlp import DlpContentType, DlpResult

CARD = "4111 1111 1111 1111"
HASHED = hmac.new(b"0123456789abcdef", CARD.encode(), hashlib.sha256).hexdigest()[:16]
ALL_TYPES = frozenset(DlpContentType)
TICKET = DlpRule(id="ticket", pattern=r"TCK-\d+", replacement="[T]", enabled_for=ALL_TYPES)


def both(text: str, *, pieces: int = 3, **options: Any) -> DlpResult:
    """Inspect a text on both backends and in a stream, and return what all of them agree on."""
    results = []
    for backend in BACKENDS:
        interceptor = RuleBasedDlpInterceptor.with_default_rules(backend=backend, **options)
        results.append(inspect(interceptor, text))
        results.append(streamed(interceptor, split_at(text, range(0, len(text), pieces))))
    assert results == results[:1] * 4
    return results[0]


def test_added_rules_run_beside_the_packs() -> None:
    result = both(f"TCK-12 by a@example.com, {CARD}", rules=[TICKET])
    assert result.sanitized_text == "[T] by [REDACTED:email], [REDACTED:credit_card]"
    assert counts(result) == [("email", 1), ("credit_card", 1), ("ticket", 1)]


def test_an_added_rule_unites_with_what_it_overlaps() -> None:
    greedy = DlpRule(id="line", pattern=r"x=[^\n]*", replacement="[X]", enabled_for=ALL_TYPES)
    result = both("x=1 a@example.com\nb@example.com", rules=[greedy])
    assert result.sanitized_text == "[X]\n[REDACTED:email]"
    assert counts(result) == [("email", 1), ("line", 1)]


def test_a_rule_with_the_id_of_a_packs_rule_takes_its_place() -> None:
    own = DlpRule(id="email", pattern=EMAIL, replacement="<mail>", enabled_for=ALL_TYPES)
    assert both("a@example.com", rules=[own]).sanitized_text == "<mail>"


def test_an_added_rule_is_for_the_types_that_it_names() -> None:
    own = DlpRule(id="ticket", pattern="TCK", enabled_for={DlpContentType.TOOL_RESULT}, replacement="[T]")
    interceptor = RuleBasedDlpInterceptor.with_default_rules(rules=[own])
    tool = context_of(DlpContentType.TOOL_RESULT)
    assert inspect(interceptor, "TCK a@example.com").sanitized_text == "TCK [REDACTED:email]"
    assert interceptor.inspect(tool, "TCK").sanitized_text == "[T]"
    stream = interceptor.open_stream(tool)
    assert stream.feed("TCK ") + stream.finish() == "[T] "


def test_a_packs_rule_can_be_limited_to_tools() -> None:
    limited = RulePack("pii", tuple(replace(rule, tool_names={"crm"}) for rule in pii.rules))
    interceptor = RuleBasedDlpInterceptor.with_default_rules(packs=[limited])
    context = context_of(DlpContentType.TOOL_RESULT, tool_name="crm")
    assert inspect(interceptor, "a@example.com").sanitized_text == "a@example.com"
    assert interceptor.inspect(context, "a@example.com").sanitized_text == "[REDACTED:email]"


def test_a_pattern_that_matches_nothing_fails_closed() -> None:
    empty = DlpRule(id="empty", pattern="x*", enabled_for=ALL_TYPES)
    for backend in BACKENDS:
        interceptor = RuleBasedDlpInterceptor.with_default_rules(backend=backend, rules=[empty])
        with pytest.raises(DlpInspectionError, match="'empty' matched the empty string"):
            inspect(interceptor, "abc")
        with pytest.raises(DlpInspectionError, match="'empty' matched the empty string"):
            streamed(interceptor, ["ab", "c"])


def test_disabled_rules_stay_out() -> None:
    assert both("a@example.com 203.0.113.7", disabled_rules=["email"]).sanitized_text == (
        "a@example.com [REDACTED:ipv4]"
    )


def test_packs_can_be_chosen() -> None:
    assert both(f"a@example.com {CARD}", packs=[financial]).sanitized_text == (
        "a@example.com [REDACTED:credit_card]"
    )


def test_without_packs_the_rules_run_one_after_another() -> None:
    second = DlpRule(id="second", pattern=r"\[T\]", replacement="<seen>", enabled_for=ALL_TYPES)
    assert both("TCK-1", packs=[], rules=[TICKET, second]).sanitized_text == "<seen>"
    assert both("TCK-1", rules=[TICKET, second]).sanitized_text == "[T]"


@pytest.mark.parametrize("packs", [(), ALL], ids=["cascade", "one-pass"])
def test_conditions_decide_on_a_match(packs: Any) -> None:
    rule = DlpRule(
        id="code",
        pattern=r"[a-z]\d+",
        replacement="[C]",
        enabled_for=ALL_TYPES,
        context_words=["code", "Kode"],
        validate=lambda match: not match.startswith("z"),
        max_length=4,
    )
    text = "a1; code a1, KODE b22, c3 z4 d12345; " + "-" * 40 + " e5"
    assert both(text, packs=packs, rules=[rule]).sanitized_text == (
        "a1; code [C], KODE [C], [C] z4 d12345; " + "-" * 40 + " e5"
    )


@pytest.mark.parametrize("packs", [(), ALL], ids=["cascade", "one-pass"])
def test_what_is_allowed_stays(packs: Any) -> None:
    rule = DlpRule(id="mail", pattern=EMAIL, replacement="[M]", enabled_for=ALL_TYPES)
    text = "Help@Example.com, a@corp.example.com, b@example.net, xa@corp.example.comx"
    assert both(
        text,
        packs=packs,
        rules=[rule],
        disabled_rules=["email"] if packs else [],
        allowed_texts=["help@example.com"],
        allowed_patterns=[r"[a-z]+@corp\.example\.com"],
    ).sanitized_text == ("Help@Example.com, a@corp.example.com, [M], [M]")


def test_what_is_allowed_stays_in_packs_too() -> None:
    assert both("203.0.113.7 203.0.113.8", allowed_texts=["203.0.113.7"]).sanitized_text == (
        "203.0.113.7 [REDACTED:ipv4]"
    )


@pytest.mark.parametrize("packs", [(), (financial,)], ids=["cascade", "one-pass"])
@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (DlpAction.REDACT, "pay [#] now"),
        (DlpAction.MASK, "pay **** **** **** 1111 now"),
        (DlpAction.HASH, f"pay [credit_card:{HASHED}] now"),
        (DlpAction.LOG, f"pay {CARD} now"),
    ],
    ids=lambda value: value.value if isinstance(value, DlpAction) else "",
)
def test_an_action_says_what_is_put_there(packs: Any, action: DlpAction, expected: str, caplog: Any) -> None:
    caplog.set_level(logging.INFO)
    own = DlpRule(
        id="credit_card",
        pattern=r"\d{4}(?: \d{4}){3}",
        replacement="[#]",
        enabled_for=ALL_TYPES,
        action=action,
    )
    options: dict[str, Any] = {"rules": [own]} if not packs else {"actions": {"credit_card": action}}
    if packs:
        options["packs"] = [
            RulePack("cards", tuple(replace(rule, replacement="[#]") for rule in financial.rules))
        ]
    else:
        options["packs"] = []
    result = both(f"pay {CARD} now", hash_key=b"0123456789abcdef", **options)
    assert result.sanitized_text == expected
    assert result.has_redactions is (action is not DlpAction.LOG)
    logged = [record.getMessage() for record in caplog.records]
    assert ("DLP rule credit_card found something; its action is to log" in logged) is (
        action is DlpAction.LOG
    )
    assert CARD not in caplog.text


@pytest.mark.parametrize("packs", [(), (financial,)], ids=["cascade", "one-pass"])
def test_block_rejects_the_text_and_stops_a_stream(packs: Any) -> None:
    own = DlpRule(id="credit_card", pattern=r"\d{4}(?: \d{4}){3}", enabled_for=ALL_TYPES)
    interceptor = RuleBasedDlpInterceptor.with_default_rules(
        packs=packs, rules=[] if packs else [own], actions={"credit_card": DlpAction.BLOCK}
    )
    with pytest.raises(DlpInspectionError, match=r"^DLP rule 'credit_card' blocks this text$"):
        inspect(interceptor, f"pay {CARD} now")
    stream = interceptor.open_stream(context_of())
    assert stream.feed("pay ") == "pay "
    with pytest.raises(DlpInspectionError, match="blocks this text"):
        stream.feed(f"{CARD} now that it is over")
    with pytest.raises(ValueError, match="has ended"):
        stream.feed("more")


@pytest.mark.parametrize("packs", [(), (secrets,)], ids=["cascade", "one-pass"])
def test_a_replacement_never_shows_its_match(packs: Any) -> None:
    own = DlpRule(id="x", pattern="secret", replacement="[the SECRET]", enabled_for=ALL_TYPES, max_length=99)
    interceptor = RuleBasedDlpInterceptor.with_default_rules(packs=packs, rules=[own])
    with pytest.raises(DlpInspectionError, match="'x': the replacement contains"):
        inspect(interceptor, "a secret")


def test_a_mask_shows_at_most_four_and_only_of_long_matches() -> None:
    masked = both("203.0.113.7, a@b.example", actions={"ipv4": DlpAction.MASK, "email": DlpAction.MASK})
    assert masked.sanitized_text == "***.*.***.*, *@*.*******"


def test_a_hash_depends_on_its_key_alone() -> None:
    options = {"actions": {"email": DlpAction.HASH}}
    one = both(
        "a@example.com b@example.com a@example.com", hash_key=b"k" * 16, **options
    ).sanitized_text.split()
    other = both("a@example.com", hash_key=b"x" * 16, **options).sanitized_text
    assert one[0] == one[2] != one[1]
    assert other != one[0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_json_keeps_its_shape(backend: Backend) -> None:
    quoting = DlpRule(id="quote", pattern="MAGIC", replacement='say "no"\\', enabled_for=ALL_TYPES)
    nothing = DlpRule(id="nothing", pattern="VOID", replacement="", enabled_for=ALL_TYPES)
    interceptor = RuleBasedDlpInterceptor.with_default_rules(backend=backend, rules=[quoting, nothing])
    document = {
        "card": 5105105105105100,
        "minus": [-4111111111111111, 7],
        "4111111111111111": {"deep": [[{"mail": "carol@example.com", "n": None}]]},
        "x": "MAGIC \\ MAGIC",
        "empty": "VOID",
        'q"uote': "\u00e9 \\\\ \u2028",
        "twice": json.dumps({"mail": "dave@example.com"}),
    }
    for text in (
        json.dumps(document),
        json.dumps(document, indent=2),
        json.dumps(document, ensure_ascii=False),
    ):
        result = inspect(interceptor, text)
        assert json.loads(result.sanitized_text) == {
            "card": "[REDACTED:credit_card]",
            "minus": [-4111111111111111, 7],
            "[REDACTED:credit_card]": {"deep": [[{"mail": "[REDACTED:email]", "n": None}]]},
            "x": 'say "no"\\ \\ say "no"\\',
            "empty": "[REDACTED]",
            'q"uote': "\u00e9 \\\\ \u2028",
            "twice": json.dumps({"mail": "[REDACTED:email]"}),
        }
        for size in (1, 7):
            assert streamed(interceptor, split_at(text, range(0, len(text), size))) == result


def test_text_that_only_begins_like_json_is_read_on() -> None:
    assert both('[1] "unfinished a@example.com, \\').sanitized_text == (
        '[1] "unfinished [REDACTED:email], \\'
    )


def long_texts(source: random.Random) -> str:
    """Make a text of tokens, key blocks and digits that are longer than a stream holds back."""
    letters = string.ascii_letters + string.digits

    def run(length: int, characters: str = letters) -> str:
        return "".join(source.choice(characters) for _ in range(length))

    length = source.choice((10, 300, 1_500, 3_200, 9_000))
    makers = (
        lambda: "sk-" + "ant-" + run(length),
        lambda: "gh" + "p_" + run(length),
        lambda: "-----BEGIN PRIVATE" + " KEY-----\n" + "\n".join(run(64) for _ in range(length // 65 + 1)),
        lambda: run(length, letters + "+/") + "==",
        lambda: " ".join(run(4, string.digits) for _ in range(length // 5)),
        lambda: run(length, string.digits),
        lambda: "password=" + run(length, letters + "!.-_@"),
        lambda: "Bearer " + run(length, letters + "._-"),
        lambda: "ey" + "J" + run(30) + ".ey" + "J" + run(length) + "." + run(43),
        lambda: "\n".join(run(16, string.digits) for _ in range(length // 17)),
        lambda: "https://hooks.slack" + ".com/services/" + run(length),
        lambda: run(length, "abcdef0123456789:"),
        lambda: f"write to {run(8)}@example.com",
    )
    joints = (" ", "\n", ". ", "", ", ", '"', "\n-----END PRIVATE KEY-----\n", "\n(cut)", " and so on")
    return "".join(source.choice(makers)() + source.choice(joints) for _ in range(source.randrange(1, 5)))


@pytest.mark.unmeasured
@pytest.mark.parametrize("seed", range(3))
def test_what_is_longer_than_a_stream_holds_gives_the_whole_result_too(seed: int) -> None:
    source = random.Random(seed)
    interceptor = default_rules("stdlib")
    for _ in range(6):
        text = long_texts(source)
        whole = inspect(interceptor, text)
        assert (
            streamed(interceptor, split_at(text, range(0, len(text), source.choice((4, 37, 1_000))))) == whole
        )


def test_a_long_token_is_not_held() -> None:
    interceptor = default_rules("stdlib")
    stream = interceptor.open_stream(context_of())
    released = stream.feed("key sk-" + "ant-" + "EXAMPLE0" * 1_000)
    assert released == "key [REDACTED:anthropic_key]"
    assert stream.feed("") == ""
    assert "".join(stream.feed("EXAMPLE0" * 100) for _ in range(100)) == ""
    assert stream.feed(" and then prose") + stream.finish() == " and then prose"
    assert [(found.rule_id, found.replacement_count) for found in stream.redactions] == [("anthropic_key", 1)]


def test_addresses_in_one_another_are_not_held() -> None:
    stream = RuleBasedDlpInterceptor.with_default_rules(backend="stdlib").open_stream(context_of())
    assert stream.feed(f"so {'a@b.co' * 1_000}") == "so [REDACTED:email]"
    assert "".join(stream.feed("a@b.co" * 100) for _ in range(20)) == ""
    assert stream.feed(" and then some prose") + stream.finish() == " and then some prose"
    assert [found.replacement_count for found in stream.redactions] == [1]


@pytest.mark.parametrize(
    ("piece", "released"),
    [
        ("\u200b" * 1_000, "\u200b" * 1_000),
        (("eyJ" + "a" * 20 + ".") * 42, "[REDACTED:jwt]."),
    ],
    ids=["invisible", "a token that ends before the piece does"],
)
def test_what_a_stream_keeps_is_bounded(piece: str, released: str) -> None:
    dlp = default_rules()

    def kept() -> None:
        stream = dlp.open_stream(context_of())
        for _ in range(100):
            stream.feed(piece)

    assert streamed(dlp, [piece, piece, piece, piece]).sanitized_text in (released, released * 4)
    assert peak_bytes(kept) < 150 * len(piece)


@pytest.mark.parametrize(
    "start",
    [
        "-----BEGIN PRIVATE KEY-----\n",
        "password",
        'password: "aB3',
        "<password>a",
        "a@b",
        "Cookie: a=",
        "--password ",
    ],
)
def test_what_is_invisible_is_not_held_for_ever(start: str) -> None:
    interceptor = RuleBasedDlpInterceptor.with_default_rules()
    stream = interceptor.open_stream(context_of())
    released = stream.feed(start) + "".join(stream.feed("\u200b" * 1_000) for _ in range(100))
    assert released.count("\u200b") >= 100_000 - 66_000
    assert released + stream.finish() == interceptor.redact(start + "\u200b" * 100_000).sanitized_text


def test_what_is_invisible_is_counted_between_characters() -> None:
    much = "\u200b" * 20_000
    interceptor = RuleBasedDlpInterceptor.with_default_rules()
    pieces = ["password: aB", much, "c", much, "3xY9 end"]
    assert streamed(interceptor, pieces).sanitized_text == "password: [REDACTED:password] end"
    assert streamed(interceptor, pieces) == inspect(interceptor, "".join(pieces))


def test_an_action_that_needs_all_of_a_token_gets_it() -> None:
    text = "key sk-" + "ant-" + "EXAMPLE0" * 1_000 + " end"
    result = both(text, pieces=500, actions={"anthropic_key": DlpAction.MASK})
    assert result.sanitized_text.startswith("key **-***-****")
    assert result.sanitized_text.endswith("***MPLE end".replace("MPLE", "PLE0"))


@pytest.mark.parametrize(
    ("options", "error", "complaint"),
    [
        (
            {"packs": [secrets.rules]},
            TypeError,
            r"packs\[0\] takes a RulePack such as tramapy.dlp.packs.secrets",
        ),
        ({"packs": [secrets, secrets]}, ConfigurationError, "Two DLP rules have the id 'aws_access_key'"),
        (
            {"disabled_rules": ["nope"]},
            ConfigurationError,
            "disabled_rules names a rule that there is not: 'nope'; known are anthropic_key, aws",
        ),
        (
            {"disabled_rules": ["e-mail"]},
            ConfigurationError,
            "not: 'e-mail'; did you mean 'email'\\?$",
        ),
        (
            {"disabled_rule": ["email"]},
            TypeError,
            r"'disabled_rule' of with_default_rules; did you mean disabled_rules\?",
        ),
        ({"disabled_rules": "email"}, TypeError, "disabled_rules takes several strings"),
        ({"disabled_rules": [1]}, TypeError, "disabled_rules takes strings only"),
        ({"actions": {"nope": DlpAction.MASK}}, ConfigurationError, "actions names a rule that there is not"),
        (
            {"actions": {"email": "mask"}},
            TypeError,
            r"actions\['email'\] takes a DlpAction, not str; for example DlpAction\.MASK$",
        ),
        ({"actions": ["email"]}, TypeError, "actions takes a mapping"),
        ({"actions": {"email": DlpAction.HASH}}, ConfigurationError, "give a secret hash_key"),
        ({"hash_key": b"short"}, ConfigurationError, "hash_key has 5 bytes; take at least 16"),
        ({"hash_key": "text" * 8}, TypeError, "hash_key takes bytes, not str"),
        ({"allowed_texts": "a@example.com"}, TypeError, "allowed_texts takes several strings"),
        ({"allowed_patterns": ["("]}, ConfigurationError, r"allowed_patterns\[0\]: its pattern is not valid"),
    ],
)
def test_a_wrong_setting_is_named(options: dict[str, Any], error: type[Exception], complaint: str) -> None:
    with pytest.raises(error, match=complaint):
        RuleBasedDlpInterceptor.with_default_rules(**options)


@pytest.mark.parametrize(
    ("fields", "error", "complaint"),
    [
        ({"context_words": "ssn"}, TypeError, "context_words takes several values"),
        ({"context_words": [1]}, TypeError, "context_words takes words"),
        ({"context_words": [" "]}, ConfigurationError, "has a blank context word"),
        ({"validate": 5}, TypeError, "validate takes a function of the match, not int"),
        ({"action": "mask"}, TypeError, "action takes a DlpAction, not str"),
        ({"max_length": True}, TypeError, "max_length takes an int, not bool"),
        ({"max_length": 0}, ConfigurationError, "max_length is 0"),
    ],
)
def test_a_wrong_condition_is_named(fields: dict[str, Any], error: type[Exception], complaint: str) -> None:
    with pytest.raises(error, match=f"DLP rule 'r'.*{complaint}"):
        DlpRule(id="r", pattern="x", **fields)


def test_no_repr_shows_a_key_or_what_is_allowed() -> None:
    configuration = RuleBasedDlpConfiguration(
        packs=ALL, hash_key=b"canary0123456789", allowed_texts=["canary"], allowed_patterns=["canary+"]
    )
    assert "canary" not in repr(configuration)


@pytest.mark.unmeasured
@pytest.mark.parametrize("size", [1, 7, 500])
@pytest.mark.parametrize(
    "text",
    [
        "password=" + "a1b2c3d4" * 500 + "!" * 300 + " end",
        "key sk-" + "ant-" + "EXAMPLE0" * 500 + "@example.com end",
        "key sk-"
        + "ant-"
        + "EXAMPLE0" * 500
        + "-----BEGIN PRIVATE"
        + " KEY-----\n"
        + "EXAMPLE0" * 20
        + " (cut)",
        "key sk-"
        + "ant-"
        + "EXAMPLE0" * 500
        + "-----BEGIN PRIVATE"
        + " KEY-----\n"
        + "EXAMPLE0" * 500
        + " (cut)",
        "https://hooks.slack" + ".com/services/" + "EXAMPLE0" * 500 + "password=hunter2 end",
    ],
    ids=["ends in marks", "an address", "a short block", "a long block", "a name"],
)
def test_what_overlaps_the_end_of_a_long_match_gives_the_whole_result(text: str, size: int) -> None:
    interceptor = default_rules("stdlib")
    assert streamed(interceptor, split_at(text, range(0, len(text), size))) == inspect(interceptor, text)


def test_a_rule_that_only_the_automaton_searches_in_linear_time_runs_beside_the_packs() -> None:
    rule = DlpRule(id="far", pattern="x[^y]*y|x", replacement="[F]", enabled_for=ALL_TYPES)
    text = "x a@example.com " + "x" * 5_000
    assert both(text, rules=[rule]).sanitized_text == "[F] [REDACTED:email] " + "[F]" * 5_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("password: Summer2024!", "password: [REDACTED:password]"),
        ("password=Summer2024!&x=1", "password=[REDACTED:password]&x=1"),
        ("my password is hunter2!! ok", "my password is [REDACTED:password] ok"),
        ("password: hunter2!.", "password: [REDACTED:password]."),
        ("password: hunter2!!!!! ok", "password: [REDACTED:password]! ok"),
        ("password=hunt(er2!", "password=[REDACTED:password]"),
        ("password: wrong!", "password: wrong!"),
    ],
)
def test_an_exclamation_mark_at_the_end_of_a_password_goes_with_it(text: str, expected: str) -> None:
    interceptor = default_rules("stdlib")
    assert inspect(interceptor, text).sanitized_text == expected
    for place in range(len(text) + 1):
        assert streamed(interceptor, [text[:place], text[place:]]).sanitized_text == expected
