"""Random structured programs over arrays: nests of branches and loops, updates, views and aliases, all typed.

Every program runs: shapes always fit, indices are in range, loops end. What they compute means nothing; the point is
that many values share memory, some of them are read again later, and some are carried around.
"""

from __future__ import annotations

import operator
import random
from typing import Any

import numpy as np

import weft

VECTOR, MATRIX = (4,), (3, 4)
_INFIX = [operator.add, operator.sub, operator.mul]


class Scope:
    """A graph being built, and the values that may be read in it."""

    def __init__(self, graph: weft.Graph, rng: random.Random) -> None:
        self.graph = graph
        self.rng = rng
        self.known: list[weft.Node] = []
        self.loop_indices: list[weft.Node] = []

    def note(self, node: weft.Node, known: Any) -> weft.Node:
        node.meta["type"] = known
        self.known.append(node)
        return node

    def call(self, function: Any, *args: Any, type: Any = None, **kwargs: Any) -> weft.Node:
        return self.note(self.graph.call_function(function, args, kwargs), type)

    def of(self, *shapes: Any) -> list[weft.Node]:
        wanted = [spec(*shape) for shape in shapes]
        return [n for n in self.known if n.meta["type"] in wanted]

    def pick(self, *shapes: Any) -> weft.Node:
        # Values that came last are most alive, older ones make for aliases.
        found = self.of(*shapes)
        return self.rng.choice(found[-4:] if self.rng.random() < 0.6 else found)

    def index(self, size: int) -> Any:
        if self.loop_indices and self.rng.random() < 0.5:
            return self.rng.choice(self.loop_indices)
        return self.rng.randrange(-size, size)


def spec(*shape: int, dtype: str = "float64") -> weft.Spec:
    return weft.spec(shape, dtype)


def write(scope: Scope, x: weft.Node, key: Any, value: Any, adds: float = 0.35) -> weft.Node:
    """Replace a part of an array, or add to it."""
    op = weft.index_add if scope.rng.random() < adds else weft.index_update
    return scope.call(op, x, key, value, type=x.meta["type"])


def array_like(scope: Scope, shape: Any) -> Any:
    return scope.pick(shape) if scope.rng.random() < 0.8 else float(scope.rng.randrange(5))


def update_whole(scope: Scope) -> None:
    x = scope.pick(VECTOR, MATRIX)
    write(scope, x, ..., array_like(scope, x.meta["type"].shape))


def update_vector(scope: Scope) -> None:
    rng, x = scope.rng, scope.pick(VECTOR)
    kind = rng.randrange(5)
    key: Any = scope.index(3)
    value: Any = float(rng.randrange(9))
    if kind == 0:
        key, value = slice(None, None, -1), array_like(scope, VECTOR)
    elif kind == 1:
        part = scope.call(operator.getitem, scope.pick(VECTOR), slice(0, 3), type=spec(3))
        key, value = slice(1, None), part
    elif kind == 2:
        key = scope.call(operator.gt, scope.pick(VECTOR), 1.0, type=spec(4, dtype="bool"))
    elif kind == 3:
        key, value = np.array([0, 2, 0]), scope.call(operator.getitem, scope.pick(VECTOR), slice(1, 4), type=spec(3))
    else:
        value = scope.call(operator.getitem, scope.pick(VECTOR), scope.index(3), type=spec())
    write(scope, x, key, value)


def update_matrix(scope: Scope) -> None:
    x, key = scope.pick(MATRIX), scope.index(3)
    if scope.rng.random() < 0.4:
        write(scope, x, (key, slice(1, 3)), float(scope.rng.randrange(9)))
    else:
        write(scope, x, key, array_like(scope, VECTOR))


def update_through_view(scope: Scope) -> None:
    x, key = scope.pick(MATRIX), scope.index(3)
    row = scope.call(operator.getitem, x, key, type=spec(4))
    for _ in range(scope.rng.randrange(1, 3)):
        row = write(scope, row, scope.index(3), float(scope.rng.randrange(9)))
    if scope.rng.random() < 0.3:
        arithmetic(scope)
    back = key if scope.rng.random() < 0.8 else scope.index(3)
    write(scope, x, back, row, adds=0.2)


