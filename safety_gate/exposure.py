"""What an expression shows to whoever reads it in a log."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator
from dataclasses import dataclass

from safety_gate.scopes import BindingKind
from safety_gate.unit import Unit
from safety_gate.words import HOLDERS, is_metadata, is_sensitive

_CLEAN_CALLS = frozenset(
    {"len", "bool", "type", "isinstance", "id", "any", "all", "hash", "sum", "callable", "hasattr"}
)
_CLEAN_PREFIXES = ("redact", "mask", "sanitize", "sanitise", "scrub", "digest", "fingerprint", "anonymize",
"obfuscate",
                   "is_", "has_", "count", "num_", "hash")  # fmt: skip
_CLEAN_METHODS = frozenset(
    {"startswith", "endswith", "isdigit", "isalpha", "isspace", "find", "index", "rfind", "hexdigest", "keys"}
)
_CLEAN_MODULES = ("hashlib.", "hmac.")
# Calls that show what they are given.
_TRANSPARENT = frozenset(
    {
        "str",
        "repr",
        "format",
        "dumps",
        "dict",
        "list",
        "tuple",
        "sorted",
        "set",
        "bytes",
        "pformat",
        "join",
        "ascii",
    }
    | {
        "format_map",
        "substitute",
        "safe_substitute",
        "shorten",
        "truncate",
        "truncate_text",
        "indent",
        "dedent",
    }
    | {
        "quote",
        "model_dump_json",
        "reversed",
        "deepcopy",
        "copy",
        "cast",
        "to_json",
        "pretty",
        "b64encode",
        "decode",
    }
)
_HOP_CALLS = frozenset({"str", "repr", "format", "dumps", "format_map", "pformat"})
_BULK_METHODS = frozenset({"model_dump", "model_dump_json", "json", "dict", "to_dict", "_asdict"})
_BULK_ROOTS = frozenset({"request", "req", "response", "resp", "message", "payload", "prompt", "messages"})
_BULK_CALLS = frozenset(
    {"builtins.locals", "builtins.vars", "builtins.globals", "sys.exc_info", "sys._getframe"}
)

_HARMLESS_ORIGINS = frozenset(
    {"argparse.Namespace()", "pydantic.SecretStr()", "pydantic.SecretBytes()", "pydantic.types.SecretStr()"}
)
_MIN_SECRET_LENGTH = 16  # a shorter literal, or one with blanks, is a label and no secret


class ExposureKind(enum.Enum):
    """How an expression shows something."""

    WORD = enum.auto()
    BULK = enum.auto()


@dataclass(frozen=True, slots=True)
class Exposure:
    """One thing that an expression shows: the identifier, or the source of many values."""

    kind: ExposureKind
    name: str


def exposures(unit: Unit, node: ast.expr, *, keys_count: bool = False) -> Iterator[Exposure]:
    """Yield what an expression shows.

    Args:
        unit: The module.
        node: The argument of a sink.
        keys_count: Whether the keys of a mapping name what its values are (`extra=`, `bind`).
    """
    stack: list[tuple[ast.expr, int]] = [(node, 0)]
    while stack:
        current, hop = stack.pop()
        found, inner = _look(unit, current, hop, keys_count)
        if found is not None:
            yield found
        stack.extend((child, hop) for child in inner)
        if isinstance(current, ast.Name) and found is None and hop == 0:
            stack.extend((value, 1) for value in _hop(unit, current))


def is_clean(unit: Unit, node: ast.expr) -> bool:
    """Tell whether a value shows nothing, whatever it is called: a literal, a test, a count, a redaction."""
    match node:
        case ast.Constant() | ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.BinOp(op=ast.Mult(), left=ast.Constant()) | ast.BinOp(op=ast.Mult(), right=ast.Constant()):
            return True
        case ast.IfExp(body=body, orelse=orelse):
            return is_clean(unit, body) and is_clean(unit, orelse)
        case ast.Call():
            return _is_sanitizer(unit, node)
        case ast.Attribute(attr=attr):
            return is_metadata(attr)
        case ast.Subscript(value=value):
            return is_clean(unit, value)
        case ast.Name(id=name):
            return _is_settled(unit, node) or (is_metadata(name) and not _sensitive(unit, name))
        case _:
            return False


def _look(unit: Unit, node: ast.expr, hop: int, keys_count: bool) -> tuple[Exposure | None, list[ast.expr]]:
    match node:
        case ast.Name(id=name):
            shows = (
                _sensitive(unit, name) and not _is_settled(unit, node) and not _is_harmless_origin(unit, node)
            )
            return (Exposure(ExposureKind.WORD, name) if shows else None), []
        case ast.Attribute():
            return _attribute(unit, node)
        case ast.Subscript():
            return _subscript(unit, node)
        case ast.Call():
            return _call(unit, node, hop)
        case ast.Dict(keys=keys, values=values):
            return _mapping(unit, keys, values, keys_count)
        case ast.Compare() | ast.Constant() | ast.UnaryOp():
            return None, []
        case ast.IfExp(body=body, orelse=orelse):
            return None, [body, orelse]
        case ast.ListComp(elt=elt) | ast.SetComp(elt=elt) | ast.GeneratorExp(elt=elt):
            return None, [elt]
        case ast.DictComp(value=value) | ast.Lambda(body=value) | ast.NamedExpr(value=value):
            return None, [value]
        case ast.BinOp(op=ast.Mult()):
            return None, []
        case _:
            return None, [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]


def _attribute(unit: Unit, node: ast.Attribute) -> tuple[Exposure | None, list[ast.expr]]:
    if "os.environ" in unit.paths(node):
        return Exposure(ExposureKind.BULK, "os.environ"), []
    if node.attr == "__dict__":
        return Exposure(ExposureKind.BULK, "__dict__"), []
    if is_metadata(node.attr) and not _sensitive(unit, node.attr):
        return None, []
    holder = node.value
    name = (
        holder.id
        if isinstance(holder, ast.Name)
        else holder.attr
        if isinstance(holder, ast.Attribute)
        else ""
    )
    if node.attr in HOLDERS.get(name.lower(), ()):
        return Exposure(ExposureKind.WORD, f"{name}.{node.attr}"), []
    is_member = node.attr.isupper() and name[:1].isupper()  # an enum's member names a kind, it is no value
    if _sensitive(unit, node.attr) and not is_member:
        return Exposure(ExposureKind.WORD, node.attr), []
    return None, [] if is_member else [node.value]


def _subscript(unit: Unit, node: ast.Subscript) -> tuple[Exposure | None, list[ast.expr]]:
    key = ""
    match node.slice:
        case ast.Constant(value=str(text)):
            key = text.replace("-", "_").replace(" ", "_")
        case ast.Name(id=name) if name.isupper():
            key = name.removeprefix("CONF_").removeprefix("ATTR_").removeprefix("KEY_")
        case _:
            pass
    if key and _sensitive(unit, key):
        return Exposure(ExposureKind.WORD, key), []
    if (key and is_metadata(key)) or "os.environ" in unit.paths(node.value):
        return None, []
    return None, [node.value]


def _call(unit: Unit, node: ast.Call, hop: int) -> tuple[Exposure | None, list[ast.expr]]:
    paths = unit.paths(node.func)
    bulk = sorted(paths & _BULK_CALLS)
    if bulk:
        return Exposure(ExposureKind.BULK, bulk[0].removeprefix("builtins.")), []
    if _is_sanitizer(unit, node):
        return None, []
    name = _name(node.func)
    arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
    if "dataclasses.asdict" in paths and node.args and _is_bulk_root(node.args[0]):
        return Exposure(ExposureKind.BULK, "asdict"), []
    if isinstance(node.func, ast.Attribute):
        if name == "get_secret_value":
            return Exposure(ExposureKind.WORD, _name(node.func.value) or name), []
        if name in _BULK_METHODS and _is_bulk_root(node.func.value):
            return Exposure(ExposureKind.BULK, f"{_name(node.func.value)}.{name}"), []
        if name == "get" and node.args and "os.environ" not in unit.paths(node.func.value):
            return _subscript(unit, ast.Subscript(value=node.func.value, slice=node.args[0], ctx=ast.Load()))
        if name in ("get", "getenv"):
            return None, []
        receiver = (
            []
            if isinstance(node.func.value, ast.Name) and _is_module(unit, node.func.value)
            else [node.func.value]
        )
        return None, receiver + (arguments if name in _TRANSPARENT else [])
    return None, arguments if name in (_HOP_CALLS if hop else _TRANSPARENT) else []


def _mapping(
    unit: Unit, keys: list[ast.expr | None], values: list[ast.expr], keys_count: bool
) -> tuple[Exposure | None, list[ast.expr]]:
    inner: list[ast.expr] = []
    for key, value in zip(keys, values, strict=True):
        name = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
        if keys_count and name and _sensitive(unit, name.replace("-", "_")) and not is_clean(unit, value):
            return Exposure(ExposureKind.WORD, name), []
        inner.append(value)
    return None, inner


def _hop(unit: Unit, name: ast.Name) -> list[ast.expr]:
    """Return what a local name was built from, one step back; calls and containers end the trail."""
    values: list[ast.expr] = []
    for binding in unit.names.scopes.lookup(name.id, name):
        if binding.kind is BindingKind.VALUE and binding.value is not None and binding.item is None:
            if isinstance(binding.value, ast.Name | ast.JoinedStr | ast.BinOp | ast.Call | ast.BoolOp):
                values.append(binding.value)
        elif binding.kind is BindingKind.OTHER:
            statement = unit.parent(binding.node)
            if isinstance(statement, ast.AugAssign):
                values.append(statement.value)
    return [value for value in values if not isinstance(value, ast.Call) or _name(value.func) in _HOP_CALLS]


def _is_sanitizer(unit: Unit, call: ast.Call) -> bool:
    name = _name(call.func)
    plain = name.lstrip("_").lower()
    if isinstance(call.func, ast.Name) and name in _CLEAN_CALLS:
        return True
    if plain.startswith(_CLEAN_PREFIXES) or name in _CLEAN_METHODS:
        return True
    paths = unit.paths(call.func)
    if any(path.startswith(_CLEAN_MODULES) for path in paths):
        return True
    for pattern in unit.settings.sanitizers:
        candidates = {name, *paths}
        if pattern in candidates or (
            pattern.endswith("*") and any(c.startswith(pattern[:-1]) for c in candidates)
        ):
            return True
    return False


def _is_settled(unit: Unit, name: ast.Name) -> bool:
    """Tell whether every value that reaches a name is a literal or a redaction."""
    bindings = unit.names.scopes.lookup(name.id, name)
    if not bindings:
        return False
    if all(b.kind in (BindingKind.FUNCTION, BindingKind.CLASS) for b in bindings):
        return True
    return all(
        b.kind is BindingKind.VALUE and b.item is None and b.value is not None and _is_settling(unit, b.value)
        for b in bindings
    )  # fmt: skip


def _is_settling(unit: Unit, value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return not isinstance(value.value, str | bytes) or not _looks_secret(value.value)
    if isinstance(value, ast.Call):
        return _is_sanitizer(unit, value)
    return isinstance(value, ast.Compare) or (
        isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
    )


def _looks_secret(value: str | bytes) -> bool:
    text = value if isinstance(value, str) else value.decode("latin-1")
    return len(text) >= _MIN_SECRET_LENGTH and " " not in text


def _is_harmless_origin(unit: Unit, name: ast.Name) -> bool:
    """Tell whether a name is the parsed command line, or a wrapper that masks itself when it is shown."""
    return bool(unit.paths(name) & _HARMLESS_ORIGINS)


def _is_module(unit: Unit, name: ast.Name) -> bool:
    bindings = unit.names.scopes.lookup(name.id, name)
    return bool(bindings) and all(b.kind is BindingKind.IMPORT for b in bindings)


def _is_bulk_root(node: ast.expr) -> bool:
    return _name(node).lower() in _BULK_ROOTS


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _sensitive(unit: Unit, identifier: str) -> bool:
    return is_sensitive(identifier, unit.settings.sensitive_words, unit.settings.harmless_words)
