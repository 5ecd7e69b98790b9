"""The only programs that name weft: modules, wrapped functions, the primitives of control flow called by name."""

from __future__ import annotations

import numpy as np

import weft
from programs._program import program


class Autoencoder(weft.nn.Module):
    """Two linear layers and a residual connection when asked for."""

    def __init__(self, width, inner):
        super().__init__()
        self.narrow = weft.nn.Linear(width, inner)
        self.widen = weft.nn.Linear(inner, width)

    def forward(self, x, residual=False):
        y = self.widen(weft.tanh(self.narrow(x)))
        return y + x if residual else y


def filled(module):
    """The same weights every time, whatever drew random numbers before."""
    for k, parameter in enumerate(module.parameters()):
        parameter.data = weft.tensor(
            np.linspace(-1, 1 + k, parameter.data.size, dtype=np.float32).reshape(parameter.shape)
        )
    return module


MODEL = filled(Autoencoder(4, 2))


def _rows(n):
    return lambda rng: (weft.tensor(rng.standard_normal((n, 4)).astype(np.float32)),)


@program(arguments=_rows(3), others=[_rows(1), _rows(6)], trace=True)
def reconstruct(x):
    y = weft.nn.functional.relu(MODEL(x, residual=True))
    return ((y - MODEL(x)) ** 2).mean()


@weft.wrap
def digits_of(x, places):
    """No rule reads strings: it runs as Python."""
    return np.array([float(f"{value:.{places}g}") for value in x.ravel().tolist()]).reshape(x.shape)


@program(
    arguments=lambda rng: (rng.random((2, 3)), 2),
    others=[lambda rng: (np.ones(1), 1), lambda rng: (rng.random(4), 3)],
    trace=True,
    features=["weft.wrap"],
)
def rounded_by_text(x, places):
    return digits_of(x * 10, places) - x * 10


@program(
    arguments=lambda rng: (rng.random(5), 1),
    others=[lambda rng: (-np.ones(2), 0), lambda rng: (np.zeros(3), 7), lambda rng: (np.ones(2), -3)],
    trace=True,
)
def branch_by_name(x, which):
    y = weft.cond(x.sum() > 0, lambda v: v * 2, lambda v: -v, x)
    return weft.switch(which, [lambda v, w: v + w, lambda v, w: v * w, lambda v, w: v - w], y, x)


@program(
    arguments=lambda rng: (rng.random(4), 3),
    others=[lambda rng: (np.ones(2), 0), lambda rng: (np.full(3, 0.5), 1)],
    trace=True,
)
def loop_by_name(x, n):
    """Halved until small, doubled n times, and running sums."""
    small, rounds = weft.while_loop(lambda c: c[0].sum() > 0.5, lambda c: (c[0] / 2, c[1] + 1), (x, 0))
    grown = weft.fori_loop(0, n, lambda i, v: v * 2 + i, small)
    total, sums = weft.scan(lambda carry, v: (carry + v, carry + v), 0.0, grown)
    return rounds, total, sums
