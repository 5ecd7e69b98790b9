"""Reading and writing arrays of a captured program: views of buffers, whose every write is a new value."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from weft import pytree
from weft.autograd import Tensor
from weft.capture._iterables import RangeItems
from weft.capture._layouts import where_met
from weft.capture._opaque import Opaque, is_opaque
from weft.capture._region import Buffer
from weft.capture._sharing import may_be, untie
from weft.capture._sizes import abstract_key
from weft.capture._state_places import Learned
from weft.capture._tensor_writes import check_leaf
from weft.capture._values import Array, Scalar, Traced
from weft.capture._views import Step, is_basic, scalars_in, step_for_key
from weft.errors import DtypeError, IndexingError, ShapeError, UnknownShape
from weft.graph import Graph, Node
from weft.graph._control import cond
from weft.graph._handed import still_apart, written, written_at
from weft.ops import Spec
from weft.ops._dim import Dim, fits_dim, unknown_sizes
from weft.ops._op import op_of
from weft.ops.dtypes import astype
from weft.ops.indexing import getitem as getitem_op
from weft.ops.indexing import index_update


class Memory:
    """The part of a recorder that deals with arrays."""

    def read(self: Any, array: Array) -> Any:
        """The node of what an array holds now."""
        region = self.region
        node = self._content(array.buffer)
        if not array.path:
            return node
        # What is one array or another changes with both, unnoticed.
        cache = region.views.setdefault(array.buffer, {}) if array.buffer.choice is None else {}
        for n, step in enumerate(array.path, 1):
            if step.since is not None:
                step.check(self, array.buffer)
            prefix = array.path[:n]
            found = cache.get(prefix)
            if found is None:
                found = cache[prefix] = step.apply(self, node, array.spec if n == len(array.path) else None)
            node = found
        return node

    def store(self: Any, array: Array, value: Node) -> None:
        """Write a whole array: what shares its memory changes too."""
        check_leaf(self, array)
        self.stores += 1
        untie(self, array.buffer)
        region, path = self.region, array.path
        untyped: Any = None  # so that reading them tells their types
        parts = (Array(self, array.buffer, path[:n], untyped) for n in range(1, len(path)))
        contents = [self._content(array.buffer), *(self.read(part) for part in parts)]
        new = value
        for step, content in zip(reversed(path), reversed(contents), strict=False):
            new = step.put(self, content, new)
        if array.buffer.choice is not None:
            self._write_chosen(array.buffer, new)
            return
        if array.buffer.target is not None and new.target is not index_update:
            # The caller's array itself is written, and here: what is raised later finds it changed.
            new = self.create(index_update, (contents[0], ..., new), {}, array.buffer.spec)
        known = self.state.known
        if array.buffer.handed:
            new = self.create(written, (contents[0], new), {}, array.buffer.spec)
        elif array.buffer.target is not None and known is not None and known.seen:
            new = self._written_now(contents[0], new, array.buffer.spec)
        region.write(array.buffer, new)
        if path:
            region.views[array.buffer] = {path: value}

    def _written_now(self: Any, content: Node, new: Node, spec: Spec) -> Any:
        """The node that writes an array of the caller's where the graph is now, at the place that `new` changes."""
        last = next(reversed(self.region.graph.nodes))
        if new is not last or new.target is not index_update or new.args[0] is not content or new.users:
            return self.create(written, (content, new), {}, spec)
        place = new.args[1:]
        self.region.graph.erase_node(new)
        return self.create(written_at, (content, *place), {}, spec)

    def check_seen(self: Any, args: tuple[Any, ...], name: Any = None) -> None:
        """A node that takes objects, or what they hold, may see arrays of the caller: they are to be written by then.

        The capture learns that, and begins again. `name` is that of an attribute or a method of the first of them: a
        list does not look at what is appended to it.
        """
        known = self.state.known
        if known is None or known.seen or self.untyped:
            return
        if name in ("append", "appendleft") and id(args[0]) in self.state.lists:
            return
        region = self.region
        while region is not None:
            pending = region.written if region.parent is not None else region.held
            if any(buffer.target not in (None, region.held.get(buffer)) for buffer in pending):
                if any(isinstance(value, Opaque) or self.state.is_outside(value) for value in args):
                    raise Learned({}, seen=True)
                return
            region = region.parent

    def hand_out(self: Any, given: Any) -> None:
        """Code of which nothing is known is given these values: what is written into arrays later, it may see."""
        for buffer in _buffers(given):
            buffer.handed = True

    def check_apart(self: Any, result: Any, given: Any) -> None:
        """After such a call in a branch or loop that has written an array before: its iterations come round to it."""
        region, arrays = self.region, []
        while region is not self.root:
            arrays += [array for array in _arrays(given) if region.written.keys() & may_be(array.buffer).keys()]
            region = region.parent
        if arrays:
            name = getattr(result.node.target, "__name__", "a call")
            self.create(still_apart, (result, name, *arrays), {}, None)

    def choice(self: Any, test: Any, a: Array, b: Array) -> Array:
        """The array that is `a` where a condition is true, else `b`."""
        spec = Spec(a.spec.shape, a.spec.dtype)
        buffer = Buffer(spec, a.buffer.name, layout=where_met((a, b)))
        buffer.choice = (test, a, b)
        return type(a)(self, buffer, (), spec)

    def _content(self: Any, buffer: Buffer) -> Any:
        if buffer.choice is None:
            return self.region.read(buffer)
        test, a, b = buffer.choice
        if any(True for array in (a, b) for step in array.path for _ in scalars_in(step.args)):
            return self._guarded(test, (a, b), buffer.spec)
        return self._either(test, a.node, b.node, buffer.spec)

    def _guarded(self: Any, test: Any, arrays: tuple[Array, Array], spec: Spec) -> Any:
        """What one of two arrays holds, of which only that one is read: the other may not be where it says."""
        from weft.capture._branch import close, outer

        regions, nodes = [], []
        for array in arrays:
            regions.append(self.enter())
            try:
                nodes.append(self.read(array))
            finally:
                self.leave(regions[-1])
        operands = dict.fromkeys(key for region in regions for key in region.operands())
        for region, node in zip(regions, nodes, strict=True):
            close(region, operands, (node,))
        graphs = [region.graph for region in regions]
        made = self.create(cond, (test, *graphs, *(outer(self, key) for key in operands)), {}, (spec,))
        return self.create(operator.getitem, (made, 0), {}, spec)

    def _write_chosen(self: Any, buffer: Buffer, value: Node) -> None:
        assert buffer.choice is not None
        test, a, b = buffer.choice
        self.store(a, value if a.buffer.alone else self._either(test, value, a.node, a.spec))
        # Read again: the two may share memory.
        self.store(b, value if b.buffer.alone else self._either(test, b.node, value, b.spec))

    def _either(self: Any, test: Any, a: Node, b: Node, spec: Spec) -> Any:
        graphs = [Graph(), Graph()]
        for graph, place in zip(graphs, (0, 1), strict=True):
            inputs = [graph.placeholder("a"), graph.placeholder("b")]
            for node in inputs:
                node.meta["type"] = spec
            graph.output((inputs[place],))
        made = self.create(cond, (test, *graphs, a, b), {}, (spec,))
        return self.create(operator.getitem, (made, 0), {}, spec)

    def view(self: Any, array: Array, step: Step, spec: Spec) -> Array:
        """An array that shares the memory of another."""
        step.spec = spec
        made = type(array)(self, array.buffer, (*array.path, step), spec)
        if any(isinstance(d, Dim) and any(atom.source is None for atom in d.atoms()) for d in spec.shape):
            self.bind_sizes(self.read(made), spec)
        return made

    def getitem(self: Any, value: Any, key: Any) -> Any:
        """`value[key]`."""
        key = self.as_key(key)
        if is_opaque(key):
            return self.opaque(operator.getitem, (value, key), {})
        spec: Spec = value.spec
        type_ = self.inferred(getitem_op, (spec, abstract_key(self, key)))
        mask = key.node if isinstance(key, Array) and key.spec.dtype.kind == "b" else None
        if mask is not None:
            size = self.mask_sizes.setdefault(mask, type_.shape[0])
            type_ = Spec((size, *type_.shape[1:]), type_.dtype)
        if is_basic(key) and isinstance(value, Array):
            if not type_.shape and not _has_ellipsis(key) and not is_tensor(value):
                return Scalar(self, type_.dtype, self.create(operator.getitem, (value, key), {}, type_))
            view = self.view(value, step_for_key(key), type_)
            if self.keeps_raising and not isinstance(key, slice):
                self.read(view)  # now: the place may be out of range
            return view
        node = self.create(operator.getitem, (value, key), {}, type_)
        # Several keys leave the axes in any order.
        return self.wrap(node, type_, tensor=is_tensor(value), layout=False if isinstance(key, tuple) else [value])

    def as_key(self: Any, key: Any) -> Any:
        """A key in which ranges, and tuples inside of a tuple, are the arrays of indices that NumPy makes of them."""
        if isinstance(key, (range, RangeItems)):
            return self._indices(key)
        if isinstance(key, tuple) and any(isinstance(part, (tuple, range, RangeItems)) for part in key):
            return tuple(self._indices(part) if isinstance(part, (tuple, range, RangeItems)) else part for part in key)
        return key

    def _indices(self: Any, part: Any) -> Any:
        if isinstance(part, range) or _is_empty(part):  # NumPy makes integers of none, too
            return np.asarray(part, np.intp)
        typed = {"dtype": np.intp} if isinstance(part, RangeItems) else {}
        return self.numpy.function(np.asarray, (part,), typed)

    def setitem(self: Any, array: Array, key: Any, value: Any) -> None:
        """`array[key] = value`."""
        key = self.as_key(key)
        if _is_complex(value) and array.spec.dtype.kind in "iufb":  # NumPy warns, and stores the real part
            value = value.astype(array.spec.dtype)
        if isinstance(value, (list, tuple)):
            value = self.numpy.function(np.asarray, (value,), {})
        guessed = self.guesses()
        if not is_opaque((key, value)):
            rules = [array.spec, abstract_key(self, key), self.abstract(value)]
            try:
                with unknown_sizes(self.sizes):
                    index_update.infer(*rules)
            except (ShapeError, DtypeError, IndexingError) as error:
                raise self.in_numbers(error, index_update, rules) from None
        node = self.create(index_update, (array, key, value), {}, Spec(array.spec.shape, array.spec.dtype))
        if isinstance(value, Array) and value.buffer is array.buffer:
            node.meta["overlaps"] = True
        if self.guesses() > guessed:
            self.may_not_fit(node, index_update)
        self.store(array, node)

    def update(self: Any, array: Array, function: Callable[..., Any], other: Any) -> Array:
        """`array += other` and its kin: the array itself changes."""
        op = op_of(function)
        assert op is not None
        if isinstance(other, Opaque) and not is_tensor(array):
            self.store(array, self.create(updated, (getattr(np, op.name), array, other), {}, array.spec))
            return array
        if isinstance(other, (list, tuple)):
            other = self.numpy.function(np.asarray, (other,), {})
        guessed = self.guesses()
        type_ = self.inferred(op, (array.spec, self.abstract(other)))
        self.check_cast(function, array, other)
        node = self.create(function, (array, other), {}, type_)
        self.bind_sizes(node, type_)
        made = self.fitted(node, type_, array)
        if self.guesses() > guessed:
            self.may_not_fit(node, op)
            self.may_not_fit(made, op)
        self.store(array, made)
        return array

    def fitted(self: Any, node: Node, type_: Spec, array: Array) -> Node:
        """A result brought to the dtype and shape of the array it is written into."""
        if type_.dtype != array.spec.dtype:
            type_ = Spec(type_.shape, array.spec.dtype)
            node = self.create(astype, (node, array.spec.dtype), {}, type_)
        wanted, given = array.spec.shape, type_.shape
        if len(given) > len(wanted) or not all(map(fits_dim, given[::-1], wanted[::-1])):
            raise ShapeError(
                f"non-broadcastable output operand with shape {wanted} doesn't match the broadcast shape {given}"
            )
        # Of no dimensions the result may be a number, and what is stored is an array.
        if not wanted or len(given) < len(wanted) or any(a != b for a, b in zip(given, wanted, strict=True)):
            node = self.create(index_update, (array, ..., node), {}, array.spec)
        return node

    def check_cast(self: Any, function: Any, array: Array, other: Any) -> None:
        """Raise what NumPy raises where the result does not fit the dtype of the array written."""
        empty = np.empty((0,), array.spec.dtype)
        spec = self.abstract(other)
        value = np.empty((0,), spec.dtype) if isinstance(spec, Spec) else spec
        in_place = getattr(operator, f"i{function.__name__.rstrip('_')}")
        if function is not operator.matmul:
            in_place(empty, value)

    def set_shape(self: Any, array: Array, shape: Any) -> None:
        """`array.shape = shape`: the array object itself changes."""
        made = self.numpy.function(np.reshape, (array, shape), {})
        if made.buffer is not array.buffer:
            self.refuse(
                "assigning .shape of an array whose elements do not lie in order",
                help="assign the result of reshape: a = a.reshape(shape)",
            )
        if self.region is not self.root:
            self.refuse("assigning .shape in a captured branch or loop", help="reshape the array before it")
        if not array.path and array.buffer.target is not None:
            self.reshaped[array.buffer.target] = array
        array.path, array.spec = made.path, made.spec

    def part(self: Any, value: Any, name: str) -> Any:
        """`value.real` or `value.imag`."""
        found = self.numpy.function(getattr(np, name), (value,), {})
        if type(value) is Scalar and value.python and type(found) is Scalar and not found.python:
            found.node.meta["type"] = float  # a part of a number of Python's is one as well
            return Scalar(self, float, found.node)
        return found

    def items(self: Any, array: Array) -> Iterator[Any]:
        """The items of an array, as many as its first dimension says."""
        if not array.spec.shape:
            raise TypeError("iteration over a 0-d array")
        try:
            count = self.known_size(array.spec.shape[0], "a loop over it")
        except UnknownShape:
            self.refuse(
                "a loop over an array whose length is known only when the graph runs",
                help="loop over it with `for`"
                if self.branches
                else "weft.script and weft.compile capture it as a loop",
            )
        return (self.getitem(array, k) for k in range(count))


