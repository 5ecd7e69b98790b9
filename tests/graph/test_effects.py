"""What dead code elimination must keep, and arguments by signature."""

from __future__ import annotations

import builtins
import operator
import random
from typing import Any

import numpy as np
import pytest

import weft
from weft._module import Module
from weft.ops import TABLE


def call(target: Any, *args: Any, **kwargs: Any) -> weft.Node:
    graph = weft.Graph()
    return graph.call_function(target, (graph.placeholder("x"), *args), kwargs)


@pytest.mark.parametrize(
    "target",
    [
        *(print, setattr, delattr, builtins.next, operator.setitem, operator.delitem, operator.iadd, operator.imatmul),
        *(np.copyto, np.putmask, np.testing.assert_allclose),
    ],
)
def test_functions_that_act(target: Any) -> None:
    assert call(target).is_impure()
    assert call(target).is_impure(impure_random=False)


@pytest.mark.parametrize("target", [operator.add, np.sin, weft.sin, len, getattr, operator.getitem, lambda x: x])
def test_functions_that_do_not(target: Any) -> None:
    assert not call(target).is_impure()


@pytest.mark.parametrize("target", [np.random.rand, np.random.default_rng(0).normal, random.random])
def test_random_functions(target: Any) -> None:
    assert call(target).is_impure()
    assert not call(target).is_impure(impure_random=False)


def test_random_ops() -> None:
    drawing = [op for op in TABLE.values() if op.random]
    assert drawing
    for op in drawing:
        switch = {"training": True} if "training" in op.__signature__.parameters else {}
        assert call(op, **switch).is_impure()
        assert not call(op, **switch).is_impure(impure_random=False)


@pytest.mark.parametrize(
    ("op", "args", "kwargs", "draws"),
    [
        (weft.dropout, (), {}, True),
        (weft.dropout, (0.5, False), {}, False),
        (weft.dropout, (), {"p": 0.0}, False),
        (weft.dropout, (), {"p": 1.0}, False),
        (weft.dropout2d, (), {"training": False}, False),
        (weft.alpha_dropout, (), {}, False),
        (weft.alpha_dropout, (), {"training": True}, True),
        (weft.scaled_dot_product_attention, (1, 2), {}, False),
        (weft.scaled_dot_product_attention, (1, 2), {"dropout_p": 0.1}, True),
        (weft.bernoulli_mask, (0.5,), {}, True),
    ],
)
def test_random_ops_by_call(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], draws: bool) -> None:
    node = call(op, *args, **kwargs)
    assert node.is_impure() == draws
    assert not node.is_impure(impure_random=False)


def test_random_ops_with_unknown_parameters_may_draw() -> None:
    graph = weft.Graph()
    x, unknown = graph.placeholder("x"), graph.placeholder("unknown")
    assert graph.call_function(weft.dropout, (x, unknown)).is_impure()
    assert graph.call_function(weft.dropout, (x, 0.5, unknown)).is_impure()
    assert not graph.call_function(weft.dropout, (x, 0.0, unknown)).is_impure()
    assert graph.call_function(weft.scaled_dot_product_attention, (x, x, x, None, unknown)).is_impure()


def test_writing_into_an_argument() -> None:
    assert call(np.add, 1, out=2).is_impure()
    assert not call(np.add, 1, out=None).is_impure()


def test_marked_functions() -> None:
    def log(x: Any) -> None: ...

    assert not call(log).is_impure()
    assert weft.has_side_effect(log) is log
    assert call(log).is_impure()


def test_other_kinds() -> None:
    graph = weft.Graph()
    x = graph.placeholder("x")
    assert x.is_impure()
    assert graph.output(x).is_impure()
    assert not graph.get_attr("w").is_impure()
    assert graph.call_method("__setitem__", (x, 0, 1)).is_impure()
    assert graph.call_method("fill", (x, 0)).is_impure()
    assert not graph.call_method("sum", (x,)).is_impure()


class Quiet(Module):
    def forward(self, x: Any, scale: Any = 2) -> Any:
        return x * scale


class Loud(Quiet):
    _is_impure = True


class Dropout(Quiet):
    p = 0.5


class Block(Module):
    def __init__(self, inner: Module) -> None:
        super().__init__()
        self.inner = inner


@pytest.mark.parametrize(
    ("module", "training", "expected", "without_random"),
    [
        (Quiet(), True, False, False),
        (Loud(), False, True, True),
        (Dropout(), True, True, False),
        (Dropout(), False, False, False),
        (Block(Loud()), True, True, True),
        (Block(Dropout()), True, True, False),
        (Block(Quiet()), True, False, False),
    ],
)
def test_modules(module: Module, training: bool, expected: bool, without_random: bool) -> None:
    owner = Block(module).train(training)
    graph = weft.Graph(owner)
    node = graph.call_module("inner", (graph.placeholder("x"),))
    assert node.is_impure() == expected
    assert node.is_impure(impure_random=False) == without_random


def test_an_unknown_module_is_kept() -> None:
    graph = weft.Graph()
    assert graph.call_module("inner", (graph.placeholder("x"),)).is_impure()


def test_dead_code_elimination_keeps_what_acts() -> None:
    graph = weft.Graph()
    x = graph.placeholder("x")
    dead = graph.call_function(weft.sin, (graph.call_function(weft.cos, (x,)),))
    graph.call_function(print, (x,))
    graph.output(x)
    assert dead.users == {}
    assert graph.eliminate_dead_code()
    assert [node.name for node in graph.nodes] == ["x", "print_1", "output"]
    assert not graph.eliminate_dead_code()


# Arguments by signature


def plain(x: Any, axis: Any = None, *, keep: bool = False) -> Any: ...


def test_python_functions() -> None:
    node = call(plain, 1)
    x = node.args[0]
    assert node.normalized_arguments(None) == ((x, 1), {"keep": False})
    assert node.normalized_arguments(None, normalize_to_only_use_kwargs=True) == (
        (),
        {"x": x, "axis": 1, "keep": False},
    )
    assert call(plain, keep=True).normalized_arguments(None).kwargs == {"axis": None, "keep": True}


def test_ops() -> None:
    node = call(weft.sum, axis=0)
    args, kwargs = node.normalized_arguments(None)
    assert args == node.args
    assert kwargs["axis"] == 0
    assert kwargs["keepdims"] is False


def test_modules_by_forward() -> None:
    graph = weft.Graph(Block(Quiet()))
    x = graph.placeholder("x")
    node = graph.call_module("inner", (x,))
    assert node.normalized_arguments(graph.owning_module, None, None, True) == ((), {"x": x, "scale": 2})
    assert node.normalized_arguments(None) == ((x,), {"scale": 2})


@pytest.mark.parametrize(("target", "args"), [(operator.add, (1,)), (plain, (1, 2, 3)), (print, ()), (max, (1,))])
def test_none_where_there_is_no_such_form(target: Any, args: tuple[Any, ...]) -> None:
    assert call(target, *args).normalized_arguments(None) is None


def test_none_for_other_kinds() -> None:
    graph = weft.Graph()
    x = graph.placeholder("x")
    for node in (x, graph.get_attr("w"), graph.call_method("sum", (x,)), graph.output(x)):
        assert node.normalized_arguments(None) is None
