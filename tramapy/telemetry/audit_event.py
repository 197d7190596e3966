"""`AuditEvent`: one record of an audit chain, its canonical JSON and its hash."""

from __future__ import annotations

import hashlib
import json
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from tramapy.values import MOST

__all__ = [
    "FIELDS",
    "HASH_ALGORITHM",
    "LIMIT_ID_LENGTH",
    "SCHEMA_VERSION",
    "AuditEvent",
    "AuditField",
    "canonical_json",
    "event_from",
    "event_hash",
    "sealed",
    "to_json",
]

SCHEMA_VERSION: Final = 1
HASH_ALGORITHM: Final = "SHA-256"

LIMIT_ID_LENGTH: Final = 256
"""The longest id of any kind, in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """One record of a chain. It holds ids and counts, never text.

    Args:
        schema_version: The version of this list of fields.
        hash_algorithm: What the hashes are made with.
        audit_stream_id: The chain it belongs to.
        event_id: Unique over all chains.
        sequence_number: Its place in the chain, from 1.
        workflow_run_id: The caller's id of a longer run.
        correlation_id: The operation's id.
        actor: Who decided; redactions have none.
        enforcement_point: Where it was decided.
        decision: What was decided.
        policy_version: The policy that decided; redactions have none.
        workflow_digest: The workflow that ran; redactions have none.
        previous_event_hash: `event_hash` of the event before it in the chain; None for the first.
        event_hash: SHA-256 of the canonical JSON with this field empty, in lower-case hex.
        timestamp: When, in ISO 8601 and UTC.
        reason_code: Why, in fixed words.
        metadata: What else is known, by name.
    """

    schema_version: int
    hash_algorithm: str
    audit_stream_id: str
    event_id: str
    sequence_number: int
    workflow_run_id: str | None
    correlation_id: str | None
    actor: str | None
    enforcement_point: str
    decision: str
    policy_version: str | None
    workflow_digest: str | None
    previous_event_hash: str | None
    event_hash: str
    timestamp: str
    reason_code: str | None
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditField:
    """A field as it is written.

    Args:
        name: Its key in JSON.
        attribute: Its name on `AuditEvent`.
        kind: The type of its value.
        is_required: Whether null is refused.
    """

    name: str
    attribute: str
    kind: type[object] = str
    is_required: bool = True


FIELDS: Final = (
    AuditField(name="schemaVersion", attribute="schema_version", kind=int),
    AuditField(name="hashAlgorithm", attribute="hash_algorithm"),
    AuditField(name="auditStreamId", attribute="audit_stream_id"),
    AuditField(name="eventId", attribute="event_id"),
    AuditField(name="sequenceNumber", attribute="sequence_number", kind=int),
    AuditField(name="workflowRunId", attribute="workflow_run_id", is_required=False),
    AuditField(name="correlationId", attribute="correlation_id", is_required=False),
    AuditField(name="actor", attribute="actor", is_required=False),
    AuditField(name="enforcementPoint", attribute="enforcement_point"),
    AuditField(name="decision", attribute="decision"),
    AuditField(name="policyVersion", attribute="policy_version", is_required=False),
    AuditField(name="workflowDigest", attribute="workflow_digest", is_required=False),
    AuditField(name="previousEventHash", attribute="previous_event_hash", is_required=False),
    AuditField(name="eventHash", attribute="event_hash"),
    AuditField(name="timestamp", attribute="timestamp"),
    AuditField(name="reasonCode", attribute="reason_code", is_required=False),
    AuditField(name="metadata", attribute="metadata", kind=dict),
)
"""The fields in the order in which they are hashed."""

_NAMES = tuple(field.name for field in FIELDS)
_ATTRIBUTES = tuple(field.attribute for field in FIELDS)
_values_of = operator.attrgetter(*_ATTRIBUTES)

# escapes the quote, the backslash and controls below U+0020, in the forms that the canonical JSON asks for
to_json: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


def canonical_json(event: AuditEvent) -> str:
    """Return the one way to write an event: no blanks, fields in order, metadata sorted, non-ASCII as it is."""
    values: dict[str, object] = dict(zip(_NAMES, _values_of(event), strict=True))
    values["metadata"] = dict(sorted(event.metadata.items()))
    return to_json(values)


def event_hash(event: AuditEvent, text: str | None = None) -> str:
    """Compute what `event_hash` must be.

    Args:
        event: The event.
        text: Its canonical JSON, where it is known.

    Raises:
        UnicodeEncodeError: A text has a lone surrogate, which UTF-8 cannot hold.
    """
    text = canonical_json(event) if text is None else text
    return hashlib.sha256(_with_hash(text, event.event_hash, "").encode()).hexdigest()


def _with_hash(text: str, old: str, new: str) -> str:
    # quotes are escaped inside of texts, and metadata stands behind, so the first is the field itself
    return text.replace(f'"eventHash":{to_json(old)}', f'"eventHash":"{new}"', 1)


@dataclass(frozen=True, slots=True)
class SealedEvent:
    """An event with its hash, and its canonical JSON."""

    event: AuditEvent
    json: str


def sealed(event: AuditEvent) -> SealedEvent:
    """Give an event its hash. `event.event_hash` is empty, and is set: nobody else has the event yet.

    Raises:
        ValueError: A text has a lone surrogate. The message does not repeat it.
    """
    text = canonical_json(event)
    try:
        found = hashlib.sha256(text.encode()).hexdigest()
    except UnicodeEncodeError:
        found = ""
    if not found:  # not in the handler: the error there holds the text
        raise ValueError("an audit event has a lone surrogate in a text; UTF-8 cannot hold it")
    _set_hash(event, found)
    return SealedEvent(event, _with_hash(text, "", found))


_set_hash = AuditEvent.__dict__["event_hash"].__set__  # a copy would cost as much as the hash


def event_from(value: object) -> AuditEvent | None:
    """Read an event from parsed JSON; None where a field is missing, unknown or of another type."""
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, object]", value)
    if fields.keys() != _NAME_SET:
        return None
    values: tuple[Any, ...] = tuple(map(fields.__getitem__, _NAMES))
    if not all(map(operator.contains, _KINDS, map(type, values))) or not all(
        -MOST <= values[place] <= MOST for place in _INTS
    ):
        return None
    if not set(map(type, values[-1].values())) <= {str}:
        return None
    return AuditEvent(**dict(zip(_ATTRIBUTES, values, strict=True)))  # checked above


_NAME_SET = frozenset(_NAMES)
# the types themselves: a bool is an int, and is none here
_KINDS = tuple({field.kind} if field.is_required else {field.kind, type(None)} for field in FIELDS)
_INTS = tuple(place for place, field in enumerate(FIELDS) if field.kind is int)
