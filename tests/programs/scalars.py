"""Numbers rather than arrays: builtins, math, conversions, NumPy's scalars."""

from __future__ import annotations

import math

import numpy as np

from programs._program import program

EARTH_RADIUS = 6371.0


@program(
    arguments=lambda rng: (48.1, 11.6, 52.5, 13.4),
    others=[lambda rng: (0.0, 0.0, 0.0, 0.0), lambda rng: (np.float64(10.0), -5.0, np.float32(-10.0), 175.0)],
    trace=True,
)
def haversine(lat1, lon1, lat2, lon2):
    phi1, phi2 = math.radians(lat1), math.radians(lat2)
    a = math.sin((phi2 - phi1) / 2) ** 2
    a += math.cos(phi1) * math.cos(phi2) * math.sin(math.radians(lon2 - lon1) / 2) ** 2
    return 2 * EARTH_RADIUS * math.atan2(math.sqrt(a), math.sqrt(1 - a))


@program(
    arguments=lambda rng: (rng.standard_normal(6) * 10,),
    others=[
        lambda rng: (np.array([2.5, -3.5, 0.0]),),
        lambda rng: (np.array([7, -2]),),
        lambda rng: (np.float32([1.5]),),
    ],
    trace=True,
)
def builtins_on_arrays(x):
    """Python's own functions on elements and on whole arrays."""
    return (
        abs(x),
        abs(x[0]),
        min(x[0], 1.0),
        max(x),
        sum(x),
        len(x),
        round(float(x[-1])),
        round(float(x[-1]), 1),
        int(x[0]),
        float(x[0]),
        bool(x[0]),
        pow(x, 2),
        divmod(x, 3.0)[1],
    )


@program(
    arguments=lambda rng: (1.0, -3.0, 2.0),
    others=[lambda rng: (1.0, 2.0, 1.0), lambda rng: (1.0, 0.0, 4.0), lambda rng: (0.0, 2.0, 1.0)],
)
def quadratic_roots(a, b, c):
    """Two complex numbers, however the discriminant falls; a straight line has one root, twice."""
    if a == 0:
        root = complex(-c / b)
        return root, root
    d = b * b - 4 * a * c
    if d >= 0:
        q = -0.5 * (b + math.copysign(math.sqrt(d), b))
        first = complex(q / a)
        second = complex(c / q) if q else first
    else:
        first = complex(-b, math.sqrt(-d)) / (2 * a)
        second = first.conjugate()
    return first, second


@program(
    arguments=lambda rng: (rng.integers(0, 100, 5), rng.random(5).astype(np.float32)),
    others=[
        lambda rng: (np.array([200, 100], np.uint8), np.ones(2)),
        lambda rng: (np.array([-1, 3], np.int16), np.ones(2, complex)),
    ],
    features=["integer wrap-around"],
    trace=True,
)
def promotion(i, f):
    """What dtype comes out of mixtures of arrays, NumPy scalars and Python numbers."""
    return i + 1, i * 2.5, i / 2, i // 2, i + f, f * 3, f + np.float64(1), i + i, -i, i**2, i % 7, i > f.real.mean(), ~i


@program(
    arguments=lambda rng: (10,),
    others=[lambda rng: (0,), lambda rng: (1,), lambda rng: (30,)],
)
def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


@program(
    arguments=lambda rng: (5, 2),
    others=[lambda rng: (3, 0), lambda rng: (0, 4), lambda rng: (6, 6)],
    script=False,
)
def binomial(n, k):
    """Recursion on Python numbers."""
    if k == 0 or k == n:
        return 1
    if k > n:
        return 0
    return binomial(n - 1, k - 1) + binomial(n - 1, k)


@program(
    arguments=lambda rng: (0.5, 1e-10),
    others=[lambda rng: (0.0, 1e-5), lambda rng: (np.float64(-2.0), 1e-12), lambda rng: (3, 1.0)],
)
def exp_series(x, tolerance):
    """Terms until they no longer count; assert that it is near math's."""
    term = total = 1.0
    n = 0
    while abs(term) > tolerance:
        n += 1
        term *= x / n
        total += term
    assert abs(total - math.exp(x)) <= max(1.0, 20 * tolerance), f"{total} is not exp({x})"
    return total, n


@program(
    arguments=lambda rng: (0.3 + 0.4j, 5),
    others=[lambda rng: (1j, 2), lambda rng: (np.complex128(2 - 1j), 3), lambda rng: (1 + 0j, 0)],
    features=["trip count is an argument"],
)
def geometric_sum(z, n):
    total = 0j
    power = 1 + 0j
    for _ in range(n):
        total += power
        power *= z
    return total, abs(total), total.real - total.imag


@program(
    arguments=lambda rng: (rng.random(4), rng.random(4)),
    others=[lambda rng: (np.zeros(2), np.ones(2)), lambda rng: (np.ones(3), np.array([1.0, 2.0, math.inf]))],
)
def scalar_results(a, b):
    """Each is a NumPy scalar, a Python number or an array without axes."""
    return {
        "item": a[0],
        "sum": a.sum(),
        "python": a.sum().item(),
        "index": int(np.argmax(b)),
        "flag": bool(np.all(a < b)),
        "any": np.any(a > b),
        "zero axes": np.asarray(a.max()),
        "dtype": a.dtype == np.float64,
        "norm": math.hypot(a[0], b[0]),
        "floor": math.floor(a[1] * 10) + math.ceil(b[1]) if b[1] < 10 else 0,
    }


@program(
    arguments=lambda rng: (2024, 2, 29),
    others=[lambda rng: (2000, 1, 1), lambda rng: (1999, 12, 31)],
)
def weekday(year, month, day):
    """Zeller's rule in integers; Saturday is 0."""
    if month < 3:
        month += 12
        year -= 1
    century, within = divmod(year, 100)
    return (day + 13 * (month + 1) // 5 + within + within // 4 + century // 4 + 5 * century) % 7
