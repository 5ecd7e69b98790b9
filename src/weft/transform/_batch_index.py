"""How reads and writes of parts of arrays are batched: `x[key]`, writes by key, gathering and scattering along axes.

A key that all examples have in common goes behind a slice of the batch. A key that differs becomes an advanced one, in
which the number of the example stands beside its indices.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.errors import ShapeError
from weft.ops import Op, Spec
from weft.ops._dim import unknown_sizes
from weft.ops._keys import indexed_shape, items
from weft.ops._op import TABLE
from weft.transform._batch import Batch, Rows, Unbatchable, _mapped
from weft.transform._batch_rules import flat, known_axis, rank, rule, shifted, varies
from weft.transform._builder import Value


class Key:
    """The key of one example, taken apart. `first`: how many dimensions of the result are in front of the indices'."""

    def __init__(self, key: Any) -> None:
        self.parts = [_laid_out(part) for part in items(key)]
        self.varied = varies(self.parts)
        self.indices = [k for k, part in enumerate(self.parts) if not _basic(part)]
        self.masks = any(_dtype(self.parts[k]).kind == "b" for k in self.indices)
        self.sliced = any(isinstance(part, slice) and varies(part) for part in self.parts)
        self.ndim = max((rank(self.parts[k]) for k in self.indices), default=0)
        self.advanced = self.ndim > 0 or self.masks
        span = self.indices[-1] - self.indices[0] + 1 if self.indices else 0
        self.together = span == len(self.indices)

    def in_front(self, shape: Sequence[Any]) -> int:
        """How many dimensions of the result come from parts in front of the first index, for an array of a shape."""
        taken = sum(1 for part in self.parts if part is not None and part is not Ellipsis)
        count = 0
        for part in self.parts[: self.indices[0]]:
            count += len(shape) - taken if part is Ellipsis else 1
        return count

    def guarded(self, batch: Batch) -> list[Any]:
        """The parts, with indices that are surely in range for examples that do not count."""
        if batch.mask is None:
            return self.parts
        if self.masks or any(isinstance(part, slice) and _computed(part) for part in self.parts):
            raise Unbatchable("a part that depends on the example, under a condition")
        return [_guarded(batch, part) if k in self.indices else part for k, part in enumerate(self.parts)]


def _laid_out(part: Any) -> Any:
    if isinstance(part, list) and not varies(part):
        flat_parts: list[Any] = []
        _mapped(part, flat_parts.append)
        if not any(isinstance(each, Value) for each in flat_parts):
            made = np.asarray(part)
            return made if made.size else made.astype(np.intp)
    return part


def _basic(part: Any) -> bool:
    return part is None or part is Ellipsis or isinstance(part, slice)


def _computed(part: slice) -> bool:
    return any(isinstance(each, (Value, Rows)) for each in (part.start, part.stop, part.step))


def _dtype(part: Any) -> Any:
    if isinstance(part, (Rows, Value)):
        return part.dtype
    return np.asarray(part).dtype if not isinstance(part, list) else np.dtype(object)


def _guarded(batch: Batch, part: Any) -> Any:
    """An index that is 0 where an example does not count."""
    assert batch.mask is not None
    if isinstance(part, Rows):
        mask = batch.mask
        if part.ndim:
            mask = batch.call("reshape", mask, (batch.size, *(1,) * part.ndim))
        return Rows(batch.call("where", mask, part.value, 0), part.type)
    if isinstance(part, Value):
        return batch.call("where", batch.call("any", batch.mask), part, 0)
    return part


def _lifted(batch: Batch, parts: list[Any], key: Key, whole: bool) -> tuple[Any, ...]:
    """The key of all examples; with `whole` of an array that has a row for each."""
    made = [batch.aligned(part, key.ndim) if isinstance(part, Rows) else part for part in parts]
    if not whole:
        return tuple(made)
    numbers = batch.call("arange", batch.size)
    if key.ndim:
        numbers = batch.call("reshape", numbers, (batch.size, *(1,) * key.ndim))
    return (numbers, *made)


def _move(batch: Batch, value: Value, start: int, count: int, to: int) -> Value:
    """Move `count` axes that begin at `start` to where they begin at `to`."""
    if start == to or count == 0:
        return value
    axes = list(range(len(value.shape)))
    taken = axes[start : start + count]
    rest = axes[:start] + axes[start + count :]
    return batch.call("permute_dims", value, (*rest[:to], *taken, *rest[to:]))  # type: ignore[no-any-return]  # a Value


