"""Compare bare and wrapped clients with what others have written: `python -m tests.peers PART...`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

from tests.peers import aimock, sdk_versions, vendor_tests
from tests.peers.environments import node_package

_AIMOCK_VERSION = "1.43.0"


def main() -> int:
    """Run what is asked for, and return how many parts had differences that must not be."""
    suites = {suite.name or suite.vendor: suite for suite in vendor_tests.SUITES}
    parser = argparse.ArgumentParser(prog="python -m tests.peers", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=["aimock", "sdks", *suites, []], default=[])
    parts = parser.parse_args().parts or ["aimock", "sdks", *suites]
    failed = 0
    for part in parts:
        if part == "aimock":
            commands = node_package("aimock", "@copilotkit/aimock", _AIMOCK_VERSION)
            failed += _told(aimock.compare(commands / "llmock", commands.parent.parent / "server.log"))
        elif part == "sdks":
            failed += _told(sdk_versions.compare())
        else:
            failed += _told(vendor_tests.compare(suites[part]))
    sys.stdout.write(f"{len(parts) - failed} passed, {failed} failed\n")
    return failed


def _told(lines: Iterable[str]) -> bool:
    """Print lines as they come, and return whether the last one counts differences."""
    last = ""
    for last in lines:
        sys.stdout.write(f"{last}\n")
        sys.stdout.flush()
    return not last.endswith("; 0 unexpected differences")


if __name__ == "__main__":
    sys.exit(main())
