"""Pooling over windows of the trailing dimensions, and the windows themselves.

`windows` and `overlap_add` are each other's transpose; `window_sum` and `max_pool` are what pooling needs beyond them,
with derivatives stated through `overlap_add` and through the positions of the maxima. Layouts are (batch, channels,
*space), or (channels, *space) for one sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from weft.errors import DtypeError, ShapeError
from weft.ops._families import composite, movement, op
from weft.ops._op import ANY_ORDER, OWN, SHOWN, no_gradient
from weft.ops._spec import Shape, Spec, dtype_of, shape_of, size_of
from weft.ops._windows import Pairs, add_windows, pad_edges, sizes, taps_of, window_count, window_view
from weft.ops.creation import full
from weft.ops.dtypes import astype
from weft.ops.indexing import take_along_axis
from weft.ops.manipulation import broadcast_to, permute_dims, reshape
from weft.ops.padding import pad

__all__ = [
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "fold",
    "max_pool",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_pool_indices",
    "max_pool_input",
    "overlap_add",
    "unfold",
    "window_sum",
    "windows",
]


def _counts(name: str, space: Sequence[int], kernel: Any, stride: Any, dilation: Any) -> Shape:
    if len(space) != len(kernel):
        raise ShapeError(f"{name}: windows of {len(kernel)} dimensions do not fit an array of {len(space)}")
    counts = tuple(map(window_count, space, kernel, stride, dilation))
    if any(n < 1 for n in counts):
        raise ShapeError(
            f"{name}: windows {tuple(kernel)} with dilation {tuple(dilation)} do not fit in {tuple(space)}"
        )
    return counts


def _windows_shape(old: Shape, kernel: Any, stride: Any, dilation: Any) -> Shape:
    at = len(old) - len(kernel)
    return (*old[:at], *_counts("windows", old[at:], kernel, stride, dilation), *kernel)


def _windows_back(g: Any, y: Any, x: Any, kernel: Any, stride: Any, dilation: Any) -> Any:
    return overlap_add(g, shape_of(x)[-len(kernel) :], stride, dilation)


@movement(shape=_windows_shape, vjp=_windows_back, memory=SHOWN)
def windows(x: Any, kernel: Any, stride: Any, dilation: Any) -> Any:
    """Every window of the trailing dimensions, as a view (..., *windows, *kernel)."""
    _windows_shape(x.shape, kernel, stride, dilation)
    return window_view(x, kernel, stride, dilation)


def _overlap_shape(old: Shape, size: Any, stride: Any, dilation: Any) -> Shape:
    at, rank = len(old) - 2 * len(size), len(size)
    counts = _counts("overlap_add", tuple(size), old[at + rank :], stride, dilation)
    if old[at : at + rank] != counts:
        raise ShapeError(f"overlap_add: size {tuple(size)} has {counts} such windows, got {old[at : at + rank]}")
    return (*old[:at], *size)


@movement(
    shape=_overlap_shape,
    vjp=lambda g, y, x, size, stride, dilation: windows(g, shape_of(x)[-len(size) :], stride, dilation),
    memory=OWN,
)
def overlap_add(x: Any, size: Any, stride: Any, dilation: Any) -> Any:
    """The transpose of `windows`: elements (..., *windows, *kernel) added up at their places in (..., *size)."""
    _overlap_shape(x.shape, size, stride, dilation)
    return add_windows(x, size, stride, dilation)


def _sum_spec(x: Any, kernel: Any, stride: Any) -> Spec:
    at = len(shape_of(x)) - len(kernel)
    ones = (1,) * len(kernel)
    return Spec((*shape_of(x)[:at], *_counts("window_sum", shape_of(x)[at:], kernel, stride, ones)), dtype_of(x))


def _sum_vjp(g: Any, y: Any, x: Any, kernel: Any, stride: Any) -> Any:
    rank = len(kernel)
    spread = broadcast_to(reshape(g, (*shape_of(g), *(1,) * rank)), (*shape_of(g), *kernel))
    return overlap_add(spread, shape_of(x)[-rank:], stride, (1,) * rank)


@op(arrays=("x",), infer=_sum_spec, vjp=_sum_vjp, linear=True)
def window_sum(x: Any, kernel: Any, stride: Any) -> Any:
    """The sum of every window of the trailing dimensions."""
    counts = _sum_spec(x, kernel, stride).shape[-len(kernel) :]
    total = x.astype(np.float32) if x.dtype == np.float16 else x
    for axis, (k, n, s) in enumerate(zip(kernel, counts, stride, strict=True), x.ndim - len(kernel)):
        lead = (slice(None),) * axis
        parts = [total[(*lead, slice(i, i + (n - 1) * s + 1, s))] for i in range(k)]
        total = parts[0].copy()
        for part in parts[1:]:
            total += part
    return total.astype(x.dtype, copy=False)


def _max_spec(name: str, dtype: Any = None) -> Any:
    def infer(x: Any, kernel: Any, stride: Any, padding: Pairs, dilation: Any) -> Spec:
        if dtype_of(x).kind == "c":
            raise DtypeError(f"{name}: expected real numbers, got {dtype_of(x)}")
        at = len(shape_of(x)) - len(kernel)
        space = tuple(n + lo + hi for n, (lo, hi) in zip(shape_of(x)[at:], padding, strict=True))
        counts = _counts(name, space, kernel, stride, dilation)
        return Spec((*shape_of(x)[:at], *counts), dtype_of(x) if dtype is None else dtype)

    return infer


def _lowest(dtype: np.dtype[Any]) -> Any:
    return -np.inf if dtype.kind == "f" else False if dtype.kind == "b" else np.iinfo(dtype).min


def flatten_positions(at: Sequence[Any], space: Sequence[int]) -> Any:
    """One flat position in `space` for each combination of positions along its dimensions."""
    flat: Any = np.zeros((), np.int64)
    for axis, positions in enumerate(at):
        flat = flat * space[axis] + positions.reshape((-1,) + (1,) * (len(at) - axis - 1))
    return flat


def largest_tap(x: Any, taps: Iterable[Any], first: Any, shape: Shape, count: int) -> Any:
    """Which of `count` taps holds the first largest element; a nan is larger than any number.

    `first` is the answer where nothing exceeds the lowest value. Taps come in order, so the last that was better than
    all before it is the largest number seen: no choice between elements is needed.
    """
    dtype = np.int8 if count < 128 else np.int32
    best = np.full(shape, _lowest(x.dtype), x.dtype)
    winner = np.array(np.broadcast_to(first, shape), dtype)
    nans = x.dtype.kind == "f" and bool(np.isnan(x).any())
    for tap, values in enumerate(taps):
        better = values > best
        if nans:
            better |= np.isnan(values)
        np.maximum(best, values, out=best)
        np.maximum(winner, np.multiply(better, tap, dtype=dtype), out=winner)
    return winner


@op(
    arrays=("x",),
    infer=_max_spec("max_pool_indices", np.int64),
    vjp=no_gradient("max_pool_indices gives positions, which are integers"),
    order=ANY_ORDER,
)
def max_pool_indices(x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """Where the largest element of every window lies, as a position in the flattened trailing dimensions."""
    result = max_pool_indices.infer(x, kernel, stride, padding, dilation)
    rank = len(kernel)
    space, counts = x.shape[x.ndim - rank :], result.shape[x.ndim - rank :]
    padded = pad_edges(x, padding, _lowest(x.dtype))
    starts = [np.arange(n) * s - lo for n, s, (lo, _) in zip(counts, stride, padding, strict=True)]
    # Where nothing exceeds -inf the answer is the first tap that lies inside the array, not one in the padding.
    inside = [np.maximum(-(start // d), 0) for start, d in zip(starts, dilation, strict=True)]
    values = (padded[(..., *place)] for _, place in taps_of(kernel, counts, stride, dilation))
    tap = largest_tap(x, values, flatten_positions(inside, kernel), result.shape, size_of(kernel))
    offsets = flatten_positions([np.arange(k) * d for k, d in zip(kernel, dilation, strict=True)], space)
    return offsets.reshape(-1)[tap] + flatten_positions(starts, space)


def gather_positions(x: Any, positions: Any, rank: int) -> Any:
    """The elements at positions in the flattened trailing dimensions."""
    at = len(shape_of(x)) - rank
    lead, space = shape_of(x)[:at], shape_of(x)[at:]
    flat = reshape(positions, (*lead, size_of(shape_of(positions)[at:])))
    return reshape(take_along_axis(reshape(x, (*lead, size_of(space))), flat, axis=-1), shape_of(positions))


def _input_spec(g: Any, x: Any, y: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Spec:
    expected = _max_spec("max_pool_input")(x, kernel, stride, padding, dilation).shape
    for label, value in (("g", g), ("y", y)):
        if shape_of(value) != expected:
            raise ShapeError(f"max_pool_input: expected {label} of shape {expected}, got {shape_of(value)}")
    return Spec(shape_of(x), dtype_of(g))


def _at_positions(g: Any, x: Any, *how: Any) -> Any:
    """Add each element where the largest of its window lies, by its position."""
    lead = x.ndim - len(how[0])
    rows, plane = size_of(x.shape[:lead]), size_of(x.shape[lead:])
    positions = max_pool_indices(x, *how).reshape(rows, -1) + np.arange(rows)[:, None] * plane
    result = np.zeros(rows * plane, g.dtype)
    np.add.at(result, positions.reshape(-1), g.reshape(-1))
    return result.reshape(x.shape)


@op(
    arrays=("g", "x", "y"),
    infer=_input_spec,
    vjp=(
        lambda h, z, g, x, y, *how: gather_positions(h, max_pool_indices(x, *how), len(how[0])),
        # Which element is the largest does not change with small changes of the elements.
        lambda h, z, g, x, y, *how: 0,
        lambda h, z, g, x, y, *how: 0,
    ),
    order=ANY_ORDER,
)
def max_pool_input(g: Any, x: Any, y: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """The gradient of the argument x of `max_pool`, from that of its result y: all to the first that equals y."""
    result = _input_spec(g, x, y, kernel, stride, padding, dilation)
    # A nan equals nothing, and the lowest value is also what padding holds; the positions tell.
    if x.dtype.kind != "f" or not np.min(y, initial=np.inf) > -np.inf:
        return _at_positions(g, x, kernel, stride, padding, dilation)
    padded = pad_edges(x, padding, -np.inf)
    apart = all(d == 1 and s >= k for k, s, d in zip(kernel, stride, dilation, strict=True))
    spread: Any = np.zeros(padded.shape, result.dtype)
    left = np.ones(y.shape, np.bool_)
    counts = y.shape[-len(kernel) :]
    for _, place in taps_of(kernel, counts, stride, dilation):
        here = padded[(..., *place)] == y
        here &= left
        left ^= here
        if apart:
            np.multiply(g, here, out=spread[(..., *place)])
        else:
            spread[(..., *place)] += g * here
    return pad_edges(spread, tuple((-lo, -hi) for lo, hi in padding))


def _max_vjp(g: Any, y: Any, x: Any, *how: Any) -> Any:
    return max_pool_input(g, x, y, *how)


@op(arrays=("x",), infer=_max_spec("max_pool"), vjp=_max_vjp)
def max_pool(x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """The largest element of every window; padding is a (before, after) pair a dimension and is never the largest."""
    counts = max_pool.infer(x, kernel, stride, padding, dilation).shape[-len(kernel) :]
    padded = pad_edges(x, padding, _lowest(x.dtype))
    result = None
    for _, place in taps_of(kernel, counts, stride, dilation):
        part = padded[(..., *place)]
        result = part.copy() if result is None else np.maximum(result, part, out=result)
    return result


def space_of(name: str, input: Any, rank: int) -> Shape:
    if len(shape_of(input)) not in (rank + 1, rank + 2):
        raise ShapeError(
            f"{name}: expected an input of {rank + 2} dimensions, or {rank + 1} for one sample, got {shape_of(input)}"
        )
    return shape_of(input)[-rank:]


def _geometry(
    name: str, rank: int, input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[Shape, Shape, tuple[tuple[int, int], ...], Shape]:
    """Kernel, stride, padding pairs and dilation; ceil_mode widens the padding at the end to fit one more window."""
    space = space_of(name, input, rank)
    kernel = sizes(name, "kernel_size", kernel_size, rank)
    stride = kernel if stride is None else sizes(name, "stride", stride, rank)
    dilation = sizes(name, "dilation", dilation, rank)
    pads = sizes(name, "padding", padding, rank, least=0)
    pairs = []
    for n, k, s, p, d in zip(space, kernel, stride, pads, dilation, strict=True):
        span = d * (k - 1) + 1
        if 2 * p > span:
            raise ShapeError(f"{name}: padding {p} is more than half of a window of {span}")
        after = p
        if ceil_mode:
            count = -(-(n + 2 * p - span) // s) + 1
            count -= (count - 1) * s >= n + p  # a window must begin inside the array or its padding before
            after = max(p, (count - 1) * s + span - n - p)
        pairs.append((p, after))
    return kernel, stride, tuple(pairs), dilation


def _max_pool(name: str, rank: int, input: Any, *how: Any, return_indices: bool) -> Any:
    geometry = _geometry(name, rank, input, *how)
    if not return_indices:
        return max_pool(input, *geometry)
    indices = max_pool_indices(input, *geometry)
    return gather_positions(input, indices, rank), indices


def _avg_pool(
    name: str,
    rank: int,
    input: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None = None,
) -> Any:
    kernel, stride, pairs, _ = _geometry(name, rank, input, kernel_size, stride, padding, 1, ceil_mode)
    space = space_of(name, input, rank)
    if dtype_of(input).kind not in "fc":
        input = astype(input, np.float64)
    total = window_sum(_pad(input, pairs), kernel, stride)
    if divisor_override is not None:
        return total / divisor_override
    beyond = any(hi > lo for lo, hi in pairs)
    if not beyond and (count_include_pad or not any(lo for lo, _ in pairs)):
        return total / size_of(kernel)
    # Each window divides by how many of its elements count: what ceil_mode adds never does, padding only if told to.
    inner = tuple((lo, lo) if count_include_pad else (0, 0) for lo, _ in pairs)
    outer = tuple((lo - a, hi - b) for (lo, hi), (a, b) in zip(pairs, inner, strict=True))
    ones = full(tuple(n + a + b for n, (a, b) in zip(space, inner, strict=True)), 1, dtype=dtype_of(total))
    return total / window_sum(_pad(ones, outer), kernel, stride)


def _pad(x: Any, pairs: Pairs) -> Any:
    """Zeros around the trailing dimensions."""
    if not any(map(any, pairs)):
        return x
    return pad(x, (*((0, 0),) * (len(shape_of(x)) - len(pairs)), *pairs))


def _square(value: Any) -> tuple[Any, int]:
    """A kernel size and its number of dimensions; one number means two dimensions."""
    return (tuple(value), len(value)) if isinstance(value, (tuple, list)) else ((value, value), 2)


@composite(arrays=("input",), memory=None)
def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Every window as a column: (batch, channels, *space) to (batch, channels * taps, windows)."""
    kernel, rank = _square(kernel_size)
    kernel = sizes("unfold", "kernel_size", kernel, rank)
    space_of("unfold", input, rank)
    steps, spread = sizes("unfold", "stride", stride, rank), sizes("unfold", "dilation", dilation, rank)
    pads = sizes("unfold", "padding", padding, rank, least=0)
    view = windows(_pad(input, tuple((p, p) for p in pads)), kernel, steps, spread)
    at = view.ndim - 2 * rank
    order = (*range(at), *range(at + rank, view.ndim), *range(at, at + rank))
    taps, count = size_of(kernel), size_of(shape_of(view)[at : at + rank])
    *batch, channels = shape_of(view)[:at]
    return reshape(permute_dims(view, order), (*batch, channels * taps, count))


