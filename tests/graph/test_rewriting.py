"""replace_pattern where it could go wrong: order, cycles, errors, many matches; and the matcher alone."""

from __future__ import annotations

import math
import operator
import time
from typing import Any

import numpy as np
import pytest
from rewrites import X, Y, rewritten

import weft
from weft import patterns
from weft.errors import GraphError

sin, cos, exp = weft.sin, weft.cos, weft.exp


# Order and cycles


def test_nodes_between_the_results_of_a_match() -> None:
    def program(x: Any, y: Any) -> Any:
        first = sin(x)
        used = first * 2
        late = y + 1
        return used, cos(late)

    gm = weft.symbolic_trace(program)
    matches = weft.replace_pattern(gm, lambda a, b: (sin(a), cos(b)), lambda a, b: (a - b, b))
    gm.graph.lint()
    assert len(matches) == 1
    for got, expected in zip(gm(X, Y), ((X - (Y + 1)) * 2, Y + 1), strict=True):
        np.testing.assert_allclose(got, expected)


def test_an_input_that_depends_on_a_result_prevents_a_match() -> None:
    program = lambda x: cos(sin(x) + 1)  # noqa: E731
    assert rewritten(program, lambda a, b: (sin(a), cos(b)), lambda a, b: (a - b, b))[1] == []


def test_two_matches_must_not_need_each_other() -> None:
    def program(x: Any, y: Any) -> Any:
        first, second = sin(x), sin(y)
        return cos(second), cos(first)

    _, matches = rewritten(program, lambda a, b: (sin(a), cos(b)), lambda a, b: (a - b, b - a))
    assert len(matches) == 1


# Errors leave the graph as it was


@pytest.mark.parametrize(
    ("pattern", "replacement", "message"),
    [
        (lambda a: sin(a), lambda a, b: a, "the pattern takes 1 parameters, the replacement 2"),
        (lambda a: sin(a), lambda a: (a, a), "the pattern returns 1 values, the replacement 2"),
        (lambda a: a, lambda a: a, "a pattern returns results of calls; this one returns a"),
        (lambda a: (sin(a), 1), lambda a: (a, 1), "this one returns 1"),
        (lambda a: (), lambda a: (), "the pattern is empty"),
        (lambda a: [b := sin(a), b], lambda a: (a, a), "returns one value twice"),
        (lambda a, b: sin(a), lambda a, b: b * 2, "uses 'b', which the pattern takes but does not use"),
        (lambda a: sin(a), lambda *a: a, r"a replacement cannot take \*a"),
    ],
)
def test_errors(pattern: Any, replacement: Any, message: str) -> None:
    gm = weft.symbolic_trace(lambda x: sin(x) + sin(x))
    before = str(gm.graph)
    with pytest.raises(GraphError, match=message):
        weft.replace_pattern(gm, pattern, replacement)
    assert str(gm.graph) == before


def test_a_callback_that_fails_half_way_changes_nothing() -> None:
    gm = weft.symbolic_trace(lambda x: sin(x * 1) + sin(x * 2))
    before = str(gm.graph)

    def make(match: Any, graph: Any, pattern: Any) -> weft.Graph:
        if match.bindings["c"] == 2:
            raise LookupError("no such thing")
        constant = np.zeros(3)
        return weft.symbolic_trace(lambda a, c: a + constant).graph

    with pytest.raises(LookupError, match="no such thing"):
        weft.replace_pattern_with_filters(gm, lambda a, c: sin(a * c), replacement_callback=make)
    assert str(gm.graph) == before
    assert not list(gm.named_buffers())


def test_wrong_kinds_of_thing() -> None:
    gm = weft.symbolic_trace(lambda x: sin(x))
    with pytest.raises(TypeError, match="a pattern is a function"):
        weft.replace_pattern(gm, 3, lambda a: a)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="edits a GraphModule or a Graph"):
        weft.replace_pattern(lambda x: x, lambda a: sin(a), lambda a: a)  # type: ignore[arg-type]


# The matcher alone


def test_matcher_options() -> None:
    graph = weft.symbolic_trace(lambda x, y: sin(sin(x)) + y).graph
    pattern = weft.symbolic_trace(lambda a: sin(a)).graph
    match = patterns.SubgraphMatcher
    assert len(match(pattern).match(graph)) == 2
    assert len(match(pattern, match_placeholder=True).match(graph)) == 1
    assert len(match(pattern, match_output=True).match(graph)) == 0
    whole = weft.symbolic_trace(lambda a, b: sin(sin(a)) + b).graph
    (found,) = match(whole, match_output=True).match(graph)
    assert found.name_node_map["output"] is graph.output_node()
    deep = weft.symbolic_trace(lambda x: sin(sin(sin(x)))).graph
    twice = weft.symbolic_trace(lambda a: sin(sin(a))).graph
    assert len(match(twice).match(deep)) == 1
    assert len(match(twice, remove_overlapping_matches=False).match(deep)) == 2
    assert [str(value) for value in found.placeholder_nodes] == ["x", "y"]
    assert [str(node) for node in found.returning_nodes] == ["add"]


def test_many_matches() -> None:
    graph = weft.Graph()
    node = graph.placeholder("x")
    for i in range(1000):
        node = graph.call_function(operator.mul, (graph.call_function(sin, (node,)), i))
    graph.output(node)
    assert len(weft.replace_pattern(graph, lambda a, c: sin(a) * c, lambda a, c: cos(a) + c)) == 1000
    graph.lint()
    pairs = lambda a: (lambda s: (s + 1, s * 2))(cos(a))  # noqa: E731
    graph = weft.Graph()
    node = graph.placeholder("x")
    for _ in range(500):
        inner = graph.call_function(cos, (node,))
        one, two = graph.call_function(operator.add, (inner, 1)), graph.call_function(operator.mul, (inner, 2))
        node = graph.call_function(operator.sub, (one, two))
    graph.output(node)
    assert len(weft.replace_pattern(graph, pairs, lambda a: (a, -a))) == 500
    graph.lint()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (-0.0, 0.0),
        (complex(0.0, -0.0), 0j),
        (np.float32(-0.0), np.float32(0.0)),
        (np.array([1.0, -0.0]), np.array([1.0, 0.0])),
        (np.array([complex(1, -0.0)]), np.array([1 + 0j])),
        (math.nan, 0.0),
        (np.float32(1), np.float64(1)),
    ],
)
def test_constants_that_are_equal_and_not_the_same(written: Any, meant: Any) -> None:
    """Where x is -0.0, x + 0.0 is 0.0 and x + -0.0 is not."""
    graph = weft.Graph()
    graph.output(graph.call_function(operator.add, (graph.placeholder("x"), written)))
    for constant, count in ((meant, 0), (written, 1)):
        pattern = weft.Graph()
        pattern.output(pattern.call_function(operator.add, (pattern.placeholder("x"), constant)))
        assert len(weft.patterns.SubgraphMatcher(pattern).match(graph)) == count


def test_one_node_that_reads_every_match() -> None:
    """Rewritten once, not once for each of its inputs: that would take minutes here."""
    graph = weft.Graph()
    x = graph.placeholder("x")
    graph.output([graph.call_function(weft.sin, (x,)) for _ in range(10_000)])
    start = time.process_time()
    assert len(weft.replace_pattern(graph, lambda a: weft.sin(a), lambda a: weft.cos(a))) == 10_000
    assert time.process_time() - start < 10
    graph.lint()
    assert {node.target for node in graph.output_node().args[0]} == {weft.cos}
