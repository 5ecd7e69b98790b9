"""Views: slices, transposes, reshapes and strides that share their base's memory."""

from __future__ import annotations

import numpy as np

from programs._program import program


@program(
    arguments=lambda rng: (rng.random(9),),
    others=[lambda rng: (np.arange(5),), lambda rng: (np.zeros(6, np.float32),)],
    features=["write through a view", "write through a strided view"],
    trace=True,
)
def slices_of_slices(a):
    """A view of a view of a view, read and written after each other's writes."""
    v = a[1:]
    v[0] = 3
    w = v[::2]
    w[1] = a[1] + 1
    w[1:][0] += 10
    a[3] = 5
    a[::-1][0] = -1
    return v.sum(), w


@program(
    arguments=lambda rng: (rng.random((3, 4)),),
    others=[lambda rng: (np.zeros((2, 2), int),), lambda rng: (rng.random((5, 3)).astype(np.float32),)],
    features=["write through a transposed view", "write through a view"],
    trace=True,
)
def transposed(a):
    """Columns written as rows of the transpose; an added axis and swapped axes as well."""
    t = a.T
    t[0] = 1
    t[1:, 0] += 2
    np.swapaxes(a, 0, 1)[-1] = 7
    a[:, None, :][0, 0, 1] = 4
    return t


@program(
    arguments=lambda rng: (rng.random((4, 6)),),
    others=[lambda rng: (np.arange(8).reshape(2, 4),), lambda rng: (np.zeros((6, 2)),)],
    features=["write through a reshaped view", "write through a view"],
    trace=True,
)
def reshaped(a):
    """Flat numbering, blocks, and a copy that does not write back."""
    flat = a.reshape(-1)
    flat[3] = 100
    flat[::5] = -1
    a.ravel()[1] = 50
    blocks = a.reshape(a.shape[0] // 2, 2, a.shape[1] // 2, 2)
    blocks[0, :, 0, :] *= 2
    copied = a.T.reshape(-1)
    copied[0] = 12345
    return copied[:2].sum(), a.flatten()[:3]


@program(
    arguments=lambda rng: (rng.random((5, 5)),),
    others=[lambda rng: (np.zeros((1, 1)),), lambda rng: (np.arange(16).reshape(4, 4),)],
    features=["write through a strided view", "write through a reshaped view"],
    trace=True,
)
def diagonal_by_stride(a):
    """The diagonal of a square is every (n + 1)th element of the flat array."""
    n = len(a)
    a.reshape(-1)[:: n + 1] += 10
    a[::2, 1::2][...] = 0
    return np.trace(a)


@program(
    arguments=lambda rng: (rng.random((6, 6)), 2),
    others=[lambda rng: (np.ones((3, 3)), 0), lambda rng: (np.ones((5, 5), int), 4)],
    features=["write through a view"],
)
def frames(a, depth):
    """Rings from outside in, each through the view the one before left."""
    view = a
    for k in range(depth):
        if min(view.shape) < 1:
            break
        view += k
        view = view[1:-1, 1:-1]
    return a


@program(
    arguments=lambda rng: (np.zeros(10), rng.random(10) > 0.5),
    others=[lambda rng: (np.ones(4), np.zeros(4, bool)), lambda rng: (np.zeros(2), np.ones(2, bool))],
    features=["write through a view"],
    trace=True,
)
def copies_are_not_views(a, mask):
    """Mask and index selections are copies: writing into them leaves the base alone."""
    picked = a[mask]
    picked[:] = 9
    listed = a[[0, 1]]
    listed[0] = 8
    half = a[: len(a) // 2]
    half[0] = 7
    half = half + 1
    half[0] = 6
    a[mask] += 0.5
    return picked.sum(), listed, half


@program(
    arguments=lambda rng: (rng.random((4, 4)), rng.random((4, 4)), 4),
    others=[lambda rng: (np.zeros((3, 3)), np.ones((3, 3)), 1), lambda rng: (np.ones((2, 3)), np.zeros((2, 3)), 0)],
    features=["trip count is an argument", "write through a view"],
)
def double_buffer(a, b, steps):
    """Two names change places each round; which buffer holds the result depends on the count."""
    new, old = a, b
    for _ in range(steps):
        new[1:-1, 1:-1] = 0.5 * (old[:-2, 1:-1] + old[2:, 1:-1])
        new, old = old, new
    return old.sum()


@program(
    arguments=lambda rng: (rng.random((3, 4)) + 1j * rng.random((3, 4)),),
    others=[lambda rng: (np.ones((1, 1), complex),), lambda rng: (np.zeros((2, 3), np.complex64),)],
    features=["write through a view"],
    trace=True,
)
def parts_of_complex(z):
    """Real and imaginary parts are views."""
    z.real[0] = 2
    z.imag *= -1
    z.real += z.imag
    return np.abs(z), z.conj().imag


@program(
    arguments=lambda rng: (rng.random((4, 6)), rng.random((2, 3))),
    others=[
        lambda rng: (np.zeros((2, 2)), np.ones((2, 2))),
        lambda rng: (np.arange(12).reshape(3, 4), np.ones((3, 4), int)),
    ],
)
def scatter_blocks(a, block):
    """A small block is added wherever it fits whole."""
    h, w = block.shape
    for i in range(0, a.shape[0] - h + 1, h):
        for j in range(0, a.shape[1] - w + 1, w):
            a[i : i + h, j : j + w] += block * (i + j)
    return np.flipud(a), np.rot90(a)[0]


@program(
    arguments=lambda rng: (rng.random((5, 3)),),
    others=[
        lambda rng: (np.ones((2, 2)),),
        lambda rng: (rng.random((3, 4)).astype(np.float32),),
        lambda rng: (np.zeros((0, 2)),),
    ],
    features=["write through a transposed view", "write through a view"],
)
def standardise_columns(table):
    """Loops over the transpose and writes each column in place; one that does not vary is only centred."""
    for column in table.T:
        if column.size == 0:
            continue
        column -= column.mean()
        spread = column.std()
        if spread > 0:
            column /= spread
