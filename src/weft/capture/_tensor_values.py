"""Traced Tensors: arrays with the methods that Tensors have."""

from __future__ import annotations

from typing import Any

from weft.capture._values import Array
from weft.ops._methods import Methods


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

    def item(self) -> Any:
        """The number itself."""
        return self.recorder.numpy.attribute(self, "item")()
