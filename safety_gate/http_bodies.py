"""Whose body a response is, and how it is read whole."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from safety_gate.known import RETURNS, is_streamed
from safety_gate.names import Paths
from safety_gate.reads import READ_METHODS, accumulates, attribute_loads, is_unbounded
from safety_gate.unit import Unit, lasts

_REQUESTS = "requests.Response()"
_HTTPX = "httpx.Response()"
_STDLIB = "http.client.HTTPResponse()"
_URLLIB3 = "urllib3.HTTPResponse()"
_AIOHTTP = "aiohttp.ClientResponse()"
_STREAM = "aiohttp.StreamReader()"
_STARLETTE = "starlette.requests.Request()"
_ERROR = "urllib.error.HTTPError()"
_READ = frozenset(READ_METHODS)

METHODS: dict[str, frozenset[str]] = {
    _REQUESTS: frozenset({"json"}), f"{_REQUESTS}.raw": _READ, _HTTPX: _READ | {"json"}, _STDLIB: _READ,
    _ERROR: _READ,
    f"{_ERROR}.fp": _READ, _URLLIB3: _READ | {"json"}, _AIOHTTP: frozenset({"read", "text", "json"}),
    _STREAM: _READ,
    _STARLETTE: frozenset({"body", "json", "form"}), "boto3.Client().get_object()[]": _READ,
    "boto3.Resource().Object().get()[]": _READ,
}  # fmt: skip
ATTRIBUTES: dict[str, frozenset[str]] = {
    _REQUESTS: frozenset({"text", "content"}), _HTTPX: frozenset({"text", "content"}),
    _URLLIB3: frozenset({"data"}),
}  # fmt: skip
_ITERATORS = frozenset(
    {
        "iter_content",
        "iter_bytes",
        "aiter_bytes",
        "iter_text",
        "aiter_text",
        "iter_lines",
        "aiter_lines",
        "iter_raw",
    }
    | {"aiter_raw", "stream", "iter_chunked", "iter_any", "iter_chunks", "read_chunked"}
)
_LASTS = (
    lasts(RETURNS, ("urllib.request.urlretrieve",)) | _ITERATORS | frozenset[str]().union(*METHODS.values())
)
_BODILESS = (".head", ".options")


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyRead:
    """One place that reads a whole body.

    Attributes:
        node: Where.
        symbol: The canonical name of what is called or read.
        tier: `eager` call, `whole`-body accessor or `accumulation`.
    """

    node: ast.expr
    symbol: str
    tier: str


def body_reads(unit: Unit) -> Iterator[BodyRead]:
    """Yield every read of a whole body from a known response; of several reads of one response the first."""
    first: dict[tuple[ast.AST | None, str], BodyRead] = {}
    for number, read in enumerate(
        sorted(_body_reads(unit), key=lambda r: (r.node.lineno, r.node.col_offset))
    ):
        receiver = read.node.func if isinstance(read.node, ast.Call) else read.node
        value = receiver.value if isinstance(receiver, ast.Attribute) and read.tier == "whole" else None
        # Once a body is in memory, reading it again costs nothing more.
        name = value.id if isinstance(value, ast.Name) else f"#{number}"
        first.setdefault((unit.index.function(read.node), name), read)
    yield from first.values()


def _body_reads(unit: Unit) -> Iterator[BodyRead]:
    for call, paths in unit.calls_to(_LASTS):
        symbol = _eager(unit, call, paths) or _accessor(unit, call, paths)
        if symbol:
            yield BodyRead(
                node=call,
                symbol=symbol,
                tier="eager" if symbol in RETURNS or "retrieve" in symbol else "whole",
            )
        elif accumulating := _iterator(unit, call, paths):
            yield BodyRead(node=call, symbol=accumulating, tier="accumulation")
    for node in attribute_loads(unit, frozenset({"text", "content", "data"})):
        for path in sorted(unit.paths(node.value)):
            if node.attr in ATTRIBUTES.get(path, ()) and unit.names.local_class(path) is None:
                yield BodyRead(node=node, symbol=f"{path}.{node.attr}", tier="whole")


def is_remote(paths: Paths) -> bool:
    """Tell whether a value is a response, or another stream whose length its sender decides."""
    return any(
        path in METHODS or path in ("asyncio.StreamReader()", "socket.socket().makefile()") for path in paths
    )


def _eager(unit: Unit, call: ast.Call, paths: Paths) -> str:
    for path in sorted(paths):
        if unit.names.is_local(path):  # the library's own source
            continue
        is_eager = RETURNS.get(path, "").endswith("EagerResponse") and not path.endswith(_BODILESS)
        if (
            is_eager and not is_streamed(call) and not _is_head(call)
        ) or path == "urllib.request.urlretrieve":
            return path
    return ""


def _is_head(call: ast.Call) -> bool:
    return (
        bool(call.args)
        and isinstance(call.args[0], ast.Constant)
        and call.args[0].value in ("HEAD", "OPTIONS")
    )


def _accessor(unit: Unit, call: ast.Call, paths: Paths) -> str:
    for path in sorted(paths):
        receiver, _, method = path.rpartition(".")
        if unit.names.local_class(receiver) is not None:
            continue
        if method in METHODS.get(receiver, ()) and (method not in READ_METHODS or is_unbounded(unit, call)):
            return path
    return ""


def _iterator(unit: Unit, call: ast.Call, paths: Paths) -> str:
    for path in sorted(paths):
        receiver, _, method = path.rpartition(".")
        if method in _ITERATORS and receiver in METHODS and accumulates(unit, call):
            return path
    return ""
