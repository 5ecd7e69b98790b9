"""Derivatives of one call as graphs, for the tests of every op: reverse, forward, and one of the other.

`Problem` captures a call of an op as a graph of the arrays in which it is differentiated; its methods add derivatives to
that graph, as a transform does, and evaluate it. The calls are those that the tests of the op table state.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
from cases import Case, rng
from test_table import EVERY, _differentiable

import weft
from weft import pytree
from weft.capture._captured import capture
from weft.graph import Graph, Interpreter, Node
from weft.graph._arguments import map_aggregate
from weft.transform._activity import activity, continuous
from weft.transform._builder import Builder, Value
from weft.transform._forward import Pushforward
from weft.transform._joint import joint_of

Call = Callable[[list[Any]], Any]


def smooth_calls() -> list[tuple[Case, list[np.ndarray], Call]]:
    """Every case of the table that has float64 or complex128 arrays to differentiate in."""
    found = []
    for case in EVERY:
        if case.grad:
            leaves, call = _differentiable(case)
            if leaves:
                arrays = [leaf.data.copy() for leaf in leaves]  # one array given twice would be one input of the graph
                found.append((case, arrays, call))
    return found


class Problem:
    """The graph of a call; `places` are its inputs, `results` its floating-point results."""

    def __init__(self, call: Call, arrays: Sequence[Any], dynamic: bool = False) -> None:
        def run(*xs: Any) -> Any:
            return call(list(xs))

        captured = capture(run, tuple(arrays), {}, branches=True, dynamic=dynamic, numbers=True)
        self.sizes = captured.recorder.sizes
        self.graph: Graph = captured.graph
        self.places: list[Node] = self.graph.find_nodes(op="placeholder")
        output = self.graph.output_node()
        self.results: list[Node] = []
        for leaf in _leaves(output.args[0]):
            if isinstance(leaf, Node) and continuous(leaf.meta["type"]):
                self.results.append(leaf)
        self.graph.erase_node(output)
        self.builder = Builder(self.graph, self.sizes)
        self.answer: list[Any] = []

    def reverse(self) -> list[Node]:
        """Add inputs for the gradients of the results; the gradients of the inputs there were become the answer."""
        active = activity(self.graph.nodes, dict.fromkeys(self.places, True))
        section: Any = SimpleNamespace(builder=self.builder, graph=self.graph)
        joint = joint_of(section, self.results, active, self.places)
        self.answer = [value.node for value in joint.gradients]
        seeds = [seed for seed in joint.seeds if seed is not None]
        assert len(seeds) == len(self.results)
        for seed in seeds:  # a graph's inputs come first
            self.graph._root._next.prepend(seed)
        self.places = [*self.places, *seeds]
        return self.answer

    def forward(self) -> list[Any]:
        """Add inputs for the tangents of the inputs there are; the tangents of the results become the answer."""
        nodes = list(self.graph.nodes)
        push = Pushforward(self.builder)
        tangents = []
        for place in self.places:
            with self.graph.inserting_before(nodes[0]):
                tangent = self.builder.region.placeholder(f"t_{place.name}")
            tangent.meta["type"] = place.meta["type"]
            push.tangents[place] = Value(self.builder, tangent, tangent.meta["type"])
            tangents.append(tangent)
        push.run(nodes)
        self.answer = [
            value.node if isinstance(value, Value) else value for value in map(push.tangents.get, self.results)
        ]
        self.places = [*self.places, *tangents]
        return self.answer

    def again(self) -> None:
        """Go on with the answer as the results, to be differentiated in turn."""
        self.results = [node for node in self.answer if isinstance(node, Node)]

    def run(self, *values: Any) -> list[Any]:
        """The answer for values of the inputs. The graph is finished by the first call, and checked."""
        if not any(node.op == "output" for node in self.graph.nodes):
            self.graph.output(tuple(self.answer))
            self.graph.signature = None
            for place in self.places:
                place.args = ()
            self.graph.lint()
            self.graph._sweep(lambda node: node.is_impure())
        given = dict(zip(self.places, values, strict=True))
        module: Any = SimpleNamespace(graph=self.graph, **self.graph.constants)
        order = [given[node] for node in self.graph.nodes if node.op == "placeholder"]
        return list(Interpreter(module).run(*order))


def _leaves(result: Any) -> list[Any]:
    found: list[Any] = []
    map_aggregate(result, found.append)
    return found


def tape_gradients(call: Call, arrays: Sequence[np.ndarray], seeds: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What the tape says."""
    tensors = [weft.tensor(array, requires_grad=True) for array in arrays]
    parts = [part for part in pytree.leaves_of(call(tensors)) if _is_smooth(part)]
    pairs = [(part, seed) for part, seed in zip(parts, seeds, strict=True) if getattr(part, "requires_grad", False)]
    if not pairs:
        return [np.zeros_like(array) for array in arrays]
    ends, starts = zip(*pairs, strict=True)
    found = weft.autograd.grad(ends, tensors, list(starts), allow_unused=True, materialize_grads=True)
    return [part.numpy() for part in found]


def values_of(call: Call, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The floating-point results of a call."""
    return [np.asarray(part) for part in pytree.leaves_of(call(list(arrays))) if _is_smooth(part)]


def _is_smooth(part: Any) -> bool:
    dtype = getattr(part, "dtype", None)
    return isinstance(part, (float, complex)) if dtype is None else dtype.kind in "fc"


def directions(key: Any, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """An array of random numbers like each of these; complex where it is."""
    found = []
    for i, array in enumerate(arrays):
        generator = rng(key, i)
        made = generator.uniform(-1, 1, array.shape)
        if array.dtype.kind == "c":
            made = made + 1j * generator.uniform(-1, 1, array.shape)
        found.append(np.asarray(made).astype(array.dtype))
    return found


def inner(left: Sequence[Any], right: Sequence[Any]) -> float:
    """The real inner product."""
    return sum(float(np.sum(np.real(np.conj(a) * b))) for a, b in zip(left, right, strict=True))


@contextmanager
def quiet() -> Iterator[None]:
    """Points at the edge of a domain are meant."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
