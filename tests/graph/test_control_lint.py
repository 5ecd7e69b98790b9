"""What `lint` refuses in control flow, each with its text; and shapes found through bodies."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from control_graphs import body, cond_graph, fori_graph, nested_graph, scan_graph, switch_graph, while_graph

import weft
from weft import Spec, spec
from weft.errors import ControlError, GraphError, ShapeError, UnknownShape
from weft.graph import Graph
from weft.graph._control import fail


def one(names: str = "x", count: int = 1) -> Graph:
    return body(names, lambda call, *inputs: tuple(inputs[:1]) * count)


def holding(target: Any, make: Callable[[Any], tuple[Any, ...]], **kwargs: Any) -> Graph:
    """A graph of one call, whose arguments `make(x)` gives."""
    graph = Graph()
    graph.output(graph.call_function(target, make(graph.placeholder("x")), kwargs))
    return graph


def with_default() -> Graph:
    graph = Graph()
    graph.output((graph.placeholder("x", default_value=1),))
    return graph


def starred() -> Graph:
    graph = Graph()
    graph.output((graph.placeholder("*x"),))
    return graph


def reading() -> Graph:
    graph = Graph()
    graph.placeholder("x")
    graph.output((graph.get_attr("weight"),))
    return graph


def calling() -> Graph:
    graph = Graph()
    graph.output((graph.call_module("layer", (graph.placeholder("x"),)),))
    return graph


def writing() -> Graph:
    graph = Graph()
    x = graph.placeholder("x")
    graph.output((x,), writes=[(x, x)])
    return graph


def without_output() -> Graph:
    graph = Graph()
    graph.placeholder("x")
    return graph


def unsound() -> Graph:
    graph = one()
    next(iter(graph.nodes)).name = "not a name"
    return graph


def itself() -> Graph:
    graph = Graph()
    x = graph.placeholder("x")
    graph.output((graph.call_function(weft.cond, (x, graph, graph, x)),))
    return graph


def branch(make: Callable[[], Graph]) -> Graph:
    return holding(weft.cond, lambda x: (x, one(), make(), x))


LINT: list[tuple[Graph, str]] = [
    (branch(with_default), "the body of cond: x (placeholder) has a default value"),
    (branch(starred), "the body of cond: _x (placeholder) has a star"),
    (branch(reading), "the body of cond: weight (get_attr) reads 'weight' of the module, but bodies are closed"),
    (branch(calling), "the body of cond: layer (call_module) reads 'layer' of the module, but bodies are closed"),
    (branch(writing), "the body of cond: output lists writes, which a body cannot do"),
    (branch(without_output), "a body of cond has no output"),
    (branch(unsound), "'not a name' is not a legal name for a node (in a body of cond)"),
    (itself(), "cond has a body that contains it"),
    (branch(lambda: one("x y")), "cond: false_fn has 2 placeholders where the operands are 1"),
    (branch(lambda: one(count=2)), "branches disagree: true_fn gives 1 values and false_fn gives 2 values"),
    (holding(weft.cond, lambda x: (x, abs, abs, x)), "cond: true_fn must be a Graph, got builtins.abs"),
    (holding(weft.cond, lambda x: (x, one())), "cond takes pred, true_fn, false_fn and operands, got 2"),
    (holding(weft.cond, lambda x: (x, one(), one(), x), extra=1), "cond has no argument 'extra' in a graph"),
    (holding(weft.switch, lambda x: (x, [], x)), "branches must be a list of Graphs, got []"),
    (
        holding(weft.switch, lambda x: (x, [one(), one("")], x)),
        "branches[1] has 0 placeholders where the operands are 1",
    ),
    (holding(weft.switch, lambda x: (x, x, x)), "branches must be a list of Graphs, got %x"),
    (holding(weft.while_loop, lambda x: (one(), one(), x)), "init must be a tuple of values, got %x"),
    (
        holding(weft.while_loop, lambda x: (body("x", lambda call, x: x), one("x y"), (x,))),
        "body_fn has 2 placeholders where carries and operands are 1",
    ),
    (holding(weft.while_loop, lambda x: (one(), one(), (x,))), "cond_fn gives (%x,) where one truth value is needed"),
    (
        holding(weft.while_loop, lambda x: (body("x", lambda call, x: x), one(count=2), (x,))),
        "body_fn gives 2 values where there are 1 carries",
    ),
    (holding(weft.fori_loop, lambda x: (0, x, one(), (x,))), "where the number, carries and operands are 2"),
    (
        holding(weft.fori_loop, lambda x: (0, x, one("i x", 3), (x,))),
        "body_fn gives 3 values where there are 1 carries",
    ),
    (
        holding(weft.fori_loop, lambda x: (0, x, one("i x"), (x,)), stop=2),
        "fori_loop has no argument 'stop' in a graph",
    ),
    (holding(weft.scan, lambda x: (one("c x"), (x,), x)), "xs must be a tuple of values, got %x"),
    (holding(weft.scan, lambda x: (one("c"), (x,), ())), "scan has no rows and no length"),
    (
        holding(weft.scan, lambda x: (one("c x", 3), (x,), (x,))),
        "f gives (%c, %c, %c) where ((carries), (rows)) is needed",
    ),
    (
        holding(weft.scan, lambda x: (body("c x", lambda call, c, x: ((c, c), (x,))), (x,), (x,))),
        "f gives 2 values where there are 1 carries",
    ),
]


@pytest.mark.parametrize(("graph", "message"), LINT, ids=[message[:60] for _, message in LINT])
def test_what_lint_refuses(graph: Graph, message: str) -> None:
    with pytest.raises(GraphError, match=re.escape(message)):
        graph.lint()


def written(make: Callable[[Graph, Any, Any], Any]) -> Graph:
    graph = Graph()
    x = graph.placeholder("x")
    y = graph.call_function(operator.neg, (x,))
    graph.output(None)
    graph.output_node().kwargs = make(graph, x, y)
    return graph


WRITES: list[tuple[Graph, str]] = [
    (written(lambda g, x, y: {"writes": ((y, x),)}), "output writes to neg, which is a call_function"),
    (written(lambda g, x, y: {"writes": ((x, y), (x, y))}), "output writes twice to x"),
    (
        written(lambda g, x, y: {"writes": ((x, 3),)}),
        "a write on output is a pair (target node, value node), got (%x, 3)",
    ),
    (written(lambda g, x, y: {"writes": (x, y)}), "a write on output is a pair (target node, value node), got %x"),
    (written(lambda g, x, y: {"writes": x}), "output output takes one value and writes"),
    (written(lambda g, x, y: {"other": ()}), "output output takes one value and writes"),
    (written(lambda g, x, y: {"writes": ((cond_graph().nodes[0], y),)}), "which belongs to another graph"),
]


@pytest.mark.parametrize(("graph", "message"), WRITES, ids=[message[:60] for _, message in WRITES])
def test_which_writes_lint_refuses(graph: Graph, message: str) -> None:
    with pytest.raises(GraphError, match=re.escape(message)):
        graph.lint()


def test_what_lint_accepts() -> None:
    for build in (cond_graph, switch_graph, while_graph, fori_graph, scan_graph, nested_graph):
        build().lint()
    written(lambda g, x, y: {"writes": ((x, y),)}).lint()
    # A branch that raises gives nothing; a node may stand for a tuple.
    holding(weft.cond, lambda x: (x, one(), body("x", lambda call, x: call(fail, ValueError, x)), x)).lint()
    inner = body("x", lambda call, x: call(weft.cond, x, one(count=3), one(count=3), x))
    holding(weft.cond, lambda x: (x, inner, one(count=3), x)).lint()


# Shapes


def types(graph: Graph) -> list[Any]:
    return [node.meta.get("type") for node in graph.nodes]


def loop_of(graph: Graph) -> Any:
    return next(node for node in graph.nodes if node.bodies)


@pytest.mark.parametrize(
    ("build", "specs", "expected"),
    [
        (cond_graph, (spec((2, 3), "float32"), spec(3, "float32")), None),
        (switch_graph, (int, spec(4)), spec(4)),
        (while_graph, (spec((), "float32"),), (spec((), "float32"), int)),
        (while_graph, (float,), (float, int)),
        (fori_graph, (5, spec(3, "float32")), (spec(3, "float32"), spec(3, "float32"))),
        (fori_graph, (int, spec((3, 0), "complex64")), (spec((3, 0), "complex64"), spec((3, 0), "complex64"))),
        (
            scan_graph,
            (spec(2, "float32"), spec((5, 2), "float32"), spec(5, "int16"), float),
            (spec(2, "float32"), spec((5, 2), "float32"), spec(5, "int16")),
        ),
        (nested_graph, (int, spec(3, "float32")), spec(3, "float32")),
    ],
)
def test_shapes_go_through_bodies(build: Any, specs: Any, expected: Any, capsys: pytest.CaptureFixture[str]) -> None:
    graph = build()
    found = graph.infer(*specs)
    if build is cond_graph:
        assert found[0] == spec((2, 3), "float32") and found[1] is int
    else:
        assert found == expected
    assert capsys.readouterr().out == ""  # nothing is printed where nothing runs
    for inside in loop_of(graph).bodies:
        unknown = [node.name for node in inside.nodes if node.meta.get("type") is None and node.op != "output"]
        assert all("print" in name or "check" in name for name in unknown), unknown


def test_sizes_that_a_counter_bounds_are_symbolic() -> None:
    turn = body("i s x", lambda call, i, s, x: (call(weft.sum, call(operator.getitem, x, slice(None, i))),))
    graph = Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(weft.fori_loop, (0, 4, turn, (0.0,), x)))
    assert graph.infer(spec(9)) == (spec(()),)
    taken = next(node for node in turn.nodes if node.target is operator.getitem)
    assert isinstance(taken.meta["type"], Spec) and not isinstance(taken.meta["type"].shape[0], int)


@pytest.mark.parametrize(
    ("build", "args", "bodies"),
    [
        (cond_graph, (np.ones(2, np.float32), np.ones(2, np.float32)), [0]),  # the branch that runs
        (while_graph, (np.float64(2.0),), [0, 1]),
        (fori_graph, (3, np.ones(2, np.float32)), [0]),
        (scan_graph, (np.ones(2, np.float32), np.ones((3, 2), np.float32), np.ones(3, np.int8), 0.5), [0]),
    ],
)
def test_shapes_inferred_are_shapes_run(build: Callable[[], Graph], args: Any, bodies: list[int]) -> None:
    inferred, ran = build(), build()  # two graphs: what one way notes, the other must not find
    inferred.infer(*args)
    weft.ShapeProp(None, graph=ran).propagate(*args)
    for number in bodies:
        pairs = list(zip(*(types(loop_of(graph).bodies[number]) for graph in (inferred, ran)), strict=True))
        # Of numbers a run knows the values, so that only arrays have types there.
        arrays = [(a, b) for a, b in pairs if isinstance(a, Spec) or isinstance(b, Spec)]
        assert len(arrays) >= 2 and all(a == b for a, b in arrays), pairs


@pytest.mark.parametrize(
    ("graph", "args", "kind", "message"),
    [
        (
            holding(weft.cond, lambda x: (True, one(), body("x", lambda call, x: (call(weft.sum, x),)), x)),
            (spec(3),),
            ControlError,
            "cond: its result[0] is float64[3] in true_fn, float64[] in false_fn",
        ),
        (
            holding(weft.cond, lambda x: (True, body("", lambda call: (1,)), body("", lambda call: (1.5,)))),
            (spec(3),),
            ControlError,
            "cond: its result[0] is int in true_fn, float in false_fn",
        ),
        (
            holding(weft.cond, lambda x: (x, one(), one(), x)),
            (spec(3),),
            ShapeError,
            "cond: pred is one truth value, got an array of shape (3,)",
        ),
        (
            holding(
                weft.fori_loop,
                lambda x: (0, 3, body("i total x", lambda call, i, t, x: (call(operator.add, t, x),)), (0.0,), x),
            ),
            (spec(3),),
            ControlError,
            "fori_loop: the carry total is float before a turn and float64[3] after it",
        ),
        (
            holding(
                weft.while_loop,
                lambda x: (
                    body("z", lambda call, z: call(weft.any, z)),
                    body("z", lambda call, z: (call(operator.getitem, z, slice(1, None)),)),
                    (x,),
                ),
            ),
            (spec(3),),
            ControlError,
            "while_loop: the carry z is float64[3] before a turn and float64[2] after it",
        ),
        (
            holding(weft.fori_loop, lambda x: (0, 3, body("i s", lambda call, i, s: (call(range, i),)), (x,))),
            (spec(3),),
            UnknownShape,
            "range is called with a number that only running can tell",
        ),
    ],
)
def test_shapes_that_do_not_fit(graph: Graph, args: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        graph.infer(*args)
