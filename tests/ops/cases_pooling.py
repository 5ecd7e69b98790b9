"""Cases of `ops/pooling.py` and `ops/adaptive.py`, against loops over every window."""

import math
from itertools import product

import numpy as np
from cases import case, integers, normal


def many(value, rank):
    return tuple(value) if isinstance(value, tuple | list) else (value,) * rank


def count(n, k, s, d=1):
    return (n - d * (k - 1) - 1) // s + 1


def windows(x, kernel, stride, dilation):
    rank = len(kernel)
    lead = x.shape[: x.ndim - rank]
    counts = tuple(map(count, x.shape[len(lead) :], kernel, stride, dilation))
    y = np.empty((*lead, *counts, *kernel), x.dtype)
    for at in np.ndindex(*counts):
        for tap in np.ndindex(*kernel):
            place = tuple(o * s + k * d for o, s, k, d in zip(at, stride, tap, dilation, strict=True))
            y[(..., *at, *tap)] = x[(..., *place)]
    return y


def overlap_add(x, size, stride, dilation):
    rank = len(size)
    lead = x.shape[: x.ndim - 2 * rank]
    y = np.zeros((*lead, *size), x.dtype)
    for index in np.ndindex(*x.shape[len(lead) :]):
        at, tap = index[:rank], index[rank:]
        y[(..., *(o * s + k * d for o, s, k, d in zip(at, stride, tap, dilation, strict=True)))] += x[(..., *index)]
    return y


case("windows", normal(2, 5), (2,), (1,), (1,), ref=windows)
case("windows", normal(7), (2,), (2,), (3,), ref=windows)
case("windows", normal(2, 3, 4), (2, 3), (1, 1), (1, 1), ref=windows)
case("windows", normal(0, 3), (2,), (1,), (1,), ref=windows)
case("overlap_add", normal(2, 4, 2), (5,), (1,), (1,), ref=overlap_add)
case("overlap_add", normal(2, 2), (7,), (2,), (3,), ref=overlap_add)
case("overlap_add", normal(2, 2, 2, 2, 1), (3, 4), (1, 2), (1, 1), ref=overlap_add)
case("overlap_add", integers(0, 9, 4, 2), (5,), (1,), (1,), ref=overlap_add)


def window_sum(x, kernel, stride):
    axes = tuple(range(-len(kernel), 0))
    return windows(x, kernel, stride, (1,) * len(kernel)).sum(axes, dtype=x.dtype)


case("window_sum", normal(2, 5), (2,), (1,), ref=window_sum)
case("window_sum", normal(2, 4, 5), (2, 3), (2, 1), ref=window_sum)
case("window_sum", normal(3, 4), (3, 4), (1, 1), ref=window_sum)
case("window_sum", normal(2, 5, dtype=np.float32), (2,), (2,), ref=window_sum, _rtol=1e-6)


def inside(x, at, kernel, stride, padding, dilation):
    """The positions of one window that lie in the array."""
    space = x.shape[x.ndim - len(kernel) :]
    axes = zip(at, kernel, stride, padding, dilation, space, strict=True)
    return list(
        product(*([p for k in range(n) if 0 <= (p := o * s - lo + k * d) < size] for o, n, s, (lo, _), d, size in axes))
    )


def max_pool(x, kernel, stride, padding, dilation):
    rank = len(kernel)
    lead = x.ndim - rank
    counts = [
        count(n + lo + hi, k, s, d)
        for n, (lo, hi), k, s, d in zip(x.shape[lead:], padding, kernel, stride, dilation, strict=True)
    ]
    y = np.empty((*x.shape[:lead], *counts), x.dtype)
    for at in np.ndindex(*counts):
        y[(..., *at)] = np.max([x[(..., *p)] for p in inside(x, at, kernel, stride, padding, dilation)], axis=0)
    return y


def max_pool_indices(x, kernel, stride, padding, dilation):
    rank = len(kernel)
    lead, space = x.shape[: x.ndim - rank], x.shape[x.ndim - rank :]
    values = max_pool(x, kernel, stride, padding, dilation)
    y = np.empty(values.shape, np.int64)
    for index in np.ndindex(*values.shape):
        for p in inside(x, index[len(lead) :], kernel, stride, padding, dilation):
            if x[(*index[: len(lead)], *p)] == values[index]:
                y[index] = np.ravel_multi_index(p, space)
                break
    return y


