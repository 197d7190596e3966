"""What an expression is, as far as one file can tell: its candidate paths.

A path is a dotted name with marks: `requests.Session().get` is the method of an instance, `x[]` an element.
`await` and `with` are transparent. An expression may have several candidates (a conditional import),
and none at all when nothing is known; a rule reports when any candidate matches and never guesses from none.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Mapping, Sequence

from safety_gate.index import FUNCTIONS, Index, in_body
from safety_gate.known import ATTRIBUTES, MODULE_ALIASES, STAR_EXPORTS, result_class
from safety_gate.scopes import Binding, BindingKind, Scopes

Paths = frozenset[str]
NOTHING: Paths = frozenset()

_BUILTINS = frozenset({*dir(builtins), "__builtins__"})
_MAX_HOPS = 8  # aliases of aliases; one hop is the rule, a few more cost nothing and end cycles
_MAX_CANDIDATES = 8
_UNIONS = {
    "typing.Optional",
    "typing.Union",
    "typing.Annotated",
    "typing.Final",
    "typing.ClassVar",
    "typing.Awaitable",
}
_MAX_ANNOTATION = 400
_Link = tuple[str, ast.expr]


class Names:
    """Resolution of one module.

    Args:
        index: The module's nodes.
        module: Its dotted name; empty if unknown.
        is_package: Whether it is an `__init__`, for relative imports.
        re_exports: Project names that stand for library names, longest prefix wins.
    """

    def __init__(
        self, index: Index, *, module: str = "", is_package: bool = False, re_exports: Mapping[str, str]
    ) -> None:
        self._index = index
        self.module = module
        package = module if is_package else module.rpartition(".")[0]
        self.scopes: Scopes = Scopes(index, package)
        self._re_exports = sorted(re_exports.items(), key=lambda item: -len(item[0]))
        self._memo: dict[ast.AST, Paths] = {}
        self._attributes: dict[ast.ClassDef, dict[str, list[Binding]]] | None = None
        self._complete: set[ast.ClassDef] = set()
        self._canonical_memo: dict[str, str] = {}
        self._classes: dict[str, ast.ClassDef] = {self._local(node): node for node in index.all(ast.ClassDef)}
        self._functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] | None = None

    def paths(self, node: ast.expr) -> Paths:
        """Return the candidates for an expression; empty if nothing is known about it."""
        return self._paths(node, 0)

    def qualname(self, node: ast.AST) -> str:
        """Return the qualified name of the function that a node is in, `<module>` outside any."""
        parts: list[str] = []
        child = node
        for parent in self._index.ancestors(node):
            if (
                isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef) and in_body(parent, child)
            ) or isinstance(parent, ast.ClassDef):
                parts.append(parent.name)
            child = parent
        return ".".join(reversed(parts)) or "<module>"

    def local_class(self, path: str) -> ast.ClassDef | None:
        """Return the class of this file that a path such as `.Book` or `.Book()` names."""
        return self._classes.get(path.removesuffix("()"))

    def local_function(self, called: ast.expr) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """Return the function or method of this file that an expression names."""
        functions = self._local_functions()
        return next((functions[path] for path in sorted(self.paths(called)) if path in functions), None)

    def is_local(self, path: str) -> bool:
        """Tell whether a path is something that this very file defines."""
        head = path.split("(", 1)[0]
        if head in self._classes or head in self._local_functions():
            return True
        return head.rpartition(".")[0] in self._classes

    def attribute_bindings(self, node: ast.Attribute) -> list[Binding]:
        """Return what an attribute of a class of this file is bound to, by the class itself."""
        owners = (self.local_class(path) for path in sorted(self.paths(node.value)))
        return [
            binding
            for owner in owners
            if owner is not None
            for binding in self._class_table(owner).get(node.attr, [])
        ]

    def class_paths(self, node: ast.expr) -> Paths:
        """Return the candidates for an annotation or a class expression, unions and quotes opened."""
        return self._annotation(node, 0)

    # --- expressions
    # -------------------------------------------------------------------------------------------------

    def _paths(self, node: ast.expr, hops: int) -> Paths:
        known = self._memo.get(node)
        if known is not None:
            return known
        if hops > _MAX_HOPS:
            return NOTHING
        base, links = _unchain(node)
        found = self._base(base, hops)
        for mark, link in reversed(links):
            found = self._memo[link] if link in self._memo else self._extend(found, mark, hops, link)
        if len(found) > _MAX_CANDIDATES:
            found = frozenset(sorted(found)[:_MAX_CANDIDATES])
        if hops == 0:
            self._memo[node] = found
        return found

    def _base(self, node: ast.expr, hops: int) -> Paths:
        match node:
            case ast.Name():
                return self._name(node, hops)
            case ast.IfExp(body=body, orelse=orelse):
                return self._paths(body, hops + 1) | self._paths(orelse, hops + 1)
            case ast.BoolOp(values=values):
                return _union(self._paths(value, hops + 1) for value in values)
            case ast.NamedExpr(value=value):
                return self._paths(value, hops + 1)
            case ast.Constant(value=value):
                return frozenset({f"builtins.{type(value).__name__}()"})
            case (
                ast.List()
                | ast.Tuple()
                | ast.Set()
                | ast.Dict()
                | ast.JoinedStr()
                | ast.ListComp()
                | ast.DictComp()
            ):
                return frozenset({f"builtins.{_LITERALS[type(node)]}()"})
            case _:
                return NOTHING

    def _name(self, node: ast.Name, hops: int) -> Paths:
        bindings = self.scopes.lookup(node.id, node)
        if bindings:
            return _union(self._binding(binding, hops) for binding in bindings)
        for module in self.scopes.star_modules:
            if node.id in STAR_EXPORTS.get(module, ()):
                return frozenset({f"{module}.{node.id}"})
        return frozenset({f"builtins.{node.id}"}) if node.id in _BUILTINS else NOTHING

    def _binding(self, binding: Binding, hops: int) -> Paths:
        match binding.kind:
            case BindingKind.IMPORT:
                path = self._canonical(binding.path)
                return frozenset({ATTRIBUTES.get(path, path)})
            case BindingKind.FUNCTION | BindingKind.CLASS:
                return frozenset({self._local(binding.node)})
            case BindingKind.CAUGHT:
                return (
                    NOTHING if binding.value is None else _instances(self._members(binding.value, hops + 1))
                )
            case BindingKind.PARAMETER:
                return self._parameter(binding, hops)
            case BindingKind.ANNOTATED:
                found = (
                    NOTHING
                    if binding.annotation is None
                    else _instances(self._annotation(binding.annotation, hops + 1))
                )
                return found if found or binding.value is None else self._paths(binding.value, hops + 1)
            case BindingKind.VALUE | BindingKind.ITERATED if binding.value is not None:
                found = self._paths(binding.value, hops + 1)
                if binding.kind is BindingKind.ITERATED:
                    found = self._extend(found, "[]", hops)
                return found if binding.item is None else self._extend(found, f"[{binding.item}]", hops)
            case _:
                return NOTHING

    def _parameter(self, binding: Binding, hops: int) -> Paths:
        if binding.annotation is not None:
            return _instances(self._annotation(binding.annotation, hops + 1))
        owner = self.self_class(binding.node)
        return NOTHING if owner is None else frozenset({f"{self._local(owner)}()"})

    def self_class(self, parameter: ast.AST) -> ast.ClassDef | None:
        """Return the class whose instance (or itself) a method's first parameter is."""
        function = self._index.parents[self._index.parents[parameter]]
        owner = self._index.parents.get(function)
        if not isinstance(owner, ast.ClassDef) or not isinstance(
            function, ast.FunctionDef | ast.AsyncFunctionDef
        ):
            return None
        positional = [*function.args.posonlyargs, *function.args.args]
        if not positional or positional[0] is not parameter:
            return None
        decorators = {d.id for d in function.decorator_list if isinstance(d, ast.Name)}
        return None if "staticmethod" in decorators else owner

    def _extend(self, found: Paths, mark: str, hops: int, link: ast.expr | None = None) -> Paths:
        extended: set[str] = set()
        for path in found:
            if mark.startswith("."):
                extended |= self._attribute(path, mark, hops)
            elif mark == "()":
                extended |= self._called(path, hops, link)
            else:
                extended.add(ATTRIBUTES.get(path + mark, path + mark))
        return frozenset(extended)

    def _attribute(self, path: str, mark: str, hops: int) -> Paths:
        owner = self.local_class(path)
        if owner is not None and hops <= _MAX_HOPS:
            bindings = self._class_table(owner).get(mark[1:])
            if bindings:
                return _union(self._binding(binding, hops + 1) for binding in bindings)
            inherited = _union(self._inherited(owner, path.endswith("()"), mark, hops))
            return inherited | {path + mark}
        full = (path + mark).replace("builtins.__builtins__.", "builtins.")
        full = self._canonical(full)
        return frozenset({ATTRIBUTES.get(full, full)})

    def _inherited(self, owner: ast.ClassDef, is_instance: bool, mark: str, hops: int) -> Iterable[Paths]:
        for base in owner.bases:
            found = self._annotation(base, hops + 1)  # a generic base is its class
            yield self._extend(_instances(found) if is_instance else found, mark, hops + 2)

    def _called(self, path: str, hops: int, call: ast.expr | None) -> Paths:
        known = result_class(path, call) if isinstance(call, ast.Call) else None
        if known is not None:
            return frozenset({known + "()"})
        function = self._local_functions().get(path)
        returns = getattr(function, "returns", None)
        if isinstance(returns, ast.expr) and hops <= _MAX_HOPS:
            return _instances(self._annotation(returns, hops + 1)) or frozenset({path + "()"})
        return frozenset({path + "()"})

    # --- classes
    # -----------------------------------------------------------------------------------------------------

    def _annotation(self, node: ast.expr, hops: int) -> Paths:
        if hops > _MAX_HOPS:
            return NOTHING
        match node:
            case ast.Constant(value=str(text)) if len(text) <= _MAX_ANNOTATION:
                return self._quoted(text, node, hops)
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return self._annotation(left, hops + 1) | self._annotation(right, hops + 1)
            case ast.Subscript(value=value, slice=inner):
                outer = self._paths(value, hops + 1)
                if any(path.replace("typing_extensions", "typing") in _UNIONS for path in outer):
                    members = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                    return _union(self._annotation(member, hops + 1) for member in members)
                return outer
            case ast.Constant():
                return NOTHING
            case _:
                return self._paths(node, hops + 1)

    def _quoted(self, text: str, place: ast.expr, hops: int) -> Paths:
        try:
            expression = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return NOTHING
        stack: list[tuple[ast.AST, ast.AST]] = [(expression, place)]
        while stack:
            node, parent = stack.pop()
            ast.copy_location(node, place)  # its own position is one in the string
            self._index.parents[node] = self._index.parents[place] if node is expression else parent
            stack.extend((child, node) for child in ast.iter_child_nodes(node))
        return self._annotation(expression, hops + 1)

    def _members(self, node: ast.expr, hops: int) -> Paths:
        """Return the classes that an `except` clause names."""
        if isinstance(node, ast.Tuple | ast.List):
            return _union(self._members(element, hops + 1) for element in node.elts)
        return self._paths(node, hops)

    def _class_table(self, owner: ast.ClassDef) -> dict[str, list[Binding]]:
        if self._attributes is None:
            self._attributes = {}
            for node in self._index.all(ast.Attribute):
                if isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
                    self._self_attribute(node, node.value)
        own = self._attributes.setdefault(owner, {})
        if owner not in self._complete:
            self._complete.add(owner)
            for name, bindings in self.scopes.table(owner).items():
                own.setdefault(name, list(bindings))
        return own

    def _self_attribute(self, node: ast.Attribute, receiver: ast.Name) -> None:
        bindings = self.scopes.lookup(receiver.id, receiver)
        owner = (
            self.self_class(bindings[0].node)
            if bindings and bindings[0].kind is BindingKind.PARAMETER
            else None
        )
        if owner is None or self._attributes is None:
            return
        parent = self._index.parents[node]
        if isinstance(parent, ast.Assign):
            binding = Binding(kind=BindingKind.VALUE, node=node, value=parent.value)
        elif isinstance(parent, ast.AnnAssign):
            binding = Binding(
                kind=BindingKind.ANNOTATED, node=node, value=parent.value, annotation=parent.annotation
            )
        elif isinstance(parent, ast.withitem):
            binding = Binding(kind=BindingKind.VALUE, node=node, value=parent.context_expr)
        else:
            binding = Binding(kind=BindingKind.OTHER, node=node)
        self._attributes.setdefault(owner, {}).setdefault(node.attr, []).append(binding)

    # --- names of this project
    # ---------------------------------------------------------------------------------------

    def _local(self, node: ast.AST) -> str:
        inner = self.qualname(node)
        name = getattr(node, "name", "")
        qualified = name if inner == "<module>" else f"{inner}.{name}"
        return self._canonical(f"{self.module}.{qualified}")

    def _local_functions(self) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
        if self._functions is None:
            self._functions = {self._local(node): node for node in self._index.functions()}
        return self._functions

    def _canonical(self, path: str) -> str:
        known = self._canonical_memo.get(path)
        if known is None:
            known = self._canonical_memo[path] = canonical(path, self._re_exports)
        return known


