"""Cases of `ops/normalization.py`; the references go through NumPy's mean and var one group at a time."""

import numpy as np
from cases import case, normal, uniform


def standard(x, eps):
    x = x.astype(np.float64)
    return (x - np.mean(x)) / np.sqrt(np.var(x) + eps)


def grouped(x, shape, eps, weight, bias):
    """Standardize each row of x laid out as (*shape, -1), then scale and shift."""
    rows = x.reshape(*shape, x.size // max(np.prod(shape, dtype=int), 1))
    y = np.empty(rows.shape)
    for index in np.ndindex(*shape):
        y[index] = standard(rows[index], eps)
    y = y.reshape(x.shape)
    y = y if weight is None else y * weight
    y = y if bias is None else y + bias
    return y.astype(x.dtype)


def by_channel(x, value):
    return value if value is None else value.reshape((-1,) + (1,) * (x.ndim - 2))


def layer_norm(x, shape, weight=None, bias=None, eps=1e-5):
    return grouped(x, x.shape[: x.ndim - len(shape)], eps, weight, bias)


def rms_norm(x, shape, weight=None, eps=None):
    eps = np.finfo(np.promote_types(x.dtype, np.float32)).eps if eps is None else eps
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    y = x / np.sqrt(np.mean(x.astype(float) ** 2, axis=axes, keepdims=True) + eps)
    return (y if weight is None else y * weight).astype(x.dtype)


def group_norm(x, groups, weight=None, bias=None, eps=1e-5):
    return grouped(x, (x.shape[0], groups), eps, by_channel(x, weight), by_channel(x, bias))


def instance_norm(x, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, eps=1e-5):
    if not use_input_stats:
        return batch_norm(x, running_mean, running_var, weight, bias, eps=eps)
    return grouped(x, x.shape[:2], eps, by_channel(x, weight), by_channel(x, bias))


def batch_norm(x, running_mean, running_var, weight=None, bias=None, training=False, eps=1e-5):
    y = np.empty(x.shape)
    for c in range(x.shape[1]):
        mean, var = (np.mean(x[:, c]), np.var(x[:, c].astype(float))) if training else (running_mean[c], running_var[c])
        y[:, c] = (x[:, c] - mean) / np.sqrt(var + eps)
    y = y if weight is None else y * by_channel(x, weight)
    return (y if bias is None else y + by_channel(x, bias)).astype(x.dtype)


def batch_norm_with_stats(x, weight=None, bias=None, eps=1e-5):
    columns = np.moveaxis(x, 1, 0).reshape(x.shape[1], -1)
    return (
        batch_norm(x, None, None, weight, bias, True, eps),
        columns.mean(1).astype(x.dtype),
        columns.var(1, ddof=1).astype(x.dtype),
    )


half, single = {"dtype": np.float16}, {"dtype": np.float32}

case("layer_norm", normal(3, 4), (4,), ref=layer_norm)
case("layer_norm", normal(3, 4), 4, ref=lambda x, n: layer_norm(x, (n,)))
case("layer_norm", normal(2, 3, 4), (3, 4), normal(3, 4), normal(3, 4, seed=1), 0.1, ref=layer_norm)
case("layer_norm", normal(0, 4), (4,), normal(4), ref=layer_norm)
case("layer_norm", normal(3, 4, **single), [4], normal(4, **single), normal(4, **single), ref=layer_norm, _rtol=1e-4)
case("layer_norm", 200 + 300 * normal(3, 4, **half), (4,), ref=layer_norm, _rtol=1e-2)

case("rms_norm", normal(3, 4), (4,), ref=rms_norm)
case("rms_norm", normal(2, 3, 4), (3, 4), normal(3, 4), 0.1, ref=rms_norm)
case("rms_norm", normal(3, 4, **single), (4,), ref=rms_norm, _rtol=1e-5)
case("rms_norm", 300 * normal(3, 4, **half), (4,), ref=rms_norm, _rtol=1e-2)

case("group_norm", normal(2, 4, 3), 2, ref=group_norm)
case("group_norm", normal(2, 4), 2, normal(4), normal(4, seed=1), 0.1, ref=group_norm)
case("group_norm", normal(2, 2, 2, 3), 1, normal(2), ref=group_norm)
case("group_norm", normal(2, 4, 3, **single), 4, ref=group_norm, _rtol=1e-4)

case("instance_norm", normal(2, 2, 4), ref=instance_norm)
case("instance_norm", normal(2, 2, 2, 3), None, None, normal(2), normal(2, seed=1), eps=0.1, ref=instance_norm)
case("instance_norm", normal(2, 2, 3), normal(2), uniform(0.5, 2, 2), use_input_stats=False, ref=instance_norm)

case("batch_norm", normal(3, 2), normal(2), uniform(0.5, 2, 2), ref=batch_norm)
case(
    "batch_norm", normal(2, 2, 3), normal(2), uniform(0.5, 2, 2), normal(2), normal(2, seed=1), eps=0.1, ref=batch_norm
)
case("batch_norm", normal(5, 2), None, None, normal(2), normal(2, seed=1), training=True, ref=batch_norm)
case("batch_norm", normal(2, 2, 2, 3), None, None, training=True, ref=batch_norm)
case("batch_norm", normal(5, 2, **single), None, None, training=True, ref=batch_norm, _rtol=1e-4)
case("batch_norm", 300 * normal(5, 2, **half), None, None, training=True, ref=batch_norm, _rtol=1e-2)
case("batch_norm_with_stats", normal(4, 2), ref=batch_norm_with_stats)
case("batch_norm_with_stats", normal(2, 2, 3), normal(2), normal(2, seed=1), 0.1, ref=batch_norm_with_stats)


def standardize(x, start, stop, eps, center=True):
    """One index of the range at a time."""
    y, axes = np.empty(x.shape), tuple(i for i in range(x.ndim) if not start <= i < stop)
    left = [x.shape[i] if start <= i < stop else 1 for i in range(x.ndim)]
    middle, variance = np.zeros(left), np.empty(left)
    for index in np.ndindex(*left):
        group = tuple(slice(None) if i in axes else slice(n, n + 1) for i, n in enumerate(index))
        values = x[group].astype(float)
        middle[index] = np.mean(values) if center else 0
        variance[index] = np.mean((values - middle[index]) ** 2)
        y[group] = (values - middle[index]) / np.sqrt(variance[index] + eps)
    dtype = x.dtype if x.dtype.kind == "f" else float
    return y.astype(dtype), middle.astype(dtype), variance.astype(dtype)


def standardize_input(g, g_mean, g_variance, y, variance, start, stop, eps, center=True):
    """By the matrix of all derivatives of one group, with y as it is given."""
    x = np.empty(y.shape)
    for index in np.ndindex(*variance.shape):
        group = tuple(slice(n, n + 1) if start <= i < stop else slice(None) for i, n in enumerate(index))
        values, slope = y[group].astype(float).ravel(), g[group].ravel()
        n, root = values.size, np.sqrt(float(variance[index]) + eps)
        matrix = (np.eye(n) - center / n - np.outer(values, values) / n) / root
        found = matrix @ slope + center * g_mean[index] / n + g_variance[index] * 2 / n * values * root
        x[group] = found.reshape(x[group].shape)
    return x.astype(np.result_type(g, y))


for shape, start, stop in (((3, 4), 0, 1), ((3, 4), 1, 2), ((2, 3, 4), 0, 2), ((2, 3, 2, 2), 1, 2), ((4,), 0, 0)):
    left = [n if start <= i < stop else 1 for i, n in enumerate(shape)]
    for center in (True, False):
        case("standardize", normal(*shape), start, stop, 0.1, center, ref=standardize)
        case(
            "standardize_input",
            normal(*shape),
            normal(*left, seed=1),
            normal(*left, seed=2),
            normal(*shape, seed=3),
            uniform(0.5, 2, *left),
            start,
            stop,
            0.1,
            center,
            ref=standardize_input,
        )
case("standardize", normal(40, 300, 11), 1, 2, 1e-5, ref=standardize, _rtol=1e-10, _grad=False)
case("standardize", 20 + 30 * normal(3, 4, **half), 0, 1, 1e-5, ref=standardize, _rtol=1e-2)
case("standardize", np.arange(12).reshape(3, 4), 0, 1, 1e-5, ref=standardize)
many = normal(40, 300, 11), normal(1, 300, 1, seed=1), normal(1, 300, 1, seed=2), normal(40, 300, 11, seed=3)
case("standardize_input", *many, uniform(0.5, 2, 1, 300, 1), 1, 2, 0.1, ref=standardize_input, _grad=False)
wide = normal(900, 200), normal(900, 1, seed=1), normal(900, 1, seed=2), normal(900, 200, seed=3)
case("standardize_input", *wide, uniform(0.5, 2, 900, 1), 0, 1, 0.1, ref=standardize_input, _rtol=1e-11, _grad=False)


def scale_shift(x, weight, bias, axis):
    trailing = [
        None if value is None else value.reshape(value.shape + (1,) * (x.ndim - axis - value.ndim))
        for value in (weight, bias)
    ]
    y = x if weight is None else x * trailing[0]
    return y if bias is None else y + trailing[1]


case("scale_shift", normal(2, 3, 4), normal(3), normal(3, seed=1), 1, ref=scale_shift)
case("scale_shift", normal(2, 3, 4), normal(3, 4), None, 1, ref=scale_shift)
case("scale_shift", normal(2, 3), None, normal(2), 0, ref=scale_shift)
case("scale_shift", normal(2, 3), None, None, 0, ref=scale_shift)
case("scale_shift", normal(2, 3, **single), normal(3), normal(3, **single), 1, ref=scale_shift)
case("sum_products", normal(2, 3, 4), normal(2, 3, 4, seed=1), 1, 2, ref=lambda a, b, *_: np.einsum("ijk,ijk->j", a, b))
case("sum_products", normal(3, 4), normal(3, 4, seed=1), 1, 2, ref=lambda a, b, *_: (a * b).sum(0))
case("sum_products", normal(3, 4), normal(3, 4, seed=1), 0, 1, ref=lambda a, b, *_: (a * b).sum(1))
case("sum_products", normal(0, 4), normal(0, 4), 1, 2, ref=lambda a, b, *_: np.zeros(4))