@rule("getitem", static=False)
def _getitem(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    x, key_ = args
    if not isinstance(x, (Rows, Value)) or not isinstance(type_, Spec):
        return NotImplemented
    key = Key(key_)
    if key.sliced or (key.varied and (key.masks or _has_lists(key))):
        return NotImplemented
    parts = key.guarded(batch)
    if not any(isinstance(part, Rows) for part in parts):
        if not isinstance(x, Rows):
            return batch.builder.call(op, x, tuple(parts)).node
        made = batch.builder.call(op, x.value, (slice(None), *parts))
        # Indices that something separates put their dimensions in front of all others.
        ahead = _index_dims(key) if key.advanced and not key.together else 0
        return _move(batch, made, ahead, 1, 0) if ahead else made
    made = batch.builder.call(
        op, x.value if isinstance(x, Rows) else x, _lifted(batch, parts, key, isinstance(x, Rows))
    )
    first = key.in_front(x.shape) if key.together else 0
    if isinstance(x, Rows):
        return _move(batch, made, 1, key.ndim, first + 1)
    return _move(batch, made, first, 1, 0)


def _has_lists(key: Key) -> bool:
    return any(isinstance(part, list) for part in key.parts)


def _index_dims(key: Key) -> int:
    """How many dimensions the indices of a key give together; a mask gives one."""
    return max(1 if _dtype(key.parts[k]).kind == "b" else rank(key.parts[k]) for k in key.indices)


def _part_shape(batch: Batch, shape: Sequence[Any], key: Any) -> tuple[Any, ...]:
    """The shape of the part of one example that a key names."""

    def abstract(part: Any) -> Any:
        if isinstance(part, Rows):
            return Spec(part.shape, part.dtype if part.dtype.kind in "iub" else np.intp)
        return part

    plain = batch.builder.structural(_mapped(key, abstract))
    with unknown_sizes(batch.builder.sizes):
        return tuple(indexed_shape("getitem", shape, plain))


def _written(batch: Batch, entry: Any, shape: tuple[Any, ...]) -> Any:
    """What is written, with the dimensions of the part it is written to: Rows, or a Value of that many at most."""
    extra = rank(entry) - len(shape)
    if extra > 0:  # of size one, as NumPy allows
        if isinstance(entry, Rows):
            return Rows(batch.call("reshape", entry.value, (batch.size, *entry.shape[extra:])))
        return batch.call("reshape", entry, entry.shape[extra:])
    return entry


def _write(batch: Batch, op: Op, x: Any, key_: Any, value: Any, build: Any) -> Any:
    """A write by a key; `build(key, value)` makes the node once both fit an array with a row for each example."""
    key = Key(key_)
    if key.sliced or (key.varied and (key.masks or _has_lists(key))):
        return NotImplemented
    parts = key.guarded(batch)
    shape = _part_shape(batch, x, key_)
    value = _written(batch, value, shape)
    if not any(isinstance(part, Rows) for part in parts):
        ahead = _index_dims(key) if key.advanced and not key.together else 0
        fitted = batch.aligned(value, len(shape))
        if ahead and (isinstance(value, Rows) or rank(value) > len(shape) - ahead):
            fitted = _move(batch, batch.call("broadcast_to", fitted, (batch.size, *shape)), 0, 1, ahead)
        try:
            return build((slice(None), *parts), fitted)
        except ShapeError:
            if key.masks:  # whose elements no longer show in a graph
                return NotImplemented
            raise
    lifted = _lifted(batch, parts, key, True)
    first = key.in_front(x) if key.together else 0
    if not first or not key.ndim or (rank(value) == 0 and not isinstance(value, Rows)):
        return build(lifted, batch.aligned(value, len(shape)))
    whole = batch.call("broadcast_to", batch.aligned(value, len(shape)), (batch.size, *shape))
    return build(lifted, _move(batch, whole, first + 1, key.ndim, 1))


@rule("index_update", "index_add", static=False)
def _index_update(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    x, key, value = args
    if isinstance(value, (list, tuple)):
        return NotImplemented
    if rank(x) == 0 and op.name == "index_update" and key is Ellipsis:
        value = _written(batch, value, ())
        return batch.call("astype", batch.front(value), x.dtype)
    if op.name == "index_update" and rank(value) == 0:
        found = _masked(batch, x, _slice_mask(batch, x, key), value)
        if found is not NotImplemented:
            return found
    if batch.mask is not None and not isinstance(x, Rows) and not varies((key, value)):
        parts = Key(key).guarded(batch)
        return batch.builder.call(op, x, tuple(parts), value).node
    base = batch.front(x)
    value = _weak(batch, x, value)
    return _write(batch, op, tuple(x.shape), key, value, lambda k, v: batch.builder.call(op, base, k, v))


def _weak(batch: Batch, x: Any, value: Any) -> Any:
    """Python's numbers take on the dtype of what they are written to."""
    if isinstance(value, Rows) and not isinstance(value.type, Spec) and value.dtype.kind != "c":
        return Rows(batch.call("astype", value.value, x.dtype))
    return value


def _slice_mask(batch: Batch, x: Any, key: Any) -> Any:
    """`low:high` that differs between examples, as a mask; any other key as it is."""
    if not isinstance(key, slice) or not varies(key) or key.step is not None or not rank(x):
        return key
    size = batch.builder.value(batch.builder.argument(x.shape[0]))
    places = batch.call("arange", x.shape[0])
    mask: Any = None
    for bound, compared in ((key.start, "greater_equal"), (key.stop, "less")):
        if bound is not None:
            limit = batch.call("reshape", batch.front(bound), (batch.size, 1))
            inside = batch.call(compared, places, batch.call("where", limit < 0, limit + size, limit))
            mask = inside if mask is None else batch.call("logical_and", mask, inside)
    return Rows(mask)


def _masked(batch: Batch, x: Any, key: Any, value: Any) -> Any:
    """`x[mask] = number`."""
    if not isinstance(key, Rows) or key.dtype.kind != "b" or not 0 < key.ndim <= rank(x):
        return NotImplemented
    mask = key.value
    if key.ndim < rank(x):
        mask = batch.call("reshape", mask, (*mask.shape, *(1,) * (rank(x) - key.ndim)))
    new = batch.aligned(value, rank(x))
    if isinstance(new, Value):
        new = batch.call("astype", new, x.dtype)
    else:
        new = np.asarray(new).astype(x.dtype)[()]
    return batch.call("where", mask, new, batch.front(x))


@rule("place_at", static=False)
def _place_at(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    value, key, given = args
    # As it is given: a size that only running tells may be one of this very array.
    shape = tuple(given) if isinstance(given, (tuple, list)) and not varies(given) else type_.shape
    if not varies((value, key)):
        parts = Key(key).guarded(batch)
        return batch.builder.call(op, value, tuple(parts), shape).node
    value = Rows(batch.front(value))
    whole = (batch.size, *shape)
    return _write(batch, op, type_.shape, key, value, lambda k, v: batch.builder.call(op, v, k, whole))


# Along axes


@rule("take")
def _take(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    x, indices, axis = args
    if axis is not None and not known_axis(axis):
        return NotImplemented
    indices = _guarded(batch, indices) if batch.mask is not None else indices
    if axis is None:
        if not isinstance(x, Rows):
            x = batch.call("reshape", x, (-1,))
        else:
            x = Rows(flat(batch, x.value))
        axis = 0
    axis = operator.index(axis) % rank(x)
    if not isinstance(indices, Rows):
        return batch.call("take", x.value, indices, axis + 1)
    if not isinstance(x, Rows):
        return _move(batch, batch.call("take", x, indices.value, axis), axis, 1, 0)
    key = (*(slice(None),) * axis, indices)
    return _getitem(batch, TABLE["getitem"], (x, key), type_)


@rule("take_along_axis")
def _take_along(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    x, indices, axis = args
    indices = _guarded(batch, indices) if batch.mask is not None else indices
    x, indices = batch.front(x), batch.front(indices)
    if axis is None:
        return batch.call("take_along_axis", flat(batch, x), flat(batch, indices), 1)
    if not known_axis(axis):
        return NotImplemented
    return batch.call("take_along_axis", x, indices, shifted(axis, len(x.shape) - 1))


@rule("scatter_add")
def _scatter_add(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    x, indices, values, axis = args
    if axis is None or not known_axis(axis) or not rank(x) == rank(indices) == rank(values):
        return NotImplemented
    indices = _guarded(batch, indices) if batch.mask is not None else indices
    return batch.call("scatter_add", *(batch.front(each) for each in (x, indices, values)), shifted(axis, rank(x)))


@rule("embedding")
def _embedding(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    indices, weight, padding = args
    return NotImplemented if isinstance(weight, Rows) else batch.call("embedding", indices.value, weight, padding)
