"""Fixtures of the whole suite, and how its tests run."""

import gc
import os
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
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


MEASURED = {"tramapy", "safety_gate"}
PROCESS_VARIABLE = "COVERAGE_PROCESS_CONFIG"  # a process that is started with it is measured

# What measures coverage looks at every line that runs, also of pytest and of the SDKs, and doubles its time. So it
# sleeps, but while the packages are imported, in fixtures, and in tests that are not marked `unmeasured`.
_tracers: list[Any] = []


@contextmanager
def _traced_by(of_this_thread: Any, of_new_threads: Any) -> Iterator[None]:
    before, before_of_threads = sys.gettrace(), threading.gettrace()
    sys.settrace(of_this_thread)
    threading.settrace(of_new_threads)
    try:
        yield
    finally:
        threading.settrace(before_of_threads)
        sys.settrace(before)


class _Waker(PathFinder):
    """Finds the modules of what is measured, and wakes what measures while they run for the first time."""

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        spec = super().find_spec(name, path, target) if name.split(".")[0] in MEASURED else None
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module = _traced_by(*_tracers)(spec.loader.exec_module)
        return spec


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_cmdline_main() -> Generator[None, Any, Any]:
    _tracers[:] = sys.gettrace(), threading.gettrace()
    sys.meta_path.insert(0, _Waker)
    try:
        with _traced_by(None, None):
            return (yield)
    finally:
        sys.meta_path.remove(_Waker)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_fixture_setup() -> Generator[None, Any, Any]:
    with _traced_by(*_tracers):
        return (yield)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
    of_processes = os.environ.get(PROCESS_VARIABLE)
    if of_processes is None or pyfuncitem.get_closest_marker("unmeasured") is None:
        with _traced_by(*_tracers):
            return (yield)
    del os.environ[PROCESS_VARIABLE]
    try:
        return (yield)
    finally:
        os.environ[PROCESS_VARIABLE] = of_processes
