"""What must hold for any program: layout changes nothing, nothing crashes, screen and verdict agree."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections import Counter
from pathlib import Path

import hypothesmith
import libcst
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from safety_gate.engine import check_source
from safety_gate.index import Index
from safety_gate.lowering import lower
from safety_gate.names import Names
from safety_gate.parsing import parse_screen, parse_verdict
from safety_gate.roles import Role
from safety_gate.rule import all_rules
from safety_gate.settings import DEFAULT_MAX_MEMORY_MB, RuleSettings
from safety_gate.source import split_lines
from safety_gate.unit import Unit
from safety_gate.violation import Violation
from tests.safety_gate.trees import shape

ROOT = Path(__file__).parents[2]
CASES = sorted((Path(__file__).parent / "cases").glob("sg*.py"))
SOURCES = [*CASES, *sorted((ROOT / "safety_gate").rglob("*.py"))]
STRICT = RuleSettings(is_strict=True)

modest = settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)  # fmt: skip


def identities(source: str) -> Counter[tuple[object, ...]]:
    """Return what is found, without places."""
    report = check_source(source, "m.py", settings=STRICT)
    assert report.diagnostics == ()
    return Counter((v.rule, v.symbol, v.function, v.risk, v.fails) for v in report.violations)


def starts_of_statements(source: str) -> list[tuple[int, str]]:
    """Return the lines on which a logical line starts, with their indentation."""
    starts: list[tuple[int, str]] = []
    is_start = True
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NEWLINE:
            is_start = True
        elif is_start and token.type not in (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT):
            starts.append((token.start[0], token.line[: token.start[1]]))
            is_start = False
    return starts


def found(unit_tree: ast.Module, lines: list[str]) -> list[Violation]:
    index = Index(unit_tree)
    names = Names(index, re_exports={})
    unit = Unit(path="m.py", lines=lines, role=Role.PRODUCTION, settings=STRICT, index=index, names=names)
    return sorted((v for rule in all_rules() for v in rule.check(unit)), key=lambda v: v.order)


@pytest.mark.unmeasured
@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
@settings(modest, max_examples=8)
@given(data=st.data())
def test_comments_and_blank_lines_change_nothing(file: Path, data: st.DataObject) -> None:
    source = file.read_text("utf-8")
    starts = dict(starts_of_statements(source))
    chosen = data.draw(st.sets(st.sampled_from(sorted(starts)), max_size=12))
    filler = data.draw(st.sampled_from(["", "# print(token)", "# safety-gate: allow SG101 -- x", "#\n\n"]))
    lines: list[str] = []
    for number, line in enumerate(source.splitlines(), 1):
        if number in chosen:
            lines.extend((starts[number] + part) if part else "" for part in filler.split("\n"))
        lines.append(line)
    assert identities("\n".join(lines) + "\n") == identities(source)


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_reformatting_changes_nothing(file: Path) -> None:
    source = file.read_text("utf-8")
    assert identities(ast.unparse(ast.parse(source))) == identities(source)


@pytest.mark.unmeasured
@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
@pytest.mark.parametrize(
    "text", ["print(1)", "except BaseException: pass", "logging.info(prompt)", "f.read()"]
)
def test_strings_change_nothing(file: Path, text: str) -> None:
    source = file.read_text("utf-8")
    lines = source.splitlines()
    starts = starts_of_statements(source)
    number, indent = starts[len(starts) // 2]
    lines.insert(number - 1, f'{indent}"""{text}"""')
    try:
        ast.parse("\n".join(lines))
    except SyntaxError:  # between a decorator and its function no statement may stand
        return
    assert identities("\n".join(lines) + "\n") == identities(source)


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: file.stem)
def test_screen_finds_what_the_verdict_finds(file: Path) -> None:
    text = file.read_text("utf-8")
    screen = parse_screen(text)
    assert screen is not None
    tree, _ = parse_verdict(text, screen, DEFAULT_MAX_MEMORY_MB)
    lines = split_lines(text)
    assert found(screen, lines) == found(tree, lines)


@modest
@given(source=hypothesmith.from_grammar())
def test_generated_programs_never_crash_it(source: str) -> None:
    report = check_source(source, "m.py", settings=STRICT)
    assert len(report.diagnostics) <= 1


@pytest.mark.unmeasured
@settings(modest, max_examples=20)
@given(source=hypothesmith.from_node())
def test_generated_trees_lower_to_the_interpreters(source: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = shape(ast.parse(source))
        except (SyntaxError, ValueError):
            return
        assert shape(lower(libcst.parse_module(source)).tree) == expected
    check_source(source, "m.py", settings=STRICT)


@modest
@given(source=st.binary(max_size=200) | st.text(max_size=200))
def test_any_bytes_end_in_a_report(source: bytes | str) -> None:
    report = check_source(source, "m.py", settings=STRICT)
    assert len(report.diagnostics) <= 1


LINES = """
async def f(t):
    try:
        await t
    except BaseException as e:
        raise
    finally:
        return 1
        pass
    except* ValueError:
        raise e
    with a as b:
print(b)
        yield
def g(x, *, y=print):
    while True:
        break
import asyncio as a
""".strip("\n").splitlines()


@modest
@given(lines=st.lists(st.sampled_from(LINES), max_size=14))
def test_fragments_of_our_subject_never_crash_it(lines: list[str]) -> None:
    report = check_source("\n".join(lines), "m.py", settings=STRICT)
    assert len(report.diagnostics) <= 1
