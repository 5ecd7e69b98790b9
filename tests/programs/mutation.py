"""Every way of writing into an array."""

from __future__ import annotations

import numpy as np

from programs._program import program


@program(
    arguments=lambda rng: (rng.random((4, 5)), rng.random(5)),
    others=[
        lambda rng: (np.zeros((4, 3)), np.ones(3)),
        lambda rng: (rng.random((5, 4)).astype(np.float32), rng.random(4)),
    ],
    trace=True,
)
def write_every_way(a, w):
    """An element, a row, a column, a slice, a mask, an index list, everything; negative numbers and steps too."""
    a[0, 0] = 7
    a[1] = w
    a[:, -1] = 2
    a[2, :2] += w[:2]
    a[2:, ::2] *= 3
    a[a > 2.5] = -1.0
    a[[0, 3], 1] = 9
    a[-1, ::-1] = w
    a[..., 0] -= 1


@program(
    arguments=lambda rng: (rng.random(6), rng.random(6), np.zeros(6)),
    others=[
        lambda rng: (rng.random(1), rng.random(1), rng.random(1)),
        lambda rng: (rng.random(3).astype(np.float32), rng.random(3).astype(np.float32), np.zeros(3)),
    ],
    trace=True,
)
def out_arguments(x, y, z):
    """The result of each step has a place; the last one is computed onto its own input."""
    np.add(x, y, out=z)
    np.multiply(z, 2.0, out=z)
    np.sqrt(z, z)
    np.cumsum(x, out=x)
    t = np.subtract(y, z, out=np.empty_like(z))
    return np.clip(t, -0.5, 0.5, out=t)


@program(
    arguments=lambda rng: (rng.random(7), rng.random((3, 4))),
    others=[
        lambda rng: (np.zeros(2), np.zeros((1, 1))),
        lambda rng: (rng.integers(0, 9, 5), rng.integers(0, 9, (2, 6))),
    ],
    trace=True,
)
def sort_and_fill(a, table):
    """In place: a vector, then each row, then each column; what is left is filled."""
    a.sort()
    table.sort()
    table.sort(axis=0)
    b = np.empty_like(a)
    b.fill(a[0])
    return b


@program(
    arguments=lambda rng: (rng.random(8), 3),
    others=[
        lambda rng: (np.arange(4), 1),
        lambda rng: (np.arange(5.0), 0),
        lambda rng: (rng.random(3).astype(np.float32), 5),
    ],
    features=["overlap", "trip count is an argument"],
)
def shift_in_place(a, times):
    """Right, by writing an array onto itself one further; then the halves change places."""
    for _ in range(times):
        last = a[-1]
        a[1:] = a[:-1]
        a[0] = last
    h = len(a) // 2
    a[:h], a[-h:] = a[-h:].copy(), a[:h].copy()
    a[::-1] = a


@program(
    arguments=lambda rng: (rng.random((3, 3)), rng.random((3, 3))),
    others=[lambda rng: (np.ones((2, 4)), np.ones((4, 2))), lambda rng: (np.ones((1, 2), int), np.ones((3, 2), int))],
    trace=True,
)
def chained(a, b):
    """One value into several places, left to right."""
    a[0] = b[:, 1] = 0
    a[-1, -1] = b[0, 0] = c = 5
    return c


@program(
    arguments=lambda rng: (
        rng.random(5) * 10,
        np.zeros(5, np.float32),
        np.zeros(5, np.int32),
        np.zeros(5, np.complex64),
    ),
    others=[
        lambda rng: (np.array([0.1]), np.zeros(1, np.float32), np.zeros(1, np.int32), np.zeros(1, np.complex64)),
        lambda rng: (-rng.random(3) * 9, np.ones(3, np.float32), np.ones(3, np.int32), np.ones(3, np.complex64)),
    ],
    features=["narrowing write"],
    trace=True,
)
def narrowing(x, single, whole, z):
    """Every write rounds or cuts to what the buffer holds."""
    single[:] = x * (1 / 3)
    whole[:] = x
    whole[0] = x.max() + 0.9
    z[:] = x + 1j * x / 3
    single += x
    return single.sum(), whole.sum()


