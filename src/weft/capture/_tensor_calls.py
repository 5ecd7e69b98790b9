"""Functions of weft that make Tensors or differentiate them, in a captured program."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from weft.autograd import Tensor, backward, checkpoint, grad, tensor
from weft.capture._checkpointed import run_checkpoint

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


def _tensor(recorder: Recorder, *args: Any, **kwargs: Any) -> Any:
    from weft.capture._tensor_values import make_tensor  # which needs what calls this

    return make_tensor(recorder, *args, **kwargs)


def _around(recorder: Recorder, *args: Any, **kwargs: Any) -> Any:
    from weft.capture._tensor_values import tensor_of  # as above

    return tensor_of(recorder, *args, **kwargs)


def _backward(recorder: Recorder, *args: Any, **kwargs: Any) -> None:
    recorder.training.backward(*args, **kwargs)


def _grad(recorder: Recorder, *args: Any, **kwargs: Any) -> Any:
    return recorder.training.gradients(*args, **kwargs)


TENSOR_CALLS: dict[Any, Callable[..., Any]] = {
    Tensor: _around,
    tensor: _tensor,
    backward: _backward,
    grad: _grad,
    checkpoint: run_checkpoint,
}
"""Function or class → what a call of it records, given the recorder and the arguments."""
