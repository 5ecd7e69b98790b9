"""`vmap`: a function of one example becomes one of many.

>>> import numpy as np, weft
>>> def clipped(x, limit):
...     return x if x < limit else limit
>>> weft.vmap(clipped, in_axes=(0, None))(np.array([1.0, 5.0, 3.0]), 4.0)
array([1., 4., 3.])
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft import pytree
from weft._frames import without_frames
from weft.autograd import Tensor
from weft.capture._memory import is_tensor
from weft.capture._opaque import Opaque
from weft.capture._recorder import Recorder
from weft.capture._values import Array
from weft.graph import Node
from weft.ops._dim import Dim
from weft.ops._op import TABLE
from weft.transform._batch import Batch, Rows, batch_nodes
from weft.transform._builder import Builder, Value
from weft.transform._leaves import gives_array, leaf_names, spoken
from weft.transform._modules import open_modules
from weft.transform._section import Section, is_leaf, wrapped
from weft.transform._transformed import Transformed

Axes = Any
"""An axis or None for all leaves of a value, or a container of those like the value."""


@without_frames
def vmap(function: Any, in_axes: Axes = 0, out_axes: Axes = 0) -> Any:
    """A function that calls another one for each example, all at once, and stacks the results.

    `in_axes` is the axis of the examples in each argument, None for one that all examples share: one for all
    arguments, or a tuple of them, each of which may be a container like its argument, or like its outer part. A Module
    that such a tuple has an axis for is an ensemble, its parameters many examples. Keyword arguments that are arrays
    have their examples in front. `out_axes` is where the results get them. A branch or a loop that examples take
    differently runs for all of them, and each keeps its own.

    >>> import numpy as np, weft
    >>> weft.vmap(np.dot, in_axes=(0, None))(np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])
    """
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    return Transformed(function, functools.partial(record_vmap, in_axes, out_axes), "vmap")


def record_vmap(
    in_axes: Axes, out_axes: Axes, recorder: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Record a call for all examples."""
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        recorder.refuse(f"vmap: in_axes has {len(in_axes)} entries, and there are {len(args)} arguments")
    wanted = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
    # A Module is many examples only where in_axes says so of it: its parameters then have them.
    stacked = [at for at, axes in enumerate(wanted) if axes is not None and isinstance(in_axes, tuple)]
    function, args = open_modules(recorder, function, args, stacked)
    flat: list[Any] = []
    for argument, axes in zip(args, wanted, strict=True):
        flat += _per_leaf(recorder, "in_axes", argument, axes)
    leaves = pytree.flatten((args, kwargs), is_leaf=is_leaf)[0]
    flat += [0 if _shape(leaf) else None for leaf in leaves[len(flat) :]]
    along = []
    for number, (leaf, axis) in enumerate(zip(leaves, flat, strict=True)):
        along.append(_axis(recorder, leaf, axis, functools.partial(_name, function, args, kwargs, number)))
    section = Section(recorder, function, args, kwargs, along)
    size = _size(recorder, section, along)
    target = Builder(recorder.region.graph, recorder.sizes, region=recorder.region)
    known = _inputs(recorder, section, along, target)
    found = batch_nodes(target, section.graph.nodes, known, section.leaves, size)
    axes = _per_leaf(recorder, "out_axes", section.tree.unflatten(section.results), out_axes)
    made = [
        _result(recorder, target, entry, axis, size, like)
        for entry, axis, like in zip(found, axes, section.results, strict=True)
    ]
    return section.tree.unflatten(made)


