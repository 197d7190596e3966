from __future__ import annotations

import re
import threading
import uuid
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.drivers import Driver
from tests.engine.doubles import Words
from tests.telemetry.audit_material import ONE, context, events_of, log_of
from tramapy import (
    ClassificationSource,
    ConfigurationError,
    DataClassification,
    DlpContentLocation,
    DlpContentType,
    DlpInspectionError,
    DlpRedaction,
    Message,
    ModelResponse,
    ToolCall,
    ToolDefinition,
)
from tramapy.telemetry import (
    AsyncAuditLog,
    AuditHead,
    AuditLog,
    AuditStore,
    AuditStoreError,
    MemoryAuditStore,
    verify_audit,
)
from tramapy.testing import assert_no_canary


def redaction(rule_id: str, count: Any) -> DlpRedaction:
    """Make a redaction past its own checks."""
    forged = object.__new__(DlpRedaction)
    object.__setattr__(forged, "rule_id", rule_id)
    object.__setattr__(forged, "replacement_count", count)
    return forged


def test_rt174_counts_are_merged_and_sorted() -> None:
    events = events_of([("b", 1), ("a", 2), ("b", 3)])
    assert [(event.metadata["ruleId"], event.metadata["replacementCount"]) for event in events] == [
        ("a", "2"),
        ("b", "4"),
    ]
    assert [event.sequence_number for event in events] == [1, 2]
    assert verify_audit(events).is_valid


def test_rt174_a_count_of_zero_is_an_error() -> None:
    store = MemoryAuditStore()
    with pytest.raises(ValueError, match="below 1"):
        log_of(store).emit(context(), [DlpRedaction("a", 1), redaction("b", 0)])
    assert store.events() == ()
    with pytest.raises(ValueError, match="below 1"):
        DlpRedaction("a", 0)


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c.d", "0", "z-9"]), st.integers(1, 9)), max_size=12))
def test_an_emit_is_one_event_a_rule_with_the_sum_of_its_counts(counts: list[tuple[str, int]]) -> None:
    events = events_of(counts)
    expected = {
        rule_id: str(sum(count for other, count in counts if other == rule_id)) for rule_id, _ in counts
    }
    assert [event.metadata["ruleId"] for event in events] == sorted(expected)
    assert {event.metadata["ruleId"]: event.metadata["replacementCount"] for event in events} == expected
    assert verify_audit(events).is_valid


def test_no_redaction_is_no_event() -> None:
    assert events_of([]) == ()


def test_a_sum_over_64_bits_is_an_error() -> None:
    with pytest.raises(ValueError, match="64 bits"):
        log_of(MemoryAuditStore()).emit(context(), [DlpRedaction("a", 2**63 - 1), DlpRedaction("a", 1)])


def test_a_bad_rule_id_is_an_error_that_does_not_repeat_it() -> None:
    with pytest.raises(ValueError, match="starts with") as caught:
        log_of(MemoryAuditStore()).emit(context(), [redaction("Canary-078", 1)])
    assert "Canary" not in str(caught.value)


def test_an_event_has_the_fields_of_its_context() -> None:
    store = MemoryAuditStore()
    log_of(store).emit(
        context(
            content_type=DlpContentType.TOOL_RESULT,
            content_location=DlpContentLocation.TOOL_MESSAGE_TEXT_RUN,
            workflow_run_id=" run-7 ",
            provider_id="openai",
            model_name="gpt-4o",
            tool_name="search",
            data_classification=DataClassification.RESTRICTED,
            classification_source=ClassificationSource.DECLARED,
        ),
        ONE,
    )
    event = store.events()[0]
    assert event.metadata == {
        "contentType": "TOOL_RESULT",
        "contentLocation": "TOOL_MESSAGE_TEXT_RUN",
        "operationInterface": "Support",
        "operationMethod": "answer",
        "providerName": "openai",
        "modelName": "gpt-4o",
        "toolName": "search",
        "classification": "RESTRICTED",
        "classificationSource": "DECLARED",
        "ruleId": "ssn",
        "replacementCount": "1",
    }
    assert event.enforcement_point == "DLP_TOOL_RESULT"
    assert event.decision == "REDACTED"
    assert event.reason_code == "dlp_redaction_applied"
    assert (event.actor, event.policy_version, event.workflow_digest) == (None, None, None)
    assert (event.audit_stream_id, event.workflow_run_id, event.correlation_id) == ("run-7", "run-7", "c-1")


