"""What an expression resolves to: the last line of each module is the expression."""

from __future__ import annotations

import ast

import pytest

from safety_gate.index import Index
from safety_gate.names import Names


def resolve(source: str, **options: object) -> set[str]:
    tree = ast.parse(source)
    last = tree.body[-1]
    while isinstance(last, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.With | ast.If):
        last = last.body[-1]
    assert isinstance(last, ast.Expr)
    return set(Names(Index(tree), re_exports={}, **options).paths(last.value))  # type: ignore[arg-type]  # built from names


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("print", {"builtins.print"}),
        ("nothing_known", set()),
        ("import a.b as x\nx.c", {"a.b.c"}),
        ("import a.b\na.b.c", {"a.b.c"}),
        ("from a import b as c\nc()", {"a.b()"}),
        ("def f():\n    from a import b\n    b", {"a.b"}),
        ("from sys import *\nstdout", {"sys.stdout"}),
        ("from other import *\nstdout", set()),
        ("from sys import *\nprint", {"builtins.print"}),
        ("x = print\nx", {"builtins.print"}),
        ("x = y = print\ny", {"builtins.print"}),
        ("x, y = print, len\ny", {"builtins.len"}),
        ("x = print\nx = 1\nx", {"builtins.int()"}),
        ("x = unknown()\nx", set()),
        ("x = print\nif c:\n    x = len\nx", {"builtins.print", "builtins.len"}),
        ("if c:\n    x = print\nelse:\n    x = len\nif d:\n    x = int\n    x", {"builtins.int"}),
        ("try:\n    from a import p\nexcept ImportError:\n    from b import p\np", {"a.p", "b.p"}),
        ("def f(print):\n    print", set()),
        ("def f():\n    print = 1\n    print", {"builtins.int()"}),
        ("class A:\n    print = 1\n    def f(self):\n        print", {"builtins.print"}),
        ("[print for print in x]\nprint", {"builtins.print"}),
        ("for print in x:\n    pass\nprint", set()),
        ("def f():\n    global print\n    print = 1\nprint", {"builtins.int()"}),
        ("if (print := x):\n    print", set()),
        ("def f(x: 'a.B'):\n    x", set()),
        ("import a\ndef f(x: 'a.B'):\n    x", {"a.B()"}),
        ("import a\ndef f(x: a.B | None):\n    x", {"a.B()"}),
        ("import a, typing\ndef f(x: typing.Optional[a.B]):\n    x", {"a.B()"}),
        ("import a\nfrom typing import Annotated\ndef f(x: Annotated[a.B, 1]):\n    x", {"a.B()"}),
        ("import a\nx: a.B = unknown()\nx", {"a.B()"}),
        ("import a\nwith a.b() as x:\n    x", {"a.b()"}),
        ("import a\nasync def f():\n    x = await a.b()\n    x", {"a.b()"}),
        ("import a\nx = p if c else a.b\nx", {"a.b"}),
        ("import a\nx = p or a.b\nx", {"a.b"}),
        ("import sys\ngetattr(sys, 'stdout').write", {"sys.stdout.write"}),
        ("import sys\ngetattr(sys, name).write", {"builtins.getattr().write"}),
        ("import requests\nrequests.get(u)", {"requests.EagerResponse()"}),
        ("import requests\nrequests.get(u, stream=True)", {"requests.Response()"}),
        ("import requests\ns = requests.Session()\ns.get(u, stream=True).text", {"requests.Response().text"}),
        ("import asyncio\nr, w = await_(asyncio.open_connection())\nr", set()),
        ("import asyncio as a\nasync def f():\n  r, w = await a.open_connection()\n  r", {"asyncio.StreamReader()"}),
        ("from asyncio.exceptions import CancelledError\nCancelledError", {"asyncio.CancelledError"}),
        ("import a\nclass C:\n  def __init__(self):\n    self.x = a.b()\n  def f(self):\n    self.x", {"a.b()"}),
        ("import a\nclass C:\n    x = a.b()\n    def f(self):\n        self.x", {"a.b()"}),
        ("import a\nclass C(a.B):\n    def f(self):\n        self.run", {"a.B().run", ".C().run"}),
        ("import a\ndef make() -> a.B: ...\nmake()", {"a.B()"}),
        ("import a\nx = a.b\ny = x\ny", {"a.b"}),
        ("x = x.y\nx", set()),
        ("a = b\nb = a\na", set()),
    ],
)  # fmt: skip
def test_resolution(source: str, expected: set[str]) -> None:
    assert resolve(source) == expected


def test_relative_imports_use_the_package() -> None:
    assert resolve("from .b import c\nc", module="pkg.a") == {"pkg.b.c"}
    assert resolve("from .b import c\nc", module="pkg", is_package=True) == {"pkg.b.c"}
    assert resolve("from ..b import c\nc", module="pkg.sub.a") == {"pkg.b.c"}
    assert resolve("from .b import c\nc") == {".b.c"}


def test_names_of_this_file_carry_the_module() -> None:
    assert resolve("class A:\n    def f(self): ...\nA", module="pkg.a") == {"pkg.a.A"}


def test_a_long_chain_of_aliases_ends() -> None:
    source = "".join(f"a{n} = a{n - 1}\n" for n in range(1, 500)) + "a499"
    assert resolve("a0 = print\n" + source) == set()
