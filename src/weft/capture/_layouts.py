"""How traced arrays lie in memory, which decides whether NumPy gives a view of one or a copy.

What is known of a buffer is its `layout`: a `Given` of an array of the caller's, another array that it lies as, an
order ("C" or "F"), `Like` another of which it is a copy, `Met` where it is one of several, a list of the arrays that it
was computed from, or False where nothing is known. Views change the strides as NumPy does (`weft.capture._strides`).
Where a size is open and an answer depends on it, the size in this call decides, under a guard; without one the answer
is None.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from weft.capture._opaque import Opaque
from weft.capture._strides import Ask, Layout, Unknown, lying
from weft.capture._values import Array, Scalar
from weft.ops._dim import Dim, same_shape

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder
    from weft.capture._region import Buffer


class Given(NamedTuple):
    """How an array of the caller's lies: its strides, what to call it, whether its elements are in order."""

    strides: tuple[int, ...]
    label: str
    in_order: bool


class Like(NamedTuple):
    """A copy of an array, in an order that depends on how that one lies: "A" or "K"."""

    array: Array
    order: str


class Alike(list[Any]):
    """Arrays of which a result keeps the order of axes that they have in common."""


class Met:
    """One of several arrays, where paths have met: it lies in order where all of them do.

    In a loop they are that before it and that after an iteration, which may depend on how this one lies; `asked` says
    whether anybody wanted to know.
    """

    __slots__ = ("arrays", "asked")

    def __init__(self, arrays: list[Array]) -> None:
        self.arrays = arrays
        self.asked = False


def where_met(values: Iterable[Any]) -> Any:
    """The layout of what is one of several values."""
    arrays = list(values)
    return Met(arrays) if all(isinstance(value, Array) for value in arrays) else False


def layout_of(value: Any, label: str) -> Any:
    """The layout of an array of the caller's."""
    return Given(value.strides, label, value.flags.c_contiguous) if isinstance(value, np.ndarray) else "C"


def lies_as_given(array: Array) -> bool:
    """Whether an array is one of the caller's, whose elements are in order in this call."""
    layout = array.buffer.layout
    return not array.path and isinstance(layout, Given) and layout.in_order


def lies_in_order(recorder: Recorder, array: Array) -> bool:
    """Whether a copy that keeps the order of an array is known to lie one element after the other."""
    return len(array.spec.shape) < 2 or surely_contiguous(recorder, array)


def surely_contiguous(recorder: Recorder, array: Array, unguarded: bool = False) -> bool:
    """Whether the elements of an array lie one after the other whatever the sizes are.

    That arrays of the caller's lie as they do in this call is a guard, unless it is to be `unguarded`.
    """
    layout = array.buffer.layout
    if not array.path and isinstance(layout, str) and layout == "C":
        return True
    question = _Question(recorder, decides=False, guards=not unguarded)
    return _answer(question, array, lambda layout: layout.in_order("C", question)) is True


def is_contiguous(recorder: Recorder, array: Array, order: str = "C") -> bool | None:
    """Whether the elements of an array lie one after the other; None where that cannot be told."""
    if order == "C" and surely_contiguous(recorder, array):
        return True
    question = _Question(recorder)
    return _answer(question, array, lambda layout: layout.in_order(order, question))


class Flags(Opaque):
    """`array.flags`: what is known of the order of the elements is known to the program too."""

    __slots__ = ("array",)

    def __init__(self, recorder: Recorder, array: Array) -> None:
        super().__init__(recorder, recorder.create(getattr, (array, "flags"), {}, None))
        self.array = array

    def _asked(self, name: str) -> Any:
        array, order = self.array, _ORDERS.get(name.lower())
        if name.lower() in ("writeable", "w") and array.buffer.target is None and array.buffer.choice is None:
            return None if any(step.back is None for step in array.path) else True
        if name.lower() == "owndata":
            self.recorder.refuse(".flags.owndata of a traced array", help="compute with the array itself")
        return None if order is None else is_contiguous(self.recorder, array, order)

    def assign(self, name: str, value: Any) -> None:
        """Refuse what NumPy would hold later writes against; that an array may be written which may be is no change."""
        if self._asked(name) is not True or value is not True:
            self.recorder.refuse(
                f".flags.{name.lower()} = … changes how an array may be used", help="leave it out, or copy the array"
            )

    def __setitem__(self, key: Any, value: Any) -> None:
        self.assign(key, value)

    def __getattr__(self, name: str) -> Any:
        known = self._asked(name)
        return self.recorder.opaque(getattr, (self, name), {}) if known is None else known

    def __getitem__(self, key: Any) -> Any:
        known = self._asked(key) if isinstance(key, str) else None
        return super().__getitem__(key) if known is None else known


_ORDERS = {"c_contiguous": "C", "contiguous": "C", "c": "C", "f_contiguous": "F", "fortran": "F", "f": "F"}


