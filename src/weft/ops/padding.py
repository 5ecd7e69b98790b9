"""`pad`: an array with elements added around it, constant or taken from the array itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.errors import NotDifferentiable, ShapeError, UnknownShape
from weft.ops._cost import CHEAP
from weft.ops._dim import fits_dim
from weft.ops._families import op
from weft.ops._op import TABLE
from weft.ops._spec import Spec, dtype_of, normalize_axis, shape_of
from weft.ops.manipulation import add_along

__all__ = ["pad"]

_MODES = {
    "constant": "constant",
    "reflect": "reflect",
    "symmetric": "symmetric",
    "edge": "edge",
    "replicate": "edge",
    "wrap": "wrap",
    "circular": "wrap",
}


def _mode(mode: str) -> str:
    if mode not in _MODES:
        raise ValueError(f"pad: mode {mode!r} is not one of {', '.join(_MODES)}")
    return _MODES[mode]


def _computed(width: Any) -> bool:
    if isinstance(width, (list, tuple)):
        return any(map(_computed, width))
    return _computed(list(width.values())) if isinstance(width, dict) else isinstance(width, Spec)


def _widths(ndim: int, pad_width: Any) -> list[tuple[int, int]]:
    """How many elements to add before and after, for each axis, from every form NumPy takes."""
    if _computed(pad_width):
        raise UnknownShape("pad: a computed pad_width is known only when it runs")
    if isinstance(pad_width, dict):
        found = {normalize_axis("pad", axis, ndim): each for axis, each in pad_width.items()}
        pad_width = [np.broadcast_to(np.asarray(found.get(i, 0)), (2,)) for i in range(ndim)]
        pad_width = pad_width or 0
    try:
        pairs = np.broadcast_to(np.asarray(pad_width), (ndim, 2)).tolist()
    except ValueError:
        raise ShapeError(
            f"pad: pad_width {pad_width} does not fit {ndim} dimensions",
            help="give an integer, (before, after), or one such pair for each axis",
        ) from None
    for before, after in pairs:
        if before < 0 or after < 0:
            raise ShapeError(f"pad: widths are not negative, got {(before, after)}", help="slice the array to crop it")
    return [(before, after) for before, after in pairs]


def _source(name: str, dim: int, before: int, after: int) -> Any:
    """The position along an axis that each element of the padded axis is taken from."""
    minimum, maximum = TABLE["minimum"], TABLE["maximum"]
    position = TABLE["arange"](-before, dim + after)
    if name == "edge":
        return minimum(maximum(position, 0), dim - 1)
    if name == "wrap":
        return position % dim
    # There and back: reflect turns on the last element, symmetric behind it.
    period, last = (max(2 * dim - 2, 1), 0) if name == "reflect" else (2 * dim, 1)
    forth = position % period
    return minimum(forth, period - last - forth)


def _padded(x: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Spec:
    shape = shape_of(x)
    name = _mode(mode)
    widths = _widths(len(shape), pad_width)
    filling = shape_of(constant_values)
    if filling and not all(map(fits_dim, filling[::-1], (2, len(shape)))):
        raise ShapeError(f"pad: constant_values of shape {filling} do not fit {len(shape)} dimensions")
    for axis, (dim, (before, after)) in enumerate(zip(shape, widths, strict=True)):
        if name != "constant" and dim == 0 and before + after > 0:
            raise ShapeError(f"pad: axis {axis} of {shape} is empty, so mode {mode!r} has nothing to take")
    return Spec((d + b + a for d, (b, a) in zip(shape, widths, strict=True)), dtype_of(x))


def _inside(ndim: int, axis: int, start: int, stop: int) -> tuple[slice, ...]:
    return (*(slice(None),) * axis, slice(start, stop), *(slice(None),) * (ndim - axis - 1))


def _pad_back(g: Any, y: Any, x: Any, pad_width: Any, mode: str, constant_values: Any) -> Any:
    shape = shape_of(x)
    name = _mode(mode)
    widths = _widths(len(shape), pad_width)
    if name == "constant":
        return g[tuple(slice(b, b + d) for d, (b, _) in zip(shape, widths, strict=True))]
    for axis, (before, after) in reversed(list(enumerate(widths))):
        if before or after:
            partial = (*shape_of(g)[:axis], *shape[axis:])
            g = add_along(partial, axis, _source(name, shape[axis], before, after), g)
    return g


def _constant_back(g: Any, y: Any, x: Any, pad_width: Any, mode: str, constant_values: Any) -> Any:
    """Gradient of the constants: what was written before and after each axis, the last axis written last."""
    if isinstance(constant_values, (list, tuple)):
        raise NotDifferentiable("pad: constant_values in a list or tuple", help="give them as one array")
    shape = shape_of(x)
    if _mode(mode) != "constant" or not shape:
        return 0
    pairs = []
    for axis, (before, after) in reversed(list(enumerate(_widths(len(shape), pad_width)))):
        end = before + shape[axis]
        parts = [_inside(len(shape), axis, 0, before), _inside(len(shape), axis, end, end + after)]
        pairs.append(TABLE["stack"]([TABLE["sum"](g[part]) for part in parts]))
        g = g[_inside(len(shape), axis, before, end)]
    return TABLE["stack"](pairs[::-1])


@op(
    arrays=("x", "constant_values"),
    infer=_padded,
    vjp=(_pad_back, _constant_back),
    numpy=(np.pad,),
    always_array=True,
    cost=CHEAP,
)
def pad(x: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Any:
    """The array with elements added before and after each axis.

    `pad_width` takes NumPy's forms: an integer, (before, after), or one pair for each axis. Modes: "constant",
    "reflect", "symmetric", "edge" or "replicate" (the outermost element), "wrap" or "circular" (from the other end).
    """
    x = np.asarray(x)
    name = _mode(mode)
    widths = _widths(x.ndim, pad_width)
    if name == "constant":
        return np.pad(x, widths or 0, constant_values=constant_values)
    for axis, (before, after) in enumerate(widths):
        if before or after:
            x = np.take(x, _source(name, x.shape[axis], before, after), axis)
    return x if any(map(any, widths)) else x.copy()