def _per_leaf(recorder: Recorder, name: str, value: Any, axes: Axes) -> list[Any]:
    """The axis for each leaf of a value."""
    if axes is None or (isinstance(axes, (int, np.integer)) and not isinstance(axes, bool)):
        return [axes] * len(pytree.flatten(value, is_leaf=is_leaf)[0])
    wanted, shape = pytree.flatten(axes, is_leaf=lambda each: each is not axes)
    if shape == pytree.LEAF:
        recorder.refuse(f"vmap: {name} has {axes!r} for an axis", help="an axis is an integer, or None")
    children, tree = pytree.flatten(value, is_leaf=lambda each: each is not value or is_leaf(each))
    if isinstance(axes, dict) and isinstance(value, dict) and axes.keys() == value.keys():
        wanted = [axes[key] for key in value]
    elif shape != tree:
        recorder.refuse(f"vmap: {name} has another structure than what it is for", help="give one axis for all of it")
    return [axis for pair in zip(children, wanted, strict=True) for axis in _per_leaf(recorder, name, *pair)]


def _shape(leaf: Any) -> tuple[Any, ...]:
    if isinstance(leaf, Array):
        return leaf.spec.shape
    return tuple(leaf.shape) if isinstance(leaf, (np.ndarray, Tensor)) else ()


def _name(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], number: int) -> str:
    return leaf_names(function, args, [number], kwargs)[0]


def _axis(recorder: Recorder, leaf: Any, axis: Any, name: Callable[[], str]) -> int | None:
    """The axis of the examples, counted from the front; None for what all share."""
    if axis is None:
        return None
    shape = _shape(leaf)
    if not shape:
        recorder.refuse(
            f"vmap: {name()} is {spoken(leaf)}, which has no axis to take examples from",
            help=f"give the array it stands for: np.asarray({name()})"
            if gives_array(leaf)
            else "give an array of examples, or write None in in_axes for what all examples share",
        )
    if not -len(shape) <= axis < len(shape):
        recorder.refuse(
            f"vmap: in_axes says axis {axis} for {name()}, an array of {len(shape)} dimensions",
            help=f"axes are counted from 0, here to {len(shape) - 1}, or from -1 for the last",
        )
    return int(axis % len(shape))


def _size(recorder: Recorder, section: Section, along: Sequence[int | None]) -> Any:
    """How many examples there are: the same number in every argument that has them."""
    given = [(leaf, leaf.spec.shape[axis]) for leaf, axis in zip(section.given, along, strict=True) if axis is not None]
    if not given:
        recorder.refuse("vmap: no argument has examples", help="name an axis in in_axes for at least one argument")
    (first, size), *others = given
    for leaf, other in others:
        if other != size:
            counts = [each.hint if isinstance(each, Dim) else each for each in (size, other)]
            recorder.refuse(f"vmap: {counts[0]} examples in {first.buffer.name}, {counts[1]} in {leaf.buffer.name}")
    return size


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


def _result(recorder: Recorder, target: Builder, entry: Any, axis: int | None, size: Any, like: Any) -> Any:
    if isinstance(entry, tuple):
        parts = [_result(recorder, target, part, axis, size, like) for part in entry]
        return pytree.from_parts(type(entry), None, parts)
    if axis is None:
        if isinstance(entry, Rows):
            recorder.refuse("vmap: out_axes is None for a result that differs between examples")
        return wrapped(recorder, entry, entry.meta.get("type"), like) if isinstance(entry, Node) else entry
    if not isinstance(entry, (Rows, Node, bool, int, float, complex, np.generic, np.ndarray)):
        return entry
    known = entry.value.type if isinstance(entry, Rows) else entry.meta.get("type") if isinstance(entry, Node) else bool
    if known is None and (isinstance(entry, Node) or type(like) is not Opaque):
        recorder.refuse("vmap: a result of which only running tells what it is cannot be stacked")
    value = entry.value if isinstance(entry, Rows) else Batch(target, size, {}).front(target.value(entry))
    if axis:
        if known is None:
            recorder.refuse(f"vmap: out_axes is {axis} for a result of which only running tells what it is")
        if not -len(value.shape) <= axis < len(value.shape):
            recorder.refuse(
                f"vmap: out_axes is {axis} for a result of {len(value.shape)} dimensions, the new one included"
            )
        value = target.call(TABLE["moveaxis"], value, 0, axis)
    value.node.meta["as_traced"] = value.type is not None
    return recorder.wrap(value.node, value.type, array=True, tensor=is_tensor(like))
