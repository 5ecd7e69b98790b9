"""Functions whose derivatives are compared: plain NumPy, and the same in JAX and torch where those say it differently.

Each is registered with its arguments. JAX runs the NumPy text with its own namespace where no other text is given: it
cannot write into arrays. Torch runs what is given for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import jax.scipy
import numpy as np
import torch


@dataclass
class Case:
    """A function, its arguments, and what stands for it elsewhere."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    others: dict[str, Callable[..., Any]] = field(default_factory=dict)


CASES: dict[str, Case] = {}
_RNG = np.random.default_rng(7)


def normal(*shape: int) -> np.ndarray[Any, Any]:
    return _RNG.normal(size=shape)


def case(*args: Any) -> Callable[[Any], Any]:
    def register(function: Any) -> Any:
        CASES[function.__name__] = Case(function, args)
        return function

    return register


def instead(where: str) -> Callable[[Any], Any]:
    """The same function for another library: the name ends in that of the library."""

    def register(function: Any) -> Any:
        CASES[function.__name__.removesuffix(f"_{where}")].others[where] = function
        return function

    return register


POSITIVE = (lambda root: root @ root.T + 4 * np.eye(4))(normal(4, 4))

# Loops that read and write elements


@case(normal(6))
def rosenbrock(x):
    total = 0.0
    for i in range(1, len(x)):
        total += 100.0 * (x[i] - x[i - 1] ** 2) ** 2 + (1.0 - x[i - 1]) ** 2
    return total


@instead("torch")
def rosenbrock_torch(x):
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


@case(normal(5, 5) + 4 * np.eye(5))
def lu_logdet(a):
    a = a.copy()
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return np.log(np.abs(np.diag(a))).sum()


@instead("jax")
def lu_logdet_jax(a):
    return jnp.linalg.slogdet(a)[1]


@instead("torch")
def lu_logdet_torch(a):
    return torch.linalg.slogdet(a)[1]


@case(POSITIVE, normal(4))
def cholesky_weighted(a, w):
    n = len(a)
    low = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            rest = (a[i, j] + a[j, i]) / 2
            for k in range(j):
                rest -= low[i, k] * low[j, k]
            if i == j:
                low[i, i] = np.sqrt(rest)
            else:
                low[i, j] = rest / low[j, j]
    return w @ low @ np.sin(w)


@instead("jax")
def cholesky_weighted_jax(a, w):
    return w @ jnp.linalg.cholesky((a + a.T) / 2) @ jnp.sin(w)


@instead("torch")
def cholesky_weighted_torch(a, w):
    return w @ torch.linalg.cholesky((a + a.T) / 2) @ torch.sin(w)


@case(np.tril(normal(5, 5)) + 3 * np.eye(5), normal(5))
def forward_substitution(low, b):
    x = np.zeros(len(b))
    for i in range(len(b)):
        x[i] = (b[i] - low[i, :i] @ x[:i]) / low[i, i]
    return (x**3).sum()


@instead("jax")
def forward_substitution_jax(low, b):
    return (jax.scipy.linalg.solve_triangular(low, b, lower=True) ** 3).sum()


@instead("torch")
def forward_substitution_torch(low, b):
    return (torch.linalg.solve_triangular(low, b[:, None], upper=False) ** 3).sum()


@case(normal(5, 5) * 0.3 + 3 * np.eye(5), normal(5))
def gauss_seidel(a, b):
    x = np.zeros_like(b)
    for _ in range(4):
        for i in range(len(b)):
            x[i] = x[i] + (b[i] - a[i] @ x) / a[i, i]
    return np.sin(x).sum()


@instead("jax")
def gauss_seidel_jax(a, b):
    x = jnp.zeros_like(b)
    for _ in range(4):
        for i in range(len(b)):
            x = x.at[i].set(x[i] + (b[i] - a[i] @ x) / a[i, i])
    return jnp.sin(x).sum()


_INDPTR, _INDICES = np.array([0, 2, 3, 3, 6]), np.array([0, 3, 1, 0, 2, 3])


@case(normal(6), normal(4))
def sparse_product(data, x):
    y = np.zeros(len(_INDPTR) - 1)
    for i in range(len(y)):
        for j in range(_INDPTR[i], _INDPTR[i + 1]):
            y[i] += data[j] * x[_INDICES[j]]
    return (y**2).sum() + np.tanh(y).sum()


@instead("jax")
def sparse_product_jax(data, x):
    rows = np.repeat(np.arange(4), np.diff(_INDPTR))
    y = jnp.zeros(4).at[rows].add(data * x[_INDICES])
    return (y**2).sum() + jnp.tanh(y).sum()


@case(normal(8), np.array([0.4, -0.3, 0.2]))
def recursive_filter(x, c):
    y = np.zeros(len(x))
    for t in range(len(x)):
        y[t] = c[0] * x[t]
        if t >= 1:
            y[t] += c[1] * y[t - 1]
        if t >= 2:
            y[t] += c[2] * y[t - 2] * y[t - 1]
    return (y**2).mean()


@instead("jax")
def recursive_filter_jax(x, c):
    y = []
    for t in range(len(x)):
        now = c[0] * x[t]
        if t >= 1:
            now += c[1] * y[t - 1]
        if t >= 2:
            now += c[2] * y[t - 2] * y[t - 1]
        y.append(now)
    return (jnp.stack(y) ** 2).mean()


@instead("torch")
def recursive_filter_torch(x, c):
    y = []
    for t in range(len(x)):
        now = c[0] * x[t]
        if t >= 1:
            now = now + c[1] * y[t - 1]
        if t >= 2:
            now = now + c[2] * y[t - 2] * y[t - 1]
        y.append(now)
    return (torch.stack(y) ** 2).mean()