def _arrays(value: Any) -> Iterator[Array]:
    """The arrays among some values, and in containers of them."""
    if isinstance(value, Array):
        yield value
    else:
        for part in () if isinstance(value, Traced) else pytree.leaves_of(value):
            if isinstance(part, Array):
                yield part


def _buffers(value: Any) -> Iterator[Buffer]:
    for array in _arrays(value):
        yield from may_be(array.buffer)


def updated(ufunc: Any, array: Any, other: Any) -> Any:
    """What an array holds after `array += other`, with the errors of that; the array stays as it is."""
    made = np.empty_like(array)
    ufunc(array, other, out=made)
    return made


def taken_out(value: Any) -> Any:
    """What the array or number of a Tensor is to be made of: no gradient flows through it."""
    return value.numpy() if getattr(type(value), "_is_tensor", False) else value


def is_tensor(value: Any) -> bool:
    """Whether a value, or something a sequence holds, is a Tensor or stands for one."""
    if isinstance(value, (list, tuple)):
        for part in value:  # noqa: SIM110  # a generator would cost more than all else here
            if type(part) not in _NO_TENSORS and is_tensor(part):
                return True
        return False
    return isinstance(value, Tensor) or getattr(type(value), "_is_tensor", False)


_NO_TENSORS = frozenset({Array, Scalar, bool, int, float, str, type(None)})


def _has_ellipsis(key: Any) -> bool:
    return key is ... or (isinstance(key, tuple) and any(part is ... for part in key))


def _is_empty(part: Any) -> bool:
    return isinstance(part, (list, tuple)) and all(map(_is_empty, part))


def _is_complex(value: Any) -> bool:
    """Whether a value is an array or a number of NumPy's that is complex: Python's own are refused by NumPy."""
    return not is_opaque(value) and getattr(getattr(value, "dtype", None), "kind", None) == "c"
