"""When a function of NumPy means an op.

Most functions of NumPy that have an op mean it with any arguments; where some arguments mean something else, or the
result is of another type, they do not.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from weft.ops._op import TABLE, Op, op_of

# Functions written in C, which tell their signature in newer versions of NumPy only.
_IN_C = {np.concatenate: ("arrays", "axis", "out"), np.dot: ("a", "b", "out"), np.inner: ("a", "b")}

Given = dict[str, Any]


def _always(given: Given) -> bool:
    return True


def _has_number(given: Given) -> bool:
    """Whether a Python number is given where these functions make an array of it, which then promotes the result."""
    return any(type(value) in (bool, int, float, complex) for value in given.values())


def _is_real(given: Given) -> bool:
    matrix = given.get("a")
    known = hasattr(type(matrix), "dtype")  # a proxy would record that it was asked
    return not known or np.dtype(matrix.dtype).kind != "c"  # type: ignore[union-attr]  # it has one


def _is_one_of(value: Any, names: tuple[str, ...]) -> bool:
    return isinstance(value, str) and value in names


def _stable(given: Given) -> bool:
    return _is_one_of(given.get("kind"), ("stable", "mergesort")) or given.get("stable") is True


_PADS = ("constant", "edge", "reflect", "symmetric", "wrap")
_ENDS = ("prepend", "append")

# Calls in which a function of NumPy means something else than its op.
_DIFFERS: dict[Any, Callable[[Given], bool]] = {
    np.split: _always,  # a list; the op gives a tuple
    np.argsort: lambda given: not _stable(given),  # which leaves equal elements in any order; the op in theirs
    np.linalg.eig: _is_real,  # real where all eigenvalues are; the op gives complex numbers always
    np.linalg.eigvals: _is_real,
    np.linalg.pinv: lambda given: given.get("rtol") is None,  # NumPy has a bound of its own for small singular values
    np.meshgrid: _always,  # flattens its arguments first
    np.pad: lambda given: not _is_one_of(given.get("mode", "constant"), _PADS),
    np.linalg.qr: lambda given: not _is_one_of(given.get("mode", "reduced"), ("reduced", "complete")),
    np.var: lambda given: given.get("dtype") is not None,  # NumPy gives the result this dtype too, and takes any
    np.std: lambda given: given.get("dtype") is not None,
    np.diff: lambda given: _has_number({name: given.get(name) for name in _ENDS}),
    np.dot: _has_number,
    np.inner: _has_number,
    np.cross: lambda given: "axis" in given and given["axis"] is None,
}


# Ops that mean such a function where the op of its name does not: with more parameters, or the same type of result.
_OTHERWISE = {
    np.clip: "clip_between",
    np.argsort: "argsort_by",
    np.sort: "sort_by",
    np.take: "take_by",
    np.dot: "dot_of",
    np.inner: "inner_of",
    np.diff: "diff_of",
    np.cross: "cross_along",
    np.linalg.qr: "qr_triangle",
    np.linalg.pinv: "pinv_by",
    np.linalg.matrix_rank: "matrix_rank_by",
    np.atleast_1d: "all_atleast_1d",
    np.atleast_2d: "all_atleast_2d",
    np.split: "split_to_list",
    np.meshgrid: "mesh",
    np.linspace: "linspace_along",
    np.sum: "sum_where",
    np.prod: "prod_where",
    np.max: "max_where",
    np.amax: "max_where",
    np.min: "min_where",
    np.amin: "min_where",
    np.mean: "mean_where",
    np.var: "var_where",
    np.std: "std_where",
    np.all: "all_where",
    np.any: "any_where",
}


def op_for(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Op | None:
    """The op that means the same as the function (of NumPy or `operator`) with these arguments; None if none does."""
    op = op_of(function)
    if op is None or op is function:
        return op
    given = arguments_given(function, args, kwargs)
    # `out=None` by position stands where an op has another parameter.
    if "out" in given and "out" not in kwargs:
        return None
    differs = _DIFFERS.get(function)
    if (differs is None or not differs(given)) and binds(op, args, kwargs):
        return op
    other = TABLE.get(_OTHERWISE.get(function, ""))
    return other if other is not None and binds(other, args, kwargs) else None


def binds(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether an op takes these arguments."""
    try:
        op.bind(args, kwargs)
    except TypeError:
        return False
    return True


def arguments_given(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Given:
    """The arguments of a call by the names NumPy gives them."""
    return {**dict(zip(_positional(function), args, strict=False)), **kwargs}


@lru_cache(maxsize=1024)
def _positional(function: Any) -> tuple[str, ...]:
    """The names of the parameters that may be given by position."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return _IN_C.get(function, ())
    return tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
