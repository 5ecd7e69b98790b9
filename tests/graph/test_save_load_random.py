"""load(save(g)) equals g, over random graphs and random arguments."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import weft
from weft.graph import Graph
from weft.ops import TABLE, Spec

Same = Callable[[Graph, Graph], None]

FUNCTIONS = [
    *TABLE.values(),
    operator.add,
    operator.getitem,
    operator.matmul,
    math.sqrt,
    abs,
    len,
    np.sin,
    np.where,
    np.linalg.svd,
]
METHODS = ["sum", "reshape", "astype", "T", "relu", "item"]
PATHS = ["weight", "layer.0.bias", "a._b.c", "odd name"]
IDENTIFIERS = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]{0,6}", fullmatch=True)

keys = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.floats(allow_nan=False) | st.binary(max_size=3)
)
shapes = hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3)
things = [..., np.dtype("f4"), np.dtype(">c16"), float, np.int8, np.sin, TABLE["exp"]]
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.text(max_size=6),
    st.binary(max_size=6),
    st.sampled_from(things),
    st.slices(9),
    st.builds(range, st.integers(), st.integers(), st.integers(1, 5)),
    hnp.from_dtype(np.dtype("f4")),
    hnp.from_dtype(np.dtype("c16")),
    hnp.from_dtype(np.dtype("u2")),
    hnp.arrays(st.sampled_from(["f8", "f2", ">i4", "?", "c8"]), shapes),
    st.builds(Spec, st.lists(st.integers(0, 9), max_size=3), st.sampled_from(["f4", "i8", "?"])),
)


def arguments(nodes: list[Any]) -> st.SearchStrategy[Any]:
    leaves = st.sampled_from(nodes) | scalars if nodes else scalars
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.lists(inner, max_size=3).map(tuple)
            | st.dictionaries(keys, inner, max_size=3)
            | st.builds(slice, inner, inner, inner)
        ),
        max_leaves=5,
    )


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    graph = Graph()
    nodes: list[Any] = []
    for name in draw(st.lists(IDENTIFIERS.filter(lambda s: s.isidentifier()), max_size=3, unique=True)):
        try:
            compile(f"{name} = 0", "name", "exec")
        except SyntaxError:  # a keyword
            continue
        default = draw(st.none() | arguments([]))
        nodes.append(graph.placeholder(name, draw(st.sampled_from([None, int, list[int], "Text"])), default))
    for _ in range(draw(st.integers(0, 8))):
        kind = draw(st.sampled_from(["call_function", "call_method", "call_module", "get_attr"]))
        args = tuple(draw(st.lists(arguments(nodes), max_size=3)))
        kwargs = draw(st.dictionaries(st.sampled_from(["axis", "keepdims", "dtype"]), arguments(nodes), max_size=2))
        if kind == "call_function":
            node = graph.call_function(draw(st.sampled_from(FUNCTIONS)), args, kwargs)
        elif kind == "call_method":
            node = graph.call_method(draw(st.sampled_from(METHODS)), (draw(arguments(nodes)), *args), kwargs)
        elif kind == "call_module":
            node = graph.call_module(draw(st.sampled_from(PATHS)), args, kwargs)
        else:
            node = graph.get_attr(draw(st.sampled_from(PATHS)))
        if draw(st.booleans()):
            node.meta["type"] = draw(st.builds(Spec, st.lists(st.integers(0, 9), max_size=3), st.just("f4")))
        nodes.append(node)
    if draw(st.booleans()):
        graph.output(draw(arguments(nodes)))
    return graph


@given(graphs())
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_random_graphs_come_back(tmp_path: Path, assert_same_graph: Same, graph: Graph) -> None:
    graph.save(tmp_path / "g")
    loaded = weft.load(tmp_path / "g")
    assert_same_graph(graph, loaded)
    assert str(loaded) == str(graph)
    first = (tmp_path / "g").read_bytes()
    loaded.save(tmp_path / "g")
    assert (tmp_path / "g").read_bytes() == first, "saving again writes the same file"