def test_what_is_sent_has_an_enforcement_point_of_its_own() -> None:
    store = MemoryAuditStore()
    log_of(store).emit(
        context(
            content_type=DlpContentType.MODEL_INPUT,
            content_location=DlpContentLocation.REQUEST_MESSAGE_CONTENT,
        ),
        ONE,
    )
    assert store.events()[0].enforcement_point == "DLP_MODEL_INPUT"


@pytest.mark.parametrize(
    ("run_id", "stream_id"), [(None, "c-1"), ("", "c-1"), ("  ", "c-1"), ("run", "run")], ids=repr
)
def test_the_stream_is_the_run_or_else_the_operation(run_id: str | None, stream_id: str) -> None:
    store = MemoryAuditStore()
    log_of(store).emit(context(" c-1 ", workflow_run_id=run_id), ONE)
    event = store.events()[0]
    assert event.audit_stream_id == stream_id
    assert event.correlation_id == "c-1"
    assert event.workflow_run_id == ("run" if stream_id == "run" else None)


def test_streams_are_chained_each_by_itself() -> None:
    store = MemoryAuditStore()
    log = log_of(store)
    for correlation_id in ("a", "b", "a", "b", "a"):
        log.emit(context(correlation_id), ONE)
    assert [event.sequence_number for event in store.events("a")] == [1, 2, 3]
    assert [event.sequence_number for event in store.events("b")] == [1, 2]
    assert verify_audit(store.events("a")).is_valid
    assert len(store.events()) == 5


def test_a_resolver_names_the_stream() -> None:
    store = MemoryAuditStore()
    log = log_of(store, stream_id=lambda context: f" {context.operation_interface} ")
    log.emit(context("a"), ONE)
    log.emit(context("b"), ONE)
    assert [event.sequence_number for event in store.events("Support")] == [1, 2]


@pytest.mark.parametrize(
    ("fields", "options"),
    [
        ({"correlation_id": " "}, {}),
        ({"correlation_id": "x" * 257}, {}),
        ({"correlation_id": None}, {}),
        ({"workflow_run_id": "x" * 257}, {}),
        ({}, {"stream_id": lambda context: ""}),
        ({}, {"stream_id": lambda context: "x" * 257}),
        ({}, {"stream_id": lambda context: None}),
        ({}, {"new_id": lambda: "x" * 257}),
        ({}, {"now": lambda: datetime(2026, 1, 1)}),
        ({"model_name": "x" * 257}, {}),
        ({"operation_interface": 7}, {}),
        ({"provider_id": "canary\ud800"}, {}),
        ({"provider_id": "p"}, {"metadata": {f"k{number}": "" for number in range(12)}}),
    ],
    ids=[
        *(
            "blank id",
            "long id",
            "no id",
            "long run",
            "blank stream",
            "long stream",
            "no stream",
            "long event id",
        ),
        *("naive time", "long value", "no text", "surrogate", "too many entries"),
    ],
)
def test_what_is_outside_of_the_limits_is_refused(fields: dict[str, Any], options: dict[str, Any]) -> None:
    store = MemoryAuditStore()
    with pytest.raises((ValueError, TypeError)) as caught:
        log_of(store, **options).emit(context(**{"correlation_id": "c-1", **fields}), ONE)
    assert not isinstance(caught.value, ConfigurationError)  # the engine would not withhold the text for one
    assert "canary" not in str(caught.value)
    assert "xxx" not in str(caught.value)
    assert store.events() == ()


def test_ids_and_values_may_be_as_long_as_the_limits() -> None:
    store = MemoryAuditStore()
    metadata = {f"{number:064}": "v" * 256 for number in range(12)}
    log_of(store, metadata=metadata).emit(context("c" * 256, workflow_run_id="r" * 256), ONE)
    assert len(store.events()[0].metadata) == 18
    assert verify_audit(store.events()).is_valid


def test_own_metadata_is_in_every_event() -> None:
    store = MemoryAuditStore()
    log_of(store, metadata={"service": "billing"}).emit(context(), ONE)
    assert store.events()[0].metadata["service"] == "billing"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"store": "file"}, "store is of type str"),
        ({"now": 5}, "now is of type int; give a function"),
        ({"metadata": []}, "metadata is of type list"),
        ({"metadata": {1: "a"}}, "str to str"),
        ({"metadata": {"a": 1}}, "str to str"),
        ({"metadata": {" ": "a"}}, "1 to 64 characters"),
        ({"metadata": {"k" * 65: "a"}}, "1 to 64 characters"),
        ({"metadata": {"ruleId": "a"}}, "ruleId"),
        ({"metadata": {"a": "v" * 257}}, "at most 256"),
        ({"metadata": {str(number): "" for number in range(17)}}, "over 16"),
    ],
    ids=[
        *(
            "store",
            "now",
            "metadata",
            "key type",
            "value type",
            "blank key",
            "long key",
            "own key",
            "long value",
        ),
        "too many",
    ],
)
def test_a_log_that_cannot_work_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        AuditLog(**{"store": MemoryAuditStore(), **arguments})


