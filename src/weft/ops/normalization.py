"""Normalisations: bring values to mean 0 and variance 1 over some axes, then scale and shift.

Two ops do the work, and a third is the derivative of the first: `standardize`, `standardize_input`, `scale_shift`. They
name the axes that are left by a range, `start` to `stop`: one for each sample and group, or one for each channel.

All are pure: batch_norm never changes the running statistics it is given; `batch_norm_with_stats` returns what a module
needs to update them. Half floats are averaged in single precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.errors import DtypeError, ShapeError
from weft.ops._cost import CHEAP, Cost
from weft.ops._families import composite, op
from weft.ops._spec import Shape, Spec, dtype_of, shape_of, size_of
from weft.ops.creation import full
from weft.ops.dtypes import astype
from weft.ops.manipulation import reshape
from weft.ops.reductions import mean, sum
from weft.ops.transcendental import sqrt

__all__ = [
    "batch_norm",
    "batch_norm_with_stats",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "rms_norm",
    "scale_shift",
    "standardize",
    "standardize_input",
    "sum_products",
]


def _wide(name: str, x: Any) -> Any:
    """The value in a dtype wide enough to square and average."""
    dtype = dtype_of(x)
    if dtype.kind == "c":
        raise DtypeError(f"{name}: expected real numbers, got {dtype}")
    return astype(x, np.float32) if dtype == np.float16 else x


def _narrow(y: Any, x: Any) -> Any:
    return astype(y, np.float16) if dtype_of(x) == np.float16 else y


def _folded(shape: Shape, start: int, stop: int) -> Shape:
    """The shape with the axes before, within and after a range made one each."""
    return size_of(shape[:start]), size_of(shape[start:stop]), size_of(shape[stop:])


def _others(ndim: int, start: int, stop: int) -> tuple[int, ...]:
    return (*range(start), *range(stop, ndim))


def _left(shape: Shape, start: int, stop: int) -> Shape:
    """The shape of one number for each index of the range, laid out to broadcast."""
    return tuple(n if start <= i < stop else 1 for i, n in enumerate(shape))


def _sums(x: Any, y: Any = None) -> Any:
    """Sums over the first and the last axis of three, of x or of x times y, without a product in memory."""
    if x.shape[2] == 1:
        return np.einsum("ac->c", x[:, :, 0]) if y is None else np.einsum("ac,ac->c", x[:, :, 0], y[:, :, 0])
    # In float32, long sums are taken in parts, as np.sum does, or they would lose digits.
    if x.shape[2] > 4096 and y is None:
        return np.sum(x, axis=(0, 2))
    rows = np.einsum("acb->ac", x) if y is None else np.vecdot(x, y)
    return rows[0] if x.shape[0] == 1 else np.sum(rows, axis=0)


def _standardize_spec(x: Any, start: int, stop: int, eps: float, center: bool = True) -> Any:
    if dtype_of(x).kind == "c":
        raise DtypeError(f"standardize: expected real numbers, got {dtype_of(x)}")
    dtype = dtype_of(x) if dtype_of(x).kind == "f" else np.dtype(np.float64)
    if not 0 <= start <= stop <= len(shape_of(x)):
        raise ShapeError(f"standardize: axes {start} to {stop} are not a range of the axes of {shape_of(x)}")
    left = Spec(_left(shape_of(x), start, stop), dtype)
    return Spec(shape_of(x), dtype), left, left


def _standardize_vjp(g: Any, y: Any, x: Any, start: int, stop: int, eps: float, center: bool) -> Any:
    (g, g_mean, g_variance), (y, _, variance) = g, y
    return standardize_input(g, g_mean, g_variance, y, variance, start, stop, eps, center)


@op(arrays=("x",), infer=_standardize_spec, vjp=_standardize_vjp, always_array=True)
def standardize(x: Any, start: int, stop: int, eps: float, center: bool = True) -> Any:
    """Elements less their mean, over the root of their variance + eps; the mean; the (biased) variance.

    Each index of the axes start to stop has its own. Without `center` the mean counts as 0.
    """
    result, left, _ = _standardize_spec(x, start, stop, eps, center)
    if result.dtype == np.float16:
        wide = standardize.eval(x.astype(np.float32), start, stop, eps, center)
        return tuple(part.astype(np.float16) for part in wide)
    x = np.asarray(x).astype(result.dtype, copy=False).reshape(_folded(result.shape, start, stop))
    count = x.shape[0] * x.shape[2]
    with np.errstate(invalid="ignore", divide="ignore"):  # of no elements: nan, as np.mean gives
        middle = _sums(x) / x.dtype.type(count) if center else np.zeros(x.shape[1], x.dtype)
        y = np.subtract(x, middle[:, None]) if center else x
        variance = _sums(y, y) / x.dtype.type(count)
    scale = (1 / np.sqrt(variance + eps))[:, None]
    y = np.multiply(y, scale, out=y if center else None)
    return y.reshape(result.shape), middle.reshape(left.shape), variance.reshape(left.shape)


def _input_spec(g: Any, g_mean: Any, g_variance: Any, y: Any, variance: Any, *how: Any) -> Spec:
    left = _left(shape_of(y), how[0], how[1])
    if shape_of(g) != shape_of(y) or any(shape_of(part) not in ((), left) for part in (g_mean, g_variance, variance)):
        parts = [shape_of(part) for part in (g, y, g_mean, g_variance, variance)]
        raise ShapeError(f"standardize_input: gradients and results differ in shape: {parts}")
    return Spec(shape_of(y), np.result_type(dtype_of(g), dtype_of(y)))


def _parts(h: Any, g: Any, y: Any, variance: Any, start: int, stop: int, eps: float) -> tuple[Any, Any, Any, Any]:
    """What the derivatives of `standardize_input` share: the scale, the means of g * y and of h * y, and the axes."""
    axes = _others(len(shape_of(y)), start, stop)
    means = (mean(a * b, axis=axes, keepdims=True) for a, b in ((g, y), (h, y)))
    return 1 / sqrt(variance + eps), *means, axes


def _back_to_g(h: Any, x: Any, g: Any, g_mean: Any, g_variance: Any, y: Any, variance: Any, *how: Any) -> Any:
    """The same once more: as a matrix from g to x it is symmetric."""
    zeros = full(shape_of(variance), 0, dtype=dtype_of(variance))
    return standardize_input(h, zeros, zeros, y, variance, *how)


def _back_to_y(h: Any, x: Any, g: Any, g_mean: Any, g_variance: Any, y: Any, variance: Any, *how: Any) -> Any:
    start, stop, eps, _ = how
    scale, gy, hy, axes = _parts(h, g, y, variance, start, stop, eps)
    count = size_of([shape_of(y)[i] for i in axes])
    return h * (g_variance * 2 / count / scale - scale * gy) - g * (scale * hy)


def _back_to_variance(h: Any, x: Any, g: Any, g_mean: Any, g_variance: Any, y: Any, variance: Any, *how: Any) -> Any:
    """Of scale * (...), and of the deviation y / scale."""
    start, stop, eps, center = how
    scale, gy, hy, axes = _parts(h, g, y, variance, start, stop, eps)
    inner = g - y * gy - (mean(g, axis=axes, keepdims=True) if center else 0)
    through_scale = sum(h * inner, axis=axes, keepdims=True) * (-0.5 * scale * scale * scale)
    return through_scale + g_variance * hy * scale


@op(
    arrays=("g", "g_mean", "g_variance", "y", "variance"),
    infer=_input_spec,
    vjp=(
        _back_to_g,
        lambda h, x, g, g_mean, g_variance, y, variance, start, stop, eps, center: (
            mean(h, axis=_others(len(shape_of(h)), start, stop), keepdims=True) if center else 0
        ),
        lambda h, x, g, g_mean, g_variance, y, variance, start, stop, eps, center: (
            mean(h * y, axis=_others(len(shape_of(h)), start, stop), keepdims=True) * 2 * sqrt(variance + eps)
        ),
        _back_to_y,
        _back_to_variance,
    ),
    always_array=True,
    cost=Cost(scratch=1.3),
)
def standardize_input(
    g: Any,
    g_mean: Any,
    g_variance: Any,
    y: Any,
    variance: Any,
    start: int,
    stop: int,
    eps: float,
    center: bool = True,
) -> Any:
    """The gradient of the argument of `standardize`, from those of its three results, the first one and the third."""
    result = _input_spec(g, g_mean, g_variance, y, variance, start, stop)
    if result.dtype == np.float16:
        wide = [part.astype(np.float32) for part in (g, g_mean, g_variance, y, variance)]
        return standardize_input.eval(*wide, start, stop, eps, center).astype(np.float16)
    folded = _folded(result.shape, start, stop)
    g, y = np.asarray(g).reshape(folded), np.asarray(y).reshape(folded)
    count = result.dtype.type(folded[0] * folded[2])
    scale = 1 / np.sqrt(variance.reshape(-1) + eps)
    with np.errstate(invalid="ignore", divide="ignore"):  # of no elements, as above
        slope = np.asarray(g_variance).reshape(-1) * 2 / (count * scale) - scale * _sums(g, y) / count
        offset = (np.asarray(g_mean).reshape(-1) - scale * _sums(g)) / count if center else None
    x = y * slope[:, None].astype(result.dtype, copy=False)
    for block in _rows(folded):  # in parts, so that what is scaled stays in the cache until it is added
        part = x[block]
        part += g[block] * scale[:, None][block[1]]
        if offset is not None:
            part += offset[:, None][block[1]]
    return x.reshape(result.shape)


def _rows(folded: Shape) -> list[tuple[slice, slice]]:
    """Parts of a folded array of some 2**16 elements each."""
    before, left, after = folded
    step = max(1, (1 << 16) // max(after, 1))
    if left >= step:
        return [(slice(i, i + 1), slice(j, j + step)) for i in range(before) for j in range(0, left, step)]
    step = max(1, step // max(left, 1))
    return [(slice(i, i + step), slice(None)) for i in range(0, before, step)]


def _laid_out(value: Any, x: Any, axis: int) -> Any:
    """Weights whose axes are those of x from `axis` on, in a shape that broadcasts."""
    return reshape(value, (*shape_of(value), *(1,) * (len(shape_of(x)) - axis - len(shape_of(value)))))


def _products_spec(x1: Any, x2: Any, start: int, stop: int) -> Spec:
    if shape_of(x1) != shape_of(x2):
        raise ShapeError(f"sum_products: expected arrays of one shape, got {shape_of(x1)} and {shape_of(x2)}")
    return Spec(shape_of(x1)[start:stop], np.result_type(dtype_of(x1), dtype_of(x2)))


@op(
    arrays=("x1", "x2"),
    infer=_products_spec,
    vjp=(
        lambda g, y, x1, x2, start, stop: x2 * _laid_out(g, x2, start),
        lambda g, y, x1, x2, start, stop: x1 * _laid_out(g, x1, start),
    ),
    always_array=True,
)
def sum_products(x1: Any, x2: Any, start: int, stop: int) -> Any:
    """Sums of x1 * x2 over all axes but those from start to stop."""
    result = _products_spec(x1, x2, start, stop)
    if result.dtype == np.float16:
        return sum_products.eval(x1.astype(np.float32), x2.astype(np.float32), start, stop).astype(np.float16)
    folded = _folded(x1.shape, start, stop)
    found = _sums(*(np.asarray(x).astype(result.dtype, copy=False).reshape(folded) for x in (x1, x2)))
    return found.reshape(result.shape)


def _scale_shift_spec(x: Any, weight: Any, bias: Any, axis: int) -> Spec:
    given = [value for value in (x, weight, bias) if value is not None]
    for label, value in (("weight", weight), ("bias", bias)):
        if value is not None and shape_of(x)[axis : axis + len(shape_of(value))] != shape_of(value):
            raise ShapeError(f"scale_shift: {label} {shape_of(value)} does not fit {shape_of(x)} from axis {axis} on")
    return Spec(shape_of(x), np.result_type(*map(dtype_of, given)))


def _weight_axes(g: Any, value: Any, axis: int) -> tuple[int, ...]:
    return _others(len(shape_of(g)), axis, axis + len(shape_of(value)))


@op(
    arrays=("x", "weight", "bias"),
    infer=_scale_shift_spec,
    vjp=(
        lambda g, y, x, weight, bias, axis: g if weight is None else g * _laid_out(weight, g, axis),
        lambda g, y, x, weight, bias, axis: sum_products(g, x, axis, axis + len(shape_of(weight))),
        lambda g, y, x, weight, bias, axis: sum(g, axis=_weight_axes(g, bias, axis)),
    ),
    memory=None,
    cost=CHEAP,
)
def scale_shift(x: Any, weight: Any, bias: Any, axis: int) -> Any:
    """X * weight + bias, where either may be None; their axes are those of x from `axis` on."""
    result = _scale_shift_spec(x, weight, bias, axis)
    if weight is None:
        return x if bias is None else np.add(x, _laid_out(bias, x, axis), dtype=result.dtype)
    y = np.multiply(x, _laid_out(weight, x, axis), dtype=result.dtype)
    if bias is not None:
        y += _laid_out(bias, x, axis)
    return y


def _affine(name: str, y: Any, weight: Any, bias: Any, axis: int, expected: Shape) -> Any:
    """Scale and shift by weight and bias of shape `expected`, whose axes are those of y from `axis` on."""
    for label, value in (("weight", weight), ("bias", bias)):
        if value is not None and shape_of(value) != expected:
            raise ShapeError(f"{name}: expected a {label} of shape {expected}, got {shape_of(value)}")
    return y if weight is None and bias is None else scale_shift(y, weight, bias, axis)


def _normalized_axes(name: str, x: Any, normalized_shape: int | Sequence[int]) -> tuple[Shape, int]:
    """The sizes, and the first of the axes that have them."""
    sizes = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not sizes or shape_of(x)[-len(sizes) :] != sizes:
        raise ShapeError(f"{name}: the input {shape_of(x)} must end with normalized_shape {sizes}")
    return sizes, len(shape_of(x)) - len(sizes)


def _per_channel(name: str, x: Any, least: int = 2) -> tuple[int, Shape]:
    """The number of channels and the shape that lays one number a channel out for broadcasting."""
    shape = shape_of(x)
    if len(shape) < least:
        raise ShapeError(f"{name}: expected at least {least} dimensions (batch, channels, ...), got {shape}")
    return shape[1], (1, shape[1], *(1,) * (len(shape) - 2))


@composite(arrays=("input", "weight", "bias"))
def layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Normalise over the trailing dimensions, whose sizes are normalized_shape."""
    sizes, axis = _normalized_axes("layer_norm", input, normalized_shape)
    y, _, _ = standardize(_wide("layer_norm", input), 0, axis, eps)
    return _narrow(_affine("layer_norm", y, weight, bias, axis, sizes), input)


