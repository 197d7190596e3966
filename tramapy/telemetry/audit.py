"""`AuditLog`: records redactions as hash-chained audit events."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, cast

from tramapy.errors import ConfigurationError
from tramapy.hooks.dlp import (
    DlpContentType,
    DlpContext,
    DlpRedaction,
    DlpRedactionAuditEmitter,
    check_rule_id,
)
from tramapy.telemetry.audit_event import (
    HASH_ALGORITHM,
    LIMIT_ID_LENGTH,
    SCHEMA_VERSION,
    AuditEvent,
    SealedEvent,
    sealed,
)
from tramapy.telemetry.audit_store import AuditHead, AuditStore
from tramapy.values import MOST, described, exact_text

__all__ = [
    "LIMIT_KEY_LENGTH",
    "LIMIT_SHARED_COUNT",
    "LIMIT_VALUE_LENGTH",
    "METADATA_KEYS",
    "AuditLog",
    "default_stream_id",
]

LIMIT_SHARED_COUNT: Final = 16
"""The most entries of metadata beside the rule and its count."""

LIMIT_KEY_LENGTH: Final = 64
LIMIT_VALUE_LENGTH: Final = 256

METADATA_KEYS: Final = (
    "contentType",
    "contentLocation",
    "operationInterface",
    "operationMethod",
    "providerName",
    "modelName",
    "toolName",
    "classification",
    "classificationSource",
    "ruleId",
    "replacementCount",
)
"""The names of the metadata that every `AuditLog` writes; some only where there is a value."""


def default_stream_id(context: DlpContext) -> str:
    """Return the workflow run's id if there is one, else the operation's."""
    return (context.workflow_run_id or "").strip() or context.correlation_id


def _now() -> datetime:
    return datetime.now(UTC)


def _new_id() -> str:
    return str(uuid.uuid4())


class AuditLog(DlpRedactionAuditEmitter):
    """Records redactions: one audit event a rule, chained by hash to the event before it in its stream.

    Give it as `dlp_redaction_audit`. `emit` returns when the store has taken the events. It blocks for as long
    as the store does: on an event loop use `AsyncAuditLog`, unless the store is in memory. One whose store
    `may_block` is refused there.

    Args:
        store: Keeps the events.
        stream_id: Names the chain of a redaction; by default the workflow run, or else the operation.
        metadata: Entries to add to every event, such as the service's name.
        now: The time, with a time zone.
        new_id: Makes ids of events, each of them once.

    Raises:
        ConfigurationError: An argument cannot work; the message names it.
    """

    def __init__(
        self,
        store: AuditStore,
        *,
        stream_id: Callable[[DlpContext], str] = default_stream_id,
        metadata: Mapping[str, str] | None = None,
        now: Callable[[], datetime] = _now,
        new_id: Callable[[], str] = _new_id,
    ) -> None:
        if not isinstance(store, AuditStore):
            raise ConfigurationError(
                f"store is {described(store)}; give a MemoryAuditStore or FileAuditStore"
            )
        for name, function in (("stream_id", stream_id), ("now", now), ("new_id", new_id)):
            if not callable(function):
                raise ConfigurationError(f"{name} is {described(function)}; give a function")
        self._store = store
        self.may_block: bool = store.may_block
        self._stream_id = stream_id
        self._metadata = _checked_metadata({} if metadata is None else metadata)
        self._now = now
        self._new_id = new_id

    def emit(self, context: DlpContext, redactions: Sequence[DlpRedaction]) -> None:
        """Record redactions, counts added up by rule, in the order of the rules' ids. None records nothing.

        Raises:
            ValueError: An id, a count or an entry of metadata is outside its limits. The message names it and
                not its value.
            AuditStoreError: The store did not take the events.
        """
        counts = _merged(redactions)
        if not counts:
            return
        correlation_id = _id("correlation_id", context.correlation_id)
        workflow_run_id = (context.workflow_run_id or "").strip()
        if workflow_run_id:
            _id("workflow_run_id", workflow_run_id)
        stream_id = _id("the stream id", self._stream_id(context))
        shared = self._shared_metadata(context)
        timestamp = _instant(self._now())
        enforcement_point = _ENFORCEMENT_POINTS[context.content_type]

        def links(head: AuditHead) -> Sequence[SealedEvent]:
            links: list[SealedEvent] = []
            number, previous = head.sequence_number, head.event_hash
            for rule_id, count in counts:
                number += 1
                link = sealed(
                    AuditEvent(
                        schema_version=SCHEMA_VERSION,
                        hash_algorithm=HASH_ALGORITHM,
                        audit_stream_id=stream_id,
                        event_id=_id("the event id", self._new_id()),
                        sequence_number=number,
                        workflow_run_id=workflow_run_id or None,
                        correlation_id=correlation_id,
                        actor=None,
                        enforcement_point=enforcement_point,
                        decision="REDACTED",
                        policy_version=None,
                        workflow_digest=None,
                        previous_event_hash=previous,
                        event_hash="",
                        timestamp=timestamp,
                        reason_code="dlp_redaction_applied",
                        metadata={**shared, "ruleId": rule_id, "replacementCount": str(count)},
                    )
                )
                previous = link.event.event_hash
                links.append(link)
            return links

        self._store.append(stream_id, links)

    def _shared_metadata(self, context: DlpContext) -> dict[str, str]:
        found = {
            "contentType": context.content_type.name,
            "contentLocation": context.content_location.name,
            "operationInterface": context.operation_interface,
            "operationMethod": context.operation_method,
            "providerName": context.provider_id,
            "modelName": context.model_name,
            "toolName": context.tool_name,
            "classification": context.data_classification and context.data_classification.name,
            "classificationSource": context.classification_source and context.classification_source.name,
        }
        shared = {key: value for key, value in found.items() if value is not None}
        for key, value in shared.items():
            if not isinstance(value, str):
                raise TypeError(f"metadata {key} is {described(value)}; it is a str")
            if len(value) > LIMIT_VALUE_LENGTH:
                raise ValueError(f"metadata {key} is longer than {LIMIT_VALUE_LENGTH} characters; shorten it")
        shared.update(self._metadata)
        if len(shared) > LIMIT_SHARED_COUNT:
            raise ValueError(
                f"an audit event has over {LIMIT_SHARED_COUNT} entries of metadata; give fewer of your own"
            )
        return shared


_ENFORCEMENT_POINTS = {content_type: f"DLP_{content_type.name}" for content_type in DlpContentType}


def _merged(redactions: Iterable[DlpRedaction]) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for redaction in redactions:
        rule_id, count = check_rule_id(redaction.rule_id), redaction.replacement_count
        if count < 1:
            raise ValueError("a replacement count is below 1; report a rule only where it replaced something")
        counts[rule_id] = counts.get(rule_id, 0) + count
        if counts[rule_id] > MOST:
            raise ValueError(
                "the replacement counts of a rule do not fit into 64 bits; count what was replaced"
            )
    return sorted(counts.items())


def _id(name: str, value: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} is {described(value)}; it is a str")
    text = exact_text(value).strip()
    if not text:
        raise ValueError(f"{name} is blank; an audit event needs it")
    if len(text) > LIMIT_ID_LENGTH:
        raise ValueError(f"{name} is longer than {LIMIT_ID_LENGTH} characters; shorten it")
    return text


def _instant(moment: datetime) -> str:
    if moment.tzinfo is None:
        raise ValueError("the time of an audit event has no time zone; give datetime.now(UTC)")
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _checked_metadata(metadata: Mapping[str, str]) -> dict[str, str]:
    if not isinstance(metadata, Mapping):
        raise ConfigurationError(f"metadata is {described(metadata)}; give a mapping of str to str")
    checked: dict[str, str] = {}
    for key, value in cast("Mapping[object, object]", metadata).items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise ConfigurationError("metadata takes a mapping of str to str")
        if not key.strip() or len(key) > LIMIT_KEY_LENGTH:
            raise ConfigurationError(f"a key of metadata has 1 to {LIMIT_KEY_LENGTH} characters")
        if key in METADATA_KEYS:
            raise ConfigurationError(f"metadata has the key {key}, which the log writes itself; take another")
        if len(value) > LIMIT_VALUE_LENGTH:
            raise ConfigurationError(f"a value of metadata has at most {LIMIT_VALUE_LENGTH} characters")
        checked[exact_text(key)] = exact_text(value)
    if len(checked) > LIMIT_SHARED_COUNT:
        raise ConfigurationError(f"metadata has over {LIMIT_SHARED_COUNT} entries; give fewer")
    return checked
