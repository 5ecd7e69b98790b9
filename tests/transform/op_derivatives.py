"""Derivatives of one call as graphs, for the tests of every op: reverse, forward, and one of the other.

`Problem` captures a call of an op as a graph of the arrays in which it is differentiated; its methods add derivatives
to that graph, as a transform does, and evaluate it. The calls are those that the tests of the op table state.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from cases import Case, normal, rng
from test_table import EVERY, _differentiable

import weft
from weft import pytree
from weft.capture._captured import capture
from weft.graph import Graph, Interpreter, Node
from weft.graph._arguments import map_aggregate
from weft.ops import TABLE
from weft.transform._activity import activity, continuous
from weft.transform._builder import Builder, Value
from weft.transform._forward import Pushforward
from weft.transform._joint import joint_of

Call = Callable[[list[Any]], Any]

# Calls on floats of ops that the cases of the table call on other numbers, or on shapes alone.
MORE = [
    Case(op, args, kwargs, None, grad=grad, name=f"{op}-floats")
    for op, args, kwargs, grad in [
        ("fmax_accumulate", (normal(3, 2),), {}, True),
        ("fmin_accumulate", (normal(3, 2),), {}, True),
        ("fmax_reduce", (normal(3, 2),), {}, True),
        ("fmin_reduce", (normal(3, 2),), {}, True),
        ("maximum_reduceat", (normal(5), np.array([0, 2])), {}, True),
        ("minimum_reduceat", (normal(5), np.array([0, 2])), {}, True),
        ("multiply_reduceat", (normal(5), np.array([0, 2])), {}, True),
        ("logical_and_accumulate", (normal(3),), {}, True),
        ("logical_or_accumulate", (normal(3),), {}, True),
        ("logical_and_reduceat", (normal(5), np.array([0, 2])), {}, True),
        ("logical_or_reduceat", (normal(5), np.array([0, 2])), {}, True),
        ("logical_xor_reduce", (normal(3),), {}, True),
        ("setdiff1d", (np.array([1.0, 2.0, 4.0]), np.array([2.0])), {}, False),
        ("sum_to", (normal(3, 4), (3, 1)), {}, True),
        ("sum_to", (normal(2, 3, 4, dtype=complex), (1, 4)), {}, True),
        ("choice_indices", (3, (4,), True, np.array([0.2, 0.3, 0.5])), {}, False),
        ("poisson", (np.array([1.0, 4.0]),), {}, False),
        ("rand_like", (normal(2, 3),), {}, False),
        ("empty_like", (normal(2, 0),), {}, True),
    ]
]


def _symmetric(x: Any) -> Any:
    """A symmetric matrix whose eigenvalues are positive and apart, for ops whose derivatives are those among such."""
    return x @ weft.matrix_transpose(weft.conj(x)) + np.diag([1.0, 2.0, 4.0])


# Functions over ops of symmetric matrices, and the part of a result that is not only one of many bases.
COMPOSED: list[tuple[str, Call]] = [
    ("cholesky", lambda xs: weft.linalg.cholesky(_symmetric(xs[0]))),
    ("eigvalsh", lambda xs: weft.linalg.eigvalsh(_symmetric(xs[0]))),
    ("eigh", lambda xs: (r := weft.linalg.eigh(_symmetric(xs[0])), r[0], r[1] * weft.conj(r[1]))[1:]),
    ("eig", lambda xs: weft.linalg.eig(_symmetric(xs[0]))[0]),
]


@dataclass(frozen=True)
class Sample:
    """A call of an op as a function of the float64 and complex128 arrays among its arguments."""

    case: Case
    arrays: list[np.ndarray]
    call: Call

    @property
    def smooth(self) -> bool:
        """Whether small changes of the arrays make a small change of the result, as finite differences need."""
        return self.case.grad and not TABLE[self.case.op].draws(self.case.args, self.case.kwargs)


@cache
def samples() -> dict[str, list[Sample]]:
    """Every case of the table with floats to differentiate in, by op."""
    found: dict[str, list[Sample]] = {}
    for case in [*EVERY, *MORE]:
        leaves, call = _differentiable(case)
        if leaves:
            arrays = [leaf.data.copy() for leaf in leaves]  # one array given twice would be one input of the graph
            found.setdefault(case.op, []).append(Sample(case, arrays, call))
    for (op, call), dtype in itertools.product(COMPOSED, (float, complex)):
        case = Case(op, (), {}, None, name=f"{op} of symmetric {dtype.__name__}")
        found[op].append(Sample(case, [0.3 * normal(3, 3, dtype=dtype, seed=2)], call))
    return found


def draw_again(case: Case) -> None:
    """Let the next call of an op that draws random numbers draw the same ones."""
    weft.manual_seed(5)
    if case.kwargs.get("generator") is not None:
        case.kwargs["generator"].manual_seed(5)


def evenly(several: Sequence[Any], count: int) -> list[Any]:
    """At most so many of several things, the first among them."""
    if len(several) <= count:
        return list(several)
    return [several[round(i * (len(several) - 1) / max(1, count - 1))] for i in range(count)]


def is_close(got: Any, expected: Any, tolerance: float, absolute: float | None = None) -> bool:
    """Whether arrays are the same but for roundings, relative to each element and to the largest one."""
    got, expected = np.asarray(got), np.asarray(expected)
    largest = np.max(np.abs(expected[np.isfinite(expected)]), initial=1.0)
    atol = (tolerance if absolute is None else absolute) * largest
    return got.shape == expected.shape and np.allclose(got, expected, rtol=tolerance, atol=atol, equal_nan=True)


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
