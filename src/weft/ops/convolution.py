"""Convolutions of any spatial rank, and their transposes.

Everything rests on one trilinear form: the input, the weight and the result's gradient each give one primitive,
linear in the other two, so that each one's derivative is stated through the other two:

    conv(x, w) -> y        conv_input(y, w) -> x        conv_weight(x, y) -> w

`conv_bias` is `conv` with one number a feature added on the way. Layouts: x is (batch, channels, *space), w is
(features, channels / groups, *kernel), y is (batch, features, *space).
They are evaluated as matrix products over columns of strided windows, a block of the batch at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft.errors import DtypeError, ShapeError
from weft.ops import _parallel
from weft.ops._cost import Cost, elements
from weft.ops._families import composite, conj, op
from weft.ops._op import ANY_ORDER, with_shape
from weft.ops._spec import Spec, dtype_of, shape_of, size_of
from weft.ops._windows import add_windows, blocks, pad_edges, scratch, sizes, window_count, window_view
from weft.ops.manipulation import reshape
from weft.ops.reductions import sum as total

__all__ = [
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "conv",
    "conv_bias",
    "conv_input",
    "conv_weight",
]


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


def _infer_bias(x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int = 1) -> Spec:
    shape = _forward_shape("conv_bias", shape_of(x), shape_of(w), stride, padding, dilation, groups)
    _check_bias("conv_bias", bias, shape[1])
    return Spec(shape, _dtype("conv_bias", x, w, bias))


BLAS_THREADS_FROM = 1 << 19
"""Products of matrices from so many multiplications on are BLAS's to spread over threads; two at once hinder it."""


def _on_threads(work: Callable[[Any], None], parts: Sequence[Any], product: int) -> None:
    """Do every part of a convolution; `product` says how many multiplications one product of matrices takes."""
    if product < BLAS_THREADS_FROM:
        _parallel.each(work, parts)
    else:
        for part in parts:
            work(part)


