"""More functions whose derivatives are compared: linear algebra, special functions and complex numbers."""

from __future__ import annotations

import math

import jax.numpy as jnp
import jax.scipy
import numpy as np
import torch
from derivative_functions import POSITIVE, case, instead, normal

# Linear algebra


@case(normal(4, 4) + 3 * np.eye(4), normal(4))
def quadratic_form(a, b):
    x = np.linalg.solve(a, b)
    return x @ np.linalg.inv(a) @ b + np.linalg.slogdet(a)[1]


@instead("torch")
def quadratic_form_torch(a, b):
    return torch.linalg.solve(a, b) @ torch.linalg.inv(a) @ b + torch.linalg.slogdet(a)[1]


@case(POSITIVE, np.array([0.1, 0.5, -0.3, 0.7]))
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
