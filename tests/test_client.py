"""The facades: what both share, and what each asks of a provider."""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import Any

import pytest

from tests.drivers import HELLO, Driver, text_of
from tramapy import AsyncTramapy, Message, ProviderCapability, Tramapy
from tramapy.client import _Facade
from tramapy.testing import FakeClock, ScriptedProvider


class Punctual(ScriptedProvider):
    capabilities = ScriptedProvider.capabilities | {ProviderCapability.TIMEOUT}


@pytest.mark.parametrize(
    ("provider", "settings", "said"),
    [
        (ScriptedProvider(), {}, [(logging.DEBUG, "timeout_s")]),
        (ScriptedProvider(), {"timeout_s": None}, [(logging.DEBUG, "timeout_s")]),
        (ScriptedProvider(), {"deadline_s": 5.0}, [(logging.WARNING, "deadline_s")]),
        (
            ScriptedProvider(),
            {"timeout_s": 1.0, "deadline_s": 5.0},
            [(logging.WARNING, "timeout_s and deadline_s")],
        ),
        (Punctual(), {"timeout_s": 1.0}, []),
    ],
    ids=["default", "none", "deadline", "both", "punctual"],
)
def test_a_thread_warns_of_a_limit_that_was_asked_for_and_cannot_hold(
    caplog: pytest.LogCaptureFixture, provider: ScriptedProvider, settings: Any, said: list[tuple[int, str]]
) -> None:
    with caplog.at_level(logging.DEBUG, logger="tramapy.client"):
        Tramapy({"p": provider}, **settings)
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (
            level,
            "Provider 'p' does not declare ProviderCapability.TIMEOUT: a call of it in a thread ends when it ends, "
            f"and {names} cannot end it. Use AsyncTramapy, or a provider that declares it",
        )
        for level, names in said
    ]


def test_a_loop_can_interrupt_and_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="tramapy.client"):
        AsyncTramapy({"p": ScriptedProvider()}, timeout_s=1.0)
    assert caplog.records == []


def test_what_both_share_is_no_facade() -> None:
    with pytest.raises(TypeError, match="use Tramapy or AsyncTramapy"):
        _Facade({"p": ScriptedProvider()})
    with pytest.raises(TypeError, match="use Tramapy or AsyncTramapy"):
        _Facade._port(FakeClock())


def test_one_facade_serves_many_calls(driver: Driver) -> None:
    rig = driver.rig(ScriptedProvider(["one", "two", "three"]))
    assert [rig.complete().content for _ in range(3)] == ["one", "two", "three"]


def test_the_real_clock_is_the_default() -> None:
    t = Tramapy({"p": ScriptedProvider(["answer"])})
    assert t.complete([Message.user("hi")], model="m").content == "answer"


def test_an_async_facade_outlives_its_loop(async_driver: Driver) -> None:
    rig: Any = async_driver.rig(["one", "two"])
    assert rig.complete().content == "one"
    assert rig.complete().content == "two"


def test_an_unconfigured_program_finds_nothing_of_ours_on_its_stderr() -> None:
    code = "import logging, tramapy; logging.getLogger('tramapy.secondary').warning('x')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_a_stream_of_the_async_facade_says_how_to_use_it() -> None:
    stream: Any = AsyncTramapy({"p": ScriptedProvider(["hi"])}).stream(HELLO, model="m")
    complaint = r"^AsyncChunkStream: it comes from AsyncTramapy; write `async with` and `async for`$"
    with pytest.raises(TypeError, match=complaint), stream:
        raise AssertionError
    with pytest.raises(TypeError, match=complaint):
        iter(stream)


@pytest.mark.parametrize("way", ["async with", "async for"])
def test_a_stream_of_the_plain_facade_says_how_to_use_it(async_driver: Driver, way: str) -> None:
    stream: Any = Tramapy({"p": ScriptedProvider(["hi"])}).stream(HELLO, model="m")

    async def main() -> None:
        if way == "async for":
            async for _ in stream:
                raise AssertionError
        async with stream:
            raise AssertionError

    complaint = r"^ChunkStream: it comes from Tramapy; write plain `with` and `for`, without `async`$"
    with pytest.raises(TypeError, match=complaint):
        async_driver.run(main)
    with stream:
        assert text_of(list(stream)) == "hi"
