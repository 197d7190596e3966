"""Text of which nobody knows what it is, cut over several events of a stream."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.drivers import Driver
from tests.engine.native_doubles import Asked, Bit, Ended, Natives, Said, streamed
from tests.engine.test_native_stream import ssn_dlp
from tramapy import DlpInspectionError, Message
from tramapy.dlp import DlpAction
from tramapy.engine import split_texts

ASKED = Asked(Message.user("hello"))


def rest(value: Any, scope: str | None = "a") -> Said:
    return Said(Bit(json.dumps(value, separators=(",", ":")), None, scope=scope))


def said(driver: Driver, *events: Said, **settings: Any) -> list[str]:
    """Run a stream of events through the rule for social security numbers; return what each of them says."""
    rig = driver.rig({"p": Natives([*events, Ended()])}, **{"dlp": ssn_dlp(), **settings})
    out = streamed(rig, ASKED).removesuffix(";end:;")
    return [piece.removeprefix("say:") for piece in out.split(";")]


def test_of_a_match_that_lies_across_events_only_the_beginning_is_out(driver: Driver) -> None:
    events = [rest({"x": ["no 219-09"]}), rest({"x": ["-9999 yes"]}), rest({"x": [" and"]})]
    assert said(driver, *events) == ['{"x":["no 219-09"]}', '{"x":["[REDACTED] yes"]}', '{"x":[" and"]}']


def test_a_stream_that_waits_is_inspected_likewise(driver: Driver) -> None:
    events = [rest({"x": "219-09-"}), rest({"x": "9999"})]
    assert said(driver, *events, stream_dlp="buffer") == ['{"x":"219-09-"}', '{"x":"[REDACTED]"}']


def test_an_action_that_blocks_ends_the_stream(driver: Driver) -> None:
    with pytest.raises(DlpInspectionError):
        said(driver, rest({"x": "219-09-"}), rest({"x": "9999"}), dlp=ssn_dlp(DlpAction.BLOCK))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (rest({"x": "219-09-"}), rest({"y": "9999"})),
        (rest({"x": "219-09-"}), rest({"x": "9999"}, "b")),
        (rest({"x": "219-09-"}), rest({"x": "9999"}, None)),
        (rest({"x": "219-09-"}), rest("9999")),
    ],
    ids=["another name", "another scope", "known", "another shape"],
)
def test_what_stands_elsewhere_is_another_text(driver: Driver, first: Said, second: Said) -> None:
    assert said(driver, first, second) == [first.bits[0].text, second.bits[0].text]


def test_what_is_the_same_in_each_event_stays(driver: Driver) -> None:
    events = [rest({"x": "9999 219-09-", "n": 1}) for _ in range(3)]
    assert said(driver, *events) == [event.bits[0].text for event in events]
    assert said(driver, *events, rest({"x": "9999"}))[-1] == '{"x":"[REDACTED]"}'


def test_what_seems_to_match_in_what_is_out_is_not_said_again(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(split_texts, "_CONTEXT", 12)
    events = [rest({"x": "7219-09-9999"}), rest({"x": "."}), rest({"x": " 219-09-"}), rest({"x": "9999"})]
    assert said(driver, *events)[1:] == ['{"x":"."}', '{"x":" 219-09-"}', '{"x":"[REDACTED]"}']


def test_too_many_places_end_the_stream(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_texts, "_MOST_PLACES", 2)
    with pytest.raises(DlpInspectionError, match="places"):
        said(driver, rest({"x": "a", "y": "b", "z": "c"}))


def test_what_is_no_json_is_left_to_who_writes_it(driver: Driver) -> None:
    event = Said(Bit("no json", None, scope="a"))
    assert said(driver, event) == ["no json"]
