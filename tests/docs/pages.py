"""The pages of the documentation, and the code blocks in them."""

from __future__ import annotations

import contextlib
import io
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))

# a gate rule's page shows fragments to judge, not programs to run
RUN_PAGES = tuple(page for page in PAGES if page.parent != DOCS / "rules")

_FENCE = re.compile(r"(?P<indent> *)(?P<ticks>`{3,})(?P<info>.*)")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: what its fence says, its code, and the line of the file on which the code begins."""

    info: tuple[str, ...]
    code: str
    line: int

    @property
    def is_python(self) -> bool:
        return self.info[:1] == ("python",)

    @property
    def is_run(self) -> bool:
        return self.is_python and "no-run" not in self.info

    @property
    def is_output(self) -> bool:
        """Whether it is what the block before it prints."""
        return self.info == ("text", "output")


def page_id(page: Path) -> str:
    """Return a page's path from the root of the repository."""
    return page.relative_to(ROOT).as_posix()


def blocks_of(page: Path) -> list[Block]:
    """Return the blocks of a page in order."""
    return list(_blocks(page.read_text(encoding="utf-8").splitlines()))


def run_block(page: Path, block: Block, module: types.ModuleType) -> str:
    """Run a block in a module and return what it printed."""
    # as many lines before it as in the page, so that a traceback points into the page
    source = "\n" * (block.line - 1) + block.code
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(source, str(page), "exec"), module.__dict__)
    return output.getvalue()


def module_of(page: Path) -> types.ModuleType:
    """Return what a page's blocks define."""
    module = types.ModuleType("docs_page")
    for block in blocks_of(page):
        if block.is_run:
            run_block(page, block, module)
    return module


def prose_of(page: Path) -> str:
    """Return a page without its blocks."""
    lines = page.read_text(encoding="utf-8").splitlines()
    hidden = {
        number
        for block in _blocks(lines)
        for number in range(block.line - 1, block.line + block.code.count("\n"))
    }
    return "\n".join(line for number, line in enumerate(lines, 1) if number not in hidden)


def table_rows(page: Path, *head: str) -> list[list[str]]:
    """Return the cells of the table whose header begins with `head`, without the header."""
    lines = page.read_text(encoding="utf-8").splitlines()
    starts = [number for number, line in enumerate(lines) if _cells(line)[: len(head)] == [*head]]
    assert len(starts) == 1, f"{page_id(page)} has {len(starts)} tables that begin with {head!r}"
    rows: list[list[str]] = []
    for line in lines[starts[0] + 2 :]:
        if not line.startswith("|"):
            break
        rows.append(_cells(line))
    return rows


def _cells(line: str) -> list[str]:
    if not line.startswith("|"):
        return []
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def _blocks(lines: list[str]) -> Iterator[Block]:
    number = 0
    while number < len(lines):
        opening = _FENCE.fullmatch(lines[number])
        number += 1
        if opening is None:
            continue
        start = number
        while lines[number].strip() != opening["ticks"]:
            number += 1
        indent = len(opening["indent"])
        code = "".join(line[indent:] + "\n" for line in lines[start:number])
        yield Block(tuple(opening["info"].split()), code, start + 1)
        number += 1
