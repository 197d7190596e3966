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


@pytest.mark.parametrize(("provider", "count"), [(ScriptedProvider(), 1), (Punctual(), 0)])
def test_a_thread_says_once_where_a_timeout_has_no_say(
    caplog: pytest.LogCaptureFixture, provider: ScriptedProvider, count: int
) -> None:
    with caplog.at_level(logging.INFO, logger="tramapy.client"):
        Tramapy({"p": provider})
    assert len(caplog.records) == count
    assert all(
        "Provider 'p' does not declare ProviderCapability.TIMEOUT" in r.getMessage() for r in caplog.records
    )


def test_a_loop_can_interrupt_and_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="tramapy.client"):
        AsyncTramapy({"p": ScriptedProvider()})
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
