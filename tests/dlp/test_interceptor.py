"""The rule-based interceptor. `test_rtNNN` is item NNN of the acceptance list."""

from __future__ import annotations

import re
import sys
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dlp.contexts import (
    BACKENDS,
    CARD,
    CARD_16,
    EMAIL,
    SSN,
    context_of,
    counts,
    inspect,
    interceptor_of,
    rule_of,
)
from tests.dlp.patterns import PATTERNS, TEXTS
from tramapy.dlp import DlpAction, DlpRule, RuleBasedDlpConfiguration, RuleBasedDlpInterceptor, Vault
from tramapy.errors import ConfigurationError, DlpInspectionError
from tramapy.hooks.dlp import DlpContentType, DlpContext, StreamingDlpInterceptor

MAIL = DlpRule(id="email", pattern=EMAIL, replacement="[EMAIL]")
SSN_RULE = DlpRule(id="ssn", pattern=SSN, replacement="[SSN]")

ON_BACKENDS = pytest.mark.parametrize("backend", BACKENDS)


@ON_BACKENDS
@pytest.mark.parametrize(
    ("text", "sanitized", "count"),
    [
        ("write to ann@example.com now", "write to [EMAIL] now", 1),
        ("a@example.com, b@example.org; c@example.net", "[EMAIL], [EMAIL]; [EMAIL]", 3),
    ],
    ids=["one", "three"],
)
def test_rt101_email_rule_gives_one_entry_with_its_count(backend, text, sanitized, count):
    result = inspect(interceptor_of(MAIL, backend=backend), text)
    assert result.sanitized_text == sanitized
    assert counts(result) == [("email", count)]


@ON_BACKENDS
def test_rt102_rules_apply_in_order_with_entries_in_that_order(backend):
    result = inspect(interceptor_of(MAIL, SSN_RULE, backend=backend), "078-05-1120 is ann@example.com")
    assert result.sanitized_text == "[SSN] is [EMAIL]"
    assert counts(result) == [("email", 1), ("ssn", 1)]


@ON_BACKENDS
@pytest.mark.parametrize(
    "replacement", ["MASK-$1", r"\1\g<0>\\", "", "{0}%s"], ids=["dollar", "backslash", "empty", "format"]
)
def test_rt103_replacement_is_literal(backend, replacement):
    rule = DlpRule(id="ssn", pattern=SSN, replacement=replacement)
    assert (
        inspect(interceptor_of(rule, backend=backend), "<078-05-1120>").sanitized_text == f"<{replacement}>"
    )


@pytest.mark.parametrize("rule_id", ["", "  ", " ssn", "SSN", "ss\nn", "ssn\n", "s" * 129])
def test_rt104_malformed_id_is_refused_and_not_repeated(rule_id):
    with pytest.raises(ValueError, match="a DLP rule id") as caught:
        DlpRule(id=rule_id, pattern="x")
    assert not rule_id.strip() or rule_id not in str(caught.value)


def test_rt104_duplicate_ids_are_refused():
    with pytest.raises(ConfigurationError, match="Two DLP rules have the id 'ssn'; give each its own"):
        RuleBasedDlpConfiguration(rules=[SSN_RULE, SSN_RULE])


@pytest.mark.parametrize("pattern", ["", "   ", "\n"])
def test_rt105_blank_pattern_is_refused(pattern):
    with pytest.raises(ConfigurationError, match="DLP rule 'ssn': its pattern is blank"):
        DlpRule(id="ssn", pattern=pattern)


@ON_BACKENDS
def test_rt105_invalid_pattern_gives_a_fixed_message_without_cause(backend):
    with pytest.raises(ConfigurationError) as caught:
        interceptor_of(rule_of("[", "ssn"), backend=backend)
    assert str(caught.value) == (
        "DLP rule 'ssn': its pattern is not valid; check its brackets, groups and repeats. "
        "See docs/dlp.md for what is supported."
    )
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize("limit", [0, -1, 10_000_001])
def test_rt106_limit_out_of_range_is_refused(limit):
    with pytest.raises(ConfigurationError, match="must be between 1 and 10000000"):
        RuleBasedDlpConfiguration(max_text_length=limit)


@pytest.mark.parametrize("limit", [1, 10_000_000])
def test_rt106_limit_at_the_edge_is_accepted(limit):
    assert RuleBasedDlpConfiguration(max_text_length=limit).max_text_length == limit


