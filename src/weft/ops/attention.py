"""Attention: each query's average of the values, weighted by how well their keys match it; over one head, or many."""

from __future__ import annotations

import math
from typing import Any

from weft.errors import DtypeError, ShapeError
from weft.ops._families import composite
from weft.ops._spec import dtype_of, shape_of
from weft.ops.creation import arange, zeros
from weft.ops.dtypes import astype
from weft.ops.joining import concat, split
from weft.ops.layers import dropout, linear
from weft.ops.linalg import matmul, matrix_transpose
from weft.ops.logic import equal, greater, greater_equal, where
from weft.ops.manipulation import broadcast_to, expand_dims, permute_dims, repeat, reshape
from weft.ops.reductions import max, mean
from weft.ops.softmaxes import softmax

__all__ = ["multi_head_attention", "scaled_dot_product_attention"]


def _masked(scores: Any, attn_mask: Any, is_causal: bool) -> Any:
    """Scores with -inf where attention is not allowed, or with a mask of numbers added."""
    if is_causal:  # adding -inf to the few scores of one head takes less time than choosing among all
        *_, rows, columns = shape_of(scores)
        seen = greater_equal(reshape(arange(rows), (rows, 1)), arange(columns))
        attn_mask = astype(where(seen, 0.0, -math.inf), dtype_of(scores))
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
    scores = _masked(scores, attn_mask, is_causal)
    # Only with a mask of one's own may a query attend to nothing.
    weights = softmax(scores, axis=-1) if attn_mask is None else _weights(scores)
    if dropout_p:
        weights = dropout(weights, dropout_p, True)
    return matmul(weights, value)


# --- many heads ---

_NAME = "multi_head_attention"


def _projected(query: Any, key: Any, value: Any, weights: Any, bias: Any) -> list[Any]:
    """Query, key and value after their linear maps, whose weights come stacked in one or as three."""
    if len(weights) == 1 and query is key and key is value:
        return list(split(linear(query, weights[0], bias), 3, -1))
    matrices = split(weights[0], 3, 0) if len(weights) == 1 else weights
    biases = (None, None, None) if bias is None else split(bias, 3)
    return [linear(x, w, b) for x, w, b in zip((query, key, value), matrices, biases, strict=True)]