for op, reference in (("max_pool", max_pool), ("max_pool_indices", max_pool_indices)):
    case(op, normal(2, 6), (2,), (2,), ((0, 0),), (1,), ref=reference)
    case(op, normal(2, 7), (3,), (1,), ((1, 2),), (2,), ref=reference)
    case(op, normal(2, 4, 5), (2, 3), (1, 2), ((1, 0), (1, 1)), (1, 1), ref=reference)
    case(op, integers(-9, -1, 2, 5), (2,), (1,), ((1, 1),), (1,), ref=reference)
    case(op, normal(5, dtype=np.float16), (2,), (1,), ((1, 1),), (1,), ref=reference)
    case(op, np.full(5, -np.inf), (2,), (1,), ((1, 1),), (1,), ref=reference, _grad=False)


def windows_of(n, k, s, p, d, ceil_mode):
    """Where the windows along one dimension begin."""
    last = n + p - (d * (k - 1) + 1)
    starts = [i * s - p for i in range(n + p) if i * s - p <= last]
    if ceil_mode and starts[-1] < last and starts[-1] + s < n:
        starts.append(starts[-1] + s)
    return starts


def pooled(x, rank, kernel, stride, padding, dilation, ceil_mode, reduce):
    kernel, padding, dilation = many(kernel, rank), many(padding, rank), many(dilation, rank)
    stride = kernel if stride is None else many(stride, rank)
    space = x.shape[-rank:]
    starts = [windows_of(*each, ceil_mode) for each in zip(space, kernel, stride, padding, dilation, strict=True)]
    y = np.empty((*x.shape[:-rank], *map(len, starts)), np.result_type(x, np.float16))
    for at in np.ndindex(*map(len, starts)):
        taps = [[starts[i][o] + k * dilation[i] for k in range(kernel[i])] for i, o in enumerate(at)]
        real = product(*([p for p in t if 0 <= p < n] for t, n in zip(taps, space, strict=True)))
        padded = math.prod(sum(p < n + pad for p in t) for t, n, pad in zip(taps, space, padding, strict=True))
        y[(..., *at)] = reduce([x[(..., *p)] for p in real], padded)
    return y


def max_pool_of(rank):
    return lambda x, kernel, stride=None, padding=0, dilation=1, ceil_mode=False: pooled(
        x, rank, kernel, stride, padding, dilation, ceil_mode, lambda values, _: np.max(values, axis=0)
    )