@ON_BACKENDS
def test_rt107_longer_text_is_refused_in_fixed_words(backend):
    interceptor = interceptor_of(SSN_RULE, backend=backend, max_text_length=10)
    messages = set()
    for text in ["x" * 11, "y" * 500]:
        with pytest.raises(DlpInspectionError) as caught:
            inspect(interceptor, text)
        messages.add(str(caught.value))
    assert messages == {
        "The text is longer than max_text_length=10 characters, so DLP did not inspect it. "
        "Raise max_text_length, or send shorter texts."
    }


@ON_BACKENDS
@pytest.mark.parametrize("text", ["12345", "𝄞𝄞𝄞𝄞𝄞"], ids=["ascii", "astral"])
def test_rt107_equal_length_passes(backend, text):
    assert inspect(interceptor_of(SSN_RULE, backend=backend, max_text_length=5), text).sanitized_text == text


@ON_BACKENDS
@pytest.mark.parametrize(
    ("enabled_for", "redacted"),
    [
        ({DlpContentType.MODEL_OUTPUT}, [DlpContentType.MODEL_OUTPUT]),
        ({DlpContentType.TOOL_RESULT}, [DlpContentType.TOOL_RESULT]),
        (
            [DlpContentType.TOOL_RESULT, DlpContentType.MODEL_OUTPUT],
            [DlpContentType.MODEL_OUTPUT, DlpContentType.TOOL_RESULT],
        ),
        (tuple(DlpContentType), list(DlpContentType)),
    ],
    ids=["output", "tool", "both", "all"],
)
def test_rt108_rule_applies_to_the_types_that_it_is_enabled_for(backend, enabled_for, redacted):
    rule = DlpRule(id="ssn", pattern=SSN, enabled_for=enabled_for)
    interceptor = interceptor_of(rule, backend=backend)
    found = [
        kind for kind in DlpContentType if interceptor.inspect(context_of(kind), "078-05-1120").has_redactions
    ]
    assert found == redacted


def test_rt108_rule_is_enabled_for_model_output_by_default():
    assert DlpRule(id="ssn", pattern=SSN).enabled_for == frozenset({DlpContentType.MODEL_OUTPUT})


@ON_BACKENDS
@pytest.mark.parametrize(
    ("tool_names", "content_type", "tool_name", "applies"),
    [
        ({"lookup"}, DlpContentType.TOOL_RESULT, "lookup", True),
        ({"lookup"}, DlpContentType.TOOL_RESULT, "search", False),
        ({"lookup"}, DlpContentType.TOOL_RESULT, None, False),
        ((), DlpContentType.TOOL_RESULT, "search", True),
        ({"lookup"}, DlpContentType.MODEL_OUTPUT, "lookup", False),
    ],
    ids=["named", "other", "none", "any", "other_type"],
)
def test_rt109_rule_applies_to_the_tools_that_it_names(backend, tool_names, content_type, tool_name, applies):
    rule = DlpRule(id="ssn", pattern=SSN, enabled_for=[DlpContentType.TOOL_RESULT], tool_names=tool_names)
    context = context_of(content_type, tool_name=tool_name)
    assert interceptor_of(rule, backend=backend).inspect(context, "078-05-1120").has_redactions is applies


@pytest.mark.parametrize("tool_name", ["", " ", " lookup", "lookup\n"])
def test_rt110_blank_or_padded_tool_name_is_refused(tool_name):
    with pytest.raises(ConfigurationError, match="DLP rule 'ssn' has a tool name that is blank"):
        DlpRule(id="ssn", pattern=SSN, tool_names=[tool_name])


@ON_BACKENDS
def test_rt111_without_rules_the_text_is_unchanged(backend):
    result = inspect(interceptor_of(backend=backend), "078-05-1120")
    assert result.sanitized_text == "078-05-1120"
    assert not result.has_redactions


@ON_BACKENDS
@pytest.mark.parametrize("pattern", ["^", "$", r"\b", r"\d*", "a?", "x|", r"(?:ab|\Z)"])
def test_rt112_empty_match_fails_the_inspection(backend, pattern):
    with pytest.raises(DlpInspectionError, match="DLP rule 'empty' matched the empty string"):
        inspect(interceptor_of(rule_of(pattern, "empty"), backend=backend), "bbc")


