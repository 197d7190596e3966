"""What `Markers` puts into a text is what `Splicer` would."""

from __future__ import annotations

import random

import pytest

from tramapy.dlp import DlpRule
from tramapy.dlp.markers import Markers
from tramapy.dlp.operators import Operators
from tramapy.dlp.splicing import Splicer

RULES = (
    DlpRule(id="word", pattern="x", replacement="[REDACTED:word]"),
    DlpRule(id="escaped", pattern="x", replacement="\\"),
    DlpRule(id="nothing", pattern="x", replacement=""),
)
PIECES = ('"', '"', '": ', ", ", "[", "{", " ", "\n", "-4.5e1", "411", "true", "word", "a b", "\u00e9")


def spliced(text: str, cuts: list[tuple[int, int, bool, int]]) -> tuple[str, list[tuple[str, int]]]:
    splicer = Splicer(RULES, Operators(None), None)
    sanitized = splicer.splice(text, cuts)
    return sanitized, [(found.rule_id, found.replacement_count) for found in splicer.redactions]


def test_markers_fit_into_json_as_pieces_of_it_do() -> None:
    source = random.Random(6)
    markers = Markers(RULES, Operators(None))
    for _ in range(3_000):
        blanks = source.choice(("", " \n", " " * 20))
        text = source.choice("{[") + blanks + "".join(source.choices(PIECES, k=source.randint(1, 12)))
        ends = sorted(source.sample(range(len(text) + 1), k=2 * source.randint(1, min(3, len(text) // 2))))
        cuts = [
            (start, -end, True, source.choice((0, 0, 0, 1, 2)))
            for start, end in zip(ends[::2], ends[1::2], strict=True)
        ]
        result = markers.put_in_json(text, cuts)
        redactions = [(found.rule_id, found.replacement_count) for found in result.redactions]
        assert (result.sanitized_text, redactions) == spliced(text, cuts), (text, cuts)


@pytest.mark.parametrize("text", ['["word"]', "[word]", '{"word": 1}'])
def test_a_match_that_its_marker_would_show_gets_another_in_json(text: str) -> None:
    start = text.index("word")
    result = Markers(RULES, Operators(None)).put_in_json(text, [(start, -(start + 4), True, 0)])
    assert result.sanitized_text == text.replace("word", "[REDACTED]")