@program(
    arguments=lambda rng: (rng.random(12),),
    others=[lambda rng: (np.arange(12),), lambda rng: (np.zeros(12, np.float32),)],
    features=["write through a view"],
    trace=True,
)
def set_shape(x):
    """The same numbers under another shape; a row is written, and it is flat again."""
    y = x.copy()
    y.shape = 3, 4
    y[1] = y[:, 0].sum()
    y.shape = (-1,)
    return y


def axpy(alpha, x, y):
    for i in range(len(x)):
        y[i] += alpha * x[i]


def normalise(v):
    total = v.sum()
    if total > 0:
        v /= total


@program(
    arguments=lambda rng: (rng.random((3, 4)), rng.random(4)),
    others=[
        lambda rng: (np.zeros((2, 2)), np.zeros(2)),
        lambda rng: (rng.random((1, 3)).astype(np.float32), np.ones(3)),
    ],
    features=["write through a view"],
)
def helpers_that_write(table, v):
    """Rows are handed to functions which write into them."""
    for row in table:
        axpy(2.0, v, row)
        normalise(row)
    normalise(v)


@program(
    arguments=lambda rng: (rng.random(6), rng.random(6), True),
    others=[lambda rng: (rng.random(3), -np.ones(3), True), lambda rng: (rng.random(3), rng.random(3), False)],
)
def write_one_or_the_other(a, b, flag):
    """Which argument changes is decided on the way."""
    target = a if flag else b
    if b.sum() > 0:
        target += 1
        b[b > 0.5] = 0
    else:
        target[:2] = b[-2:]
    a = a * 100
    a[0] = -1
    return a


@program(
    arguments=lambda rng: (rng.integers(0, 5, 9), rng.random(9)),
    others=[lambda rng: (np.zeros(3, np.int64), np.ones(3)), lambda rng: (np.zeros(0, np.int64), np.zeros(0))],
    trace=True,
)
def repeated_indices(index, values):
    """The last write wins with a[index] = v; a[index] += v counts once; ufunc.at counts all."""
    last = np.zeros(5)
    last[index] = values
    once = np.zeros(5)
    once[index] += values
    every = np.zeros(5)
    np.add.at(every, index, values)
    np.subtract.at(every, index[:1], 1.0)
    return last, once, every


@program(
    arguments=lambda rng: (rng.random((4, 4)), np.arange(4)),
    others=[
        lambda rng: (np.eye(2), np.array([1, 0])),
        lambda rng: (rng.random((3, 3)).astype(np.float32), np.zeros(3, int)),
    ],
)
def swaps(a, order):
    """Rows and columns trade places, and a row that was copied does not follow."""
    a[[0, 1]] = a[[1, 0]]
    a[:, 0], a[:, 1] = a[:, 1].copy(), a[:, 0].copy()
    kept = a[0].copy()
    row = a[0]
    row[:] = 0
    for i, j in enumerate(order):
        a[i, i], a[j, j] = a[j, j], a[i, i]
    a[a == 0] = kept.mean()
    return kept, row


@program(
    arguments=lambda rng: (rng.random((3, 5)), [rng.random(2), rng.random(3)], {"w": rng.random(4), "b": 0.5}),
    others=[
        lambda rng: (np.zeros((1, 1)), [np.zeros(1), np.ones(1)], {"w": np.ones(2), "b": -1.0}),
        lambda rng: (rng.integers(0, 3, (2, 2)), [np.ones(3), np.ones(4)], {"w": np.zeros(1), "b": 2.0}),
    ],
    trace=True,
    script=False,
)
def containers(table, vectors, weights):
    """Arrays inside lists and dicts are written where they are; a number in the dict is replaced."""
    for k, v in enumerate(vectors):
        v[0] = k + table[0, 0]
    weights["w"] -= 0.1 * weights["w"]
    first, *rest = vectors
    rest[0] *= 2
    total, *_ = table.sum(axis=0)
    return {"first": first, "total": total, "b": weights["b"] + 1}
