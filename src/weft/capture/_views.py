"""Views: how an array reads its part of a buffer, and how a write to that part changes the whole.

Each step of a path reads with one call and writes back with another: what `a[1:]` reads, `index_update` puts back.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from weft.capture._layouts import is_contiguous, shares_reshaped
from weft.capture._merge import visible_sizes
from weft.capture._region import Buffer, Region
from weft.capture._values import Array, Scalar
from weft.graph import Node
from weft.ops import Spec
from weft.ops._dim import Dim, same_shape
from weft.ops._op import TABLE
from weft.ops._spec import normalize_axis
from weft.ops.indexing import index_update

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


class Step:
    """One view: `target(x, *args)` reads it, `back(recorder, x, value)` puts a value in its place.

    `back` is None where NumPy gives a view that cannot be written. `since` is what the buffer held when the view was
    made (`held`), where it is not known whether NumPy makes a view or a copy: then neither may be written any more.
    `spec` is the type of what it reads, known once an array has it in its path.
    """

    __slots__ = ("args", "back", "since", "spec", "target")

    def __init__(
        self,
        target: Any,
        args: tuple[Any, ...],
        back: Callable[[Recorder, Node, Node], Node] | None,
        since: tuple[Node, ...] | None = None,
    ) -> None:
        self.target = target
        self.args = args
        self.back = back
        self.since = since
        self.spec: Any = None

    def check(self, recorder: Recorder, buffer: Buffer) -> None:
        """Refuse to read a view that may be a copy, where the buffer was written since it was made."""
        assert self.since is not None
        pairs = zip(self.since, held(recorder, buffer), strict=True)
        if any(recorder.region.lift(before) is not now for before, now in pairs):
            self.refuse(recorder)

    def apply(self, recorder: Recorder, x: Node, type_: Any = None) -> Node:
        """The node of what the view holds, given that of what it is a view of, and its type where that is known."""
        found = self._type(recorder, x) if type_ is None else type_
        node = recorder.create(self.target, (x, *self.args), {}, found)
        if type_ is None:
            recorder.bind_sizes(node, found)
        return node

    def _type(self, recorder: Recorder, x: Node) -> Any:
        op = TABLE["getitem"] if self.target is operator.getitem else self.target
        from weft.capture._sizes import abstract_key

        args = [
            abstract_key(recorder, a) if self.target is operator.getitem else recorder.structural(a) for a in self.args
        ]
        return recorder.inferred(op, op.bind((x.meta["type"], *args), {}))

    def put(self, recorder: Recorder, x: Node, value: Node) -> Node:
        """The node of the whole after a write of the view."""
        if self.since is not None:
            self.refuse(recorder)
        if self.back is None:
            raise ValueError("assignment destination is read-only")
        return self.back(recorder, x, value)

    def refuse(self, recorder: Recorder) -> NoReturn:
        """Refuse a write to what may be one memory, or may be two."""
        recorder.refuse(
            "a write to an array that was reshaped before: whether the two share memory depends on how it lies there",
            help="copy it first (a.copy().reshape(...)), or reshape after the write",
        )


def held(recorder: Recorder, buffer: Buffer) -> tuple[Node, ...]:
    """What a buffer holds now; of one that is either of two arrays, what both hold."""
    if buffer.choice is None:
        return (recorder.region.read(buffer),)
    return tuple(node for array in buffer.choice[1:] for node in held(recorder, array.buffer))


def scalars_in(value: Any) -> Iterator[Scalar]:
    """The traced numbers in a key or other nested arguments."""
    if isinstance(value, Scalar):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from scalars_in(part)
    elif isinstance(value, slice):
        yield from scalars_in((value.start, value.stop, value.step))


def is_basic(key: Any) -> bool:
    """Whether a key gives a view: integers, slices, None and Ellipsis."""
    if isinstance(key, tuple):
        return all(map(is_basic, key))
    if key is None or key is ... or isinstance(key, slice):
        return True
    if isinstance(key, Scalar):
        return key.kind is int or (not isinstance(key.kind, type) and key.kind.kind in "iu")
    return isinstance(key, (int, np.integer)) and not isinstance(key, (bool, np.bool_))


def places_of(recorder: Recorder, array: Any, outside: Region) -> list[Scalar]:
    """The integers of a branch or loop that say which part of an array from outside a view of it is.

    Empty where there are none, or where such a view cannot be made outside.
    """
    if not isinstance(array, Array) or not array.path or not outside.knows(array.buffer):
        return []
    inside = [step for step in array.path if not _is_outer(recorder, step, outside)]
    plain = all(step.target is operator.getitem and step.since is None for step in inside)
    if not plain or None in visible_sizes(recorder, array.spec, outside).shape:
        return []
    parts = [part for step in inside for part in _parts(step)]
    whole = all(isinstance(part, (int, Scalar)) and not isinstance(part, bool) for part in parts)
    return [part for part in parts if isinstance(part, Scalar)] if whole else []


def seen_at(recorder: Recorder, array: Array, places: list[Any]) -> Array:
    """The view of an array that another view of it is, at integers known here."""
    given, path = iter(places), []
    for step in array.path:
        if _is_outer(recorder, step, recorder.region):
            path.append(step)
            continue
        key = tuple(next(given) if isinstance(part, Scalar) else part for part in _parts(step))
        path.append(step_for_key(key if isinstance(step.args[0], tuple) else key[0]))
        path[-1].spec = step.spec
    return type(array)(recorder, array.buffer, tuple(path), array.spec)


def _parts(step: Step) -> tuple[Any, ...]:
    key = step.args[0]
    return key if isinstance(key, tuple) else (key,)


def _is_outer(recorder: Recorder, step: Step, outside: Region) -> bool:
    return all(recorder.is_outer(one, outside) for one in scalars_in(step.args))


def step_for_key(key: Any) -> Step:
    """The view that a basic key gives."""

    def back(recorder: Recorder, x: Node, value: Node) -> Node:
        return recorder.create(index_update, (x, key, value), {}, x.meta["type"])

    return Step(operator.getitem, (key,), back)


def _like(recorder: Recorder, x: Node, value: Node) -> Node:
    """A value in the shape of another."""
    spec: Spec = x.meta["type"]
    return recorder.create(TABLE["reshape"], (value, spec.shape), {}, Spec(spec.shape, spec.dtype))


def _permute(recorder: Recorder, array: Array, axes: tuple[int, ...], type_: Spec) -> Array:
    inverse = tuple(sorted(range(len(axes)), key=axes.__getitem__))
    permute = TABLE["permute_dims"]

    def back(recorder: Recorder, x: Node, value: Node) -> Node:
        return recorder.create(permute, (value, inverse), {}, x.meta["type"])

    return recorder.view(array, Step(permute, (axes,), back), type_)


def _permute_dims(recorder: Recorder, arguments: Any, type_: Spec) -> Array:
    array, axes = arguments
    count = len(array.spec.shape)
    order = range(count)[::-1] if axes is None else [normalize_axis("permute_dims", a, count) for a in axes]
    return _permute(recorder, array, tuple(order), type_)


def _swapaxes(recorder: Recorder, arguments: Any, type_: Spec) -> Array:
    array, first, second = arguments
    order = list(range(len(array.spec.shape)))
    order[first], order[second] = order[second], order[first]
    return _permute(recorder, array, tuple(order), type_)


def _moveaxis(recorder: Recorder, arguments: Any, type_: Spec) -> Array:
    array, source, destination = arguments
    return _permute(recorder, array, order_of_axes(np.moveaxis, len(array.spec.shape), source, destination), type_)


def order_of_axes(function: Any, count: int, *args: Any) -> tuple[int, ...]:
    """The order in which a function of NumPy's puts so many axes, told by their sizes: of an array without elements."""
    found: tuple[int, ...] = function(np.empty(range(count), np.bool_), *args).shape
    return found