def test_the_time_is_written_in_utc() -> None:
    store = MemoryAuditStore()
    east = timezone(timedelta(hours=2))
    log_of(store, now=lambda: datetime(2026, 1, 1, 1, 30, tzinfo=east)).emit(context(), ONE)
    assert store.events()[0].timestamp == "2025-12-31T23:30:00.000000Z"


def test_by_default_ids_are_random_and_the_time_is_now() -> None:
    store = MemoryAuditStore()
    AuditLog(store).emit(context(), ONE)
    event = store.events()[0]
    assert uuid.UUID(event.event_id).version == 4
    written = datetime.fromisoformat(event.timestamp)
    assert written.tzinfo == UTC
    assert re.fullmatch(r"[0-9-]{10}T[0-9:]{8}\.[0-9]{6}Z", event.timestamp)


def test_a_full_memory_store_refuses_and_keeps_what_it_has() -> None:
    store = MemoryAuditStore(limit_count=3)
    log = log_of(store)
    log.emit(context(), [DlpRedaction("a", 1), DlpRedaction("b", 1)])
    with pytest.raises(AuditStoreError, match="full at 3"):
        log.emit(context(), [DlpRedaction("a", 1), DlpRedaction("b", 1)])
    log.emit(context(), ONE)
    assert [event.sequence_number for event in store.events()] == [1, 2, 3]
    assert verify_audit(store.events()).is_valid


@pytest.mark.parametrize("limit", [0, True, 1.5, "1"], ids=repr)
def test_a_limit_of_the_memory_store_is_a_count(limit: Any) -> None:
    with pytest.raises(ConfigurationError, match="limit_count"):
        MemoryAuditStore(limit_count=limit)


def test_threads_append_to_one_chain() -> None:
    store = MemoryAuditStore()
    log = log_of(store)

    def emit() -> None:
        for _ in range(50):
            log.emit(context("shared"), ONE)

    threads = [threading.Thread(target=emit) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.events("shared")) == 400
    assert verify_audit(store.events("shared")).is_valid


def _emitter(driver: Driver, log: AuditLog) -> AuditLog | AsyncAuditLog:
    return AsyncAuditLog(log) if driver.is_async else log


def test_rt62_a_redaction_is_one_event_without_the_value(driver: Driver) -> None:
    store = MemoryAuditStore()
    rig = driver.rig(
        ["it is canary-8f21-secret"],
        dlp=Words({"canary-8f21-secret": "[S]"}),
        dlp_redaction_audit=_emitter(driver, AuditLog(store)),
    )
    assert rig.complete(correlation_id="case-1").content == "it is [S]"
    (event,) = store.events()
    assert event.enforcement_point == "DLP_MODEL_OUTPUT"
    assert event.metadata["replacementCount"] == "1"
    assert event.correlation_id == "case-1"
    assert verify_audit(store.events()).is_valid
    assert_no_canary("it is canary-8f21-secret", store.events())


@pytest.mark.parametrize(("name", "shown"), [("lookup", "lookup"), ("canary-8f21-name", "unregistered_tool")])
def test_a_record_names_a_tool_only_where_it_is_declared(driver: Driver, name: str, shown: str) -> None:
    store = MemoryAuditStore()
    rig = driver.rig(["done"], dlp=Words(), dlp_redaction_audit=_emitter(driver, AuditLog(store)))
    result = Message.tool("secret", tool_call_id="c1", tool_name=name)
    rig.complete([Message.user("go"), result], tools=[ToolDefinition(name="lookup")])
    [event] = store.events()
    assert event.metadata["toolName"] == shown
    assert_no_canary("canary-8f21-name", store.events())


