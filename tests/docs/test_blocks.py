"""Every Python block of the documentation runs, page by page, and prints what the page says it prints."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, RUN_PAGES, Block, blocks_of, page_id, run_block

# a page shows a call, and not each time how the client is closed
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class _Network:
    """Refuses every address but loopback while it is guarded; an audit hook cannot be taken back."""

    is_guarded = False

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.is_guarded or event not in ("socket.connect", "socket.getaddrinfo"):
            return
        address = arguments[1] if event == "socket.connect" else arguments[0]
        host = address[0] if isinstance(address, tuple) else address
        if isinstance(host, bytes):
            host = host.decode()
        if host not in _LOOPBACK:
            raise OSError("a block of the documentation asked for an address outside of this machine")


_network = _Network()
sys.addaudithook(_network)


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("NO_PROXY", ",".join(_LOOPBACK))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    _network.is_guarded = True
    yield
    _network.is_guarded = False


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    "page", [page for page in RUN_PAGES if any(block.is_run for block in blocks_of(page))], ids=page_id
)
def test_blocks_run_and_print_what_the_page_says(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("docs_page")
    monkeypatch.setitem(sys.modules, "docs_page", module)
    printed = ""
    for block in blocks_of(page):
        if block.is_run:
            printed = run_block(page, block, module)
        elif block.is_output:
            assert printed == block.code, f"{page_id(page)}:{block.line}"


@pytest.mark.parametrize("page", RUN_PAGES, ids=page_id)
def test_blocks_that_do_not_run_say_why(page: Path) -> None:
    for block in blocks_of(page):
        if block.is_python and not block.is_run:
            assert block.code.startswith("# not run: "), f"{page_id(page)}:{block.line} gives no reason"


def test_the_network_guard_refuses_other_machines() -> None:
    import socket

    with pytest.raises(OSError, match="outside of this machine"):
        socket.create_connection(("192.0.2.1", 80), timeout=1)


@pytest.mark.parametrize(
    "block",
    [block for block in blocks_of(ROOT / "README.md") if block.is_run],
    ids=lambda block: f"line {block.line}",
)
def test_each_block_of_the_readme_runs_by_itself(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("readme_block")
    monkeypatch.setitem(sys.modules, "readme_block", module)
    assert run_block(ROOT / "README.md", block, module)