def _reshape(recorder: Recorder, arguments: Any, type_: Spec) -> Array | None:
    array, shape, copy = arguments
    if copy:
        return None
    shared = same_shape(type_.shape, array.spec.shape) or shares_reshaped(recorder, array, type_.shape)
    if copy is False and shared is None:
        recorder.refuse(
            "reshape(copy=False) of an array of which is not known how it lies in memory", help="leave out the copy"
        )
    if copy is False and not shared:
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    return _reshaped(recorder, array, type_, shared, "reshape", _asked(type_, shape))


def _asked(type_: Spec, shape: Any) -> Any:
    """The shape to make a view of: that of the result, or, where its sizes are open, as the program wrote it."""
    atoms = [atom for d in type_.shape if isinstance(d, Dim) for atom in d.atoms()]
    return shape if any(atom.source is None or atom.hint is None for atom in atoms) else type_.shape


def _ravel(recorder: Recorder, arguments: Any, type_: Spec) -> Array | None:
    array = arguments[0]
    return _reshaped(recorder, array, type_, is_contiguous(recorder, array), "ravel", _asked(type_, (-1,)))


def _reshaped(recorder: Recorder, array: Array, type_: Spec, shared: bool | None, name: str, shape: Any) -> Array:
    if shared is False:
        node = recorder.create(TABLE["reshape"], (array, shape), {"copy": True}, type_)
        tensor = getattr(type(array), "_is_tensor", False)
        return recorder.wrap(node, type_, array=True, tensor=tensor, layout="C")  # type: ignore[no-any-return]  # an array, as asked for
    if name == "ravel" and shared is None:  # it copies where a reshape need not
        return recorder.view(array, Step(TABLE["ravel"], (), _like, held(recorder, array.buffer)), type_)
    since = None if shared else held(recorder, array.buffer)
    return recorder.view(array, Step(TABLE["reshape"], (shape,), _like, since), type_)


