"""Neither a pattern nor a text nor a malformed id gets out through an error or a repr."""

from __future__ import annotations

import traceback

import pytest

from tests.dlp.contexts import BACKENDS, context_of, inspect, interceptor_of, rule_of
from tramapy.dlp import DlpRule, RuleBasedDlpConfiguration, RuleBasedDlpInterceptor
from tramapy.dlp.cascade import RuleRedactor
from tramapy.dlp.conditions import Allowed
from tramapy.dlp.matcher import compile_pattern
from tramapy.dlp.operators import Operators
from tramapy.dlp.replacement import Redacted
from tramapy.errors import DlpInspectionError

CANARY = "kanarienvogel"


def everything_shown(error: BaseException) -> str:
    """All that a log or a crash report would show of an error, and of what led to it."""
    assert error.__cause__ is None
    assert error.__context__ is None
    shown = [str(error), repr(error), repr(error.args), repr(vars(error))]
    return "\n".join([*shown, *traceback.format_exception(error)])


def locals_of_ours(error: BaseException) -> str:
    """The local variables of the library's frames, as a crash report shows them."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    ours = [frame for frame in frames if frame.f_globals["__name__"].startswith("tramapy.")]
    assert ours
    return "\n".join(repr(value) for frame in ours for value in frame.f_locals.values())


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "pattern",
    [
        f"{CANARY}[",
        f"(?={CANARY})",
        rf"({CANARY})\1",
        f"({CANARY}?)*" + "(a?)*",
        f"{CANARY}" * 500,
        f"({CANARY}",
    ],
)
def test_a_refused_pattern_is_not_shown(backend, pattern):
    with pytest.raises(ValueError, match="DLP rule 'rule'") as caught:
        interceptor_of(rule_of(pattern), backend=backend)
    assert CANARY not in everything_shown(caught.value)
    assert CANARY not in locals_of_ours(caught.value)


@pytest.mark.parametrize(
    "refused",
    [
        lambda: RuleBasedDlpInterceptor.with_default_rules(allowed_patterns=[f"{CANARY}["]),
        lambda: RuleBasedDlpInterceptor.with_default_rules(allowed_patterns=CANARY),
        lambda: RuleBasedDlpInterceptor.with_default_rules(allowed_texts=[CANARY, 1]),
        lambda: RuleBasedDlpInterceptor.with_default_rules(hash_key=CANARY[:4].encode()),
        lambda: RuleBasedDlpConfiguration(allowed_patterns=[CANARY, 1]),
        lambda: RuleBasedDlpInterceptor(RuleBasedDlpConfiguration(allowed_patterns=[f"{CANARY}["])),
        lambda: DlpRule(id="a b", pattern=CANARY),
        lambda: DlpRule(id="rule", pattern=CANARY, replacement=1),
        lambda: DlpRule(id="rule", pattern=CANARY, max_length=0),
    ],
    ids=["bad", "no list", "texts", "key", "no string", "compiled", "id", "replacement", "length"],
)
def test_no_frame_of_a_constructor_that_refuses_holds_what_it_was_given(refused):
    with pytest.raises((TypeError, ValueError)) as caught:
        refused()
    assert caught.value.__context__ is None
    assert CANARY[:4] not in locals_of_ours(caught.value)


def test_a_refused_interceptor_can_be_shown():
    assert repr(object.__new__(RuleBasedDlpInterceptor)) == "RuleBasedDlpInterceptor(<0 rules>)"
    assert repr(interceptor_of(rule_of("x"))) == "RuleBasedDlpInterceptor(<1 rules>)"


@pytest.mark.parametrize("rule_id", [f"{CANARY} ", CANARY.upper(), f"{CANARY}\n", CANARY * 20])
def test_a_malformed_id_is_not_shown(rule_id):
    with pytest.raises(ValueError, match="a DLP rule id") as caught:
        DlpRule(id=rule_id, pattern="x")
    assert CANARY not in everything_shown(caught.value).lower()


@pytest.mark.parametrize(
    "values",
    [
        {"pattern": CANARY.encode()},
        {"pattern": CANARY, "enabled_for": []},
        {"pattern": CANARY, "enabled_for": CANARY},
        {"pattern": CANARY, "enabled_for": [CANARY]},
        {"pattern": CANARY, "tool_names": [f" {CANARY}"]},
        {"pattern": CANARY, "tool_names": CANARY},
        {"pattern": CANARY, "replacement": CANARY.encode()},
    ],
)
def test_a_rule_with_a_wrong_value_shows_no_value(values):
    with pytest.raises((TypeError, ValueError)) as caught:
        DlpRule(id="rule", **values)
    assert CANARY not in everything_shown(caught.value)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("rule", "limit"),
    [
        (rule_of(f"{CANARY}*", replacement="-"), 100),
        (rule_of(f"(?:{CANARY})?"), 100),
        (rule_of(CANARY, replacement=f"[{CANARY.upper()}]"), 100),
        (rule_of(CANARY), 5),
    ],
    ids=["passes", "empty_match", "self_match", "too_long"],
)
@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
def test_a_failed_inspection_shows_neither_text_nor_pattern(backend, rule, limit, is_streamed):
    interceptor = interceptor_of(rule, backend=backend, max_text_length=limit)
    try:
        if is_streamed:
            stream = interceptor.open_stream(context_of())
            shown = stream.feed(f"a {CANARY}l") + stream.finish()
        else:
            shown = inspect(interceptor, f"a {CANARY}l").sanitized_text
    except DlpInspectionError as error:
        shown = everything_shown(error)
    assert CANARY not in shown.lower()


def test_reprs_show_neither_text_nor_pattern():
    rule = rule_of(CANARY)
    interceptor = interceptor_of(rule)
    stream = interceptor.open_stream(context_of())
    stream.feed(CANARY[:-1])
    objects = [
        rule,
        RuleBasedDlpConfiguration([rule]),
        interceptor,
        stream,
        inspect(interceptor, CANARY),
        Redacted(CANARY, 1),
        RuleRedactor(rule, compile_pattern(CANARY, None), Allowed((), ()), Operators(None)),
        compile_pattern(CANARY, None),
    ]
    assert CANARY[:-1] not in repr(objects)
