"""Small simulations and reports: objects that change with every step, searches that end early, text that is printed."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from programs._program import program


class Cell(IntEnum):
    """What stands in a field of a maze."""

    EMPTY = 0
    WALL = 1
    GOAL = 2


def _maze(rng):
    grid = np.zeros((5, 5), np.int8)
    grid[1, :4] = Cell.WALL
    grid[3, 1:] = Cell.WALL
    grid[4, 4] = Cell.GOAL
    return (grid,)


@program(
    arguments=_maze,
    others=[
        lambda rng: (np.array([[0, 2]], np.int8),),
        lambda rng: (np.array([[0, 1], [1, 2]]),),
        lambda rng: (np.zeros((2, 2), np.uint8), True),
    ],
)
def way_out(grid, must=False):
    """Breadth first, with the queue in an array; four neighbours by a loop over pairs."""
    h, w = grid.shape
    steps = np.full((h, w), -1)
    queue = np.empty((h * w, 2), dtype=np.intp)
    head, tail = 0, 1
    queue[0] = 0
    steps[0, 0] = 0
    while head < tail:
        i, j = queue[head]
        head += 1
        if grid[i, j] == Cell.GOAL:
            return steps[i, j], head
        for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            a, b = i + di, j + dj
            if a < 0 or b < 0 or a >= h or b >= w:
                continue
            if grid[a, b] == Cell.WALL or steps[a, b] >= 0:
                continue
            steps[a, b] = steps[i, j] + 1
            queue[tail] = a, b
            tail += 1
    if must:
        raise RuntimeError("no way out")
    return np.int64(-1), head


OPERATIONS = {"push": 0, "add": 1, "mul": 2, "jump": 3, "halt": 4}


@program(
    arguments=lambda rng: (np.array([[0, 3], [0, 4], [1, 0], [0, 2], [2, 0], [4, 0]]),),
    others=[
        lambda rng: (np.array([[0, 1], [3, 0]]), 7),
        lambda rng: (np.array([[1, 0]]),),
        lambda rng: (np.array([[9, 0]]),),
    ],
)
def machine(code, fuel=100):
    """A machine with a stack; what it runs is an array of numbers."""
    stack = np.zeros(16, dtype=np.int64)
    top = at = 0
    while fuel > 0:
        fuel -= 1
        operation, argument = code[at]
        at += 1
        if operation == OPERATIONS["push"]:
            stack[top] = argument
            top += 1
        elif operation == OPERATIONS["add"] or operation == OPERATIONS["mul"]:
            if top < 2:
                raise IndexError("nothing to compute with")
            a, b = stack[top - 1], stack[top - 2]
            stack[top - 2] = a + b if operation == OPERATIONS["add"] else a * b
            top -= 1
        elif operation == OPERATIONS["jump"]:
            at = int(argument)
        elif operation == OPERATIONS["halt"]:
            break
        else:
            raise NotImplementedError("no such operation")
    return stack[:top], fuel


@program(
    arguments=lambda rng: (np.arange(6.0), 3),
    others=[lambda rng: (np.arange(6.0), 4), lambda rng: (np.arange(2.0), 1), lambda rng: (np.arange(6), 2)],
)
def ledger(accounts, limit):
    """It may fail half way; what it has moved until then is moved."""
    moved = 0
    for i in range(len(accounts) - 1):
        accounts[i] -= 1
        accounts[i + 1] += 1
        moved += 1
        if accounts[i] < 0 and moved >= limit:
            raise ValueError(f"account {i} is at {accounts[i]:.1f}")
    return moved


class Walkers:
    """Random walkers on a grid."""

    def __init__(self, seed, n):
        self.rng = np.random.default_rng(seed)
        self.place = np.zeros((n, 2), dtype=np.int32)
        self.time = 0

    def step(self):
        way = self.rng.integers(0, 4, size=len(self.place))
        self.place[:, 0] += (way == 0).astype(np.int32) - (way == 1)
        self.place[:, 1] += (way == 2).astype(np.int32) - (way == 3)
        self.time += 1
        return self

    def are_out(self, radius):
        return np.hypot(self.place[:, 0], self.place[:, 1]) >= radius


@program(
    arguments=lambda rng: (1, 5, 4),
    others=[lambda rng: (2, 1, 2, 1), lambda rng: (3, 0, 5), lambda rng: (1, 8, 0), lambda rng: (1, 3, 40)],
    features=["trip count is an argument"],
)
def first_exits(seed, n, steps, radius=3):
    walkers = Walkers(seed, n)
    first = np.full(n, -1)
    for _ in range(steps):
        walkers.step()
        out = walkers.are_out(radius)
        first[out & (first < 0)] = walkers.time
        if out.all():
            break
    return walkers.place, first, walkers.time


@program(
    arguments=lambda rng: (rng.standard_normal(40), 5),
    others=[lambda rng: (np.arange(10), 3), lambda rng: (np.array([1.0, 1.0]), 2)],
)
def bar_chart(x, bins):
    """As many lines as the caller asks for."""
    counts, edges = np.histogram(x, bins=bins)
    for count, low, high in zip(counts, edges[:-1], edges[1:], strict=True):
        print(f"[{low:6.2f}, {high:6.2f}) {count:3d}")
    print("total:", counts.sum(), end=".\n")
    return np.repeat(edges[:-1], 2), counts


@program(
    arguments=lambda rng: (np.arange(12.0).reshape(3, 4),),
    others=[
        lambda rng: (np.ones((2, 2), np.int8),),
        lambda rng: (np.asfortranarray(np.arange(6.0).reshape(2, 3)),),
        lambda rng: (np.arange(24.0).reshape(6, 4)[::2],),
    ],
)
def rows_and_columns(a):
    """Lists and dicts of views: each is part of the same table."""
    rows = [a[i] for i in range(a.shape[0])]
    columns = {j: a[:, j] for j in range(a.shape[1])}
    rows[0][:] = 1
    columns[1] += 5
    for row in rows:
        row[0] = row.sum()
    for j, column in columns.items():
        column[-1] -= j
    first, *rest = rows
    first += rest[0]
    return [row.copy() for row in rows], columns[0].copy()


@program(
    arguments=lambda rng: (np.array([5.0, 3.0, 8.0, 1.0]), 4),
    others=[lambda rng: (np.array([1.0]), 2), lambda rng: (np.zeros(0), 2), lambda rng: (np.ones(9), 3)],
)
def take_while(x, limit):
    """A loop and a branch whose tests assign."""
    i, total = 0, 0.0
    while i < len(x) and (v := x[i]) < limit * 2 and not (total > 100 or v == -1):
        total += v
        if 2 <= v <= 6 and (half := v / 2) > 1:
            total -= half
        i += 1
    return i, total


class Account:
    """Counts what it is asked for."""

    def __init__(self):
        self.total, self.asked = 0.0, 0

    def add(self, by):
        self.total = self.total + by
        self.asked += 1
        return self.total


@program(
    arguments=lambda rng: (np.array([1.0, -2.0, 3.0]),),
    others=[lambda rng: (np.array([-1.0, -2.0]),), lambda rng: (np.zeros(0),), lambda rng: (np.arange(12.0),)],
)
def effects_in_tests(x):
    """Methods that change their object, called in one side of `if`, `and` and `or`."""
    gains, losses = Account(), Account()
    for v in x:
        _ = gains.add(v) if v > 0 else losses.add(-v)
        if v > 1 and gains.add(10.0) > 20:
            losses.add(1.0)
        _ = v < 0 or losses.add(2.0) > 100
    return gains.total, gains.asked, losses.total, losses.asked


@program(
    arguments=lambda rng: (rng.random((3, 4)), 2),
    others=[
        lambda rng: (rng.random((4, 3)).T, 3),
        lambda rng: (rng.random((1, 4)), 1),
        lambda rng: (rng.random((3, 8))[:, ::2], 4),
    ],
)
def flattened(a, k):
    """Whether these are views of the caller's array depends on how it lies in memory."""
    a.ravel()[0] = 5
    a.T.reshape(-1)[1:] += 1
    for j in range(k - 1):
        column = np.ascontiguousarray(a[:, j])
        column *= 2
    a[:, :k].ravel()[-1] = -1
    np.ascontiguousarray(a[0])[1] = 9
    return a.sum()
