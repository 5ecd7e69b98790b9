"""Which features a program's source shows, its helpers' source included: a walk over the syntax tree.

What syntax cannot tell is watched while the program runs (`_watched.py`) or, failing that, declared by its author.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from programs._seen_calls import calls
from programs._seen_statements import statements

# What neither the walk nor a run can tell. A program names these itself; the rest it may not name.
DECLARED = {
    "write through a view",
    "write through a transposed view",
    "write through a reshaped view",
    "write through a strided view",
    "overlap",
    "narrowing write",
    "integer wrap-around",
    # A run shows bounds that change in a loop; bounds that are arguments must be named.
    "traced slice bounds",
    "trip count is an argument",
    "shrinking array",
    "weft.wrap",
}


def seen(function: Callable[..., Any]) -> set[str]:
    """The features visible in a function and in everything of its own module that it reaches."""
    found: set[str] = set()
    for k, (part, tree) in enumerate(parts(function)):
        found |= statements(tree) | calls(tree)
        if k and isinstance(part, FunctionType) and part.__qualname__ == part.__name__:
            found.add("helper function")
        if k and _writes_parameter(tree):
            found.add("write in a helper")
        if isinstance(part, FunctionType):
            found |= _constants(part) | _passed(part, tree)
            if part.__closure__:
                found.add("closure")
    return found


def parts(function: Callable[..., Any]) -> Iterator[tuple[Any, ast.AST]]:
    """The function, then each function and class of the same module reached from it, with its tree."""
    waiting: list[Any] = [function]
    known: set[int] = set()
    while waiting:
        part = waiting.pop(0)
        if id(part) in known:
            continue
        known.add(id(part))
        tree = _tree(part)
        yield part, tree
        space = getattr(inspect.getmodule(part), "__dict__", {})
        for name in _names(tree):
            value = space.get(name)
            value = value.__func__ if isinstance(value, MethodType) else value
            if isinstance(value, FunctionType | type) and value.__module__ == function.__module__:
                waiting.append(value)
            elif getattr(type(value), "__module__", "") == function.__module__:
                waiting.append(type(value))


def _tree(part: Any) -> ast.AST:
    node: Any = ast.parse(textwrap.dedent(inspect.getsource(part))).body[0]
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        # The decorator holds the makers of arguments; they are not part of the program.
        node.decorator_list = []
    return node


def _names(tree: ast.AST) -> list[str]:
    return [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]


def _constants(function: FunctionType) -> set[str]:
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, int | float | complex | tuple | np.ndarray) and not isinstance(value, ModuleType):
            return {"module constant"}
    return set()


def _passed(function: FunctionType, tree: ast.AST) -> set[str]:
    """Functions handed to functions: a lambda, an inner function, or one of the module's."""
    inner = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for call in ast.walk(tree):
        if isinstance(call, ast.Call):
            for given in [*call.args, *(keyword.value for keyword in call.keywords)]:
                name = given.id if isinstance(given, ast.Name) else ""
                if isinstance(given, ast.Lambda) or name in inner:
                    return {"function as argument"}
                if isinstance(function.__globals__.get(name), FunctionType):
                    return {"function as argument"}
    return set()


def _writes_parameter(tree: ast.AST) -> bool:
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            given = {a.arg for a in function.args.args}
            for node in ast.walk(function):
                if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                    base: ast.AST = node.value
                    if isinstance(base, ast.Name) and base.id in given:
                        return True
    return False
