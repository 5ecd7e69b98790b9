"""Recurrent cells and convolutional layers with their loops written out."""

from __future__ import annotations

import numpy as np

from programs._program import program


def _arrays(*shapes, dtype=np.float64):
    return lambda rng: tuple((0.5 * rng.standard_normal(shape)).astype(dtype) for shape in shapes)


@program(
    arguments=_arrays((5, 3), (4, 3), (4, 4), (4,), (2, 4)),
    others=[
        _arrays((1, 1), (1, 1), (1, 1), (1,), (1, 1)),
        _arrays((0, 2), (3, 2), (3, 3), (3,), (2, 3)),
        _arrays((4, 2), (3, 2), (3, 3), (3,), (1, 3), dtype=np.float32),
    ],
)
def rnn(xs, w_in, w_rec, bias, w_out):
    """All outputs, and the last state."""
    h = np.zeros(w_rec.shape[0], dtype=xs.dtype)
    ys = np.zeros((len(xs), w_out.shape[0]), dtype=xs.dtype)
    for t, x in enumerate(xs):
        h = np.tanh(w_in @ x + w_rec @ h + bias)
        ys[t] = w_out @ h
    return ys, h


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_cell(x, h, c, w, b):
    gates = np.concatenate([x, h]) @ w + b
    i, f, g, o = np.split(gates, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(c)
    return h, c


@program(
    arguments=_arrays((6, 3), (7, 16), (16,)),
    others=[_arrays((1, 2), (3, 4), (4,)), _arrays((3, 1), (3, 8), (8,), dtype=np.float32)],
)
def lstm(xs, w, b):
    n = b.shape[0] // 4
    h, c = np.zeros(n), np.zeros(n)
    hs = []
    for t in range(xs.shape[0]):
        h, c = lstm_cell(xs[t], h, c, w, b)
        hs.append(h)
    return np.stack(hs), (h, c)


@program(
    arguments=_arrays((4, 2, 3), (3, 15), (5, 15), (15,)),
    others=[_arrays((1, 1, 1), (1, 3), (1, 3), (3,)), _arrays((3, 2, 2), (2, 6), (2, 6), (6,), dtype=np.float32)],
)
def gru(xs, w, u, b):
    """A batch of sequences; three gates cut from one product, backwards in time."""
    n = u.shape[0]
    h = np.zeros((xs.shape[1], n), xs.dtype)
    for x in reversed(xs):
        a, r = x @ w + b, h @ u
        z = sigmoid(a[:, :n] + r[:, :n])
        reset = sigmoid(a[:, n : 2 * n] + r[:, n : 2 * n])
        candidate = np.tanh(a[:, 2 * n :] + reset * r[:, 2 * n :])
        h = (1 - z) * h + z * candidate
    return h


@program(
    arguments=_arrays((2, 6, 5, 3), (3, 3, 3, 4), (4,)),
    others=[_arrays((1, 2, 2, 1), (2, 2, 1, 1), (1,)), _arrays((1, 4, 4, 2), (1, 3, 2, 2), (2,), dtype=np.float32)],
)
def conv2d_bias(images, weights, bias):
    """Images, height, width, channels; a window at a time."""
    kh, kw = weights.shape[:2]
    rows, columns = images.shape[1] - kh + 1, images.shape[2] - kw + 1
    out = np.zeros((len(images), rows, columns, len(bias)), images.dtype)
    for r in range(rows):
        for c in range(columns):
            patch = images[:, r : r + kh, c : c + kw, :]
            out[:, r, c] = np.tensordot(patch, weights, axes=3) + bias
    return out


@program(
    arguments=lambda rng: (rng.random((6, 7)), rng.random((3, 3)), 1, 1),
    others=[
        lambda rng: (rng.random((5, 5)), rng.random((2, 2)), 2, 0),
        lambda rng: (rng.integers(0, 9, (4, 4)), rng.integers(-1, 2, (3, 3)), 1, 2),
        lambda rng: (rng.random((3, 3)).astype(np.float32), rng.random((3, 3)).astype(np.float32), 3, 0),
    ],
)
def conv2d_scalar(image, kernel, stride, padding):
    """Six numbers deep: every product by itself, and what falls outside the image is nothing."""
    kh, kw = kernel.shape
    rows = (image.shape[0] + 2 * padding - kh) // stride + 1
    columns = (image.shape[1] + 2 * padding - kw) // stride + 1
    out = np.zeros((rows, columns), image.dtype)
    for r in range(rows):
        for c in range(columns):
            total = image.dtype.type(0)
            for i in range(kh):
                for j in range(kw):
                    y, x = r * stride + i - padding, c * stride + j - padding
                    if 0 <= y < image.shape[0] and 0 <= x < image.shape[1]:
                        total += image[y, x] * kernel[i, j]
            out[r, c] = total
    return out


def relu(x):
    return np.maximum(x, 0)


def maxpool2d(x, size=2):
    """Rows and columns that do not fill a window are dropped."""
    n, rows, columns, channels = x.shape
    out = np.empty((n, rows // size, columns // size, channels), x.dtype)
    for r in range(out.shape[1]):
        for c in range(out.shape[2]):
            window = x[:, r * size : (r + 1) * size, c * size : (c + 1) * size]
            out[:, r, c] = window.max(axis=(1, 2))
    return out


@program(
    arguments=lambda rng: (rng.random((2, 6, 4, 3)),),
    others=[lambda rng: (rng.random((1, 1, 1, 1)),), lambda rng: (rng.integers(-9, 9, (1, 5, 5, 2)),)],
)
def pooled(x):
    return maxpool2d(relu(x))


@program(
    arguments=lambda rng: (rng.random((2, 8, 8, 1)), *_arrays((3, 3, 1, 2), (2,), (18, 5), (5,))(rng)),
    others=[
        lambda rng: (rng.random((1, 4, 4, 1)), *_arrays((3, 3, 1, 2), (2,), (2, 3), (3,))(rng)),
        lambda rng: (
            rng.random((3, 6, 6, 2)).astype(np.float32),
            *_arrays((3, 3, 2, 1), (1,), (4, 2), (2,), dtype=np.float32)(rng),
        ),
    ],
)
def small_network(images, kernel, kernel_bias, dense, dense_bias):
    """Convolution, pooling, a dense layer; the class of each image and how sure the network is."""
    features = maxpool2d(relu(conv2d_bias(images, kernel, kernel_bias)))
    scores = features.reshape(len(images), -1).dot(dense) + dense_bias
    scores -= scores.max(axis=1, keepdims=True)
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    guess = chances.argmax(axis=1)
    return guess, chances[np.arange(len(guess)), guess]


@program(
    arguments=_arrays((12,), (3,)),
    others=[_arrays((3,), (3,)), _arrays((8,), (2,), dtype=np.float32), lambda rng: (np.arange(6), np.array([1, -1]))],
    trace=True,
)
def causal_dilated(x, kernel):
    """A stack of causal convolutions whose reach doubles: 1, 2, 4."""
    for dilation in (1, 2, 4):
        padded = np.concatenate([np.zeros((len(kernel) - 1) * dilation, x.dtype), x])
        x = sum(kernel[k] * padded[k * dilation : k * dilation + len(x)] for k in range(len(kernel)))
    return x
