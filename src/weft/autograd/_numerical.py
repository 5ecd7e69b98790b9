"""Derivatives by central differences, and checks of a function's gradients against them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft.autograd._backward import grad
from weft.autograd._mode import enable_grad, no_grad
from weft.autograd._tensor import Tensor
from weft.errors import AutogradError
from weft.ops._op import TABLE


def numerical_diff(function: Callable[..., Any], *inputs: Any, eps: float = 1e-6) -> tuple[np.ndarray[Any, Any], ...]:
    """The gradient of the sum of `function(*inputs)` by central differences, one array for each input.

    For a complex input z the result is df/d(re z) + i df/d(im z), which points along steepest ascent.

    >>> import weft
    >>> (g,) = numerical_diff(lambda x: x * x, weft.tensor([1.0, 3.0]))
    >>> print(g.round(6))
    [2. 6.]
    """
    arrays = [np.array(x._array if isinstance(x, Tensor) else x) for x in inputs]

    def value(i: int, index: tuple[int, ...], step: complex) -> float:
        moved = [array.copy() for array in arrays]  # the function may write to them
        moved[i][index] += step
        with no_grad():
            result = function(*(Tensor(array) for array in moved))
        return float(sum(np.sum(np.real(np.asarray(part))) for part in _parts(result)))

    found = []
    for i, array in enumerate(arrays):
        gradient = np.zeros(array.shape, array.dtype)
        for index in np.ndindex(array.shape):
            for unit in (1, 1j) if array.dtype.kind == "c" else (1,):
                slope = (value(i, index, unit * eps) - value(i, index, -unit * eps)) / (2 * eps)
                gradient[index] += slope * unit
        found.append(gradient)
    return tuple(found)


def gradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """Whether the gradients of `func` agree with central differences, for every input that requires its gradient.

    Each result is weighted by fixed random numbers, so that one gradient tests the whole Jacobian.

    >>> import weft
    >>> gradcheck(weft.sin, weft.tensor([0.1, 0.2], requires_grad=True))
    True
    """
    given = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    wanted = [i for i, x in enumerate(given) if isinstance(x, Tensor) and x.requires_grad]
    if not wanted:
        raise AutogradError("gradcheck: no input requires a gradient", help="make one with requires_grad=True")
    for i in wanted:
        if given[i].dtype not in (np.float64, np.complex128):
            raise AutogradError(f"gradcheck: input {i} is {given[i].dtype}: differences need float64 or complex128")

    def weighted(*some: Any) -> Any:
        full = list(given)
        for i, x in zip(wanted, some, strict=True):
            full[i] = x
        total: Any = 0.0
        for k, part in enumerate(_parts(func(*full))):
            if part.dtype.kind in "fc":
                weight = np.random.default_rng(k).uniform(0.5, 1.5, part.shape)
                total = total + (TABLE["real"](part) * weight).sum()
                if part.dtype.kind == "c":
                    total = total + (TABLE["imag"](part) * weight[::-1]).sum()
        return total

    leaves = [given[i].detach().clone().requires_grad_() for i in wanted]
    analytic = grad(weighted(*leaves), leaves, materialize_grads=True)
    for i, a, n in zip(wanted, analytic, numerical_diff(weighted, *leaves, eps=eps), strict=True):
        if a is not None and np.allclose(a._array, n, rtol=rtol, atol=atol):
            continue
        if raise_exception:
            raise AutogradError(
                f"gradcheck: input {i}: the gradient differs from differences\n  got {a}\n  expected {n}"
            )
        return False
    return True


def gradgradcheck(func: Callable[..., Any], inputs: Tensor | Sequence[Any], **options: Any) -> bool:
    """Whether second derivatives agree with differences of first ones; options as for `gradcheck`."""
    given = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    wanted = [i for i, x in enumerate(given) if isinstance(x, Tensor) and x.requires_grad]

    def first(*some: Any) -> Any:
        # Differences are taken without recording; the gradient itself needs a tape all the same.
        with enable_grad():
            leaves = [some[i] if some[i].requires_grad else some[i].requires_grad_() for i in wanted]
            total = sum(TABLE["real"](part * part).sum() for part in _parts(func(*some)) if part.dtype.kind in "fc")
            return tuple(g for g in grad(total, leaves, create_graph=True, materialize_grads=True) if g is not None)

    return gradcheck(first, given, **options)


def _parts(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)
