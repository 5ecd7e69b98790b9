"""Memory that a training step uses again: results are written over what nothing reads any more.

A step of an optimiser makes a dozen arrays of the size of a parameter, one from the other. Large arrays are dear to
make, dearer than to compute. So a call of a ufunc writes its result into an argument where that is the last that is
seen of the argument: memory of the graph's own, or what the step is going to overwrite anyway.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from weft._step import memory, put, remember, remembered, set_grad, to_tensor
from weft.graph import Graph, Node
from weft.graph._storage_kinds import gives_own, is_check
from weft.ops import Spec
from weft.ops._dim import hint_of, same_shape

_UFUNCS: dict[Any, Any] = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.truediv: np.true_divide,
    operator.neg: np.negative,
}
_WORTH = 1 << 15  # bytes: smaller arrays are made as fast as they are found
_KEEPING = frozenset({put, remember, set_grad, to_tensor})
_OWN: Any = object()
_FAR = 64  # how many values that may share memory are followed


class Reuse:
    """The memory of one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes = list(graph.nodes)
        self.places = {node: place for place, node in enumerate(self.nodes)}
        effects = [node for node in self.nodes if node.op == "call_function"]
        self.put = {node.args[0] for node in effects if node.target is put}
        self.remembers = {node.args[:4] for node in effects if node.target is remember and len(node.args) == 5}
        # A step that fails half-way leaves nothing half changed.
        self.may_fail = any(is_check(node) for node in effects)
        self.written: dict[Node, Any] = {}  # call that writes into an argument → what that is the memory of

    def run(self) -> None:
        """Let every call that can write over an argument do so."""
        for node in self.nodes:
            ufunc = _ufunc(node)
            if ufunc is None or not _worth(node.meta.get("type")):
                continue
            target = next((arg for arg in node.args if self._free(arg, node)), None)
            if target is None:
                continue
            if target.op == "call_method":
                target.op, target.target = "call_function", memory
            node.target, node.kwargs = ufunc, {"out": target}
            self.written[node] = self._home(target)

    def _free(self, arg: Any, node: Node) -> bool:
        if not isinstance(arg, Node):
            return False
        have, made = arg.meta.get("type"), node.meta["type"]
        if not isinstance(have, Spec) or have.dtype != made.dtype or not same_shape(have.shape, made.shape):
            return False
        home = self._home(arg)
        if home is None or self._seen_by(arg) != self.places[node]:
            return False
        return home is _OWN or (not self.may_fail and self._stays(node, home))

    def _home(self, arg: Node) -> Any:
        """Whose memory a value is in: the graph's own, or what an effect will overwrite; None if not to be written."""
        if arg in self.written:
            return self.written[arg]
        if arg.target is remembered:
            return arg.args if arg.args in self.remembers else None
        if arg.target is memory or (arg.op == "call_method" and arg.target == "numpy"):
            return arg.args[:1] if arg.args[0] in self.put else None
        return _OWN if gives_own(arg) else None

    def _stays(self, node: Node, home: tuple[Any, ...]) -> bool:
        """Whether what is written into memory from outside is kept nowhere else."""
        kept = [user for user in self._users(node) if user.op == "output" or user.target in _KEEPING]
        return all(user.args[: len(home)] == home and user.target in (put, remember) for user in kept)

    def _seen_by(self, node: Node) -> int:
        """Where the memory of a value is seen last."""
        return max((self.places[user] for user in self._users(node)), default=-1)

    def _users(self, node: Node) -> list[Node]:
        """What reads a value, or what may be a view of it; the output, too, where there are too many to tell."""
        found, seen, waiting = [], {node}, [node]
        while waiting:
            for user in waiting.pop().users:
                found.append(user)
                if user not in seen and self._shows(user):
                    seen.add(user)
                    waiting.append(user)
            if len(seen) > _FAR:
                return [self.nodes[-1]]
        return found

    def _shows(self, user: Node) -> bool:
        """Whether the result of a call may be a view of what it was given."""
        if user.op == "output" or user.target in (put, remember, set_grad):
            return False  # they stand at the end, where nothing is written any more
        return user in self.written or not gives_own(user)


def _ufunc(node: Node) -> Any:
    if node.op != "call_function" or node.kwargs:
        return None
    found = node.target if isinstance(node.target, np.ufunc) else _UFUNCS.get(node.target)
    return found if found is not None and found.nout == 1 and found.nin == len(node.args) else None


def _worth(type_: Any) -> bool:
    if not isinstance(type_, Spec) or not type_.shape or type_.dtype.kind not in "fc":
        return False
    count = 1
    for size in type_.shape:
        hint = hint_of(size)
        if hint is None:
            return False
        count *= hint
    return bool(count * type_.dtype.itemsize >= _WORTH)
