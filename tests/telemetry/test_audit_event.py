from __future__ import annotations

import dataclasses
import hashlib
import json
import unicodedata
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.telemetry.audit_material import events_of
from tramapy.telemetry import AuditEvent
from tramapy.telemetry.audit_event import FIELDS, canonical_json, event_from, event_hash, sealed

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.integers(-(2**63) + 1, 2**63 - 1)


def strategy_of(field: str) -> st.SearchStrategy[Any]:
    kind = {item.attribute: item for item in FIELDS}[field]
    if kind.kind is int:
        return numbers
    if kind.kind is dict:
        return st.dictionaries(texts, texts, max_size=5)
    return texts if kind.is_required else st.none() | texts


audit_events = st.builds(
    AuditEvent, **{field.name: strategy_of(field.name) for field in dataclasses.fields(AuditEvent)}
)

SHORT = {"\\": "\\\\", '"': '\\"', "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def written(value: object) -> str:
    """Write a value as spec 9.3 says, letter by letter."""
    if value is None:
        return "null"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return '"' + "".join(map(escaped, value)) + '"'
    assert isinstance(value, Mapping)
    return "{" + ",".join(f"{written(key)}:{written(value[key])}" for key in sorted(value)) + "}"


def escaped(character: str) -> str:
    if character in SHORT:
        return SHORT[character]
    return f"\\u{ord(character):04x}" if ord(character) < 0x20 else character


def canonical(event: AuditEvent) -> str:
    return (
        "{"
        + ",".join(f"{written(field.name)}:{written(getattr(event, field.attribute))}" for field in FIELDS)
        + "}"
    )


def test_fields_are_those_of_the_event_in_order() -> None:
    assert [field.attribute for field in FIELDS] == [field.name for field in dataclasses.fields(AuditEvent)]


def test_canonical_json_of_a_known_event() -> None:
    event = events_of([("ssn", 2)])[0]
    assert canonical_json(event) == (
        '{"schemaVersion":1,"hashAlgorithm":"SHA-256","auditStreamId":"c-1","eventId":"e-1","sequenceNumber":1,'
        '"workflowRunId":null,"correlationId":"c-1","actor":null,"enforcementPoint":"DLP_MODEL_OUTPUT",'
        '"decision":"REDACTED","policyVersion":null,"workflowDigest":null,"previousEventHash":null,'
        f'"eventHash":"{event.event_hash}","timestamp":"2026-01-02T03:04:05.000000Z",'
        '"reasonCode":"dlp_redaction_applied","metadata":{"contentLocation":"MODEL_RESPONSE_CONTENT",'
        '"contentType":"MODEL_OUTPUT","operationInterface":"Support","operationMethod":"answer",'
        '"replacementCount":"2","ruleId":"ssn"}}'
    )


@given(audit_events)
def test_canonical_json_is_that_of_the_specification(event: AuditEvent) -> None:
    assert canonical_json(event) == canonical(event)


@given(audit_events)
def test_the_hash_is_that_of_the_json_with_an_empty_hash(event: AuditEvent) -> None:
    expected = hashlib.sha256(canonical(dataclasses.replace(event, event_hash="")).encode()).hexdigest()
    assert event_hash(event) == expected


@given(audit_events)
def test_a_sealed_event_has_its_hash_and_its_json(event: AuditEvent) -> None:
    link = sealed(dataclasses.replace(event, event_hash=""))
    assert link.event.event_hash == event_hash(link.event)
    assert link.json == canonical(link.event)
    assert dataclasses.replace(link.event, event_hash="") == dataclasses.replace(event, event_hash="")


@given(audit_events)
def test_an_event_is_read_back(event: AuditEvent) -> None:
    assert event_from(json.loads(canonical_json(event))) == event


@given(audit_events, st.data())
def test_another_value_in_any_field_has_another_hash(event: AuditEvent, data: st.DataObject) -> None:
    name = data.draw(
        st.sampled_from([field.attribute for field in FIELDS if field.attribute != "event_hash"])
    )
    value = data.draw(strategy_of(name).filter(lambda other: other != getattr(event, name)))
    assert event_hash(dataclasses.replace(event, **{name: value})) != event_hash(event)


def test_a_text_that_looks_like_the_hash_is_not_taken_for_it() -> None:
    decoy = '"eventHash":""'
    event = dataclasses.replace(
        events_of([("ssn", 1)])[0], event_hash="", event_id=decoy, metadata={"eventHash": "", decoy: decoy}
    )
    link = sealed(event)
    assert link.json == canonical(link.event)


def test_texts_are_not_normalized() -> None:
    event = events_of([("ssn", 1)])[0]
    composed, decomposed = (
        dataclasses.replace(event, actor=unicodedata.normalize(form, "é")) for form in ("NFC", "NFD")
    )
    assert event_hash(composed) != event_hash(decomposed)


def test_a_lone_surrogate_is_refused_without_being_repeated() -> None:
    event = dataclasses.replace(events_of([("ssn", 1)])[0], event_hash="", actor="canary-\ud800")
    with pytest.raises(ValueError, match="lone surrogate") as caught:
        sealed(event)
    assert "canary" not in str(caught.value)
    assert caught.value.__context__ is None


def _with(**changes: object) -> dict[str, object]:
    return {**json.loads(canonical_json(events_of([("ssn", 1)])[0])), **changes}


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {key: value for key, value in _with().items() if key != "actor"},
        _with(extra=1),
        _with(eventId=None),
        _with(eventId=1),
        _with(actor=1),
        _with(sequenceNumber="1"),
        _with(sequenceNumber=True),
        _with(sequenceNumber=1.0),
        _with(sequenceNumber=2**63),
        _with(metadata=None),
        _with(metadata=[]),
        _with(metadata={"a": 1}),
    ],
    ids=str,
)
def test_what_is_no_event_is_not_read(value: object) -> None:
    assert event_from(value) is None
