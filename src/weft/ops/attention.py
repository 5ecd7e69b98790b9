"""Attention: each query's average of the values, weighted by how well their keys match it."""

from __future__ import annotations

import math
from typing import Any

from weft.errors import ShapeError
from weft.ops._families import composite
from weft.ops._spec import dtype_of, shape_of
from weft.ops.activation import softmax
from weft.ops.creation import arange
from weft.ops.layers import dropout
from weft.ops.linalg import matmul, matrix_transpose
from weft.ops.logic import equal, greater_equal, where
from weft.ops.manipulation import repeat, reshape
from weft.ops.reductions import max

__all__ = ["scaled_dot_product_attention"]


def _masked(scores: Any, attn_mask: Any, is_causal: bool) -> Any:
    """Scores with -inf where attention is not allowed, or with a mask of numbers added."""
    if is_causal:
        *_, rows, columns = shape_of(scores)
        attn_mask = greater_equal(reshape(arange(rows), (rows, 1)), arange(columns))
    if attn_mask is None:
        return scores
    return where(attn_mask, scores, -math.inf) if dtype_of(attn_mask).kind == "b" else scores + attn_mask


def _weights(scores: Any) -> Any:
    """Softmax over the keys; a query that may attend to none of them gets zeros."""
    nothing = equal(max(scores, axis=-1, keepdims=True), -math.inf)
    return where(nothing, 0, softmax(where(nothing, 0, scores), axis=-1))


def _check(query: Any, key: Any, value: Any) -> None:
    q, k, v = shape_of(query), shape_of(key), shape_of(value)
    if min(len(q), len(k), len(v)) < 2 or q[-1] != k[-1] or k[-2] != v[-2]:
        raise ShapeError(
            f"scaled_dot_product_attention: query {q}, key {k} and value {v} do not fit",
            help="expected (..., queries, features), (..., keys, features) and (..., keys, anything)",
        )


def _repeated(x: Any, heads: int) -> Any:
    """Keys or values with each of their heads repeated to a number of heads."""
    own = shape_of(x)[-3]
    if heads % own:
        raise ShapeError(
            f"scaled_dot_product_attention: {heads} heads of the query are no multiple of {own} in {shape_of(x)}"
        )
    return repeat(x, heads // own, axis=-3)


def _drops(query: Any, key: Any, value: Any, attn_mask: Any, dropout_p: float, *_: Any) -> bool:
    return 0 < dropout_p < 1


@composite(arrays=("query", "key", "value", "attn_mask"), random=_drops)
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """softmax(query @ key.T * scale + mask) @ value over (..., sequence, features).

    A boolean mask is true where attention is allowed; any other is added to the scores. is_causal lets each query see
    the keys up to its own position. The scale is 1 / sqrt(features) unless given. enable_gqa repeats the heads of key
    and value to as many as the query has.
    """
    _check(query, key, value)
    if is_causal and attn_mask is not None:
        raise ValueError("scaled_dot_product_attention: attn_mask and is_causal exclude each other")
    if enable_gqa:
        key, value = (_repeated(x, shape_of(query)[-3]) for x in (key, value))
    factor = 1 / math.sqrt(shape_of(query)[-1]) if scale is None else scale
    scores = matmul(query * factor, matrix_transpose(key))
    masked = is_causal or attn_mask is not None
    weights = _weights(_masked(scores, attn_mask, is_causal)) if masked else softmax(scores, axis=-1)
    if dropout_p:
        weights = dropout(weights, dropout_p, True)
    return matmul(weights, value)
