"""`vmap`: a function of one example becomes one of many.

>>> import numpy as np, weft
>>> def clipped(x, limit):
...     return x if x < limit else limit
>>> weft.vmap(clipped, in_axes=(0, None))(np.array([1.0, 5.0, 3.0]), 4.0)
array([1., 4., 3.])
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from weft import pytree
from weft.capture._recorder import Recorder
from weft.capture._values import Array
from weft.graph import Node
from weft.ops import Spec
from weft.ops._op import TABLE
from weft.transform._batch import Rows, batch_nodes
from weft.transform._builder import Builder, Value
from weft.transform._section import Section, is_leaf, wrapped
from weft.transform._transformed import Transformed

Axes = Any
"""An axis or None for all leaves of a value, or a container of those like the value."""


def vmap(function: Any, in_axes: Axes = 0, out_axes: Axes = 0) -> Any:
    """A function that calls another one for each example, all at once, and stacks the results.

    `in_axes` is the axis of the examples in each argument, None for one that all examples share: one for all
    arguments, or a tuple of them, each of which may be a container like its argument. Keyword arguments have their
    examples in front. `out_axes` is where the results get them. A branch or a loop that examples take differently runs
    for all of them, and each keeps its own.
    """
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    return Transformed(function, functools.partial(record_vmap, in_axes, out_axes), "vmap")


def record_vmap(
    in_axes: Axes, out_axes: Axes, recorder: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Record a call for all examples."""
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        recorder.refuse(f"vmap: in_axes is for {len(in_axes)} arguments, and there are {len(args)}")
    wanted = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
    flat: list[Any] = []
    for argument, axes in zip((*args, kwargs), (*wanted, 0), strict=True):
        flat += _per_leaf(recorder, "in_axes", argument, axes)
    leaves = pytree.flatten((args, kwargs), is_leaf=is_leaf)[0]
    along = [_axis(recorder, leaf, axis) for leaf, axis in zip(leaves, flat, strict=True)]
    section = Section(recorder, function, args, kwargs, along)
    size = _size(recorder, section, along)
    target = Builder(recorder.region.graph, recorder.sizes, region=recorder.region)
    known = _inputs(recorder, section, along, target)
    found = batch_nodes(target, section.graph.nodes, known, section.leaves, size)
    axes = _per_leaf(recorder, "out_axes", section.tree.unflatten(section.results), out_axes)
    made = [
        _result(recorder, target, value, rows, axis, size, like)
        for (value, rows), axis, like in zip(found, axes, section.results, strict=True)
    ]
    return section.tree.unflatten(made)


def _per_leaf(recorder: Recorder, name: str, value: Any, axes: Axes) -> list[Any]:
    """The axis for each leaf of a value."""
    leaves, tree = pytree.flatten(value, is_leaf=is_leaf)
    if axes is None or isinstance(axes, int):
        return [axes] * len(leaves)
    parts, shape = pytree.flatten(axes, is_leaf=lambda each: each is None)
    if shape != tree:
        recorder.refuse(f"vmap: {name} has another structure than what it is for", help="give one axis for all of it")
    return parts


def _axis(recorder: Recorder, leaf: Any, axis: Any) -> int | None:
    """The axis of the examples, counted from the front; None for what all share."""
    if axis is None:
        return None
    shape = leaf.spec.shape if isinstance(leaf, Array) else np.shape(leaf) if isinstance(leaf, np.ndarray) else None
    if shape is None and hasattr(leaf, "shape"):
        shape = leaf.shape
    if not shape:
        recorder.refuse(
            f"vmap: axis {axis} of {leaf!r}, which has no axes",
            help="write None in in_axes for what all examples share",
        )
    if not -len(shape) <= axis < len(shape):
        recorder.refuse(f"vmap: axis {axis} of an array of {len(shape)} dimensions")
    return int(axis % len(shape))


def _size(recorder: Recorder, section: Section, along: Sequence[int | None]) -> Any:
    """How many examples there are: the same number in every argument that has them."""
    sizes = [leaf.spec.shape[axis] for leaf, axis in zip(section.given, along, strict=True) if axis is not None]
    if not sizes:
        recorder.refuse("vmap: no argument has examples", help="let in_axes say along which axis they are")
    for other in sizes[1:]:
        if other != sizes[0]:
            recorder.refuse(f"vmap: {sizes[0]} examples in one argument, {other} in another")
    return sizes[0]


def _inputs(recorder: Recorder, section: Section, along: Sequence[int | None], target: Builder) -> dict[Node, Any]:
    """What stands for the inputs of the graph of one example."""
    known: dict[Node, Any] = {}
    for leaf, place, axis in zip(section.given, section.places, along, strict=True):
        if place is None:
            continue
        if axis is None:
            known[place] = leaf.node
            continue
        value = Value(target, leaf.node, leaf.spec)
        if axis:
            value = target.call(TABLE["moveaxis"], value, axis, 0)
        known[place] = Rows(value, place.meta["type"])
    for outer, place in section.region.inputs.items():
        known[place] = recorder.region.lift(outer)
    for buffer, place in section.region.entered.items():
        known[place] = recorder.region.read(buffer)
    return known


def _result(recorder: Recorder, target: Builder, value: Any, rows: bool, axis: int | None, size: Any, like: Any) -> Any:
    if value is None and like is not None:
        recorder.refuse(
            "vmap: a result of which only running tells what it is cannot be stacked",
            help="compute it with functions of NumPy's or weft's, or write it into an array: out[...] = value",
        )
    if axis is None:
        if rows:
            recorder.refuse("vmap: out_axes is None for a result that differs between examples")
        return wrapped(recorder, value.node, value.type, like) if isinstance(value, Value) else value
    if not rows:
        if not isinstance(value, Value):
            if not isinstance(value, (bool, int, float, complex, np.generic)):
                return value
            value = target.call(TABLE["full"], (), value)
        spec = value.type if isinstance(value.type, Spec) else Spec((), value.type)
        value = target.call(TABLE["broadcast_to"], value, (size, *spec.shape))
    if axis:
        value = target.call(TABLE["moveaxis"], value, 0, axis)
    return recorder.wrap(value.node, value.type, array=True, tensor=_as_tensor(like))


def _as_tensor(like: Any) -> bool:
    from weft.capture._memory import is_tensor

    return is_tensor(like)
