"""Comprehensions and generator expressions of a captured program."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from weft import pytree
from weft.capture._convert_site import Site
from weft.capture._iterables import Collected, Items, items_of
from weft.capture._merge import describe, type_of, visible_sizes
from weft.capture._values import Array, Scalar, Traced
from weft.ops import Spec

if TYPE_CHECKING:
    from weft.capture._hooks import Hooks


def collect(
    hooks: Hooks,
    site: Site,
    kind: str,
    iterable: Any,
    element: Callable[[Any], Any],
    condition: Callable[[Any], Any] | None,
) -> Any:
    """`[element(item) for item in iterable if condition(item)]`."""
    recorder = hooks.recorder
    items = items_of(recorder, iterable) if isinstance(iterable, (Array, Items)) else None
    if items is not None and items.traced and recorder.branches:
        return _stacked(hooks, site, items, element, condition)
    found = []
    for item in iterable if items is None else items:
        kept = True if condition is None else condition(item)
        if isinstance(kept, Traced):
            kept = recorder.decide(kept)
        if kept:
            found.append(element(item))
    recorder.made(found)
    return iter(found) if kind == "generator" else found


def _stacked(
    hooks: Hooks, site: Site, items: Items, element: Callable[[Any], Any], condition: Callable[[Any], Any] | None
) -> Any:
    """The elements where their number is traced: a loop that writes them into arrays one by one."""
    recorder = hooks.recorder
    leaves, tree, types = _sample(hooks, items, element)
    length = items.length
    arrays = []
    for leaf, type_ in zip(leaves, types, strict=True):
        if type_ is None:
            recorder.refuse(
                f"a comprehension over a traced number of items gives {describe(leaf)}",
                help="let it give numbers or arrays of one shape",
            )
        shape = () if type_.spec is None else type_.spec.shape
        dtype = np.dtype(type_.kind) if type_.spec is None else type_.spec.dtype
        sizes = tuple(recorder.integer(d) for d in visible_sizes(recorder, Spec(shape, dtype), recorder.region).shape)
        if None in sizes:
            recorder.refuse("a comprehension whose elements have a size known only inside it")
        arrays.append(recorder.numpy.function(np.empty, ((length, *sizes),), {"dtype": dtype}))
    place = _Writer(recorder, arrays)
    if condition is None:
        recorder.bind(fill_all)(length, items.item, element, place.write)
    else:
        length = recorder.bind(fill_some)(length, items.item, element, condition, place.write)
        arrays = [recorder.getitem(array, slice(None, length)) for array in arrays]
    kinds = [t.kind if t.spec is None and isinstance(t.kind, type) else None for t in types]
    return Collected(recorder, arrays, tree, kinds, length)


def _sample(hooks: Hooks, items: Items, element: Callable[[Any], Any]) -> tuple[list[Any], Any, list[Any]]:
    """What an element is: found by capturing one and taking it back."""
    recorder = hooks.recorder
    region = recorder.enter()
    try:
        node = region.placeholder("k")
        node.meta["type"] = int
        leaves, tree = pytree.flatten(element(items.item(Scalar(recorder, int, node))))
        return leaves, tree, [type_of(leaf) for leaf in leaves]
    finally:
        recorder.leave(region)


class _Writer:
    def __init__(self, recorder: Any, arrays: list[Any]) -> None:
        self.recorder = recorder
        self.arrays = arrays

    def write(self, k: Any, value: Any) -> None:
        for array, leaf in zip(self.arrays, pytree.leaves_of(value), strict=True):
            self.recorder.setitem(array, k, leaf)


# Captured themselves, as the program's own loops are.


def fill_all(length: Any, item: Any, element: Any, write: Any) -> None:
    """Write every element."""
    for k in range(length):
        write(k, element(item(k)))


def fill_some(length: Any, item: Any, element: Any, condition: Any, write: Any) -> Any:
    """Write the elements of items that meet a condition, and count them."""
    count = 0
    for k in range(length):
        value = item(k)
        if condition(value):
            write(count, element(value))
            count += 1
    return count