def _in_heads(x: Any, heads: int) -> Any:
    """(batch, steps, features) as (batch, heads, steps, features / heads)."""
    batch, steps, features = shape_of(x)
    return permute_dims(reshape(x, (batch, steps, heads, features // heads)), (0, 2, 1, 3))


def _lengthened(x: Any, more: Any) -> Any:
    """Keys or values in heads with one more at the end, the same for the whole batch."""
    batch, heads, _, features = shape_of(x)
    return concat([x, broadcast_to(reshape(more, (1, heads, 1, features)), (batch, heads, 1, features))], 2)


def _mask_in_heads(mask: Any, batch: int, heads: int, rows: int, columns: int) -> Any:
    shape = shape_of(mask)
    if shape == (rows, columns):
        return mask
    if shape != (batch * heads, rows, columns):
        both = f"{(rows, columns)} or {(batch * heads, rows, columns)}"
        raise ShapeError(f"{_NAME}: expected an attn_mask of shape {both}, got {shape}")
    return reshape(mask, (batch, heads, rows, columns))


def _masks(attn_mask: Any, padding: Any, is_causal: bool, shape: tuple[int, ...], single: bool) -> list[Any]:
    """What keeps which query from which key, each mask in a shape that broadcasts to the scores."""
    batch, heads, rows, columns = shape
    found = []
    if attn_mask is not None:
        found.append(_mask_in_heads(attn_mask, batch, heads, rows, columns))
    elif is_causal:
        found.append(greater(arange(columns), reshape(arange(rows), (rows, 1))))
    if padding is not None:
        expected = (columns,) if single else (batch, columns)
        if shape_of(padding) != expected:
            raise ShapeError(f"{_NAME}: expected a key_padding_mask of shape {expected}, got {shape_of(padding)}")
        found.append(reshape(padding, (batch, 1, 1, columns)))
    return found


def _masked_scores(scores: Any, masks: list[Any]) -> Any:
    """Scores with -inf where a mask is true, or with a mask of numbers added; keys beyond a mask stay allowed."""
    for mask in masks:
        if dtype_of(mask).kind not in "bf":
            raise DtypeError(f"{_NAME}: a mask holds booleans or floats, got {dtype_of(mask)}")
        extra = shape_of(scores)[-1] - shape_of(mask)[-1]
        if extra:
            mask = concat([mask, zeros((*shape_of(mask)[:-1], extra), dtype=dtype_of(mask))], -1)
        scores = where(mask, -math.inf, scores) if dtype_of(mask).kind == "b" else scores + mask
    return scores


def _check_heads(query: Any, key: Any, value: Any, weights: Any, heads: int, single: bool) -> None:
    shapes = [shape_of(x) for x in (query, key, value)]
    fits = {len(s) for s in shapes} == {2 if single else 3} and shapes[1][:-1] == shapes[2][:-1]
    if not fits:
        raise ShapeError(
            f"{_NAME}: query {shapes[0]}, key {shapes[1]} and value {shapes[2]} do not fit",
            help="expected three dimensions each, or two without a batch; key and value of one length",
        )
    features = shape_of(weights[0])[0] // (3 if len(weights) == 1 else 1)
    if features % heads:
        raise ShapeError(f"{_NAME}: {features} features cannot be split into {heads} heads")


def _drops_weights(*arguments: Any) -> bool:
    return 0 < arguments[_DROPOUT_AT] < 1


_DROPOUT_AT = 13  # of dropout_p among the parameters below


@composite(
    arrays=(
        "query",
        "key",
        "value",
        "in_weights",
        "in_bias",
        "out_weight",
        "out_bias",
        "key_padding_mask",
        "attn_mask",
        "bias_k",
        "bias_v",
    ),
    random=_drops_weights,
)
def multi_head_attention(
    query: Any,
    key: Any,
    value: Any,
    in_weights: Any,
    in_bias: Any,
    out_weight: Any,
    out_bias: Any,
    num_heads: int,
    key_padding_mask: Any = None,
    attn_mask: Any = None,
    bias_k: Any = None,
    bias_v: Any = None,
    add_zero_attn: bool = False,
    dropout_p: float = 0.0,
    need_weights: bool = False,
    average_weights: bool = True,
    is_causal: bool = False,
    batch_first: bool = False,
) -> Any:
    """Attention in several heads, each with linear maps of its own: the output, or (output, weights) if needed.

    `in_weights` lists one matrix for query, key and value together, or three. A boolean mask is true where attention is
    not allowed; any other is added to the scores. A query that may attend to nothing gets zeros.
    """
    single = len(shape_of(query)) == 2
    _check_heads(query, key, value, in_weights, num_heads, single)
    parts = _projected(query, key, value, in_weights, in_bias)
    if single:
        parts = [expand_dims(part, 0) for part in parts]
    elif not batch_first:
        parts = [permute_dims(part, (1, 0, 2)) for part in parts]
    q, k, v = (_in_heads(part, num_heads) for part in parts)
    (batch, _, rows, width), columns = shape_of(q), shape_of(k)[2]
    masks = _masks(attn_mask, key_padding_mask, is_causal, (batch, num_heads, rows, columns), single)
    if bias_k is not None:
        k, v = _lengthened(k, bias_k), _lengthened(v, bias_v)
    if add_zero_attn:
        k, v = (_lengthened(x, zeros((num_heads * width,), dtype=dtype_of(x))) for x in (k, v))
    scores = matmul(q * (1 / math.sqrt(width)), matrix_transpose(k))
    weights = _weights(_masked_scores(scores, masks)) if masks else softmax(scores, axis=-1)
    if dropout_p:
        weights = dropout(weights, dropout_p, True)
    y = permute_dims(matmul(weights, v), (0, 2, 1, 3) if batch_first or single else (2, 0, 1, 3))
    y = linear(reshape(y, (*shape_of(y)[:2], num_heads * width)), out_weight, out_bias)
    y = y[0] if single else y
    if not need_weights:
        return y
    shown = mean(weights, axis=1) if average_weights else weights
    return y, shown[0] if single else shown
