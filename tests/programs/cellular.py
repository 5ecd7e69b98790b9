"""Cellular automata and sieves."""

from __future__ import annotations

import numpy as np

from programs._program import program


def neighbours(grid):
    total = np.zeros_like(grid)
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            if dx or dy:
                total += np.roll(np.roll(grid, dy, axis=0), dx, axis=1)
    return total


@program(
    arguments=lambda rng: ((rng.random((8, 8)) < 0.4).astype(np.int64), 4),
    others=[
        lambda rng: (np.zeros((3, 3), np.int64), 2),
        lambda rng: ((rng.random((5, 6)) < 0.5).astype(np.uint8), 3),
        lambda rng: (np.ones((4, 4), np.int32), 0),
    ],
    features=["trip count is an argument"],
)
def life_on_a_torus(grid, generations):
    for _ in range(generations):
        n = neighbours(grid)
        grid = ((n == 3) | ((grid == 1) & (n == 2))).astype(grid.dtype)
    return grid


@program(
    arguments=lambda rng: ((rng.random((7, 7)) < 0.4).astype(int), 3),
    others=[lambda rng: (np.ones((3, 3), int), 1), lambda rng: (np.zeros((4, 5), int), 2)],
    features=["trip count is an argument", "write through a view"],
)
def life_in_place(cells, generations):
    """Dead edges; births and survivals are written through a view of the inside."""
    inside = cells[1:-1, 1:-1]
    for _ in range(generations):
        count = (
            cells[:-2, :-2] + cells[:-2, 1:-1] + cells[:-2, 2:] + cells[1:-1, :-2]
            + cells[1:-1, 2:] + cells[2:, :-2] + cells[2:, 1:-1] + cells[2:, 2:]
        )  # fmt: skip
        birth = (count == 3) & (inside == 0)
        survive = ((count == 2) | (count == 3)) & (inside == 1)
        cells[...] = 0
        inside[birth | survive] = 1


@program(
    arguments=lambda rng: (rng.integers(0, 2, (6, 7)), 3),
    others=[lambda rng: (np.ones((1, 1), np.int64), 2), lambda rng: (rng.integers(0, 2, (3, 3)), 0)],
    features=["trip count is an argument"],
)
def life_with_loops(grid, generations):
    """Everything by hand; outside the grid nobody lives."""
    rows, columns = grid.shape
    for _ in range(generations):
        new = np.zeros_like(grid)
        for r in range(rows):
            for c in range(columns):
                alive = 0
                for i in range(max(r - 1, 0), min(r + 2, rows)):
                    for j in range(max(c - 1, 0), min(c + 2, columns)):
                        if not (i == r and j == c):
                            alive += grid[i, j]
                if alive == 3 or (grid[r, c] and alive == 2):
                    new[r, c] = 1
        grid = new
    return grid


@program(
    arguments=lambda rng: (110, 15, 6),
    others=[lambda rng: (30, 7, 3), lambda rng: (0, 5, 2), lambda rng: (255, 3, 0)],
    features=["trip count is an argument"],
)
def elementary_automaton(rule, width, steps):
    """Wolfram's numbered rules on a ring."""
    table = np.array([(rule >> k) & 1 for k in range(8)], dtype=np.uint8)
    history = np.zeros((steps + 1, width), dtype=np.uint8)
    history[0, width // 2] = 1
    for t in range(steps):
        row = history[t]
        history[t + 1] = table[4 * np.roll(row, 1) + 2 * row + np.roll(row, -1)]
    return history


@program(
    arguments=lambda rng: (50,),
    others=[lambda rng: (2,), lambda rng: (3,), lambda rng: (30,)],
)
def sieve(n):
    """Primes below n; multiples are struck out with a strided slice."""
    prime = np.ones(n, dtype=bool)
    prime[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if prime[i]:
            prime[i * i :: i] = False
    return np.flatnonzero(prime)


@program(
    arguments=lambda rng: (9, 30),
    others=[lambda rng: (3, 0), lambda rng: (5, 8)],
    features=["trip count is an argument"],
)
def langtons_ant(size, steps):
    grid = np.zeros((size, size), dtype=np.int8)
    y = x = size // 2
    dy, dx = -1, 0
    for _ in range(steps):
        if grid[y, x]:
            dy, dx = -dx, dy
        else:
            dy, dx = dx, -dy
        grid[y, x] = 1 - grid[y, x]
        y, x = (y + dy) % size, (x + dx) % size
    return grid, (y, x)


@program(
    arguments=lambda rng: (rng.integers(0, 9, (5, 5)),),
    others=[lambda rng: (np.zeros((2, 2), int),), lambda rng: (np.full((3, 3), 8),)],
)
def sandpile(pile):
    """Topples in place until no heap has four grains; how many grains fell off and how many rounds it took."""
    rounds = lost = 0
    while (unstable := pile >= 4).any():
        fall = pile // 4
        before = pile.sum()
        pile -= 4 * fall
        pile[1:] += fall[:-1]
        pile[:-1] += fall[1:]
        pile[:, 1:] += fall[:, :-1]
        pile[:, :-1] += fall[:, 1:]
        lost += before - pile.sum()
        rounds += int(unstable.any())
    return lost, rounds


@program(
    arguments=lambda rng: (rng.random((6, 6)), rng.random((4, 6, 6)), 0.3),
    others=[
        lambda rng: (np.zeros((2, 2)), np.ones((1, 2, 2)), 0.5),
        lambda rng: (np.ones((3, 3)), np.zeros((0, 3, 3)), 0.1),
    ],
)
def forest_fire(start, chances, growth):
    """0 bare, 1 tree, 2 fire; the chances are given."""
    forest = (start > 0.4).astype(np.int8)
    forest[0, 0] = 2
    for chance in chances:
        burning = forest == 2
        near = np.zeros_like(burning)
        near[1:] |= burning[:-1]
        near[:-1] |= burning[1:]
        near[:, 1:] |= burning[:, :-1]
        near[:, :-1] |= burning[:, 1:]
        after = forest.copy()
        after[burning] = 0
        after[(forest == 0) & (chance < growth)] = 1
        after[(forest == 1) & near] = 2
        forest = after
    return forest, np.bincount(forest.ravel(), minlength=3)