def _resized(recorder: Recorder, arguments: Any, type_: Spec) -> Array:
    """expand_dims and squeeze: always a view."""
    return recorder.view(arguments[0], Step(TABLE["reshape"], (type_.shape,), _like), type_)


def _broadcast_to(recorder: Recorder, arguments: Any, type_: Spec) -> Array:
    return recorder.view(arguments[0], Step(TABLE["broadcast_to"], (_asked(type_, arguments[1]),), None), type_)


def _flip(recorder: Recorder, arguments: Any, type_: Spec) -> Array | None:
    array, axis = arguments
    count = len(array.spec.shape)
    if not count:
        return None  # a number
    axes = range(count) if axis is None else [a % count for a in (axis if isinstance(axis, tuple) else (axis,))]
    key = tuple(slice(None, None, -1) if a in axes else slice(None) for a in range(count))
    return recorder.view(array, step_for_key(key), type_)


def _part(name: str) -> Callable[..., Array]:
    def view(recorder: Recorder, arguments: Any, type_: Spec) -> Array:
        array = arguments[0]
        if array.spec.dtype.kind != "c":
            if name == "imag":
                return recorder.wrap(recorder.create(TABLE["imag"], arguments, {}, type_), type_, array=True)  # type: ignore[no-any-return]  # an array, as asked for
            return array  # type: ignore[no-any-return]  # the array itself

        def back(recorder: Recorder, x: Node, value: Node) -> Node:
            other = recorder.create(TABLE["imag" if name == "real" else "real"], (x,), {}, type_)
            real, imag = (value, other) if name == "real" else (other, value)
            scaled = recorder.create(TABLE["multiply"], (imag, 1j), {}, x.meta["type"])
            return recorder.create(TABLE["add"], (real, scaled), {}, x.meta["type"])

        return recorder.view(array, Step(TABLE[name], (), back), type_)

    return view


def _diagonal(recorder: Recorder, arguments: Any, type_: Spec) -> Array:
    return recorder.view(arguments[0], Step(TABLE["diagonal"], tuple(arguments[1:]), None), type_)