def shares_reshaped(recorder: Recorder, array: Array, shape: Any) -> bool | None:
    """Whether a reshape of an array is a view; None where that cannot be told."""
    if surely_contiguous(recorder, array):
        return True
    question = _Question(recorder)
    return _answer(question, array, lambda layout: layout.reshaped(tuple(shape), question) is not None)


def _answer(question: _Question, array: Array, asked: Callable[[Layout], bool]) -> bool | None:
    try:
        return asked(question.of(array))
    except Unknown:
        return None


class _Question(Ask):
    """One question about how an array lies.

    It `decides` by sizes of this call where there is no proof, and by how arrays of the caller's lie if it `guards`.
    """

    def __init__(
        self, recorder: Recorder, decides: bool = True, guards: bool = True, within: _Question | None = None
    ) -> None:
        self.recorder = recorder
        self.decides = decides
        self.guards = guards
        self.known: dict[Any, Layout] = {} if within is None else within.known  # by buffer
        self.open: set[Any] = set() if within is None else within.open  # buffers, and whether sizes of this call decide

    def prove(self, relation: str, a: Any, b: Any) -> bool | None:
        """The answer that holds whatever the sizes are."""
        if isinstance(a, Dim) or isinstance(b, Dim):
            return self.recorder.sizes.prove(relation, a, b)
        return super().prove(relation, a, b)

    def decide(self, relation: str, a: Any, b: Any) -> bool | None:
        """The answer in this call, under a guard."""
        return self.recorder.sizes.known(relation, a, b) if self.decides else None

    def of(self, array: Array) -> Layout:
        """How an array lies."""
        buffer = array.buffer
        if (buffer, self.decides) in self.open:
            raise Unknown
        layout = self.known.get(buffer)
        if layout is None:
            try:
                layout = self.known[buffer] = self._of_buffer(buffer)
            except Unknown:
                self.known.pop(buffer, None)
                self.open.add((buffer, self.decides))
                raise
        for step in array.path:
            layout = self._viewed(layout, step)
        return layout

    def _of_buffer(self, buffer: Buffer) -> Layout:
        known, shape, itemsize = buffer.layout, tuple(buffer.spec.shape), buffer.spec.dtype.itemsize
        if known is False or (isinstance(known, Given) and not self.guards):
            raise Unknown
        if isinstance(known, Given):
            self.recorder.layouts.add(known.label)
            return lying(shape, itemsize) if known.in_order else Layout(shape, known.strides, itemsize)
        if isinstance(known, Array):
            return self.of(known)  # an argument of a function that is differentiated lies as given
        if isinstance(known, Like):
            return self.of(known.array).copied(known.order, itemsize, self)
        ordered = lying(shape, itemsize, known if isinstance(known, str) else "C")
        if isinstance(known, Met):
            # What an iteration makes of the array may be asked whether this one is in order: it is, if that is.
            known.asked, self.known[buffer] = True, ordered
            self._expect_order(known.arrays)
        elif isinstance(known, list) and len(shape) > 1:
            given = [array for array in known if len(array.spec.shape) > 1]
            try:
                self._expect_order(given)
            except Unknown:
                if type(known) is Alike:
                    return self._alike(given, shape, itemsize)
                raise
        return ordered

    def _alike(self, arrays: list[Array], shape: tuple[Any, ...], itemsize: int) -> Layout:
        """How a result lies that keeps the order of arrays of its own shape which all lie alike."""
        first, *others = [self.of(array).copied("K", itemsize, self) for array in arrays]
        whole = all(same_shape(array.spec.shape, shape) for array in arrays)
        if not whole or any(not same_shape(first.strides, other.strides) for other in others):
            raise Unknown
        return first

    def _expect_order(self, arrays: list[Array]) -> None:
        prover = _Question(self.recorder, False, self.guards, self)
        if not all(prover.of(array).in_order("C", prover) for array in arrays):
            raise Unknown

    def _viewed(self, layout: Layout, step: Any) -> Layout:
        """How a view of an array lies."""
        if step.spec is None or step.target is None:
            raise Unknown
        shape, target, itemsize = tuple(step.spec.shape), step.target, step.spec.dtype.itemsize
        name = getattr(target, "name", None)
        if target is operator.getitem:
            key = step.args[0]
            return layout.part(tuple(map(self._plain, key if isinstance(key, tuple) else (key,))), shape)
        if name in ("reshape", "ravel"):
            found = layout.reshaped(shape, self)
            if found is None or step.since is not None:
                raise Unknown
            return found
        if name == "permute_dims":
            return layout.permuted(step.args[0])
        if name == "broadcast_to":
            return layout.spread(shape, self)
        if name == "diagonal":
            _, first, second = step.args
            return layout.diagonal(first, second, shape)
        return Layout(shape, layout.strides, itemsize)  # parts of complex numbers, other dtypes of the same memory

    def _plain(self, key: Any) -> Any:
        """A part of a basic key, with the step of a slice as a size."""
        if not isinstance(key, slice):
            return 0 if isinstance(key, (Scalar, Array)) else key
        if isinstance(key.step, Array):
            raise Unknown
        return slice(None, None, self.recorder.structural(key.step))
