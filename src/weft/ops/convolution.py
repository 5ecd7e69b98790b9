"""Convolutions of any spatial rank, and their transposes.

Everything rests on one trilinear form: the input, the weight and the result's gradient each give one primitive,
linear in the other two, so that each one's derivative is stated through the other two:

    conv(x, w) -> y        conv_input(y, w) -> x        conv_weight(x, y) -> w

Layouts: x is (batch, channels, *space), w is (features, channels / groups, *kernel), y is (batch, features, *space).
They are evaluated as matrix products over columns of strided windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.errors import DtypeError, ShapeError
from weft.ops._families import composite, conj, op
from weft.ops._spec import Spec, dtype_of, shape_of, size_of
from weft.ops._windows import add_windows, pad_edges, sizes, window_count, window_view
from weft.ops.manipulation import reshape

__all__ = [
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "conv",
    "conv_input",
    "conv_weight",
]

_BLOCK_BYTES = 1 << 21
"""How large the columns of one block of the batch may grow; larger ones leave the caches and only cost memory."""


def _dtype(name: str, *operands: Any) -> np.dtype[Any]:
    dtype = np.result_type(*map(dtype_of, operands))
    if dtype.kind not in "iufc":
        raise DtypeError(f"{name}: expected numbers, got {' and '.join(str(dtype_of(o)) for o in operands)}")
    return dtype


def _working(dtype: np.dtype[Any], *operands: Any) -> list[np.ndarray]:
    """Operands in the dtype to multiply in: half precision is summed in single, as BLAS does not have it."""
    return [np.asarray(o).astype(np.float32 if dtype == np.float16 else dtype, copy=False) for o in operands]


def _spatial(
    name: str, space: Sequence[int], kernel: Sequence[int], stride: Any, padding: Any, dilation: Any
) -> tuple[int, ...]:
    if any(k < 1 for k in kernel):
        raise ShapeError(f"{name}: the kernel {tuple(kernel)} is empty")
    padded = tuple(n + lo + hi for n, (lo, hi) in zip(space, padding, strict=True))
    counts = tuple(map(window_count, padded, kernel, stride, dilation))
    if any(n < 1 for n in counts):
        spread = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))
        raise ShapeError(f"{name}: the kernel spans {spread}, more than the padded input {padded}")
    return counts


def _forward_shape(
    name: str, xs: Sequence[int], ws: Sequence[int], stride: Any, padding: Any, dilation: Any, groups: int
) -> tuple[int, ...]:
    if len(xs) != len(ws) or len(ws) != len(stride) + 2:
        raise ShapeError(f"{name}: expected input and weight of {len(stride) + 2} dimensions, got {xs} and {ws}")
    if groups < 1:
        raise ShapeError(f"{name}: groups must be at least 1, got {groups}")
    if xs[1] != ws[1] * groups:
        raise ShapeError(
            f"{name}: input {xs} has {xs[1]} channels, weight {ws} with groups={groups} takes {ws[1] * groups}"
        )
    if ws[0] % groups:
        raise ShapeError(f"{name}: {ws[0]} features do not divide into {groups} groups")
    return (xs[0], ws[0], *_spatial(name, xs[2:], ws[2:], stride, padding, dilation))


def _infer(x: Any, w: Any, stride: Any, padding: Any, dilation: Any, groups: int = 1) -> Spec:
    shape = _forward_shape("conv", shape_of(x), shape_of(w), stride, padding, dilation, groups)
    return Spec(shape, _dtype("conv", x, w))


def _infer_input(g: Any, w: Any, size: Any, stride: Any, padding: Any, dilation: Any, groups: int = 1) -> Spec:
    gs, ws = shape_of(g), shape_of(w)
    shape = (gs[0], ws[1] * groups, *size)
    expected = _forward_shape("conv_input", shape, ws, stride, padding, dilation, groups)
    if gs != expected:
        raise ShapeError(f"conv_input: expected a gradient of shape {expected}, got {gs}")
    return Spec(shape, _dtype("conv_input", g, w))


def _infer_weight(x: Any, g: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: int = 1) -> Spec:
    xs, gs = shape_of(x), shape_of(g)
    shape = (gs[1], xs[1] // groups, *kernel)
    expected = _forward_shape("conv_weight", xs, shape, stride, padding, dilation, groups)
    if gs != expected:
        raise ShapeError(f"conv_weight: expected a gradient of shape {expected}, got {gs}")
    return Spec(shape, _dtype("conv_weight", x, g))


def _blocks(batch: int, bytes_each: int) -> list[slice]:
    step = max(1, _BLOCK_BYTES // max(bytes_each, 1))
    return [slice(i, min(i + step, batch)) for i in range(0, batch, step)]


def _convolve(x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    """The kernel of `conv`, with an optional bias multiplied in as one more row of ones."""
    result = _infer(x, w, stride, padding, dilation, groups)
    x, w = _working(result.dtype, x, w)
    batch, features, *space = result.shape
    each, places = features // groups, size_of(space)
    rows = w.shape[1] * size_of(w.shape[2:])
    weight, ones = w.reshape(groups, each, rows), 0
    if rows == w.shape[1] and result.shape[2:] == x.shape[2:]:  # one tap a channel: the input is its own columns
        y = np.matmul(weight, x.reshape(batch, groups, rows, places)).reshape(result.shape)
        y += 0 if bias is None else bias.astype(x.dtype, copy=False).reshape((-1,) + (1,) * len(space))
        return y.astype(result.dtype, copy=False)
    if bias is not None:
        weight, ones = np.concatenate([weight, bias.astype(x.dtype, copy=False).reshape(groups, each, 1)], axis=-1), 1
    windows = window_view(pad_edges(x, padding), w.shape[2:], stride, dilation, taps_first=True)
    windows = windows.reshape(batch, groups, *w.shape[1:], *space)
    y = np.empty((batch, groups, each, places), x.dtype)
    blocks = _blocks(batch, groups * (rows + ones) * places * x.itemsize)
    columns = np.empty((blocks[0].stop if blocks else 0, groups, rows + ones, places), x.dtype)
    columns[:, :, rows:] = 1
    for block in blocks:
        part = columns[: block.stop - block.start]
        np.copyto(part[:, :, :rows].reshape(-1, *windows.shape[1:]), windows[block])
        np.matmul(weight, part, out=y[block])
    return y.reshape(result.shape).astype(result.dtype, copy=False)


def _to_input(g: Any, y: Any, x: Any, w: Any, *how: Any) -> Any:
    return conv_input(g, conj(w), shape_of(x)[2:], *how)


def _to_weight(g: Any, y: Any, x: Any, w: Any, *how: Any) -> Any:
    return conv_weight(conj(x), g, shape_of(w)[2:], *how)


@op(arrays=("x", "w"), infer=_infer, vjp=(_to_input, _to_weight))
def conv(x: Any, w: Any, stride: Any, padding: Any, dilation: Any, groups: int = 1) -> Any:
    """Sums of products of a weight with the windows it slides over; padding is a (before, after) pair a dimension."""
    return _convolve(x, w, None, stride, padding, dilation, groups)


def _input_to_weight(h: Any, x: Any, g: Any, w: Any, size: Any, *how: Any) -> Any:
    return conv_weight(h, conj(g), shape_of(w)[2:], *how)


@op(
    arrays=("g", "w"), infer=_infer_input, vjp=(lambda h, x, g, w, size, *how: conv(h, conj(w), *how), _input_to_weight)
)
def conv_input(g: Any, w: Any, size: Any, stride: Any, padding: Any, dilation: Any, groups: int = 1) -> Any:
    """The transpose of `conv` with respect to its input, whose spatial shape is `size`."""
    result = _infer_input(g, w, size, stride, padding, dilation, groups)
    g, w = _working(result.dtype, g, w)
    batch, features, *space = g.shape
    channels, kernel = result.shape[1], w.shape[2:]
    places, rows = size_of(space), channels // groups * size_of(kernel)
    weight = w.reshape(groups, features // groups, rows).swapaxes(-1, -2)
    padded = tuple(n + lo + hi for n, (lo, hi) in zip(size, padding, strict=True))
    crop = tuple((-lo, -hi) for lo, hi in padding)
    x = np.empty(result.shape, result.dtype)
    for block in _blocks(batch, groups * rows * places * g.itemsize):
        columns = weight @ g[block].reshape(-1, groups, features // groups, places)
        columns = columns.reshape(-1, channels, *kernel, *space)
        x[block] = pad_edges(add_windows(columns, padded, stride, dilation, taps_first=True), crop)
    return x


@op(
    arrays=("x", "g"),
    infer=_infer_weight,
    vjp=(
        lambda h, w, x, g, kernel, *how: conv_input(conj(g), h, shape_of(x)[2:], *how),
        lambda h, w, x, g, kernel, *how: conv(conj(x), h, *how),
    ),
)
def conv_weight(x: Any, g: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: int = 1) -> Any:
    """The transpose of `conv` with respect to its weight, whose spatial shape is `kernel`."""
    result = _infer_weight(x, g, kernel, stride, padding, dilation, groups)
    x, g = _working(result.dtype, x, g)
    batch, features, *space = g.shape
    channels, places, taps = x.shape[1], size_of(space), size_of(kernel)
    windows = window_view(pad_edges(x, padding), kernel, stride, dilation, taps_first=True)
    w = np.zeros((groups, features // groups, channels // groups * taps), x.dtype)
    for block in _blocks(batch, channels * taps * places * x.itemsize):
        count = g[block].shape[0]
        columns = np.moveaxis(windows[block], 0, 1 + len(kernel)).reshape(groups, -1, count * places)
        gradient = np.moveaxis(g[block].reshape(count, features, places), 0, 1).reshape(groups, -1, count * places)
        w += gradient @ columns.swapaxes(-1, -2)
    return w.reshape(result.shape).astype(result.dtype, copy=False)


def _padding(name: str, value: Any, kernel: Sequence[int], stride: Any, dilation: Any) -> tuple[tuple[int, int], ...]:
    if value == "valid":
        return ((0, 0),) * len(kernel)
    if value == "same":
        if any(s != 1 for s in stride):
            raise ShapeError(f"{name}: padding='same' needs stride 1, got {stride}")
        totals = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
        return tuple((t // 2, t - t // 2) for t in totals)
    if isinstance(value, str):
        raise ShapeError(f"{name}: padding is a number, a tuple, 'same' or 'valid', got {value!r}")
    return tuple((p, p) for p in sizes(name, "padding", value, len(kernel), least=0))


def _batched(name: str, input: Any, rank: int) -> Any:
    """The input with a batch dimension; one sample may come without."""
    if input.ndim == rank + 1:
        return reshape(input, (1, *input.shape))
    if input.ndim != rank + 2:
        raise ShapeError(
            f"{name}: expected an input of {rank + 2} dimensions, or {rank + 1} for one sample, got {input.shape}"
        )
    return input


def _check_bias(name: str, bias: Any, features: int) -> None:
    if bias is not None and bias.shape != (features,):
        raise ShapeError(f"{name}: expected a bias of shape {(features,)}, got {bias.shape}")


def _finish(y: Any, bias: Any, rank: int, batched: bool) -> Any:
    """Add the bias and drop the batch dimension the input came without."""
    if bias is not None:
        y = y + reshape(bias, (-1,) + (1,) * rank)
    return y if batched else reshape(y, y.shape[1:])


def _conv(
    name: str, rank: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    x = _batched(name, input, rank)
    if weight.ndim != rank + 2:
        raise ShapeError(
            f"{name}: expected input and weight of {rank + 2} dimensions, got {x.shape} and {weight.shape}"
        )
    stride = sizes(name, "stride", stride, rank)
    dilation = sizes(name, "dilation", dilation, rank)
    padding = _padding(name, padding, weight.shape[2:], stride, dilation)
    _forward_shape(name, x.shape, weight.shape, stride, padding, dilation, groups)
    _check_bias(name, bias, weight.shape[0])
    arrays = all(isinstance(a, np.ndarray) for a in (x, weight, bias))
    if arrays and np.result_type(x, weight, bias) == np.result_type(x, weight):
        # The same value in one pass: on arrays nothing needs to see the steps.
        return _finish(_convolve(x, weight, bias, stride, padding, dilation, groups), None, rank, input is x)
    return _finish(conv(x, weight, stride, padding, dilation, groups), bias, rank, input is x)


def _conv_transpose(
    name: str,
    rank: int,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Any:
    x = _batched(name, input, rank)
    if weight.ndim != rank + 2 or x.shape[1] != weight.shape[0]:
        raise ShapeError(
            f"{name}: input {input.shape} and weight {weight.shape} do not fit",
            help="the weight is (channels, features / groups, *kernel)",
        )
    stride = sizes(name, "stride", stride, rank)
    dilation = sizes(name, "dilation", dilation, rank)
    padding = sizes(name, "padding", padding, rank, least=0)
    extra = sizes(name, "output_padding", output_padding, rank, least=0)
    if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation, strict=True)):
        raise ShapeError(f"{name}: output_padding {extra} must be smaller than stride {stride} or dilation {dilation}")
    size = tuple(
        (n - 1) * s - 2 * p + d * (k - 1) + e + 1
        for n, s, p, d, k, e in zip(x.shape[2:], stride, padding, dilation, weight.shape[2:], extra, strict=True)
    )
    if any(n < 1 for n in size):
        raise ShapeError(f"{name}: nothing is left of the result: its space would be {size}")
    # What output_padding adds at the end is cropped again on the way forward, so the shapes agree for any stride.
    pairs = tuple((p, p - e) for p, e in zip(padding, extra, strict=True))
    _check_bias(name, bias, weight.shape[1] * groups)
    return _finish(conv_input(x, weight, size, stride, pairs, dilation, groups), bias, rank, input is x)


@composite(arrays=("input", "weight", "bias"))
def conv1d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """Convolve (batch, channels, length) with a weight (features, channels / groups, kernel)."""
    return _conv("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@composite(arrays=("input", "weight", "bias"))
def conv2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """Convolve images (batch, channels, height, width) with a weight (features, channels / groups, *kernel)."""
    return _conv("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@composite(arrays=("input", "weight", "bias"))
def conv3d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """Convolve volumes (batch, channels, depth, height, width) with a weight (features, channels / groups, *kernel)."""
    return _conv("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


@composite(arrays=("input", "weight", "bias"))
def conv_transpose1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """The transpose of conv1d: spread (batch, channels, length) by a weight (channels, features / groups, kernel)."""
    return _conv_transpose(
        "conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


@composite(arrays=("input", "weight", "bias"))
def conv_transpose2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """The transpose of conv2d: spread images by a weight (channels, features / groups, *kernel)."""
    return _conv_transpose(
        "conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


@composite(arrays=("input", "weight", "bias"))
def conv_transpose3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """The transpose of conv3d: spread volumes by a weight (channels, features / groups, *kernel)."""
    return _conv_transpose(
        "conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation
    )
