"""The vendors' own tests, run with bare clients and with wrapped ones: the same must pass."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Final

from tests.peers.environments import python_environment, source_distribution

__all__ = ["SUITES", "Expected", "Suite", "compare", "differences", "read_results"]

_RERUNS: Final = 2
_PLUGINS: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Tests that must come out differently, since `wrap` promises something else than they want.

    Args:
        tests: A pattern for their ids.
        words: What the failure of the wrapped run says.
        why: The promise.
    """

    tests: str
    words: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A vendor's tests.

    Args:
        vendor: Also the package's name.
        paths: Which of them.
        packages: What they need, beside the vendor's package.
        name: What the suite is called where it is not the vendor's only one.
        options: Further options of pytest.
        expected: The differences that must be.
    """

    vendor: str
    paths: Sequence[str]
    packages: Sequence[str]
    name: str = ""
    options: Sequence[str] = ()
    expected: Sequence[Expected] = field(default=())


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one test: `passed`, `failure`, `error` or `skipped`, and its first words."""

    outcome: str
    words: str = ""


_ANOTHER_CLIENT: Final = Expected(
    tests=r"tests\.test_streaming",
    words="A wrapped client keeps its HTTP client",
    why="with_options(http_client=...) on a wrapped client is refused",
)

_OPENAI_PACKAGES: Final = (
    "openai[aiohttp,realtime]",
    "azure-identity==1.27.0",
    "inline-snapshot==0.36.1",
    "pytest-asyncio==1.5.0",
)

SUITES: Final = (
    Suite(
        vendor="openai",
        paths=("tests/lib/chat", "tests/lib/responses", "tests/test_streaming.py"),
        packages=_OPENAI_PACKAGES,
        # these are about websockets, which pass by wrap
        options=("--ignore-glob=*websocket*",),
        expected=(
            Expected(
                tests=r"test_responses_helpers_forward_(background|image)_options\[.*-False-False\]",
                words="stream ended before it said how",
                why="a stream without an end is cut, and no normal end",
            ),
            Expected(
                tests=r"test_request_errors_are_wrapped\[httpx2-.*-before-first-event-",
                words="tramapy.errors.Provider",
                why="what failed on the way is an error of ours and the SDK's in one, in words of ours",
            ),
            Expected(
                tests=r"test_request_errors_are_wrapped\[httpx2-.*-after-first-event-",
                words="assert <Request(",
                why="the request of such an error is a copy without headers and body",
            ),
            Expected(
                tests=r"test_typed_lifecycle_output_and_sparse_reintroduction",
                words="Didn't receive a `response.completed` event",
                why="a stream ends with the first event that says so (response.incomplete), whatever follows",
            ),
        ),
    ),
    Suite(
        vendor="openai",
        name="openai-resources",
        paths=(
            "tests/api_resources/chat",
            "tests/api_resources/responses",
            "tests/api_resources/test_completions.py",
            "tests/api_resources/test_embeddings.py",
            "tests/api_resources/test_moderations.py",
        ),
        packages=_OPENAI_PACKAGES,
        options=("-p", "sample_answers"),
    ),
    Suite(
        vendor="anthropic",
        paths=("tests/lib/streaming", "tests/lib/tools", "tests/lib/_parse", "tests/test_streaming.py"),
        packages=(
            "anthropic",
            "dirty-equals==0.11",
            "griffe==2.4.1",
            "http-snapshot[httpx]==0.1.9",
            "inline-snapshot==0.36.1",
            "opentelemetry-sdk==1.45.2",
            "pytest-asyncio==1.5.0",
            "respx==0.23.1",
            "time-machine==3.6.0",
        ),
        options=("-p", "tests._alias_httpx"),
        expected=(
            _ANOTHER_CLIENT,
            Expected(
                tests=r"tests\.lib\.streaming\.",
                words="Left contains one more item: 'message_stop'",
                why="the recorded streams lack their last empty line: the bare client drops that event",
            ),
            Expected(
                tests=r"test_unknown_events_are_passed_through",
                words="Right contains one more item: 'future_event'",
                why="a stream ends with message_stop, whatever follows",
            ),
            Expected(
                tests=r"test_runs_no_call_once_reading_the_reply_has_failed",
                words="The connection to the provider was lost (ReadError)",
                why="what failed on the way is an error of ours and the SDK's in one",
            ),
        ),
    ),
)


