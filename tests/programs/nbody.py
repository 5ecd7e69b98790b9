"""Bodies that attract, repel and collide."""

from __future__ import annotations

import numpy as np

from programs._program import program


def _bodies(n, dtype=np.float64):
    return lambda rng: (
        rng.random((n, 1)).astype(dtype) + dtype(0.5),
        rng.standard_normal((n, 3)).astype(dtype),
        rng.standard_normal((n, 3)).astype(dtype),
    )


def acceleration(pos, mass, g, softening):
    offset = pos[np.newaxis, :, :] - pos[:, np.newaxis, :]
    square = np.sum(offset**2, axis=2) + softening**2
    apart = square > 0
    weight = np.zeros_like(square)
    weight[apart] = square[apart] ** -1.5
    return g * np.einsum("ij,ijk,j->ik", weight, offset, mass[:, 0])


def energies(pos, vel, mass, g):
    kinetic = (mass * vel * vel).sum() / 2
    potential = 0.0
    for i in range(1, len(pos)):
        distance = np.linalg.norm(pos[:i] - pos[i], axis=1)
        potential -= g * mass[i, 0] * np.sum(mass[:i, 0] / distance)
    return kinetic, potential


@program(
    arguments=lambda rng: (*_bodies(5)(rng), 4, 0.01, 1.0, 0.1),
    others=[
        lambda rng: (*_bodies(1)(rng), 2, 0.1, 1.0, 0.0),
        lambda rng: (*_bodies(3, np.float32)(rng), 3, 0.05, 0.5, 0.1),
        lambda rng: (*_bodies(2)(rng), 0, 0.1, 1.0, 0.2),
    ],
    features=["trip count is an argument"],
)
def nbody(mass, pos, vel, steps, dt, g, softening):
    """Kick, drift, kick; the energies of every step, the centre of mass at rest."""
    vel -= (mass * vel).sum(axis=0) / mass.sum()
    history = np.ndarray((steps + 1, 2), dtype=np.float64)
    history[0] = energies(pos, vel, mass, g)
    acc = acceleration(pos, mass, g, softening)
    for k in range(1, steps + 1):
        vel += 0.5 * dt * acc
        pos += dt * vel
        acc = acceleration(pos, mass, g, softening)
        vel += 0.5 * dt * acc
        history[k] = energies(pos, vel, mass, g)
    return history


@program(
    arguments=_bodies(4),
    others=[_bodies(1), _bodies(6, np.float32)],
)
def pairwise_forces(mass, pos, force):
    """Newton's third law: each pair once, both bodies written."""
    force.fill(0)
    n = pos.shape[0]
    for i in range(n):
        for j in range(i + 1, n):
            d = pos[j] - pos[i]
            r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
            f = mass[i, 0] * mass[j, 0] / (r2 * np.sqrt(r2)) * d
            force[i] += f
            force[j] -= f


@program(
    arguments=lambda rng: (rng.random((12, 2)) * 3, rng.standard_normal((12, 2)), 3.0, 0.3, 5),
    others=[
        lambda rng: (rng.random((1, 2)), np.zeros((1, 2)), 1.0, 0.5, 2),
        lambda rng: (rng.random((4, 2)), rng.standard_normal((4, 2)) * 10, 1.0, 0.2, 3),
    ],
    features=["trip count is an argument"],
)
def bouncing_balls(pos, vel, side, dt, steps):
    """Balls in a box: what has left through a wall comes back, its speed turned round."""
    hits = 0
    for _ in range(steps):
        pos += dt * vel
        low, high = pos < 0, pos > side
        hits += np.count_nonzero(low | high)
        pos[low] = -pos[low]
        pos[high] = 2 * side - pos[high]
        vel[low | high] *= -1
    return hits


@program(
    arguments=lambda rng: (rng.random((9, 3)) * 4, 2.5, 4.0),
    others=[lambda rng: (np.zeros((1, 3)), 1.0, 2.0), lambda rng: (np.array([[0.0, 0, 0], [3.0, 0, 0]]), 1.5, 4.0)],
)
def lennard_jones(pos, cutoff, box):
    """Energy of the pairs within reach, to the nearest image."""
    energy = 0.0
    for i in range(len(pos) - 1):
        d = pos[i + 1 :] - pos[i]
        d -= box * np.round(d / box)
        r2 = np.sum(d * d, axis=1)
        near = r2[r2 < cutoff**2]
        if near.size == 0:
            continue
        inv6 = 1.0 / near**3
        energy += 4.0 * np.sum(inv6 * inv6 - inv6)
    return energy


@program(
    arguments=lambda rng: (rng.random((10, 2)), rng.standard_normal((10, 2)), 0.3),
    others=[
        lambda rng: (rng.random((1, 2)), rng.standard_normal((1, 2)), 0.1),
        lambda rng: (np.zeros((3, 2)), rng.standard_normal((3, 2)), 1.0),
    ],
    trace=True,
)
def boids_step(pos, vel, radius):
    """Everyone steers with the neighbours in sight; nobody divides by an empty neighbourhood."""
    offset = pos[None, :, :] - pos[:, None, :]
    distance = np.sqrt((offset**2).sum(axis=-1))
    seen = (distance < radius) & ~np.eye(len(pos), dtype=bool)
    count = np.maximum(seen.sum(axis=1, keepdims=True), 1)
    towards = np.einsum("ij,ijk->ik", seen, offset) / count
    aligned = seen @ vel / count - vel * seen.any(axis=1)[:, None]
    vel = vel + 0.01 * towards + 0.05 * aligned
    speed = np.linalg.norm(vel, axis=1, keepdims=True)
    vel = np.where(speed > 1, vel / speed, vel)
    return (pos + vel) % 1.0, vel
