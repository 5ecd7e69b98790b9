"""Generators of a captured program.

Each runs as Python's own, item by item, as long as nothing traced decides how many items it yields. Where a loop of it
turns out to be traced before the first item, the generator runs at once instead, and collects what it yields in a list.
So it does where a traced value decides on any item, and `list`, `sum` and their like take all of them.
"""

from __future__ import annotations

import ast
import itertools
import operator
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from weft.capture._convert_build import LOAD, constant, load, put, statement, store
from weft.errors import CaptureError
from weft.graph import Node
from weft.graph._control import check, fail
from weft.graph._effects import DRAWS, is_impure

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder
    from weft.capture._region import Region

YIELDED = "_yielded_items"
_CHECKS = (check, fail)


class Effects:
    """Whether what is recorded from now on does more than compute: it writes, prints, draws or changes objects."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder, self.region = recorder, recorder.region
        self.last, self.held, self.written, _ = self.region.mark()
        self.counts = recorder.python_effects, len(recorder.places.log)

    def found(self) -> bool:
        region, recorder = self.region, self.recorder
        if self.counts != (recorder.python_effects, len(recorder.places.log)) or region.written != self.written:
            return True
        if any(region.held.get(buffer) is not node for buffer, node in self.held.items()):
            return True
        recorded = itertools.takewhile(lambda node: node is not self.last, reversed(region.graph.nodes))
        return any(node.op not in ("placeholder", "get_attr") and is_impure(node) for node in recorded)

    def end(self) -> None:
        """Keep what was recorded since, before anything else is."""
        region = self.region
        recorded = [*itertools.takewhile(lambda node: node is not self.last, reversed(region.graph.nodes))]
        self.spoken = any(map(_speaks, recorded))
        self.inputs = {given for node in recorded for given in node.all_input_nodes}
        held = {**self.held, **region.held}
        self.any = self.spoken or any(map(_stores, recorded))
        self.changed = {b for b, node in self.held.items() if region.held.get(b) is not node} | {*region.written}
        self.any |= bool(self.changed) or self.counts[0] != self.recorder.python_effects
        self.read = {b for b, node in held.items() if node in self.inputs or self.held.get(b) in self.inputs}
        self.read |= {b for b, parts in region.views.items() if not self.inputs.isdisjoint(parts.values())}

    def refuse(self) -> None:
        """Refuse them in what gives the items of a loop that ends before its items do."""
        self.recorder.refuse(
            "what gives the items of a loop with `break` or `return` writes, prints, draws random numbers or changes "
            "objects: only running tells how many are taken",
            help="take all of them first: items = list(...), or write one loop that does both",
        )

    def check_body(self, body: Region) -> None:
        """Refuse a loop over the items that does what should come between one item and the next."""
        places = self._inputs_in(body)
        changing = filter(_changes, body.graph.nodes)
        late = not self.read.isdisjoint(body.written) or not self.changed.isdisjoint(body.entered)
        late = late or (self.recorder.untyped and any(not places.isdisjoint(n.all_input_nodes) for n in changing))
        if late or (self.spoken and any(map(_speaks, body.graph.nodes))):
            self.recorder.refuse(
                "a generator and the loop over it take turns in Python, and one of them prints, draws or writes what "
                "the other reads: the graph runs all of the generator first, as only running tells how far it goes",
                help="take all of it first: items = list(...), or write one loop that does both",
            )

    def _inputs_in(self, region: Region) -> set[Node]:
        """What the generator is given, as a region within stands for it."""
        if region is self.region or region.parent is None:
            return self.inputs
        around = self._inputs_in(region.parent)
        return {place for outer, place in region.inputs.items() if outer in around}


def _speaks(node: Node) -> bool:
    """Whether a node prints or draws, in its bodies too."""
    if node.bodies:
        return any(_speaks(inner) for body in node.bodies for inner in body.nodes)
    drawn = getattr(node.target, DRAWS, False) or (is_impure(node) and not is_impure(node, impure_random=False))
    return node.op == "call_function" and (node.target is print or drawn)


def _stores(node: Node) -> bool:
    """Whether a node of a script changes items, in its bodies too."""
    if node.bodies:
        return any(_stores(inner) for body in node.bodies for inner in body.nodes)
    return node.op == "call_function" and node.target in (operator.setitem, operator.delitem, setattr)


def _changes(node: Node) -> bool:
    """Whether a node changes, or may change, what it is given."""
    return node.op not in ("placeholder", "output", "get_attr") and node.target not in _CHECKS and is_impure(node)


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
        self.effects: Effects | None = None  # what it does, where that happens all at once

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
        mark, changes, refused = recorder.region.mark(), recorder.python_effects, recorder.refused
        try:
            if whole:
                self.collected = list(self.native)
                self.ended = True
            else:
                self.peeked = [next(self.native)]
        except StopIteration:
            pass
        except CaptureError:
            if recorder.python_effects != changes or not recorder.branches:
                raise
            recorder.region.go_back(mark)
            recorder.refused = refused
            effects = self.effects = Effects(recorder)
            self.collected = recorder._deeper(recorder.bind(self.function, collect=True), self.args, self.kwargs)
            effects.end()
            recorder.collected.append(self)

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


# Captured themselves, as the program's own functions are.


def mapped(function: Any, iterable: Any) -> Iterator[Any]:
    """What `map` does; captured, as the program's own generators are."""
    for item in iterable:
        yield function(item)


def mapped_rows(function: Any, *iterables: Any) -> Iterator[Any]:
    """The same of several iterables."""
    for row in zip(*iterables, strict=False):
        yield function(*row)


def any_of(items: Any) -> bool:
    """What `any` does, which stops at the first that is true."""
    for item in items:  # noqa: SIM110  # the loop itself is captured
        if item:
            return True
    return False


def all_of(items: Any) -> bool:
    """What `all` does."""
    for item in items:  # noqa: SIM110
        if not item:
            return False
    return True
