"""Compiling one function by itself, in the surroundings it was defined in.

The function is compiled inside a factory whose parameters are its free variables, and inside a class of the name that
`__private` names are mangled with. Only its code object is kept.
"""

from __future__ import annotations
import __future__

import ast
from copy import copy
from functools import reduce
from types import CodeType
from typing import Any, cast

_FUTURE = reduce(int.__or__, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names))
_OPTIMIZED = 0x01  # CO_OPTIMIZED: set for functions, not for classes
_FACTORY = "_weft_factory"


def enclosing_class(qualname: str) -> str | None:
    """The class whose name mangles the private names of the function so called."""
    parts = qualname.split(".")
    at = len(parts) - 1
    while at >= 1 and not parts[at - 1].isidentifier():
        at -= 2 if parts[at - 1] == "<locals>" else 1  # the latter for a comprehension outside of functions
    return parts[at - 1] if at >= 1 else None


def mangled(name: str, class_name: str | None) -> str:
    """The name as Python stores it inside a class."""
    if class_name is None or not name.startswith("__") or name.endswith("__") or "." in name:
        return name
    stripped = class_name.lstrip("_")
    return f"_{stripped}{name}" if stripped else name


def compile_inside(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, code: CodeType, *more: str) -> CodeType:
    """The code of the function's tree, compiled where `code` was; `more` are further free variables."""
    node = _bare(node)
    place = {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 0}
    body: ast.stmt = ast.Expr(node, **place) if isinstance(node, ast.Lambda) else node
    class_name = enclosing_class(code.co_qualname)
    if class_name is not None:
        # Written out: the parameters of ast's constructors differ between versions of Python.
        wrapper = cast(ast.ClassDef, ast.parse("class _weft_class: pass").body[0])
        wrapper.name, wrapper.body = class_name, [body]
        body = wrapper
    tree = ast.parse(f"def {_FACTORY}({', '.join(dict.fromkeys((*more, *code.co_freevars)))}): pass")
    defined = class_name or getattr(node, "name", None)
    # The factory must not seem to own the name: the function may mean the global one.
    known = defined is None or defined in code.co_freevars
    declared = [] if known else ast.parse(f"global {defined}").body
    cast(ast.FunctionDef, tree.body[0]).body = [*declared, body]
    module = compile(tree, code.co_filename, "exec", flags=code.co_flags & _FUTURE, dont_inherit=True)
    found = _inner(module, _FACTORY)
    if class_name is not None:
        found = _inner(found, class_name)
    found = _inner(found, "<lambda>" if isinstance(node, ast.Lambda) else node.name)
    same = found.co_qualname == code.co_qualname
    return found if same else _requalified(found, found.co_qualname, code.co_qualname)


def _bare(node: Any) -> Any:
    """A copy without what is evaluated outside the function, which may hold functions of the same name."""
    made = copy(node)
    made.args = copy(node.args)
    made.args.defaults = [ast.copy_location(ast.Constant(None), each) for each in node.args.defaults]
    made.args.kw_defaults = [each and ast.copy_location(ast.Constant(None), each) for each in node.args.kw_defaults]
    if hasattr(node, "type_params"):
        made.type_params = []
    return made


def _inner(code: CodeType, name: str) -> CodeType:
    return next(each for each in code.co_consts if isinstance(each, CodeType) and each.co_name == name)


def _requalified(code: CodeType, base: str, wanted: str) -> CodeType:
    """The code, and all code in it, with the qualified names it had in the program."""
    old = name = code.co_qualname
    if name == base or name.startswith(base + "."):
        name = wanted + name[len(base) :]
    constants = [_requalified(c, base, wanted) if isinstance(c, CodeType) else c for c in code.co_consts]
    if not code.co_flags & _OPTIMIZED and old in constants:
        constants[constants.index(old)] = name  # a class body stores its own qualified name
    return code.replace(co_consts=tuple(constants), co_qualname=name)
