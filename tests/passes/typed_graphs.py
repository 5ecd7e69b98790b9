"""Graphs for the tests of passes: built by hand, typed by running them, compared to the bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import weft
from weft.graph import Graph, Node
from weft.graph._control import fail
from weft.ops import Spec


def type_of(value: Any) -> Any:
    """What `meta["type"]` says of a value."""
    if isinstance(value, tuple):
        return tuple(type_of(part) for part in value)
    if isinstance(value, np.ndarray | np.generic):
        return Spec(value.shape, value.dtype)
    return type(value) if type(value) in (bool, int, float, complex) else None


class Noting(weft.Interpreter):
    """Runs a graph and notes the type of every value, in bodies for their first inputs."""

    def run_node(self, n: Node) -> Any:
        value = super().run_node(n)
        if n.op != "output":
            n.meta["type"] = type_of(value)
        return value

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        for body, inputs in bodies_and_inputs(target, args):
            if getattr(body.output_node().args[0], "target", None) is not fail:
                Noting(None, graph=body).run(*inputs)
        return super().call_function(target, args, kwargs)


def bodies_and_inputs(target: Any, args: tuple[Any, ...]) -> list[tuple[Graph, list[Any]]]:
    """The bodies of a call of control flow, and what each is given first."""
    if target is weft.cond:
        return [(one, list(args[3:])) for one in args[1:3]]
    if target is weft.switch:
        return [(one, list(args[2:])) for one in args[1]]
    if target is weft.while_loop:
        return [(one, [*args[2], *args[3:]]) for one in args[:2]]
    if target is weft.fori_loop:
        return [(args[2], [0, *args[3], *args[4:]])]
    if target is weft.scan:
        return [(args[0], [*args[1], *[row[0] for row in args[2]], *args[3:]])]
    return []


def build(make: Callable[..., Any], *values: Any) -> Graph:
    """A graph whose nodes `make(graph, *inputs)` adds and whose result it returns, typed by a run on some values."""
    graph = Graph()
    inputs = [graph.placeholder(f"x{i}") for i in range(len(values))]
    graph.output(make(graph, *inputs))
    with np.errstate(all="ignore"):
        Noting(None, graph=graph).run(*values)
    return graph


def body(make: Callable[..., Any], count: int, *values: Any) -> Graph:
    """A body of `count` inputs; typed where values are given."""
    graph = Graph()
    graph.output(make(graph, *[graph.placeholder(f"p{i}") for i in range(count)]))
    if values:
        with np.errstate(all="ignore"):
            Noting(None, graph=graph).run(*values)
    return graph


def run(graph: Graph, *values: Any) -> Any:
    with np.errstate(all="ignore"):
        return weft.Interpreter(None, graph=graph).run(*values)


def same_bits(a: Any, b: Any) -> bool:
    """Whether two results are of one type and equal to the bit, NaN counted as NaN."""
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same_bits, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same_bits(a[key], b[key]) for key in a)
    if isinstance(a, float | complex | np.ndarray | np.generic):
        return _same_arrays(np.asarray(a), np.asarray(b))
    return bool(a == b)


def _same_arrays(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "c":
        return _same_arrays(a.real, b.real) and _same_arrays(a.imag, b.imag)
    equal = a == b
    if a.dtype.kind == "f":
        equal = (equal & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))
    return bool(np.all(equal))


def names(graph: Graph) -> list[str]:
    return [node.name for node in graph.nodes]


def targets(graph: Graph) -> list[Any]:
    return [node.target for node in graph.nodes if node.op == "call_function"]