@composite(arrays=("input",), order=ANY_ORDER)
def fold(input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """The transpose of unfold: columns (batch, channels * taps, windows) added up in *output_size."""
    kernel, rank = _square(kernel_size)
    kernel = sizes("fold", "kernel_size", kernel, rank)
    size = sizes("fold", "output_size", output_size, rank)
    steps, spread = sizes("fold", "stride", stride, rank), sizes("fold", "dilation", dilation, rank)
    pads = sizes("fold", "padding", padding, rank, least=0)
    padded = tuple(n + 2 * p for n, p in zip(size, pads, strict=True))
    counts, taps = _counts("fold", padded, kernel, steps, spread), size_of(kernel)
    *batch, rows, columns = (1, 1, *shape_of(input))[-max(len(shape_of(input)), 2) :]
    if len(shape_of(input)) not in (2, 3) or rows % taps or columns != size_of(counts):
        raise ShapeError(
            f"fold: expected (batch, channels * {taps}, {size_of(counts)}), got {shape_of(input)}",
            help=f"output_size {size} has {counts} windows of {kernel}",
        )
    blocks = reshape(input, (*batch, rows // taps, *kernel, *counts))
    at = len(batch) + 1
    order = (*range(at), *range(at + rank, blocks.ndim), *range(at, at + rank))
    whole = overlap_add(permute_dims(blocks, order), padded, steps, spread)
    return whole[(..., *(slice(p, p + n) for p, n in zip(pads, size, strict=True)))]


@composite(arrays=("input",), order=ANY_ORDER)
def max_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of every window of (batch, channels, length); with return_indices, also where it lies."""
    how = (kernel_size, stride, padding, dilation, ceil_mode)
    return _max_pool("max_pool1d", 1, input, *how, return_indices=return_indices)


@composite(arrays=("input",))
def max_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of every window of an image; with return_indices, also where it lies."""
    how = (kernel_size, stride, padding, dilation, ceil_mode)
    return _max_pool("max_pool2d", 2, input, *how, return_indices=return_indices)


@composite(arrays=("input",))
def max_pool3d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of every window of a volume; with return_indices, also where it lies."""
    how = (kernel_size, stride, padding, dilation, ceil_mode)
    return _max_pool("max_pool3d", 3, input, *how, return_indices=return_indices)


@composite(arrays=("input",))
def avg_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    """The mean of every window of (batch, channels, length)."""
    return _avg_pool("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad)


@composite(arrays=("input",))
def avg_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """The mean of every window of (batch, channels, height, width)."""
    how = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return _avg_pool("avg_pool2d", 2, input, *how)


@composite(arrays=("input",))
def avg_pool3d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """The mean of every window of (batch, channels, depth, height, width)."""
    how = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return _avg_pool("avg_pool3d", 3, input, *how)
