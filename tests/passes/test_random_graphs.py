"""Random programs with branches, loops, effects and writes: optimised or not, they do the same to the bit."""

from __future__ import annotations

import operator
import random
from typing import Any

import numpy as np
import pytest
from typed_graphs import Noting, run, same_bits

import weft
from weft.graph import Graph, Node
from weft.graph._control import check
from weft.passes import eliminate_common, eliminate_dead, fold_constants, optimize, simplify

f = Graph.call_function
SHAPE = (2, 3)
CONSTANTS = [0, 1, 2, 1.0, -0.0, 0.0, 2.5, -1]
UNARY = [weft.negative, weft.abs, weft.sin, weft.positive, weft.conj, weft.square, operator.neg]
BINARY = [weft.add, weft.subtract, weft.multiply, weft.maximum, operator.add, operator.mul, np.subtract, weft.divide]
MOVES: list[Any] = [
    lambda g, x: f(g, weft.permute_dims, (f(g, weft.permute_dims, (x,)),)),
    lambda g, x: f(g, weft.reshape, (f(g, weft.reshape, (x, (6,))), SHAPE)),
    lambda g, x: f(g, weft.getitem, (x, slice(None))),
    lambda g, x: f(g, weft.getitem, (x, (slice(None), slice(None, None, -1)))),
    lambda g, x: f(g, weft.squeeze, (f(g, weft.expand_dims, (x, 0)), 0)),
    lambda g, x: f(g, weft.concat, ([x],)),
]


class Programs:
    """Makes random graphs; every array in them has one shape and dtype."""

    def __init__(self, seed: int, dtype: str, effects: bool) -> None:
        self.rng = random.Random(seed)
        self.dtype, self.effects = dtype, effects

    def graph(self) -> Graph:
        graph = Graph()
        values = [graph.placeholder(name) for name in ("a", "b", "c")]
        numbers: list[Any] = [graph.placeholder("n"), graph.placeholder("p")]
        targets = values[:2]
        self.fill(graph, values, numbers, self.rng.randint(3, 16), 2)
        result = tuple(self.rng.choice(values) for _ in range(self.rng.randint(1, 3)))
        chosen = self.rng.sample(targets, self.rng.randint(0, 2))
        graph.output(result, writes=[(target, self.rng.choice(values)) for target in chosen])
        return graph

    def fill(self, graph: Graph, values: list[Any], numbers: list[Any], count: int, depth: int) -> None:
        """Add nodes; `values` are arrays, `numbers` an int and a bool."""
        for _ in range(count):
            choice = self.rng.random()
            x = self.rng.choice(values)
            if choice < 0.15:
                values.append(f(graph, self.rng.choice(UNARY), (x,)))
            elif choice < 0.45:
                other = self.rng.choice(CONSTANTS) if self.rng.random() < 0.5 else self.rng.choice(values)
                if other == 0 and isinstance(other, int | float):
                    values.append(f(graph, self.rng.choice(BINARY[:-1]), (x, other)))
                else:
                    pair = (x, other) if self.rng.random() < 0.7 else (other, x)
                    values.append(self.kept(graph, f(graph, self.rng.choice(BINARY), pair)))
            elif choice < 0.6:
                values.append(self.rng.choice(MOVES)(graph, x))
            elif choice < 0.72:
                key = self.rng.choice([0, (1, slice(0, 2)), slice(None), [0, 0], Ellipsis])
                value = self.rng.choice([1, f(graph, weft.getitem, (self.rng.choice(values), key))])
                values.append(f(graph, weft.index_update, (x, key, value)))
            elif choice < 0.78 and self.effects:
                self.effect(graph, x, numbers)
            elif choice < 0.84:
                first = f(graph, operator.add, (self.rng.choice([1, 2, numbers[0]]), self.rng.choice([0, 1])))
                values.append(self.kept(graph, f(graph, weft.multiply, (x, first))))
            elif depth:
                self.control(graph, values, numbers, depth)
        # Whatever was made, of the dtype that all have.
        values[:] = [self.kept(graph, value) for value in values]

    def kept(self, graph: Graph, node: Any) -> Any:
        if not isinstance(node, Node) or node.op == "placeholder" or node.target is weft.astype:
            return node
        return f(graph, weft.astype, (node, np.dtype(self.dtype)))

    def effect(self, graph: Graph, x: Any, numbers: list[Any]) -> None:
        if self.rng.random() < 0.7:
            f(graph, print, (self.rng.choice("abc"), x))
        else:
            f(graph, check, (f(graph, operator.gt, (numbers[0], self.rng.choice([0, 1]))), "n is too small"))

    def body(self, carries: int, operands: int, results: int, depth: int, lead: int = 0) -> Graph:
        """A body whose last two inputs are the int and the bool."""
        graph = Graph()
        inputs = [graph.placeholder(f"p{i}") for i in range(lead + carries + operands + 2)]
        values = list(inputs[lead:-2])
        self.fill(graph, values, inputs[-2:], self.rng.randint(0, 5), depth - 1)
        outputs = [self.rng.choice([*values, *inputs[lead : lead + carries]]) for _ in range(results)]
        for place in range(carries):
            if self.rng.random() < 0.4:
                outputs[place] = inputs[lead + place]
        graph.output(tuple(outputs))
        return graph

    def control(self, graph: Graph, values: list[Any], numbers: list[Any], depth: int) -> None:
        rng = self.rng
        operands = [rng.choice(values) for _ in range(rng.randint(1, 3))]
        carries = [rng.choice(values) for _ in range(rng.randint(1, 3))]
        count, more = len(carries), (*operands, *numbers)
        kind = rng.choice(["cond", "switch", "fori", "while", "scan"])
        if kind == "cond":
            bodies = [self.body(0, len(operands), 2, depth) for _ in range(2)]
            if rng.random() < 0.2:
                bodies[1] = bodies[0]
            pred = rng.choice([True, numbers[1], numbers[1]])
            node, results = f(graph, weft.cond, (pred, *bodies, *more)), 2
        elif kind == "switch":
            bodies = [self.body(0, len(operands), 2, depth) for _ in range(rng.randint(1, 3))]
            node, results = f(graph, weft.switch, (rng.choice([1, numbers[0]]), bodies, *more)), 2
        elif kind == "fori":
            body = self.body(count, len(operands), count, depth, lead=1)
            bounds = rng.choice([(0, 2), (0, 0), (0, numbers[0]), (numbers[0], 0)])
            node = f(graph, weft.fori_loop, (*bounds, body, tuple(carries), *more), {"step": rng.choice([1, 2, -1])})
            results = count
        elif kind == "while":
            node, results = self.while_loop(graph, carries, more, depth), count + 1
        else:
            self.scan(graph, values, carries, more, depth)
            return
        first = 1 if kind == "while" else 0
        read = [k for k in range(first, results) if rng.random() < 0.7]
        values += [self.kept(graph, f(graph, operator.getitem, (node, k))) for k in read]

    def while_loop(self, graph: Graph, carries: list[Any], more: tuple[Any, ...], depth: int) -> Node:
        condition, count = Graph(), len(carries)
        inputs = [condition.placeholder(f"p{i}") for i in range(1 + count + len(more))]
        condition.output(f(condition, operator.lt, (inputs[0], self.rng.choice([0, 2, inputs[-2]]))))
        step = self.body(count, len(more) - 2, count, depth, lead=1)
        first = placeholder = next(iter(step.nodes))
        with step.inserting_before(step.output_node()):
            counter = f(step, operator.add, (placeholder, 1))
        result = step.output_node().args[0]
        step.output_node().args = ((counter, *result),)
        assert first.op == "placeholder"
        return f(graph, weft.while_loop, (condition, step, (0, *carries), *more))

    def scan(self, graph: Graph, values: list[Any], carries: list[Any], more: tuple[Any, ...], depth: int) -> None:
        rows = f(graph, weft.stack, ([self.rng.choice(values) for _ in range(2)],))
        count = len(carries)
        body = self.body(count, 1 + len(more) - 2, count + 2, depth)
        result = body.output_node().args[0]
        body.output_node().args = ((result[:count], result[count:]),)
        node = f(graph, weft.scan, (body, tuple(carries), (rows,), *more), {"reverse": self.rng.random() < 0.5})
        for which, place in ((0, 0), (1, 1)):
            if self.rng.random() < 0.7:
                part = f(graph, operator.getitem, (f(graph, operator.getitem, (node, which)), place))
                values.append(self.kept(graph, part if which == 0 else f(graph, weft.getitem, (part, 0))))


