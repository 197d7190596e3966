"""How each libcst statement becomes `ast` statements. See `lowering`.

Each handler returns a list, because one libcst line may hold several statements.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Generator
from typing import Any

import libcst as cst

from safety_gate.lowering_expressions import (
    Steps,
    arguments,
    ast_node,
    dotted,
    identifier,
    many,
    parameters,
    store,
)

_HAS_TYPE_PARAMETERS = sys.version_info >= (3, 12)
_AUGMENTED: dict[type[cst.BaseAugOp], type[ast.operator]] = {
    cst.AddAssign: ast.Add, cst.SubtractAssign: ast.Sub, cst.MultiplyAssign: ast.Mult,
    cst.DivideAssign: ast.Div,
    cst.FloorDivideAssign: ast.FloorDiv, cst.ModuloAssign: ast.Mod, cst.PowerAssign: ast.Pow,
    cst.LeftShiftAssign: ast.LShift, cst.RightShiftAssign: ast.RShift, cst.BitAndAssign: ast.BitAnd,
    cst.BitOrAssign: ast.BitOr, cst.BitXorAssign: ast.BitXor, cst.MatrixMultiplyAssign: ast.MatMult,
}  # fmt: skip


def _expr(node: cst.Expr) -> Steps:
    return [ast.Expr(value=(yield node.value))]


def _pass(node: cst.Pass) -> list[ast.stmt]:
    return [ast.Pass()]


def _break(node: cst.Break) -> list[ast.stmt]:
    return [ast.Break()]


def _continue(node: cst.Continue) -> list[ast.stmt]:
    return [ast.Continue()]


def _return(node: cst.Return) -> Steps:
    return [ast.Return(value=None if node.value is None else (yield node.value))]


def _raise(node: cst.Raise) -> Steps:
    exc = None if node.exc is None else (yield node.exc)
    cause = None if node.cause is None else (yield node.cause.item)
    return [ast.Raise(exc=exc, cause=cause)]


def _assert(node: cst.Assert) -> Steps:
    test = yield node.test
    return [ast.Assert(test=test, msg=None if node.msg is None else (yield node.msg))]


def _del(node: cst.Del) -> Steps:
    target = store((yield node.target), ast.Del)
    bare = isinstance(node.target, cst.Tuple) and not node.target.lpar
    return [ast.Delete(targets=target.elts if bare and isinstance(target, ast.Tuple) else [target])]


def _assign(node: cst.Assign) -> Steps:
    targets = yield from many([target.target for target in node.targets])
    value = yield node.value
    return [ast.Assign(targets=[store(target) for target in targets], value=value, type_comment=None)]


def _ann_assign(node: cst.AnnAssign) -> Steps:
    target: Any = store((yield node.target))
    annotation = yield node.annotation.annotation
    value = None if node.value is None else (yield node.value)
    simple = int(isinstance(node.target, cst.Name) and not node.target.lpar)
    return [ast.AnnAssign(target=target, annotation=annotation, value=value, simple=simple)]


def _aug_assign(node: cst.AugAssign) -> Steps:
    target: Any = store((yield node.target))
    value = yield node.value
    return [ast.AugAssign(target=target, op=_AUGMENTED[type(node.operator)](), value=value)]


def _aliases(names: Any) -> list[ast.alias]:
    if isinstance(names, cst.ImportStar):
        return [ast.alias(name="*", asname=None)]
    aliases: list[ast.alias] = []
    for item in names:
        asname = None if item.asname is None else identifier(item.asname.name.value)
        aliases.append(ast.alias(name=dotted(item.name), asname=asname))
    return aliases


def _import(node: cst.Import | cst.LazyImport) -> list[ast.stmt]:
    return [ast.Import(names=_aliases(node.names))]


def _import_from(node: cst.ImportFrom | cst.LazyImportFrom) -> list[ast.stmt]:
    module = None if node.module is None else dotted(node.module)
    return [ast.ImportFrom(module=module, names=_aliases(node.names), level=len(node.relative))]


def _global(node: cst.Global) -> list[ast.stmt]:
    return [ast.Global(names=[identifier(item.name.value) for item in node.names])]


def _nonlocal(node: cst.Nonlocal) -> list[ast.stmt]:
    return [ast.Nonlocal(names=[identifier(item.name.value) for item in node.names])]


def _orelse(node: cst.If | cst.Else | None) -> Generator[cst.CSTNode, Any, list[ast.stmt]]:
    if node is None:
        return []
    if isinstance(node, cst.If):
        return list((yield node))
    return list((yield node.body))


def _if(node: cst.If) -> Steps:
    test = yield node.test
    body = yield node.body
    return [ast.If(test=test, body=body, orelse=(yield from _orelse(node.orelse)))]


def _while(node: cst.While) -> Steps:
    test = yield node.test
    body = yield node.body
    return [ast.While(test=test, body=body, orelse=(yield from _orelse(node.orelse)))]


def _for(node: cst.For) -> Steps:
    target = store((yield node.target))
    source = yield node.iter
    body = yield node.body
    orelse = yield from _orelse(node.orelse)
    kind = ast.For if node.asynchronous is None else ast.AsyncFor
    return [kind(target=target, iter=source, body=body, orelse=orelse, type_comment=None)]


def _with(node: cst.With) -> Steps:
    items: list[ast.withitem] = []
    for item in node.items:
        context = yield item.item
        target = None if item.asname is None else store((yield item.asname.name))
        items.append(ast.withitem(context_expr=context, optional_vars=target))
    kind = ast.With if node.asynchronous is None else ast.AsyncWith
    return [kind(items=items, body=(yield node.body), type_comment=None)]


def _try(node: cst.Try | cst.TryStar) -> Steps:
    body = yield node.body
    handlers = yield from many(node.handlers)
    orelse = yield from _orelse(node.orelse)
    final: list[ast.stmt] = [] if node.finalbody is None else (yield node.finalbody.body)
    kind = ast.Try if isinstance(node, cst.Try) else ast.TryStar
    return [kind(body=body, handlers=handlers, orelse=orelse, finalbody=final)]


def _handler(node: cst.ExceptHandler | cst.ExceptStarHandler) -> Steps:
    caught = None if node.type is None else (yield node.type)
    name = None if node.name is None else identifier(cst.ensure_type(node.name.name, cst.Name).value)
    return ast.ExceptHandler(type=caught, name=name, body=(yield node.body))


def _type_parameters(node: cst.TypeParameters | None) -> Generator[cst.CSTNode, Any, dict[str, Any]]:
    lowered: list[Any] = [] if node is None else (yield from many(node.params))
    return {"type_params": lowered} if _HAS_TYPE_PARAMETERS else {}


def _function(node: cst.FunctionDef) -> Steps:
    args = yield from parameters(node.params)
    body = yield node.body
    decorators = yield from many([decorator.decorator for decorator in node.decorators])
    returns = None if node.returns is None else (yield node.returns.annotation)
    extra = yield from _type_parameters(node.type_parameters)
    kind = ast.FunctionDef if node.asynchronous is None else ast.AsyncFunctionDef
    return [
        kind(
            name=identifier(node.name.value), args=args, body=body, decorator_list=decorators,
            returns=returns,
            type_comment=None, **extra,
        )
    ]  # fmt: skip


def _class(node: cst.ClassDef) -> Steps:
    bases, keywords = yield from arguments([*node.bases, *node.keywords])
    body = yield node.body
    decorators = yield from many([decorator.decorator for decorator in node.decorators])
    extra = yield from _type_parameters(node.type_parameters)
    return [
        ast.ClassDef(
            name=identifier(node.name.value), bases=bases, keywords=keywords, body=body,
            decorator_list=decorators,
            **extra,
        )
    ]  # fmt: skip


def _type_alias(node: cst.TypeAlias) -> Steps:
    name = store((yield node.name))
    extra = yield from _type_parameters(node.type_parameters)
    value = yield node.value
    if _HAS_TYPE_PARAMETERS:
        return [ast_node("TypeAlias", name=name, value=value, **extra)]
    return [ast.Assign(targets=[name], value=value, type_comment=None)]


def _match(node: cst.Match) -> Steps:
    subject = yield node.subject
    return [ast.Match(subject=subject, cases=(yield from many(node.cases)))]


def _match_case(node: cst.MatchCase) -> Steps:
    pattern = yield node.pattern
    guard = None if node.guard is None else (yield node.guard)
    return ast.match_case(pattern=pattern, guard=guard, body=(yield node.body))


STATEMENTS: dict[type[cst.CSTNode], Any] = {
    cst.Expr: _expr, cst.Return: _return, cst.Raise: _raise, cst.Assert: _assert, cst.Del: _del, cst.Assign:
    _assign, cst.AnnAssign: _ann_assign, cst.AugAssign: _aug_assign, cst.If: _if, cst.While: _while,
    cst.For: _for, cst.With: _with, cst.Try: _try, cst.TryStar: _try, cst.ExceptHandler: _handler,
    cst.ExceptStarHandler: _handler, cst.FunctionDef: _function, cst.ClassDef: _class, cst.TypeAlias:
    _type_alias, cst.Match: _match, cst.MatchCase: _match_case,
}  # fmt: skip
"""Handlers of nodes with children."""

STATEMENT_LEAVES: dict[type[cst.CSTNode], Any] = {
    cst.Pass: _pass, cst.Break: _break, cst.Continue: _continue, cst.Import: _import, cst.ImportFrom:
    _import_from, cst.LazyImport: _import, cst.LazyImportFrom: _import_from, cst.Global: _global,
    cst.Nonlocal: _nonlocal,
}  # fmt: skip
"""Functions for nodes without."""