def canonical(path: str, re_exports: Sequence[tuple[str, str]] = ()) -> str:
    """Return the best-known spelling of a path: project re-exports first, then known ones."""
    for prefix, target in re_exports:
        if path == prefix or path.startswith(prefix + "."):
            return target + path[len(prefix) :]
    head = path.partition("(")[0].split(".")
    for count in (3, 2, 1):
        if len(head) >= count:
            prefix = ".".join(head[:count])
            alias = MODULE_ALIASES.get(prefix)
            if alias is not None:
                return alias + path[len(prefix) :]
    return path


_LITERALS: dict[type[ast.AST], str] = {
    ast.List: "list", ast.Tuple: "tuple", ast.Set: "set", ast.Dict: "dict", ast.JoinedStr: "str",
    ast.ListComp: "list",
    ast.DictComp: "dict",
}  # fmt: skip


def _unchain(node: ast.expr) -> tuple[ast.expr, list[_Link]]:
    """Split `a.b().c` into its base `a` and its links, outermost first."""
    links: list[_Link] = []
    while True:
        match node:
            case ast.Attribute(value=value, attr=attr):
                links.append((f".{attr}", node))
            case ast.Call(func=ast.Name(id="getattr"), args=[value, ast.Constant(value=str(attr)), *_]):
                links.append((f".{attr}", node))
            case ast.Call(func=value):
                links.append(("()", node))
            case ast.Subscript(value=value):
                links.append(("[]", node))
            case ast.Await(value=value) | ast.Starred(value=value):
                pass
            case _:
                return node, links
        node = value


def _instances(classes: Paths) -> Paths:
    return frozenset(f"{path}()" for path in classes if not path.endswith(("()", "[]")))


def _union(found: Iterable[Paths]) -> Paths:
    return frozenset[str]().union(*found)


__all__ = ["FUNCTIONS", "NOTHING", "Names", "Paths"]
