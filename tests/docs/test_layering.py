"""The floors of the architecture: a module imports strictly lower ones, and nothing imports in a circle."""

from __future__ import annotations

import ast
import graphlib
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

PACKAGE = ROOT / "tramapy"

# within a floor, a file imports only files that stand before it; packages of one floor do not know each other
FLOORS = (
    ("errors", "cancellation", "forks", "values", "remedies", "keywords", "messages", "bounded"),
    ("hooks",),
    ("dlp", "resilience", "extensions"),
    ("engine",),
    ("runtime", "misplaced", "settings", "client", "conversation"),
    ("wire",),
    ("clients", "providers", "sandboxes", "telemetry", "testing"),
    ("wrapping", "autoconfigure", "cli", "__init__"),
    ("__main__",),
)
PLACES = {name: (floor, place) for floor, names in enumerate(FLOORS) for place, name in enumerate(names)}
PACKAGES = frozenset(name for name in PLACES if (PACKAGE / name).is_dir())


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def imports_of(name: str) -> frozenset[str]:
    """Return the modules of the package that a module imports, also inside functions, but not for types alone."""
    tree = ast.parse(SOURCES[name].read_text(encoding="utf-8"))
    return frozenset(target for node in _without_typing(tree) for target in _targets(node))


def _without_typing(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            for other in child.orelse:
                yield from (other, *_without_typing(other))
            continue
        yield child
        yield from _without_typing(child)


def _targets(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "tramapy")
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        if node.module is not None and node.module.split(".")[0] == "tramapy":
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in SOURCES else node.module


def place_of(name: str) -> tuple[int, int]:
    """Return a module's floor and its place there."""
    parts = name.split(".")
    return PLACES["__init__" if len(parts) == 1 else parts[1]]


@pytest.mark.parametrize("name", SOURCES)
def test_a_module_has_a_floor(name: str) -> None:
    assert place_of(name)


@pytest.mark.parametrize("name", SOURCES)
def test_a_module_imports_lower_ones(name: str) -> None:
    for target in imports_of(name):
        is_own_package = name.split(".")[1:2] == target.split(".")[1:2] and target.split(".")[1] in PACKAGES
        is_root = len(name.split(".")) == 1
        assert is_own_package or is_root or _is_below(target, name), f"{name} imports {target}"


def _is_below(target: str, name: str) -> bool:
    target_floor, target_place = place_of(target)
    floor, place = place_of(name)
    if target_floor != floor:
        return target_floor < floor
    are_files = {target.split(".")[1], name.split(".")[1]}.isdisjoint(PACKAGES)
    return are_files and target_place < place


@pytest.mark.parametrize("name", SOURCES)
def test_no_module_imports_the_package_root(name: str) -> None:
    assert "tramapy" not in imports_of(name)


def test_nothing_imports_in_a_circle() -> None:
    graph = {name: imports_of(name) - {name} for name in SOURCES}
    assert list(graphlib.TopologicalSorter(graph).static_order())


def test_imports_were_found() -> None:
    assert "tramapy.engine.attempt" in imports_of("tramapy.engine.dispatch")
    assert "tramapy.hooks.catalogue" in imports_of("tramapy.engine.reporting")


@pytest.mark.parametrize("path", sorted((PACKAGE / "engine").glob("*.py")), ids=lambda path: path.name)
def test_the_engine_names_no_event_loop(path: Path) -> None:
    with tokenize.open(path) as file:
        names = {
            token.string for token in tokenize.generate_tokens(file.readline) if token.type == tokenize.NAME
        }
    assert names.isdisjoint({"anyio", "asyncio", "trio"})


def test_only_the_runtime_knows_event_loops() -> None:
    # an adapter that is imported by its users alone, and runs a foreign library in threads
    allowed = {"tramapy.runtime", "tramapy.dlp.presidio"}
    lower = [name for name in SOURCES if place_of(name) < PLACES["client"] and name not in allowed]
    loops = {"anyio", "trio"}
    assert [name for name in lower if loops & _third_party_of(name)] == []


def _third_party_of(name: str) -> set[str]:
    tree = ast.parse(SOURCES[name].read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found.add(node.module.split(".")[0])
    return found


def test_rt125_event_names_stand_in_the_catalogue_alone() -> None:
    found = {name for name, path in SOURCES.items() if any(map(_names_an_event, _literals(path)))}
    assert found == {"tramapy.hooks.catalogue"}


def _names_an_event(literal: str) -> bool:
    return re.search(r"\btramai\.", literal) is not None


def _literals(path: Path) -> Iterator[str]:
    """Yield every string of a file that is no docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            yield node.value
