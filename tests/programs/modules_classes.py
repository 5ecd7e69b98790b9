"""Functions, classes, closures, generators and contexts around the arrays."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np

from programs._program import program


class Layer:
    """A dense layer."""

    def __init__(self, w, b, activation=np.tanh):
        self.w, self.b = w, b
        self.activation = activation

    def __call__(self, x):
        return self.activation(x @ self.w + self.b)


class Network:
    """Layers one after another."""

    def __init__(self, *layers):
        self.layers = list(layers)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

    @property
    def depth(self):
        return len(self.layers)


@program(
    arguments=lambda rng: (rng.random((4, 3)), rng.random((3, 5)), rng.random(5), rng.random((5, 2)), rng.random(2)),
    others=[
        lambda rng: (rng.random((1, 1)), rng.random((1, 1)), rng.random(1), rng.random((1, 1)), rng.random(1)),
        lambda rng: tuple(
            v.astype(np.float32)
            for v in (rng.random((2, 2)), rng.random((2, 3)), rng.random(3), rng.random((3, 1)), rng.random(1))
        ),
    ],
    trace=True,
)
def layered_network(x, w1, b1, w2, b2):
    net = Network(Layer(w1, b1), Layer(w2, b2, activation=lambda z: np.maximum(z, 0)))
    return net.forward(x) * net.depth


@dataclass
class Momentum:
    """Gradient descent with a memory."""

    rate: float
    decay: float = 0.9
    velocity: np.ndarray | None = None

    def step(self, x, slope):
        if self.velocity is None:
            self.velocity = np.zeros_like(x)
        self.velocity *= self.decay
        self.velocity -= self.rate * slope
        x += self.velocity


@program(
    arguments=lambda rng: (rng.random(3), np.diag([1.0, 2.0, 3.0]), 5),
    others=[lambda rng: (np.zeros(1), np.ones((1, 1)), 2), lambda rng: (rng.random(2), np.eye(2), 0)],
    features=["trip count is an argument"],
)
def optimise_with_object(x, a, steps):
    """An object that is made inside and changes with each step; x is changed in place."""
    optimiser = Momentum(rate=0.1)
    for _ in range(steps):
        optimiser.step(x, slope=a @ x)
    return 0.5 * x @ a @ x


def make_counter():
    count = 0

    def step(amount=1):
        nonlocal count
        count += amount
        return count

    return step


@program(
    arguments=lambda rng: (rng.random(6), 0.5),
    others=[lambda rng: (np.zeros(2), 0.5), lambda rng: (np.ones(3), 0.1)],
)
def count_with_closure(x, limit):
    """A function that remembers, called from a loop."""
    above = make_counter()
    weight = make_counter()
    for value in x:
        if value > limit:
            above()
            weight(amount=2)
    return above(0), weight(0)


def chunks(x, size):
    for start in range(0, len(x), size):
        yield x[start : start + size]


@program(
    arguments=lambda rng: (rng.random(10), 3),
    others=[lambda rng: (np.arange(4), 2), lambda rng: (np.zeros(0), 1), lambda rng: (rng.random(2), 5)],
    trace=True,
)
def sums_of_chunks(x, size):
    """A generator consumed by a loop, by sum and by a comprehension."""
    total = 0.0
    for part in chunks(x, size):
        total += part.max() - part.min()
    return total, [part.sum() for part in chunks(x, size=size)], sum(p[0] for p in chunks(x, size))


def polynomial(*coefficients, x, scale=1.0):
    return scale * sum(c * x**k for k, c in enumerate(coefficients))


@program(
    arguments=lambda rng: (rng.random(4), 2.0),
    others=[lambda rng: (np.zeros(1), 0.0), lambda rng: (np.arange(3), 1)],
    trace=True,
)
def keywords_and_defaults(x, a):
    """Starred arguments, keywords, defaults, a dict of options, a partial and a sorted dict."""
    options = {"scale": 0.5}
    double = partial(polynomial, 0.0, 2.0)
    terms = {name: polynomial(*c, x=x, **options) for name, c in {"b": (1.0, a), "a": (a,) * 3}.items()}
    return {name: terms[name] for name in sorted(terms)}, double(x=x), polynomial(a, x=x)


@program(
    arguments=lambda rng: (rng.random(5), "mean"),
    others=[lambda rng: (np.zeros(2), "none"), lambda rng: (np.arange(4.0), "sum"), lambda rng: (np.ones(2), "odd")],
    trace=True,
    script=False,
)
def choose_by_name(x, how):
    """try around Python-only work, a table of functions, and strings that decide."""
    reducers = {"mean": np.mean, "sum": np.sum, "none": lambda v: v}
    try:
        reducer = reducers[how]
    except KeyError:
        reducer = np.max
    finally:
        name = how.upper()
    weight = len(name) if how in reducers else -1
    return reducer(x) * weight


@contextlib.contextmanager
def doubled(buffer):
    buffer *= 2
    yield buffer[::-1]
    buffer += 1


@program(
    arguments=lambda rng: (rng.random(4), np.array([1.0, 0.0, 2.0, -1.0])),
    others=[lambda rng: (np.ones(2), np.zeros(2)), lambda rng: (np.arange(3.0), np.arange(3.0))],
    trace=True,
    script=False,  # whether an operation on values of any type raises a KeyError, which is suppressed, must be known
)
def with_blocks(x, y):
    """Contexts: NumPy's error state, one that suppresses, one of the program's own."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = x / y
    with contextlib.suppress(KeyError), doubled(x) as turned:
        first = turned[0] + 0
    return np.nan_to_num(ratio, posinf=9.0), first