def test_rt71_events_of_an_operation_are_one_chain(driver: Driver) -> None:
    store = MemoryAuditStore()
    rig = driver.rig(
        [
            ModelResponse(
                content="secret", tool_calls=[ToolCall(id="1", name="t", arguments_json='{"a": "secret"}')]
            )
        ],
        dlp=Words(),
        request_dlp=Words(),
        dlp_redaction_audit=_emitter(driver, AuditLog(store)),
    )
    rig.complete([Message.user("secret")], correlation_id="case-1")
    events = store.events("case-1")
    assert [event.enforcement_point for event in events] == [
        "DLP_MODEL_INPUT",
        "DLP_MODEL_OUTPUT",
        "DLP_MODEL_OUTPUT",
    ]
    assert [event.sequence_number for event in events] == [1, 2, 3]
    assert {event.correlation_id for event in events} == {"case-1"}
    assert verify_audit(events).is_valid


def test_a_log_that_waits_for_a_disk_is_refused_on_an_event_loop(async_driver: Driver) -> None:
    class Slow(MemoryAuditStore):
        may_block = True

    for log in (AuditLog(Slow()), AsyncAuditLog(AuditLog(Slow()))):
        settings: dict[str, Any] = {"dlp": Words(), "dlp_redaction_audit": log}
        if isinstance(log, AsyncAuditLog):
            assert async_driver.rig(["a secret"], **settings).complete()
        else:
            with pytest.raises(ConfigurationError, match="write AsyncAuditLog"):
                async_driver.rig(["a secret"], **settings)
    assert AuditStore.may_block
    assert not AuditLog(MemoryAuditStore()).may_block


class Full(AuditStore):
    def append(self, stream_id: str, links: Any) -> None:
        assert links(AuditHead(0, None))
        raise AuditStoreError("full")


def test_a_store_that_fails_withholds_the_text(driver: Driver) -> None:
    rig = driver.rig(["a secret"], dlp=Words(), dlp_redaction_audit=_emitter(driver, AuditLog(Full())))
    with pytest.raises(DlpInspectionError, match="audit emitter failed"):
        rig.complete()


def test_an_id_over_the_limit_withholds_the_text(driver: Driver) -> None:
    store = MemoryAuditStore()
    rig = driver.rig(["a secret"], dlp=Words(), dlp_redaction_audit=_emitter(driver, AuditLog(store)))
    with pytest.raises(DlpInspectionError, match="audit emitter failed"):
        rig.complete(correlation_id="x" * 257)
    assert store.events() == ()


def test_an_async_log_under_the_plain_facade_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match="emit is async"):
        Driver("sync").rig(
            ["a"], dlp=Words(), dlp_redaction_audit=AsyncAuditLog(AuditLog(MemoryAuditStore()))
        )


class Elsewhere(MemoryAuditStore):
    """Remembers the thread that appends, and waits in it for the event loop to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.thread_id = 0
        self.is_loop_running = threading.Event()

    def append(self, stream_id: str, links: Any) -> None:
        self.thread_id = threading.get_ident()
        assert self.is_loop_running.wait(30)
        super().append(stream_id, links)


def test_an_async_log_leaves_the_event_loop_running(async_driver: Driver) -> None:
    store = Elsewhere()

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(AsyncAuditLog(AuditLog(store)).emit, context(), ONE)
            while not store.thread_id:  # the thread has no event of this loop
                await anyio.lowlevel.checkpoint()
            store.is_loop_running.set()

    async_driver.run(main)
    assert store.thread_id != threading.get_ident()
    assert len(store.events()) == 1


def test_a_cancelled_emit_does_not_wait_for_the_disk(async_driver: Driver) -> None:
    store = Elsewhere()

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(AsyncAuditLog(AuditLog(store)).emit, context(), ONE)
            while not store.thread_id:  # the thread has no event of this loop
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        assert store.events() == ()  # here already, while the thread still waits
        store.is_loop_running.set()
        while not store.events():  # as above
            await anyio.lowlevel.checkpoint()

    async_driver.run(main)
    assert verify_audit(store.events()).is_valid


def test_an_async_log_takes_a_limiter(async_driver: Driver) -> None:
    store = MemoryAuditStore()

    async def main() -> None:
        log = AsyncAuditLog(AuditLog(store), limiter=anyio.CapacityLimiter(1))
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(log.emit, context(), ONE)

    async_driver.run(main)
    assert verify_audit(store.events()).is_valid
    assert len(store.events()) == 5


@pytest.mark.parametrize("arguments", [{"log": MemoryAuditStore()}, {"limiter": 3}], ids=["log", "limiter"])
def test_an_async_log_that_cannot_work_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="give an"):
        AsyncAuditLog(**{"log": AuditLog(MemoryAuditStore()), **arguments})
