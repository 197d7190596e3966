"""Links within the documentation lead somewhere, and no page is left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, PAGES, ROOT, blocks_of, page_id, prose_of

_LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
_SECTION = re.compile(r"^## +(.+?) *$", re.MULTILINE)
_PAGE_IN_SOURCE = re.compile(r"\bdocs/[\w./-]+\.md")

# how a page begins; its example comes before anything else
# (the gate is a command: its pages begin with a shell)
MANUAL_PAGES = sorted(page for page in DOCS.glob("*.md") if not page.stem.startswith("safety-gate"))


def links_of(page: Path) -> list[str]:
    return [link for link in _LINK.findall(prose_of(page)) if "://" not in link]


def anchors_of(page: Path) -> set[str]:
    """Return the anchors that a page's headings get on GitHub."""
    headings = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in _HEADING.findall(prose_of(page)))
    return {heading.replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_resolve(page: Path) -> None:
    for link in links_of(page):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.is_file(), f"{page_id(page)} links to {link}"
        assert not anchor or anchor in anchors_of(target), f"{page_id(page)} links to {link}"


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    pending = [ROOT / "README.md"]
    while pending:
        page = pending.pop()
        if page.suffix == ".md" and page.is_file() and page not in reached:
            reached.add(page)
            pending += [(page.parent / link.partition("#")[0]).resolve() for link in links_of(page)]
    assert set(PAGES) <= reached


@pytest.mark.parametrize("page", MANUAL_PAGES, ids=page_id)
def test_a_page_begins_with_an_example_and_ends_with_its_limits(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# ")
    first = next(block for block in blocks_of(page) if block.is_python)
    assert not [line for line in lines[: first.line - 2] if line.startswith("## ")], (
        "a section stands before the example"
    )
    assert _SECTION.findall(prose_of(page))[-1] == "Limits"


@pytest.mark.parametrize("path", sorted((ROOT / "tramapy").rglob("*.py")), ids=lambda path: path.stem)
def test_pages_that_the_source_names_exist(path: Path) -> None:
    for name in _PAGE_IN_SOURCE.findall(path.read_text(encoding="utf-8")):
        assert (ROOT / name).is_file(), f"{path.name} names {name}"
