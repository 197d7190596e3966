"""Cases of SG101. `# expect:` marks a finding that fails; an unmarked line has none."""
import builtins
import contextlib
import csv
import io
import json
import logging
import os
import pprint
import sys
import traceback
from builtins import print as say
from pprint import pprint as dump
from sys import *
from sys import stdout as out

import click
import rich
from rich import print as rich_print
from rich.console import Console


def plain(xs):
    print("sum", sum(xs))  # expect: SG101
    print("x", file=sys.stderr)  # expect: SG101
    print("x", file=None)  # expect: SG101
    print("x", file=sys.__stdout__)  # expect: SG101


def elsewhere(handle, buffer):
    print("x", file=handle)
    print("x", file=io.StringIO())
    sys.stdout.flush()
    sys.stdout.isatty()
    sys.stdout.reconfigure(encoding="utf-8")
    with contextlib.redirect_stdout(buffer):
        pass
    logging.StreamHandler(sys.stdout)
    return traceback.format_exc()


def names():
    builtins.print("x")  # expect: SG101
    __builtins__.print("x")  # expect: SG101
    say("x")  # expect: SG101
    dump("x")  # expect: SG101
    pprint.pp("x")  # expect: SG101
    pprint.pprint("x", stream=io.StringIO())
    rich_print("x")  # expect: SG101
    rich.inspect("x")  # expect: SG101
    click.echo("x")  # expect: SG101
    help(len)  # expect: SG101


def streams(lines, fh):
    sys.stdout.write("x")  # expect: SG101
    sys.stderr.writelines(lines)  # expect: SG101
    sys.stdout.buffer.write(b"x")  # expect: SG101
    out.write("x")  # expect: SG101
    stderr.write("x")  # expect: SG101
    getattr(sys, "stdout").write("x")  # expect: SG101
    os.write(1, b"x")  # expect: SG101
    os.write(2, b"x")  # expect: SG101
    os.write(sys.stdout.fileno(), b"x")  # expect: SG101
    os.write(fh, b"x")
    json.dump(lines, sys.stdout)  # expect: SG101
    json.dump(lines, fh)
    csv.writer(sys.stdout)  # expect: SG101


def tracebacks(fh):
    traceback.print_exc()  # expect: SG101
    traceback.print_stack(file=sys.stderr)  # expect: SG101
    traceback.print_exc(file=fh)


def consoles(fh):
    console = Console()
    console.print("x")  # expect: SG101
    Console(stderr=True).log("x")  # expect: SG101
    Console(file=fh).print("x")


def references(xs, callback):
    map(print, xs)  # expect: SG101
    callback(on_line=sys.stdout.write)  # expect: SG101
    emit = print  # expect: SG101
    emit("x")  # expect: SG101


class Holder:
    def __init__(self):
        self.out = sys.stdout

    def emit(self):
        self.out.write("x")  # expect: SG101


def shadowed(print, doc):
    print("x")
    doc.print("x")
    doc.print_exc()


def walrus(x):
    if (print := x.printer) is not None:
        print("ok")


class Wraps:
    print = staticmethod(print)  # expect: SG101


class Printer:
    def print(self, text):
        return text

    def use(self):
        return self.print("x")


def inside(x):
    """print("not code")"""
    text = 'print("not code")'  # print("not code")
    return f"{print(x)}{text}", lambda: print(x)  # expect: SG101 SG101


if __name__ == "__main__":
    print("demo")  # expect: SG101