def _convolve(result: Spec, x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    """The kernel of `conv`, with an optional bias multiplied in as one more row of ones."""
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

    def work(block: slice) -> None:
        columns = scratch((block.stop - block.start, groups, rows + ones, places), x.dtype)
        columns[:, :, rows:] = 1
        np.copyto(columns[:, :, :rows].reshape(-1, *windows.shape[1:]), windows[block])
        np.matmul(weight, columns, out=y[block])

    _on_threads(work, blocks(batch, groups * (rows + ones) * places * x.itemsize), each * rows * places)
    return y.reshape(result.shape).astype(result.dtype, copy=False)


def _to_input(g: Any, y: Any, x: Any, w: Any, *how: Any) -> Any:
    return conv_input(g, conj(w), shape_of(x)[2:], *how)


def _to_weight(g: Any, y: Any, x: Any, w: Any, *how: Any) -> Any:
    return conv_weight(conj(x), g, shape_of(w)[2:], *how)


def _convolved(y: Any, x: Any, w: Any, *parameters: Any) -> float:
    return 2 * elements(y) * math.prod(w.shape[1:])


def _both_ways(y: Any, *arguments: Any) -> float:
    """The gradients of a convolution: as much as the convolution itself."""
    shapes = [*(each for each in arguments if isinstance(each, Spec)), y]
    weight = min(shapes, key=elements)
    rest = sorted(map(elements, shapes))[1:]
    return 2 * rest[0] * math.prod(weight.shape[1:])


@op(arrays=("x", "w"), infer=_infer, vjp=(_to_input, _to_weight), cost=Cost(_convolved, scratch=0.6))
def conv(x: Any, w: Any, stride: Any, padding: Any, dilation: Any, groups: int = 1) -> Any:
    """Sums of products of a weight with the windows it slides over; padding is a (before, after) pair a dimension."""
    result = _infer(x, w, stride, padding, dilation, groups)
    return _convolve(result, x, w, None, stride, padding, dilation, groups)


def _biased_to_input(g: Any, y: Any, x: Any, w: Any, bias: Any, *how: Any) -> Any:
    return conv_input(g, conj(w), shape_of(x)[2:], *how)


def _biased_to_weight(g: Any, y: Any, x: Any, w: Any, bias: Any, *how: Any) -> Any:
    return conv_weight(conj(x), g, shape_of(w)[2:], *how)


@op(
    arrays=("x", "w", "bias"),
    infer=_infer_bias,
    vjp=(
        _biased_to_input,
        _biased_to_weight,
        lambda g, y, x, w, bias, *how: total(g, axis=(0, *range(2, len(shape_of(g))))),
    ),
    cost=Cost(_convolved, scratch=0.6),
)
def conv_bias(x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int = 1) -> Any:
    """`conv`, and a number added to each feature."""
    result = _infer_bias(x, w, bias, stride, padding, dilation, groups)
    return _convolve(result, x, w, np.asarray(bias), stride, padding, dilation, groups)


def _turned(w: Any, groups: int) -> Any:
    """The weight of the transposed convolution: channels and features exchanged, every tap mirrored."""
    apart = w.reshape(groups, w.shape[0] // groups, *w.shape[1:]).swapaxes(1, 2)
    return np.flip(apart, tuple(range(3, apart.ndim))).reshape(-1, w.shape[0] // groups, *w.shape[2:])


def _turned_padding(w: Any, padding: Any, dilation: Any) -> tuple[tuple[int, int], ...]:
    spans = (d * (k - 1) for k, d in zip(w.shape[2:], dilation, strict=True))
    return tuple((span - lo, span - hi) for span, (lo, hi) in zip(spans, padding, strict=True))


def _input_to_weight(h: Any, x: Any, g: Any, w: Any, size: Any, *how: Any) -> Any:
    return conv_weight(h, conj(g), shape_of(w)[2:], *how)


@op(
    arrays=("g", "w"),
    infer=_infer_input,
    vjp=(lambda h, x, g, w, size, *how: conv(h, conj(w), *how), _input_to_weight),
    cost=Cost(_both_ways, scratch=1.3),
)
def conv_input(g: Any, w: Any, size: Any, stride: Any, padding: Any, dilation: Any, groups: int = 1) -> Any:
    """The transpose of `conv` with respect to its input, whose spatial shape is `size`."""
    result = _infer_input(g, w, size, stride, padding, dilation, groups)
    g, w = _working(result.dtype, g, w)
    kernel = w.shape[2:]
    # Gathering windows of the gradient costs less than spreading columns, unless features far outnumber channels.
    if all(s == 1 for s in stride) and (size_of(kernel) == 1 or w.shape[0] <= 3 * result.shape[1]):
        turned, around = _turned(w, groups), _turned_padding(w, padding, dilation)
        return _convolve(result, g, turned, None, stride, around, dilation, groups)
    batch, features, *space = g.shape
    channels, places = result.shape[1], size_of(space)
    rows = channels // groups * size_of(kernel)
    weight = w.reshape(groups, features // groups, rows).swapaxes(-1, -2)
    padded = tuple(n + lo + hi for n, (lo, hi) in zip(size, padding, strict=True))
    crop = tuple((-lo, -hi) for lo, hi in padding)
    x = np.empty(result.shape, result.dtype)

    def work(block: slice) -> None:
        columns = scratch((block.stop - block.start, groups, rows, places), g.dtype)
        np.matmul(weight, g[block].reshape(-1, groups, features // groups, places), out=columns)
        columns = columns.reshape(-1, channels, *kernel, *space)
        x[block] = pad_edges(add_windows(columns, padded, stride, dilation, taps_first=True), crop)

    _on_threads(work, blocks(batch, groups * rows * places * g.itemsize), features // groups * rows * places)
    return x


@op(
    arrays=("x", "g"),
    infer=_infer_weight,
    vjp=(
        lambda h, w, x, g, kernel, *how: conv_input(conj(g), h, shape_of(x)[2:], *how),
        lambda h, w, x, g, kernel, *how: conv(conj(x), h, *how),
    ),
    cost=Cost(_both_ways, scratch=1.3),
    order=ANY_ORDER,
)
def conv_weight(x: Any, g: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: int = 1) -> Any:
    """The transpose of `conv` with respect to its weight, whose spatial shape is `kernel`."""
    result = _infer_weight(x, g, kernel, stride, padding, dilation, groups)
    x, g = _working(result.dtype, x, g)
    batch, features, *space = g.shape
    channels, places, taps = x.shape[1], size_of(space), size_of(kernel)
    each, rows = features // groups, channels // groups * taps
    windows = window_view(pad_edges(x, padding), kernel, stride, dilation, taps_first=True)
    parts = blocks(batch, channels * taps * places * x.itemsize)
    sums = np.zeros((len(parts), groups, rows, each), x.dtype)

    def work(number: int) -> None:
        block = parts[number]
        part, count = windows[block], block.stop - block.start
        if rows < 64:  # a product a sample is quickest, while it stays small
            columns = scratch((count, groups, rows, places), x.dtype)
            np.copyto(columns.reshape(part.shape), part)
            products = columns @ g[block].reshape(count, groups, each, places).swapaxes(-1, -2)
            products.sum(axis=0, out=sums[number])
        else:
            part = np.moveaxis(part, 0, 1 + len(kernel))
            columns = scratch((groups, rows, count * places), x.dtype)
            np.copyto(columns.reshape(part.shape), part)
            gradient = np.moveaxis(g[block].reshape(count, groups, each, places), 0, 2)
            np.matmul(columns, gradient.reshape(groups, each, -1).swapaxes(-1, -2), out=sums[number])

    _on_threads(work, range(len(parts)), each * rows * places if rows < 64 else BLAS_THREADS_FROM)
    w = sums.sum(axis=0)
    return w.swapaxes(-1, -2).reshape(result.shape).astype(result.dtype, copy=False)


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
    input = with_shape(name, "input", input)
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
    how = (stride, padding, dilation, groups)
    y = conv(x, weight, *how) if bias is None else conv_bias(x, weight, bias, *how)
    return _finish(y, None, rank, input is x)


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
