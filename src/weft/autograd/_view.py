"""Views: tensors that share the memory of another, and what a write through one means for the others.

`v = x[1:]` shares x's memory, so a write to either changes both. Values take care of themselves; derivatives do not:
after `v *= w` the value x holds is no longer what x's last step computed. So a write gives the tensor written, and
every tensor it is a view of, a new step (`Overwrite`): the old value outside the part written, the new one inside it.
Other views of the same memory find out when they are next used, and take their part of the new value then.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from weft.autograd import _versions
from weft.autograd._mode import enable_grad
from weft.autograd._tape import Source, Step
from weft.autograd._tensor import Array, Tensor
from weft.errors import AutogradError
from weft.ops._op import TABLE, Op
from weft.ops._spec import Spec

_new = object.__new__
_HOLE = object()  # stands for the tensor looked at, in the arguments of the call that made a view of it

Call = tuple[Op, tuple[Any, ...], dict[str, Any], "int | None"]
"""How a view was made: the op, its arguments, and which of several results it is."""


class View(Tensor):
    """A tensor that shares the memory of another; it behaves as any tensor does."""

    _parent: Tensor
    _root: Tensor
    _call: Call
    _seen: int  # the write to the root that its history takes account of
    _own_requires_grad: bool
    _own_step: Step | None
    _own_slot: int

    @property
    def _requires_grad(self) -> bool:
        if self._root._rewritten > self._seen:
            _catch_up(self)
        return self._own_requires_grad

    @_requires_grad.setter
    def _requires_grad(self, wanted: bool) -> None:
        self._own_requires_grad = wanted

    @property
    def _step(self) -> Step | None:
        if self._root._rewritten > self._seen:
            _catch_up(self)
        return self._own_step

    @_step.setter
    def _step(self, step: Step | None) -> None:
        self._own_step = step

    @property
    def _slot(self) -> int:
        if self._root._rewritten > self._seen:
            _catch_up(self)
        return self._own_slot

    @_slot.setter
    def _slot(self, slot: int) -> None:
        self._own_slot = slot

    @property
    def _base(self) -> Tensor:
        return self._root

    @property
    def data(self) -> Tensor:
        """The values alone, sharing memory; assigning replaces them, and the tensor is a view no longer."""
        return Tensor(self._array)

    @data.setter
    def data(self, data: Any) -> None:
        history = self._requires_grad, self._step, self._slot
        for name in View.__annotations__:
            del self.__dict__[name]
        self.__class__ = Tensor  # type: ignore[assignment]  # of the same layout
        self._requires_grad, self._step, self._slot = history
        self.data = data

    def _kind(self) -> type[Tensor]:
        return Tensor

    def _extra(self) -> dict[str, Any]:
        return {name: value for name, value in super()._extra().items() if name not in View.__annotations__}


def viewed(made: Tensor, slot: int | None, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """The result of an op as a view of the argument whose memory it shares, if there is one."""
    array = made._array
    for parent in tensors_in((*args, *kwargs.values()) if kwargs else args):
        if _shares(array, parent._array):
            view = _new(View)
            view._array = array
            view._parent = parent
            view._root = root = parent._root if isinstance(parent, View) else parent
            view._call = (op, args, kwargs, slot)
            view._seen = root._rewritten
            view._own_requires_grad, view._own_step, view._own_slot = made._requires_grad, made._step, made._slot
            return view
    return made


def _shares(array: Array, other: Array) -> bool:
    """Whether two arrays lie in the memory of the same owner; the usual answers without a search."""
    base = array.base
    if base is other or array is other:
        return True
    return base is not None and (base is other.base or _versions.owner(array) is _versions.owner(other))


def lineage(tensor: Tensor) -> Iterator[Tensor]:
    """The tensor, what it is a view of, what that is a view of, and so on."""
    yield tensor
    while isinstance(tensor, View):
        tensor = tensor._parent
        yield tensor


def check_lineage(tensor: Tensor) -> None:
    """Refuse a recorded write that derivatives cannot follow."""
    for one in lineage(tensor):
        if one._requires_grad and one._step is None:
            what = "this tensor" if one is tensor else "what this tensor is a view of"
            raise AutogradError(
                f"{what} is a leaf that requires its gradient: writing to it in place would lose where it came from",
                help="write inside weft.no_grad(), or to a copy: t = t.clone()",
            )
    for view in lineage(tensor):
        if not isinstance(view, View):
            return
        if view._parent._requires_grad and not view._requires_grad:
            raise AutogradError(
                "this view was made without recording, of a tensor that requires its gradient",
                help="take the view outside no_grad(), or write to t.clone()",
            )
        if view.dtype != view._parent.dtype:
            raise AutogradError(
                f"writing through {view._call[0].name}() of a tensor with a gradient is not supported",
                help="write to the tensor itself",
            )


def adopt(tensor: Tensor, step: Step, slot: int, position: Any) -> None:
    """Give a tensor that was written its new step, and a new one to everything it is a view of."""
    source: Source = (step, slot) if slot else step
    _settle(tensor, step, slot)
    family = list(lineage(tensor))
    for view, parent in itertools.pairwise(family):
        assert isinstance(view, View)
        overwrite = Overwrite(parent, view, source, position)
        _settle(parent, overwrite, 0)
        source = overwrite
    # The views among them are parts of the root again, and will find out like all others.
    family[-1]._rewritten = next(_versions.clock)


def _settle(tensor: Tensor, step: Step, slot: int) -> None:
    """Let a tensor's history end in a step; a gradient that is to be retained is that of its value from now on."""
    before = (tensor._own_step, tensor._own_slot) if isinstance(tensor, View) else (tensor._step, tensor._slot)
    tensor._requires_grad, tensor._step, tensor._slot = True, step, slot
    retained = None if before[0] is None else before[0].retained
    if retained and before[1] in retained and retained[before[1]]() is tensor:
        step.retained = step.retained or {}
        step.retained[slot] = retained.pop(before[1])


