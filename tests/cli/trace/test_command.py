from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from typer.testing import CliRunner

from tests.cli.running import run, run_in_a_pipe
from tests.cli.trace.events import STEPS, dumped
from tests.cli.trace.spans import OPERATION, attempt, export, operation
from tests.docs.pages import ROOT
from tests.drivers import HELLO
from tramapy import Message, ProviderError, Tramapy
from tramapy.cli.app import app
from tramapy.cli.trace.command import trace
from tramapy.telemetry import JsonlEventObserver, OpenTelemetryEventObserver, OtlpRefusal
from tramapy.testing import FakeClock, ScriptedProvider, assert_no_canary


def test_what_the_observer_wrote_is_shown(tmp_path: Path) -> None:
    with JsonlEventObserver(tmp_path / "dump") as observer:
        provider = ScriptedProvider([ProviderError("x", retryable=True, status_code=503), "an answer"])
        tramapy = Tramapy({"openai": provider}, event_observers=[observer])
        tramapy.complete(HELLO, model="gpt-4o", correlation_id="c-7")
    outcome = run("trace", str(tmp_path / "dump"))
    assert outcome.exit_code == 0
    assert not outcome.errors
    for text in (
        "c-7 asks for gpt-4o",
        "attempt 0 failed: HTTP 503, retryable",
        "waits",
        "attempt 1 passed every hook",
        "answered after 2 attempts",
        "1 operation: 1 success; 2 attempts, 1 retry.",
    ):
        assert text in outcome.output


def test_a_file_without_events_has_no_operations(tmp_path: Path) -> None:
    (tmp_path / "dump").touch()
    outcome = run("trace", str(tmp_path / "dump"))
    assert (outcome.exit_code, outcome.output) == (0, "No operations.\n")


def test_json_is_an_object_for_each_operation(tmp_path: Path) -> None:
    dumped(tmp_path / "dump")
    dumped(tmp_path / "dump", correlation_id="c-2")
    outcome = run("trace", str(tmp_path / "dump"), "--format", "json")
    assert [json.loads(line)["correlation_id"] for line in outcome.output.splitlines()] == ["c-1", "c-2"]


def test_the_standard_input_is_a_file_too(tmp_path: Path) -> None:
    data = dumped(tmp_path / "dump").read_bytes()
    result = CliRunner().invoke(app, ["trace", "-"], input=data)
    assert "c-1 asks for gpt-4o" in result.stdout


def test_operations_can_be_chosen(tmp_path: Path) -> None:
    failed: Any = (
        1.0,
        "operation.completed",
        {"outcome": "failed", "attempt_count": 2, "duration_millis": 9},
    )
    path = dumped(tmp_path / "dump")
    dumped(path, [*STEPS[:-1], failed], "c-2")
    dumped(path, correlation_id="c-3")

    def ids(*arguments: str) -> list[str]:
        output = run("trace", str(path), "--format", "json", *arguments).output
        return [json.loads(line)["correlation_id"] for line in output.splitlines()]

    assert ids("--id", "c-3") == ["c-3"]
    assert ids("--id", "missing") == []
    assert ids("--failed") == ["c-2"]
    assert ids("--limit", "2") == ["c-1", "c-2"]
    assert ids("--failed", "--id", "c-1") == []


def test_a_terminal_gets_what_fits_into_its_width(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys, "stdout", Terminal())
    trace(str(dumped(tmp_path / "dump")))
    shown = sys.stdout.getvalue()  # type: ignore[attr-defined]  # it is ours
    assert "attempt 0" in shown
    assert max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in shown.splitlines()) == 60


def test_an_id_that_nobody_has_is_told(tmp_path: Path) -> None:
    path = str(dumped(tmp_path / "dump"))
    for form in ("text", "json"):
        missing = run("trace", path, "--id", "nope", "--format", form)
        assert (missing.exit_code, missing.errors) == (0, "No operation has the id 'nope'.\n")
    filtered = run("trace", path, "--id", "c-1", "--failed")
    assert (filtered.output, filtered.errors) == ("No operations.\n", "")


def test_bad_lines_are_told_and_the_rest_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "dump"
    path.write_bytes(b"hello\n" + b"[" * 30_000 + b"\n" + b"x" * 70_000 + b"\n\x1b[31m\n")
    dumped(path)
    outcome = run("trace", str(path))
    assert outcome.exit_code == 1
    assert outcome.errors == "Line 1 is no event: it is no JSON. 3 other lines are none either.\n"
    assert "c-1 asks for gpt-4o" in outcome.output


