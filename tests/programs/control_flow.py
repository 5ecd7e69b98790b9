"""Programs whose point is the way through them."""

from __future__ import annotations

import numpy as np

from programs._program import program


@program(
    arguments=lambda rng: (rng.standard_normal(6),),
    others=[lambda rng: (np.zeros(3),), lambda rng: (-np.ones(2),), lambda rng: (np.array([5.0, np.nan]),)],
)
def thermostat(x):
    """Four ways through, the last one for NaN."""
    level = x.mean()
    if level > 1:
        x = x - level
        state = 1
    elif level < -0.5:
        x += 1
        state = -1
    elif level == level:
        state = 0
    else:
        return np.zeros_like(x), 9
    return x * 2, state


@program(
    arguments=lambda rng: (rng.integers(-3, 4, 12),),
    others=[lambda rng: (np.array([0, 1]),), lambda rng: (np.zeros(0, np.int64),), lambda rng: (np.full(4, 9),)],
)
def sum_with_exits(values):
    """Negative numbers are passed over, a zero ends it, and `else` doubles a sum nothing ended."""
    total = 0
    for v in values:
        if v < 0:
            continue
        if v == 0:
            break
        total += v
    else:
        total *= 2
    return total


@program(
    arguments=lambda rng: (rng.integers(1, 30, (4, 5)), 17),
    others=[
        lambda rng: (np.arange(6).reshape(2, 3), 4),
        lambda rng: (np.zeros((0, 3), np.int64), 1),
        lambda rng: (np.eye(2), 9),
    ],
)
def find_in_table(table, wanted):
    """Out of two loops at once, by return; minus ones where it is not there."""
    for i, row in enumerate(table):
        for j, value in enumerate(row):
            if value == wanted:
                return i, j
    return -1, -1


@program(
    arguments=lambda rng: (rng.random(10), rng.random(10), 0.5),
    others=[lambda rng: (np.zeros(1), np.ones(1), 0.1), lambda rng: (np.ones(3), np.ones(3), 2.0)],
)
def logic(a, b, limit):
    """and, or, not and chained comparisons on numbers, each stopping where Python stops."""
    score = 0
    for i in range(len(a)):
        if 0 < a[i] < limit and not b[i] > limit:
            score += 1
        elif a[i] == 0 or 1 / a[i] > 3:
            score += 10
        bonus = a[i] > 0.5 and b[i] > 0.2
        score += 100 if bonus else 0
    first = int(a[0] > limit) or int(b[0] > limit) or -1
    return score, first, not (score > 10)


@program(
    arguments=lambda rng: (rng.random(5), 2),
    others=[lambda rng: (-np.ones(2), 2), lambda rng: (rng.random(3), -1), lambda rng: (np.zeros(3), 1)],
)
def checked_norm(x, p):
    """Bad input is refused: by assert for the data, by raise for the order."""
    assert (x >= 0).all(), "negative entries"
    assert np.sum(x) > 0
    if p < 1:
        raise ValueError("p must be at least 1")
    return np.sum(x**p) ** (1 / p)


@program(
    arguments=lambda rng: (2, 11, 3),
    others=[lambda rng: (11, 2, -3), lambda rng: (5, 5, 1), lambda rng: (0, -4, -1), lambda rng: (3, 0, 1)],
    features=["trip count is an argument"],
)
def any_range(start, stop, step):
    """Bounds and step are arguments."""
    out = np.zeros(12, dtype=int)
    last = -1
    visited = 0
    for i in range(start, stop, step):
        out[i] = i * i
        visited += 1
        last = i
    return out, visited, last


@program(
    arguments=lambda rng: (rng.random(7), rng.random(5), rng.random(7)),
    others=[
        lambda rng: (rng.random(2), rng.random(9), rng.random(2)),
        lambda rng: (np.zeros(0), np.ones(1), np.zeros(0)),
    ],
)
def iterate_together(a, b, c):
    """zip stops at the shorter one; reversed, enumerate with a start, and both nested."""
    dot = 0.0
    for x, y in zip(a, b, strict=False):
        dot += x * y
    backwards = 0.0
    for x in reversed(a):
        backwards = backwards / 2 + x
    weighted = 0.0
    for k, (x, z) in enumerate(zip(a, c, strict=True), start=1):
        weighted += k * (x - z)
    return dot, backwards, weighted


@program(
    arguments=lambda rng: (rng.random(4), 3),
    others=[lambda rng: (np.zeros(2), 0), lambda rng: (np.array([-1.0, 4.0]), 1)],
    features=["trip count is an argument"],
)
def talk(x, rounds):
    """Prints on the way: text and numbers, in order, inside a loop and a branch."""
    print("start", len(x))
    for r in range(rounds):
        x = x / 2 + 1
        print(f"round {r}: mean {x.mean():.4f}, first {x[0]:.3e}")
        if x.max() > 2:
            print("high", int(x.argmax()), sep="=", end=";\n")
    print("end", x.shape)
    return x


@program(
    arguments=lambda rng: (rng.standard_normal(5),),
    others=[lambda rng: (np.ones(3),), lambda rng: (-np.ones(2),), lambda rng: (np.zeros(0),)],
)
def sign_by_ternary(x):
    """Conditional expressions inside one another, and one that picks an array."""
    signs = np.empty(len(x), dtype=np.int8)
    for i in range(len(x)):
        signs[i] = 1 if x[i] > 0 else -1 if x[i] < 0 else 0
    half = x / 2 if x.sum() > 0 else -x / 2
    return signs, half


@program(
    arguments=lambda rng: (rng.random((3, 4)),),
    others=[lambda rng: (np.zeros((2, 2)),), lambda rng: (np.ones((1, 3)),), lambda rng: (rng.random((0, 2)),)],
)
def first_good_row(rows):
    """A loop with else and break on each level."""
    for k, row in enumerate(rows):
        for value in row:
            if value < 0.1:
                break
        else:
            found = k
            break
    else:
        found = -1
    return found


@program(
    arguments=lambda rng: (rng.random(8), 0.9),
    others=[
        lambda rng: (np.zeros(4), 0.5),
        lambda rng: (np.ones(2), 0.5),
        lambda rng: (rng.random(5).astype(np.float32), 0.0),
    ],
)
def halve_until_small(x, limit):
    """while True with two ways out, in the middle and at the end."""
    rounds = 0
    while True:
        norm = np.linalg.norm(x)
        if norm <= limit:
            break
        x = x / 2
        rounds += 1
        if rounds >= 5:
            return x, -rounds
    return x, rounds


@program(
    arguments=lambda rng: (rng.integers(0, 5, 20), 3),
    others=[lambda rng: (np.zeros(4, np.int64), 1), lambda rng: (np.arange(4), 0), lambda rng: (np.array([4]), 10)],
)
def state_machine(events, patience):
    """0 idle, 1 busy, 2 failed; the state decides what an event means."""
    state, waited, log = 0, 0, np.zeros(3, dtype=np.int64)
    for event in events:
        log[state] += 1
        if state == 0:
            if event >= 3:
                state, waited = 1, 0
        elif state == 1:
            waited += 1
            if event == 0:
                state = 0
            elif waited > patience:
                state = 2
        else:
            break
    return state, log
