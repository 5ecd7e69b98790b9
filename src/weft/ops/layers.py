"""What the layers of a network compute besides convolution, pooling and normalisation: linear maps, lookup, dropout."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft import _generator
from weft.errors import DtypeError, IndexingError, ShapeError, UnknownShape
from weft.ops import _words
from weft.ops._cost import Cost, elements
from weft.ops._dim import agree, unknown_size
from weft.ops._families import composite, conj, op
from weft.ops._op import no_gradient
from weft.ops._raises import BAD_VALUES
from weft.ops._spec import Spec, broadcast_shapes, dtype_of, normalize_axes, normalize_axis, shape_of, size_of
from weft.ops.contraction import einsum
from weft.ops.creation import full
from weft.ops.indexing import index_add
from weft.ops.linalg import matmul, matrix_transpose
from weft.ops.linalg_solvers import vector_norm
from weft.ops.logic import equal, less, where
from weft.ops.losses import class_indices
from weft.ops.manipulation import expand_dims, reshape
from weft.ops.padding import pad as pad_all

__all__ = [
    "alpha_dropout",
    "bernoulli_mask",
    "bilinear",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "embedding",
    "linear",
    "normalize",
    "one_hot",
    "pad_trailing",
]


def _linear_spec(input: Any, weight: Any, bias: Any) -> Spec:
    shape, features = shape_of(input), shape_of(weight)
    if not shape or len(features) not in (1, 2) or not agree(shape[-1], features[-1]):
        raise ShapeError(
            f"linear: input {shape} and weight {features} must end in the same size",
            help="the weight is (features out, features in); a layer's in_features is the input's last dimension",
        )
    made = (*shape[:-1], *features[:-1])
    if bias is not None and broadcast_shapes("linear", made, shape_of(bias)) != made:
        raise ShapeError(f"linear: a bias of shape {shape_of(bias)} does not fit a result of shape {made}")
    return Spec(made, np.result_type(*(dtype_of(part) for part in (input, weight, bias) if part is not None)))


def _rows(x: Any, size: int) -> Any:
    """All vectors along the last dimension, which is of that size, as the rows of one matrix."""
    return reshape(x, (size_of(shape_of(x)[:-1]), size))


def _linear_input(g: Any, y: Any, input: Any, weight: Any, bias: Any) -> Any:
    features = shape_of(weight)
    if len(features) == 1:
        return expand_dims(g, -1) * conj(weight)
    if len(shape_of(g)) < 3:
        return matmul(g, conj(weight))
    return reshape(matmul(_rows(g, features[0]), conj(weight)), shape_of(input))


def _linear_weight(g: Any, y: Any, input: Any, weight: Any, bias: Any) -> Any:
    features = shape_of(weight)
    x = conj(_rows(input, features[-1]))
    if len(features) == 1:
        return matmul(reshape(g, (-1,)), x)
    return matmul(matrix_transpose(_rows(g, features[0])), x)


@op(
    arrays=("input", "weight", "bias"),
    infer=_linear_spec,
    vjp=(_linear_input, _linear_weight, lambda g, y, input, weight, bias: g),
    cost=Cost(lambda y, input, weight, bias: 2 * elements(y) * weight.shape[-1]),
)
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """X @ weight.T + bias, for a weight (features out, features in)."""
    x, w = np.asarray(input), np.asarray(weight)
    if x.ndim > 2 and w.ndim == 2 and x.size:  # one product of matrices instead of a stack of them
        y = np.matmul(x.reshape(-1, x.shape[-1]), w.T).reshape(*x.shape[:-1], w.shape[0])
    else:
        y = np.matmul(x, w.T)
    if bias is None:
        return y
    b = np.asarray(bias)
    return np.add(y, b, out=y if b.dtype == y.dtype and y.shape[y.ndim - b.ndim :] == b.shape else None)


@composite(arrays=("input1", "input2", "weight", "bias"))
def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """x1 @ weight[k] @ x2 for each feature k of a weight (features out, features in 1, features in 2)."""
    y = einsum("...i,kij,...j->...k", input1, weight, input2)
    return y if bias is None else y + bias


def _embedding_spec(input: Any, weight: Any, padding_idx: int | None = None) -> Spec:
    if dtype_of(input).kind not in "iu":
        raise DtypeError(f"embedding: expected integer indices, got {dtype_of(input)}")
    if len(shape_of(weight)) != 2:
        raise ShapeError(f"embedding: expected a weight (rows, features), got {shape_of(weight)}")
    if padding_idx is not None:
        normalize_axis("embedding (padding_idx)", padding_idx, shape_of(weight)[0])
    return Spec((*shape_of(input), shape_of(weight)[1]), dtype_of(weight))


def _embedding_vjp(g: Any, y: Any, input: Any, weight: Any, padding_idx: int | None) -> Any:
    if padding_idx is not None:
        padding = normalize_axis("embedding (padding_idx)", padding_idx, shape_of(weight)[0])
        g = where(expand_dims(equal(input, padding), -1), 0, g)
    return index_add(full(shape_of(weight), 0, dtype=dtype_of(g)), (input,), g)


@op(
    arrays=("input", "weight"),
    infer=_embedding_spec,
    vjp=(no_gradient("embedding indices are integers"), _embedding_vjp),
    raises=BAD_VALUES,
)
def embedding(input: Any, weight: Any, padding_idx: int | None = None) -> Any:
    """Rows of the weight named by integer indices; the row padding_idx receives no gradient."""
    _embedding_spec(input, weight, padding_idx)
    input = np.asarray(input)
    rows = weight.shape[0]
    if input.size and not (input.min() >= 0 and input.max() < rows):
        bad = input[(input < 0) | (input >= rows)].flat[0]
        raise IndexingError(f"embedding: index {bad} is not one of {rows} rows")
    return weight[input]


def _one_hot_spec(x: Any, num_classes: int = -1) -> Spec:
    if dtype_of(x).kind not in "iu":
        raise DtypeError(f"one_hot: expected integers, got {dtype_of(x)}")
    if num_classes < 0:
        unknown = UnknownShape("one_hot: without num_classes the result's size depends on the largest value")
        num_classes = unknown_size("classes", unknown)
    return Spec((*shape_of(x), num_classes), np.int64)


@op(arrays=("x",), infer=_one_hot_spec, vjp=no_gradient("one_hot takes integers"), raises=BAD_VALUES)
def one_hot(x: Any, num_classes: int = -1) -> Any:
    """Integers as rows of zeros with a single one; num_classes is one more than the largest when not given."""
    x = np.asarray(x)
    if num_classes < 0 and x.dtype.kind in "iu":
        if not x.size:
            raise ShapeError("one_hot: num_classes must be given for an empty array")
        num_classes = int(x.max()) + 1
    _one_hot_spec(x, num_classes)
    return (class_indices(x, num_classes, -1 - num_classes)[..., None] == np.arange(num_classes)).astype(np.int64)


def _mask_spec(x: Any, p: float, axes: Any = ()) -> Spec:
    shared = normalize_axes("bernoulli_mask", axes, len(shape_of(x)))
    return Spec((1 if i in shared else d for i, d in enumerate(shape_of(x))), np.bool_)


@op(arrays=("x",), infer=_mask_spec, vjp=no_gradient("bernoulli_mask gives booleans drawn at random"), random=True)
def bernoulli_mask(x: Any, p: float, axes: Any = ()) -> Any:
    """Booleans that are true with probability p, one for each element of x; along `axes` all share one."""
    shape = _mask_spec(x, p, axes).shape
    count, dtype = size_of(shape), np.dtype(np.float32)
    words = _generator.current().words(_words.words_for(count, dtype))
    return _words.uniform(words, count, dtype).reshape(shape) < p


def _dropped(name: str, x: Any, p: float, training: bool, axes: tuple[int, ...] = ()) -> Any:
    if not 0 <= p <= 1:
        raise ValueError(f"{name}: p must be between 0 and 1, got {p}")
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0
    return x * bernoulli_mask(x, 1 - p, axes) * (1 / (1 - p))


def _drops(input: Any, p: float, training: bool) -> bool:
    """Whether dropout draws numbers: not outside training, nor where all elements are kept or none is."""
    return training and 0 < p < 1


@composite(arrays=("input",), random=_drops, memory=None)
def dropout(input: Any, p: float = 0.5, training: bool = True) -> Any:
    """Zero elements with probability p and scale the others by 1 / (1 - p); the input itself when not training."""
    return _dropped("dropout", input, p, training)


def _channels_dropped(name: str, rank: int, x: Any, p: float, training: bool) -> Any:
    if len(shape_of(x)) not in (rank + 1, rank + 2):
        raise ShapeError(f"{name}: expected {rank + 2} dimensions, or {rank + 1} for one sample, got {shape_of(x)}")
    return _dropped(name, x, p, training, tuple(range(-rank, 0)))


@composite(arrays=("input",), random=_drops, memory=None)
def dropout1d(input: Any, p: float = 0.5, training: bool = True) -> Any:
    """Dropout of whole channels of (batch, channels, length)."""
    return _channels_dropped("dropout1d", 1, input, p, training)


@composite(arrays=("input",), random=_drops, memory=None)
def dropout2d(input: Any, p: float = 0.5, training: bool = True) -> Any:
    """Dropout of whole channels of (batch, channels, height, width)."""
    return _channels_dropped("dropout2d", 2, input, p, training)


@composite(arrays=("input",), random=_drops, memory=None)
def dropout3d(input: Any, p: float = 0.5, training: bool = True) -> Any:
    """Dropout of whole channels of (batch, channels, depth, height, width)."""
    return _channels_dropped("dropout3d", 3, input, p, training)


_SELU_FLOOR = -1.6732632423543772 * 1.0507009873554805


@composite(arrays=("input",), random=_drops, memory=None)
def alpha_dropout(input: Any, p: float = 0.5, training: bool = False) -> Any:
    """Dropout for selu networks: dropped elements take selu's lower limit, and mean and variance are restored."""
    if not 0 <= p <= 1:
        raise ValueError(f"alpha_dropout: p must be between 0 and 1, got {p}")
    if not training or p == 0:
        return input
    if p == 1:
        return input * 0
    scale = 1 / math.sqrt((1 - p) * (1 + p * _SELU_FLOOR**2))
    return scale * where(bernoulli_mask(input, 1 - p), input, _SELU_FLOOR) - scale * _SELU_FLOOR * p


