"""Functions whose derivatives are compared: plain NumPy, and the same in JAX and torch where those say it differently.

Each is registered with its arguments. JAX runs the NumPy text with its own namespace where no other text is given: it
cannot write into arrays. Torch runs what is given for it.
"""

from __future__ import annotations

import math
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


_SPD = (lambda root: root @ root.T + 4 * np.eye(4))(normal(4, 4))

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


@case(_SPD, normal(4))
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


@case(_SPD, normal(4))
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


# Linear algebra


@case(normal(4, 4) + 3 * np.eye(4), normal(4))
def quadratic_form(a, b):
    x = np.linalg.solve(a, b)
    return x @ np.linalg.inv(a) @ b + np.linalg.slogdet(a)[1]


@instead("torch")
def quadratic_form_torch(a, b):
    return torch.linalg.solve(a, b) @ torch.linalg.inv(a) @ b + torch.linalg.slogdet(a)[1]


@case(_SPD, np.array([0.1, 0.5, -0.3, 0.7]))
def eigenvalues(a, w):
    values, vectors = np.linalg.eigh((a + a.T) / 2)
    return (values * w).sum() + ((vectors * w) @ vectors.T)[0, 1] ** 2


@instead("torch")
def eigenvalues_torch(a, w):
    values, vectors = torch.linalg.eigh((a + a.T) / 2)
    return (values * w).sum() + ((vectors * w) @ vectors.T)[0, 1] ** 2


@case(normal(4, 3))
def singular_values(a):
    return (np.linalg.svd(a, full_matrices=False)[1] ** 1.5).sum() + np.linalg.norm(a)


@instead("torch")
def singular_values_torch(a):
    return (torch.linalg.svd(a, full_matrices=False)[1] ** 1.5).sum() + torch.linalg.norm(a)


@case(normal(3, 4), normal(4, 5), normal(5))
def bilinear(a, b, c):
    return np.einsum("ij,jk,k->i", a, b, c).prod() + np.tensordot(a, b, 1).mean() ** 2


@case(normal(2, 2), normal(6))
def kalman_filter(a, seen):
    mean, spread = np.zeros(2), np.eye(2)
    total = 0.0
    for y in seen:
        mean, spread = a @ mean, a @ spread @ a.T + 0.1 * np.eye(2)
        size = spread[0, 0] + 0.2
        gain = spread[:, 0] / size
        rest = y - mean[0]
        total += 0.5 * (rest**2 / size + np.log(size))
        mean, spread = mean + gain * rest, spread - np.outer(gain, spread[0])
    return total


# Special functions


@case(np.abs(normal(6)) + 0.2, normal(6))
def special(x, y):
    return (np.log1p(x) * np.expm1(-x) + np.arctan2(x, y) + np.hypot(x, y) + np.logaddexp(x, y) + np.sinc(y)).sum()


@case(0.37, 1.9)
def error_function(x, y):
    return math.erf(x) * math.exp(-y * y) + math.atan2(x, y) * math.sqrt(1 + x * x)


@instead("jax")
def error_function_jax(x, y):
    return jax.scipy.special.erf(x) * jnp.exp(-y * y) + jnp.arctan2(x, y) * jnp.sqrt(1 + x * x)


@instead("torch")
def error_function_torch(x, y):
    return torch.erf(x) * torch.exp(-y * y) + torch.atan2(x, y) * torch.sqrt(1 + x * x)


@case(np.log(np.array([[0.7, 0.3], [0.2, 0.8]])), normal(5, 2))
def forward_algorithm(transitions, emissions):
    score = emissions[0]
    for t in range(1, len(emissions)):
        score = emissions[t] + np.array(
            [np.logaddexp(score[0] + transitions[0, j], score[1] + transitions[1, j]) for j in range(2)]
        )
    return np.logaddexp(score[0], score[1])


@case(np.abs(normal(6)) + 0.5)
def survival(x):
    alive = np.cumprod(1 - 0.1 * np.tanh(x))
    return (alive * x).sum() + np.cumsum(x**1.5)[-1] / np.prod(x)


# Complex numbers


@case(normal(5) + 1j * normal(5), normal(5))
def complex_phases(z, x):
    return np.abs(np.exp(1j * x) * z**2 + np.conj(z)).sum() + (z * x).imag.prod()


@instead("torch")
def complex_phases_torch(z, x):
    return torch.abs(torch.exp(1j * x) * z**2 + torch.conj(z)).sum() + (z * x).imag.prod()


@case(0.2 + 0.3j)
def complex_orbit(c):
    z = 0j
    for _ in range(6):
        z = z * z + c
        if abs(z) > 2:
            break
    return abs(z) ** 2


@instead("torch")
def complex_orbit_torch(c):
    z = torch.zeros((), dtype=c.dtype)
    for _ in range(6):
        z = z * z + c
    return torch.abs(z) ** 2


@case(normal(3, 3) + 1j * normal(3, 3) + 3 * np.eye(3), normal(3) + 1j * normal(3))
def complex_solve(a, b):
    x = np.linalg.solve(a, b)
    return (np.abs(x) ** 2).sum() + np.vdot(b, x).real


@instead("torch")
def complex_solve_torch(a, b):
    x = torch.linalg.solve(a, b)
    return (torch.abs(x) ** 2).sum() + torch.vdot(b, x).real


@case(normal(8), normal(8) + 1j * normal(8))
def spectrum(x, response):
    filtered = np.fft.ifft(np.fft.fft(x) * response)
    return (np.abs(filtered) ** 2 * np.arange(8)).sum() + np.fft.rfft(x * x).real.prod() * 1e-3


@instead("torch")
def spectrum_torch(x, response):
    filtered = torch.fft.ifft(torch.fft.fft(x) * response)
    return (torch.abs(filtered) ** 2 * torch.arange(8)).sum() + torch.fft.rfft(x * x).real.prod() * 1e-3


@case(normal(4) + 1j * normal(4))
def complex_writes(z):
    w = np.zeros(4, complex)
    for i in range(4):
        w[i] = z[i] * np.conj(z[i - 1]) if z[i].real > 0 else z[i] ** 2
    w[1:] += 1j * w[:-1]
    return (w.real**2 + np.sin(w.imag)).sum()


@instead("jax")
def complex_writes_jax(z):
    w = jnp.stack([z[i] * jnp.conj(z[i - 1]) if z[i].real > 0 else z[i] ** 2 for i in range(4)])
    w = w.at[1:].add(1j * w[:-1])
    return (w.real**2 + jnp.sin(w.imag)).sum()
