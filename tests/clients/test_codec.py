"""What the codecs of all formats share."""

import json

import pytest

from tests.clients.plain_event import PlainEvent
from tramapy import DlpInspectionError
from tramapy.clients.codec import JsonEvent, JsonPiece, RestPiece, dumps, encoder, json_bytes
from tramapy.hooks.dlp import DlpContentLocation
from tramapy.wire.rest import SKIP
from tramapy.wire.sse import SseEvent

CONTENT = DlpContentLocation.MODEL_RESPONSE_CONTENT


def event_of(value: dict[str, object]) -> JsonEvent:
    return PlainEvent(SseEvent(name="x", data=b"as it came"), value)


def test_an_event_goes_out_as_it_came_unless_it_was_written() -> None:
    event = event_of({"a": "\ud800"})
    assert event.frame() == b"event: x\ndata: as it came\n\n"
    JsonPiece(event, event.value, "a", "\ud800", CONTENT, "lane").write("\ud801")
    assert event.frame() == b'event: x\ndata: {"a":"\\ud801"}\n\n'
    event.value["a"] = "\u00e9"
    assert event.frame() == b'event: x\ndata: {"a":"\xc3\xa9"}\n\n'


@pytest.mark.parametrize(
    "value", [{"a": [1, 2.5, None, True, {}], "é": '你\n"\x1f\u2028'}, "text", 5, [], None, 1e308]
)
def test_json_is_written_alike_with_and_without_the_encoder_in_c(value: object) -> None:
    assert "".join(encoder(None)(value, 0)) == dumps(value)
    assert dumps(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize("number", ["1e400", "-1e400"])
def test_a_number_beyond_every_float_stays_json(number: str) -> None:
    value = json.loads(f'{{"a": [{number}, "Infinity \\\\"], "Infinity": {number}}}')
    sign = number.removesuffix("1e400")
    written = f'{{"a":[{sign}1e999,"Infinity \\\\"],"Infinity":{sign}1e999}}'
    assert dumps(value) == written
    assert json_bytes(value) == written.encode()
    assert json_bytes([value, "\ud800"]) == f'[{written},"\\ud800"]'.encode()
    with pytest.raises(ValueError, match="not JSON compliant"):
        "".join(encoder(None)(value, 0))


@pytest.mark.parametrize("is_rest_first", [True, False])
def test_a_rest_is_merged_beside_what_is_written(is_rest_first: bool) -> None:
    inner: dict[str, object] = {"text": "a", "note": "b"}
    event = event_of({"items": [inner, "c"], "more": {"note": "d"}})
    text = JsonPiece(event, inner, "text", "a", CONTENT, "lane")
    plan = {"items": {"0": {"text": SKIP}}}
    rest = RestPiece(event, plan, '{"items":{"0":{"note":"b"},"1":"c"},"more":{"note":"d"}}', CONTENT)
    changed = '{"items":{"0":{"note":"*"},"1":"+"},"more":{"note":"-"}}'
    if is_rest_first:
        rest.write(changed)
        text.write("x")
    else:
        text.write("x")
        rest.write(changed)
    assert event.value == {"items": [{"text": "x", "note": "*"}, "+"], "more": {"note": "-"}}
    assert event.is_changed


@pytest.mark.parametrize("rest", ["", "[]", "text"])
def test_a_rest_of_another_shape_is_refused(rest: str) -> None:
    event = event_of({"note": "b"})
    with pytest.raises(DlpInspectionError):
        RestPiece(event, {}, '{"note":"b"}', CONTENT).write(rest)
    assert not event.is_changed
