"""Losses: how far predictions are from targets. Each ends in a reduction: "none", "mean" or "sum" over all elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft._where import warn_user
from weft.errors import DtypeError, IndexingError, ShapeError
from weft.ops._families import Reals, composite, op, pointwise
from weft.ops._op import no_gradient
from weft.ops._raises import BAD_VALUES
from weft.ops._spec import Spec, broadcast_shapes, dtype_of, shape_of
from weft.ops.activation import log_sigmoid
from weft.ops.dtypes import astype
from weft.ops.elementwise import abs, maximum
from weft.ops.indexing import take, take_along_axis
from weft.ops.linalg_solvers import vector_norm
from weft.ops.logic import equal, greater, less, less_equal, not_equal, where
from weft.ops.manipulation import expand_dims, reshape, squeeze
from weft.ops.reductions import mean, sum
from weft.ops.softmaxes import log_softmax
from weft.ops.transcendental import exp, log, sqrt

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "class_indices",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "log_loss",
    "margin_ranking_loss",
    "mse_loss",
    "nll",
    "nll_input",
    "nll_loss",
    "pairwise_distance",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
]


def _check_reduction(name: str, reduction: str, *others: str) -> None:
    if reduction not in ("none", "mean", "sum"):
        names = ", ".join(map(repr, ("none", "mean", *others)))
        raise ValueError(f"{name}: reduction must be {names} or 'sum', got {reduction!r}")


def _reduce(name: str, loss: Any, reduction: str, *others: str) -> Any:
    _check_reduction(name, reduction, *others)
    return loss if reduction == "none" else mean(loss) if reduction == "mean" else sum(loss)


def _same_shape(name: str, input: Any, target: Any) -> None:
    if shape_of(input) != shape_of(target):
        raise ShapeError(
            f"{name}: expected input and target of one shape, got {shape_of(input)} and {shape_of(target)}"
        )


def _as_floats(target: Any, input: Any) -> Any:
    """A target of whole numbers in the dtype of a floating input, which it is not to promote."""
    whole = dtype_of(target).kind in "biu" and dtype_of(input).kind in "fc"
    return astype(target, dtype_of(input)) if whole else target


def _difference(name: str, input: Any, target: Any) -> Any:
    """Input less target, with a warning where a column and a row would be compared each with each."""
    shapes = shape_of(input), shape_of(target)
    if shapes[0] != shapes[1] and (common := broadcast_shapes(name, *shapes)) not in shapes:
        warn_user(
            f"{name}: input {shapes[0]} and target {shapes[1]} broadcast to {common}, each element with many; "
            "give both one shape, for example with input.squeeze(1) or target[:, None]"
        )
    return input - _as_floats(target, input)


def _hinge(x: Any) -> Any:
    """The positive part, with slope 1 at zero: a margin just met still pushes."""
    return where(less(x, 0), 0, x)


def _indices_spec(target: Any, num_classes: int, ignore_index: int) -> Spec:
    if dtype_of(target).kind not in "iu":
        raise DtypeError(f"class_indices: expected integers, got {dtype_of(target)}")
    return Spec(shape_of(target), dtype_of(target))


@op(
    arrays=("target",),
    infer=_indices_spec,
    vjp=no_gradient("class indices are integers"),
    raises=BAD_VALUES,
    always_array=True,
)
def class_indices(target: Any, num_classes: int, ignore_index: int = -100) -> Any:
    """The target with ignored elements replaced by class 0; any other value outside the classes is an error."""
    _indices_spec(target, num_classes, ignore_index)
    target = np.asarray(target)
    target = np.where(target == ignore_index, target.dtype.type(0), target)
    if target.size and not (target.min() >= 0 and target.max() < num_classes):
        bad = target[(target < 0) | (target >= num_classes)].flat[0]
        raise IndexingError(
            f"class_indices: class {bad} is not one of 0 to {num_classes - 1}",
            help="classes are numbered from 0; there are as many as the input has scores, or as num_classes says",
        )
    return target


def _class_axis(name: str, input: Any, target: Any, weight: Any) -> int:
    """Which axis of the input holds the classes; the target, if it holds indices, has all the others."""
    shape = shape_of(input)
    if not shape:
        raise ShapeError(f"{name}: expected an input with a dimension of classes, got a scalar")
    axis = 0 if len(shape) == 1 else 1
    if dtype_of(target).kind in "iu" and shape_of(target) != (*shape[:axis], *shape[axis + 1 :]):
        expected = shape[:axis] + shape[axis + 1 :]
        raise ShapeError(f"{name}: input {shape} needs class indices of shape {expected}, got {shape_of(target)}")
    if weight is not None and shape_of(weight) != (shape[axis],):
        raise ShapeError(f"{name}: expected a weight for each of {shape[axis]} classes, got {shape_of(weight)}")
    return axis


def _picked(log_p: Any, target: Any, axis: int, weight: Any, ignore_index: int, smoothing: float) -> tuple[Any, Any]:
    """The loss of every target, and the weight it counts with."""
    classes = shape_of(log_p)[axis]
    index = class_indices(target, classes, ignore_index)
    loss = -squeeze(take_along_axis(log_p, expand_dims(index, axis), axis=axis), axis)
    counted = astype(not_equal(target, ignore_index), dtype_of(log_p))
    by_class = None if weight is None else reshape(weight, (-1,) + (1,) * (len(shape_of(log_p)) - axis - 1))
    scale = counted if weight is None else counted * take(weight, index, axis=0)
    loss = where(greater(counted, 0), loss * scale, 0)
    if smoothing:
        spread = -sum(log_p if by_class is None else log_p * by_class, axis=axis)
        loss = (1 - smoothing) * loss + smoothing * where(greater(counted, 0), spread, 0) / classes
    return loss, scale


def _nll_spec(log_p: Any, target: Any, axis: int, ignore_index: int, reduction: str) -> Spec:
    _check_reduction("nll", reduction)
    return Spec(shape_of(target) if reduction == "none" else (), dtype_of(log_p))


def _counted(target: Any, ignore_index: int, reduction: str, dtype: Any) -> Any:
    """What each log probability is multiplied by: -1, or 0 where it is ignored; for "mean", over how many count."""
    counted = np.asarray(np.not_equal(target, ignore_index))
    number = int(np.count_nonzero(counted)) if reduction == "mean" else 1
    return counted.astype(dtype) * (-1 / number if number else math.nan)  # the mean of nothing


# Each is linear, and the other one's transpose.


def _nll_vjp(g: Any, y: Any, log_p: Any, target: Any, axis: int, *how: Any) -> Any:
    return nll_input(g, target, shape_of(log_p)[axis], axis, *how)


@op(
    arrays=("log_p", "target"),
    infer=_nll_spec,
    vjp=(_nll_vjp, no_gradient("class indices are integers")),
    raises=BAD_VALUES,
)
def nll(log_p: Any, target: Any, axis: int, ignore_index: int, reduction: str) -> Any:
    """Negative log probability of each target class along the axis, reduced; targets of ignore_index count for 0."""
    _check_reduction("nll", reduction)
    index = class_indices.eval(target, log_p.shape[axis], ignore_index)
    picked = np.take_along_axis(log_p, np.expand_dims(index, axis), axis=axis).reshape(index.shape)
    factor = _counted(target, ignore_index, reduction, log_p.dtype)
    loss = np.where(factor == 0, log_p.dtype.type(0), picked * factor)  # a log probability of -inf may be ignored
    return loss[()] if reduction == "none" else np.sum(loss)


def _nll_input_spec(g: Any, target: Any, classes: int, axis: int, ignore_index: int, reduction: str) -> Spec:
    shape = shape_of(target)
    if shape_of(g) != (shape if reduction == "none" else ()):
        raise ShapeError(f"nll_input: a gradient of shape {shape_of(g)} does not fit targets {shape}, {reduction!r}")
    return Spec((*shape[:axis], classes, *shape[axis:]), dtype_of(g))


@op(
    arrays=("g", "target"),
    infer=_nll_input_spec,
    vjp=(
        lambda h, x, g, target, classes, axis, *how: nll(h, target, axis, *how),
        no_gradient("class indices are integers"),
    ),
    raises=BAD_VALUES,
)
def nll_input(g: Any, target: Any, classes: int, axis: int, ignore_index: int, reduction: str) -> Any:
    """The gradient of the log probabilities given to `nll`, from that of its result."""
    g = np.asarray(g)
    result = np.zeros(_nll_input_spec(g, target, classes, axis, ignore_index, reduction).shape, g.dtype)
    index = np.expand_dims(class_indices.eval(target, classes, ignore_index), axis)
    factor = _counted(target, ignore_index, reduction, g.dtype)
    np.put_along_axis(result, index, np.expand_dims(factor * g, axis), axis=axis)
    return result


def _weighted(name: str, loss: Any, scale: Any, reduction: str) -> Any:
    """Reduce losses that count with different weights."""
    return sum(loss) / sum(scale) if reduction == "mean" else _reduce(name, loss, reduction)


@composite(arrays=("input", "target", "weight"), raises=BAD_VALUES)
def nll_loss(input: Any, target: Any, weight: Any = None, *, ignore_index: int = -100, reduction: str = "mean") -> Any:
    """Negative log likelihood of class indices, given log probabilities (batch, classes, ...)."""
    axis = _class_axis("nll_loss", input, target, weight)
    if weight is None and dtype_of(input).kind == "f":
        _check_reduction("nll_loss", reduction)
        return nll(input, target, axis, ignore_index, reduction)
    return _weighted("nll_loss", *_picked(input, target, axis, weight, ignore_index, 0.0), reduction)


@composite(arrays=("input", "target", "weight"), raises=BAD_VALUES)
def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """Cross entropy of scores (batch, classes, ...) with class indices, or with probabilities of the same shape."""
    axis = _class_axis("cross_entropy", input, target, weight)
    log_p = log_softmax(input, axis=axis)
    if dtype_of(target).kind in "iu":
        if weight is None and not label_smoothing:
            _check_reduction("cross_entropy", reduction)
            return nll(log_p, target, axis, ignore_index, reduction)
        return _weighted(
            "cross_entropy", *_picked(log_p, target, axis, weight, ignore_index, label_smoothing), reduction
        )
    if shape_of(target) == (shape := shape_of(input))[:axis] + shape[axis + 1 :]:
        raise ShapeError(
            f"cross_entropy: expected input and target of one shape, got {shape} and {shape_of(target)}",
            help=f"class indices are integers, and the target is {dtype_of(target)}: write target.astype(int)",
        )
    _same_shape("cross_entropy", input, target)
    classes = shape_of(input)[axis]
    if label_smoothing:
        target = (target * (1 - label_smoothing) * classes + label_smoothing) / classes
    if weight is not None:
        target = target * reshape(weight, (-1,) + (1,) * (len(shape_of(input)) - axis - 1))
    loss = -sum(log_p * target, axis=axis)
    return _reduce("cross_entropy", loss, reduction)


@composite(arrays=("input", "target"))
def mse_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    """Squared difference."""
    difference = _difference("mse_loss", input, target)
    return _reduce("mse_loss", difference * difference, reduction)


@composite(arrays=("input", "target"))
def l1_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    """Absolute difference."""
    return _reduce("l1_loss", abs(_difference("l1_loss", input, target)), reduction)


@composite(arrays=("input", "target"))
def smooth_l1_loss(input: Any, target: Any, *, reduction: str = "mean", beta: float = 1.0) -> Any:
    """Squared difference over 2 beta below beta, absolute difference less beta / 2 above."""
    if beta < 0:
        raise ValueError(f"smooth_l1_loss: beta must not be negative, got {beta}")
    difference = _difference("smooth_l1_loss", input, target)
    size = abs(difference)
    if beta == 0:
        return _reduce("smooth_l1_loss", size, reduction)
    # The square is of the difference: that of its size would lose the second derivative at 0.
    near = difference * difference * (0.5 / beta)
    return _reduce("smooth_l1_loss", where(less(size, beta), near, size - 0.5 * beta), reduction)


@composite(arrays=("input", "target"))
def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Any:
    """Half the squared difference up to delta, growing linearly above."""
    if delta <= 0:
        raise ValueError(f"huber_loss: delta must be positive, got {delta}")
    difference = _difference("huber_loss", input, target)
    size = abs(difference)
    loss = where(less_equal(size, delta), difference * difference * 0.5, delta * (size - 0.5 * delta))
    return _reduce("huber_loss", loss, reduction)


def _clamped_logs(x: Any) -> tuple[Any, Any]:
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(x), -100), np.maximum(np.log1p(-x), -100)


def _log_loss(x: Any, target: Any) -> Any:
    x = np.asarray(x)
    if x.size and (x.min() < 0 or x.max() > 1):  # NaN is neither: it stays NaN
        raise ValueError(
            f"log_loss: probabilities are from 0 to 1, got {x.min()} to {x.max()}; "
            "take a sigmoid first, or give scores to binary_cross_entropy_with_logits"
        )
    yes, no = _clamped_logs(x)
    return -(target * yes + (1 - target) * no)


def _log_odds(x: Any) -> Any:
    """log(1 - x) - log(x) with both logarithms no smaller than -100."""
    inside = (x > 0) & (x < 1)
    safe = where(inside, x, 0.5)
    return where(inside, log(1 - safe) - log(safe), where(less_equal(x, 0), 100.0, -100.0))


log_loss = pointwise(
    "log_loss",
    ("x", "target"),
    eval=_log_loss,
    # The slope at 0 and 1 is kept finite, and large enough to lead away from a wrong certainty.
    vjp=(
        lambda g, y, x, target: g * (x - target) / maximum(x * (1 - x), 1e-12),
        lambda g, y, x, target: g * _log_odds(x),
    ),
    domain=Reals(0.05, 0.95, complex=False),
    doc="Binary cross entropy of each probability with its target; no logarithm is taken to be below -100.",
    raises=BAD_VALUES,
)


@composite(arrays=("input", "target", "weight"), raises=BAD_VALUES)
def binary_cross_entropy(input: Any, target: Any, weight: Any = None, *, reduction: str = "mean") -> Any:
    """Cross entropy of probabilities with targets between 0 and 1."""
    _same_shape("binary_cross_entropy", input, target)
    loss = log_loss(input, _as_floats(target, input))
    return _reduce("binary_cross_entropy", loss if weight is None else loss * weight, reduction)


@composite(arrays=("input", "target", "weight", "pos_weight"))
def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, *, reduction: str = "mean", pos_weight: Any = None
) -> Any:
    """Cross entropy of sigmoid(input) with targets between 0 and 1, stable for scores of any size."""
    _same_shape("binary_cross_entropy_with_logits", input, target)
    log_p, target = log_sigmoid(input), _as_floats(target, input)
    scale = 1 if pos_weight is None else (pos_weight - 1) * target + 1
    loss = (1 - target) * input - scale * log_p
    return _reduce("binary_cross_entropy_with_logits", loss if weight is None else loss * weight, reduction)


@composite(arrays=("input", "target"))
def kl_div(input: Any, target: Any, *, reduction: str = "mean", log_target: bool = False) -> Any:
    """Kullback-Leibler divergence of log probabilities from target probabilities (their logarithms if log_target).

    Reduction "batchmean" divides the sum by the first dimension, which is the mathematical definition.
    """
    if log_target:
        loss = exp(target) * (target - input)
    else:
        positive = greater(target, 0)
        loss = where(positive, target * log(where(positive, target, 1)), 0) - target * input
    if reduction == "batchmean":
        return sum(loss) / shape_of(input)[0]
    return _reduce("kl_div", loss, reduction, "batchmean")


def _safe_sqrt(x: Any) -> Any:
    """Square root whose derivative at zero is zero instead of infinite."""
    zero = equal(x, 0)
    return where(zero, 0, sqrt(where(zero, 1, x)))


@composite(arrays=("x1", "x2"))
def cosine_similarity(x1: Any, x2: Any, axis: int = 1, eps: float = 1e-8) -> Any:
    """Cosine of the angle between vectors along the axis."""
    norms = [_safe_sqrt(sum(x * x, axis=axis)) for x in (x1, x2)]
    first, second = (where(less(n, eps), eps, n) for n in norms)
    return sum(x1 * x2, axis=axis) / (first * second)


@composite(arrays=("input1", "input2", "target"))
def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, *, reduction: str = "mean"
) -> Any:
    """1 - cosine for pairs with target 1; for target -1, what the cosine exceeds the margin by."""
    squares = [sum(x * x, axis=-1) + 1e-12 for x in (input1, input2)]
    cosine = sum(input1 * input2, axis=-1) / sqrt(squares[0] * squares[1])
    loss = where(equal(target, 1), 1 - cosine, where(equal(target, -1), _hinge(cosine - margin), 0))
    return _reduce("cosine_embedding_loss", loss, reduction)


@composite(arrays=("input", "target"))
def hinge_embedding_loss(input: Any, target: Any, margin: float = 1.0, *, reduction: str = "mean") -> Any:
    """The distance for pairs with target 1; for target -1, what it falls short of the margin by."""
    loss = where(equal(target, -1), 0, input) + where(equal(target, 1), 0, _hinge(margin - input))
    return _reduce("hinge_embedding_loss", loss, reduction)


@composite(arrays=("input1", "input2", "target"))
def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, *, reduction: str = "mean") -> Any:
    """How far input1 is from exceeding input2 by the margin (target 1), or the other way round (target -1)."""
    sign = _as_floats(target, input1)
    return _reduce("margin_ranking_loss", _hinge(-sign * (input1 - input2) + margin), reduction)


@composite(arrays=("input", "target"))
def soft_margin_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    """log(1 + exp(-target * input)) for targets 1 and -1."""
    return _reduce("soft_margin_loss", -log_sigmoid(_as_floats(target, input) * input), reduction)


@composite(arrays=("x1", "x2"))
def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """The p-norm of x1 - x2 + eps over the last dimension."""
    return vector_norm(x1 - x2 + eps, axis=-1, keepdims=keepdim, ord=p)


@composite(arrays=("anchor", "positive", "negative"))
def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    *,
    reduction: str = "mean",
) -> Any:
    """How far the positive is from being nearer to the anchor than the negative by the margin."""
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        other = pairwise_distance(positive, negative, p, eps)
        far = where(less(other, far), other, far)
    return _reduce("triplet_margin_loss", _hinge(near - far + margin), reduction)


@composite(arrays=("input", "target", "var"))
def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """Negative log likelihood of the target under a normal distribution; variances below eps count as eps."""
    if len(shape_of(var)) == len(shape_of(input)) - 1:
        var = expand_dims(var, -1)
    var = where(less(var, eps), eps, var)
    loss = 0.5 * (log(var) + (input - _as_floats(target, input)) ** 2 / var)
    return _reduce("gaussian_nll_loss", loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


@composite(arrays=("input", "target"))
def poisson_nll_loss(
    input: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    *,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Any:
    """Negative log likelihood of counts under a Poisson distribution; full adds Stirling's term."""
    target = _as_floats(target, input)
    loss = exp(input) - target * input if log_input else input - target * log(input + eps)
    if full:
        many = greater(target, 1)
        count = where(many, target, 1)
        loss = loss + where(many, count * log(count) - count + 0.5 * log(2 * math.pi * count), 0)
    return _reduce("poisson_nll_loss", loss, reduction)
