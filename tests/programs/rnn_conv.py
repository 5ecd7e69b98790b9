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
    features=["for over an array"],
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
    features=["for over an array"],
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
    features=["traced slice bounds"],
)
def conv2d_bias(images, weights, bias):
    """Images, height, width, channels; a window at a time."""
    k_h, k_w, _, c_out = weights.shape
    n, h_in, w_in, _ = images.shape
    h_out, w_out = h_in - k_h + 1, w_in - k_w + 1
    output = np.empty((n, h_out, w_out, c_out), dtype=images.dtype)
    for i in range(h_out):
        for j in range(w_out):
            window = images[:, i : i + k_h, j : j + k_w, :, np.newaxis]
            output[:, i, j, :] = np.sum(window * weights[np.newaxis, :, :, :], axis=(1, 2, 3))
    return output + bias


@program(
    arguments=lambda rng: (rng.random((6, 7)), rng.random((3, 3)), 1, 1),
    others=[
        lambda rng: (rng.random((5, 5)), rng.random((2, 2)), 2, 0),
        lambda rng: (rng.integers(0, 9, (4, 4)), rng.integers(-1, 2, (3, 3)), 1, 2),
        lambda rng: (rng.random((3, 3)).astype(np.float32), rng.random((3, 3)).astype(np.float32), 3, 0),
    ],
    features=["a[i] = v"],
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


def maxpool2d(x):
    output = np.empty([x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]], dtype=x.dtype)
    for i in range(x.shape[1] // 2):
        for j in range(x.shape[2] // 2):
            output[:, i, j, :] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :], axis=(1, 2))
    return output


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
    """Convolution, pooling, a dense layer and the class of each image."""
    x = relu(conv2d_bias(images, kernel, kernel_bias))
    x = maxpool2d(x)
    x = np.reshape(x, (x.shape[0], -1))
    logits = x @ dense + dense_bias
    shifted = np.exp(logits - np.max(logits, axis=-1, keepdims=True))
    return np.argmax(logits, axis=1), shifted / np.sum(shifted, axis=-1, keepdims=True)


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
