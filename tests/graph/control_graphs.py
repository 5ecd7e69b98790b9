"""Graphs with control flow for the tests of this folder, built by hand, and what they mean in plain Python."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import weft
from weft.graph import Graph, Node
from weft.graph._control import check, fail


def body(names: str, build: Callable[..., Any]) -> Graph:
    """A graph of the inputs that `names` lists; `build(call, *inputs)` gives its output."""
    graph = Graph()
    inputs = [graph.placeholder(name) for name in names.split()]
    graph.output(build(lambda function, *args: graph.call_function(function, args), *inputs))
    return graph


def items(graph: Graph, node: Node, count: int) -> tuple[Node, ...]:
    return tuple(graph.call_function(operator.getitem, (node, k)) for k in range(count))


def cond_graph() -> Graph:
    """`(x + y, 1) if x.sum() > 0 else (x - y, 2)`."""
    graph = Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    pred = graph.call_function(operator.gt, (graph.call_function(weft.sum, (x,)), 0))
    true = body("x y", lambda call, x, y: (call(operator.add, x, y), 1))
    false = body("x y", lambda call, x, y: (call(operator.sub, x, y), 2))
    graph.output(items(graph, graph.call_function(weft.cond, (pred, true, false, x, y), name="chosen"), 2))
    return graph


def cond_python(x: Any, y: Any) -> Any:
    return (x + y, 1) if x.sum() > 0 else (x - y, 2)


def switch_graph() -> Graph:
    """`[sin, cos, exp][clamped k](x)`."""
    graph = Graph()
    k, x = graph.placeholder("k"), graph.placeholder("x")
    branches = [body("x", lambda call, x, f=f: (call(f, x),)) for f in (weft.sin, weft.cos, weft.exp)]
    graph.output(items(graph, graph.call_function(weft.switch, (k, branches, x)), 1)[0])
    return graph


def while_graph() -> Graph:
    """Newton's method for a square root, and how many steps it took."""
    differs = body(
        "r n a",
        lambda call, r, n, a: call(operator.gt, call(abs, call(operator.sub, call(operator.mul, r, r), a)), 1e-9),
    )
    step = body(
        "r n a",
        lambda call, r, n, a: (
            call(operator.truediv, call(operator.add, r, call(operator.truediv, a, r)), 2),
            call(operator.add, n, 1),
        ),
    )
    graph = Graph()
    a = graph.placeholder("a")
    loop = graph.call_function(weft.while_loop, (differs, step, (a, 0), a), name="newton")
    graph.output(items(graph, loop, 2))
    return graph


def while_python(a: Any) -> Any:
    r, n = a, 0
    while abs(r * r - a) > 1e-9:
        r, n = (r + a / r) / 2, n + 1
    return r, n


def fori_graph() -> Graph:
    """`for i in range(n, 0, -2): s, t = s * i + x, t + s`."""
    turn = body(
        "i s t x",
        lambda call, i, s, t, x: (call(operator.add, call(operator.mul, s, i), x), call(operator.add, t, s)),
    )
    graph = Graph()
    n, x = graph.placeholder("n"), graph.placeholder("x")
    loop = graph.call_function(weft.fori_loop, (n, 0, turn, (x, x), x), {"step": -2})
    graph.output(items(graph, loop, 2))
    return graph


def fori_python(n: int, x: Any) -> Any:
    s = t = x
    for i in range(n, 0, -2):
        s, t = s * i + x, t + s
    return s, t


def scan_graph(reverse: bool = False) -> Graph:
    """`for a, b in zip(xs, ys): s = s * w + a; out.append((s, b * 2))`."""
    turn = body(
        "s a b w",
        lambda call, s, a, b, w: (
            (call(operator.add, call(operator.mul, s, w), a),),
            (s, call(operator.mul, b, 2)),
        ),
    )
    graph = Graph()
    s, xs, ys, w = (graph.placeholder(name) for name in ("s", "xs", "ys", "w"))
    loop = graph.call_function(weft.scan, (turn, (s,), (xs, ys), w), {"reverse": reverse} if reverse else {})
    carries, rows = items(graph, loop, 2)
    graph.output((items(graph, carries, 1)[0], *items(graph, rows, 2)))
    return graph


def scan_python(s: Any, xs: Any, ys: Any, w: Any, reverse: bool = False) -> Any:
    rows = []
    for a, b in reversed(list(zip(xs, ys, strict=True))) if reverse else zip(xs, ys, strict=True):
        rows.append((s, b * 2))
        s = s * w + a
    ordered = rows[::-1] if reverse else rows
    return s, np.array([row[0] for row in ordered]), np.array([row[1] for row in ordered])


def nested_graph() -> Graph:
    """A loop with a branch in it, an assert, a print and a raise: see `nested_python`."""

    def turn(call: Any, i: Any, s: Any, x: Any) -> Any:
        even = call(operator.eq, call(operator.mod, i, 2), 0)
        call(check, call(operator.lt, i, 100), "too many")
        call(print, "turn", i)
        true = body("s x", lambda call, s, x: (call(operator.add, s, x),))
        false = body("s x", lambda call, s, x: (call(weft.sin, s),))
        big = body("s", lambda call, s: call(fail, ValueError, "too big", s))
        same = body("s", lambda call, s: (s,))
        inner = call(weft.cond, even, true, false, s, x)
        small = call(operator.getitem, inner, 0)
        checked = call(weft.cond, call(operator.gt, call(weft.max, small), 50.0), big, same, small)
        return (call(operator.getitem, checked, 0),)

    graph = Graph()
    n, x = graph.placeholder("n"), graph.placeholder("x")
    loop = graph.call_function(weft.fori_loop, (0, n, body("i s x", turn), (x,), x))
    graph.output(items(graph, loop, 1)[0])
    return graph


def nested_python(n: int, x: Any) -> Any:
    s = x
    for i in range(n):
        assert i < 100, "too many"
        print("turn", i)
        s = s + x if i % 2 == 0 else np.sin(s)
        if s.max() > 50.0:
            raise ValueError("too big", s)
    return s


def writing_graph() -> Graph:
    """`a[0] = b.sum(); a, b exchanged; return a + b` as it was before."""
    graph = Graph()
    a, b = graph.placeholder("a"), graph.placeholder("b")
    new = graph.call_function(weft.index_update, (a, 0, graph.call_function(weft.sum, (b,))))
    total = graph.call_function(operator.add, (a, b))
    graph.output(total, writes=[(b, new), (a, b)])
    return graph
