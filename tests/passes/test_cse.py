"""Common subexpressions: merged where calls are the same to the bit, apart everywhere else."""

from __future__ import annotations

import operator
from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from typed_graphs import body, build, run, same_bits, targets

import weft
from weft.graph import Graph
from weft.passes import eliminate_common

f = Graph.call_function
Pair = namedtuple("Pair", "a b")
NAN = float("nan")


def twice(first: tuple[Any, ...], second: tuple[Any, ...], target: Any = weft.add) -> bool:
    """Whether two calls with these further arguments are merged."""
    graph = Graph()
    x = graph.placeholder("x")
    a, b = f(graph, target, (x, *first)), f(graph, target, (x, *second))
    graph.output(f(graph, weft.stack, ([a, b],)))
    changes = eliminate_common(graph)
    graph.lint()
    assert len(changes) == (a not in graph.nodes) + (b not in graph.nodes)
    return bool(changes)


@pytest.mark.parametrize(
    "value",
    [
        *(1, 1.0, True, 0.0, -0.0, NAN, 1j, "a", None, ..., np.float32(1), np.int8(1), np.dtype("f4"), np.float32),
        *(slice(1, 2), (1, (2.0,)), [1, 2], {"a": 1}, Pair(1, 2), int),
    ],
    ids=repr,
)
def test_equal_arguments_merge(value: Any) -> None:
    assert twice((value,), (value,))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, 1.0),
        (1, True),
        (1.0, np.float64(1)),
        (0.0, -0.0),
        (0j, -0j),
        (complex(0.0, -0.0), complex(0.0, 0.0)),
        (np.float32(1), np.float64(1)),
        (np.float32(0), np.float32(-0.0)),
        (np.int8(1), np.int16(1)),
        (np.dtype("f4"), np.float32),
        (np.dtype("f4"), np.dtype(">f4")),
        (slice(1, 2), slice(1, 2, 1)),
        (slice(0, 1), slice(0.0, 1)),
        ((1, 2), [1, 2]),
        ((1, 2), Pair(1, 2)),
        ((1,), (True,)),
        ({"a": 1}, {"a": 1.0}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (None, False),
        ("1", 1),
        (np.zeros(2), np.zeros(2)),
    ],
    ids=repr,
)
def test_different_arguments_stay_apart(a: Any, b: Any) -> None:
    assert not twice((a,), (b,))


@pytest.mark.parametrize(
    ("target", "merged"),
    [
        (weft.add, True),
        (operator.add, True),
        (np.add, True),
        (max, True),
        (weft.random.normal, False),
        (np.random.normal, False),
        (print, False),
        (lambda x, y: x, False),
        (isinstance, False),
    ],
)
def test_only_what_is_pure_is_merged(target: Any, merged: bool) -> None:
    assert twice((1,), (1,), target) == merged


def test_keywords_count_by_name() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    calls = [
        f(graph, weft.sum, (x,), {"axis": 0, "keepdims": True}),
        f(graph, weft.sum, (x,), {"keepdims": True, "axis": 0}),
        f(graph, weft.sum, (x,), {"keepdims": False, "axis": 0}),
    ]
    graph.output(f(graph, operator.add, (f(graph, weft.stack, (calls[:2],)), calls[2])))
    assert [change.node for change in eliminate_common(graph)] == ["sum_2"]


def test_methods_and_modules_stay() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    graph.output([graph.call_method("copy", (x,)), graph.call_method("copy", (x,))])
    assert not eliminate_common(graph)


@pytest.mark.parametrize("write", ["setitem", "method", "opaque"])
def test_reads_around_a_write_stay_apart(write: str) -> None:
    def change(x: Any) -> None:
        x[0] = 9.0

    graph = Graph()
    x = graph.placeholder("x")
    before = f(graph, operator.getitem, (x, 0))
    if write == "setitem":
        f(graph, operator.setitem, (x, 0, 9.0))
    elif write == "method":
        graph.call_method("fill", (x, 9.0))
    else:
        f(graph, change, (x,))
    graph.output(f(graph, operator.sub, (f(graph, operator.getitem, (x, 0)), before)))
    assert not eliminate_common(graph)
    assert run(graph, np.zeros(2)) == 9.0


def test_a_write_in_a_body_counts() -> None:
    def writes(g: Graph, x: Any) -> Any:
        f(g, operator.setitem, (x, 0, 9.0))
        return (x,)

    inner = body(writes, 1)
    graph = Graph()
    p, x = graph.placeholder("p"), graph.placeholder("x")
    a = f(graph, operator.getitem, (x, 0))
    f(graph, weft.cond, (p, inner, inner, x))
    graph.output(f(graph, operator.sub, (f(graph, operator.getitem, (x, 0)), a)))
    assert not eliminate_common(graph)
    assert run(graph, True, np.zeros(2)) == 9.0


def test_effects_do_not_stand_between(capsys: Any) -> None:
    def make(g: Graph, x: Any) -> Any:
        a = f(g, weft.exp, (x,))
        f(g, print, ("one", a))
        b = f(g, weft.exp, (x,))
        f(g, print, ("two", b))
        f(g, print, ("two", b))
        return f(g, weft.add, (a, b))

    graph = build(make, 0.0)
    capsys.readouterr()
    assert eliminate_common(graph).rules == {"same call": 1}
    run(graph, 0.0)
    assert capsys.readouterr().out == "one 1.0\ntwo 1.0\ntwo 1.0\n"


def test_equal_bodies_are_equal() -> None:
    def loop(start: int, factor: float) -> Graph:
        return body(lambda g, i, x: (f(g, weft.multiply, (x, factor)),), 2)

    def make(g: Graph, n: Any, x: Any) -> Any:
        loops = [f(g, weft.fori_loop, (0, n, loop(0, k), (x,))) for k in (2.0, 2.0, 3.0, 2)]
        return f(g, weft.stack, ([f(g, operator.getitem, (one, 0)) for one in loops],))

    graph = build(make, 3, np.ones(2))
    before = run(graph, 3, np.ones(2))
    changes = eliminate_common(graph)
    assert [change.node for change in changes] == ["fori_loop_1", "getitem_1"]
    assert same_bits(run(graph, 3, np.ones(2)), before)


def test_what_is_recomputed_stays() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    a, b, c = (f(graph, weft.exp, (x,)) for _ in range(3))
    b.meta["recomputed"] = True
    graph.output(f(graph, weft.stack, ([a, b, c],)))
    assert [change.node for change in eliminate_common(graph)] == [c.name]


def test_two_results_stay_two_arrays() -> None:
    graph = build(lambda g, x: (f(g, weft.exp, (x,)), f(g, weft.exp, (x,))), np.ones(3))
    assert not eliminate_common(graph)
    graph = build(lambda g, x: (f(g, weft.exp, (x,)), f(g, weft.sum, (f(g, weft.exp, (x,)),))), np.ones(3))
    assert eliminate_common(graph).rules == {"same call": 1}


def test_attributes_read_twice_are_read_once() -> None:
    layer = weft.nn.Linear(2, 2)
    graph = Graph(layer)
    x = graph.placeholder("x")
    a, b = graph.get_attr("weight"), graph.get_attr("weight")
    graph.output(f(graph, weft.add, (f(graph, weft.matmul, (x, a)), f(graph, weft.matmul, (x, b)))))
    assert eliminate_common(graph).rules == {"same call": 2}
    assert len(targets(graph)) == 2
