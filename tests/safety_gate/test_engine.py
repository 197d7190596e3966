"""The verdict on one module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from safety_gate.engine import check_source
from safety_gate.roles import Role
from safety_gate.settings import RuleSettings
from safety_gate.violation import FileReport, Risk
from tests.safety_gate.projects import PRESERVE, PRINT, SWALLOW
from tests.safety_gate.trees import shape


def found(source: str | bytes, **settings: object) -> list[tuple[str, int]]:
    """Return code and line of what fails."""
    report = check_source(source, "m.py", settings=RuleSettings(**settings))  # type: ignore[arg-type]  # the names are checked at run time
    return [(v.rule, v.line) for v in report.violations if v.fails]


def test_clean_module_has_no_findings() -> None:
    assert check_source("x = 1\n") == FileReport(path="<string>")


@pytest.mark.parametrize(
    "role", [Role.TEST, Role.EXAMPLE, Role.TOOL, Role.GENERATED], ids=lambda role: role.value
)
def test_other_roles_are_not_judged(role: Role) -> None:
    assert check_source(PRINT + SWALLOW, role=role).violations == ()


def test_cli_role_may_print_and_nothing_else() -> None:
    report = check_source(PRINT + SWALLOW, role=Role.CLI)
    assert {v.rule for v in report.violations} == {"SG501"}


def test_main_guard_is_no_excuse_unless_configured() -> None:
    source = 'if __name__ == "__main__":\n    print("x")\n'
    assert found(source) == [("SG101", 2)]
    assert found(source, allow_cli_guard=True) == []


def test_accepted_findings_are_for_comparisons_only() -> None:
    assert check_source(PRESERVE).violations == ()
    (accepted,) = check_source(PRESERVE, with_accepted=True).violations
    assert (accepted.risk, accepted.fails) == (Risk.ACCEPTED, False)


def test_kotlin_broadness_is_a_switch() -> None:
    source = SWALLOW.replace("BaseException", "Exception")
    assert found(source) == []
    assert found(source, exception_is_broad=True) == [("SG501", 4)]
    helped = "from tramapy import rethrow_if_cancellation\n" + source.replace(
        "Exception:\n        pass", "Exception as e:\n        rethrow_if_cancellation(e)"
    )
    assert found(helped, exception_is_broad=True) == []


def test_re_exports_are_followed() -> None:
    source = "from pkg.http import fetch\n\nfetch('u')\n"
    assert found(source) == []
    assert found(source, re_exports=(("pkg.http.fetch", "requests.get"),)) == [("SG301", 3)]


def test_relative_imports_are_followed_through_re_exports() -> None:
    source = "from .http import fetch\n\nfetch('u')\n"
    settings = RuleSettings(re_exports=(("pkg.http.fetch", "requests.get"),))
    report = check_source(source, "pkg/a.py", settings=settings, module="pkg.a")
    assert [v.rule for v in report.violations] == ["SG301"]


def test_words_and_sanitizers_are_configurable() -> None:
    source = "import logging\nlog = logging.getLogger('x')\ndef f(ssn, prompt):\n"
    source += "    log.info(ssn)\n    log.info(short(prompt))\n"
    assert found(source) == []
    assert found(source, sensitive_words=("ssn",)) == [("SG201", 4)]
    shown = source.replace("short(", "str(")
    assert found(shown) == [("SG201", 5)]
    assert found(shown, sanitizers=("builtins.str",)) == []
    assert found(shown, harmless_words=("prompt",)) == []


def test_helpers_of_the_project_are_known_by_name() -> None:
    source = "from pkg import errors\n" + SWALLOW.replace("BaseException:", "BaseException as e:").replace(
        "pass", "errors.pass_on(e)"
    )
    assert found(source) == [("SG501", 5)]
    assert found(source, rethrow_helpers=("pkg.errors.pass_on",)) == []


def test_cancellation_classes_of_libraries_are_configurable() -> None:
    source = "import lib\n" + SWALLOW.replace("BaseException", "lib.Stop")
    assert found(source) == []
    assert found(source, cancellation_classes=("lib.Stop",)) == [("SG501", 5)]


def test_sibling_must_cover_every_framework_in_use() -> None:
    body = (
        "async def f(t):\n    try:\n        await t\n    except asyncio.CancelledError:\n        raise\n"
        "    except BaseException:\n        pass\n"
    )
    assert found("import asyncio\n" + body) == []
    assert found("import asyncio\nimport trio\n" + body) == [("SG501", 8)]


def test_fresh_cancellation_counts_on_asyncio_only() -> None:
    body = SWALLOW.replace("pass", "raise asyncio.CancelledError")
    assert found("import asyncio\n" + body) == []
    assert found("import asyncio\nimport anyio\n" + body) == [("SG502", 6)]


def test_exception_text_rule_can_be_on_for_some_paths() -> None:
    source = "import logging\ntry:\n    x = 1\nexcept ValueError as e:\n    logging.error(e)\n"
    settings = RuleSettings(exception_text_paths=("adapters/**",))
    assert check_source(source, "m.py", settings=settings).violations == ()
    assert [v.rule for v in check_source(source, "adapters/m.py", settings=settings).violations] == ["SG203"]


def test_selection_and_exclusion() -> None:
    assert found(PRINT + SWALLOW, selected=("SG101",)) == [("SG101", 2)]
    assert found(PRINT + SWALLOW, ignored=("SG101",)) == [("SG501", 6)]


def test_unresolved_reads_are_counted() -> None:
    assert check_source("def f(x):\n    return x.read()\n").unresolved_count == 1


def test_columns_are_code_points() -> None:
    (violation,) = check_source('s = "µs 😀"; print(s)\n').violations
    assert violation.column == 13


def test_lines_in_a_multi_line_f_string_are_right() -> None:
    (violation,) = check_source('x = f"""\na\n{\nprint(1)}\n"""\n').violations
    assert (violation.line, violation.column) == (4, 1)


def test_type_parameters_parse_on_every_interpreter() -> None:
    source = "def f[T](x: T) -> T:\n    print(x)\n    return x\n\ntype Box[T] = list[T]\n"
    assert found(source) == [("SG101", 2)]


def test_function_is_a_qualified_name() -> None:
    (violation,) = check_source(
        "class A:\n    def m(self):\n        def n():\n            print(1)\n"
    ).violations
    assert violation.function == "A.m.n"
    assert violation.symbol == "builtins.print"


def test_cancellation_symbol_names_the_function() -> None:
    report = check_source(SWALLOW, "pkg/a.py", module="pkg.a")
    assert [v.symbol for v in report.violations] == ["BaseException@pkg.a.f"]


def test_messages_hold_no_literals() -> None:
    source = 'import logging\ndef f(token):\n    logging.info("hunter2 %s", token, "canary-7f3a")\n'
    report = check_source(source)
    assert len(report.violations) == 1
    assert "hunter2" not in report.violations[0].message
    assert "canary" not in report.violations[0].message


@pytest.mark.parametrize(
    ("source", "line", "words"),
    [
        (b'NAME = "caf\xe9"\nprint(NAME)\n', 1, "not utf-8"),
        (b"x = 1\n\0\n", 2, "NUL"),
        (b"def f(:\n    print(1)\n", 1, "Syntax error"),
        (b"x = 1\ny = (\nprint(y)\n", 2, "Syntax error"),
        (b"# coding: klingon\nx = 1\n", 1, "unknown"),
        (b"#!/bin/x\n# coding: klingon\nx = 1\n", 2, "unknown"),
        (b"\xef\xbb\xbf# coding: latin-1\nx = 1\n", 1, "byte order mark"),
        (b"x = " + b"(" * 300 + b"1" + b")" * 300 + b"\n", 1, "nested"),
        (b"x = " + b"+".join([b"1"] * 20_000) + b"\n", None, "too deeply"),
    ],
    ids=["latin", "nul", "syntax", "unclosed", "cookie", "cookie-2", "bom", "brackets", "sum"],
)
def test_unreadable_source_is_one_diagnostic(source: bytes, line: int | None, words: str) -> None:
    report = check_source(source, "m.py")
    assert report.violations == ()
    (diagnostic,) = report.diagnostics
    assert (diagnostic.rule, diagnostic.line) == ("SG905", line)
    assert words in diagnostic.message


def test_broken_source_is_reported_even_where_no_rule_would_look() -> None:
    assert check_source(b"def f(:\n    pass\n").diagnostics != ()


def test_syntax_message_quotes_no_source() -> None:
    (diagnostic,) = check_source('x = "hunter2\n').diagnostics
    assert "hunter2" not in diagnostic.message


@pytest.mark.parametrize(
    "source",
    [
        b"\xef\xbb\xbfprint(1)\n",
        b"# -*- coding: latin-1 -*-\nprint('\xe9')\n",
        b"def f():\r\n    print(1)\r\n",
        b"import os\n\x0c\ndef f():\n    print(1)\n",
        b"if True:\n\tprint(1)\n",
        b"print(1)",
        b"print(1) # type: ignore  # noqa # safety: ignore\n",
    ],
    ids=["bom", "latin", "crlf", "form-feed", "tab", "no-newline", "comments"],
)
def test_layout_hides_nothing(source: bytes) -> None:
    lines = source.replace(b"\r\n", b"\n").split(b"\n")
    expected = next(number for number, line in enumerate(lines, 1) if b"print" in line)
    assert found(source) == [("SG101", expected)]


def test_identifiers_are_normalised_before_the_filter() -> None:
    assert found("\uff50\uff52\uff49\uff4e\uff54(1)\n") == [("SG101", 1)]


@pytest.mark.unmeasured
def test_deep_code_ends_in_a_verdict() -> None:
    chain = "print(" + "+".join(["1"] * 900) + ")\n"
    assert found(chain) == [("SG101", 1)]
    ladder = SWALLOW.replace("pass", "if t == 0:\n            raise")
    ladder += (
        "".join(f"        elif t == {n}:\n            raise\n" for n in range(1, 600))
        + "        else:\n            raise\n"
    )
    assert found(ladder) == []
    dots = "print(x" + ".a" * 900 + ")\n"
    assert found(dots) == [("SG101", 1)]


@pytest.mark.unmeasured
@pytest.mark.parametrize("folder", ["safety_gate", "tests/safety_gate"])
def test_lowered_tree_equals_the_interpreters(folder: str) -> None:
    import libcst

    from safety_gate.lowering import lower

    for file in sorted((Path(__file__).parents[2] / folder).rglob("*.py")):
        text = file.read_text("utf-8")
        assert shape(lower(libcst.parse_module(text)).tree) == shape(ast.parse(text)), file.name


SYNTAX = r"""
async def f(a, /, b: int = 1, *args, c, d=2, **kw) -> "x":
    async with a as b, c: pass
    async for (x, *y) in z: await w
    else: pass
    return [i async for i in j if k if l], {**a, "b": 1}, {1, *c}, (yield)
