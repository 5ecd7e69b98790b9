"""Random orders and choices; users find them in `weft.random`."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.errors import DtypeError, ShapeError
from weft.ops import _samplers, _words
from weft.ops._matrices import put_in
from weft.ops._op import ANY_ORDER, TABLE, no_gradient
from weft.ops._parameters import counted, plain_shape
from weft.ops._spec import Shape, Spec, dtype_of, normalize_axis, shape_of, size_of
from weft.ops.indexing import take
from weft.ops.random import drawing, source

__all__ = ["categorical", "choice", "choice_indices", "multinomial", "permutation", "randperm"]

_INTEGERS = no_gradient("positions drawn at random are integers")


# ── Orders ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _randperm_spec(n: int, dtype: Any, generator: Any) -> Spec:
    return Spec(plain_shape("randperm", counted("randperm", "n", n)), np.int64 if dtype is None else dtype)


@drawing(infer=_randperm_spec)
def randperm(n: int, dtype: Any = None, *, generator: Any = None) -> Any:
    """The numbers from 0 to n - 1 in random order: that of one random word for each."""
    count = counted("randperm", "n", n)
    found = np.dtype(_randperm_spec(count, dtype, generator).dtype)
    if found.kind not in "iuf" or count - 1 > (np.iinfo(found).max if found.kind in "iu" else 2**53):
        raise DtypeError(f"randperm: {found} does not hold the numbers below {count}")
    return _samplers.order(source("randperm", generator).words(count), count).astype(found, copy=False)


def _permutation_spec(x: Any, axis: int, generator: Any) -> Spec:
    if not shape_of(x):
        return _randperm_spec(x, None, generator)
    normalize_axis("permutation", axis, len(shape_of(x)))
    return Spec(shape_of(x), dtype_of(x))


@drawing(arrays=("x",), infer=_permutation_spec, composite=True)
def permutation(x: Any, axis: int = 0, *, generator: Any = None) -> Any:
    """The slices of an array along an axis in random order; of a number n, the numbers below n in random order."""
    if not shape_of(x):
        return randperm(x, generator=generator)
    axis = normalize_axis("permutation", axis, len(shape_of(x)))
    return take(x, randperm(shape_of(x)[axis], generator=generator), axis)


# ── Choices ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _weights(name: str, p: Any) -> Any:
    """Weights as float64, checked: finite, not negative, something above 0 in every row."""
    weights = np.asarray(p, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        totals = weights.sum(-1)
    if not (np.all(weights >= 0) and np.all((totals > 0) & np.isfinite(totals))):
        raise ValueError(f"{name}: weights are finite, at least 0, not all 0, and add up to a finite number")
    return weights


def _enough(name: str, wanted: int, available: int) -> None:
    if wanted > available:
        raise ValueError(f"{name}: {wanted} cannot be drawn from {available} without replacement")


def _indices_spec(n: int, shape: Any, replace: bool, p: Any, generator: Any) -> Spec:
    if p is not None and shape_of(p) != (n,):
        raise ShapeError(f"choice: p must have one weight for each of {n}, got shape {shape_of(p)}")
    return Spec(plain_shape("choice", shape), np.int64)


@drawing(arrays=("p",), vjp=_INTEGERS, infer=_indices_spec)
def choice_indices(n: int, shape: Any = (), replace: bool = True, p: Any = None, *, generator: Any = None) -> Any:
    """Numbers below n, all equally likely or by weights p, each at most once unless `replace`."""
    n, shape = counted("choice", "n", n), plain_shape("choice", shape)
    _indices_spec(n, shape, replace, p, generator)
    count, drawn = size_of(shape), source("choice", generator)
    weights = None if p is None else _weights("choice", p)
    if n < 1 and count:
        raise ValueError("choice: there is nothing to choose from")
    if replace and weights is None:
        return _words.integers(drawn.words(_words.integer_words(count, n)), n).astype(np.int64).reshape(shape)
    if replace and weights is not None:
        return _samplers.weighted(drawn.words(count)[None], weights[None]).reshape(shape)
    _enough("choice", count, n if weights is None else int(np.count_nonzero(weights)))
    words = drawn.words(n)
    found = _samplers.order(words, count) if weights is None else _samplers.race(words, weights, count)
    return found.reshape(shape)


def _choice_spec(a: Any, shape: Any, replace: bool, p: Any, axis: int, generator: Any) -> Spec:
    if not shape_of(a):
        return _indices_spec(a, shape, replace, p, generator)
    axis = normalize_axis("choice", axis, len(shape_of(a)))
    found = _indices_spec(shape_of(a)[axis], shape, replace, p, generator)
    return Spec((*shape_of(a)[:axis], *found.shape, *shape_of(a)[axis + 1 :]), dtype_of(a))


@drawing(arrays=("a", "p"), infer=_choice_spec, composite=True)
def choice(
    a: Any, shape: Any = (), replace: bool = True, p: Any = None, axis: int = 0, *, generator: Any = None
) -> Any:
    """Slices of an array along an axis, or numbers below `a`, drawn by weights p, once at most unless `replace`."""
    if not shape_of(a):
        return choice_indices(a, shape, replace, p, generator=generator)
    axis = normalize_axis("choice", axis, len(shape_of(a)))
    return take(a, choice_indices(shape_of(a)[axis], shape, replace, p, generator=generator), axis)


def _multinomial_spec(input: Any, num_samples: int, replacement: bool, generator: Any) -> Spec:
    if len(shape_of(input)) not in (1, 2) or not shape_of(input)[-1]:
        raise ShapeError(f"multinomial: expected a row of weights or a matrix of rows, got shape {shape_of(input)}")
    return Spec((*shape_of(input)[:-1], *plain_shape("multinomial", num_samples)), np.int64)


@drawing(arrays=("input",), vjp=_INTEGERS, infer=_multinomial_spec, order=ANY_ORDER)
def multinomial(input: Any, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Any:
    """Positions drawn from each row of weights, which need not add up to 1."""
    shape: Shape = _multinomial_spec(input, num_samples, replacement, generator).shape
    weights = _weights("multinomial", input).reshape(-1, shape_of(input)[-1])
    (rows, columns), count = weights.shape, shape[-1]
    if not replacement and rows:
        _enough("multinomial", count, int(np.count_nonzero(weights, axis=-1).min()))
    drawn = source("multinomial", generator)
    if replacement:
        return _samplers.weighted(drawn.words(rows * count).reshape(rows, count), weights).reshape(shape)
    return _samplers.race(drawn.words(rows * columns).reshape(rows, columns), weights, count).reshape(shape)


def _categorical_spec(logits: Any, shape: Any, axis: int, generator: Any) -> Spec:
    axis = normalize_axis("categorical", axis, len(shape_of(logits)))
    if not shape_of(logits)[axis]:
        raise ShapeError(f"categorical: there is nothing to choose from in shape {shape_of(logits)}")
    batch = (*shape_of(logits)[:axis], *shape_of(logits)[axis + 1 :])
    return Spec((*plain_shape("categorical", shape), *batch), np.int64)


@drawing(arrays=("logits",), vjp=_INTEGERS, infer=_categorical_spec)
def categorical(logits: Any, shape: Any = (), axis: int = -1, *, generator: Any = None) -> Any:
    """Positions along an axis, with the probabilities softmax(logits); `shape` of them for each row."""
    result = _categorical_spec(logits, shape, axis, generator).shape
    rows = np.moveaxis(np.asarray(logits, np.float64), axis, -1)
    if np.isnan(rows).any() or not np.all(np.max(rows, axis=-1) > -np.inf) or np.any(rows == np.inf):
        raise ValueError("categorical: logits are numbers below inf, not all -inf")
    words = source("categorical", generator).words(size_of(result) * rows.shape[-1])
    noise = _words.gumbel(words).reshape(*result, rows.shape[-1])
    return np.asarray(np.argmax(noise + rows, axis=-1))


put_in("weft.random", *(TABLE[name] for name in __all__))
