"""How each libcst expression becomes an `ast` expression. See `lowering`."""

from __future__ import annotations

import ast
import sys
import unicodedata
import warnings
from collections.abc import Generator, Sequence
from typing import Any, TypeAlias

import libcst as cst

Steps: TypeAlias = Generator[cst.CSTNode, Any, Any]

_BINARY: dict[type[cst.BaseBinaryOp], type[ast.operator]] = {
    cst.Add: ast.Add, cst.Subtract: ast.Sub, cst.Multiply: ast.Mult, cst.Divide: ast.Div,
    cst.FloorDivide: ast.FloorDiv,
    cst.Modulo: ast.Mod, cst.Power: ast.Pow, cst.LeftShift: ast.LShift, cst.RightShift: ast.RShift,
    cst.BitAnd: ast.BitAnd, cst.BitOr: ast.BitOr, cst.BitXor: ast.BitXor, cst.MatrixMultiply: ast.MatMult,
}  # fmt: skip
_UNARY: dict[type[cst.BaseUnaryOp], type[ast.unaryop]] = {
    cst.Not: ast.Not,
    cst.Minus: ast.USub,
    cst.Plus: ast.UAdd,
    cst.BitInvert: ast.Invert,
}
_COMPARE: dict[type[cst.BaseCompOp], type[ast.cmpop]] = {
    cst.LessThan: ast.Lt, cst.LessThanEqual: ast.LtE, cst.GreaterThan: ast.Gt, cst.GreaterThanEqual: ast.GtE,
    cst.Equal: ast.Eq, cst.NotEqual: ast.NotEq, cst.In: ast.In, cst.NotIn: ast.NotIn, cst.Is: ast.Is,
    cst.IsNot: ast.IsNot,
}  # fmt: skip
_CONVERSIONS: dict[str | None, int] = {None: -1, "s": 115, "r": 114, "a": 97}
_SINGLETONS: dict[str, bool | None] = {"None": None, "True": True, "False": False}


def identifier(name: str) -> str:
    """Return an identifier the way that the compiler sees it: NFKC-normalised."""
    return name if name.isascii() else unicodedata.normalize("NFKC", name)


def ast_node(kind: str, **fields: object) -> Any:
    """Build a node that not every interpreter has."""
    return getattr(ast, kind)(**fields)