@d.e(1, *f, **g)
class C(B, metaclass=M):
    x: int
    y: str = "a" 'b' f"{c!r:>{d}}"if x else u"u"
    v = rb"x" b"y"
    z = w = lambda q, *, a=1: a if b else c
match p:
    case [1, *_] | {"k": V.x, **rest} | P(1, q=None) as r if t: pass
    case -1 | 1+2j | "s" | (a, b): pass
    case _: pass
try: pass
except (A, B) as e: raise X from e
except: pass
else: pass
finally: del a, (b), c[0]
try: pass
except* A: pass
a[1:2, ::3] = b[c] @ d // ~e ** -f if not g else h
a, *b = c = d
a += 1; a @= 2; a >>= 3
global q
x = a < b <= c is not d not in e
x = (a and b) and c or d or e
x = f"{a=}{ b = !s:x}{{}}\n{c}" f'\N{EM DASH}{{'
x = rf"\d{a}{{}}\{b}"
assert a, b
from . import *
from ..a.b import (c as d, e)
import a.b.c as d, e
print(*a, b, c=d, **e)
x = (1_000, 0x1F, 1e3, 1j, ..., None, True)
x = a[b, ], a[*c], a[b:c, *d]
with (a as b, c): pass
while (n := 1): break
else: pass
"""


def test_every_construct_lowers_to_the_interpreters_tree() -> None:
    import libcst

    from safety_gate.lowering import lower

    assert shape(lower(libcst.parse_module(SYNTAX)).tree) == shape(ast.parse(SYNTAX))


def test_generated_positions_are_the_interpreters() -> None:
    import libcst

    from safety_gate.lowering import lower
    from safety_gate.positions import place

    source = SYNTAX.replace("x = f\"{a=}{ b = !s:x}{{}}\\n{c}\" f'\\N{EM DASH}{{'\n", "").replace(
        'x = rf"\\d{a}{{}}\\{b}"\n', ""
    )
    module = libcst.parse_module(source)
    lowered = lower(module)
    place(lowered, None, module)
    kinds = (
        ast.Call,
        ast.ExceptHandler,
        ast.Await,
        ast.Return,
        ast.Break,
        ast.FunctionDef,
        ast.AsyncFunctionDef,
    )
    ours = sorted(
        (type(n).__name__, n.lineno, n.col_offset) for n in ast.walk(lowered.tree) if isinstance(n, kinds)
    )
    theirs = sorted(
        (type(n).__name__, n.lineno, n.col_offset)
        for n in ast.walk(ast.parse(source))
        if isinstance(n, kinds)
    )
    assert ours == theirs


PATTERNS = {
    "list": ("[", "]"),
    "brackets": ("(", ")"),
    "tuple": ("(", ",)"),
    "mapping": ("{1: ", "}"),
    "class": ("A(b=", ")"),
    "or": ("(1 | ", ")"),
    "over-lines": ("[  # (\n", "]"),
}


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=list(PATTERNS))
def test_nested_patterns_end_in_a_verdict(pattern: tuple[str, str]) -> None:
    def source(depth: int) -> str:
        return f"match x:\n case {pattern[0] * depth}a{pattern[1] * depth}:\n  print(1)\n"

    shallow, deep = check_source(source(5)), check_source(source(100))
    assert [v.rule for v in shallow.violations] == ["SG101"]
    assert [(d.rule, d.line) for d in deep.diagnostics] == [("SG905", 2)]


def test_brackets_outside_patterns_cost_nothing() -> None:
    body = "  print(1)  # [[[[[[[[[[[[\n  x = '[[[[[[[[[[[['\n  y = ((((((((((((1))))))))))))\n"
    source = "match x:\n" + "".join(
        f" case [{n}, {{'(((((((((((': a}}]:  # ((((((((((\n{body}" for n in range(200)
    )
    assert len(check_source(source).violations) == 200


REPEATED = {
    "handlers": "    try:\n        await t\n    except BaseException:\n        pass\n",
    "tasks": "    x = asyncio.create_task(t)\n",
    "gathers": "    r = await asyncio.gather(t, return_exceptions=True)\n    isinstance(r, Exception)\n",
}


@pytest.mark.parametrize("block", REPEATED.values(), ids=list(REPEATED))
def test_no_rule_walks_a_function_once_for_each_finding(block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [0]

    def counted(node: ast.AST) -> Iterator[ast.AST]:
        steps[0] += 1
        return children(node)

    children = ast.iter_child_nodes
    monkeypatch.setattr(ast, "iter_child_nodes", counted)
    counts: list[int] = []
    for repeats in (50, 200):
        steps[0] = 0
        assert check_source("import asyncio\nasync def f(t):\n" + block * repeats).violations
        counts.append(steps[0])
    assert counts[1] < 6 * counts[0]  # four times the code; sixteen times the steps would be a walk for each
