"""Which calls write to the process's standard streams."""

from __future__ import annotations

import ast

from safety_gate.names import Paths
from safety_gate.unit import Unit, lasts

STREAMS = frozenset({"sys.stdout", "sys.stderr", "sys.stdout.buffer", "sys.stderr.buffer"})
_WRITES = frozenset(f"{stream}.{method}" for stream in STREAMS for method in ("write", "writelines"))
# Function -> the keyword (and position) of the stream that it writes to; without it, it writes to a standard
# stream.
_BY_TARGET: dict[str, tuple[str, int | None]] = {
    "builtins.print": ("file", None), "pprint.pprint": ("stream", 1), "pprint.pp": ("stream", 1),
    "traceback.print_exc": ("file", 1), "traceback.print_exception": ("file", 4),
    "traceback.print_tb": ("file", 2),
    "traceback.print_stack": ("file", 2), "traceback.print_last": ("file", 1), "rich.print": ("file", None),
    "click.echo": ("file", 1), "click.secho": ("file", 1), "typer.echo": ("file", 1),
    "typer.secho": ("file", 1),
}  # fmt: skip
_ALWAYS = frozenset(
    {"rich.print_json", "rich.inspect", "rich.pretty.pprint", "builtins.help"}
    | {
        f"rich.console.Console().{method}"
        for method in ("print", "log", "print_exception", "print_json", "rule", "out")
    }
    | {f"rich.get_console().{method}" for method in ("print", "log", "print_exception", "print_json")}
)
# Function -> the position of the stream among its arguments: these write only where they are told to.
_GIVEN: dict[str, tuple[str, int]] = {
    "json.dump": ("fp", 1), "csv.writer": ("csvfile", 0), "csv.DictWriter": ("f", 0),
    "yaml.dump": ("stream", 1),
    "yaml.safe_dump": ("stream", 1), "shutil.copyfileobj": ("fdst", 1), "pickle.dump": ("file", 1),
    "argparse.ArgumentParser().print_help": ("file", 0), "argparse.ArgumentParser().print_usage": ("file", 0),
}  # fmt: skip
PRINTERS = frozenset({*_WRITES, *_BY_TARGET, *_ALWAYS} - {"builtins.help"})
"""What a bare mention of is a finding too."""

_LASTS = lasts(_WRITES, _BY_TARGET, _ALWAYS, _GIVEN, ("os.write",))


def stdio_calls(unit: Unit) -> list[tuple[ast.Call, str]]:
    """Return the calls that write to a standard stream, and what they call. For `Unit.shared`."""
    found: list[tuple[ast.Call, str]] = []
    for call, paths in unit.calls_to(_LASTS):
        for path in sorted(paths):
            if _writes(unit, call, path):
                found.append((call, path))
                break
    return found


def _writes(unit: Unit, call: ast.Call, path: str) -> bool:
    if path in _WRITES or path in _ALWAYS:
        return True
    if path in _BY_TARGET:
        target = argument(call, *_BY_TARGET[path])
        return target is None or _is_none(target) or bool(unit.paths(target) & STREAMS)
    if path in _GIVEN:
        target = argument(call, *_GIVEN[path])
        return target is not None and bool(unit.paths(target) & STREAMS)
    return path == "os.write" and bool(call.args) and _is_descriptor(unit, call.args[0])


def argument(call: ast.Call, keyword: str, position: int | None) -> ast.expr | None:
    """Return the argument that a call passes under a name or at a position; None if it passes none."""
    for given in call.keywords:
        if given.arg == keyword:
            return given.value
    if (
        position is None
        or position >= len(call.args)
        or any(isinstance(arg, ast.Starred) for arg in call.args)
    ):
        return None
    return call.args[position]


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_descriptor(unit: Unit, node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return node.value in (1, 2)
    return bool(unit.paths(node) & _descriptors())


def _descriptors() -> Paths:
    return frozenset(f"{stream}.fileno()" for stream in STREAMS)
