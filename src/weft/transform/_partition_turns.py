"""How often loops turn and what their tapes take, as far as that can be told before they run.

Bounds of loops are followed back to numbers that are known: those of the call that the graph was captured from, sizes,
and counters of loops around. What a turn leaves on a tape is a link, with the values it holds.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from weft.graph import Graph, Node
from weft.graph._control import fori_loop, scan, while_loop
from weft.graph._looping import trip_count
from weft.ops import Spec
from weft.transform._split import estimate
from weft.transform._tape import Tape, Tapes, record

TURNS = 16  # of a loop of which nobody knows

# Bytes of objects of Python's, with what its collector adds to a tuple.
_TUPLE, _ITEM, _NUMBER, _ARRAY, _AXIS = 40, 8, 24, 96, 16

_DEEP = 64  # calls that a bound is followed through
_COMPUTED: frozenset[Callable[..., Any]] = frozenset(
    {operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.neg, min, max, int, abs}
)
_OF_WHOLE: frozenset[Callable[..., Any]] = frozenset({trip_count, math.isqrt})


def size_of(spec: Spec) -> float:
    """How many elements an array has, or about how many."""
    count = 1.0
    for dim in spec.shape:
        count *= estimate(dim)
    return count


def loop_parts(node: Node) -> tuple[Graph, int, tuple[Any, ...], tuple[Any, ...]] | None:
    """The body of a loop, how many counters it has, what its carries start with, and its operands."""
    if node.target is fori_loop:
        return node.args[2], 1, tuple(node.args[3]), node.args[4:]
    if node.target is while_loop:
        return node.args[1], 0, tuple(node.args[2]), node.args[3:]
    return None


class Turns:
    """Numbers that are known of nodes; of what is in a body, as it is in the middle of the loop."""

    def __init__(self, known: Mapping[Node, float] | None = None) -> None:
        self.known: dict[Node, float] = {} if known is None else dict(known)

    def of(self, node: Node) -> float:
        """How often the body of a control-flow node runs, or about how often."""
        if node.target is fori_loop:
            bounds = self._bounds(node)
            if bounds is not None:
                lower, upper, step = bounds
                return max(0.0, float(-((lower - upper) // step)))
            return TURNS
        return TURNS if node.target in (while_loop, scan) else 1.0

    def _bounds(self, node: Node) -> tuple[float, float, float] | None:
        lower, upper, step = (self.number(each) for each in (*node.args[:2], node.kwargs.get("step", 1)))
        return None if lower is None or upper is None or not step else (lower, upper, step)

    def number(self, value: Any, depth: int = 0) -> float | None:
        """The number that an argument is, where it can be told."""
        if isinstance(value, (int, float)):
            return value
        if not isinstance(value, Node) or depth > _DEEP:
            return None
        if value in self.known or value.op != "call_function":
            return self.known.get(value)
        if value.target in _COMPUTED or value.target in _OF_WHOLE:
            parts = [self.number(each, depth + 1) for each in value.args]
            if any(part is None for part in parts):
                return None
            try:
                return float(value.target(*(map(int, parts) if value.target in _OF_WHOLE else parts)))  # type: ignore[arg-type]  # none is None
            except (ValueError, ZeroDivisionError):
                return None
        return self._size(value)

    def _size(self, node: Node) -> float | None:
        """A size that a node reads: `x.shape[k]` or `len(x)`."""
        source, axis = node.args[0] if node.args else None, 0
        if node.target is operator.getitem and isinstance(source, Node) and isinstance(node.args[1], int):
            if source.target is not getattr or source.args[1] != "shape":
                return None
            source, axis = source.args[0], node.args[1]
        elif node.target is not len:
            return None
        type_ = source.meta.get("type") if isinstance(source, Node) else None
        return estimate(type_.shape[axis]) if isinstance(type_, Spec) and type_.shape else None

    def enter(self, node: Node, share: float = 0.5) -> None:
        """Take what a body is given as known: its operands, and its counter after a share of the turns."""
        parts = loop_parts(node)
        if parts is None:
            return
        body, counters, init, operands = parts
        places = body.find_nodes(op="placeholder")
        for place, operand in zip(places[counters + len(init) :], operands, strict=True):
            found = self.number(operand)
            if found is not None:
                self.known[place] = found
        bounds = self._bounds(node) if counters else None
        if bounds is not None:
            lower, _, step = bounds
            self.known[places[0]] = lower + step * int(share * max(self.of(node) - 1, 0.0))

    # Memory

    def tape(self, node: Node) -> float:
        """Bytes of the tape that a loop or a branch leaves."""
        parts = loop_parts(node)
        if parts is None:
            return max((self._links(body) for body in node.bodies), default=0.0)
        body = parts[0]
        turns = self.of(node)
        total = 0.0
        # What a turn leaves may depend on the counter, as that of a loop inside does: Simpson's rule.
        shares = ((0.0, 1 / 6), (0.5, 4 / 6), (1.0, 1 / 6)) if _varies(body) else ((0.5, 1.0),)
        for share, weight in shares:
            self.enter(node, share)
            total += weight * self._links(body)
        self.enter(node)
        return turns * total

    def _links(self, body: Graph) -> float:
        """Bytes of what one run of a body leaves on its tapes."""
        total = 0.0
        for value in recorded(body):
            total += self.value(value)
        return total + (_TUPLE + _ITEM if recorded_by(body) is not None else 0.0)

    def value(self, node: Any) -> float:
        """Bytes of a value in a link."""
        type_ = node.meta.get("type") if isinstance(node, Node) else None
        if isinstance(type_, Spec):
            if not type_.shape:
                return _ITEM + _NUMBER
            return _ITEM + _ARRAY + _AXIS * len(type_.shape) + size_of(type_) * type_.dtype.itemsize
        if isinstance(type_, (Tape, Tapes)):
            source = node.args[0] if node.op == "call_function" else None
            return _ITEM + (self.tape(source) if isinstance(source, Node) and source.bodies else 0.0)
        return _ITEM + (_NUMBER if type_ in (float, complex, int) else 0)


def recorded_by(body: Graph) -> Node | None:
    """The node that makes the next link of a body's tape."""
    given = body.output_node().args[0]
    last = given[-1] if isinstance(given, (tuple, list)) and given else None
    return last if isinstance(last, Node) and last.target is record else None


def recorded(body: Graph) -> tuple[Any, ...]:
    """The values that a run of a body puts on its tape."""
    link = recorded_by(body)
    return () if link is None else tuple(link.args[1:])


def _varies(body: Graph) -> bool:
    return any(isinstance(node.meta.get("type"), Tape) for node in recorded(body) if isinstance(node, Node))