class Overwrite(Step):
    """A value of which a view was written: the old value outside the view, the view's inside it."""

    def __init__(self, parent: Tensor, view: View, source: Source, position: Any) -> None:
        sources = (parent._source() if parent._requires_grad else None, source)
        op, args, kwargs, slot = view._call
        # The parent itself, in these arguments, would be a cycle for the collector: its history leads here.
        call = (op, _put(args, parent, _HOLE), _put(kwargs, parent, _HOLE), slot)
        super().__init__(TABLE["index_update"], (call, Spec(parent.shape, parent.dtype)), sources, position)

    def gradients(self, g: Any, as_tensors: bool) -> list[tuple[Source, Any]]:
        """Inside the view the gradient is that of what was written, outside it that of the old value."""
        if self.kept is None:
            self.restore()
        call, spec = self.kept
        before, written = self.sources
        found = [(written, _replay(call, g))]
        if before is not None:
            places = np.zeros(spec.shape, np.bool_)
            places.reshape(-1)[_replay(call, np.arange(places.size).reshape(spec.shape))] = True
            found.append((before, TABLE["where"](places, np.zeros((), spec.dtype), g)))
        return found


def _catch_up(view: View) -> None:
    """Take a view's history from what it is a view of, after a write it has not seen."""
    behind = [one for one in lineage(view) if isinstance(one, View) and one._seen < view._root._rewritten]
    for one in reversed(behind):
        if one._own_requires_grad and one._own_step is None:
            raise AutogradError("a leaf that requires its gradient was overwritten through a tensor that shares memory")
        one._seen = view._root._rewritten
        if one._parent._requires_grad:
            op, args, kwargs, slot = one._call
            with enable_grad():
                made = op(*args, **kwargs)
            made = made if slot is None else made[slot]
            _settle(one, made._step, made._slot)


def _replay(call: Call, value: Any) -> Any:
    """What a view shows of another value."""
    op, args, kwargs, slot = call
    shown = op(*_put(args, _HOLE, value), **_put(kwargs, _HOLE, value))
    return shown if slot is None else shown[slot]


def _put(arguments: Any, old: Any, new: Any) -> Any:
    """Arguments with one value in place of another, in lists and tuples too."""
    if arguments is old:
        return new
    if type(arguments) in (list, tuple):
        return type(arguments)(_put(part, old, new) for part in arguments)
    if type(arguments) is dict:
        return {key: _put(part, old, new) for key, part in arguments.items()}
    return arguments


def tensors_in(values: Any) -> Iterator[Tensor]:
    """Every tensor among the values, in lists and tuples too."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif type(value) in (list, tuple):
            yield from tensors_in(value)