def test_one_bad_line_is_told_alone(tmp_path: Path) -> None:
    path = dumped(tmp_path / "dump")
    path.write_bytes(path.read_bytes() + b"{}\n")
    outcome = run("trace", str(path))
    assert outcome.exit_code == 1
    assert outcome.errors == f"Line {len(STEPS) + 1} is no event: its time is no time.\n"


def test_a_cut_file_shows_what_is_whole(tmp_path: Path) -> None:
    path = dumped(tmp_path / "dump")
    path.write_bytes(path.read_bytes()[:-20])
    outcome = run("trace", str(path))
    assert outcome.exit_code == 0
    assert outcome.errors == f"Line {len(STEPS)}, the last one, is cut; it is left out.\n"
    assert "its end is missing" in outcome.output


@pytest.mark.parametrize(
    "data", [b"\x7fELF\x00\x01", b"not a dump\n", b"{}"], ids=["binary", "text", "object"]
)
def test_a_file_of_another_kind_is_exit_code_2(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "dump").write_bytes(data)
    assert run("trace", str(tmp_path / "dump")).exit_code == 2


def test_a_file_that_cannot_be_read_is_exit_code_2(tmp_path: Path) -> None:
    missing = run("trace", str(tmp_path / "missing\x1b[2J"))
    assert missing.exit_code == 2
    assert "cannot be read: No such file or directory" in missing.errors
    assert "\x1b" not in missing.errors
    assert run("trace", str(tmp_path)).exit_code == 2


@pytest.mark.parametrize(
    "arguments",
    [(), ("x", "--allow-remote"), ("--format", "xml"), ("x", "y"), ("x", "--limit", "0")],
    ids=["nothing", "remote file", "format", "two files", "limit"],
)
def test_bad_usage_is_exit_code_2(arguments: tuple[str, ...]) -> None:
    assert run("trace", *arguments).exit_code == 2


def test_no_secret_of_an_operation_is_in_the_dump(tmp_path: Path) -> None:
    secret = "canary-5f3a9c71e0"
    with JsonlEventObserver(tmp_path / "dump") as observer:
        provider = ScriptedProvider([ProviderError(secret, status_code=400), secret])
        tramapy = Tramapy({"openai": provider}, event_observers=[observer])
        with pytest.raises(ProviderError):
            tramapy.complete([Message.user(secret)], model="gpt-4o")
        assert tramapy.complete([Message.user(secret)], model="gpt-4o").content == secret
    shown = run("trace", str(tmp_path / "dump"))
    assert "2 operations" in shown.output
    assert_no_canary(secret, (tmp_path / "dump").read_bytes(), shown.output)


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    "environment", [{}, {"COLUMNS": "20"}, {"NO_COLOR": "1", "FORCE_COLOR": ""}], ids=str
)
def test_a_pipe_gets_the_same_bytes_without_colour(environment: dict[str, str], tmp_path: Path) -> None:
    output = run_in_a_pipe("trace", str(dumped(tmp_path / "dump")), PYTHONIOENCODING="utf-8", **environment)
    assert b"\x1b" not in output
    assert "1.000 s └   answered after 2 attempts" in output.decode()


def test_a_terminal_without_unicode_gets_question_marks(tmp_path: Path) -> None:
    output = run_in_a_pipe("trace", str(dumped(tmp_path / "dump")), PYTHONIOENCODING="ascii")
    assert b"1.000 s ?   answered after 2 attempts" in output


