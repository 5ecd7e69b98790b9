"""Cases of `ops/losses.py`; the references take one sample at a time, or a SciPy function where there is one."""

import math

import numpy as np
import scipy.special as sp
from cases import REFERENCES, case, integers, normal, uniform
from scipy.spatial import distance
from scipy.stats import norm

REFERENCES["log_loss"] = lambda x, t: -(sp.xlogy(t, x) + sp.xlog1py(1 - t, -x))


def reduced(loss, reduction):
    loss = np.asarray(loss)
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


def elementwise(f):
    """A reference that applies f to each pair of broadcast elements."""

    def reference(*arrays, reduction="mean", **kwargs):
        loss = np.vectorize(lambda *values: f(*values, **kwargs), otypes=[float])(*arrays)
        return reduced(loss, reduction).astype(np.result_type(*arrays))

    return reference


def every_reduction(name, *args, ref, **kwargs):
    for reduction in ("none", "mean", "sum"):
        case(name, *args, ref=ref, reduction=reduction, **kwargs)
    case(name, *args, ref=ref, **kwargs)


def nll(log_p, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    """One target after another; the mean divides by the weights of those that count."""
    axis = 0 if log_p.ndim == 1 else 1
    log_p = np.moveaxis(log_p, axis, -1)
    weight = np.ones(log_p.shape[-1]) if weight is None else weight
    loss, total = np.zeros(target.shape), 0.0
    for index in np.ndindex(*target.shape):
        label = target[index]
        if label != ignore_index:
            hard = -weight[label] * log_p[index][label]
            spread = -np.mean(weight * log_p[index])
            loss[index] = (1 - label_smoothing) * hard + label_smoothing * spread
            total += weight[label]
    return loss.sum() / total if reduction == "mean" else reduced(loss, reduction)


def cross_entropy(x, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    axis = 0 if x.ndim == 1 else 1
    log_p = sp.log_softmax(x, axis)
    if target.dtype.kind == "i":
        return nll(log_p, target, weight, ignore_index, reduction, label_smoothing)
    smooth = (1 - label_smoothing) * target + label_smoothing / x.shape[axis]
    by_class = np.ones(x.shape[axis]) if weight is None else weight
    loss = -np.sum(np.moveaxis(log_p * smooth, axis, -1) * by_class, axis=-1)
    return reduced(loss, reduction)


LABELS, IGNORED = integers(0, 3, 4), np.array([0, -100, 2, 1])
for name, reference in (("nll_loss", nll), ("cross_entropy", cross_entropy)):
    every_reduction(name, normal(4, 3), LABELS, ref=reference)
    every_reduction(name, normal(4, 3), IGNORED, uniform(0.5, 2, 3), ref=reference)
    case(name, normal(3), np.array(1), ref=reference)
    case(name, normal(2, 3, 2), integers(0, 3, 2, 2), ignore_index=1, ref=reference)
    case(name, normal(0, 3), integers(0, 3, 0), reduction="none", ref=reference)
every_reduction("cross_entropy", normal(4, 3), IGNORED, uniform(0.5, 2, 3), label_smoothing=0.2, ref=cross_entropy)
every_reduction("cross_entropy", normal(4, 3), uniform(0, 1, 4, 3), ref=cross_entropy)
every_reduction(
    "cross_entropy", normal(2, 3, 2), uniform(0, 1, 2, 3, 2), uniform(0.5, 2, 3), label_smoothing=0.2, ref=cross_entropy
)
case(
    "cross_entropy",
    normal(4, 3, dtype=np.float32),
    LABELS,
    ref=lambda *a: cross_entropy(*a).astype(np.float32),
    _rtol=1e-6,
)

case("class_indices", integers(0, 3, 4), 3, ref=lambda target, n: target)
case("class_indices", np.array([0, 7, 2], np.int8), 3, 7, ref=lambda target, n, ignore: np.array([0, 0, 2], np.int8))


def huber(d, delta):
    return d * d / 2 if d <= delta else delta * (d - delta / 2)


X, Y = normal(2, 3), normal(2, 3, seed=1)
every_reduction("mse_loss", X, Y, ref=elementwise(lambda x, y: (x - y) ** 2))
every_reduction("l1_loss", X, Y, ref=elementwise(lambda x, y: abs(x - y)))
every_reduction("smooth_l1_loss", X, Y, ref=elementwise(lambda x, y: huber(abs(x - y), 1)))
case("smooth_l1_loss", X, Y, beta=0.4, ref=elementwise(lambda x, y, beta: huber(abs(x - y), beta) / beta))
case("smooth_l1_loss", X, Y, beta=0.0, ref=elementwise(lambda x, y, beta: abs(x - y)))
every_reduction("huber_loss", X, Y, ref=elementwise(lambda x, y: sp.huber(1, x - y)))
case("huber_loss", X, Y, delta=0.4, ref=elementwise(lambda x, y, delta: sp.huber(delta, x - y)))
case("mse_loss", X.astype(np.float32), Y.astype(np.float32), ref=elementwise(lambda x, y: (x - y) ** 2), _rtol=1e-6)

P, Q = uniform(0.1, 0.9, 2, 3), uniform(0.1, 0.9, 2, 3, seed=1)


def binary(p, t, w=1.0):
    return -w * (t * math.log(p) + (1 - t) * math.log(1 - p))


every_reduction("binary_cross_entropy", P, Q, ref=elementwise(binary))
every_reduction("binary_cross_entropy", P, Q, uniform(0.5, 2, 3), ref=elementwise(binary))


def binary_logits(x, t, weight=1.0, reduction="mean", pos_weight=1.0):
    p = sp.expit(x)
    return reduced(-weight * (pos_weight * t * np.log(p) + (1 - t) * np.log(1 - p)), reduction)


every_reduction("binary_cross_entropy_with_logits", X, Q, ref=binary_logits)
every_reduction(
    "binary_cross_entropy_with_logits",
    X,
    Q,
    uniform(0.5, 2, 2, 3),
    pos_weight=uniform(0.5, 2, 3, seed=2),
    ref=binary_logits,
)

every_reduction("kl_div", X, Q, ref=elementwise(lambda x, t: t * (math.log(t) - x)))
every_reduction("kl_div", X, Y, log_target=True, ref=elementwise(lambda x, t, log_target: math.exp(t) * (t - x)))
case("kl_div", np.log(P), Q, reduction="batchmean", ref=lambda x, t, reduction: np.sum(sp.rel_entr(t, np.exp(x))) / 2)
case(
    "kl_div",
    X,
    np.array([[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]]),
    ref=lambda x, t: np.mean(sp.xlogy(t, t) - t * x),
    _grad=False,
)

case(
    "cosine_similarity", X, Y, ref=lambda x, y: np.array([1 - distance.cosine(a, b) for a, b in zip(x, y, strict=True)])
)
case(
    "cosine_similarity",
    X,
    Y,
    axis=0,
    ref=lambda x, y, axis: np.array([1 - distance.cosine(a, b) for a, b in zip(x.T, y.T, strict=True)]),
)
case("cosine_similarity", X, Y, eps=10.0, ref=lambda x, y, eps: np.sum(x * y, 1) / eps**2)
case(
    "pairwise_distance",
    X,
    Y,
    ref=lambda x, y: np.array([distance.euclidean(a + 1e-6, b) for a, b in zip(x, y, strict=True)]),
)
case(
    "pairwise_distance",
    X,
    Y,
    1.0,
    0.1,
    True,
    ref=lambda x, y, p, eps, keepdim: np.array([[distance.cityblock(a + eps, b)] for a, b in zip(x, y, strict=True)]),
)
case(
    "pairwise_distance",
    X,
    Y,
    p=3.0,
    ref=lambda x, y, p: np.array([distance.minkowski(a + 1e-6, b, p) for a, b in zip(x, y, strict=True)]),
)


def cosine_embedding(x, y, target, margin=0.0, reduction="mean"):
    cosines = [1 - distance.cosine(a, b) for a, b in zip(x, y, strict=True)]
    return reduced([1 - c if t == 1 else max(0, c - margin) for c, t in zip(cosines, target, strict=True)], reduction)


def triplet(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction="mean"):
    losses = []
    for a, near, far in zip(anchor, positive, negative, strict=True):
        apart = distance.minkowski(a + eps, far, p)
        apart = min(apart, distance.minkowski(near + eps, far, p)) if swap else apart
        losses.append(max(0, distance.minkowski(a + eps, near, p) - apart + margin))
    return reduced(losses, reduction)


SIGNS = np.array([[1, -1, 1], [-1, 1, -1]])
# 1e-12 is added to the squared norms, which shows in the last digits.
every_reduction("cosine_embedding_loss", X, Y, np.array([1, -1]), margin=-0.9, ref=cosine_embedding, _rtol=1e-11)
every_reduction("hinge_embedding_loss", X, SIGNS, ref=elementwise(lambda x, t: x if t == 1 else max(0, 1 - x)))
case(
    "hinge_embedding_loss", X, SIGNS, 0.3, ref=elementwise(lambda x, t, margin=0.3: x if t == 1 else max(0, margin - x))
)
CASE = {"ref": elementwise(lambda x, y, t, margin=0.0: max(0, -t * (x - y) + margin))}
every_reduction("margin_ranking_loss", X, Y, SIGNS, **CASE)
case("margin_ranking_loss", X, Y, SIGNS, margin=0.7, **CASE)
every_reduction("soft_margin_loss", X, SIGNS, ref=elementwise(lambda x, t: math.log1p(math.exp(-t * x))))
every_reduction("triplet_margin_loss", X, Y, normal(2, 3, seed=2), ref=triplet)
case("triplet_margin_loss", X, Y, normal(2, 3, seed=2), 2.0, 3.0, 0.1, True, ref=triplet)


def gaussian(x, t, var, full=False, eps=1e-6):
    loss = -norm.logpdf(t, x, math.sqrt(max(var, eps)))
    return loss if full else loss - 0.5 * math.log(2 * math.pi)


def poisson(x, t, log_input=True, full=False, eps=1e-8):
    loss = math.exp(x) - t * x if log_input else x - t * math.log(x + eps)
    return loss + (t * math.log(t) - t + 0.5 * math.log(2 * math.pi * t) if full and t > 1 else 0)


every_reduction("gaussian_nll_loss", X, Y, P, ref=elementwise(gaussian))
case("gaussian_nll_loss", X, Y, P, full=True, eps=0.5, ref=elementwise(gaussian))
case("gaussian_nll_loss", X, Y, P[:, 0], ref=lambda x, y, v: elementwise(gaussian)(x, y, v[:, None]))
every_reduction("poisson_nll_loss", X, integers(0, 5, 2, 3).astype(float) + 0.1, ref=elementwise(poisson))
case("poisson_nll_loss", P, integers(0, 5, 2, 3) + 0.1, False, True, eps=0.01, ref=elementwise(poisson))


def picked(log_p, target, axis, ignore_index, reduction):
    """One target at a time."""
    loss, counted = np.zeros(target.shape, log_p.dtype), 0
    for index in np.ndindex(*target.shape):
        if target[index] != ignore_index:
            loss[index] = -log_p[(*index[:axis], target[index], *index[axis:])]
            counted += 1
    return {"none": loss, "sum": loss.sum(), "mean": loss.sum() / max(counted, 1)}[reduction]


def nll_input(g, target, classes, axis, ignore_index, reduction):
    x = np.zeros((*target.shape[:axis], classes, *target.shape[axis:]), g.dtype)
    for index in np.ndindex(*target.shape):
        if target[index] != ignore_index:
            share = g[index] if reduction == "none" else g
            x[(*index[:axis], target[index], *index[axis:])] = -share
    return x / (target != ignore_index).sum() if reduction == "mean" else x


for reduction in ("none", "sum", "mean"):
    few, many = np.array([2, 0, -1, 1]), integers(0, 3, 2, 4)
    case("nll", normal(4, 3), few, 1, -1, reduction, ref=picked)
    case("nll", normal(2, 3, 4), many, 1, -100, reduction, ref=picked)
    case("nll", normal(3), np.array(1), 0, -100, reduction, ref=picked)
    case("nll", normal(4, 3, dtype=np.float32), few, 1, -1, reduction, ref=picked, _rtol=1e-6)
    case("nll_input", normal(4) if reduction == "none" else normal(), few, 3, 1, -1, reduction, ref=nll_input)
    case("nll_input", normal(2, 4) if reduction == "none" else normal(), many, 3, 1, -100, reduction, ref=nll_input)