def dotted(node: cst.BaseExpression) -> str:
    """Return the text of a chain of names, as in an import."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(identifier(node.attr.value))
        node = node.value
    parts.append(identifier(cst.ensure_type(node, cst.Name).value))
    return ".".join(reversed(parts))


def store(node: ast.expr, ctx: type[ast.expr_context] = ast.Store) -> ast.expr:
    """Mark an expression as an assignment target (or, with `ctx`, as deleted), into its elements."""
    stack = [node]
    while stack:
        target = stack.pop()
        if isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
            target.ctx = ctx()
        elif isinstance(target, ast.Starred):
            target.ctx = ctx()
            stack.append(target.value)
        elif isinstance(target, ast.Tuple | ast.List):
            target.ctx = ctx()
            stack.extend(target.elts)
    return node


def many(nodes: Sequence[cst.CSTNode]) -> Generator[cst.CSTNode, Any, list[Any]]:
    """Lower several nodes in order."""
    lowered: list[Any] = []
    for node in nodes:
        lowered.append((yield node))
    return lowered


def arguments(
    args: Sequence[cst.Arg],
) -> Generator[cst.CSTNode, Any, tuple[list[ast.expr], list[ast.keyword]]]:
    """Lower the arguments of a call or of a class statement."""
    positional: list[ast.expr] = []
    keywords: list[ast.keyword] = []
    for arg in args:
        value = yield arg.value
        if arg.keyword is not None:
            keywords.append(ast.keyword(arg=identifier(arg.keyword.value), value=value))
        elif arg.star == "**":
            keywords.append(ast.keyword(arg=None, value=value))
        else:
            positional.append(ast.Starred(value=value, ctx=ast.Load()) if arg.star == "*" else value)
    return positional, keywords


def parameters(node: cst.Parameters) -> Generator[cst.CSTNode, Any, ast.arguments]:
    """Lower a parameter list."""
    posonly = yield from many(node.posonly_params)
    params = yield from many(node.params)
    defaults = yield from many(
        [p.default for p in (*node.posonly_params, *node.params) if p.default is not None]
    )
    vararg = (yield node.star_arg) if isinstance(node.star_arg, cst.Param) else None
    kwonly = yield from many(node.kwonly_params)
    kw_defaults: list[ast.expr | None] = []
    for param in node.kwonly_params:
        kw_defaults.append(None if param.default is None else (yield param.default))
    kwarg = None if node.star_kwarg is None else (yield node.star_kwarg)
    return ast.arguments(
        posonlyargs=posonly, args=params, vararg=vararg, kwonlyargs=kwonly, kw_defaults=kw_defaults,
        kwarg=kwarg,
        defaults=defaults,
    )  # fmt: skip


def _param(node: cst.Param) -> Steps:
    annotation = None if node.annotation is None else (yield node.annotation.annotation)
    return ast.arg(arg=identifier(node.name.value), annotation=annotation, type_comment=None)


def _name(node: cst.Name) -> ast.expr:
    if node.value in _SINGLETONS:
        return ast.Constant(value=_SINGLETONS[node.value], kind=None)
    return ast.Name(id=identifier(node.value), ctx=ast.Load())


def _attribute(node: cst.Attribute) -> Steps:
    value = yield node.value
    return ast.Attribute(value=value, attr=identifier(node.attr.value), ctx=ast.Load())


def _number(node: cst.Integer | cst.Float | cst.Imaginary) -> ast.expr:
    return ast.Constant(value=_evaluate(node.value), kind=None)


def _ellipsis(node: cst.Ellipsis) -> ast.expr:
    return ast.Constant(value=..., kind=None)


def _evaluate(literal: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an invalid escape is the linted project's business
        return ast.literal_eval(literal)


def _kind(literal: str) -> str | None:
    return "u" if literal[:1] == "u" else None


def _simple_string(node: cst.SimpleString) -> ast.expr:
    return ast.Constant(value=_evaluate(node.value), kind=_kind(node.value))


def _concatenated(node: cst.ConcatenatedString) -> Steps:
    pieces: list[cst.BaseExpression] = []
    current: cst.BaseExpression = node
    while isinstance(current, cst.ConcatenatedString):
        pieces.append(current.left)
        current = current.right
    pieces.append(current)
    lowered = yield from many(pieces)
    first = lowered[0]
    if all(isinstance(piece, ast.Constant) for piece in lowered):
        value = lowered[0].value
        for piece in lowered[1:]:
            value += piece.value
        return ast.Constant(value=value, kind=first.kind)
    values: list[ast.expr] = []
    for piece in lowered:
        values.extend(piece.values if isinstance(piece, ast.JoinedStr) else [piece])
    return ast.JoinedStr(values=_merge(values))


def _merge(values: list[ast.expr]) -> list[ast.expr]:
    """Join neighbouring string constants and drop empty ones, as the compiler does."""
    merged: list[ast.expr] = []
    run: list[ast.Constant] = []
    for value in values:
        if isinstance(value, ast.Constant):
            run.append(value)
            continue
        merged.extend(_flush(run))
        run = []
        merged.append(value)
    merged.extend(_flush(run))
    return merged


def _flush(run: list[ast.Constant]) -> list[ast.Constant]:
    text = "".join(str(piece.value) for piece in run)
    return [ast.Constant(value=text, kind=run[0].kind)] if text else []


def _formatted(node: cst.FormattedString | cst.TemplatedString) -> Steps:
    quote = node.start[-3:] if node.start[-3:] in ('"""', "'''") else node.start[-1:]
    prefix = node.start[: -len(quote)].lower()
    is_raw = "r" in prefix
    values = yield from _parts(node.parts, is_raw, quote)
    return ast.JoinedStr(values=_merge(values))


def _parts(
    parts: Sequence[cst.CSTNode], is_raw: bool, quote: str
) -> Generator[cst.CSTNode, Any, list[ast.expr]]:
    values: list[ast.expr] = []
    for part in parts:
        if isinstance(part, cst.FormattedStringText | cst.TemplatedStringText):
            values.append(ast.Constant(value=_text(part.value, is_raw, quote), kind=None))
        elif isinstance(part, cst.FormattedStringExpression | cst.TemplatedStringExpression):
            values.extend((yield from _replacement(part, is_raw, quote)))
    return values


def _text(raw: str, is_raw: bool, quote: str) -> str:
    text = raw.replace("{{", "{").replace("}}", "}") if "\\N{" not in raw else _unbrace(raw)
    return text if is_raw or "\\" not in text else str(_evaluate(_quoted(text, quote)))


def _quoted(text: str, quote: str) -> str:
    fence = quote * 3 if len(quote) == 1 else quote
    if text.endswith(quote[0]):  # a quote of the other style is legal at the end of the text
        return f"{fence}{text[:-1]}\\{text[-1]}{fence}"
    return f"{fence}{text}{fence}"


