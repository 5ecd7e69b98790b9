"""Cases of `ops/activation.py`, against SciPy's special functions and formulas written out."""

import math

import numpy as np
import scipy.special as sp
from cases import REFERENCES, case, integers, normal

SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


def one_by_one(f):
    """A reference that works on one Python float at a time; the result keeps a float dtype."""

    def reference(x, *args, **kwargs):
        x = np.asarray(x)
        y = np.array([f(v, *args, **kwargs) for v in x.ravel().tolist()], np.float64).reshape(x.shape)
        return y.astype(x.dtype if x.dtype.kind == "f" else np.float64)

    return reference


REFERENCES["relu"] = lambda x: np.where(x > 0, x, 0)
REFERENCES["sigmoid"] = lambda x: sp.expit(x) if np.isrealobj(x) else 1 / (1 + np.exp(-x))
REFERENCES["log_sigmoid"] = sp.log_expit
REFERENCES["silu"] = lambda x: x / (1 + np.exp(-x))

case("relu", integers(-5, 5, 4), ref=lambda x: x * (x > 0))
case("relu", normal(4, dtype=np.float16), ref=lambda x: x * (x > 0))
for name in ("sigmoid", "log_sigmoid", "silu"):
    case(name, normal(4, dtype=np.float32), ref=REFERENCES[name], _rtol=1e-6)
    case(name, integers(-5, 5, 4), ref=lambda x, name=name: REFERENCES[name](x.astype(float)))

# None of the points below is at a kink of the function it is given to.
POINTS = np.array([[-7.3, -3.2, -1.1], [-0.3, 0.2, 0.7], [2.4, 3.7, 6.9]])


def pointwise(name, f, half=1e-2, **kwargs):
    reference = one_by_one(f)
    case(name, POINTS, ref=reference, **kwargs)
    case(name, POINTS[0, 0], ref=lambda x, **k: reference(x, **k)[()], **kwargs)
    case(name, np.zeros((2, 0)), ref=reference, **kwargs)
    case(name, POINTS.astype(np.float32), ref=reference, _rtol=1e-5, **kwargs)
    case(name, POINTS.astype(np.float16), ref=reference, _rtol=half, **kwargs)


pointwise("gelu", lambda x: x * sp.ndtr(x))
pointwise(
    "gelu",
    lambda x, approximate: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    approximate="tanh",
)
pointwise("softplus", lambda x: np.logaddexp(0, x))
pointwise(
    "softplus",
    lambda x, beta, threshold: x if beta * x > threshold else np.logaddexp(0, beta * x) / beta,
    beta=2.0,
    threshold=5.0,
)
pointwise("hardtanh", lambda x: min(max(x, -1), 1))
pointwise("hardtanh", lambda x, min_val, max_val: min(max(x, min_val), max_val), min_val=-4.0, max_val=2.0)
pointwise("relu6", lambda x: min(max(x, 0), 6))
pointwise("leaky_relu", lambda x: x if x > 0 else 0.01 * x)
pointwise("leaky_relu", lambda x, negative_slope: x if x > 0 else negative_slope * x, negative_slope=0.3)
pointwise("elu", lambda x, alpha=1.0: x if x > 0 else alpha * np.expm1(x))
pointwise("elu", lambda x, alpha: x if x > 0 else alpha * np.expm1(x), alpha=0.7)
pointwise("celu", lambda x, alpha: x if x > 0 else alpha * np.expm1(x / alpha), alpha=0.7)
pointwise("selu", lambda x: SELU_SCALE * (x if x > 0 else SELU_ALPHA * np.expm1(x)))
pointwise("mish", lambda x: x * np.tanh(np.log1p(np.exp(x))))
pointwise("softsign", lambda x: x / (1 + abs(x)))
# x - tanh(x) cancels six of the eleven bits of a half float at 0.2.
pointwise("tanhshrink", lambda x: x - np.tanh(x), half=3e-2)
pointwise("hardshrink", lambda x: x if abs(x) > 0.5 else 0)
pointwise("hardshrink", lambda x, lambd: x if abs(x) > lambd else 0, lambd=3.0)
pointwise("softshrink", lambda x, lambd=0.5: np.sign(x) * max(abs(x) - lambd, 0))
pointwise("softshrink", lambda x, lambd: np.sign(x) * max(abs(x) - lambd, 0), lambd=3.0)
pointwise("threshold", lambda x, threshold, value: x if x > threshold else value, threshold=0.5, value=-2.0)
pointwise("hardsigmoid", lambda x: min(max(x / 6 + 0.5, 0), 1))
pointwise("hardswish", lambda x: x * min(max(x / 6 + 0.5, 0), 1))

case("gelu", np.array([-12.0, -30.0]), ref=lambda x: x * sp.ndtr(x), _rtol=1e-13)
case("gelu", integers(-3, 4, 3), ref=lambda x: x * sp.ndtr(x.astype(float)))

case("softmax", normal(3, 4), ref=lambda x: sp.softmax(x, -1))
case("softmax", normal(2, 3, 4), axis=1, ref=sp.softmax)
case("softmax", normal(2, 3, 4), axis=-3, ref=sp.softmax)
case("softmax", normal(2, 0), axis=1, ref=lambda x, axis: x)
case("softmax", normal(0, 2), axis=1, ref=lambda x, axis: x)
case("softmax", normal(3, 4, dtype=np.float32), axis=0, ref=sp.softmax, _rtol=1e-6)
case(
    "softmax",
    normal(3, 4, dtype=np.float16),
    axis=0,
    ref=lambda x, axis: sp.softmax(x.astype(float), axis).astype(x.dtype),
    _rtol=1e-3,
)
case("softmax", integers(-3, 4, 3), axis=0, ref=lambda x, axis: sp.softmax(x.astype(float), axis))
case("log_softmax", normal(3, 4), ref=lambda x: sp.log_softmax(x, -1))
case("log_softmax", normal(2, 3, 4), axis=1, ref=sp.log_softmax)
case("log_softmax", normal(2, 0), axis=1, ref=lambda x, axis: x)
case("log_softmax", normal(3, 4, dtype=np.float32), axis=0, ref=sp.log_softmax, _rtol=1e-5)
case(
    "log_softmax",
    normal(3, 4, dtype=np.float16),
    axis=0,
    ref=lambda x, axis: sp.log_softmax(x.astype(float), axis).astype(x.dtype),
    _rtol=1e-3,
)
case("softmin", normal(2, 3, 4), axis=1, ref=lambda x, axis: sp.softmax(-x, axis))


