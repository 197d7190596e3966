"""SG301: the body of a response or request is read with a limit."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from safety_gate.http_bodies import body_reads
from safety_gate.rule import Rule
from safety_gate.unit import Unit
from safety_gate.violation import Risk, Violation

_MESSAGES = {
    "eager": (
        "`{symbol}` reads the whole body before it returns. Stream it and read through a bounded helper."
    ),
    "whole": "`{symbol}` reads the whole body, whatever its size. Read it through a bounded helper.",
    "accumulation": (
        "The chunks of `{symbol}` are gathered without a limit. Stop when a running length passes a bound."
    ),
}
_NAMED = frozenset({"response", "resp", "upstream"})


class UnboundedHttpBodyRead(Rule):
    """Finds calls that load a whole body, accessors of a whole body, and chunks gathered without a cap."""

    code = "SG301"
    name = "unbounded-http-body-read"
    summary = "A whole HTTP body is read, whatever its size."
    triggers: ClassVar[tuple[str, ...]] = (
        "requests", "httpx", "httpx2", "urlopen", "urlretrieve", "urllib3", "aiohttp", "getresponse",
        "HTTPError",
        "HTTPResponse", "build_opener", "OpenerDirector", "starlette", "fastapi", "boto3", "body", "request",
    )  # fmt: skip

    def check(self, unit: Unit) -> Iterator[Violation]:
        """Yield every whole-body read; with `--strict`, also ASGI bodies of unknown requests."""
        for read in body_reads(unit):
            message = _MESSAGES[read.tier].format(symbol=read.symbol)
            yield self.violation(unit, read.node, message, symbol=read.symbol)
        for node in unit.index.all(ast.Await):
            match node.value:
                case ast.Call(func=ast.Attribute(value=receiver, attr="body"), args=[], keywords=[]):
                    if not unit.paths(receiver):
                        yield from self._unknown(unit, node.value)
                case _:
                    pass

    def _unknown(self, unit: Unit, call: ast.Call) -> Iterator[Violation]:
        unit.unresolved_count += 1
        if unit.settings.is_strict:
            message = (
                "`body()` on a receiver of unknown origin may read a whole request. Annotate "
                "it, or read bounded."
            )
            yield self.violation(unit, call, message, symbol="?.body", risk=Risk.HIGH)
