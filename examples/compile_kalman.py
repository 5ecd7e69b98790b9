"""Compile a Kalman filter, explain what was captured, and learn its noise by gradients through the compiled loop."""

from __future__ import annotations

import numpy as np

import weft

MOTION = np.array([[1.0, 1.0], [0.0, 1.0]])  # position and velocity, a step later
SEEN = np.array([[1.0, 0.0]])  # only the position is measured


@weft.compile
def track(measured, process, noise):
    """Follow a moving point. Measurements that are NaN are left out. Returns positions, and how badly they fit."""
    state = np.zeros(2)
    spread = np.eye(2) * 10.0
    positions = np.zeros(len(measured))
    misfit = 0.0
    for i in range(len(measured)):
        state = MOTION @ state
        spread = MOTION @ spread @ MOTION.T + process * np.eye(2)
        if not np.isnan(measured[i]):
            error = measured[i] - state[0]
            variance = spread[0, 0] + noise
            gain = spread[:, 0] / variance
            state = state + gain * error
            spread = spread - np.outer(gain, SEEN @ spread)
            misfit = misfit + error**2 / variance + np.log(variance)
        positions[i] = state[0]
    return positions, misfit


def main() -> None:
    rng = np.random.default_rng(0)
    truth = 0.5 * np.arange(60) + np.cumsum(rng.normal(0, 0.2, 60))
    measured = truth + rng.normal(0, 2.0, 60)
    measured[[7, 8, 9, 30]] = np.nan

    positions, misfit = track(measured, 0.05, 4.0)
    raw, filtered = np.nanmean(np.abs(measured - truth)), np.mean(np.abs(positions - truth))
    print(f"Mean error of the measurements: {raw:.2f}, after the filter: {filtered:.2f}")
    plain, _ = track.__wrapped__(measured, 0.05, 4.0)
    print("Same as the plain call:", np.array_equal(positions, plain))

    print("\n" + str(weft.explain(track, measured, 0.05, 4.0)))

    print("\nThe gradient of the misfit by the noise goes through the loop, and what it writes:")
    fit = weft.value_and_grad(lambda guess: track(measured, 0.05, np.exp(guess))[1])
    guess = 0.0
    for step in range(31):
        misfit, slope = fit(guess)
        if step % 10 == 0:
            print(f"  step {step:2}: noise {np.exp(guess):.2f}, misfit {misfit:.2f}")
        guess -= 0.05 * slope
    track(measured.astype(np.float32), 0.05, 4.0)
    print("Captured again, because", track.why_recompiled()[-1])


if __name__ == "__main__":
    main()