class _Listener:
    """`tramapy trace --listen` in a process of its own."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tramapy.cli", "trace", "--listen", "127.0.0.1:0", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
        )
        assert self.process.stderr is not None
        first = self.process.stderr.readline().decode()
        assert first.startswith("Listening on http://127.0.0.1:"), first
        self.endpoint = first.split()[2].rstrip(";")

    def send(self, body: bytes, path: str = "v1/traces", content_type: str = "application/x-protobuf") -> int:
        request = urllib.request.Request(f"{self.endpoint}/{path}", body, {"Content-Type": content_type})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=30) as response:
            return int(response.status)

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().decode()

    def rest(self) -> tuple[int, str, str]:
        output, errors = self.process.communicate(timeout=30)
        return self.process.returncode, output.decode(), errors.decode()


@pytest.fixture
def listeners() -> Iterator[list[_Listener]]:
    started: list[_Listener] = []
    yield started
    for listener in started:
        listener.process.kill()
        listener.process.communicate()


def test_operations_are_shown_as_they_are_exported_until_it_is_interrupted(
    listeners: list[_Listener],
) -> None:
    listener = _Listener()
    listeners.append(listener)
    assert listener.send(export(operation(), scope="httpx").SerializeToString()) == 200
    assert listener.send(export(attempt(), operation()).SerializeToString()) == 200
    assert "c-1 asks for gpt-4o" in listener.line()
    pending = operation({**OPERATION, "tramapy.correlation_id": "c-2"}, span_id=b"pending.")
    assert listener.send(export(pending).SerializeToString()) == 200
    listener.process.send_signal(signal.SIGINT)
    code, output, errors = listener.rest()
    assert code == 0
    assert "c-2 asks for gpt-4o" in output
    assert "2 operations: 2 success" in output
    assert "1 spans of other libraries are not shown." in errors


def test_what_a_real_exporter_sends_is_shown(
    listeners: list[_Listener], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    listener = _Listener()
    listeners.append(listener)
    exporter = OTLPSpanExporter(f"{listener.endpoint}/v1/traces", compression=Compression.Gzip)
    tracer_provider = TracerProvider()
    tracer_provider.add_span_processor(BatchSpanProcessor(exporter))
    provider = ScriptedProvider([ProviderError("x", retryable=True, status_code=503), "an answer"])
    observer = OpenTelemetryEventObserver(tracer_provider=tracer_provider)
    tramapy = Tramapy({"openai": provider}, event_observers=[observer], clock=FakeClock())
    tramapy.complete(HELLO, model="gpt-4o", correlation_id="c-9")
    tracer_provider.shutdown()
    listener.process.send_signal(signal.SIGINT)
    code, output, _ = listener.rest()
    assert code == 0
    assert "c-9 asks for gpt-4o in tramapy.complete" in output
    assert "attempt 0 failed: HTTP 503, retryable" in output
    assert "answered after 2 attempts" in output


def test_what_is_refused_is_told_once_for_each_kind(listeners: list[_Listener]) -> None:
    listener = _Listener()
    listeners.append(listener)
    for _ in range(2):
        for path, content_type in (("v1/traces", "application/json"), ("traces", "application/x-protobuf")):
            with pytest.raises(urllib.error.HTTPError) as refused:
                listener.send(b"{}", path, content_type)
            refused.value.close()
    listener.process.send_signal(signal.SIGINT)
    _, _, errors = listener.rest()
    told = [line for line in errors.splitlines() if "refused" in line]
    assert told == [OtlpRefusal.JSON.sentence, OtlpRefusal.PATH.sentence]


def test_it_ends_after_so_many_operations(listeners: list[_Listener]) -> None:
    listener = _Listener("--limit", "1", "--format", "json")
    listeners.append(listener)
    with contextlib.suppress(OSError):  # it may end before it answers
        listener.send(export(attempt(), operation()).SerializeToString())
    code, output, _ = listener.rest()
    assert code == 0
    assert json.loads(output)["correlation_id"] == "c-1"


def test_it_listens_where_other_machines_can_reach_it_only_when_told() -> None:
    outcome = run("trace", "--listen", "0.0.0.0:0")
    assert outcome.exit_code == 2
    assert "--allow-remote" in outcome.errors


@pytest.mark.parametrize("address", ["localhost:x", "::1"])
def test_an_address_that_cannot_be_is_refused(address: str) -> None:
    outcome = run("trace", "--listen", address)
    assert outcome.exit_code == 2
    assert "--listen takes HOST:PORT" in outcome.errors


def test_a_port_that_is_taken_is_told(listeners: list[_Listener]) -> None:
    listener = _Listener()
    listeners.append(listener)
    outcome = run("trace", "--listen", listener.endpoint.removeprefix("http://"))
    assert outcome.exit_code == 2
    assert "cannot be listened on: Address already in use" in outcome.errors


def test_listening_ends_where_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    def unread(*_: object, **__: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(importlib.import_module("tramapy.cli.trace.live"), "listening", unread)
    outcome = run("trace", "--listen")
    assert (outcome.exit_code, outcome.output, outcome.errors) == (0, "", "")


@pytest.fixture
def fresh_modules(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let what receives exports be imported anew."""
    for name in list(sys.modules):
        if name.startswith(("tramapy.telemetry.otlp", "tramapy.cli.trace.live")):
            monkeypatch.delitem(sys.modules, name)
    return monkeypatch


def test_a_missing_extra_says_which_to_install(fresh_modules: pytest.MonkeyPatch) -> None:
    fresh_modules.setitem(sys.modules, "opentelemetry.proto.collector.trace.v1.trace_service_pb2", None)
    outcome = run("trace", "--listen")
    assert outcome.exit_code == 2
    assert "pip install 'tramapy[otel]'" in outcome.errors


def test_another_missing_module_is_a_defect(fresh_modules: pytest.MonkeyPatch) -> None:
    fresh_modules.setitem(sys.modules, "tramapy.cli.trace.otlp", None)
    assert isinstance(CliRunner().invoke(app, ["trace", "--listen"]).exception, ModuleNotFoundError)
