"""Cases of `ops/convolution.py`, against loops over every position and, for plain ones, scipy.signal.correlate."""

from itertools import product

import numpy as np
from cases import case, integers, normal
from scipy.signal import correlate


def terms(xs, ws, stride, padding, dilation, groups):
    """Every (x index, w index, y index) of the trilinear form, one at a time."""
    space = [
        (n + lo + hi - d * (k - 1) - 1) // s + 1
        for n, k, s, (lo, hi), d in zip(xs[2:], ws[2:], stride, padding, dilation, strict=True)
    ]
    per_group = ws[0] // groups
    for b, f, c, at, tap in product(range(xs[0]), range(ws[0]), range(ws[1]), np.ndindex(*space), np.ndindex(*ws[2:])):
        place = tuple(
            o * s - lo + k * d for o, s, (lo, _), k, d in zip(at, stride, padding, tap, dilation, strict=True)
        )
        if all(0 <= p < n for p, n in zip(place, xs[2:], strict=True)):
            yield (b, f // per_group * ws[1] + c, *place), (f, c, *tap), (b, f, *at)


def conv(x, w, stride, padding, dilation, groups=1):
    space = [
        (n + lo + hi - d * (k - 1) - 1) // s + 1
        for n, k, s, (lo, hi), d in zip(x.shape[2:], w.shape[2:], stride, padding, dilation, strict=True)
    ]
    y = np.zeros((x.shape[0], w.shape[0], *space), np.result_type(x, w))
    for i, j, k in terms(x.shape, w.shape, stride, padding, dilation, groups):
        y[k] += x[i] * w[j]
    return y


def conv_input(g, w, size, stride, padding, dilation, groups=1):
    x = np.zeros((g.shape[0], w.shape[1] * groups, *size), np.result_type(g, w))
    for i, j, k in terms(x.shape, w.shape, stride, padding, dilation, groups):
        x[i] += g[k] * w[j]
    return x


def conv_weight(x, g, kernel, stride, padding, dilation, groups=1):
    w = np.zeros((g.shape[1], x.shape[1] // groups, *kernel), np.result_type(x, g))
    for i, j, k in terms(x.shape, w.shape, stride, padding, dilation, groups):
        w[j] += x[i] * g[k]
    return w


def conv_bias(x, w, bias, *how):
    return conv(x, w, *how) + bias.reshape((-1,) + (1,) * (x.ndim - 2))


# x, w, (stride, padding, dilation, groups). Features many times the channels, and few, are worked out differently.
FORMS = [
    ((2, 1, 3, 4), (4, 1, 2, 3), ((1, 1), ((1, 0), (1, 2)), (1, 1), 1)),
    ((1, 2, 4, 3), (8, 1, 2, 2), ((1, 1), ((0, 1), (2, 0)), (2, 1), 2)),
    ((1, 1, 5), (4, 1, 2), ((1,), ((1, -2),), (2,), 1)),
    ((1, 1, 2, 3, 2), (4, 1, 2, 2, 1), ((1, 1, 1), ((0, 1), (0, 0), (1, 1)), (1, 1, 1), 1)),
    ((1, 4, 3, 3), (2, 2, 2, 2), ((1, 1), ((1, 0), (2, 1)), (1, 2), 2)),
    ((2, 4, 2), (4, 4, 2), ((1,), ((0, 0),), (1,), 1)),
    ((2, 2, 4), (3, 2, 2), ((1,), ((0, 0),), (1,), 1)),
    ((1, 2, 5), (2, 1, 2), ((2,), ((2, 1),), (2,), 2)),
    ((1, 1, 5), (2, 1, 2), ((1,), ((1, -2),), (1,), 1)),
    ((1, 2, 3, 3), (2, 2, 2, 1), ((1, 2), ((1, 0), (0, 1)), (1, 1), 1)),
    ((1, 1, 2, 3, 2), (1, 1, 2, 1, 2), ((1, 2, 1), ((0, 0), (0, 0), (1, 1)), (1, 1, 1), 1)),
]
for xs, ws, how in FORMS:
    x, w = normal(*xs), normal(*ws, seed=1)
    y = conv(x, w, *how)
    g = normal(*y.shape, seed=2)
    case("conv", x, w, *how, ref=conv)
    case("conv_bias", x, w, normal(ws[0], seed=3), *how, ref=conv_bias)
    case("conv_input", g, w, xs[2:], *how, ref=conv_input)
    case("conv_weight", x, g, ws[2:], *how, ref=conv_weight)

PLAIN = ((1,), ((0, 0),), (1,))
case("conv", normal(1, 1, 3, dtype=complex), normal(2, 1, 2, dtype=complex), *PLAIN, ref=conv)
case(
    "conv_bias",
    normal(1, 1, 3, dtype=complex),
    normal(2, 1, 2, dtype=complex),
    normal(2, dtype=complex),
    *PLAIN,
    ref=conv_bias,
)
case("conv_bias", normal(1, 1, 3), normal(2, 1, 2), normal(2, dtype=complex), *PLAIN, ref=conv_bias)
case(
    "conv_input",
    normal(1, 2, 2, dtype=complex),
    normal(2, 1, 2, dtype=complex),
    (3,),
    *PLAIN,
    ref=conv_input,
)
case(
    "conv_weight",
    normal(1, 1, 3, dtype=complex),
    normal(1, 2, 2, dtype=complex),
    (2,),
    *PLAIN,
    ref=conv_weight,
)
case("conv", normal(0, 1, 3), normal(2, 1, 2), *PLAIN, ref=conv)
case("conv_input", normal(0, 2, 2), normal(2, 1, 2), (3,), *PLAIN, ref=conv_input)
case("conv_weight", normal(0, 1, 3), normal(0, 2, 2), (2,), *PLAIN, ref=conv_weight)
case("conv", integers(-9, 9, 1, 2, 4), integers(-9, 9, 3, 2, 2), *PLAIN, ref=conv)
case(
    "conv",
    normal(1, 2, 4, dtype=np.float32),
    normal(3, 2, 2, dtype=np.float32),
    *PLAIN,
    ref=conv,
    _rtol=1e-4,
)


def at_half(x, w, *how):
    return conv(x.astype(float), w.astype(float), *how).astype(np.float16)


case("conv", normal(1, 2, 4, dtype=np.float16), normal(3, 2, 2, dtype=np.float16), *PLAIN, ref=at_half, _rtol=1e-2)


def correlated(x, w, bias=None):
    """Plain convolution as a sum of SciPy's correlations over the channels."""
    y = [[sum(correlate(a, k, "valid") for a, k in zip(sample, f, strict=True)) for f in w] for sample in x]
    return np.array(y) if bias is None else np.array(y) + bias.reshape((-1,) + (1,) * (x.ndim - 2))


def looped(x, w, bias=None, stride=1, padding=0, dilation=1, groups=1):
    rank = x.ndim - 2
    stride, dilation = (v if isinstance(v, tuple) else (v,) * rank for v in (stride, dilation))
    if padding == "same":
        total = [d * (k - 1) for d, k in zip(dilation, w.shape[2:], strict=True)]
        pairs = [(t // 2, t - t // 2) for t in total]
    else:
        pads = (0,) * rank if padding == "valid" else padding if isinstance(padding, tuple) else (padding,) * rank
        pairs = [(p, p) for p in pads]
    y = conv(x, w, stride, pairs, dilation, groups)
    return y if bias is None else y + bias.reshape((-1,) + (1,) * rank)


def transposed(x, w, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """Scatter each element of the input by the kernel, then cut the padding off."""
    kernel = np.array(w.shape[2:])
    full = (np.array(x.shape[2:]) - 1) * stride + dilation * (kernel - 1) + 1 + output_padding
    each = w.shape[1]
    y = np.zeros((x.shape[0], each * groups, *full))
    for index in np.ndindex(*x.shape):
        group = index[1] // (x.shape[1] // groups)
        for f, *tap in np.ndindex(*w.shape[1:]):
            place = tuple(i * stride + k * dilation for i, k in zip(index[2:], tap, strict=True))
            y[(index[0], group * each + f, *place)] += x[index] * w[(index[1], f, *tap)]
    y = y[(..., *(slice(padding, n - padding) for n in full))]
    return y if bias is None else y + bias.reshape((-1,) + (1,) * (x.ndim - 2))


case("conv1d", normal(2, 2, 5), normal(3, 2, 2), normal(3), ref=correlated)
case("conv2d", normal(1, 2, 3, 3), normal(2, 2, 2, 2), normal(2), ref=correlated)
case("conv3d", normal(1, 2, 2, 3, 2), normal(1, 2, 2, 2, 1), ref=correlated)
case("conv1d", normal(2, 5), normal(3, 2, 2), normal(3), ref=lambda x, w, b: correlated(x[None], w, b)[0])
case("conv1d", normal(1, 2, 5), normal(2, 1, 2), normal(2), 2, 1, 2, 2, ref=looped)
case("conv2d", normal(1, 1, 3, 4), normal(1, 1, 2, 3), stride=(2, 1), padding=(1, 0), dilation=(1, 1), ref=looped)
case("conv2d", normal(1, 1, 3, 4), normal(1, 1, 2, 3), padding="same", ref=looped)
case("conv2d", normal(1, 1, 3, 4), normal(1, 1, 2, 3), padding="valid", ref=looped)
case("conv2d", normal(1, 3, 2, 3), normal(2, 3, 1, 1), normal(2), ref=looped)
case("conv2d", normal(1, 3, 2, 3), normal(3, 1, 1, 1), groups=3, stride=2, ref=looped)
case("conv1d", normal(1, 2, 5, dtype=np.float32), normal(3, 2, 2), normal(3, dtype=np.float32), ref=looped)
single = {"dtype": np.float32}
case("conv1d", normal(1, 2, 5, **single), normal(3, 2, 2, **single), normal(3, **single), ref=looped, _rtol=1e-5)

case("conv_transpose1d", normal(2, 2, 3), normal(2, 3, 2), normal(3), ref=transposed)
case("conv_transpose1d", normal(1, 2, 3), normal(2, 1, 3), normal(2), 2, 1, 1, 2, 1, ref=transposed)
case("conv_transpose1d", normal(1, 1, 3), normal(1, 1, 2), output_padding=2, dilation=3, ref=transposed)
case("conv_transpose1d", normal(2, 3), normal(2, 3, 2), ref=lambda x, w: transposed(x[None], w)[0])
case("conv_transpose2d", normal(1, 2, 2, 3), normal(2, 1, 2, 2), normal(1), stride=2, padding=1, ref=transposed)
case("conv_transpose3d", normal(1, 1, 2, 1, 2), normal(1, 2, 2, 1, 2), normal(2), dilation=2, ref=transposed)