@composite(arrays=("input", "weight"))
def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    """Divide by the root mean square over the trailing dimensions; eps is the dtype's own when None."""
    sizes, axis = _normalized_axes("rms_norm", input, normalized_shape)
    x = _wide("rms_norm", input)
    if eps is None:
        eps = float(np.finfo(dtype_of(x) if dtype_of(x).kind == "f" else np.float64).eps)
    y, _, _ = standardize(x, 0, axis, eps, False)
    return _narrow(_affine("rms_norm", y, weight, None, axis, sizes), input)


@composite(arrays=("input", "weight", "bias"))
def batch_norm_with_stats(input: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Normalise each channel over batch and space: the result, the mean and the unbiased variance of each channel.

    A module's running statistics move towards the last two: running = (1 - momentum) * running + momentum * batch.
    """
    channels, layout = _per_channel("batch_norm", input)
    axes = (0, *range(2, len(layout)))
    count = size_of([shape_of(input)[i] for i in axes])
    if count <= 1:
        raise ShapeError(f"batch_norm: training needs more than one value a channel, got input {shape_of(input)}")
    y, center, variance = standardize(_wide("batch_norm", input), 1, 2, eps)
    y = _narrow(_affine("batch_norm", y, weight, bias, 1, (channels,)), input)
    return y, reshape(center, (channels,)), reshape(variance, (channels,)) * count / (count - 1)


@composite(arrays=("input", "running_mean", "running_var", "weight", "bias"))
def batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Normalise each channel by the batch's own statistics when training, by the running ones otherwise.

    The running statistics are not changed, whatever the momentum: `batch_norm_with_stats` returns the new ones' parts.
    """
    if training:
        return batch_norm_with_stats(input, weight, bias, eps)[0]
    if running_mean is None or running_var is None:
        raise ShapeError("batch_norm: evaluation needs running_mean and running_var, got None")
    return _by_running("batch_norm", input, running_mean, running_var, weight, bias, eps)


def _by_running(name: str, input: Any, center: Any, variance: Any, weight: Any, bias: Any, eps: float) -> Any:
    channels, _ = _per_channel(name, input)
    for label, value in (("running_mean", center), ("running_var", variance)):
        if shape_of(value) != (channels,):
            raise ShapeError(f"{name}: expected {label} of shape {(channels,)}, got {shape_of(value)}")
    # One scale and one shift a channel say it all, and are small.
    scale = 1 / sqrt(variance + eps)
    scale = _affine(name, scale, weight, None, 0, (channels,))
    shift = _affine(name, -center * scale, None, bias, 0, (channels,))
    return _narrow(scale_shift(_wide(name, input), scale, shift, 1), input)


@composite(arrays=("input", "running_mean", "running_var", "weight", "bias"))
def instance_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Normalise each channel of each sample over space; the running statistics are not changed."""
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise ShapeError("instance_norm: use_input_stats=False needs running_mean and running_var, got None")
        return _by_running("instance_norm", input, running_mean, running_var, weight, bias, eps)
    channels, layout = _per_channel("instance_norm", input, least=3)
    axes = tuple(range(2, len(layout)))
    if size_of([shape_of(input)[i] for i in axes]) <= 1:
        raise ShapeError(f"instance_norm: expected more than one value a channel, got input {shape_of(input)}")
    y, _, _ = standardize(_wide("instance_norm", input), 0, 2, eps)
    return _narrow(_affine("instance_norm", y, weight, bias, 1, (channels,)), input)


@composite(arrays=("input", "weight", "bias"))
def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Normalise each sample over groups of channels and space."""
    channels, _ = _per_channel("group_norm", input)
    if channels % num_groups:
        raise ShapeError(f"group_norm: {channels} channels do not divide into {num_groups} groups")
    batch, _, *space = shape_of(input)
    grouped = reshape(_wide("group_norm", input), (batch, num_groups, channels // num_groups * size_of(space)))
    y, _, _ = standardize(grouped, 0, 2, eps)
    return _narrow(_affine("group_norm", reshape(y, shape_of(input)), weight, bias, 1, (channels,)), input)
