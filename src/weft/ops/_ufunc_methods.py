"""The methods of NumPy's ufuncs as ops: `np.add.reduce`, `.accumulate`, `.reduceat` and `.outer`.

`ufunc_method` finds the op for one. It takes the parameters of the method, the axis always stated: without one a method
means axis 0, the op that reduces all axes. `.at` writes into its argument and is no op.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from weft.errors import NotDifferentiable, ShapeError
from weft.ops import _masked  # noqa: F401  # declares the ops with where= and initial= that are named below
from weft.ops._families import composite, op, reduced_shape
from weft.ops._matrices import put_in
from weft.ops._op import TABLE, Op, no_gradient, op_of
from weft.ops._raises import BAD_VALUES
from weft.ops._spec import Spec, axis_tuple, dtype_of, normalize_axis, shape_of
from weft.ops.creation import arange, asarray, full, zeros
from weft.ops.cumulative import along, cumulative_sum, linear_recurrence
from weft.ops.dtypes import astype
from weft.ops.indexing import index_add, scatter_add
from weft.ops.joining import concat
from weft.ops.logic import equal, greater, where
from weft.ops.manipulation import broadcast_to, reshape
from weft.ops.transcendental import exp, exp2

_REDUCTIONS = {
    "add": ("sum", "sum_where"),
    "multiply": ("prod", "prod_where"),
    "maximum": ("max", "max_where"),
    "minimum": ("min", "min_where"),
    "logical_and": ("all", "all_where"),
    "logical_or": ("any", "any_where"),
}
_FOLDS = "bitwise_and bitwise_or bitwise_xor logical_xor fmax fmin gcd lcm hypot logaddexp logaddexp2".split()
_RUNNING = {"add": "cumulative_sum", "multiply": "cumulative_prod"}
_SCANS = "maximum minimum fmax fmin logical_and logical_or bitwise_and bitwise_or bitwise_xor logaddexp".split()
_SEGMENTS = "add multiply maximum minimum logical_and logical_or bitwise_and bitwise_or bitwise_xor".split()


def ufunc_method(ufunc: Any, method: str, given: Collection[str] = ()) -> Op | None:
    """The op that means a method of a ufunc where these keyword arguments are given besides the axis; None without one.

    >>> ufunc_method(np.add, "reduce"), ufunc_method(np.add, "reduce", {"initial"}), ufunc_method(np.add, "at")
    (<weft op sum>, <weft op sum_where>, None)
    """
    name = ufunc.__name__
    if method == "outer":
        return TABLE["ufunc_outer"] if ufunc.nin == 2 and op_of(ufunc) is not None else None
    if method == "reduce" and name in _REDUCTIONS:
        plain, full_one = (TABLE[each] for each in _REDUCTIONS[name])
        return plain if set(given) <= set(plain.__signature__.parameters) else full_one
    if method == "accumulate" and name in _RUNNING:
        return TABLE[_RUNNING[name]]
    return TABLE.get(f"{name}_{method}")


# ── Reduce ────────────────────────────────────────────────────────────────────────────────────────────────────────────


# What the result of such a fold changes by with one element: y is the result.
_SLOPES: dict[str, Any] = {
    "hypot": lambda y, x: x / where(equal(y, 0), 1, y),
    "logaddexp": lambda y, x: exp(x - y),
    "logaddexp2": lambda y, x: exp2(x - y),
}


def _fold_back(name: str) -> Any:
    slope = _SLOPES.get(name)
    if slope is None:
        return no_gradient("there is no rule for it; a sum, product, maximum or minimum has one")

    def rule(g: Any, y: Any, array: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        kept = reduced_shape(name, shape_of(array), axis, True)
        found = reshape(g, kept) * slope(reshape(y, kept), array)
        return found if where is True else found * astype(where, dtype_of(g))

    return rule


def _fold(name: str) -> Op:
    ufunc = getattr(np, name)

    def infer(array: Any, axis: Any, dtype: Any, keepdims: Any, initial: Any, where: Any) -> Spec:
        found = ufunc.reduce(np.ones(1, dtype_of(array)), dtype=dtype).dtype
        return Spec(reduced_shape(f"{name}.reduce", shape_of(array), axis, keepdims), found)

    def reduce(
        array: Any, axis: Any = 0, dtype: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = True
    ) -> Any:
        start = {} if initial is None else {"initial": initial}
        return ufunc.reduce(array, axis=axis_tuple(axis), dtype=dtype, keepdims=keepdims, where=where, **start)

    reduce.__name__ = f"{name}_reduce"
    reduce.__doc__ = f"All elements along the given axes combined by `{name}`."
    reason = no_gradient("there is no rule for it")
    return op(arrays=("array", "initial", "where"), infer=infer, vjp=(_fold_back(name), reason, reason))(reduce)


# ── Accumulate ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _running_sum_back(g: Any, y: Any, array: Any, axis: int, dtype: Any) -> Any:
    """Each g counts exp(x - y) for all elements up to its own; y only grows, so no factor here is above 1."""
    at = normalize_axis("logaddexp.accumulate", axis, len(shape_of(y)))
    later = concat([y[along(at, slice(1, None))], y[along(at, slice(-1, None))]], at)
    return exp(array - y) * linear_recurrence(exp(y - later), g, axis=at, reverse=True)


def _scan_back(name: str) -> Any:
    """A running extreme is one of the elements so far: the last one that equals it receives the gradient."""
    if name == "logaddexp":
        return _running_sum_back
    if name not in ("maximum", "minimum"):
        return no_gradient("there is no rule for it; a running sum, product, maximum or minimum has one")

    def rule(g: Any, y: Any, array: Any, axis: int, dtype: Any) -> Any:
        shape = shape_of(array)
        at = normalize_axis(name, axis, len(shape))
        places = broadcast_to(reshape(arange(shape[at]), (shape[at], *(1,) * (len(shape) - at - 1))), shape)
        found = TABLE["maximum_accumulate"](where(equal(array, y), places, 0), axis=at)
        return scatter_add(full(shape, 0, dtype=dtype_of(g)), found, g, at)

    return rule


def _scan(name: str) -> Op:
    ufunc = getattr(np, name)

    def infer(array: Any, axis: Any, dtype: Any) -> Spec:
        normalize_axis(f"{name}.accumulate", axis, len(shape_of(array)))
        return Spec(shape_of(array), ufunc.accumulate(np.ones(1, dtype_of(array)), dtype=dtype).dtype)

    def accumulate(array: Any, axis: int = 0, dtype: Any = None) -> Any:
        return ufunc.accumulate(array, axis, dtype)

    accumulate.__name__ = f"{name}_accumulate"
    accumulate.__doc__ = f"Each element along an axis combined by `{name}` with all before it."
    return op(arrays=("array",), infer=infer, vjp=_scan_back(name))(accumulate)


# ── Reduceat ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _segment_back(g: Any, y: Any, array: Any, indices: Any, axis: int, dtype: Any) -> Any:
    """The sum from each index up to the next, or one element where the next is not larger.

    Each gradient is added at the beginning of its part and taken away behind its end; running totals fill the part.
    """
    shape = shape_of(array)
    at = normalize_axis("add.reduceat", axis, len(shape))
    start = asarray(indices)
    after = concat([start[1:], asarray([shape[at]])])
    stop = where(greater(after, start), after, start + 1)
    edges = zeros((*shape[:at], shape[at] + 1, *shape[at + 1 :]), dtype=dtype_of(g))
    front = (slice(None),) * at
    edges = index_add(index_add(edges, (*front, start), g), (*front, stop), -g)
    return cumulative_sum(edges, axis=at)[along(at, slice(None, -1))]


def _segment(name: str) -> Op:
    ufunc = getattr(np, name)

    def infer(array: Any, indices: Any, axis: int, dtype: Any) -> Spec:
        shape = shape_of(array)
        at = normalize_axis(f"{name}.reduceat", axis, len(shape))
        if len(shape_of(indices)) != 1:
            raise ShapeError(f"{name}.reduceat: indices have one dimension, got shape {shape_of(indices)}")
        found = ufunc.reduceat(np.ones(1, dtype_of(array)), [0], dtype=dtype).dtype
        return Spec((*shape[:at], *shape_of(indices), *shape[at + 1 :]), found)

    def reduceat(array: Any, indices: Any, axis: int = 0, dtype: Any = None) -> Any:
        return ufunc.reduceat(array, indices, axis, dtype)

    reduceat.__name__ = f"{name}_reduceat"
    reduceat.__doc__ = f"The elements from each index up to the next, along an axis, combined by `{name}`."
    whole = no_gradient("indices are integers")
    rule = _segment_back if name == "add" else no_gradient("there is no rule for it; add.reduceat has one")
    return op(arrays=("array", "indices"), infer=infer, vjp=(rule, whole), raises=BAD_VALUES)(reduceat)


# ── Outer ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@composite(arrays=("x1", "x2"), eval=lambda x1, x2, ufunc: getattr(np, ufunc).outer(x1, x2))
def ufunc_outer(x1: Any, x2: Any, ufunc: str) -> Any:
    """The ufunc of that name of every element of x1 with every element of x2."""
    meant = op_of(getattr(np, ufunc))
    if meant is None:
        raise NotDifferentiable(f"np.{ufunc} has no op, and so no derivative")
    x1, x2 = asarray(x1), asarray(x2)
    return meant(reshape(x1, (*shape_of(x1), *(1,) * len(shape_of(x2)))), x2)


_MADE = [*map(_fold, _FOLDS), *map(_scan, _SCANS), *map(_segment, _SEGMENTS), ufunc_outer]
for _each in _MADE:
    globals()[_each.name] = _each
put_in("weft.ops._ufunc_methods", *_MADE)

_PARAMETERS = ("axis", "dtype", "out", "keepdims", "initial", "where")


def method_arguments(
    method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call of a method but `out`: arrays by position, all else by name, the axis stated."""
    if method == "outer":
        return inputs, dict(kwargs)
    arrays = 2 if method == "reduceat" else 1
    rest = dict(zip(_PARAMETERS, inputs[arrays:], strict=False))
    stated = {name: value for name, value in {**rest, **kwargs}.items() if value is not None or name == "axis"}
    stated.pop("out", None)
    return inputs[:arrays], {"axis": 0, **stated}
