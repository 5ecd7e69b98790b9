"""Making syntax nodes: each at a place of the user's own source, so that tracebacks and carets show that."""

from __future__ import annotations

import ast
from typing import Any, TypeVar

HOOKS = "_weft"
LOAD = ast.Load()
STORE = ast.Store()
Node = TypeVar("Node", bound=ast.AST)


def put(node: Node, at: Any) -> Node:
    """The node, standing where `at` stands."""
    new: Any = node
    new.lineno = at.lineno
    new.col_offset = at.col_offset
    new.end_lineno = at.end_lineno
    new.end_col_offset = at.end_col_offset
    return node


def constant(at: Any, value: Any) -> ast.Constant:
    """A literal."""
    return put(ast.Constant(value), at)


def load(at: Any, name: str) -> ast.Name:
    """A read of a variable, as it is."""
    return put(ast.Name(name, LOAD), at)


def store(at: Any, name: str, value: ast.expr) -> ast.Assign:
    """A store into a variable, as it is."""
    return put(ast.Assign([put(ast.Name(name, STORE), at)], value), at)


def hook(at: Any, name: str, *args: ast.expr, keywords: list[ast.keyword] | None = None) -> ast.Call:
    """`_weft.name(*args)`."""
    return method(at, HOOKS, name, *args, keywords=keywords)


def method(at: Any, variable: str, name: str, *args: ast.expr, keywords: list[ast.keyword] | None = None) -> ast.Call:
    """`variable.name(*args)`, which stands where the expression it replaces stood."""
    # Python puts the call of a method on the line where the attribute ends; it is to be where the expression begins.
    line, column = at.lineno, at.col_offset
    owner = ast.Name(variable, LOAD)
    function = ast.Attribute(owner, name, LOAD)
    owner.lineno = owner.end_lineno = function.lineno = function.end_lineno = line
    owner.col_offset = owner.end_col_offset = function.col_offset = function.end_col_offset = column
    call = ast.Call(function, list(args), keywords or [])
    call.lineno, call.col_offset, call.end_lineno, call.end_col_offset = line, column, at.end_lineno, at.end_col_offset
    return call


def attribute(at: Any, name: str) -> ast.Attribute:
    """`_weft.name`."""
    return put(ast.Attribute(load(at, HOOKS), name, LOAD), at)


def arguments(*names: tuple[Any, str]) -> ast.arguments:
    """Parameters by position."""
    return ast.arguments([], [put(ast.arg(name), at) for at, name in names], None, [], [], None, [])


def function(at: Any, body: ast.expr, *names: str) -> ast.Lambda:
    """`lambda names: body`."""
    return put(ast.Lambda(arguments(*((at, name) for name in names)), body), at)


def variables(at: Any, names: tuple[str, ...], ctx: ast.expr_context) -> ast.Tuple:
    """`(x, y)`."""
    return put(ast.Tuple([put(ast.Name(name, ctx), at) for name in names], ctx), at)


def statement(value: ast.expr) -> ast.Expr:
    """An expression as a statement."""
    return put(ast.Expr(value), value)