@ON_BACKENDS
@pytest.mark.parametrize("pattern", ["(?=x)", "(?!x)", "(?<=x)", "(?<!x)"])
def test_rt112_look_around_is_refused_at_construction(backend, pattern):
    with pytest.raises(ConfigurationError, match="DLP rule 'rule': its pattern uses look-around"):
        interceptor_of(rule_of(pattern), backend=backend)


@ON_BACKENDS
@pytest.mark.parametrize(
    ("pattern", "replacement", "text"),
    [
        ("E", "[REDACTED]", "dEf"),
        ("secret", "<SECRET>", "a secret"),
        ("ß", "[STRASSE]", "ß"),
        ("e@x", "[e@X]", "e@x"),
    ],
    ids=["part", "other_case", "folded", "whole"],
)
def test_rt113_replacement_that_contains_the_match_fails_the_inspection(backend, pattern, replacement, text):
    rule = DlpRule(id="self", pattern=pattern, replacement=replacement)
    with pytest.raises(DlpInspectionError, match="DLP rule 'self': the replacement contains the text"):
        inspect(interceptor_of(rule, backend=backend), text)


@ON_BACKENDS
def test_rt114_a_rule_rewrites_the_replacement_of_the_one_before(backend):
    rules = [rule_of(SSN, "first", "[number]"), rule_of("number", "second", "x")]
    result = inspect(interceptor_of(*rules, backend=backend), "078-05-1120")
    assert result.sanitized_text == "[x]"
    assert counts(result) == [("first", 1), ("second", 1)]


@ON_BACKENDS
@pytest.mark.parametrize(
    ("pattern", "text", "sanitized"),
    [
        (CARD_16, "card 4111111111111111.", "card [#]."),
        (CARD_16, "41111111111111112", "41111111111111112"),
        (SSN, "ssn 078-05-1120, x078-05-1120", "ssn [#], x078-05-1120"),
        (CARD, "4111 1111 1111 1111 and 4111-1111-1111-1", "[#] and [#]"),
        (CARD, "4111 1111 1111", "4111 1111 1111"),
    ],
)
def test_the_patterns_of_the_custom_interceptors_page_are_accepted(backend, pattern, text, sanitized):
    assert inspect(interceptor_of(rule_of(pattern), backend=backend), text).sanitized_text == sanitized


@settings(max_examples=150)
@given(patterns=st.lists(PATTERNS, min_size=1, max_size=3), text=TEXTS)
def test_both_backends_give_equal_results(patterns, text):
    pytest.importorskip("re2")
    rules = [rule_of(pattern, f"r{place}", "") for place, pattern in enumerate(patterns)]
    outcomes = [outcome(interceptor_of(*rules, backend=backend), text) for backend in BACKENDS]
    assert outcomes[0] == outcomes[1]


def outcome(interceptor: RuleBasedDlpInterceptor, text: str) -> object:
    try:
        result = inspect(interceptor, text)
    except DlpInspectionError as error:
        return str(error)
    return result.sanitized_text, result.redactions


@pytest.mark.parametrize("backend", [*BACKENDS, "auto"])
def test_backend_name_tells_the_backend_in_use(backend):
    pytest.importorskip("re2")
    expected = "re2" if backend == "auto" else backend
    assert interceptor_of(backend=backend).backend_name == expected


@pytest.mark.parametrize("module", [None, ModuleType("re2")], ids=["absent", "another_package"])
def test_without_google_re2_auto_is_the_standard_library(monkeypatch, module):
    monkeypatch.setitem(sys.modules, "re2", module)
    assert interceptor_of(backend="auto").backend_name == "stdlib"


def test_without_google_re2_asking_for_it_names_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'tramapy\[re2\]'"):
        interceptor_of(backend="re2")


def test_unknown_backend_is_refused():
    with pytest.raises(ConfigurationError, match="backend takes 'auto', 'stdlib' or 're2'"):
        interceptor_of(backend="pcre")


def test_a_list_of_rules_is_no_configuration():
    with pytest.raises(TypeError, match=r"write RuleBasedDlpConfiguration\(rules=\[...\]\)"):
        RuleBasedDlpInterceptor([SSN_RULE])


def test_it_is_a_streaming_interceptor():
    assert isinstance(interceptor_of(), StreamingDlpInterceptor)


