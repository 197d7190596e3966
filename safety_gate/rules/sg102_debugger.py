"""SG102: no debugger is left in production code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from safety_gate.references import references
from safety_gate.rule import Rule
from safety_gate.unit import Unit, lasts
from safety_gate.violation import Violation

_DEBUGGERS = frozenset(
    {
        "builtins.breakpoint",
        "sys.breakpointhook",
        "icecream.ic",
        "icecream.install",
        "IPython.embed",
    }
    | {
        f"{module}.{name}"
        for module in ("pdb", "ipdb", "pudb")
        for name in ("set_trace", "post_mortem", "pm", "run")
    }
    | {
        "debugpy.breakpoint",
        "debugpy.wait_for_client",
        "debugpy.listen",
        "celery.contrib.rdb.set_trace",
    }
    | {"pdb.Pdb().set_trace", "pdb.runcall", "pdb.runeval", "remote_pdb.set_trace", "web_pdb.set_trace"}
)
_LASTS = lasts(_DEBUGGERS)


class ForbiddenDebugger(Rule):
    """Bans `breakpoint()` and its relatives."""

    code = "SG102"
    name = "forbidden-debugger"
    summary = "A debugger is started in production code."
    triggers: ClassVar[tuple[str, ...]] = (
        "breakpoint",
        "pdb",
        "pudb",
        "icecream",
        "IPython",
        "debugpy",
    )

    def check(self, unit: Unit) -> Iterator[Violation]:
        """Yield every call and every mention of a debugger's entry."""
        for node, paths in [(call, paths) for call, paths in unit.calls_to(_LASTS)] + list(
            unit.shared(references)
        ):
            for path in sorted(paths & _DEBUGGERS)[:1]:
                message = f"`{path.removeprefix('builtins.')}` stops the process for a debugger. Remove it."
                yield self.violation(unit, node, message, symbol=path)