def typed(graph: Graph, inputs: list[Any]) -> None:
    """Note types everywhere; with a large n, so that no check fails."""
    arrays = [np.copy(x) for x in inputs[:3]]
    Noting(None, graph=graph).run(*arrays, 3, inputs[4])


def outcome(graph: Graph, inputs: list[Any], capsys: Any) -> Any:
    """The result, what became of the arguments, what was printed, and what was raised."""
    given = [np.copy(x) if isinstance(x, np.ndarray) else x for x in inputs]
    capsys.readouterr()
    try:
        result: Any = run(graph, *given)
    except AssertionError as error:
        result = str(error)
    return result, given, capsys.readouterr().out


def shares(graph: Graph, inputs: list[Any]) -> set[tuple[int, str, int]]:
    """Which results share memory with which arguments and which other results."""
    given = [np.copy(x) for x in inputs[:3]]
    results = run(graph, *given, *inputs[3:])
    found = set()
    for i, one in enumerate(results):
        found |= {(i, "input", j) for j, x in enumerate(given) if np.shares_memory(one, x)}
        found |= {(i, "result", j) for j, x in enumerate(results[:i]) if np.shares_memory(one, x)}
    return found


PASSES = {"all": optimize, "fold": fold_constants, "cse": eliminate_common, "dce": eliminate_dead, "algebra": simplify}


@pytest.mark.parametrize("dtype", ["float64", "int32", "float32"])
@pytest.mark.parametrize("block", range(12))
def test_nothing_changes(block: int, dtype: str, capsys: Any) -> None:
    rng = np.random.default_rng(block)
    used: set[str] = set()
    for seed in range(block * 40, block * 40 + 40):
        inputs: list[Any] = [(rng.normal(size=SHAPE) * 3).astype(dtype) for _ in range(3)]
        inputs[0].flat[0] = 0
        if dtype != "int32":
            inputs[1].flat[:3] = -0.0, np.nan, np.inf
        inputs += [int(rng.integers(1, 4)), bool(rng.integers(2))]
        name = list(PASSES)[seed % 10] if seed % 10 < len(PASSES) else "all"
        with np.errstate(all="ignore"):
            graph, plain = (Programs(seed, dtype, effects=seed % 2 == 0).graph() for _ in range(2))
            graph.lint()
            typed(graph, inputs)
            changes = PASSES[name](graph)
            graph.lint()
            before, after = outcome(plain, inputs, capsys), outcome(graph, inputs, capsys)
        assert same_bits(after, before), (seed, name)
        if isinstance(after[0], tuple):
            assert shares(graph, inputs) <= shares(plain, inputs), (seed, name)
        used |= set(changes.rules)
    assert len(used) >= 8
