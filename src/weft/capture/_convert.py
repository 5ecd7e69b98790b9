"""Functions whose control flow, calls, subscripts and assignments go through hooks.

`convert(f).bind(f, hooks)` is a function with f's signature, globals and closure. Under `PlainHooks` it means what f
means; under others it builds a graph. `weft.capture._plain` lists the hooks; converted code reaches them through a free
variable `_weft`:

    if c: x = 1          for _weft_1 in _weft.if_(SITE, c, (x,)):
                             with _weft_1:
                                 if _weft_1.taken: x = _weft.assign("x", 1)
                             (x,) = _weft_1.leave((x,))
"""

from __future__ import annotations

import ast
import threading
import warnings
import weakref
from collections.abc import Callable
from itertools import count
from types import CellType, CodeType, FunctionType
from typing import Any

from weft.capture._convert_build import HOOKS, constant
from weft.capture._convert_compile import compile_inside, enclosing_class
from weft.capture._convert_functions import Functions
from weft.capture._convert_match import Matches
from weft.capture._convert_scope import Walker, is_builtin, resolve
from weft.capture._convert_site import Site
from weft.capture._convert_source import find
from weft.capture._generators import Collecting
from weft.errors import CaptureError

__all__ = ["Converted", "Site", "convert", "is_converted"]

_LOCK = threading.RLock()
# By identity: code objects compare by content, and equal ones may come from different places.
_CACHE: dict[tuple[int, bool], tuple[weakref.ref[CodeType], Converted]] = {}
_MADE: weakref.WeakValueDictionary[int, CodeType] = weakref.WeakValueDictionary()

# Attributes of functions in later versions of Python. Since 3.14 annotations are worked out when they are asked for,
# and may fail until then.
_LATER = ("__type_params__", "__annotate__")


class Converted:
    """The converted code of a function, to be bound to functions that share the original's code."""

    def __init__(self, code: CodeType, sites: tuple[Site, ...], outer_names: tuple[str, ...]) -> None:
        self.code = code
        self.sites = sites
        self.outer_names = outer_names
        self.file = code.co_filename
        self.first_line = code.co_firstlineno

    def __repr__(self) -> str:
        return f"<converted {self.code.co_qualname} of {self.file}:{self.first_line}>"

    def bind(self, function: FunctionType, hooks: Any) -> FunctionType:
        """A function like the given one that runs under the hooks.

        Hooks with a method `bound_to(converted, function)` say there which object the code is to use.
        """
        choose: Callable[[Converted, FunctionType], Any] | None = getattr(hooks, "bound_to", None)
        used = hooks if choose is None else choose(self, function)
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        cells[HOOKS] = CellType(used)
        closure = tuple(cells[name] for name in self.code.co_freevars)
        made = FunctionType(self.code, function.__globals__, function.__name__, function.__defaults__, closure)
        made.__kwdefaults__ = function.__kwdefaults__
        made.__qualname__ = function.__qualname__
        made.__doc__ = function.__doc__
        made.__module__ = function.__module__
        if not hasattr(function, "__annotate__"):
            made.__annotations__ = function.__annotations__
        for name in _LATER:
            if hasattr(function, name):
                setattr(made, name, getattr(function, name))
        made.__dict__.update(function.__dict__)
        return made


def convert(function: Callable[..., Any], collect: bool = False) -> Converted:
    """The converted form of a Python function, made once for its code.

    With `collect`, of a generator function: one that gives the list of what it yields.
    """
    if not isinstance(function, FunctionType):
        what = getattr(function, "__qualname__", None) or repr(function)
        raise CaptureError(f"{what} cannot be captured: it is not a Python function", help="mark it with weft.wrap")
    code = function.__code__
    key = (id(code), collect)
    with _LOCK:
        known = _CACHE.get(key)
        if known is not None and known[0]() is code:
            return known[1]
        with warnings.catch_warnings():
            # Python has warned already, when it compiled the program.
            warnings.simplefilter("ignore")
            try:
                converted = _convert(function, collect)
            except (RecursionError, SyntaxError) as error:
                where = f"{code.co_filename}:{code.co_firstlineno}"
                why = f"{code.co_qualname} cannot be captured: it is nested too deeply ({error})"
                raise CaptureError(why, where=where, help="move a part of it into a function of its own") from error
        _CACHE[key] = (weakref.ref(code, lambda _: _CACHE.pop(key, None)), converted)
        return converted


