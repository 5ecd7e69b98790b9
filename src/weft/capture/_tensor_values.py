"""Traced Tensors: arrays with the methods that Tensors have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weft.autograd import tensor
from weft.capture._values import Array
from weft.graph import Node
from weft.ops import Spec
from weft.ops._methods import Methods
from weft.ops.elementwise import stop_gradient

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


class TensorArray(Array, Methods):  # type: ignore[override]  # a traced dtype cannot be set
    """A traced Tensor. What is computed from it is a Tensor too, whatever its shape."""

    __slots__ = ()
    _is_tensor = True

    def __getattr__(self, name: str) -> Any:
        if name in ("data", "grad", "requires_grad", "is_leaf", "grad_fn"):
            self.recorder.refuse(
                f".{name} of a traced Tensor: it is known only when the graph runs", help="use it outside the function"
            )
        return Methods.__getattr__(self, name)

    def detach(self) -> Any:
        """The same values without a derivative."""
        return self.recorder.call_op(stop_gradient, (self,), {})

    def item(self) -> Any:
        """The number itself."""
        return self.recorder.numpy.attribute(self, "item")()


def make_tensor(recorder: Recorder, data: Any, dtype: Any = None, requires_grad: Any = False) -> Any:
    """`weft.tensor(data)`: made when the graph runs, each time anew."""
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
