"""Differential equations, roots, minima and integrals."""

from __future__ import annotations

import math

import numpy as np

from programs._program import program

GRAVITY = 9.81


@program(
    arguments=lambda rng: (1.0, 0.5, 0.1, 20),
    others=[lambda rng: (0.0, 1.0, 0.01, 1), lambda rng: (2.0, -1.0, 0.5, 0)],
    features=["trip count is an argument"],
)
def euler_decay(y0, rate, dt, steps):
    y = np.zeros(steps + 1)
    y[0] = y0
    for k in range(steps):
        y[k + 1] = y[k] - dt * rate * y[k]
    return y


def rk4_step(f, t, y, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    k4 = f(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@program(
    arguments=lambda rng: (np.array([1.0, 1.0, 1.0]), 0.01, 15),
    others=[lambda rng: (np.zeros(3), 0.1, 3), lambda rng: (rng.random(3), 0.05, 0)],
    features=["trip count is an argument"],
)
def lorenz_rk4(start, h, steps):
    def slope(t, s, sigma=10.0, rho=28.0, beta=8.0 / 3.0):
        x, y, z = s
        return np.array([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])

    path = np.empty((steps + 1, 3))
    path[0] = start
    for k in range(steps):
        path[k + 1] = rk4_step(slope, k * h, path[k], h)
    return path


@program(
    arguments=lambda rng: (0.0, 1.0, np.array([1.0, 0.0]), 1e-6),
    others=[
        lambda rng: (0.0, 0.0, np.array([1.0, 0.0]), 1e-6),
        lambda rng: (0.0, 3.0, rng.random(2), 1e-3),
        lambda rng: (1.0, 1.5, np.zeros(2), 1e-9),
    ],
)
def adaptive_rk45(t, end, y, tolerance):
    """Fehlberg's pair: a step that errs too much is tried again with a smaller one."""
    f = lambda t, y: np.array([y[1], -y[0]])  # noqa: E731 a lambda with a name is what the program is about
    h = 0.1
    accepted = rejected = 0
    while t < end:
        if t + h > end:
            h = end - t
        k1 = h * f(t, y)
        k2 = h * f(t + h / 4, y + k1 / 4)
        k3 = h * f(t + 3 * h / 8, y + 3 * k1 / 32 + 9 * k2 / 32)
        k4 = h * f(t + 12 * h / 13, y + (1932 * k1 - 7200 * k2 + 7296 * k3) / 2197)
        k5 = h * f(t + h, y + 439 * k1 / 216 - 8 * k2 + 3680 * k3 / 513 - 845 * k4 / 4104)
        k6 = h * f(t + h / 2, y - 8 * k1 / 27 + 2 * k2 - 3544 * k3 / 2565 + 1859 * k4 / 4104 - 11 * k5 / 40)
        error = np.max(np.abs(k1 / 360 - 128 * k3 / 4275 - 2197 * k4 / 75240 + k5 / 50 + 2 * k6 / 55))
        if error <= tolerance:
            t += h
            y = y + 25 * k1 / 216 + 1408 * k3 / 2565 + 2197 * k4 / 4104 - k5 / 5
            accepted += 1
        else:
            rejected += 1
        factor = 0.84 * (tolerance / error) ** 0.25 if error > 0 else 4.0
        h *= min(max(factor, 0.1), 4.0)
    return y, accepted, rejected


@program(
    arguments=lambda rng: (0.5, 0.0, 0.05, 12, 1.0),
    others=[lambda rng: (0.0, 0.0, 0.1, 3, 2.0), lambda rng: (3.0, 1.0, 0.01, 0, 0.5)],
    features=["trip count is an argument"],
)
def pendulum_verlet(angle, speed, dt, steps, length):
    """Numbers from `math` on the way, an array of angles at the end."""
    angles = np.empty(steps)
    acceleration = -GRAVITY / length * math.sin(angle)
    for k in range(steps):
        angle += speed * dt + 0.5 * acceleration * dt**2
        new = -GRAVITY / length * math.sin(angle)
        speed += 0.5 * (acceleration + new) * dt
        acceleration = new
        angles[k] = angle
    return angles, speed


@program(
    arguments=lambda rng: (2.0, 1e-12),
    others=[lambda rng: (1e-3, 1e-10), lambda rng: (np.float64(144.0), 1e-12), lambda rng: (0.0, 1e-6)],
)
def newton_sqrt(a, tolerance):
    """The walrus holds the step that the loop's condition looks at."""
    if a == 0:
        return 0.0, 0
    x = a if a > 1 else 1.0
    steps = 0
    while abs(step := (x * x - a) / (2 * x)) > tolerance * x:
        x -= step
        steps += 1
    return x, steps


@program(
    arguments=lambda rng: (0.0, 2.0, 1e-10),
    others=[lambda rng: (1.5, 2.0, 1e-10), lambda rng: (0.0, 0.7390851332151607, 1e-3), lambda rng: (-1.0, 3.0, 0.5)],
)
def bisection(low, high, tolerance):
    """A root of cos(x) - x; no change of sign is an error."""

    def f(x):
        return np.cos(x) - x

    if f(low) * f(high) > 0:
        raise ValueError("no change of sign")
    while high - low > tolerance:
        middle = 0.5 * (low + high)
        value = f(middle)
        if value == 0:
            return middle
        if f(low) * value < 0:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


@program(
    arguments=lambda rng: (rng.random(3), -2.0, 3.0, 1e-6),
    others=[lambda rng: (np.array([1.0, 0.0, 0.0]), -1.0, 2.0, 1e-3), lambda rng: (rng.random(2), 0.0, 0.0, 1e-6)],
)
def golden_section(coefficients, a, b, tolerance):
    """The minimum of a polynomial between a and b."""
    ratio = (math.sqrt(5) - 1) / 2
    c, d = b - ratio * (b - a), a + ratio * (b - a)
    while abs(b - a) > tolerance:
        if np.polyval(coefficients, c) < np.polyval(coefficients, d):
            b = d
        else:
            a = c
        c, d = b - ratio * (b - a), a + ratio * (b - a)
    return (a + b) / 2


@program(
    arguments=lambda rng: (np.array([-1.2, 1.0]), 20),
    others=[lambda rng: (np.array([1.0, 1.0]), 5), lambda rng: (rng.random(4), 3), lambda rng: (rng.random(2), 0)],
    features=["trip count is an argument"],
)
def descent_with_line_search(x, limit):
    """Rosenbrock's valley, by steepest descent with backtracking."""

    def value(x):
        return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    def slope(x):
        g = np.zeros_like(x)
        g[:-1] = -400.0 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2 * (1 - x[:-1])
        g[1:] += 200.0 * (x[1:] - x[:-1] ** 2)
        return g

    for _ in range(limit):
        g = slope(x)
        if np.linalg.norm(g) < 1e-8:
            break
        t, current = 1.0, value(x)
        while value(x - t * g) > current - 1e-4 * t * (g @ g):
            t *= 0.5
        x = x - t * g
    return x, value(x)


def simpson(f, a, b, n):
    if n % 2:
        n += 1
    x = np.linspace(a, b, n + 1)
    y = f(x)
    return (b - a) / n / 3 * (y[0] + y[-1] + 4 * y[1:-1:2].sum() + 2 * y[2:-2:2].sum())


@program(
    arguments=lambda rng: (0.0, math.pi, 10),
    others=[lambda rng: (0.0, 1.0, 3), lambda rng: (2.0, 2.0, 4)],
)
def integrals(a, b, n):
    """Four rules for integrals."""
    x = np.linspace(a, b, n + 1)
    middle = 0.5 * (x[1:] + x[:-1])
    return {
        "simpson": simpson(np.sin, a, b, n),
        "trapezoid": np.trapezoid(np.sin(x), x),
        "midpoint": np.sum(np.sin(middle) * np.diff(x)),
        "halved": halved_simpson(lambda t: math.sin(t) * math.exp(-t), a, b),
    }


def halved_simpson(f, a, b, depth=3):
    c = (a + b) / 2
    if depth == 0:
        return (b - a) / 6 * (f(a) + 4 * f(c) + f(b))
    return halved_simpson(f, a, c, depth - 1) + halved_simpson(f, c, b, depth=depth - 1)


@program(
    arguments=lambda rng: (rng.random(12), 0.2, 5),
    others=[lambda rng: (rng.random(3), 0.5, 2), lambda rng: (rng.random(6).astype(np.float32), 0.1, 0)],
    features=["trip count is an argument", "overlap"],
)
def burgers(u, ratio, steps):
    """Lax-Friedrichs with fixed ends; flux and state share the array."""
    for _ in range(steps):
        flux = 0.5 * u**2
        u[1:-1] = 0.5 * (u[2:] + u[:-2]) - 0.5 * ratio * (flux[2:] - flux[:-2])
    return np.gradient(u)


@program(
    arguments=lambda rng: (rng.standard_normal((8, 3)), rng.standard_normal((5, 3))),
    others=[
        lambda rng: (np.eye(3), np.ones((1, 3))),
        lambda rng: (rng.standard_normal((3, 3)).astype(np.float32), np.zeros((0, 3))),
    ],
    trace=True,
)
def biot_savart(wire, points):
    """The field of a closed wire at some points, a piece of wire at a time."""
    field = np.zeros((len(points), 3))
    pieces = np.roll(wire, -1, axis=0) - wire
    middles = wire + pieces / 2
    for k in range(len(wire)):
        r = points - middles[k]
        distance = np.sqrt((r * r).sum(axis=1, keepdims=True)) + 1e-3
        field += np.cross(pieces[k], r) / distance**3
    return field


@program(
    arguments=lambda rng: (np.linspace(-1, 1, 6), np.linspace(0, 2, 5)),
    others=[
        lambda rng: (np.arange(2.0), np.arange(3.0)),
        lambda rng: (np.linspace(0, 1, 4).astype(np.float32), np.arange(2.0)),
    ],
    trace=True,
)
def potential_energy(x, y):
    """Forces on a grid from differences, and the work along its first row."""
    gx, gy = np.meshgrid(x, y)
    potential = gx**2 * np.exp(-(gy**2))
    dy, dx = np.gradient(potential, y, x)
    work = np.trapezoid(-dx[0], x)
    return np.hypot(dx, dy), work, np.trapezoid(potential, dx=0.5, axis=0)
