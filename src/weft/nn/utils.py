"""Gradient clipping, all parameters as one vector, padded sequences (`rnn`), under the names of `torch.nn.utils`.

Gradients are replaced by new arrays rather than written over: two gradients may share their memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from weft._listing import listing as _listing
from weft._module import functional_call
from weft._tracing import current_recorder
from weft.autograd import Tensor
from weft.nn import _padded as rnn
from weft.ops import concat, reshape

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "functional_call",
    "get_total_norm",
    "parameters_to_vector",
    "rnn",
    "vector_to_parameters",
]

Parameters = Tensor | Iterable[Tensor]


def clip_grad_norm_(
    parameters: Parameters,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients by one factor so that their norm together is at most `max_norm`; the norm before is returned.

    The norm is that of one vector of all gradients, of order `norm_type` (`math.inf` for the largest number).

    >>> import weft
    >>> p = weft.nn.Parameter([0.0, 0.0])
    >>> p.grad = weft.tensor([3.0, 4.0])
    >>> clip_grad_norm_(p, max_norm=1.0), p.grad
    (tensor(5.), tensor([0.6000, 0.8000]))
    """
    held = _with_gradients(parameters)
    total = get_total_norm([p.grad for p in held if p.grad is not None], norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(held, max_norm, total, foreach)
    return total


def clip_grad_value_(parameters: Parameters, clip_value: float, foreach: bool | None = None) -> None:
    """Bring every number of the gradients into [-clip_value, clip_value].

    >>> import weft
    >>> p = weft.nn.Parameter([0.0, 0.0])
    >>> p.grad = weft.tensor([3.0, -0.5])
    >>> clip_grad_value_(p, 1.0)
    >>> p.grad.tolist()
    [1.0, -0.5]
    """
    bound = float(clip_value)
    held = _with_gradients(parameters)
    if any(p.dtype.kind == "c" for p in held):
        raise TypeError("clip_grad_value_: complex numbers have no order to clip by; use clip_grad_norm_")
    for p in held:
        _replace(p, np.clip(_gradient(p), -bound, bound))


def get_total_norm(
    tensors: Parameters, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of all tensors as one vector; zero where there are none.

    >>> import weft
    >>> get_total_norm([weft.tensor([3.0]), weft.tensor([[4.0]])])
    tensor(5.)
    """
    order = float(norm_type)
    if not order > 0:
        raise ValueError(f"get_total_norm: the order of a norm is more than 0, got {norm_type}")
    arrays = [t.numpy() for t in _listed(tensors)]
    norms = [_norm(array, order) for array in arrays]
    dtype = np.result_type(*norms) if norms else np.dtype(np.float32)
    total = np.asarray(_norm(np.asarray(norms, dtype), order), dtype)
    if error_if_nonfinite and not math.isfinite(total):
        raise RuntimeError(
            f"the norm of the gradients is {total.item()}, so they cannot be clipped; nothing was changed "
            "(error_if_nonfinite=False scales them all the same)"
        )
    return Tensor(total)


def clip_grads_with_norm_(
    parameters: Parameters, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale all gradients by `max_norm / total_norm`, unless that is more than 1.

    >>> import weft
    >>> p = weft.nn.Parameter([0.0])
    >>> p.grad = weft.tensor([8.0])
    >>> clip_grads_with_norm_(p, 1.0, weft.tensor(4.0))
    >>> p.grad
    tensor([2.0000])
    """
    # A little more than the norm: rounding must not leave the result above max_norm.
    factor = float(max_norm) / (float(total_norm) + 1e-6)
    if current_recorder.get() is None and factor >= 1:
        return
    factor = factor if not factor >= 1 else 1.0  # of a captured step, which is to do for both cases
    for p in _with_gradients(parameters):
        _replace(p, _gradient(p) * factor)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters, flattened, as one vector; gradients of the vector reach them.

    >>> import weft
    >>> parameters_to_vector([weft.tensor([[1.0, 2.0]]), weft.tensor(3.0)])
    tensor([1., 2., 3.])
    """
    flat = [reshape(p, (-1,)) for p in _listed(parameters)]
    if not flat:
        raise ValueError("parameters_to_vector: there are no parameters")
    result: Tensor = concat(flat)
    return result


def vector_to_parameters(vec: Any, parameters: Iterable[Tensor]) -> None:
    """Copy the numbers of a vector into the parameters, in order; each keeps its dtype.

    >>> import weft
    >>> p = weft.nn.Parameter([[0.0, 0.0]])
    >>> vector_to_parameters(weft.tensor([1.0, 2.0]), [p])
    >>> p.tolist()
    [[1.0, 2.0]]
    """
    held = _listed(parameters)
    values = np.asarray(vec.numpy() if isinstance(vec, Tensor) else vec)
    needed = sum(p.numpy().size for p in held)
    if values.ndim != 1 or values.size != needed:
        raise ValueError(f"vector_to_parameters: a vector of {needed} numbers is needed, got shape {values.shape}")
    if values.dtype.kind == "c" and any(p.dtype.kind != "c" for p in held):
        raise TypeError("vector_to_parameters: complex numbers for parameters that are real")
    start = 0
    for p in held:
        array = p.numpy()
        part = values[start : start + array.size].reshape(array.shape).astype(array.dtype)
        start += array.size
        if array.flags.writeable:
            array[...] = part
        else:
            p.data = part
        p._mark_written()


def _listed(tensors: Parameters) -> list[Tensor]:
    listed = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    for one in listed:
        if not isinstance(one, Tensor):
            raise TypeError(f"a tensor or an iterable of tensors is expected, got {type(one).__name__}")
    return listed


def _with_gradients(parameters: Parameters) -> list[Tensor]:
    return [p for p in _listed(parameters) if p.grad is not None]


def _gradient(p: Tensor) -> np.ndarray[Any, Any]:
    return p.grad.numpy()  # type: ignore[union-attr]  # only those that have one are asked


def _replace(p: Tensor, gradient: Any) -> None:
    p.grad.data = gradient  # type: ignore[union-attr]  # as above


def _norm(array: np.ndarray[Any, Any], order: float) -> Any:
    if math.isinf(order):
        return np.abs(array).max(initial=0)
    if order == 2:
        return np.linalg.norm(array.reshape(-1))
    return (np.abs(array) ** order).sum() ** (1 / order)


__dir__ = _listing(__name__)
