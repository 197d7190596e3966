"""A forked child has none of its parent's threads: it waits for none of their locks, and tells nothing of theirs."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import weakref
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from tests.drivers import HELLO
from tests.telemetry.audit_material import context, log_of
from tests.telemetry.recorded import Telemetry
from tramapy import DlpRedaction, Tramapy, forks
from tramapy.dlp import DlpRule, RuleBasedDlpConfiguration, RuleBasedDlpInterceptor
from tramapy.dlp.alive import Alive
from tramapy.telemetry import (
    AttemptContextObserver,
    AuditStoreError,
    FileAuditStore,
    JsonlEventObserver,
    MemoryAuditStore,
)
from tramapy.testing import ScriptedProvider

LOCKS = (type(threading.Lock()), type(threading.RLock()))
ONE = [DlpRedaction("r", 1)]


class Shared:
    """Everything that has locks and is shared by a program, after one operation."""

    def __init__(self, folder: Path) -> None:
        self.telemetry = Telemetry(measures_chunks=True)
        self.lines = JsonlEventObserver(folder / "events.jsonl")
        self.memory = MemoryAuditStore()
        self.files = FileAuditStore(folder / "audit.jsonl", fsync="never")
        self.alive = Alive(["a"])
        self.dlp = RuleBasedDlpInterceptor(RuleBasedDlpConfiguration(rules=[DlpRule(id="r", pattern="a+b")]))
        self.observers = [self.telemetry.observer, self.lines, AttemptContextObserver()]
        self.ask()
        log_of(self.files).emit(context(), ONE)

    def ask(self) -> None:
        tramapy = Tramapy(
            {"p": ScriptedProvider(["aab aac"])},
            dlp=self.dlp,
            dlp_redaction_audit=log_of(self.memory),
            event_observers=self.observers,
        )
        with tramapy.stream(HELLO, model="m") as chunks:
            assert "aab" not in "".join(str(chunk) for chunk in chunks)

    def attempt_count(self) -> int:
        return sum(self.telemetry.points("tramapy.attempts").values())

    def close(self) -> None:
        self.lines.close()
        self.files.close()


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Shared]:
    monkeypatch.setattr(forks, "_SHARED", weakref.WeakValueDictionary())
    made = Shared(tmp_path)
    yield made
    made.close()


def locks() -> list[Any]:
    """Return the locks of all objects that are renewed, and of the counts in their tables."""
    owners: list[Any] = []
    for owner in forks._SHARED.values():
        owners += [owner, *getattr(owner, "_counts", {}).values()]
    values = [
        getattr(owner, name, None) for owner in owners for name in (*dir(owner),) if name.startswith("_")
    ]
    return [value for value in values if isinstance(value, LOCKS)]


@contextlib.contextmanager
def held(wanted: list[Any]) -> Generator[None]:
    """Have another thread hold locks."""
    is_held, is_over = threading.Event(), threading.Event()

    def hold() -> None:
        for lock in wanted:
            lock.acquire()
        is_held.set()
        is_over.wait()
        for lock in wanted:
            lock.release()

    thread = threading.Thread(target=hold)
    thread.start()
    is_held.wait()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def in_child(run: Callable[[], object]) -> int:
    """Run something in a forked child, for 20 seconds at most; return its exit code."""
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            run()
        except BaseException:  # whatever it is, the child must not go on as a second test runner
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_waits_for_no_lock_and_tells_its_own_operations_alone(shared: Shared) -> None:
    shared.lines.flush()

    def child() -> None:
        shared.ask()
        assert shared.attempt_count() == 1
        assert shared.telemetry.observer.open_operation_count == 0
        with pytest.raises(AuditStoreError, match="before a fork"):
            log_of(shared.files).emit(context(), ONE)
        shared.close()

    wanted = locks()
    assert len(wanted) > 10
    with held(wanted):
        assert in_child(child) == 0
    shared.ask()
    assert shared.attempt_count() == 2


def test_what_a_child_renews_is_free_and_begins_at_nothing(shared: Shared) -> None:
    """What the child does, here in the parent, where it shows which lines ran."""
    shared.lines.close()
    with held(locks()):
        forks._renew_all()
        assert all(lock.acquire(blocking=False) for lock in locks())
        for lock in locks():
            lock.release()
    assert shared.attempt_count() == 0
    assert shared.lines.close(0.0)
    shared.ask()
    assert shared.attempt_count() == 1
    assert shared.lines.dropped_count == 6


def test_an_object_that_is_gone_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "_SHARED", weakref.WeakValueDictionary())
    store = MemoryAuditStore()
    assert len(forks._SHARED) == 1
    del store
    assert not forks._SHARED
