"""Train a neural ODE on a spiral: the path is integrated by Runge-Kutta in a loop, and gradients go back through it.

The network's parameters are a dict of NumPy arrays, the solver is plain NumPy, and `weft.value_and_grad` gives a dict
of gradients. The loop stays a loop in the graph: more steps in time make no larger graph.
"""

from __future__ import annotations

import numpy as np

import weft

WIDTH, PIECE, STEPS = 16, 30, 400


def network(parameters, state):
    """The velocity that the network gives at a point."""
    hidden = np.tanh(state @ parameters["w1"] + parameters["b1"])
    return hidden @ parameters["w2"] + parameters["b2"]


def spiral(matrix, state):
    """The true velocity: round and inwards."""
    return state @ matrix


def integrate(velocity, parameters, start, times):
    """The classical Runge-Kutta method: the state at each time."""
    path = np.zeros((len(times), *start.shape))
    path[0] = start
    for i in range(1, len(times)):
        step, state = times[i] - times[i - 1], path[i - 1]
        k1 = velocity(parameters, state)
        k2 = velocity(parameters, state + step / 2 * k1)
        k3 = velocity(parameters, state + step / 2 * k2)
        k4 = velocity(parameters, state + step * k3)
        path[i] = state + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return path


def loss(parameters, starts, times, paths):
    """How far the network's paths are from the true ones."""
    return np.mean((integrate(network, parameters, starts, times) - paths) ** 2)


def adam(parameters, gradients, moments, step, rate) -> None:
    """One step of Adam."""
    for name, g in gradients.items():
        m, v = moments[name]
        m += 0.1 * (g - m)
        v += 0.001 * (g * g - v)
        parameters[name] -= rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)


def draw(path, rows=13, columns=41) -> None:
    """A path as text."""
    picture = np.full((rows, columns), " ")
    x, y = np.clip((path / 2 + 1) / 2, 0, 1).T
    picture[((1 - y) * (rows - 1)).round().astype(int), (x * (columns - 1)).round().astype(int)] = "*"
    print("\n".join(("  " + "".join(row)).rstrip() for row in picture))


def main() -> None:
    rng = np.random.default_rng(0)
    times = np.linspace(0.0, 20.0, 200)
    true = integrate(spiral, np.array([[-0.1, 1.0], [-1.0, -0.1]]), np.array([2.0, 0.0]), times)
    parameters = {
        "w1": rng.normal(0, 0.5, (2, WIDTH)),
        "b1": np.zeros(WIDTH),
        "w2": rng.normal(0, 0.1, (WIDTH, 2)),
        "b2": np.zeros(2),
    }
    moments = {name: (np.zeros_like(p), np.zeros_like(p)) for name, p in parameters.items()}

    print("Learning pieces of a spiral:")
    descent = weft.value_and_grad(loss)
    for step in range(STEPS + 1):
        begins = rng.integers(0, len(times) - PIECE, 16)
        pieces = np.stack([true[begin : begin + PIECE] for begin in begins], axis=1)
        value, gradients = descent(parameters, pieces[0], times[:PIECE], pieces)
        if step % 80 == 0:
            print(f"  step {step:3}: loss {value:.5f}")
        adam(parameters, gradients, moments, step + 1, 0.015 * (1 + np.cos(np.pi * step / STEPS)))

    found = integrate(network, parameters, true[0], times)
    print(f"\nThe whole spiral from its first point, mean error {np.abs(found - true).mean():.2f}:")
    draw(found)
    print(f"\nThe gradient's graph has {len(descent.graph.nodes)} nodes; {descent.cache_info()}")
    descent(parameters, pieces[0][:1], times, true[:, None])
    print(f"and after a call with all {len(times)} times, {len(descent.graph.nodes)}; {descent.cache_info()}")


if __name__ == "__main__":
    main()
