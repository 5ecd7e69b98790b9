"""Generators of a captured program.

Each runs as Python's own, item by item, as long as nothing traced decides how many items it yields. Where a loop of it
turns out to be traced before the first item, the generator runs at once instead, and collects what it yields in a list.
So it does where a traced value decides on any item, and `list`, `sum` and their like take all of them.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from weft.capture._convert_build import LOAD, constant, load, put, statement, store
from weft.errors import CaptureError

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

YIELDED = "_yielded_items"


class Generated:
    """What a call of a generator function gives in a captured program, or one of `filter`: an object of that `kind`."""

    def __init__(
        self,
        recorder: Recorder,
        function: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        kind: type = types.GeneratorType,
    ) -> None:
        self.recorder, self.kind = recorder, kind
        self.function, self.args, self.kwargs = function, args, kwargs
        self.native = recorder._deeper(recorder.bind(function), args, kwargs)
        self.peeked: list[Any] = []  # the first item, where it was asked for already
        self.begun = False
        self.collected: list[Any] | None = None
        self.region = recorder.region
        self.taken = False  # whether the program has had its items
        self.ended = False  # whether it is known to have no more of them

    @property  # type: ignore[misc]  # a class has none to write to
    def __class__(self) -> Any:
        """What the program is told."""
        return self.kind

    def asked(self, function: Any, *args: Any) -> Any:
        """What a builtin function tells of it that takes no items."""
        if function is type:
            return self.kind
        if function is len:
            raise TypeError(f"object of type {self.kind.__name__!r} has no len()")
        return function(self, *args)

    def settled(self) -> Any:
        """The list of all it yields where that had to be collected, else itself."""
        if not self.begun:
            self._begin()
        return self if self.collected is None else self._take(self.collected)

    def whole(self) -> Any:
        """The list of all it yields, for who takes everything before anything else happens."""
        if not self.begun:
            self._begin(whole=True)
        return self if self.collected is None else self._take(self.collected)

    def _take(self, items: list[Any]) -> list[Any]:
        if self.taken and self.ended and self.recorder.region is self.region:
            return []
        if self.taken or self.recorder.region is not self.region:
            how = "are taken a second time" if self.taken else "made outside a branch or loop are taken inside it"
            self.recorder.refuse(
                f"the items of a generator {how}, and only running tells which are left",
                help="make a list of it where it is made: items = list(...)",
            )
        self.taken = True
        return items

    def _begin(self, whole: bool = False) -> None:
        self.begun = True
        recorder = self.recorder
        mark, effects, refused = recorder.region.mark(), recorder.python_effects, recorder.refused
        try:
            if whole:
                self.collected = list(self.native)
                self.ended = True
            else:
                self.peeked = [next(self.native)]
        except StopIteration:
            pass
        except CaptureError:
            if recorder.python_effects != effects or not recorder.branches:
                raise
            recorder.region.go_back(mark)
            recorder.refused = refused
            self.collected = recorder._deeper(recorder.bind(self.function, collect=True), self.args, self.kwargs)

    def __iter__(self) -> Iterator[Any]:
        found = self.settled()
        return self if found is self else iter(found)

    def __next__(self) -> Any:
        if not self.begun:
            self._begin()
        if self.peeked:
            return self.peeked.pop()
        if self.collected is not None:
            self.recorder.refuse(
                "next() of a generator whose loop is traced", help="loop over it with `for`, or make a list of it"
            )
        return next(self.native)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.native, name)


class Collecting(ast.NodeTransformer):
    """A generator function as one that gives the list of what it yields."""

    def __init__(self, name: str) -> None:
        self.name = name

    def function(self, node: ast.FunctionDef) -> None:
        first = 1 if ast.get_docstring(node, clean=False) is not None else 0
        head, body = node.body[:first], node.body[first:]
        at = (body or head)[0]
        begin = store(at, YIELDED, put(ast.List([], LOAD), at))
        body = [self.visit(each) for each in body]
        node.body = [*head, begin, *body, put(ast.Return(load(at, YIELDED)), node.body[-1])]

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        value = node.value
        if isinstance(value, ast.Yield):
            item = constant(value, None) if value.value is None else self.visit(value.value)
            return statement(self._call(value, "append", item))
        if isinstance(value, ast.YieldFrom):
            return statement(self._call(value, "extend", self.visit(value.value)))
        self.generic_visit(node)
        return node

    def _call(self, at: ast.expr, method: str, item: ast.expr) -> ast.expr:
        return put(ast.Call(put(ast.Attribute(load(at, YIELDED), method, LOAD), at), [item], []), at)

    def visit_Return(self, node: ast.Return) -> ast.Return:
        node.value = load(node, YIELDED)
        return node

    def visit_Yield(self, node: Any) -> Any:
        raise CaptureError(
            f"{self.name} is a generator that receives values, and its loop at or around line {node.lineno} is traced",
            help="let it only yield, or write it as a loop",
        )

    visit_YieldFrom = visit_Yield

    def visit_FunctionDef(self, node: Any) -> Any:
        """A function inside: what it yields is its own."""
        return node

    visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = visit_FunctionDef