@case(np.sin(np.linspace(0, 3, 9)), 0.2)
def heat_equation(u, rate):
    u = u.copy()
    for _ in range(5):
        u[1:-1] += rate * (u[2:] - 2 * u[1:-1] + u[:-2]) * (1 + u[1:-1] ** 2)
    return (u**4).sum()


@instead("jax")
def heat_equation_jax(u, rate):
    for _ in range(5):
        u = u.at[1:-1].add(rate * (u[2:] - 2 * u[1:-1] + u[:-2]) * (1 + u[1:-1] ** 2))
    return (u**4).sum()


@case(normal(4, 3))
def gram_schmidt(a):
    q = a.copy()
    for j in range(q.shape[1]):
        for i in range(j):
            q[:, j] -= (q[:, i] @ q[:, j]) * q[:, i]
        q[:, j] /= np.sqrt(q[:, j] @ q[:, j])
    return (q**3).sum()


@instead("jax")
def gram_schmidt_jax(a):
    columns = []
    for j in range(a.shape[1]):
        now = a[:, j]
        for each in columns:
            now = now - (each @ now) * each
        columns.append(now / jnp.sqrt(now @ now))
    return (jnp.stack(columns, 1) ** 3).sum()


@case(normal(4), normal(5), 0.3)
def soft_warping(x, y, gamma):
    table = np.full((len(x) + 1, len(y) + 1), 10.0)
    table[0, 0] = 0.0
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            before = np.array([table[i - 1, j], table[i, j - 1], table[i - 1, j - 1]])
            table[i, j] = (x[i - 1] - y[j - 1]) ** 2 - gamma * np.log(np.exp(-before / gamma).sum())
    return table[-1, -1]


@instead("jax")
def soft_warping_jax(x, y, gamma):
    table = jnp.full((len(x) + 1, len(y) + 1), 10.0).at[0, 0].set(0.0)
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            before = jnp.array([table[i - 1, j], table[i, j - 1], table[i - 1, j - 1]])
            cost = (x[i - 1] - y[j - 1]) ** 2 - gamma * jnp.log(jnp.exp(-before / gamma).sum())
            table = table.at[i, j].set(cost)
    return table[-1, -1]


# Branches, and loops that end when their values say so


@case(normal(7), 0.3)
def piecewise(x, limit):
    total = 0.0
    for value in x:
        if value > limit:
            total += value**2
        elif value < -limit:
            total -= limit * value
        else:
            total += np.cos(value) * limit
    return total


@case(5.7, 1.3)
def newton_root(a, start):
    x = start
    while abs(x * x * x - a) > 1e-3:
        x = x - (x * x * x - a) / (3 * x * x)
    return x * a


@case(np.array([0.7, 0.1]), np.array([1.1, 0.4]))
def pendulum(state, params):
    def slope(y):
        return np.array([y[1], -params[0] * np.sin(y[0]) - params[1] * y[1]])

    step = 0.1
    for _ in range(10):
        k1 = slope(state)
        k2 = slope(state + step / 2 * k1)
        k3 = slope(state + step / 2 * k2)
        k4 = slope(state + step * k3)
        state = state + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return (state**2).sum()


@instead("torch")
def pendulum_torch(state, params):
    def slope(y):
        return torch.stack([y[1], -params[0] * torch.sin(y[0]) - params[1] * y[1]])

    step = 0.1
    for _ in range(10):
        k1 = slope(state)
        k2 = slope(state + step / 2 * k1)
        k3 = slope(state + step / 2 * k2)
        k4 = slope(state + step * k3)
        state = state + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return (state**2).sum()


@case(3.2, 0.4)
def logistic_map(rate, x):
    for _ in range(12):
        x = rate * x * (1 - x)
        if x > 0.9:
            break
    return x


@case(POSITIVE, normal(4))
def power_iteration(a, v):
    value = 0.0
    for _ in range(30):
        v = a @ v
        size = np.sqrt(v @ v)
        v = v / size
        if abs(size - value) < 1e-4:
            break
        value = size
    return v @ a @ v


# Indexing


@case(normal(5, 3))
def cross_entropy(logits):
    labels = np.array([0, 2, 1, 1, 0])
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return -log_p[np.arange(5), labels].mean()


@instead("torch")
def cross_entropy_torch(logits):
    return torch.nn.functional.cross_entropy(logits, torch.tensor([0, 2, 1, 1, 0]))


@case(normal(8), normal(4))
def scatter(x, w):
    bins = np.array([0, 3, 1, 0, 2, 3, 3, 1])
    found = np.zeros(4)
    np.add.at(found, bins, x**2)
    return (np.sqrt(1 + found) * w).sum()


@instead("jax")
def scatter_jax(x, w):
    bins = np.array([0, 3, 1, 0, 2, 3, 3, 1])
    return (jnp.sqrt(1 + jnp.zeros(4).at[bins].add(x**2)) * w).sum()


@instead("torch")
def scatter_torch(x, w):
    bins = torch.tensor([0, 3, 1, 0, 2, 3, 3, 1])
    return (torch.sqrt(1 + torch.zeros(4, dtype=x.dtype).index_add(0, bins, x**2)) * w).sum()


@case(normal(9))
def masked(x):
    y = x.copy()
    y[x > 0.5] = 0.5
    y[x < 0] *= 0.1
    return (y**2 * x).sum()


@instead("jax")
def masked_jax(x):
    y = jnp.where(x > 0.5, 0.5, x)
    return (jnp.where(x < 0, y * 0.1, y) ** 2 * x).sum()


@case(normal(7), np.linspace(0.1, 1, 7))
def sorted_sum(x, w):
    return (np.sort(x) * w).sum() + np.median(x) ** 2