def view(scope: Scope) -> None:
    kind = scope.rng.randrange(6)
    if kind == 0:
        scope.call(operator.getitem, scope.pick(MATRIX), scope.index(3), type=spec(4))
    elif kind == 1:
        scope.call(operator.getitem, scope.pick(VECTOR), slice(None, None, -1), type=spec(4))
    elif kind == 2:
        scope.call(weft.flip, scope.pick(MATRIX), type=spec(*MATRIX))
    elif kind == 3:
        scope.call(weft.broadcast_to, scope.pick(VECTOR), MATRIX, type=spec(*MATRIX))
    elif kind == 4:
        flat = scope.call(weft.reshape, scope.pick(MATRIX), (12,), type=spec(12))
        scope.call(operator.getitem, flat, slice(2, 6), type=spec(4))
    else:
        scope.call(weft.asarray, scope.pick(MATRIX, VECTOR), type=scope.known[-1].meta["type"])
        scope.known[-1].meta["type"] = scope.known[-1].args[0].meta["type"]


def arithmetic(scope: Scope) -> None:
    shape = scope.rng.choice([VECTOR, MATRIX])
    halved = scope.call(operator.mul, scope.pick(shape), 0.5, type=spec(*shape))
    scope.call(scope.rng.choice(_INFIX[:2]), halved, scope.pick(shape), type=spec(*shape))


def fresh(scope: Scope) -> None:
    shape = scope.rng.choice([VECTOR, MATRIX])
    scope.call(weft.zeros, shape, type=spec(*shape))


def test_of(scope: Scope) -> weft.Node:
    if scope.loop_indices and scope.rng.random() < 0.5:
        return scope.call(operator.gt, scope.rng.choice(scope.loop_indices), scope.rng.randrange(2), type=bool)
    element = scope.call(operator.getitem, scope.pick(VECTOR), scope.index(3), type=spec())
    return scope.call(operator.gt, element, 1.0, type=spec(dtype="bool"))


def inner(scope: Scope, first: list[tuple[str, Any]], operands: list[weft.Node]) -> Scope:
    """A body whose placeholders are those named and one for each operand."""
    body = Scope(weft.Graph(), scope.rng)
    for name, known in first:
        body.note(body.graph.placeholder(name), known)
    for operand in operands:
        placeholder = body.note(body.graph.placeholder(operand.name), operand.meta["type"])
        if operand in scope.loop_indices:
            body.loop_indices.append(placeholder)
    return body


def results(scope: Scope, node: weft.Node, types: list[Any], *path: int) -> None:
    for k, known in enumerate(types):
        if scope.rng.random() < 0.85:
            scope.call(operator.getitem, node, k, type=known)


def branch(scope: Scope, depth: int) -> None:
    rng = scope.rng
    test = test_of(scope)
    operands = list(scope.known)
    types = [spec(*rng.choice([VECTOR, MATRIX])) for _ in range(rng.randrange(1, 4))]
    graphs = []
    for _ in range(2 if rng.random() < 0.8 else 3):
        body = inner(scope, [], operands)
        statements(body, depth - 1, rng.randrange(0, 4))
        body.graph.output(tuple(body.pick(known.shape) for known in types))
        graphs.append(body.graph)
    if len(graphs) == 2:
        node = scope.graph.call_function(weft.cond, (test, *graphs, *operands))
    else:
        index = scope.rng.choice(scope.loop_indices) if scope.loop_indices else rng.randrange(-1, 4)
        node = scope.graph.call_function(weft.switch, (index, graphs, *operands))
    results(scope, node, types)


def moved(body: Scope, carries: list[weft.Node]) -> tuple[weft.Node, ...]:
    """The carries for the next iteration: changed or not, and in another order."""
    outs = []
    for carry in carries:
        known = carry.meta["type"]
        alike = [other for other in carries if other.meta["type"] == known]
        taken = body.rng.choice(alike)
        if body.rng.random() < 0.5:
            taken = write(body, taken, body.index(3), float(body.rng.randrange(9)))
        for _ in range(body.rng.choice([0, 0, 1, 2])):
            taken = body.call(body.rng.choice(_INFIX[:2]), taken, array_like(body, known.shape), type=known)
        outs.append(taken)
    return tuple(outs)