def is_converted(function: Any) -> bool:
    """Whether the function is the result of a `bind`, or was defined inside one."""
    code = getattr(function, "__code__", None)
    return code is not None and is_converted_code(code)


def is_converted_code(code: CodeType) -> bool:
    """Whether the code was made by a conversion."""
    return _MADE.get(id(code)) is code


def _convert(function: FunctionType, collect: bool) -> Converted:
    code = function.__code__
    node, lines = find(function)
    if collect:
        assert isinstance(node, ast.FunctionDef)
        Collecting(function.__name__).function(node)
    if any("match" in line for line in lines[node.lineno - 1 : node.end_lineno]):
        Matches().visit(node)
    if any(":=" in line for line in lines[node.lineno - 1 : node.end_lineno]):
        _WalrusTests().visit(node)
    walker = Walker(enclosing_class(code.co_qualname))
    if isinstance(node, ast.Lambda):
        walker.expression(node)
    else:
        _bare(node)
        walker.definition(node)
    node.weft_scope.parent = None  # type: ignore[union-attr]  # an attribute of our own
    outer = resolve(walker.scopes)
    namespace, free = function.__globals__, frozenset(code.co_freevars)
    converter = Functions(code.co_filename, lines, free, namespace, count(1))
    converter.convert_function(node)
    made = compile_inside(node, code, HOOKS)
    _register(made)
    names = tuple(sorted(name for name in outer if name in free or not is_builtin(name, namespace)))
    return Converted(made, tuple(converter.sites), names)


class _WalrusTests(ast.NodeTransformer):
    """Tests that assign, as statements: what is assigned is then a variable of the branch or loop.

    `while (x := f()) > 0: BODY` is `while True: if not (x := f()) > 0: break; BODY`, with one such `if` for each part
    of an `and`. `if a and (x := f()) > 0: BODY` is `if a: if (x := f()) > 0: BODY`.
    """

    def visit_While(self, node: ast.While) -> ast.While:
        self.generic_visit(node)
        test = node.test
        if node.orelse or not _assigns(test):
            return node
        leaves: list[ast.stmt] = []
        for part in _conjunction(test):
            over = ast.copy_location(ast.UnaryOp(ast.copy_location(ast.Not(), part), part), part)
            leaves.append(ast.copy_location(ast.If(over, [ast.copy_location(ast.Break(), part)], []), part))
        node.test, node.body = constant(test, True), [*leaves, *node.body]
        return node

    def visit_If(self, node: ast.If) -> ast.If:
        self.generic_visit(node)
        parts = _conjunction(node.test)
        if node.orelse or not _assigns(node.test):
            return node
        node.test = parts[0]
        for part in reversed(parts[1:]):
            node.body = [ast.copy_location(ast.If(part, node.body, []), part)]
        return node


def _assigns(test: ast.expr) -> bool:
    return any(isinstance(part, ast.NamedExpr) for part in ast.walk(test))


def _conjunction(test: ast.expr) -> list[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _bare(node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """Take off what is evaluated where the function is defined; the first line stays that of its decorators."""
    node.decorator_list = [constant(node.decorator_list[0], None)] if node.decorator_list else []
    node.returns = None
    node.args.defaults = [constant(each, None) for each in node.args.defaults]
    node.args.kw_defaults = [None if each is None else constant(each, None) for each in node.args.kw_defaults]
    arguments = node.args
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if each is not None:
            each.annotation = None
    if hasattr(node, "type_params"):
        node.type_params = []


def _register(code: CodeType) -> None:
    _MADE[id(code)] = code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            _register(each)
