"""Programs whose control flow, writes and views are differentiated; each gives one number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def clamp(x: Any, y: Any) -> Any:
    if x > y:
        z = x * x * y
    else:
        z = np.exp(x) * y
    return z + x


def through_a_view(x: Any) -> Any:
    x = x.copy()
    v = x[1:]
    v[0] = 3 * x[2]
    return (x**2).sum()


def recurrence(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        s = s * 0.5 + np.sin(x[i]) * s + x[i]
    return s


def backwards(x: Any) -> Any:
    s = 0.0
    for i in range(len(x) - 1, 0, -2):
        s = s + x[i] * x[i - 1]
    return s * s


def branches(x: Any) -> Any:
    s = 1.0
    for i in range(len(x)):
        if x[i] > 0:
            s = s + np.sin(x[i]) * s + x[i]
        elif x[i] > -1:
            s = s * np.exp(x[i])
        else:
            s = s - 1
    return s


def elimination(a: Any) -> Any:
    n = a.shape[0]
    a = a.copy()
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return (a**2).sum()


def newton(x: Any) -> Any:
    y, steps = x, 0
    while abs(y * y - 2.0) > 1e-3 and steps < 50:
        y = 0.5 * (y + 2 / y) + 0.1 * (x - y) * (y * y - 2)
        steps += 1
    return y * x


def until_large(x: Any) -> Any:
    z, n = x.copy(), 0
    while z.sum() < 100.0:
        for i in range(1, len(z)):
            if z[i] > 2.0:
                z[i] = z[i - 1] * 1.1 + z[i] * 0.3
            else:
                z[i] = z[i] ** 2 + z[i - 1]
                n += 1
            if n > 50:
                break
        z = z * 1.2 + 0.1
    return (z * x).sum() * n


def shrinking(x: Any) -> Any:
    z, t = x, 0.0
    while len(z) > 0:
        t = t + (z**2).sum()
        z = z[z > 0.5] - 0.3
    return t


STARTS = np.cumsum([0, 1, 2, 3, 4, 5, 4, 3, 2, 1, 1, 2])


def rows_of_lengths(x: Any) -> Any:
    t = 0.0
    for i in range(len(STARTS) - 1):
        v = x[STARTS[i] : STARTS[i + 1]]
        t = t + (v * v).sum() * v[0]
    return t


def sweeps(a: Any) -> Any:
    x, b = np.zeros(a.shape[0]), a[0] + 1
    for _ in range(9):
        for i in range(len(b)):
            x[i] = (b[i] - a[i, :i] @ x[:i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return (x**2).sum()


def scattered(x: Any) -> Any:
    y = np.zeros(5)
    for k in range(len(x)):
        y[k % 5] += x[k] * x[(3 * k) % len(x)]
        y[[0, 2]] = y[[2, 0]] * 0.9
    return (y**3).sum()


def masked(x: Any) -> Any:
    y = x.copy()
    for _ in range(10):
        y[y > 1.0] = y[y > 1.0] * 0.5 + x.sum() * 0.01
        y[1:] = y[:-1] * 0.3 + y[1:]
    return (y * y).sum()


def early_return(x: Any) -> Any:
    s = x[0]
    for i in range(1, len(x)):
        s = s * x[i] + 0.1
        if s > 2.0:
            return s * s
    return s + 5.0


def python_floats(x: Any) -> Any:
    a, b = 1.0, 0.5
    for _ in range(12):
        a, b = math.sin(b) * x, a + math.exp(-b) * 0.1
        if b > 1.2:
            b = b - x * 0.3
    return a * b


RNG = np.random.default_rng(0)
CASES: dict[Any, tuple[Any, ...]] = {
    clamp: (1.5, 0.5),
    through_a_view: (RNG.normal(size=5),),
    recurrence: (RNG.normal(size=12) * 0.3,),
    backwards: (RNG.normal(size=12),),
    branches: (RNG.normal(size=15) * 2,),
    elimination: (RNG.normal(size=(10, 10)) + 10 * np.eye(10),),
    newton: (1.9,),
    until_large: (RNG.uniform(0.5, 1.5, size=11),),
    shrinking: (RNG.uniform(0.0, 2.0, size=11),),
    rows_of_lengths: (RNG.uniform(0.0, 2.0, size=30),),
    sweeps: (RNG.normal(size=(9, 9)) + 9 * np.eye(9),),
    scattered: (RNG.normal(size=13),),
    masked: (RNG.uniform(0.5, 3.0, size=9),),
    early_return: (RNG.uniform(0.8, 1.2, size=12),),
    python_floats: (0.7,),
}