def _unbrace(raw: str) -> str:
    pieces: list[str] = []
    position = 0
    while position < len(raw):
        if raw.startswith("\\N{", position):
            end = raw.find("}", position) + 1 or len(raw)
            pieces.append(raw[position:end])
            position = end
        elif raw.startswith(("{{", "}}"), position):
            pieces.append(raw[position])
            position += 2
        else:
            pieces.append(raw[position])
            position += 1
    return "".join(pieces)


def _replacement(
    node: cst.FormattedStringExpression | cst.TemplatedStringExpression, is_raw: bool, quote: str
) -> Generator[cst.CSTNode, Any, list[ast.expr]]:
    value = yield node.expression
    spec = None
    if node.format_spec is not None:
        spec = ast.JoinedStr(values=_merge((yield from _parts(node.format_spec, is_raw, quote))))
    conversion = _CONVERSIONS[node.conversion]
    formatted = ast.FormattedValue(value=value, conversion=conversion, format_spec=spec)
    if node.equal is None:
        return [formatted]
    if node.conversion is None and spec is None:
        formatted.conversion = 114
    return [ast.Constant(value=_debug_text(node), kind=None), formatted]


def _debug_text(node: cst.FormattedStringExpression | cst.TemplatedStringExpression) -> str:
    empty = cst.Module(body=[])
    equal = node.equal
    before = empty.code_for_node(node.whitespace_before_expression)
    after = "" if equal is None else empty.code_for_node(equal)
    return before + empty.code_for_node(node.expression) + after


def _binary(node: cst.BinaryOperation) -> Steps:
    left = yield node.left
    right = yield node.right
    return ast.BinOp(left=left, op=_BINARY[type(node.operator)](), right=right)


def _unary(node: cst.UnaryOperation) -> Steps:
    operand = yield node.expression
    return ast.UnaryOp(op=_UNARY[type(node.operator)](), operand=operand)


def _boolean(node: cst.BooleanOperation) -> Steps:
    kind = type(node.operator)
    right: list[cst.BaseExpression] = [node.right]
    left: cst.BaseExpression = node.left
    while isinstance(left, cst.BooleanOperation) and type(left.operator) is kind and not left.lpar:
        right.append(left.right)
        left = left.left
    values = yield from many([left, *reversed(right)])
    return ast.BoolOp(op=ast.And() if kind is cst.And else ast.Or(), values=values)


def _comparison(node: cst.Comparison) -> Steps:
    left = yield node.left
    comparators = yield from many([target.comparator for target in node.comparisons])
    ops = [_COMPARE[type(target.operator)]() for target in node.comparisons]
    return ast.Compare(left=left, ops=ops, comparators=comparators)


def _call(node: cst.Call) -> Steps:
    func = yield node.func
    args, keywords = yield from arguments(node.args)
    return ast.Call(func=func, args=args, keywords=keywords)


def _subscript(node: cst.Subscript) -> Steps:
    value = yield node.value
    elements = yield from many([element.slice for element in node.slice])
    is_tuple = len(elements) > 1 or isinstance(node.slice[0].comma, cst.Comma)
    if not is_tuple and isinstance(elements[0], ast.Starred):
        is_tuple = True
    index = ast.Tuple(elts=elements, ctx=ast.Load()) if is_tuple else elements[0]
    return ast.Subscript(value=value, slice=index, ctx=ast.Load())


def _index(node: cst.Index) -> Steps:
    value = yield node.value
    return ast.Starred(value=value, ctx=ast.Load()) if node.star == "*" else value


def _slice(node: cst.Slice) -> Steps:
    lower = None if node.lower is None else (yield node.lower)
    upper = None if node.upper is None else (yield node.upper)
    step = None if node.step is None else (yield node.step)
    return ast.Slice(lower=lower, upper=upper, step=step)


def _tuple(node: cst.Tuple) -> Steps:
    return ast.Tuple(elts=(yield from many(node.elements)), ctx=ast.Load())


def _list(node: cst.List) -> Steps:
    return ast.List(elts=(yield from many(node.elements)), ctx=ast.Load())


def _set(node: cst.Set) -> Steps:
    return ast.Set(elts=(yield from many(node.elements)))


def _element(node: cst.Element) -> Steps:
    return (yield node.value)


def _starred(node: cst.StarredElement) -> Steps:
    return ast.Starred(value=(yield node.value), ctx=ast.Load())


def _dict(node: cst.Dict) -> Steps:
    keys: list[ast.expr | None] = []
    values: list[ast.expr] = []
    for element in node.elements:
        keys.append((yield element.key) if isinstance(element, cst.DictElement) else None)
        values.append((yield element.value))
    return ast.Dict(keys=keys, values=values)