@pytest.mark.unmeasured
@ON_BACKENDS
def test_threads_share_one_interceptor(backend):
    interceptor = interceptor_of(MAIL, SSN_RULE, rule_of(r"\bt\d+x+\b", "tail", "-"), backend=backend)
    texts = [f"t{n}{'x' * (n % 7)} u{n}@example.com 078-05-{n:04d} " * 3 for n in range(200)]
    expected = [inspect(interceptor_of(*_rules(), backend=backend), text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda text: inspect(interceptor, text), texts)) == expected


def _rules() -> list[DlpRule]:
    return [MAIL, SSN_RULE, rule_of(r"\bt\d+x+\b", "tail", "-")]


def test_a_subclass_that_inspects_otherwise_is_asked_for_whole_texts() -> None:
    class Stricter(RuleBasedDlpInterceptor):
        def inspect(self, context, text):
            raise DlpInspectionError("No")

    class Alike(RuleBasedDlpInterceptor):
        pass

    assert Stricter(RuleBasedDlpConfiguration(rules=())).open_stream(context_of()) is None
    assert Alike(RuleBasedDlpConfiguration(rules=())).open_stream(context_of()) is not None


@pytest.mark.parametrize("content_type", DlpContentType)
def test_a_text_outside_of_an_operation_is_redacted_as_one_inside(content_type: DlpContentType) -> None:
    dlp = interceptor_of(DlpRule(id="ssn", pattern=SSN, replacement="***", enabled_for=[content_type]))
    text = "078-05-1120 and 078-05-1121"
    assert dlp.redact(text, content_type=content_type) == dlp.inspect(context_of(content_type), text)
    others = [other for other in DlpContentType if other is not content_type]
    assert [dlp.redact(text, content_type=other).sanitized_text for other in others] == [text] * len(others)


def test_a_text_outside_of_an_operation_takes_a_vault_for_placeholders() -> None:
    dlp = RuleBasedDlpInterceptor.with_default_rules(actions={"email": DlpAction.PLACEHOLDER})
    vault = Vault()
    sanitized = dlp.redact("Ask ann@example.com.", vault=vault).sanitized_text
    assert "ann@" not in sanitized
    assert vault.restore(sanitized) == "Ask ann@example.com."
    with pytest.raises(ConfigurationError, match=re.escape("vault=Vault()")):
        dlp.redact("Ask ann@example.com.")


@pytest.mark.parametrize(
    "wrong", [{"text": b"4111"}, {"text": None}, {"text": "x", "content_type": "model_output"}]
)
def test_a_text_outside_of_an_operation_is_a_str_of_some_type(wrong: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"text takes a str|content_type takes a DlpContentType"):
        RuleBasedDlpInterceptor.with_default_rules().redact(**wrong)


@pytest.mark.parametrize("given", [{}, {"rules": []}], ids=["nothing", "rules"])
def test_an_interceptor_without_a_configuration_is_told_what_to_write(given: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"configuration is missing; write .*with_default_rules\(\)"):
        RuleBasedDlpInterceptor(**given)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("kv-2210",), "context takes a DlpContext, not str; for a text of no operation write redact(text)"),
        (
            ("kv-2210", context_of()),
            "context takes a DlpContext, not str; for a text of no operation write redact(text)",
        ),
        ((context_of(),), "text takes a str, not NoneType"),
        ((context_of(), b"kv-2210"), "text takes a str, not bytes; decode bytes first"),
    ],
    ids=["a text alone", "in the other order", "a context alone", "bytes"],
)
def test_an_inspection_without_a_context_names_redact(arguments: Any, message: str) -> None:
    with pytest.raises(TypeError) as refused:
        interceptor_of(SSN_RULE).inspect(*arguments)
    assert str(refused.value) == message


def test_a_stream_without_a_context_names_redact() -> None:
    with pytest.raises(TypeError, match=r"^context takes a DlpContext, not str; .* redact\(text\)$"):
        interceptor_of(SSN_RULE).open_stream("kv-2210")  # type: ignore[arg-type]  # as newcomers do


def test_a_context_and_a_text_of_subclasses_are_inspected() -> None:
    class Context(DlpContext):
        pass

    class Text(str):
        pass

    plain = context_of()
    own = Context(
        content_type=plain.content_type,
        content_location=plain.content_location,
        operation_interface="",
        operation_method="",
        correlation_id="",
    )
    assert interceptor_of(SSN_RULE).inspect(own, Text("078-05-1120")).has_redactions
