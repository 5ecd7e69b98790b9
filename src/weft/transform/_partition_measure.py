"""Running the halves of a joint graph: what is kept is let go once it is used, and bytes are counted meanwhile."""

from __future__ import annotations

import functools
import re
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.autograd import Tensor, no_grad
from weft.graph import GraphModule, Interpreter, Node
from weft.graph._interpreter import last_uses

if TYPE_CHECKING:
    from weft.transform._partition import Partition


@dataclass(frozen=True)
class Measured:
    """The most bytes of arrays at once in each half, and those kept between them."""

    forward: int
    backward: int
    kept: int

    @property
    def peak(self) -> int:
        return max(self.forward, self.backward)


def boxed(module: GraphModule) -> Callable[[list[Any]], Any]:
    """The module as a function of a list, which it empties: nothing else then holds what the graph has used up."""
    generated = module.graph.python_code("self")
    head, _, body = generated.src.partition("\n")
    match = re.fullmatch(r"def forward\(self(?:, (.*))?\):", head)
    assert match is not None, head
    taken = f"    {match[1]}, = _given\n" if match[1] else ""
    scope = dict(generated.globals)
    exec(compile(f"def forward(self, _given):\n{taken}    _given.clear()\n{body}", "<weft backward>", "exec"), scope)
    function = scope["forward"]
    return lambda given: function(module, given)


class _Counting(Interpreter):
    """Runs a graph and counts the bytes of all arrays that some value still shows."""

    def count(self, given: list[Any], uncounted: set[Node], foreign: set[int]) -> tuple[Any, int]:
        """The result, and the most bytes at once; arrays whose ids are `foreign` are somebody else's."""
        self.env, self.total, most = {}, 0, 0
        self.held: dict[int, tuple[int, np.ndarray[Any, Any]]] = {}
        self.foreign, self.uncounted = foreign, uncounted
        self.args_iter = _taken(given)
        uses = last_uses(self.graph.nodes)
        for node in self.graph.nodes:
            inner = 0
            if node.bodies:
                value, inner = _traced(functools.partial(self.run_node, node))
            else:
                value = self.run_node(node)
            self.env[node] = value
            most = max(most, self.total + inner)
            if node.op == "output":
                return value, most
            self._change(node, value, 1)
            most = max(most, self.total)
            del value
            for unused in uses.get(node, ()):
                if unused in self.env:
                    self._change(unused, self.env.pop(unused), -1)
        raise AssertionError("a graph has an output")

    def _change(self, node: Node, value: Any, by: int) -> None:
        if node in self.uncounted or node.op == "get_attr":
            return
        for array in arrays_in(value):
            owner = _owner(array)
            if id(owner) in self.foreign:
                continue
            count, _ = self.held.get(id(owner), (0, owner))
            if count == 0:
                self.total += owner.nbytes
            if count + by == 0:
                self.total -= owner.nbytes
                del self.held[id(owner)]
            else:
                self.held[id(owner)] = (count + by, owner)


def _taken(given: list[Any]) -> Iterator[Any]:
    given.reverse()
    while given:
        yield given.pop()


def _traced(run: Callable[[], Any]) -> tuple[Any, int]:
    """What a call gives, and the most memory it allocated at once."""
    outer = tracemalloc.is_tracing()
    if not outer:
        tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        value = run()
        return value, tracemalloc.get_traced_memory()[1] - before
    finally:
        if not outer:
            tracemalloc.stop()


def arrays_in(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    """The arrays in a value, through containers and tapes of any length."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, np.ndarray):
            yield each
        elif isinstance(each, Tensor):
            yield each._array
        elif isinstance(each, (tuple, list)):
            waiting.extend(each)


def _owner(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def measure(halves: Partition, leaves: list[Any], uncounted: dict[str, set[Node]]) -> Measured:
    """Run both halves, one node after the other, and count."""
    joint = halves.joint
    count = len(joint.results)
    states = [each for _, each in (*halves.forward.named_parameters(), *halves.forward.named_buffers())]
    with no_grad():
        foreign = {id(_owner(array)) for array in arrays_in([*leaves, *states])}
        result, first = _Counting(halves.forward).count(list(leaves), uncounted["forward"], foreign)
        held = list(result[count:])
        kept = {id(owner): owner.nbytes for array in arrays_in(held) if id(owner := _owner(array)) not in foreign}
        shapes = zip(joint.seeds, result[:count], strict=True)
        seeds = [np.ones(np.shape(value), seed.meta["type"].dtype) for seed, value in shapes if seed is not None]
        foreign.update(map(id, seeds))
        del result
        given = [*held, *seeds]
        held.clear()
        _, second = _Counting(halves.backward).count(given, uncounted["backward"], foreign)
    return Measured(first, second, sum(kept.values()))
