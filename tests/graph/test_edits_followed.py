"""An edited graph is compiled again when it is next called, and its code is always that of the present graph."""

from __future__ import annotations

import functools
import gc
import operator
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import GraphError

X = np.array([1.0, 2.0, -3.0, 4.0])


def positive_sum(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            total = total + x[i]
    return total


def plus_one(x: Any) -> Any:
    return x + 1.0


def retarget(graph: weft.Graph, old: Any, new: Any) -> None:
    for node in graph.nodes:
        if node.target is old:
            node.target = new
        for body in node.bodies:
            retarget(body, old, new)


@pytest.mark.parametrize("looked", [True, False], ids=["code read", "code not read"])
@pytest.mark.parametrize("make", [weft.compile, weft.script, weft.vmap, weft.symbolic_trace])
def test_calls_and_code_follow(make: Callable[..., Any], looked: bool) -> None:
    f = make(plus_one)
    np.testing.assert_array_equal(f(X), X + 1)
    before = f.code if looked else None
    retarget(f.graph, operator.add, operator.sub)
    np.testing.assert_array_equal(f(X), X - 1)
    assert "- 1.0" in f.code and f.code != before
    retarget(f.graph, operator.sub, operator.add)
    assert "+ 1.0" in f.code
    np.testing.assert_array_equal(f(X), X + 1)


@pytest.mark.parametrize("make", [weft.compile, weft.script])
def test_bodies_of_loops_and_branches_count(make: Callable[..., Any]) -> None:
    f = make(positive_sum)
    assert f(X) == 7.0
    before = f.code
    retarget(f.graph, operator.add, operator.mul)
    assert f(X) == 0.0 and f.code != before


EDITS: dict[str, Callable[[weft.Graph, weft.Node], Any]] = {
    "args": lambda graph, add: setattr(add, "args", (add.args[0], 5.0)),
    "update_arg": lambda graph, add: add.update_arg(1, 5.0),
    "insert_arg": lambda graph, add: (setattr(add, "args", add.args[:1]), add.insert_arg(1, 5.0)),
    "replace_input_with": lambda graph, add: graph.output_node().replace_input_with(add, add.args[0]),
    "name": lambda graph, add: setattr(add, "name", "plus"),
    "inserted": lambda graph, add: graph.inserting_before(add).__enter__() or graph.call_function(print, ("p",)),
    "erased": lambda graph, add: (setattr(add.next, "args", (4.0,)), graph.erase_node(add)),
    "output": lambda graph, add: setattr(graph.output_node(), "args", (4.0,)),
}


@pytest.mark.parametrize("name", EDITS)
def test_every_edit_shows(name: str) -> None:
    gm = weft.symbolic_trace(plus_one)
    assert "1.0" in gm.code
    (add,) = gm.graph.find_nodes(op="call_function")
    EDITS[name](gm.graph, add)
    assert gm.code == weft.GraphModule({}, gm.graph.clone()).code


def test_derivatives_follow() -> None:
    slope = weft.grad(lambda x: np.sin(x).sum())
    np.testing.assert_array_equal(slope(X), np.cos(X))
    retarget(slope.graph, np.cos, np.exp)
    np.testing.assert_array_equal(slope(X), np.exp(X))


def test_gradients_of_an_edited_compiled_function() -> None:
    f = weft.compile(lambda x: (x * x).sum())
    t = weft.tensor([1.0, 2.0], requires_grad=True)
    assert f(t).item() == 5.0
    retarget(f.graph, operator.mul, operator.add)
    f(t).backward()
    assert t.grad.tolist() == [2.0, 2.0]
    assert f.cache_info().misses == 1


def sine(x: Any) -> Any:
    return np.sin(x).sum()


CALLS: dict[str, Callable[..., Any]] = {
    "grad": lambda f: weft.grad(f)(X),
    "hessian": lambda f: weft.hessian(f)(X).diagonal(),
    "vjp": lambda f: weft.vjp(f, X)[1](1.0)[0],
    "jvp": lambda f: weft.jvp(f, (X,), (np.ones(4),))[1],
    "vmap": lambda f: weft.vmap(f)(np.stack([X, X])),
    "trace": lambda f: weft.trace(f, X)(X),
    "compiled": lambda f: weft.compile(lambda x: f(x) * 2)(X),
    "method": lambda f: weft.compile(lambda x, g: g(x))(X, functools.partial(f)),
}


@pytest.mark.parametrize("way", CALLS)
def test_derivatives_and_callers_of_an_edited_function_follow(way: str) -> None:
    f = weft.compile(sine)
    f(X)
    retarget(f.graph, np.sin, np.exp)
    np.testing.assert_allclose(CALLS[way](f), CALLS[way](lambda x: np.exp(x).sum()), rtol=1e-15)


def test_what_was_captured_before_an_edit_follows_too() -> None:
    f, slope_of_sum = weft.compile(sine), weft.grad(positive_sum)
    makers: list[Callable[[Any], Any]] = [weft.grad(f), weft.compile(lambda x: f(x) * 2), weft.compile(slope_of_sum)]
    before = [make(X) for make in makers]
    f(X), slope_of_sum(X)
    for old, new in ((np.sin, np.exp), (np.exp, np.cos)):
        retarget(f.graph, old, new)
        np.testing.assert_array_equal(makers[0](X), np.exp(X) if new is np.exp else -np.sin(X))
        np.testing.assert_array_equal(makers[1](X), new(X).sum() * 2)
    np.testing.assert_array_equal(makers[2](X), before[2])
    slope_of_sum.graph.output_node().args = (7.0,)
    assert slope_of_sum(X) == makers[2](X) == 7.0


def test_of_other_types_the_function_itself_is_captured() -> None:
    f = weft.compile(sine)
    f(X)
    retarget(f.graph, np.sin, np.exp)
    x32 = X.astype(np.float32)
    np.testing.assert_array_equal(weft.grad(f)(x32), np.cos(x32))


@pytest.mark.parametrize("way", [weft.script, weft.symbolic_trace, lambda f: weft.script(lambda x: f(x))])
def test_what_cannot_follow_an_edit_says_so(way: Callable[..., Any]) -> None:
    f = weft.compile(sine)
    f(X)
    retarget(f.graph, np.sin, np.exp)
    with pytest.raises(weft.errors.CaptureError, match="the graph of sine was edited"):
        way(f)


def test_an_edited_graph_for_a_decided_size_is_not_passed_over() -> None:
    f = weft.compile(lambda x: x * 2 if len(x) > 2 else x)
    f(X)
    retarget(f.graph, operator.mul, operator.add)
    np.testing.assert_array_equal(weft.vmap(f)(np.stack([X, X])), np.stack([X + 2, X + 2]))
    with pytest.raises(weft.errors.CaptureError, match="it is for calls where"):
        weft.compile(lambda x: f(x) + 1)(np.ones(1))


def test_what_vjp_and_linearize_give_shows_and_follows_its_graph() -> None:
    for made, seed in ((weft.vjp(sine, X)[1], 1.0), (weft.linearize(sine, X)[1], np.ones(4))):
        before = made(seed)
        assert repr(made) in (
            "<vjp of sine at the arguments of one call>",
            "<linearize of sine at the arguments of one call>",
        )
        assert "def forward(self, " in made.code
        made.graph.output_node().args = ((7.0,),)
        assert str(made(seed)) != str(before) and np.all(np.asarray(made(seed)) == 7.0)
        with pytest.raises(weft.errors.WeftError, match="is not saved\n  help: save a compiled function that calls"):
            made.save("file")


def test_a_result_that_becomes_a_tensor_is_on_the_tape() -> None:
    f = weft.compile(lambda x: (x * 2, x.shape[0])[1])
    t = weft.tensor([1.0, 2.0], requires_grad=True)
    assert f(t) == 2
    x = next(iter(f.graph.nodes))
    with f.graph.inserting_before(f.graph.output_node()):
        f.graph.output_node().args = (f.graph.call_function(weft.sum, (x,)),)
    f(t).backward()
    assert t.grad.tolist() == [1.0, 1.0]


def test_only_the_edited_capture_changes() -> None:
    f = weft.compile(plus_one)
    f(X)
    f(X.astype(np.float32))
    retarget(f.graph, operator.add, operator.sub)
    np.testing.assert_array_equal(f(X), X + 1)
    np.testing.assert_array_equal(f(X.astype(np.float32)), X - 1)


def test_a_wrong_edit_is_told_when_called() -> None:
    f = weft.compile(plus_one)
    f(X)
    add = f.graph.find_nodes(op="call_function")[0]
    add.prepend(f.graph.output_node())
    for _ in range(2):
        with pytest.raises(GraphError, match="which is defined after it"):
            f(X)
    add.append(f.graph.output_node())
    f.graph.inserting_before(add)
    f.graph.placeholder("extra")
    with pytest.raises(GraphError, match="has 2 inputs, the function gives 1"):
        f(X)


def test_an_interpreter_follows() -> None:
    gm = weft.symbolic_trace(lambda x: (x + 1) * 2)
    runner = weft.Interpreter(gm)
    assert runner.run(1) == 4
    mul = gm.graph.find_nodes(op="call_function", target=operator.mul)[0]
    mul.args = (mul.args[0], next(iter(gm.graph.nodes)))
    assert runner.run(3) == 12


def test_two_modules_of_one_graph_both_follow() -> None:
    first = weft.symbolic_trace(plus_one)
    second = weft.GraphModule({}, first.graph)
    assert first(1.0) == second(1.0) == 2.0
    retarget(first.graph, operator.add, operator.mul)
    assert first(3.0) == second(3.0) == 3.0


def test_modules_that_are_gone_are_not_kept_by_a_graph() -> None:
    graph = weft.symbolic_trace(plus_one).graph
    other = weft.GraphModule({}, graph)
    assert other(1.0) == 2.0
    gone = weakref.ref(other)
    graph.owning_module = None
    del other
    gc.collect()
    assert gone() is None
