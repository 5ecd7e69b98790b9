"""Running the halves of a joint graph: what is kept is let go once it is used, and bytes are counted meanwhile."""

from __future__ import annotations

import ast
import re
import sys
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.autograd import Tensor, no_grad
from weft.graph import GraphModule
from weft.transform._tape import EMPTY

if TYPE_CHECKING:
    from weft.transform._partition import Partition


_OBJECT = 16  # bytes that each object of Python's has


@dataclass(frozen=True)
class Measured:
    """The most bytes at once in each half, and those kept between them."""

    forward: int
    backward: int
    kept: int

    @property
    def peak(self) -> int:
        return max(self.forward, self.backward)


def boxed(module: GraphModule) -> Callable[[list[Any]], Any]:
    """The module as a function of a list, which it empties: nothing else then holds what the graph has used up."""
    text, scope = _boxed_code(module)
    exec(compile(text, "<weft backward>", "exec"), scope)
    function = scope["forward"]
    return lambda given: function(module, given)


def _boxed_code(module: GraphModule) -> tuple[str, dict[str, Any]]:
    generated = module.graph.python_code("self")
    head, _, body = generated.src.partition("\n")
    match = re.fullmatch(r"def forward\(self(?:, (.*))?\):", head)
    assert match is not None, head
    taken = f"    {match[1]}, = _given\n" if match[1] else ""
    return f"def forward(self, _given):\n{taken}    _given.clear()\n{body}", dict(generated.globals)


class _Watch:
    """Runs a module as it runs otherwise, and looks after each statement how much memory there has been."""

    def __init__(self, module: GraphModule, count: int, foreign: set[int]) -> None:
        """Memory of the first `count` results is not counted; arrays whose ids are `foreign` are somebody else's."""
        self.module, self.foreign = module, foreign
        self.start = self.most = 0
        text, scope = _boxed_code(module)
        tree = ast.parse(text)
        function: Any = tree.body[0]
        given = [part.id if isinstance(part, ast.Name) else "None" for part in function.body[-1].value.elts]
        self.count = count
        known = {name.id for each in function.body[:-1] for name in ast.walk(each) if isinstance(name, ast.Name)}
        inputs = {name.id for name in ast.walk(function.body[0]) if isinstance(name, ast.Name)}
        look = ast.parse(f"_look({', '.join(given)})").body[0]
        function.body = _after_each(function.body, look)
        first = " = ".join(dict.fromkeys(name for name in given if name in known - inputs))
        function.body[:0] = ast.parse(f"{first} = None").body if first else []
        scope["_look"] = self.look
        exec(compile(ast.fix_missing_locations(tree), "<weft measure>", "exec"), scope)
        self.function = scope["forward"]

    def look(self, *given: Any) -> None:
        """Note the most memory since the last look, less what results have of it."""
        most = tracemalloc.get_traced_memory()[1] - self.start
        if most > self.most:
            kept = self._owned(given[self.count :])
            shown = {key: size for key, size in self._owned(given[: self.count]).items() if key not in kept}
            self.most = max(self.most, most - sum(shown.values()))
        tracemalloc.reset_peak()

    def _owned(self, values: Iterable[Any]) -> dict[int, int]:
        owners = [_owner(array) for value in values if not isinstance(value, tuple) for array in arrays_in(value)]
        return {id(owner): sys.getsizeof(owner) for owner in owners if id(owner) not in self.foreign}

    def run(self, given: list[Any]) -> Any:
        """Run the module; `most` then has the bytes."""
        self.start = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        return self.function(self.module, given)


def _after_each(statements: list[Any], look: Any) -> list[Any]:
    """Statements, nested ones as well, with another one after each."""
    found = []
    for each in statements:
        for part in ("body", "orelse"):
            if getattr(each, part, None):
                setattr(each, part, _after_each(getattr(each, part), look))
        found += [each] if isinstance(each, (ast.Return, ast.Raise, ast.Break, ast.Continue)) else [each, look]
    return found


@contextmanager
def _tracing() -> Iterator[None]:
    outer = tracemalloc.is_tracing()
    if not outer:
        tracemalloc.start()
    try:
        yield
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


def measure(halves: Partition, leaves: list[Any]) -> Measured:
    """Run both halves, and look after each statement how much memory there is."""
    joint = halves.joint
    count = len(joint.results)
    states = [each for _, each in (*halves.forward.named_parameters(), *halves.forward.named_buffers())]
    foreign = {id(_owner(array)) for array in arrays_in([*leaves, *states])}
    first = _Watch(halves.forward, count, foreign)
    nodes = [*halves.forward.graph.nodes, *halves.backward.graph.nodes]
    if not joint.writes and not any(node.is_impure() for node in nodes if node.op == "call_function"):
        _once(halves, leaves)  # what libraries keep for themselves when they are first used is not of this run
    with no_grad(), _tracing():
        result = first.run(list(leaves))
        seeds = _seeds(halves, result)
        given = [*result[count:], *seeds]
        owners = {
            id(owner): owner.nbytes for owner in map(_owner, arrays_in(result[count:])) if id(owner) not in foreign
        }
        kept = sum(owners.values()) + sum(map(_links, result[count:]))
        del result
        foreign.update(map(id, seeds))
        second = _Watch(halves.backward, len(joint.gradients), foreign)
        second.run(given)
    return Measured(first.most, second.most + kept, kept)


def _once(halves: Partition, leaves: list[Any]) -> None:
    count = len(halves.joint.results)
    with no_grad():
        result = boxed(halves.forward)(list(leaves))
        boxed(halves.backward)([*result[count:], *_seeds(halves, result)])


def _seeds(halves: Partition, result: Any) -> list[Any]:
    """Ones for the gradient of each result that has one."""
    pairs = zip(halves.joint.seeds, result, strict=False)
    return [np.ones(np.shape(value), seed.meta["type"].dtype) for seed, value in pairs if seed is not None]


def _links(tape: Any) -> int:
    """Bytes of a tape: its links, and the values they hold."""
    sizes: dict[int, int] = {}
    waiting: list[Any] = [tape] if isinstance(tape, tuple) else []
    while waiting:
        each = waiting.pop()
        if each is None or each is EMPTY or isinstance(each, bool) or id(each) in sizes:
            continue
        sizes[id(each)] = each.itemsize + _OBJECT if isinstance(each, np.generic) else sys.getsizeof(each)
        waiting.extend(each if isinstance(each, tuple) else [])
        if isinstance(each, np.ndarray) and each.base is None:
            sizes[id(each)] -= each.nbytes  # which is counted as that of an array
    return sum(sizes.values())
