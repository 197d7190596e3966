"""SG302: streams are read with a limit."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from safety_gate.http_bodies import METHODS, is_remote
from safety_gate.names import Paths
from safety_gate.reads import (
    READ_METHODS,
    chunk_names,
    grown,
    is_capped,
    is_known,
    is_unbounded,
    loops_over,
)
from safety_gate.rule import Rule
from safety_gate.stdio import argument
from safety_gate.unit import Unit, lasts
from safety_gate.violation import Risk, Violation

_STREAMS = frozenset(
    {
        "sys.stdin",
        "sys.stdin.buffer",
        "asyncio.StreamReader()",
        "socket.socket().makefile()",
        "anyio.open_process()",
    }
)
_CHILD = frozenset({"subprocess.Popen().stdout", "subprocess.Popen().stderr"})
_CHILD_CALLS = frozenset(
    {
        "subprocess.check_output",
        "subprocess.getoutput",
        "subprocess.getstatusoutput",
        "subprocess.Popen().communicate",
    }
    | {"asyncio.Process().communicate"}
)
_LOADERS = frozenset(
    {
        "json.load",
        "yaml.load",
        "yaml.safe_load",
        "pickle.load",
        "xml.etree.ElementTree.parse",
        "tomllib.load",
        "csv.reader",
    }
    | {"marshal.load", "plistlib.load", "lxml.etree.parse", "xml.dom.minidom.parse"}
)
_CHUNKS = frozenset(
    {"socket.socket().recv", "asyncio.StreamReader().read", "asyncio.AbstractEventLoop().sock_recv"}
    | {f"{receiver}.{method}" for receiver, methods in METHODS.items() for method in methods & READ_METHODS}
)
# Function -> the keyword whose value switches its limit off.
_LIMITS: dict[str, tuple[str, tuple[object, ...]]] = {
    "websockets.connect": ("max_size", (None,)), "websockets.serve": ("max_size", (None,)),
    "websockets.Connection": ("max_size", (None,)), "aiohttp.web.Application": ("client_max_size", (0,)),
    "aiohttp.ClientSession().ws_connect": ("max_msg_size", (0,)),
}  # fmt: skip
_LASTS = READ_METHODS | lasts(_CHILD_CALLS, _LOADERS, _CHUNKS, _LIMITS) | {"input", "run", "copyfileobj"}


class UnboundedStreamRead(Rule):
    """Finds reads to the end of a stream whose length somebody else decides."""

    code = "SG302"
    name = "unbounded-stream-read"
    summary = "A stream is read to its end, whatever its length."
    triggers: ClassVar[tuple[str, ...]] = (
        "read", "aread", "readlines", "readall", "read1", "input", "subprocess", "communicate", "recv",
        "sock_recv",
        "copyfileobj", "load", "safe_load", "parse", "reader", "max_size", "client_max_size", "max_msg_size",
    )  # fmt: skip

    def check(self, unit: Unit) -> Iterator[Violation]:
        """Yield every unbounded read; unknown receivers are counted, and findings with `--strict`."""
        for call, paths in unit.calls_to(_LASTS):
            found = self._judge(unit, call, paths)
            if found is not None:
                yield found

    def _judge(self, unit: Unit, call: ast.Call, paths: Paths) -> Violation | None:
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        for path in sorted(paths):
            receiver = path.rpartition(".")[0]
            if method in READ_METHODS and receiver in _STREAMS and is_unbounded(unit, call):
                return self._at(
                    unit, call, path, "reads to the end of the stream. Read a bounded amount.", Risk.HIGH
                )
            if method in READ_METHODS and receiver in _CHILD and is_unbounded(unit, call):
                return self._at(unit, call, path, "reads all that a child process writes.", Risk.MEDIUM)
            if path in _CHUNKS and self._gathers(unit, call):
                return self._at(unit, call, path, "is gathered in a loop without a limit.", Risk.HIGH)
            found = self._function(unit, call, path)
            if found is not None:
                return found
        if method in READ_METHODS:
            return self._unknown(unit, call, method)
        return None

    def _function(self, unit: Unit, call: ast.Call, path: str) -> Violation | None:
        if path == "builtins.input":
            return self._at(unit, call, path, "reads a line of any length.", Risk.LOW)
        if path in _CHILD_CALLS or (path == "subprocess.run" and _captures(call)):
            return self._at(unit, call, path, "keeps all that a child process writes.", Risk.MEDIUM)
        if path in _LOADERS and call.args and is_remote(unit.paths(call.args[0])):
            return self._at(
                unit, call, path, "reads a remote stream to its end. Read it bounded first.", Risk.HIGH
            )
        if path == "shutil.copyfileobj" and call.args and is_remote(unit.paths(call.args[0])):
            return self._at(unit, call, path, "copies a remote stream of any length.", Risk.MEDIUM)
        if path in _LIMITS:
            keyword, values = _LIMITS[path]
            given = argument(call, keyword, None)
            if isinstance(given, ast.Constant) and given.value in values:
                return self._at(unit, call, path, f"is told to have no limit by {keyword}.", Risk.HIGH)
        return None

    def _gathers(self, unit: Unit, call: ast.Call) -> bool:
        loop = loops_over(unit, call)
        if loop is None or is_unbounded(unit, call):
            return False
        is_counted = any(isinstance(leaf, ast.Compare) for leaf in ast.walk(loop.test))
        return not is_counted and grown(loop.body, chunk_names(unit, call)) and not is_capped(loop.body)

    def _unknown(self, unit: Unit, call: ast.Call, method: str) -> Violation | None:
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        if not is_unbounded(unit, call) or is_known(unit, unit.paths(receiver)):
            return None
        unit.unresolved_count += 1
        if not unit.settings.is_strict:
            return None
        what = "is called on a receiver of unknown origin. Give an amount, or annotate the receiver."
        return self._at(unit, call, f"?.{method}", what, Risk.HIGH)

    def _at(self, unit: Unit, call: ast.Call, path: str, what: str, risk: Risk) -> Violation:
        return self.violation(
            unit, call, f"`{path.removeprefix('builtins.')}` {what}", symbol=path, risk=risk
        )


def _captures(call: ast.Call) -> bool:
    for keyword in call.keywords:
        if (
            keyword.arg == "capture_output"
            and isinstance(keyword.value, ast.Constant)
            and keyword.value.value is True
        ):
            return True
        if (
            keyword.arg == "stdout"
            and isinstance(keyword.value, ast.Attribute)
            and keyword.value.attr == "PIPE"
        ):
            return True
    return False
