"""A function captured as a graph of its own, inside of a capture that goes on; and a graph written into a capture.

Derivatives are made of functions in this way: the call `f(*args)` is captured into a region, the region's graph is
transformed, and the result takes the place of the call. What the function reads from outside, the caller's variables
among them, is found by the recorder as it is for the bodies of loops.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any

import numpy as np

from weft import pytree
from weft.autograd import Tensor
from weft.capture._branch import PathEnded
from weft.capture._memory import is_tensor
from weft.capture._recorder import Recorder
from weft.capture._region import Buffer
from weft.capture._values import Array, Scalar, Traced
from weft.graph import Graph, Node
from weft.graph._arguments import map_copy
from weft.ops import Spec
from weft.transform._builder import Builder
from weft.transform._chains import flat_chains
from weft.transform._list_rows import rows_for_lists
from weft.transform._split import Retyped, copy_nodes


class Section:
    """The graph of a call `function(*args, **kwargs)`.

    `inputs` are the leaves of the arguments that are arrays or numbers which vary, each with its place in the graph;
    the graph has no output yet: `leaves` and `tree` are the result, nodes and plain values. `axes` tells of leaves that
    are many examples, along an axis: the function is given one of them. `vary` has the numbers of leaves that take part
    though they may be plain numbers, which the program around has written down.
    """

    def __init__(
        self,
        recorder: Recorder,
        function: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        axes: Sequence[int | None] | None = None,
        vary: Container[int] = (),
    ) -> None:
        self.recorder, self.program = recorder, function
        self.given, tree = pytree.flatten((args, kwargs), is_leaf=is_leaf)
        self.given = [traced(recorder, leaf) for leaf in self.given]
        straight = recorder.region.straight
        self.region = region = recorder.enter()
        region.straight = straight
        recorder.deriving += 1
        try:
            self.places: list[Node | None] = []
            along = [None] * len(self.given) if axes is None else axes
            inside = [
                self._number(leaf) if k in vary and _is_number(leaf) else self._input(leaf, axis)
                for k, (leaf, axis) in enumerate(zip(self.given, along, strict=True))
            ]
            args, kwargs = tree.unflatten(inside)
            try:
                result = recorder.run(function, args, kwargs)
                if recorder.refused is not None:
                    raise recorder.refused
            except PathEnded:
                recorder.refuse("the function only raises, so there is nothing to differentiate")
            self.results, self.tree = pytree.flatten(result, is_leaf=is_leaf)
            self.leaves = [recorder.arg(leaf) for leaf in self.results]
            self._check_writes()
        finally:
            recorder.deriving -= 1
            recorder.leave(region)
        self.graph: Graph = region.graph
        self.builder = Builder(self.graph, recorder.sizes, region=region)
        rows_for_lists(self.builder, self.leaves)
        flat_chains(self.graph)

    def _input(self, leaf: Any, axis: int | None) -> Any:
        """What the function is given for a leaf: an array of its own, so that what it writes stays inside."""
        recorder, region = self.recorder, self.region
        if isinstance(leaf, Abstract):
            return self._abstract(leaf)
        kind = leaf.spec if isinstance(leaf, Array) else leaf.kind if isinstance(leaf, Scalar) else None
        if kind is None or (isinstance(leaf, Scalar) and np.dtype(kind).kind not in "fc"):
            self.places.append(None)
            return leaf
        name = leaf.buffer.name if isinstance(leaf, Array) else leaf.name or leaf.node.name
        place = region.placeholder(name)
        self.places.append(place)
        if isinstance(leaf, Array):
            shape = [size for at, size in enumerate(leaf.spec.shape) if at != axis]
            spec = Spec(shape, leaf.spec.dtype)
            place.meta["type"] = spec
            if not shape and axis is not None and not is_tensor(leaf):
                return Scalar(recorder, spec.dtype, place)
            buffer = Buffer(spec, name, layout=leaf if axis is None else "C")  # an example lies in order
            region.make(buffer, place)
            return type(leaf)(recorder, buffer, (), spec)
        place.meta["type"] = kind if isinstance(kind, type) else Spec((), kind)
        made = Scalar(recorder, kind, place)  # type: ignore[arg-type]  # of a Scalar it is no Spec
        made.name = leaf.name
        return made

    def _number(self, leaf: Any) -> Any:
        place = self.region.placeholder("value")
        self.places.append(place)
        kind = leaf.dtype if isinstance(leaf, np.inexact) else type(leaf)
        place.meta["type"] = kind if isinstance(kind, type) else Spec((), kind)
        return Scalar(self.recorder, kind, place)

    def _abstract(self, leaf: Abstract) -> Any:
        place = self.region.placeholder(leaf.name)
        place.meta["type"] = leaf.type
        self.places.append(place)
        return self.recorder.wrap(place, leaf.type, array=isinstance(leaf.type, Spec), tensor=leaf.tensor)

    def _check_writes(self) -> None:
        written = [buffer for buffer in self.region.written if self.region.parent and self.region.parent.knows(buffer)]
        if written:
            self.recorder.refuse(
                f"a function that is differentiated writes into {written[0].name}, an array from outside",
                help="write into a copy, or give the array as an argument",
            )

    def inline(self, results: Sequence[Any], nodes: Sequence[Node] | None = None, known: Any = None) -> list[Any]:
        """Write the graph into the region around, in the place of the call; what stands for `results` there.

        `nodes` are all of its nodes unless given; `known` tells of more inputs, and learns of every copy.
        """
        recorder, region = self.recorder, self.region
        known = {} if known is None else known
        for leaf, place in zip(self.given, self.places, strict=True):
            if place is not None:
                known[place] = leaf.node if isinstance(leaf, Traced) else leaf
        for outer, place in region.inputs.items():
            known[place] = recorder.region.lift(outer)
        for buffer, place in region.entered.items():
            known[place] = recorder.region.read(buffer)
        inlined(recorder, self.graph.nodes if nodes is None else nodes, known)
        return [map_copy(result, known.__getitem__) for result in results]


class Abstract:
    """A leaf of arguments of which only the type is known: there is no value of it yet."""

    def __init__(self, type_: Any, tensor: bool = False, name: str = "value") -> None:
        self.type, self.tensor, self.name = type_, tensor, name


def inlined(recorder: Recorder, nodes: Iterable[Node], known: dict[Node, Any]) -> None:
    """Copy nodes into the present region; `known` has what stands for their inputs, and learns of every copy."""
    target = Builder(recorder.region.graph, recorder.sizes, region=recorder.region)
    copy_nodes(Retyped(target, known, target), [node for node in nodes if node.op not in ("placeholder", "output")])


def wrapped(recorder: Recorder, value: Any, type_: Any, like: Any) -> Any:
    """The traced value of a node, of the class that another value has."""
    if not isinstance(value, Node):
        return value
    value.meta["as_traced"] = True
    return recorder.wrap(value, type_, array=isinstance(like, Array), tensor=is_tensor(like))


def is_leaf(value: Any) -> bool:
    return isinstance(value, (Traced, Abstract, np.ndarray, Tensor))


def _is_number(leaf: Any) -> bool:
    return type(leaf) in (float, complex) or isinstance(leaf, np.inexact)


def traced(recorder: Recorder, leaf: Any) -> Any:
    """A leaf of arguments; an array that the program holds, as a constant of it."""
    return recorder.constant(leaf) if isinstance(leaf, (np.ndarray, Tensor)) else leaf
