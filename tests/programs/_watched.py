"""What syntax does not tell, seen by running: which keys index arrays, which ranges and arrays loops go over.

A family's file is run once more with every subscript, loop and augmented assignment routed through a watcher, which
notes kinds of keys and passes them on.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from programs._program import Program

WATCHED = {
    "a[i] = v",
    "a[mask] = v",
    "a[idx] = v",
    "mask selection",
    "traced slice bounds",
    "array values bound a slice",
    "for over an array",
    "range with a negative step",
    "traced range bounds",
    "x += 1 on an array",
}


class _Notes:
    """What was met during one run; `sites` remembers what each place of the source met before."""

    def __init__(self) -> None:
        self.found: set[str] = set()
        self.sites: dict[int, Any] = {}

    def varies(self, site: int, value: Any) -> bool:
        return bool(self.sites.setdefault(site, value) != value)

    def key(self, key: Any, site: int, stored: bool) -> Any:
        items = key if isinstance(key, tuple) else (key,)
        kinds = {_kind(item) for item in items}
        if "mask" in kinds:
            self.found.add("a[mask] = v" if stored else "mask selection")
        elif "array" in kinds and stored:
            self.found.add("a[idx] = v")
        elif "number" in kinds and stored:
            self.found.add("a[i] = v")
        slices = [(s.start, s.stop, s.step) for s in items if isinstance(s, slice)]
        if any(isinstance(bound, np.integer) for bounds in slices for bound in bounds):
            self.found.add("array values bound a slice")
        if self.varies(site, slices):
            self.found.add("traced slice bounds")
        return key

    def iterated(self, what: Any, site: int) -> Any:
        if isinstance(what, np.ndarray):
            self.found.add("for over an array")
        elif isinstance(what, range):
            if what.step < 0:
                self.found.add("range with a negative step")
            if self.varies(site, (what.start, what.stop, what.step)):
                self.found.add("traced range bounds")
        return what

    def augmented(self, target: Any, value: Any) -> Any:
        if isinstance(target, np.ndarray) and target.ndim:
            self.found.add("x += 1 on an array")
        return value


class _Router(ast.NodeTransformer):
    """Routes subscripts, loops and augmented assignments through the names `_key`, `_iterated` and `_augmented`."""

    def __init__(self) -> None:
        self.site = 0

    def _call(self, name: str, *arguments: ast.expr) -> ast.Call:
        return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])

    def _next(self) -> ast.Constant:
        self.site += 1
        return ast.Constant(self.site)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        # The corpus holds the program already.
        node.decorator_list = [d for d in node.decorator_list if "program" not in ast.unparse(d).partition("(")[0]]
        return self.generic_visit(node)

    def visit_Slice(self, node: ast.Slice) -> ast.AST:
        self.generic_visit(node)
        bounds = (node.lower, node.upper, node.step)
        return self._call("slice", *(bound or ast.Constant(None) for bound in bounds))

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        stored = ast.Constant(isinstance(node.ctx, ast.Store))
        node.slice = self._call("_key", node.slice, self._next(), stored)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.iter = self._call("_iterated", node.iter, self._next())
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name):
            node.value = self._call("_augmented", ast.Name(node.target.id, ast.Load()), node.value)
        return node


def watched(program: Program) -> tuple[Callable[..., Any], _Notes]:
    """The program with its file's functions routed through fresh notes."""
    module: Any = inspect.getmodule(program.function)
    notes = _Notes()
    space = {
        "__name__": module.__name__,
        "_key": notes.key,
        "_iterated": notes.iterated,
        "_augmented": notes.augmented,
    }
    exec(_routed(module), space)
    # What the file did when it was loaded is not part of the program's run.
    notes.found.clear()
    notes.sites.clear()
    return space[program.function.__name__], notes  # type: ignore[return-value]  # it is the function of that name


@functools.cache
def _routed(module: Any) -> Any:
    tree = ast.fix_missing_locations(_Router().visit(ast.parse(inspect.getsource(module))))
    return compile(tree, f"<{module.__name__}, watched>", "exec")


def _kind(item: Any) -> str:
    if isinstance(item, list):
        item = np.asarray(item)
    if isinstance(item, np.ndarray) and item.ndim:
        return "mask" if item.dtype == bool else "array"
    if isinstance(item, int | np.integer | np.ndarray) and not isinstance(item, bool):
        return "number"
    return "other"