def avg_pool_of(rank):
    def reference(x, kernel, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        def mean(values, padded):
            return np.sum(values, axis=0) / (divisor_override or (padded if count_include_pad else len(values)))

        return pooled(x, rank, kernel, stride, padding, 1, ceil_mode, mean)

    return reference


case("max_pool1d", normal(1, 2, 7), 2, ref=max_pool_of(1))
case("max_pool1d", normal(2, 7), 3, 2, 1, 1, True, ref=max_pool_of(1))
# One more window would begin in the padding at the end, so ceil_mode does not add it.
case("max_pool1d", normal(1, 2, 5), 2, 3, 1, 1, True, ref=max_pool_of(1))
case("avg_pool1d", normal(1, 2, 5), 2, 3, 1, True, ref=avg_pool_of(1))
case("max_pool2d", normal(1, 1, 4, 5), 2, ref=max_pool_of(2))
case("max_pool2d", normal(1, 5, 5), (3, 2), (2, 1), (1, 0), ceil_mode=True, ref=max_pool_of(2))
case("max_pool2d", normal(1, 1, 5, 5), 2, 1, 0, 2, ref=max_pool_of(2))
case("max_pool3d", normal(1, 1, 3, 2, 4), 2, 1, ref=max_pool_of(3))
case("avg_pool1d", normal(1, 2, 7), 2, ref=avg_pool_of(1))
case("avg_pool1d", normal(2, 7), 3, 2, 1, True, False, ref=avg_pool_of(1))
case("avg_pool1d", normal(2, 6), 3, 2, 1, True, True, ref=avg_pool_of(1))
case("avg_pool2d", normal(1, 1, 4, 5), 2, ref=avg_pool_of(2))
case("avg_pool2d", normal(1, 1, 4, 5), (3, 2), (2, 1), (1, 0), ref=avg_pool_of(2))
case("avg_pool2d", normal(1, 4, 5), 3, 2, 1, count_include_pad=False, ref=avg_pool_of(2))
case("avg_pool2d", normal(1, 4, 5), 3, 2, 1, divisor_override=4, ref=avg_pool_of(2))
case("avg_pool2d", normal(1, 4, 5, dtype=np.float32), 3, 2, 1, ceil_mode=True, ref=avg_pool_of(2), _rtol=1e-5)
case("avg_pool3d", normal(1, 1, 3, 2, 4), 2, 1, ref=avg_pool_of(3))


def with_positions(x, kernel, stride, padding, return_indices):
    y = max_pool(x, (kernel,), (stride,), ((padding, padding),), (1,))
    return y, max_pool_indices(x, (kernel,), (stride,), ((padding, padding),), (1,))


case("max_pool1d", normal(1, 2, 7), 3, 2, 1, return_indices=True, ref=with_positions)


def adaptive(x, size, rank, reduce):
    space = x.shape[-rank:]
    size = tuple(n if o is None else o for n, o in zip(space, many(size, rank), strict=True))
    y = np.empty((*x.shape[:-rank], *size), x.dtype)
    for at in np.ndindex(*size):
        part = tuple(slice(i * n // o, math.ceil((i + 1) * n / o)) for i, n, o in zip(at, space, size, strict=True))
        y[(..., *at)] = reduce(x[(..., *part)], axis=tuple(range(-rank, 0)))
    return y


def adaptive_of(rank, reduce):
    return lambda x, output_size: adaptive(x, output_size, rank, reduce)


for kind, reduce in (("avg", np.mean), ("max", np.max)):
    case(f"adaptive_{kind}_pool1d", normal(1, 2, 7), 3, ref=adaptive_of(1, reduce))
    case(f"adaptive_{kind}_pool1d", normal(2, 6), 3, ref=adaptive_of(1, reduce))
    case(f"adaptive_{kind}_pool2d", normal(1, 1, 4, 5), (2, 3), ref=adaptive_of(2, reduce))
    case(f"adaptive_{kind}_pool2d", normal(1, 1, 4, 3), (None, 2), ref=adaptive_of(2, reduce))
    case(f"adaptive_{kind}_pool2d", normal(1, 1, 3, 3, dtype=np.float32), 2, ref=adaptive_of(2, reduce), _rtol=1e-5)
    case(f"adaptive_{kind}_pool3d", normal(1, 1, 3, 2, 3), 2, ref=adaptive_of(3, reduce))


def adaptive_indices(x, size):
    y = np.empty((*x.shape[: x.ndim - len(size)], *size), np.int64)
    space = x.shape[x.ndim - len(size) :]
    flat = np.arange(math.prod(space)).reshape(space)
    for at in np.ndindex(*y.shape):
        lead, place = at[: -len(size)], at[-len(size) :]
        part = tuple(slice(i * n // o, math.ceil((i + 1) * n / o)) for i, n, o in zip(place, space, size, strict=True))
        y[at] = flat[part].ravel()[np.argmax(x[lead][part])]
    return y


case("adaptive_max_indices", normal(2, 7), (3,), ref=adaptive_indices)
case("adaptive_max_indices", integers(0, 3, 2, 4, 5), (2, 3), ref=adaptive_indices)
case(
    "adaptive_max_pool1d",
    normal(2, 7),
    3,
    return_indices=True,
    ref=lambda x, n, return_indices: (adaptive(x, n, 1, np.max), adaptive_indices(x, (n,))),
)


def unfold(x, kernel, dilation=1, padding=0, stride=1):
    rank = 2
    kernel, dilation, padding, stride = (many(v, rank) for v in (kernel, dilation, padding, stride))
    x = np.pad(x, [(0, 0)] * (x.ndim - rank) + [(p, p) for p in padding])
    counts = tuple(map(count, x.shape[-rank:], kernel, stride, dilation))
    columns = []
    for at in np.ndindex(*counts):
        taps = [
            x[(..., *(o * s + k * d for o, s, k, d in zip(at, stride, tap, dilation, strict=True)))]
            for tap in np.ndindex(*kernel)
        ]
        columns.append(np.stack(taps, axis=-1).reshape(*x.shape[: x.ndim - rank - 1], -1))
    return np.stack(columns, axis=-1)


def fold(x, size, kernel, dilation=1, padding=0, stride=1):
    """What unfold, a linear map, has for its transpose, found by unfolding every unit image."""
    size = many(size, 2)
    channels = x.shape[-2] // math.prod(many(kernel, 2))
    units = np.eye(channels * math.prod(size)).reshape(-1, channels, *size)
    matrix = unfold(units, kernel, dilation, padding, stride).reshape(len(units), -1)
    return (x.reshape(*x.shape[:-2], -1) @ matrix.T).reshape(*x.shape[:-2], channels, *size)


case("unfold", normal(2, 1, 3, 4), 2, ref=unfold)
case("unfold", normal(2, 3, 4), (2, 3), 1, 1, 2, ref=unfold)
case("unfold", normal(1, 1, 4, 4), 2, (2, 1), (0, 1), (1, 2), ref=unfold)
case("fold", normal(2, 4, 6), (3, 4), 2, ref=fold)
case("fold", normal(12, 4), (3, 3), (2, 3), 1, 1, 2, ref=fold)


def sampled(x, size, mode="nearest"):
    """Nearest and linear interpolation at one position after another."""
    space = x.shape[2:]
    y = np.zeros((*x.shape[:2], *size))
    for at in np.ndindex(*size):
        choices = []
        for o, n, m in zip(at, space, size, strict=True):
            place = (o + 0.5) * n / m - 0.5
            low = math.floor(o * n / m) if mode == "nearest" else math.floor(place)
            part = 0.0 if mode == "nearest" else place - low
            choices.append([(min(max(low, 0), n - 1), 1 - part), (min(max(low + 1, 0), n - 1), part)])
        for corner in product(*choices):
            y[(..., *at)] += x[(..., *(p for p, _ in corner))] * math.prod(w for _, w in corner)
    return y


case("interpolate", normal(1, 2, 4), size=(7,), ref=sampled)
case("interpolate", normal(1, 1, 3, 4), (5, 2), ref=sampled)
case("interpolate", normal(1, 1, 3), scale_factor=2, ref=lambda x, scale_factor: np.repeat(x, scale_factor, axis=-1))
case("interpolate", normal(1, 2, 4), size=(7,), mode="linear", ref=sampled)
case("interpolate", normal(1, 1, 3, 4), size=(5, 2), mode="bilinear", ref=sampled)
case("interpolate", normal(1, 1, 2, 3, 2), size=(3, 2, 4), mode="trilinear", ref=sampled)
case(
    "interpolate", normal(1, 1, 3, 4), size=(2, 3), mode="area", ref=lambda x, size, mode: adaptive(x, size, 2, np.mean)
)
case(
    "interpolate",
    normal(1, 1, 4),
    size=7,
    mode="linear",
    align_corners=True,
    ref=lambda x, **_: np.interp(np.linspace(0, 3, 7), np.arange(4), x[0, 0])[None, None],
)


def cubic(x, size, mode):
    """Keys' kernel with a = -3/4 as a sum over all elements, the edges repeated far outwards."""

    def kernel(t):
        t = abs(t)
        if t <= 1:
            return 1.25 * t**3 - 2.25 * t**2 + 1
        return -0.75 * (t**3 - 5 * t**2 + 8 * t - 4) if t < 2 else 0.0

    for axis, m in zip((2, 3), size, strict=True):
        n = x.shape[axis]
        matrix = np.zeros((m, n))
        for o, i in product(range(m), range(-4, n + 4)):
            matrix[o, min(max(i, 0), n - 1)] += kernel((o + 0.5) * n / m - 0.5 - i)
        x = np.moveaxis(np.moveaxis(x, axis, -1) @ matrix.T, -1, axis)
    return x


case("interpolate", normal(1, 1, 3, 4), size=(5, 3), mode="bicubic", ref=cubic)


def max_pool_input(g, x, y, kernel, stride, padding, dilation):
    """All of each window's gradient to the position of its largest element."""
    rank = len(kernel)
    flat = np.zeros((*x.shape[: x.ndim - rank], math.prod(x.shape[x.ndim - rank :])), g.dtype)
    positions = max_pool_indices(x, kernel, stride, padding, dilation)
    for index in np.ndindex(*g.shape):
        flat[(*index[: x.ndim - rank], positions[index])] += g[index]
    return flat.reshape(x.shape)


def back_through_max_pool(x, *how, **options):
    y = max_pool(x, *how)
    case("max_pool_input", normal(*y.shape, seed=5), x, y, *how, ref=max_pool_input, **options)


back_through_max_pool(normal(2, 6), (2,), (2,), ((0, 0),), (1,))
back_through_max_pool(normal(2, 7), (3,), (2,), ((1, 1),), (1,))
back_through_max_pool(normal(2, 4, 5), (2, 2), (3, 1), ((0, 1), (1, 0)), (1, 2))
# Of equal elements the first counts; there, and at infinity, differences say nothing of x.
back_through_max_pool(np.round(normal(1, 6, 6)), (2, 3), (2, 3), ((0, 0), (0, 0)), (1, 1), _grad=False)
back_through_max_pool(np.full((1, 5), -np.inf), (3,), (2,), ((1, 1),), (1,), _grad=False)
back_through_max_pool(np.array([[1, -np.inf, -np.inf, -np.inf, 2.0]]), (2,), (1,), ((1, 0),), (1,), _grad=False)
