"""Hostile shapes are refused before they take memory, and large real ones are not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from safety_gate import RuleSettings, check_source
from safety_gate.parsing import is_giant
from tests.safety_gate.projects import Project

MEGABYTE = 1_000_000
GIANTS = {
    "list": ("x = [", "1,", "]\nprint(x)\n"),
    "decorators": ("", "@d\n", "def f(): print(1)\n"),
    "statements": ("", "a\n", "print(1)\n"),
    "calls": ("", "a()\n", "print(1)\n"),
    "sum": ("x = 1", "+1", "\nprint(x)\n"),
    "string": ('x = f"', "{a}", '"\nprint(x)\n'),
    "imports": ("", "import a\n", "print(1)\n"),
    "comments": ("", "#\n", "print(1)\n"),
}
LARGEST = {  # how many of it are just judged
    "list": 18_000,
    "arguments": 14_500,
    "passes": 13_900,
    "slices": 5_600,
    "lambdas": 5_600,
    "globals": 29_000,
}
SHAPES = GIANTS | {
    "lambdas": ("x = [", "lambda: 0,", "]\nprint(x)\n"),
    "slices": ("x = [", "a[:],", "]\nprint(x)\n"),
    "arguments": ("print(", "a,", ")\n"),
    "passes": ("", "pass\n", "print(1)\n"),
    "globals": ("def f():\n global a", ",a", "\nprint(1)\n"),
}
REFUSED = "would take more than 120 MB"


def filled(shape: str, count: int) -> str:
    before, unit, after = SHAPES[shape]
    return before + unit * count + after


@pytest.mark.unmeasured
@pytest.mark.parametrize("shape", GIANTS)
def test_a_megabyte_of_one_thing_is_refused(shape: str) -> None:
    text = filled(shape, MEGABYTE // len(SHAPES[shape][1]))
    (diagnostic,) = check_source(text).diagnostics
    assert (diagnostic.rule, REFUSED in diagnostic.message) == ("SG905", True)


@pytest.mark.unmeasured
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
@pytest.mark.parametrize("shape", LARGEST)
def test_what_is_judged_stays_within_its_memory(shape: str, project: Project) -> None:
    project.put("a.py", filled(shape, LARGEST[shape]))
    code = (
        "from safety_gate.cli import main; code = main(['check', '--no-cache', 'a.py']);"
        "print(code, *[line for line in open('/proc/self/status') if line.startswith('VmHWM')])"
    )
    env = {"PYTHONPATH": str(Path(__file__).parents[2])}  # nothing that measures coverage: it takes memory
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project.root, env=env, capture_output=True, text=True, check=True
    )
    code, _, peak_kb, _ = done.stdout.splitlines()[-2].split()
    assert (code, int(peak_kb) < 130 * 1024) == ("1", True), peak_kb
    assert check_source(filled(shape, LARGEST[shape] * 11 // 10)).diagnostics


def test_large_data_without_a_word_of_the_rules_is_passed() -> None:
    report = check_source("x = [" + "1," * 500_000 + "]\n")
    assert (report.violations, report.diagnostics) == ((), ())


@pytest.mark.parametrize("text", ["x = " + "(" * 100_000 + ")" * 100_000, "\n\nprint(" + "[" * 100_000])
def test_nesting_in_a_giant_has_its_line(text: str) -> None:
    (diagnostic,) = check_source(text).diagnostics
    assert ("nested parentheses" in diagnostic.message, diagnostic.line) == (True, text.count("\n") + 1)


def test_limit_can_be_raised(project: Project) -> None:
    small, text = filled("list", 5_000), filled("list", 20_000)
    assert check_source(small, settings=RuleSettings(max_memory_mb=20)).diagnostics
    assert not check_source(small, settings=RuleSettings(max_memory_mb=60)).diagnostics
    assert check_source(text).diagnostics
    project.configure("max-memory-mb = 400\n").put("a.py", text)
    assert [f["rule"] for f in project.report("a.py")["findings"]] == ["SG101"]


def test_text_in_strings_and_comments_takes_nothing() -> None:
    words = "one two three " * 50_000
    for text in (f'"""{words}"""\n', f"# {words}\n", f"x = '{words}'\n", f"'''\n{words}'''\n"):
        assert not is_giant(text, 120)


@pytest.mark.parametrize(
    "text",
    ['"""' + '\\"""' * 250_000, "'" + "\\\n" * 500_000, '"' * MEGABYTE, "'''" + "\\" * 999_999],
    ids=["quotes", "continued", "open", "backslashes"],
)
def test_unfinished_strings_are_counted_in_one_pass(text: str) -> None:
    assert check_source(f"{text}\nprint(1)\n").diagnostics


@pytest.mark.unmeasured
def test_a_name_that_is_bound_and_used_often_is_resolved() -> None:
    text = "from a import b\n" * 800 + "b()\n" * 800 + "from pdb import set_trace as b\nb()\n"
    (violation,) = check_source(text).violations
    assert (violation.rule, violation.line) == ("SG102", 1_602)