def compare(suite: Suite) -> Iterator[str]:
    """Run a suite with bare and with wrapped clients, and yield lines about what differs; the last one counts."""
    release, title = version(suite.vendor), suite.name or suite.vendor
    tools = ["pytest", "pytest-xdist", "hatchling", "hatch-fancy-pypi-readme", "trio"]
    environment = python_environment(suite.vendor, [*suite.packages, *tools])
    sources = source_distribution(environment, suite.vendor, release)
    bare, _ = _run(suite, environment, sources, suite.paths, is_wrapped=False)
    wrapped, tally = _run(suite, environment, sources, suite.paths, is_wrapped=True)
    found = differences(bare, wrapped)
    # a test that depends on timing differs by itself: what differs again, with both run anew, is ours
    for _ in range(_RERUNS):
        files = sorted({_file_of(name, sources) for name in _unexpected(suite, found, wrapped)})
        if not files:
            break
        bare_again, _ = _run(suite, environment, sources, files, is_wrapped=False)
        wrapped_again, _ = _run(suite, environment, sources, files, is_wrapped=True)
        again = differences(bare_again, wrapped_again)
        found = [name for name in found if name in again or _file_of(name, sources) not in files]
    unexpected = _unexpected(suite, found, wrapped)
    for name in unexpected:
        one, other = bare.get(name, Result("absent")), wrapped.get(name, Result("absent"))
        yield f"{title}: {name}: {one.outcome} {one.words} -> {other.outcome} {other.words}"
    count = len(unexpected)
    for expected in suite.expected:
        names = [name for name in found if _is_as(expected, name, wrapped)]
        count += not names
        yield f"{title}: {'as expected' if names else 'NO LONGER'}, {len(names)} differ: {expected.why}"
    attempts, clients = tally.get("tramai.attempt.started", 0), tally.get("clients", 0)
    if not attempts:
        count += 1
        yield f"{title}: nothing was governed"
    yield (
        f"{title} {release}: {len(bare)} tests ({_counted(bare)}), wrapped: {_counted(wrapped)}; "
        f"{clients} clients and {attempts} attempts governed; {count} unexpected differences"
    )


def differences(bare: Mapping[str, Result], wrapped: Mapping[str, Result]) -> list[str]:
    """Return the ids of the tests with another outcome, or with none in one of both runs."""
    absent = Result("absent")
    names = sorted({*bare, *wrapped})
    return [name for name in names if bare.get(name, absent).outcome != wrapped.get(name, absent).outcome]


def read_results(file: Path) -> dict[str, Result]:
    """Read what a run of pytest wrote, by test id."""
    results: dict[str, Result] = {}
    for case in ElementTree.parse(file).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        results[name] = results.get(name, Result("passed"))
        for part in case:
            if part.tag in ("failure", "error", "skipped"):
                results[name] = Result(part.tag, " ".join((part.get("message") or "").split())[:300])
    return results


def _run(
    suite: Suite, environment: Path, sources: Path, paths: Sequence[str], *, is_wrapped: bool
) -> tuple[dict[str, Result], Mapping[str, int]]:
    name = "wrapped" if is_wrapped else "bare"
    report, tally, log = (environment / f"{name}.{kind}" for kind in ("xml", "tally", "log"))
    shutil.rmtree(tally, ignore_errors=True)
    report.unlink(missing_ok=True)
    python = str(environment.absolute() / "bin/python")
    fixed = ["-o", "addopts=", "-q", "-n", "2", "--tb=short", "-p", "no:cacheprovider"]
    told = ["--inline-snapshot=disable", f"--junitxml={report}", *suite.options]
    plugin = ["-p", "wrapped_clients"] if is_wrapped else []
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("OPENAI_", "ANTHROPIC_", "AWS_"))
    }
    settings = {
        **kept,
        "PYTHONPATH": str(_PLUGINS),
        "TRAMAPY_PEER_VENDOR": suite.vendor,
        "TRAMAPY_PEER_TALLY": str(tally),
    }
    with log.open("w") as output:
        subprocess.run(
            [python, "-m", "pytest", *fixed, *told, *plugin, *paths],
            cwd=sources,
            env=settings,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,  # some fail with the bare client, too
        )
    if not report.is_file():
        raise RuntimeError(f"pytest wrote no report; see {log}")
    counts: dict[str, int] = {}
    for file in sorted(tally.glob("*.json")):
        for key, number in json.loads(file.read_text()).items():
            counts[key] = counts.get(key, 0) + number
    return read_results(report), counts


def _unexpected(suite: Suite, found: Sequence[str], wrapped: Mapping[str, Result]) -> list[str]:
    return [name for name in found if not any(_is_as(it, name, wrapped) for it in suite.expected)]


def _is_as(expected: Expected, name: str, wrapped: Mapping[str, Result]) -> bool:
    words = wrapped.get(name, Result("absent")).words
    return re.search(expected.tests, name) is not None and expected.words in words


def _file_of(name: str, sources: Path) -> str:
    """Return the file of a test, whose class stands behind it in its id."""
    parts = name.partition("::")[0].split(".")
    while parts and not (sources / f"{'/'.join(parts)}.py").is_file():
        parts.pop()
    return f"{'/'.join(parts)}.py"


def _counted(results: Mapping[str, Result]) -> str:
    outcomes = [result.outcome for result in results.values()]
    return ", ".join(f"{outcomes.count(kind)} {kind}" for kind in sorted(set(outcomes)))