@program(
    arguments=lambda rng: ([rng.random((2, 3)), rng.random((3, 4)), rng.random((4, 1))],),
    others=[lambda rng: ([np.eye(2)],), lambda rng: ([np.ones((1, 2)), np.ones((2, 2))],)],
    trace=True,
    script=False,
)
def functional_style(matrices):
    """reduce, map, sorted by a key, any and all, pairs from itertools."""
    product = reduce(lambda a, b: a @ b, matrices)
    sizes = sorted((m.shape for m in matrices), key=lambda s: s[1])
    compatible = all(a.shape[1] == b.shape[0] for a, b in itertools.pairwise(matrices))
    traces = list(map(np.sum, matrices))
    first, *others = traces
    return product, sizes[0][1], compatible, traces, first, len(others)


def compose(*functions):
    def composed(x):
        for f in functions:
            x = f(x)
        return x

    return composed


scale_and_shift = compose(lambda x: x * 2, lambda x: x - 1)


@program(
    arguments=lambda rng: (rng.random(5), 3),
    others=[lambda rng: (np.zeros(1), 0), lambda rng: (np.arange(4), 1)],
    features=["trip count is an argument"],
)
def iterate_function(x, times):
    """A function made at import, and one that is applied n times."""

    def repeat(f, n):
        def repeated(x):
            for _ in range(n):
                x = f(x)
            return x

        return repeated

    y = scale_and_shift(x)
    return repeat(lambda v: v / 2 + y.mean(), times)(np.asarray(y, dtype=float))


@program(
    arguments=lambda rng: (rng.random((3, 2)), {"rate": 0.1, "layers": [rng.random((2, 2)), rng.random((2, 1))]}),
    others=[
        lambda rng: (np.ones((1, 1)), {"rate": 1.0, "layers": [np.ones((1, 1))]}),
        lambda rng: (np.ones((2, 2)), {"rate": 0.0, "layers": []}),
    ],
    trace=True,
)
def nested_parameters(x, parameters):
    """Arguments inside dicts and lists; the result is nested as well."""
    outputs = []
    for w in parameters["layers"]:
        x = np.tanh(x @ w)
        outputs.append(x)
    updated = [w - parameters["rate"] * w for w in parameters["layers"]]
    return {"outputs": outputs, "parameters": {**parameters, "layers": updated}}


def parsed(text, default=1.0):
    try:
        number = float(text)
    except ValueError:
        return default
    else:
        return round(number, 2)


@program(
    arguments=lambda rng: (rng.random(4), "0.256, x, 3"),
    others=[lambda rng: (np.ones(2), ""), lambda rng: (np.arange(3), "2,2")],
    trace=True,
    script=False,
)
def weights_from_text(x, text):
    """Text is read as Python reads it; the numbers then weigh the array."""
    weights = [parsed(part) for part in text.split(",")]
    return sum(w * x**k for k, w in enumerate(weights)), weights