def _linalg_diagonal(recorder: Recorder, arguments: Any, type_: Spec) -> Array:
    return _diagonal(recorder, (*arguments, -2, -1), type_)


def _broadcast_arrays(recorder: Recorder, arguments: Any, types: Any) -> tuple[Any, ...]:
    """Each array as a view of the common shape; NumPy warns of a write to one of them."""

    def back(recorder: Recorder, x: Node, value: Node) -> Node:
        return recorder.refuse("a write to what np.broadcast_arrays gave", help="copy it first: .copy()")

    if any(atom.source is None for d in types[0].shape if isinstance(d, Dim) for atom in d.atoms()):
        recorder.refuse(
            "np.broadcast_arrays to a size that is known only when the graph runs",
            help="broadcast each array to the shape of the largest: np.broadcast_to(x, y.shape)",
        )
    made: list[Any] = []
    for given, type_ in zip(arguments[0], types, strict=True):
        array = given if isinstance(given, Array) else recorder.numpy.function(np.asarray, (given,), {})
        step = Step(TABLE["broadcast_to"], (type_.shape,), back)
        made.append(recorder.view(array, step, type_))
    same = all(
        isinstance(a, Array) and same_shape(a.spec.shape, t.shape) for a, t in zip(arguments[0], types, strict=True)
    )
    return tuple(arguments[0]) if same else tuple(made)


def _asarray(recorder: Recorder, arguments: Any, type_: Spec) -> Array | None:
    array, *_ = arguments
    return array if type_.dtype == array.spec.dtype else None


def _split(recorder: Recorder, arguments: Any, types: Any) -> tuple[Any, ...] | None:
    """Parts of an array, where it is known by now at which places it is cut."""
    array, cuts, axis = arguments
    if type(array) is not Array:
        return None
    known = type(array.spec.shape[axis]) is int if type(cuts) is int else all(type(cut) is int for cut in _cuts(cuts))
    return tuple(recorder.numpy.function(np.split, arguments, {})) if known else None


def _cuts(cuts: Any) -> Any:
    return cuts if isinstance(cuts, (list, tuple)) else (cuts,)


def _unstack(recorder: Recorder, arguments: Any, types: Any) -> tuple[Any, ...] | None:
    array, axis = arguments
    if type(array) is not Array:
        return None
    return tuple(recorder.items(recorder.numpy.function(np.moveaxis, (array, axis, 0), {})))


VIEWS: dict[str, Callable[..., Any]] = {
    "permute_dims": _permute_dims,
    "matrix_transpose": lambda r, a, t: _swapaxes(r, (a[0], -1, -2), t),
    "swapaxes": _swapaxes,
    "moveaxis": _moveaxis,
    "reshape": _reshape,
    "ravel": _ravel,
    "expand_dims": _resized,
    "squeeze": _resized,
    "broadcast_to": _broadcast_to,
    "flip": _flip,
    "real": _part("real"),
    "imag": _part("imag"),
    "diagonal": _diagonal,
    "linalg_diagonal": _linalg_diagonal,
    "broadcast_arrays": _broadcast_arrays,
    "split": _split,
    "unstack": _unstack,
}


# Ops that are made of views: called with an array of NumPy's, each part is one, to be written.
PARTS = frozenset(
    "array_split atleast_1d atleast_2d atleast_3d chunk dsplit flatten fliplr flipud hsplit narrow rollaxis rot90 "
    "split_to_list tensor_split unbind unflatten unfold vsplit".split()
)


def arrays_in(value: Any) -> list[Array]:
    """The arrays among values, in plain sequences too."""
    if isinstance(value, (tuple, list)):
        found = []
        for part in value:
            if isinstance(part, Array):
                found.append(part)
            elif isinstance(part, (tuple, list)):
                found += arrays_in(part)
        return found
    return [value] if isinstance(value, Array) else []
