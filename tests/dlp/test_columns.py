"""Passwords in a column below a heading, whole and in streams."""

from __future__ import annotations

import random

import pytest

from tests.dlp.contexts import BACKENDS, context_of, default_rules, inspect, split_at, streamed
from tramapy.dlp import RuleBasedDlpInterceptor
from tramapy.dlp.columns import Columns
from tramapy.dlp.interceptor import Backend
from tramapy.dlp.packs import password_columns
from tramapy.dlp.view import View

DLP = {backend: default_rules(backend) for backend in BACKENDS}
PROSE = "so the story goes on, and on. " * 90

# `*` stands for what is taken.
TABLES = {
    "comma": "intro\nuser,password\nbob,*hunter22x*\nann,letmein\ncy,*p@ss*\n\na,x1y2\n",
    "semicolon": '"user";"DB_Password"\r\n"a;b";"*hunter2*"\r\n',
    "tab": "Password\tuser\n*hunter2*\tbob",
    "bars": "| user | **password** |\n|:--|--:|\n| bob | `*hunter2*` |\n| a |\n| b | *x1y2* |\n\n| c | z3w4 |",
    "ruled": "+----+----------+\n| id | password |\n+----+----------+\n| 1  | *hunter2*  |\n+----+----------+",
    "console": " id | user password \n----+------\n 1  | *hunter2*\n(1 row)\nx | y1y2",
    "two columns": "password,secret\n*hunter2*,*hunter3*\n",
    "byte order mark": "\ufeffuser,password\nbob,*hunter2*\n",
    "more cells": "user,password,note\nann,*hunter2*,hello, world\nbob,*hunter3*\nx\na,x1y2\n",
    "an index": ",user,userPassword,\n0,bob,*hunter2*,\n",
    "plain bars": "user|pwd\nbob|*hunter2*\nann|/home/ann1\n",
    "keys": "Stra\u00dfe,Time of last login,Secret access key\nx,1,*x9k2mzA8bq2/y*\ny,2,ab12\n",
    "tokens of a text": "token,key\nCOVID-19a,x9k2mzA8bq2\n",
    "placeholders": "user,password\nbob,none\nann,$DB_PASSWORD\ncy,two words1\n",
    "no heading": "a,b\nx,password\ny,hunter2\n",
    "in a sentence": "give your name, the password: one\nor two, not hunter2\n",
    "no ruled line": "| user | password |\n| bob | hunter2 |\n",
    "a call": "f(user, password,\n  x1y2, hunter2)\n",
    "an open quote": 'user,password\nbob,"*hunter2,x*',
    "a long heading": f"user,{' ' * 150}password\nbob,hunter2\n",
    "a long row": f"user,password,x\nann,*hunter2*,{'y' * 1_200}\nbob,*hunter2*,z\n",
    "a long cell": f"user,password\nann,hunter2{'y' * 1_200}\nbob,*hunter2*\n",
    "a long line before": f"{'y' * 1_200},\nuser,password\nbob,*hunter2*\n",
}


@pytest.mark.unmeasured
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_what_stands_below_the_heading_is_taken(table: str, backend: Backend) -> None:
    marked = table.replace("**password**", "!password!").split("*")
    for before in ("", PROSE + "\n"):
        text = (before + "".join(marked)).replace("!", "**")
        wanted = before + "".join(
            part if place % 2 == 0 else "[REDACTED:password_column]" for place, part in enumerate(marked)
        )
        result = inspect(DLP[backend], text)
        assert result.sanitized_text == wanted.replace("!", "**")
        source = random.Random(1)
        for _ in range(40):
            places = [source.randrange(len(text) + 1) for _ in range(source.randrange(1, 12))]
            assert streamed(DLP[backend], split_at(text, places)) == result
        assert streamed(DLP[backend], text[-400:]) == inspect(DLP[backend], text[-400:])


@pytest.mark.parametrize(("text", "cut"), [("password", (0, 8)), ("a,db_password;", (2, 14))])
def test_the_place_of_a_heading_is_inside_of_the_text(text: str, cut: tuple[int, int]) -> None:
    assert password_columns.RULES[0].search(View(text, 0, len(text))) == [cut]


def test_no_more_than_a_cell_is_held_back() -> None:
    columns = Columns()
    assert columns.feed("user,password,city\nbob") == []
    assert columns.undecided_start == len("user,password,city\nbob")
    assert columns.feed(",hunt") == []
    assert columns.undecided_start == len("user,password,city\nbob,")
    assert columns.feed("er2,") == [(23, 30)]
    assert columns.feed("York and so on") == []
    assert columns.undecided_start == len("user,password,city\nbob,hunter2,York and so on")


def test_a_stream_that_is_dropped_forgets_its_table() -> None:
    stream = DLP["stdlib"].open_stream(context_of())
    assert stream.feed("user,password\nbob,hunt") == "user,password\nbob,"
    stream.abort()


def test_the_rule_can_be_left_out() -> None:
    dlp = RuleBasedDlpInterceptor.with_default_rules(disabled_rules=["password_column"])
    text = "user,password\nbob,hunter2\n"
    assert inspect(dlp, text).sanitized_text == text
    assert streamed(dlp, text).sanitized_text == text
