"""How ops of linear algebra, of layers and of random numbers are batched."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.ops import Op
from weft.ops._op import TABLE
from weft.ops._spec import size_of
from weft.transform._batch import Batch, Rows
from weft.transform._batch_rules import invoke, position, rank, rule
from weft.transform._builder import Value

# Matrices


@rule(
    *("matrix_transpose", "det", "cofactor", "slogdet", "inv", "pinv", "matrix_rank", "cholesky", "eigh", "eigvalsh"),
    *("eig", "eigvals", "qr", "svd", "svdvals"),
)
def _matrices(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    """Ops on the last two dimensions, whatever stands in front of them."""
    x, *rest = args
    if not isinstance(x, Rows) or x.ndim < 2 or any(isinstance(each, Value) and each.shape for each in rest):
        return NotImplemented
    return invoke(batch, op, [_regular(batch, x).value, *rest])


def _regular(batch: Batch, x: Any) -> Any:
    """A matrix, which is the identity for examples that do not count: no decomposition fails on it."""
    if batch.mask is None:
        return x
    unit = batch.call("eye", *x.shape[-2:], dtype=x.dtype)
    if not isinstance(x, Rows):
        return batch.call("where", batch.call("any", batch.mask), x, unit)
    mask = batch.call("reshape", batch.mask, (batch.size, *(1,) * x.ndim))
    return Rows(batch.call("where", mask, x.value, unit))


@rule("cofactor_along")
def _paired(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    return invoke(batch, op, [batch.front(each) for each in args]) if rank(args[0]) == rank(args[1]) else NotImplemented


@rule("refuse_nonzero")
def _refuse_nonzero(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    return invoke(batch, op, [args[0].value, args[1]]).node  # of all examples together, and the same for all


@rule("matmul")
def _matmul(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    return product(batch, *args)


def product(batch: Batch, left: Any, right: Any) -> Value:
    """The matrix product of each example."""
    first, second = rank(left), rank(right)
    call = batch.call
    if not isinstance(right, Rows) and second == 2 and first >= 2:
        # One product of a tall matrix instead of one for each example.
        rows, inner = size_of(left.value.shape[:-1]), left.shape[-1]
        made = call("matmul", call("reshape", left.value, (rows, inner)), right)
        return call("reshape", made, (*left.value.shape[:-1], right.shape[-1]))  # type: ignore[no-any-return]  # a Value
    if not isinstance(right, Rows) and second <= 2 and (first >= 2 or second == 2):
        return call("matmul", left.value, right)  # type: ignore[no-any-return]  # a Value
    if not isinstance(left, Rows) and first == 2 and (second == 1 or (second == 2 and _is_one(right.shape[1]))):
        made = call("matmul", call("reshape", right.value, right.value.shape[:2]), call("matrix_transpose", left))
        return made if second == 1 else call("expand_dims", made, axis=-1)  # type: ignore[no-any-return]  # a Value
    if first == 1:
        left = Rows(call("expand_dims", left.value, axis=1)) if isinstance(left, Rows) else _row(batch, left)
    if second == 1:
        right = Rows(call("expand_dims", right.value, axis=-1)) if isinstance(right, Rows) else _column(batch, right)
    ndim = max(rank(left), rank(right))
    made = call("matmul", batch.aligned(left, ndim), batch.aligned(right, ndim))
    gone = (*((-2,) if first == 1 else ()), *((-1,) if second == 1 else ()))
    return call("squeeze", made, axis=gone) if gone else made  # type: ignore[no-any-return]  # a Value


def _is_one(dim: Any) -> bool:
    return isinstance(dim, int) and dim == 1


def _row(batch: Batch, value: Any) -> Any:
    return batch.call("expand_dims", value, axis=0)


def _column(batch: Batch, value: Any) -> Any:
    return batch.call("expand_dims", value, axis=-1)


@rule("solve")
def _solved(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    matrix, right = args
    matrix, vector = _regular(batch, matrix), rank(right) == 1
    if vector:
        right = Rows(_column(batch, right.value)) if isinstance(right, Rows) else _column(batch, right)
    ndim = max(rank(matrix), rank(right))
    made = batch.call("solve", batch.aligned(matrix, ndim), batch.aligned(right, ndim))
    return batch.call("squeeze", made, axis=-1) if vector else made


@rule("contract")
def _contracted(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    equation, operands = args
    inputs, output = equation.split("->")
    letter = next((c for c in _LETTERS if c not in equation), None)
    if letter is None or "." in equation:
        return NotImplemented
    labels = [letter * isinstance(x, Rows) + each for x, each in zip(operands, inputs.split(","), strict=True)]
    values = [x.value if isinstance(x, Rows) else x for x in operands]
    return batch.call("contract", f"{','.join(labels)}->{letter}{output}", *values)


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


# Layers


@rule("linear")
def _linear(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    x, weight, bias = args
    if not isinstance(weight, Rows) and not isinstance(bias, Rows):
        return invoke(batch, op, [x.value, weight, bias])
    if rank(weight) != 2:
        return NotImplemented
    turned = Rows(batch.call("matrix_transpose", weight.value)) if isinstance(weight, Rows) else weight
    if turned is weight:
        turned = batch.call("matrix_transpose", weight)
    varied = isinstance(x, Rows) or isinstance(turned, Rows)
    made: Any = product(batch, x, turned) if varied else batch.call("matmul", x, turned)
    if bias is None:
        return made
    ndim = len(type_.shape)
    return made + batch.aligned(bias, ndim)


@rule("windows", "overlap_add", "window_sum", "max_pool_indices", "max_pool", "max_pool_input", "adaptive_max_indices")
def _pooled(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    """Ops on the last dimensions."""
    values = [batch.front(arg) if array else arg for arg, array in zip(args, op.takes_arrays, strict=True)]
    return invoke(batch, op, values)


def _folded(batch: Batch, entry: Rows) -> Value:
    """The batch and the first dimension of the example as one."""
    first, *rest = entry.shape
    return batch.call("reshape", entry.value, (batch.size * first, *rest))  # type: ignore[no-any-return]  # a Value


@rule("conv", "conv_bias", "conv_input")
def _convolved(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    """More images where only those differ; where kernels do, groups of features, one for each example."""
    x, w, *rest = args
    if op.name == "conv_bias" and (isinstance(w, Rows) or isinstance(rest[0], Rows)):
        return _convolved_and_shifted(batch, args, type_)
    if isinstance(w, Rows):
        return _convolved_by_each(batch, op, args, type_) if op.name == "conv" else NotImplemented
    made = invoke(batch, op, [_folded(batch, x), w, *rest])
    return batch.call("reshape", made, (batch.size, *type_.shape))


def _convolved_and_shifted(batch: Batch, args: Sequence[Any], type_: Any) -> Any:
    x, w, bias, *how = args
    op = TABLE["conv"]
    varied = isinstance(x, Rows) or isinstance(w, Rows)
    made = _convolved(batch, op, [x, w, *how], type_) if varied else invoke(batch, op, [x, w, *how])
    if made is NotImplemented:
        return NotImplemented
    after = (1,) * (len(type_.shape) - 2)
    if isinstance(bias, Rows):
        return made + batch.call("reshape", bias.value, (batch.size, 1, *bias.shape, *after))
    return made + batch.call("reshape", bias, (*bias.shape, *after))


def _convolved_by_each(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    x, w, stride, padding, dilation, groups = args
    images, channels, *space = x.shape
    if isinstance(batch.size, int) and batch.size == 0:
        return NotImplemented
    value = batch.call("moveaxis", batch.front(x), 0, 1)
    value = batch.call("reshape", value, (images, batch.size * channels, *space))
    made = invoke(batch, op, [value, _folded(batch, w), stride, padding, dilation, batch.size * groups])
    made = batch.call("reshape", made, (images, batch.size, *type_.shape[1:]))
    return batch.call("moveaxis", made, 1, 0)


@rule("scale_shift")
def _scaled(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    x, weight, bias, axis = args
    ndim = rank(x)
    if axis < 0:
        return NotImplemented

    def laid_out(entry: Any) -> Any:
        after = (1,) * (ndim - axis - rank(entry))
        if isinstance(entry, Rows):
            return batch.call("reshape", entry.value, (batch.size, *(1,) * axis, *entry.shape, *after))
        return batch.call("reshape", entry, (*entry.shape, *after)) if after else entry

    made = batch.front(x)
    if weight is not None:
        made = made * laid_out(weight)
    return made if bias is None else made + laid_out(bias)


@rule("standardize")
def _standardized(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    x, start, stop, *rest = args
    if start < 0 or stop < start:
        return NotImplemented
    order = _kept_first(x.ndim, start, stop)
    made = invoke(batch, op, [batch.call("permute_dims", x.value, order), 0, stop - start + 1, *rest])
    return tuple(batch.call("permute_dims", each, _inverse(order)) for each in made)


@rule("sum_products")
def _summed(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    x1, x2, start, stop = args
    if start < 0 or stop < start:
        return NotImplemented
    order = _kept_first(rank(x1), start, stop)
    moved = [batch.call("permute_dims", batch.front(x), order) for x in (x1, x2)]
    made = invoke(batch, op, [*moved, 0, stop - start + 1])
    return batch.call("reshape", made, (batch.size, *type_.shape))


@rule("standardize_input")
def _standardize_input(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    g, g_mean, g_variance, y, variance, start, stop, *rest = args
    if start < 0 or stop < start:
        return NotImplemented
    order = _kept_first(rank(g), start, stop)
    moved = [batch.call("permute_dims", batch.front(x), order) for x in (g, g_mean, g_variance, y, variance)]
    made = invoke(batch, op, [*moved, 0, stop - start + 1, *rest])
    return batch.call("permute_dims", made, _inverse(order))


def _kept_first(ndim: int, start: int, stop: int) -> tuple[int, ...]:
    """An order of the batch's axes in which those that an op keeps apart follow the batch."""
    kept = range(start + 1, stop + 1)
    return (0, *kept, *(axis for axis in range(1, ndim + 1) if axis not in kept))


