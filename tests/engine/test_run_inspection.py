"""The parts of a run are inspected together and each by itself, wherever the run stands (ADR 0011)."""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from tests.drivers import Driver
from tests.engine.doubles import Ledger, Scripted, raising
from tramapy import (
    CompositeDlpInterceptor,
    DlpInspectionError,
    DlpInterceptor,
    DlpRedaction,
    DlpResult,
    InspectedParts,
    Message,
    MessageRole,
    ModelResponse,
    RuleBasedDlpInterceptor,
    TextPart,
)
from tramapy.dlp import DlpAction, DlpRule, RuleBasedDlpConfiguration
from tramapy.dlp.packs import ALL
from tramapy.testing import ScriptedProvider

KEY = "AKIAIOSFODNN7EXAMPLE"
RULES = RuleBasedDlpInterceptor.with_default_rules()


def texts(*parts: str) -> list[TextPart]:
    return [TextPart(part) for part in parts]


def said(driver: Driver, parts: Sequence[str], dlp: DlpInterceptor, **settings: Any) -> list[str]:
    """Return the parts of an answer as they come out."""
    response = driver.rig([ModelResponse(content_parts=texts(*parts))], dlp=dlp, **settings).complete()
    assert response.content_parts is not None
    return [part.text for part in response.content_parts if isinstance(part, TextPart)]


def words(_: object, text: str) -> DlpResult:
    """Know of no streams."""
    changed, count = re.subn(r"\bk1\b", "[K]", text)
    return DlpResult(changed, [DlpRedaction("k", count)] if count else [])


CASES = pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("my k1", "what"), "my [K]what"),
        (("what", "k1", "k1"), "what[K][K]"),
        (("k", "1"), "[K]"),
        (("k1 and k1", "", "what"), "[K] and [K]what"),
        (("is k", "1 and so on, k1", "what"), "is [K] and so on, [K]what"),
        (("what", "is it"), None),
    ],
    ids=["at a seam", "several", "across", "another was found", "seam is gone", "nothing"],
)


@CASES
def test_what_ends_a_part_is_found_by_interceptors_without_streams(
    driver: Driver, parts: tuple[str, ...], expected: str | None
) -> None:
    assert said(driver, parts, Scripted(words)) == ([*parts] if expected is None else [expected])


# What is hidden by a seam, and what a rule for the joined text takes a part of.
RUNS = pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((f"my key is {KEY}", "What"), "my key is [REDACTED:aws_access_key]What"),
        (("see jo@example.com", f"{KEY} is it"), "see [REDACTED:email] is it"),
        (("my number is ", "123-45-", "6789 then"), "my number is [REDACTED:us_ssn] then"),
        (
            ("password: hunter2x9z123-45-6789x", "ssn: 123456789"),
            "password: [REDACTED:password]: [REDACTED:us_ssn]",
        ),
        (("nothing", "to see"), None),
    ],
    ids=["hidden", "half taken", "straddles", "word was taken", "nothing"],
)


@RUNS
def test_no_part_of_a_part_s_match_is_left_in_an_answer(
    driver: Driver, parts: tuple[str, ...], expected: str | None
) -> None:
    assert said(driver, parts, RULES) == ([*parts] if expected is None else [expected])


@RUNS
@pytest.mark.parametrize("role", [MessageRole.USER, MessageRole.TOOL])
def test_nor_in_a_message(
    driver: Driver, parts: tuple[str, ...], expected: str | None, role: MessageRole
) -> None:
    provider = ScriptedProvider(["fine"])
    of_tool = {"tool_call_id": "c1"} if role is MessageRole.TOOL else {}
    message = Message(role=role, content="", content_parts=tuple(texts(*parts)), **of_tool)
    driver.rig(provider, **{"dlp" if of_tool else "request_dlp": RULES}).complete([message])
    assert provider.requests[0].messages[0].content_parts == tuple(
        texts(*parts) if expected is None else texts(expected)
    )


@pytest.mark.parametrize(
    "parts", [["my k1", f"what {KEY}", "x"], ["my k1", "see jo@example.com", f"{KEY} x"]]
)
def test_each_link_of_a_composite_sees_the_parts(driver: Driver, parts: list[str]) -> None:
    links = [RULES, CompositeDlpInterceptor([Scripted(words)])]
    (text,) = said(driver, parts, CompositeDlpInterceptor(links))
    assert re.fullmatch(r"my \[K\].*\[REDACTED:.*", text) is not None
    assert KEY[-8:] not in text
    assert said(driver, parts, CompositeDlpInterceptor(links[::-1])) == [text]


class Louder(CompositeDlpInterceptor):
    """Inspects in a way of its own."""

    def inspect(self, context: Any, text: str) -> Any:
        return DlpResult(text.upper(), [DlpRedaction("loud", 1)] if text.upper() != text else [])


class Stricter(RuleBasedDlpInterceptor):
    """Inspects in a way of its own, too."""

    def inspect(self, context: Any, text: str) -> Any:
        return words(context, super().inspect(context, text).sanitized_text)


def test_a_subclass_that_overrides_inspect_is_asked_in_its_way(driver: Driver) -> None:
    assert said(driver, ["my k1", "what"], Louder([RULES])) == ["MY K1WHAT"]
    assert said(driver, ["my k1", "what"], Stricter.with_default_rules()) == ["my [K]what"]


