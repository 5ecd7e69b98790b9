"""Machine learning from scratch."""

from __future__ import annotations

import numpy as np

from programs._program import program


@program(
    arguments=lambda rng: (rng.standard_normal((20, 2)), 3, 10),
    others=[
        lambda rng: (rng.standard_normal((4, 1)), 4, 5),
        lambda rng: (np.ones((5, 2)), 2, 3),
        lambda rng: (rng.standard_normal((8, 3)).astype(np.float32), 1, 0),
    ],
    features=["trip count is an argument"],
)
def kmeans(x, k, limit):
    """Lloyd's iteration from the first k points; a cluster that lost all its points stays where it was."""
    centres = x[:k].copy()
    labels = np.zeros(len(x), dtype=int)
    for _ in range(limit):
        distances = ((x[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        labels = distances.argmin(axis=1)
        old = centres.copy()
        for j in range(k):
            mine = x[labels == j]
            if len(mine) > 0:
                centres[j] = mine.mean(axis=0)
        if np.allclose(old, centres):
            break
    return centres, labels


@program(
    arguments=lambda rng: (rng.random((12, 3)), rng.integers(0, 3, 12), rng.random((5, 3)), 3),
    others=[
        lambda rng: (rng.random((4, 1)), np.array([0, 1, 0, 1]), rng.random((0, 1)), 1),
        lambda rng: (
            rng.random((6, 2)).astype(np.float32),
            rng.integers(0, 2, 6),
            rng.random((2, 2)).astype(np.float32),
            6,
        ),
    ],
)
def knn(train, labels, queries, k):
    """The most frequent label among the nearest k."""
    predictions = []
    for q in queries:
        distance = np.sqrt(np.sum((train - q) ** 2, axis=1))
        nearest = np.argsort(distance, kind="stable")[:k]
        predictions.append(np.bincount(labels[nearest]).argmax())
    return np.array(predictions, dtype=np.int64)


def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))


@program(
    arguments=lambda rng: (rng.standard_normal((15, 3)), (rng.random(15) > 0.5).astype(float), 0.5, 10),
    others=[
        lambda rng: (rng.standard_normal((2, 1)), np.array([0.0, 1.0]), 0.1, 0),
        lambda rng: (rng.standard_normal((6, 2)).astype(np.float32), np.ones(6, np.float32), 1.0, 4),
    ],
    features=["trip count is an argument"],
)
def logistic_regression(x, y, rate, epochs):
    n, d = x.shape
    w = np.zeros(d)
    b = 0.0
    losses = []
    for _ in range(epochs):
        p = sigmoid(x @ w + b)
        losses.append(-np.mean(y * np.log(p + 1e-12) + (1 - y) * np.log(1 - p + 1e-12)))
        error = p - y
        w -= rate * (x.T @ error) / n
        b -= rate * error.mean()
    return w, b, losses


@program(
    arguments=lambda rng: (rng.standard_normal((10, 2)), np.where(rng.random(10) > 0.5, 1, -1), 10),
    others=[
        lambda rng: (np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([1, -1]), 5),
        lambda rng: (rng.standard_normal((3, 4)), np.array([1, 1, 1]), 0),
    ],
    features=["trip count is an argument"],
)
def perceptron(x, y, epochs):
    """Stops after an epoch without a mistake."""
    w = np.zeros(x.shape[1])
    bias = 0
    for epoch in range(epochs):  # noqa: B007 it is read after the loop
        mistakes = 0
        for xi, yi in zip(x, y, strict=True):
            if yi * (xi @ w + bias) <= 0:
                w += yi * xi
                bias += yi
                mistakes += 1
        if not mistakes:
            break
    else:
        epoch = epochs
    return w, bias, epoch


@program(
    arguments=lambda rng: (rng.random((6, 3)), np.eye(2)[rng.integers(0, 2, 6)], 4, 0.3, 3),
    others=[
        lambda rng: (rng.random((1, 1)), np.ones((1, 1)), 2, 0.1, 1),
        lambda rng: (rng.random((3, 2)).astype(np.float32), np.ones((3, 1), np.float32), 1, 0.1, 0),
    ],
    features=["trip count is an argument"],
)
def two_layer_network(x, targets, hidden, rate, epochs):
    """Backpropagation by hand; weights from a seeded generator."""
    rng = np.random.default_rng(7)
    w1 = rng.standard_normal((x.shape[1], hidden)) * 0.5
    b1 = np.zeros(hidden)
    w2 = rng.standard_normal((hidden, targets.shape[1])) * 0.5
    b2 = np.zeros(targets.shape[1])
    loss = np.inf
    for _ in range(epochs):
        h = np.maximum(x @ w1 + b1, 0)
        logits = h @ w2 + b2
        shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
        p = shifted / shifted.sum(axis=1, keepdims=True)
        loss = -np.sum(targets * np.log(p)) / len(x)
        d_logits = (p - targets) / len(x)
        d_h = (d_logits @ w2.T) * (h > 0)
        w2 -= rate * h.T @ d_logits
        b2 -= rate * d_logits.sum(axis=0)
        w1 -= rate * x.T @ d_h
        b1 -= rate * d_h.sum(axis=0)
    return loss, w1, w2


@program(
    arguments=lambda rng: (rng.standard_normal((6, 4)), rng.standard_normal((6, 4)), rng.standard_normal((6, 3)), True),
    others=[
        lambda rng: (rng.standard_normal((1, 2)), rng.standard_normal((1, 2)), rng.standard_normal((1, 2)), True),
        lambda rng: (*(rng.standard_normal((3, 2)).astype(np.float32) for _ in range(3)), False),
    ],
    trace=True,
)
def attention(q, k, v, causal):
    scores = q @ k.T / np.sqrt(q.shape[-1])
    if causal:
        n = len(scores)
        hidden = np.arange(n)[None, :] > np.arange(n)[:, None]
        scores[hidden] = -np.inf
    weights = softmax(scores, axis=-1)
    return weights @ v, weights


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


@program(
    arguments=lambda rng: (rng.random((8, 3)), np.ones(3), np.zeros(3), np.zeros(3), np.ones(3), True),
    others=[
        lambda rng: (rng.random((8, 3)), np.ones(3), np.zeros(3), rng.random(3), np.ones(3), False),
        lambda rng: (rng.random((2, 1)).astype(np.float32), *(np.ones(1, np.float32) for _ in range(4)), True),
    ],
    features=["narrowing write"],
    trace=True,
)
def batchnorm(x, gamma, beta, running_mean, running_var, training):
    """The running statistics are kept in the arguments."""
    if training:
        mean, var = x.mean(axis=0), x.var(axis=0)
        running_mean[:] = 0.9 * running_mean + np.float64(0.1) * mean
        running_var *= 0.9
        running_var += 0.1 * var
    else:
        mean, var = running_mean, running_var
    return gamma * (x - mean) / np.sqrt(var + 1e-5) + beta


@program(
    arguments=lambda rng: (rng.random((10, 2)), rng.integers(0, 2, 10)),
    others=[
        lambda rng: (np.ones((4, 1)), np.array([0, 1, 0, 1])),
        lambda rng: (rng.random((3, 3)), np.zeros(3, np.int64)),
    ],
)
def best_stump(x, y):
    """The split of a decision tree's root: feature, threshold and impurity."""

    def gini(labels):
        if labels.size == 0:
            return 0.0
        p = labels.mean()
        return 2 * p * (1 - p)

    best = (-1, 0.0, gini(y))
    for feature in range(x.shape[1]):
        for threshold in np.unique(x[:, feature]):
            left = x[:, feature] <= threshold
            impurity = (left.sum() * gini(y[left]) + (~left).sum() * gini(y[~left])) / len(y)
            if impurity < best[2] - 1e-12:
                best = (feature, threshold, impurity)
    return best


@program(
    arguments=lambda rng: (rng.standard_normal((12, 2)), np.arange(12) % 3, rng.standard_normal((4, 2)), 3),
    others=[
        lambda rng: (rng.standard_normal((4, 1)), np.array([0, 0, 1, 1]), rng.standard_normal((1, 1)), 2),
        lambda rng: (rng.standard_normal((6, 3)).astype(np.float32), np.zeros(6, np.int64), np.zeros((0, 3)), 1),
    ],
)
def naive_bayes(x, y, queries, classes):
    """Gaussian likelihoods for each class; a dict of parameters by class."""
    members = {c: x[y == c] for c in range(classes)}
    model = {c: (own.mean(axis=0), own.var(axis=0) + 1e-6, len(own) / len(x)) for c, own in members.items()}
    scores = np.stack(
        [
            np.log(prior) - 0.5 * np.sum(np.log(2 * np.pi * var) + (queries - mean) ** 2 / var, axis=1)
            for mean, var, prior in model.values()
        ],
        axis=1,
    )
    return np.argmax(scores, axis=1)