def glu(x, axis=-1):
    first, gate = np.split(x, 2, axis)
    return first * sp.expit(gate)


case("glu", normal(3, 4), ref=glu)
case("glu", normal(2, 4, 3), axis=1, ref=glu)
case("glu", normal(4, dtype=np.float32), ref=glu, _rtol=1e-6)

case("prelu", normal(2, 3, 4), normal(3), ref=lambda x, w: np.where(x > 0, x, x * w[:, None]))
case("prelu", normal(2, 3), normal(1), ref=lambda x, w: np.where(x > 0, x, x * w))
case("prelu", normal(4), normal(1), ref=lambda x, w: np.where(x > 0, x, x * w))
case("prelu", normal(2, 3, dtype=np.float32), normal(3, dtype=np.float32), ref=lambda x, w: np.where(x > 0, x, x * w))


REFERENCES["silu_slope"] = lambda x: (1 + np.exp(-x) + x * np.exp(-x)) / (1 + np.exp(-x)) ** 2
case("silu_slope", normal(200, 500), ref=REFERENCES["silu_slope"], _rtol=1e-11, _grad=False)


def density(x):
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def tanh_slope(x, approximate):
    """By the chain rule, one factor after another."""
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return 0.5 * (1 + math.tanh(inner)) + 0.5 * x * math.cosh(inner) ** -2 * math.sqrt(2 / math.pi) * (
        1 + 3 * 0.044715 * x * x
    )


pointwise("gelu_slope", lambda x: sp.ndtr(x) + x * density(x))
pointwise("gelu_slope", tanh_slope, approximate="tanh")
pointwise("leaky_relu_slope", lambda x, negative_slope: 1 if x > 0 else negative_slope, negative_slope=0.2)
pointwise("leaky_relu", lambda x, negative_slope: max(x, 0) + negative_slope * min(x, 0), negative_slope=3.0)
pointwise("leaky_relu", lambda x, negative_slope: max(x, 0) + negative_slope * min(x, 0), negative_slope=-0.5)
pointwise("leaky_relu", lambda x, negative_slope: max(x, 0), negative_slope=0.0)

# Arrays of several blocks, and the far tails in float32.
LONG = np.linspace(-12, 12, 140001)
case("gelu", LONG.astype(np.float32), ref=one_by_one(lambda x: x * sp.ndtr(x)), _rtol=1e-5, _grad=False)
case("gelu", LONG, ref=one_by_one(lambda x: x * sp.ndtr(x)), _rtol=1e-12, _grad=False)
case("sigmoid", LONG.reshape(-1, 1) * 50, ref=sp.expit, _grad=False)


def softmax_input(g, y, axis):
    """One slice at a time, by the matrix of all derivatives."""
    moved_g, moved_y = np.moveaxis(g, axis, -1), np.moveaxis(y, axis, -1)
    x = np.empty(moved_y.shape, y.dtype)
    for index in np.ndindex(*moved_y.shape[:-1]):
        p = moved_y[index].astype(float)
        x[index] = (np.diag(p) - np.outer(p, p)) @ moved_g[index]
    return np.moveaxis(x, -1, axis)


def log_softmax_input(g, y, axis):
    moved_g, moved_y = np.moveaxis(g, axis, -1), np.moveaxis(y, axis, -1)
    x = np.empty(moved_y.shape, y.dtype)
    for index in np.ndindex(*moved_y.shape[:-1]):
        p = np.exp(moved_y[index].astype(float))
        x[index] = (np.eye(len(p)) - np.outer(p, np.ones(len(p)))) @ moved_g[index]
    return np.moveaxis(x, -1, axis)


for name, reference in (("softmax_input", softmax_input), ("log_softmax_input", log_softmax_input)):
    case(name, normal(3, 4), normal(3, 4, seed=1), -1, ref=reference)
    case(name, normal(3, 4, 2), normal(3, 4, 2, seed=1), 1, ref=reference)
    case(name, normal(2, 0), normal(2, 0), 1, ref=reference)
    case(name, normal(300, 70), normal(300, 70, seed=1), 1, ref=reference, _rtol=1e-11, _grad=False)
    half = {"dtype": np.float16}
    case(name, normal(3, 4, **half), normal(3, 4, seed=1, **half), 1, ref=reference, _rtol=1e-2, _grad=False)
case("softmax", normal(300, 70), ref=lambda x: sp.softmax(x, axis=-1), _grad=False)
case("softmax", 100 * normal(300, 70), ref=lambda x: sp.softmax(x, axis=-1), _rtol=1e-11, _grad=False)
case("softmax", 1000 + normal(3, 4), ref=lambda x: sp.softmax(x, axis=-1), _rtol=1e-11)
case("softmax", normal(3, 4) - 1000, ref=lambda x: sp.softmax(x, axis=-1), _rtol=1e-11)
case("log_softmax", 100 * normal(300, 70), ref=lambda x: sp.log_softmax(x, axis=-1), _rtol=1e-11, _grad=False)