def test_rules_without_packs_inspect_one_text_after_another(driver: Driver) -> None:
    rule = DlpRule(id="k", pattern=r"\bk[0-9]\b", replacement="[K]")
    rules = RuleBasedDlpInterceptor(RuleBasedDlpConfiguration([rule]))
    assert said(driver, ["my k1", "what"], rules) == ["my [K]what"]


def test_rules_that_were_added_see_each_part(driver: Driver) -> None:
    rule = DlpRule(id="k", pattern=r"\bk[0-9]\b", replacement="[K]")
    rules = RuleBasedDlpInterceptor.with_default_rules(rules=[rule], disabled_rules=["email"])
    assert said(driver, ["my k1", "what jo@example.com", "k2"], rules) == ["my [K]what jo@example.com[K]"]


def test_a_table_in_a_part_is_read_as_one(driver: Driver) -> None:
    table = "user,password\njo,hunter2x9z\nann,correcthorse9\n"
    (text,) = said(driver, ["see", table], RULES)
    assert text == "seeuser,password\njo,[REDACTED:password_column]\nann,[REDACTED:password_column]\n"


def test_folded_letters_of_a_part_are_found(driver: Driver) -> None:
    wide = "".join(chr(ord(digit) + 0xFEE0) for digit in "4111111111111111")
    assert said(driver, [f"a \u200b{wide}", "2"], RULES) == ["a \u200b[REDACTED:credit_card]2"]


def test_the_limit_on_a_text_is_for_all_parts(driver: Driver) -> None:
    rules = RuleBasedDlpInterceptor(RuleBasedDlpConfiguration([], 5, packs=ALL))
    assert said(driver, ["abc", "de"], rules) == ["abc", "de"]
    with pytest.raises(DlpInspectionError, match="max_text_length=5"):
        said(driver, ["abc", "def"], rules)


def test_evidence_is_written_once(driver: Driver) -> None:
    ledger = Ledger()
    parts = ["see jo@example.com", f"{KEY} is it", f"my key is {KEY}", "What"]
    said(driver, parts, RULES, dlp_redaction_audit=ledger)
    assert [redactions for _, redactions in ledger.records] == [
        (DlpRedaction("aws_access_key", 1), DlpRedaction("email", 1))
    ]


def test_a_rule_that_only_logs_tells_a_match_once(driver: Driver, caplog: pytest.LogCaptureFixture) -> None:
    rules = RuleBasedDlpInterceptor.with_default_rules(actions={"aws_access_key": DlpAction.LOG})
    with caplog.at_level(logging.INFO):
        said(driver, [f"a {KEY} b", "what"], rules)
    assert len([record for record in caplog.records if "aws_access_key" in record.getMessage()]) == 1


class OwnWay(DlpInterceptor):
    """Inspects parts as it is told to."""

    def __init__(self, outcome: Callable[[Sequence[str]], Any]) -> None:
        self._outcome = outcome

    def inspect(self, context: Any, text: str) -> DlpResult:
        raise AssertionError("it is not asked for several parts")

    def inspect_parts(self, context: Any, parts: Sequence[str]) -> Any:
        return self._outcome(parts)


def test_an_interceptor_may_inspect_parts_in_its_own_way(driver: Driver) -> None:
    own = OwnWay(lambda parts: InspectedParts([*parts[:-1], "!"], [DlpRedaction("last", 1)]))
    assert said(driver, ["a", "", "b", "c"], own) == ["ab!"]


async def _late() -> None:
    """Is never awaited."""


@pytest.mark.parametrize(
    "outcome",
    [
        raising(ValueError(KEY)),
        lambda _: InspectedParts([KEY], ()),
        lambda _: InspectedParts(["a", 5], ()),  # type: ignore[list-item]
        lambda _: KEY,
        lambda _: InspectedParts("!", [DlpRedaction("k", 1)]),
        lambda _: SimpleNamespace(texts=["!"], redactions=[DlpRedaction("k", 1)]),
        lambda _: _late(),
    ],
    ids=["fails", "no evidence", "no text", "no result", "a text", "no InspectedParts", "awaitable"],
)
def test_parts_that_are_not_inspected_as_they_should_be_close_the_answer(
    driver: Driver, outcome: Any
) -> None:
    with pytest.raises(DlpInspectionError, match=r"the text was withheld$") as caught:
        said(driver, ["a", "b"], OwnWay(outcome), dlp_redaction_audit=Ledger())
    assert KEY not in "".join(traceback.format_exception(caught.value))


class Odd(str):
    """Looks empty."""

    __slots__ = ()

    def __len__(self) -> int:
        return 0


@pytest.mark.parametrize("links", [0, 1])
def test_texts_that_are_lazy_or_of_an_odd_type_are_read_once(driver: Driver, links: int) -> None:
    def outcome(parts: Sequence[str]) -> Any:
        lazy: Any = (Odd(part.upper()) for part in parts)
        return InspectedParts(lazy, [DlpRedaction("loud", 1)])

    dlp: DlpInterceptor = OwnWay(outcome)
    dlp = CompositeDlpInterceptor([dlp, Scripted(words)]) if links else dlp
    assert said(driver, ["a", "b"], dlp) == ["AB"]


def test_inspected_parts_show_no_text() -> None:
    assert repr(InspectedParts([KEY, "b"], [DlpRedaction("k", 1)])) == (
        "InspectedParts(<2 texts>, redactions=[DlpRedaction(rule_id='k', replacement_count=1)])"
    )
