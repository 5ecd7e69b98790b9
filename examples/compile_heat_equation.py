"""Compile a heat equation: plain NumPy that leaves its result in its argument, with a loop and an early way out."""

from __future__ import annotations

import numpy as np

import weft


def diffuse(plate, steps, tolerance):
    """Spread heat over a plate whose edge stays as it is; returns the steps it took. `plate` is changed in place."""
    for step in range(steps):
        inner = plate[1:-1, 1:-1]
        flow = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:] - 4 * inner
        inner += 0.25 * flow
        if np.abs(flow).max() < tolerance:
            return step + 1
    return steps


def hot_edge(height: int, width: int) -> np.ndarray:
    plate = np.zeros((height, width))
    plate[0] = 100.0
    return plate


def show(plate: np.ndarray) -> None:
    shades = " .:-=+*#%@"
    for row in plate:
        print("  " + "".join(shades[int(value / 100.1 * len(shades))] for value in row))


def main() -> None:
    compiled = weft.compile(diffuse)
    plate = hot_edge(10, 32)
    steps = compiled(plate, 1000, 0.5)
    print(f"After {steps} steps:")
    show(plate)

    expected = hot_edge(10, 32)
    print("\nThe plain call took as many steps:", diffuse(expected, 1000, 0.5) == steps)
    print("and left the same plate:", np.array_equal(plate, expected))

    print("\nWhat runs:")
    print(compiled.code.strip())

    print("\nA plate of another size, and another number of steps, take the same graph:")
    compiled(hot_edge(6, 7), 3, 0.0)
    print(compiled.cache_info())
    print("A plate of another dtype does not:")
    compiled(hot_edge(6, 7).astype(np.float32), 3, 0.0)
    print(compiled.cache_info(), *compiled.why_recompiled(), sep="\n")


if __name__ == "__main__":
    main()