def _inverse(order: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(range(len(order)), key=order.__getitem__))


@rule("nll", "nll_input")
def _likelihood(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    """The loss of each target by itself, then the reduction of one example."""
    first, target, *rest, axis, ignored, reduction = args
    if axis < 0 or any(isinstance(d, int) and d == 0 for d in target.shape):
        return NotImplemented
    targets = batch.front(target)
    if reduction == "none":
        return invoke(batch, op, [batch.front(first), targets, *rest, axis + 1, ignored, "none"])
    scale: Any = 1
    if reduction == "mean":
        counted = batch.call("not_equal", targets, ignored)
        count = batch.call("sum", counted, axis=tuple(range(1, rank(target) + 1))) if rank(target) else counted
        dtype = first.dtype
        some = batch.call("astype", batch.call("maximum", batch.call("astype", count, int), 1), dtype)
        scale = batch.call("where", count == 0, np.asarray(math.nan, dtype)[()], np.asarray(1, dtype)[()] / some)
    if op.name == "nll":
        each = invoke(batch, op, [batch.front(first), targets, axis + 1, ignored, "none"])
        return (batch.call("sum", each, axis=tuple(range(1, rank(target) + 1))) if rank(target) else each) * scale
    g = batch.call("reshape", batch.front(first) * scale, (batch.size, *(1,) * rank(target)))
    spread = batch.call("broadcast_to", g, targets.shape)
    return invoke(batch, op, [spread, targets, *rest, axis + 1, ignored, "none"])


@rule("one_hot")
def _one_hot(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    return NotImplemented if args[1] == -1 else invoke(batch, op, [args[0].value, args[1]])


@rule("isin", "digitize")
def _first_only(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    first, second, *rest = args
    return NotImplemented if isinstance(second, Rows) else invoke(batch, op, [first.value, second, *rest])


@rule("searchsorted")
def _searched(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    x1, x2, side, sorter = args
    if isinstance(x1, Rows) or isinstance(sorter, Rows):
        return NotImplemented
    return invoke(batch, op, [x1, x2.value, side, sorter])


@rule("pad")
def _padded(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    x, widths, mode, fill = args
    if not isinstance(x, Rows) or isinstance(fill, Rows) or rank(fill) or isinstance(widths, dict):
        return NotImplemented
    pairs = tuple((int(before), int(after)) for before, after in np.broadcast_to(np.asarray(widths), (x.ndim, 2)))
    return invoke(batch, op, [x.value, ((0, 0), *pairs), mode, fill])


# Random numbers: one draw for each example


@rule("standard_uniform", "standard_normal", "standard_exponential", "standard_gumbel", "truncated_normal", "integers")
def _drawn(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    if isinstance(args[position(op, "generator")], Value):
        return NotImplemented
    values = list(args)
    values[position(op, "shape")] = (batch.size, *type_.shape)
    return invoke(batch, op, values)


@rule("bernoulli", "poisson", "standard_gamma", "beta", "uniform", "normal", "gumbel", "exponential", "gamma")
def _drawn_by(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    if isinstance(args[position(op, "generator")], Value):
        return NotImplemented
    ndim = len(type_.shape)
    values = [batch.aligned(arg, ndim) for arg in args]
    values[position(op, "shape")] = (batch.size, *type_.shape)
    return invoke(batch, op, values)


@rule("rand_like", "randn_like")
def _drawn_like(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    if isinstance(args[position(op, "generator")], Value):
        return NotImplemented
    return invoke(batch, op, [batch.front(args[0]), *args[1:]])


@rule("bernoulli_mask")
def _mask(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    x, p, axes = args
    ndim = rank(x)
    return invoke(batch, op, [batch.front(x), p, tuple((axis + ndim if axis < 0 else axis) + 1 for axis in axes)])