def loop(scope: Scope, depth: int) -> None:
    rng = scope.rng
    operands = list(scope.known)
    starts = [scope.pick(VECTOR, MATRIX) for _ in range(rng.randrange(1, 4))]
    types = [start.meta["type"] for start in starts]
    kind = rng.choice(["for", "for", "while", "scan"])
    first = [(start.name, start.meta["type"]) for start in starts]
    if kind == "for":
        body = inner(scope, [("i", int), *first], operands)
        body.loop_indices.append(body.known[0])
    elif kind == "while":
        body = inner(scope, [("count", int), *first], operands)
        body.loop_indices.append(body.known[0])
    else:
        body = inner(scope, [*first, ("row", spec(4))], operands)
    statements(body, depth - 1, rng.randrange(1, 5))
    after_index = int(kind != "scan")
    carries = body.known[after_index : after_index + len(starts)]
    outs = moved(body, carries) if rng.random() < 0.5 else tuple(body.pick(known.shape) for known in types)
    if kind == "for":
        body.graph.output(outs)
        bounds = rng.choice([(0, 3, 1), (2, -1, -1), (0, 2, 1), (0, 0, 1), (1, 3, 2)])
        args = (*bounds[:2], body.graph, tuple(starts), *operands)
        node = scope.graph.call_function(weft.fori_loop, args, {"step": bounds[2]})
    elif kind == "while":
        more = body.graph.call_function(operator.add, (body.known[0], 1))
        more.meta["type"] = int
        body.graph.output((more, *outs))
        condition = inner(scope, [("count", int), *first], operands)
        below = condition.call(operator.lt, condition.known[0], 2, type=bool)
        if rng.random() < 0.3:
            condition.call(weft.index_update, condition.pick(VECTOR), 0, 9.0, type=spec(4))
            total = condition.call(weft.sum, condition.known[-1], type=spec())
            small = condition.call(operator.lt, total, 1e6, type=spec(dtype="bool"))
            below = condition.call(operator.and_, below, small, type=spec(dtype="bool"))
        condition.graph.output(below)
        node = scope.graph.call_function(weft.while_loop, (condition.graph, body.graph, (0, *starts), *operands))
        types = [int, *types]
    else:
        kept = [out for out in outs if out.meta["type"] == spec(4)]
        rows = ((kept or [body.pick(VECTOR)])[0], body.pick(MATRIX))[: rng.randrange(1, 3)]
        body.graph.output((outs, rows))
        args = (body.graph, tuple(starts), (scope.pick(MATRIX),), *operands)
        whole = scope.graph.call_function(weft.scan, args, {"reverse": rng.random() < 0.3})
        node = scope.graph.call_function(operator.getitem, (whole, 0))
        stacked = scope.graph.call_function(operator.getitem, (whole, 1))
        first_row = scope.call(operator.getitem, stacked, 0, type=spec(3, 4))
        assert first_row is scope.known[-1]
    results(scope, node, types)


def statements(scope: Scope, depth: int, count: int) -> None:
    plain = [
        update_whole,
        update_vector,
        update_vector,
        update_matrix,
        update_through_view,
        update_through_view,
        view,
        view,
        arithmetic,
        fresh,
    ]
    for _ in range(count):
        if depth > 0 and scope.rng.random() < 0.35:
            scope.rng.choice([branch, loop])(scope, depth)
        else:
            scope.rng.choice(plain)(scope)


def program(seed: int) -> weft.Graph:
    """A program of two vectors and two matrices, some of which it writes."""
    rng = random.Random(seed)
    scope = Scope(weft.Graph(), rng)
    inputs = [scope.note(scope.graph.placeholder(name), spec(*shape)) for name, shape in INPUTS]
    statements(scope, rng.randrange(1, 4), rng.randrange(3, 9))
    outputs = tuple(scope.pick(VECTOR, MATRIX) for _ in range(rng.randrange(1, 4)))
    written = [target for target in inputs if rng.random() < 0.5]
    scope.graph.output(outputs, writes=[(target, scope.pick(target.meta["type"].shape)) for target in written])
    return scope.graph


INPUTS = (("u", VECTOR), ("v", VECTOR), ("a", MATRIX), ("b", MATRIX))


def arguments(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.integers(-3, 4, shape).astype(float) for _, shape in INPUTS]
