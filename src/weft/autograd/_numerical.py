"""Derivatives by central differences, and checks of a function's gradients against them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft import pytree
from weft._frames import without_frames
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


@without_frames
def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """Whether the gradients of `func` agree with central differences, for every input that requires its gradient.

    Where no input is a tensor, every array and number of floats counts as one.
    Each result is weighted by fixed random numbers, so that one gradient tests the whole Jacobian.

    >>> import weft
    >>> gradcheck(weft.sin, weft.tensor([0.1, 0.2], requires_grad=True))
    True
    >>> gradcheck(weft.grad(lambda x: np.sum(np.sin(x) * x)), np.array([0.1, 0.2]))
    True
    """
    given, wanted = _given("gradcheck", inputs)

    def parts(*some: Any) -> list[Any]:
        full = list(given)
        for i, x in zip(wanted, some, strict=True):
            full[i] = x
        return _floats(func(*full))

    leaves = [given[i].detach().clone().requires_grad_() for i in wanted]
    results = parts(*leaves)
    recorded = [isinstance(part, Tensor) and part.requires_grad for part in results]
    if any(recorded):
        analytic: Sequence[Any] = grad(_weighted(results), leaves, materialize_grads=True)
    else:  # right where the function is constant
        analytic = [np.zeros(leaf.shape, leaf.dtype) for leaf in leaves]
    differences = numerical_diff(lambda *some: _weighted(parts(*some)), *leaves, eps=eps)
    for i, a, n in zip(wanted, analytic, differences, strict=True):
        got = np.asarray(a)
        if np.allclose(got, n, rtol=rtol, atol=atol):
            continue
        if raise_exception:
            raise AutogradError(_difference(i, got, n, rtol, atol), help=_WRONG if all(recorded) else _FORGOTTEN)
        return False
    return True


@without_frames
def gradgradcheck(func: Callable[..., Any], inputs: Any, **options: Any) -> bool:
    """Whether second derivatives agree with differences of first ones; options as for `gradcheck`."""
    given, wanted = _given("gradgradcheck", inputs)

    def first(*some: Any) -> Any:
        # Differences are taken without recording; the gradient itself needs a tape all the same.
        with enable_grad():
            leaves = [some[i] if some[i].requires_grad else some[i].requires_grad_() for i in wanted]
            total: Any = sum(TABLE["real"](part * part).sum() for part in _floats(func(*some)))
            if not isinstance(total, Tensor) or not total.requires_grad:
                raise AutogradError("gradgradcheck: the result of the function has no derivative", help=_FORGOTTEN)
            return grad(total, leaves, create_graph=True, materialize_grads=True)

    return gradcheck(first, given, **options)


def _given(name: str, inputs: Any) -> tuple[list[Any], list[int]]:
    """The inputs as a list, and the places of those to differentiate: tensors that require it, or else arrays."""
    given = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
    wanted = [i for i, x in enumerate(given) if isinstance(x, Tensor) and x.requires_grad]
    if not any(isinstance(x, Tensor) for x in given):
        wanted = [i for i, x in enumerate(given) if _is_float(x)]
        for i in wanted:
            given[i] = Tensor(np.array(given[i]), requires_grad=True)
    if not wanted:
        raise AutogradError(
            f"{name}: no input requires a gradient",
            help="give arrays of float64, or tensors made with requires_grad=True",
        )
    for i in wanted:
        if given[i].dtype not in (np.float64, np.complex128):
            raise AutogradError(
                f"{name}: input {i} is {given[i].dtype}: differences need float64 or complex128",
                help="convert it: x.astype(np.float64)",
            )
    return given, wanted


def _is_float(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic, float, complex)) and np.asarray(value).dtype.kind in "fc"


_WRONG = "the derivative is wrong, or the function is not smooth there, or draws random numbers"
_FORGOTTEN = (
    "a part of the result was not recorded: the function took values out of its tensors, or wrote them into an array "
    "of NumPy's; compare weft.grad(f)(x), which sees such writes, with numerical_diff(f, x)"
)
_SHOWN = 5


def _difference(i: int, got: Any, expected: Any, rtol: float, atol: float) -> str:
    """Say where the two gradients of an input differ, those that differ most first."""
    with np.errstate(all="ignore"):
        off = ~np.isclose(got, expected, rtol=rtol, atol=atol)
        apart = np.where(np.isnan(got) | np.isnan(expected), np.inf, np.abs(got - expected))
    order = np.argsort(-np.where(off, apart, -1.0), axis=None, kind="stable")
    first = [np.unravel_index(at, got.shape) for at in order[: min(_SHOWN, int(off.sum()))]]
    rows = [("", "gradient", "differences", "apart")]
    for at in first:
        place = f"[{', '.join(map(str, at))}]" if at else ""
        rows.append((place, f"{got[at]:.6g}", f"{expected[at]:.6g}", f"{apart[at]:.2g}"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  " + "  ".join(map(str.rjust, row, widths)) for row in rows]
    count = f" in {off.sum()} of {off.size} elements" if off.size > 1 else ""
    more = f"\n  and {off.sum() - len(first)} more" if off.sum() > len(first) else ""
    return f"gradcheck: input {i}: the gradient differs from differences{count}\n" + "\n".join(lines) + more


def _weighted(parts: list[Any]) -> Any:
    """The sum of the parts, each element times a random number that is the same every time."""
    total: Any = 0.0
    for k, part in enumerate(parts):
        weights = np.random.default_rng(k)
        total = total + (TABLE["real"](part) * weights.uniform(0.5, 1.5, part.shape)).sum()
        if part.dtype.kind == "c":
            total = total + (TABLE["imag"](part) * weights.uniform(0.5, 1.5, part.shape)).sum()
    return total


def _floats(result: Any) -> list[Any]:
    """The parts of a result that may have a derivative."""
    found = [part for part in _parts(result) if part.dtype.kind in "fc"]
    if not found:
        raise AutogradError("gradcheck: the function returned no floats, which alone have derivatives")
    return found


def _parts(result: Any) -> list[Any]:
    """The tensors, arrays and numbers in a result, numbers as arrays."""
    kinds = (Tensor, np.ndarray, np.generic, bool, int, float, complex)
    parts = [part for part in pytree.leaves_of(result) if isinstance(part, kinds)]
    return [part if isinstance(part, Tensor) else np.asarray(part) for part in parts]