def _generators(node: cst.CompFor) -> Generator[cst.CSTNode, Any, list[ast.comprehension]]:
    generators: list[ast.comprehension] = []
    current: cst.CompFor | None = node
    while current is not None:
        target = store((yield current.target))
        source = yield current.iter
        ifs = yield from many([condition.test for condition in current.ifs])
        is_async = int(current.asynchronous is not None)
        generators.append(ast.comprehension(target=target, iter=source, ifs=ifs, is_async=is_async))
        current = current.inner_for_in
    return generators


def _list_comp(node: cst.ListComp) -> Steps:
    elt = yield node.elt
    return ast.ListComp(elt=elt, generators=(yield from _generators(node.for_in)))


def _set_comp(node: cst.SetComp) -> Steps:
    elt = yield node.elt
    return ast.SetComp(elt=elt, generators=(yield from _generators(node.for_in)))


def _generator_exp(node: cst.GeneratorExp) -> Steps:
    elt = yield node.elt
    return ast.GeneratorExp(elt=elt, generators=(yield from _generators(node.for_in)))


def _dict_comp(node: cst.DictComp) -> Steps:
    key = yield node.key
    value = yield node.value
    return ast.DictComp(key=key, value=value, generators=(yield from _generators(node.for_in)))


def _starred_dict_comp(node: cst.StarredDictComp) -> Steps:
    value = yield node.value
    generators = yield from _generators(node.for_in)
    return ast.DictComp(key=ast.Constant(value=None, kind=None), value=value, generators=generators)


def _if_exp(node: cst.IfExp) -> Steps:
    test = yield node.test
    body = yield node.body
    return ast.IfExp(test=test, body=body, orelse=(yield node.orelse))


def _lambda(node: cst.Lambda) -> Steps:
    args = yield from parameters(node.params)
    return ast.Lambda(args=args, body=(yield node.body))


def _await(node: cst.Await) -> Steps:
    return ast.Await(value=(yield node.expression))


def _yield(node: cst.Yield) -> Steps:
    if isinstance(node.value, cst.From):
        return ast.YieldFrom(value=(yield node.value.item))
    return ast.Yield(value=None if node.value is None else (yield node.value))


def _walrus(node: cst.NamedExpr) -> Steps:
    target: Any = store((yield node.target))
    return ast.NamedExpr(target=target, value=(yield node.value))


def _type_parameter(node: cst.TypeParam) -> Steps:
    """Lower `T: bound = default`. Interpreters before 3.12 have no node for it, and no use."""
    param = node.param
    bound = (yield param.bound) if isinstance(param, cst.TypeVar) and param.bound is not None else None
    default = None if node.default is None else (yield node.default)
    fields: dict[str, Any] = {"name": identifier(param.name.value)}
    if isinstance(param, cst.TypeVar):
        fields["bound"] = bound
    if sys.version_info >= (3, 13):
        fields["default_value"] = default
    return ast_node(type(param).__name__, **fields) if sys.version_info >= (3, 12) else None


EXPRESSIONS: dict[type[cst.CSTNode], Any] = {
    cst.Attribute: _attribute, cst.ConcatenatedString: _concatenated, cst.FormattedString: _formatted,
    cst.TemplatedString: _formatted, cst.BinaryOperation: _binary, cst.UnaryOperation: _unary,
    cst.BooleanOperation: _boolean, cst.Comparison: _comparison, cst.Call: _call, cst.Subscript: _subscript,
    cst.Index: _index, cst.Slice: _slice, cst.Tuple: _tuple, cst.List: _list, cst.Set: _set, cst.Element:
    _element, cst.StarredElement: _starred, cst.Dict: _dict, cst.ListComp: _list_comp, cst.SetComp:
    _set_comp, cst.GeneratorExp: _generator_exp, cst.DictComp: _dict_comp, cst.StarredDictComp:
    _starred_dict_comp, cst.IfExp: _if_exp, cst.Lambda: _lambda, cst.Await: _await, cst.Yield: _yield,
    cst.NamedExpr: _walrus, cst.Param: _param, cst.TypeParam: _type_parameter,
}  # fmt: skip
"""Handlers of nodes with children."""

EXPRESSION_LEAVES: dict[type[cst.CSTNode], Any] = {
    cst.Name: _name, cst.Integer: _number, cst.Float: _number, cst.Imaginary: _number, cst.Ellipsis:
    _ellipsis, cst.SimpleString: _simple_string,
}  # fmt: skip
"""Functions for nodes without."""
