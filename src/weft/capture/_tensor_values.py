"""Traced Tensors: arrays with the methods that Tensors have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weft._casting import check_device
from weft.autograd import tensor
from weft.capture._numpy_calls import BoundMethod
from weft.capture._tensor_writes import in_place, written
from weft.capture._values import Array
from weft.graph import Node
from weft.ops import Spec
from weft.ops._methods import Methods
from weft.ops.elementwise import stop_gradient

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


_OF_LEAVES = {
    "requires_grad_": "weft.grad(f)(x) gives the gradient with respect to what the program computes",
    "register_hook": "a weft.custom_vjp changes a gradient on its way",
    "retain_grad": "weft.autograd.grad(loss, [x]) gives the gradient",
}


class TensorArray(Array, Methods):  # type: ignore[override]  # a traced dtype cannot be set
    """A traced Tensor. What is computed from it is a Tensor too, whatever its shape."""

    __slots__ = ()
    _is_tensor = True
    _is_leaf_like = True  # whether it may stand for a leaf, which cannot be written where that is recorded

    def __getattr__(self, name: str) -> Any:
        if name in ("is_leaf", "grad_fn"):
            self.recorder.refuse(
                f".{name} of a traced Tensor: it is known only when the graph runs", help="use it outside the function"
            )
        if name in _OF_LEAVES:  # no refusal: the program can run as plain Python
            raise AttributeError(f"{name} of a Tensor is not captured; {_OF_LEAVES[name]}", name=name, obj=self)
        if name.endswith("_") and not name.startswith("_"):
            writing = in_place(self, name)
            if writing is not None:
                return BoundMethod(self, name, writing)
        return Methods.__getattr__(self, name)

    def detach(self) -> Any:
        """The same values, sharing memory, without a derivative."""
        return self.data

    def backward(
        self, gradient: Any = None, retain_graph: Any = None, create_graph: Any = False, inputs: Any = None
    ) -> None:
        """Add the gradient of this value to `.grad` of every leaf it depends on."""
        self.recorder.training.backward(self, gradient, retain_graph, create_graph, inputs)

    @property
    def grad(self) -> Any:
        """The gradient that has come to a Tensor from outside."""
        return self.recorder.training.grad_of(self)

    @grad.setter
    def grad(self, value: Any) -> None:
        self.recorder.training.set_grad_of(self, value)

    def numpy(self) -> Any:
        """The array inside, sharing memory."""
        return Inside(self.recorder, self.buffer, self.path, self.spec)

    @property
    def data(self) -> Any:
        """The values alone, sharing memory."""
        return Data(self.recorder, self.buffer, self.path, self.spec)

    @data.setter
    def data(self, value: Any) -> None:
        if isinstance(value, Array) and value.buffer is self.buffer and value.path == self.path:
            return  # `t.data += other` has written it already
        target = self.data
        if target.spec != self.recorder.abstract(value):
            self.recorder.refuse("an assignment to .data of another shape or dtype", help="make a new Tensor")
        written(target, value)

    @property
    def requires_grad(self) -> bool:
        """Whether a Tensor from outside wants a gradient."""
        found = self.recorder.training.tensor_of(self)
        if found is None:
            self.recorder.refuse(".requires_grad of a Tensor that the program computes", help="leave it out")
        return bool(found.requires_grad)

    def item(self) -> Any:
        """The number itself."""
        return self.recorder.numpy.attribute(self, "item")()


class Data(TensorArray):
    """The values of a traced Tensor: they are written where it is, and no gradient flows through what is read."""

    __slots__ = ()
    _is_leaf_like = False

    @property
    def node(self) -> Node:
        return self.recorder.create(stop_gradient, (super().node,), {}, self.spec)


class Inside(Array):
    """The array in a traced Tensor."""

    __slots__ = ()

    @property
    def node(self) -> Node:
        return self.recorder.create(stop_gradient, (super().node,), {}, self.spec)


def tensor_of(recorder: Recorder, data: Any, dtype: Any = None, requires_grad: Any = False) -> Any:
    """`Tensor(data)`: it shares the memory of a traced array."""
    if requires_grad:
        recorder.refuse("a new leaf that requires a gradient", help="make it outside of the function")
    array = data if isinstance(data, Array) else recorder.numpy.function(np.asarray, (data,), {})
    if dtype is not None and np.dtype(dtype) != array.spec.dtype:
        array = recorder.numpy.function(np.asarray, (array,), {"dtype": dtype})
    recorder.tensors = True
    kind = TensorArray if type(array) is Array else Data
    return kind(recorder, array.buffer, array.path, array.spec)


def make_tensor(
    recorder: Recorder, data: Any, dtype: Any = None, requires_grad: Any = False, *, device: Any = None
) -> Any:
    """`weft.tensor(data)`: made when the graph runs, each time anew."""
    check_device("tensor", device)
    array = data
    if dtype is not None or not isinstance(data, Array):
        array = recorder.numpy.function(np.array, (data,), {} if dtype is None else {"dtype": dtype})
    node = recorder.create(tensor, (array,), {"requires_grad": True} if requires_grad else {}, array.spec)
    return recorder.wrap(node, array.spec, tensor=True)


def without_gradient(recorder: Recorder, node: Node, type_: Any) -> Node:
    """What a call under `no_grad` gives."""
    if not isinstance(type_, Spec):
        recorder.refuse("a call that gives several Tensors under no_grad", help="call .detach() on each of them")
    return recorder.create(stop_gradient, (node,), {}, type_)
