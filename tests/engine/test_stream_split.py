"""However a provider cuts its text, a stream says what `complete` says of it, and never a piece of a secret."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drivers import Driver, Rig, response_of, text_of
from tests.engine.doubles import Ledger
from tests.engine.stream_doubles import HoldBack
from tramapy import (
    CompletedChunk,
    CompositeDlpInterceptor,
    DlpInterceptor,
    DlpRule,
    ModelResponse,
    RuleBasedDlpConfiguration,
    RuleBasedDlpInterceptor,
    TextChunk,
)
from tramapy.testing import ScriptedProvider

RULES = RuleBasedDlpInterceptor(
    RuleBasedDlpConfiguration(
        rules=[
            DlpRule(id="ssn", pattern=r"\b[0-9]{3}-[0-9]{2}-[0-9]{4}\b", replacement="[SSN]"),
            DlpRule(id="key", pattern="sk-[a-z]{3,6}", replacement=""),
        ]
    )
)
INTERCEPTORS: dict[str, DlpInterceptor] = {
    "hold-back": HoldBack({"secret": "[S]", "sk-abc": ""}),
    "rules": RULES,
    "composite": CompositeDlpInterceptor([HoldBack({"secret": "123-45-6789"}), RULES]),
}

FRAGMENTS = st.sampled_from(
    [
        "secret",
        "secre",
        "sec",
        "t",
        "sk-",
        "sk-abc",
        "sk-abcdef",
        "123-45-6789",
        "123-45-",
        "67",
        "9",
        "-",
        " ",
        "é",
        "😀",
    ]
)
PIECES = st.lists(st.one_of(FRAGMENTS, st.lists(FRAGMENTS, max_size=4).map("".join)), max_size=12)


@pytest.mark.parametrize("name", INTERCEPTORS)
@given(pieces=PIECES)
@settings(max_examples=60)
def test_every_split_gives_the_result_of_the_whole_text(name: str, pieces: list[str]) -> None:
    streamed, whole = Audited(name), Audited(name)
    text = "".join(pieces)
    chunks = streamed.rig([[*pieces, CompletedChunk(ModelResponse(content=text))]]).stream()
    answer = whole.rig([text]).complete()
    assert text_of(chunks) == response_of(chunks).content == answer.content
    assert streamed.evidence == whole.evidence


@pytest.mark.parametrize("name", INTERCEPTORS)
@given(pieces=PIECES, cut=st.integers(0, 12))
@settings(max_examples=40)
def test_what_is_out_early_begins_what_the_whole_text_gives(name: str, pieces: list[str], cut: int) -> None:
    """So no piece of a match, and nothing of a held tail, is ever out."""
    text = "".join(pieces)
    early = Audited(name).rig([[*pieces, CompletedChunk(ModelResponse(content=text))]]).stream(take=cut + 1)
    whole = Audited(name).rig([text]).complete().content
    assert whole.startswith("".join(chunk.text for chunk in early if isinstance(chunk, TextChunk)))


class Audited:
    """A facade on a thread, with its audit trail; asyncio and trio run the same core."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._ledger = Ledger()

    def rig(self, answers: list[Any]) -> Rig:
        return Driver("sync").rig(
            ScriptedProvider(answers), dlp=INTERCEPTORS[self._name], dlp_redaction_audit=self._ledger
        )

    @property
    def evidence(self) -> dict[str, int]:
        """The replacements by rule."""
        total: dict[str, int] = {}
        for _, redactions in self._ledger.records:
            for redaction in redactions:
                total[redaction.rule_id] = total.get(redaction.rule_id, 0) + redaction.replacement_count
        return total
