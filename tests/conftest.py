"""Fixtures of the whole suite, and how its tests run."""

import gc
import sys
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from hypothesis import settings

from tests.drivers import async_driver, driver

__all__ = ["async_driver", "driver"]

# The same examples in every run: what is covered, and what fails, must not hang on chance.
settings.register_profile("suite", max_examples=50, deadline=None, derandomize=True)
settings.load_profile("suite")

gc.disable()  # until all tests are collected: nothing of them goes before the end


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _put_away() -> Iterator[None]:
    """Collect what a test has left, so that it is told of there, and put away the rest.

    Many tests ask for a full collection: what stands in memory from before them need not be looked at again.
    """
    yield
    gc.collect()
    gc.freeze()


# What measures coverage looks at every line of pytest's own too: it sleeps between the fixtures and the functions.
_tracers: list[Any] = []


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol() -> Generator[None, Any, Any]:
    _tracers.append(sys.gettrace())
    sys.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(_tracers.pop())


def _awake() -> Generator[None, Any, Any]:
    before = sys.gettrace()  # a function may ask for a fixture
    sys.settrace(_tracers[-1])
    try:
        return (yield)
    finally:
        sys.settrace(before)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_fixture_setup() -> Generator[None, Any, Any]:
    return (yield from _awake())


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_pyfunc_call() -> Generator[None, Any, Any]:
    return (yield from _awake())
