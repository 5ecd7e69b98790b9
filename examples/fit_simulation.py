"""Find the weak spring in a chain: a simulation in plain NumPy, fitted to measurements by descending its gradient.

`simulate` loops over time and over masses, writes into its arrays and branches where the chain hits a wall. Nothing in
it knows about weft. `weft.value_and_grad` differentiates the loss through all of it.
"""

from __future__ import annotations

import timeit

import numpy as np

import weft

STEP = 0.05
WALL = 0.1  # how far the last mass can go


def simulate(stiffness, damping, push, steps):
    """Positions over time of masses between springs, the first one fixed; a push on the last mass starts it."""
    count = len(stiffness)
    position, speed = np.zeros(count + 1), np.zeros(count + 1)
    speed[count] = push
    track = np.zeros((steps, count))
    for t in range(steps):
        for i in range(1, count + 1):
            force = stiffness[i - 1] * (position[i - 1] - position[i]) - damping * speed[i]
            if i < count:
                force += stiffness[i] * (position[i + 1] - position[i])
            elif position[i] > WALL:
                force -= 50.0 * (position[i] - WALL)
            speed[i] += STEP * force
        position += STEP * speed
        track[t] = position[1:]
    return track


def misfit(guess, measured, push):
    """How far a simulation is from the measurements. Logarithms are guessed, so that no stiffness gets negative."""
    track = simulate(np.exp(guess["stiffness"]), np.exp(guess["damping"]), push, len(measured))
    return np.mean((track - measured) ** 2)


def finite_difference(guess, measured, push, i, width=1e-6):
    """The slope along the i-th stiffness by two more simulations, to compare with."""
    ends = []
    for sign in (1, -1):
        moved = {name: value.copy() for name, value in guess.items()}
        moved["stiffness"][i] += sign * width
        ends.append(misfit(moved, measured, push))
    return (ends[0] - ends[1]) / (2 * width)


def fastest(function, *args) -> float:
    """The seconds that a call takes, at best."""
    return min(timeit.repeat(lambda: function(*args), number=1, repeat=10))


def main() -> None:
    truth = np.array([4.0, 4.0, 1.5, 4.0, 4.0])
    noise = np.random.default_rng(0).normal(0, 0.005, (120, 5))
    measured = simulate(truth, 0.2, -1.0, 120) + noise

    descent = weft.value_and_grad(misfit)
    guess = {"stiffness": np.log(np.full(5, 3.0)), "damping": np.log(np.array(0.5))}
    _, slope = descent(guess, measured, -1.0)
    print("The slope of the misfit along the third spring:")
    print(f"  by weft                {slope['stiffness'][2]:+.8f}")
    print(f"  by finite differences  {finite_difference(guess, measured, -1.0, 2):+.8f}")

    simulated, differentiated = (fastest(f, guess, measured, -1.0) for f in (misfit, descent))
    print(f"The misfit and all six slopes take {differentiated / simulated:.1f} times as long as the plain misfit")

    print("\nDescent with momentum:")
    speed = {name: np.zeros_like(value) for name, value in guess.items()}
    for step in range(151):
        value, slope = descent(guess, measured, -1.0)
        if step % 30 == 0:
            print(f"  step {step:3}: misfit {value:.7f}  stiffness {np.exp(guess['stiffness']).round(2)}")
        for name in guess:
            speed[name] = 0.9 * speed[name] - 3.0 * slope[name]
            guess[name] = guess[name] + speed[name]

    print("\nspring  true  fitted")
    for i, (true, fitted) in enumerate(zip(truth, np.exp(guess["stiffness"]), strict=True)):
        print(f"{i:6}  {true:.2f}    {fitted:.2f}{'   weak' if fitted < 2 else ''}")
    print(f"damping {0.2:.2f}   {np.exp(guess['damping']):.2f}")
    print(f"\n{descent.cache_info()}")


if __name__ == "__main__":
    main()