@composite(arrays=("input",))
def normalize(input: Any, p: float = 2.0, axis: int = 1, eps: float = 1e-12) -> Any:
    """Divide by the p-norm along the axis, or by eps where the norm is smaller."""
    norm = vector_norm(input, axis=axis, keepdims=True, ord=p)
    return input / where(less(norm, eps), eps, norm)


@composite(arrays=("input",))
def pad_trailing(input: Any, pad: Any, mode: str = "constant", value: float | None = None) -> Any:
    """Pad the trailing dimensions: pairs (before, after), the last dimension's first; a negative number crops.

    >>> pad_trailing(np.ones((2, 2)), (1, 0), value=9.0)
    array([[9., 1., 1.],
           [9., 1., 1.]])
    """
    ndim = len(shape_of(input))
    if len(pad) % 2 or len(pad) > 2 * ndim:
        raise ShapeError(f"pad_trailing: expected pairs for at most {ndim} dimensions, got {tuple(pad)}")
    pairs = [(0, 0)] * (ndim - len(pad) // 2) + [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    if any(before < 0 or after < 0 for before, after in pairs):
        stops = [d - max(-after, 0) for d, (_, after) in zip(shape_of(input), pairs, strict=True)]
        input = input[tuple(slice(max(-before, 0), stop) for (before, _), stop in zip(pairs, stops, strict=True))]
    widths = tuple((max(before, 0), max(after, 0)) for before, after in pairs)
    if mode == "constant":
        return pad_all(input, widths, constant_values=0 if value is None else value)
    return pad_all(input, widths, mode)
