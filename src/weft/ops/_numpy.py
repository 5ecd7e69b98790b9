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

# Calls in which a function of NumPy means something else than its op. With a dtype, `var` gives the result that dtype
# too, whichever it is.
_DIFFERS: dict[Any, Callable[[Given], bool]] = {
    np.split: _always,  # a list; the op gives a tuple
    np.argsort: lambda given: not _stable(given),  # which leaves equal elements in any order; the op in theirs
    np.linalg.eig: _is_real,  # real where all eigenvalues are; the op gives complex numbers always
    np.linalg.eigvals: _is_real,
    np.linalg.pinv: lambda given: given.get("rtol") is None,  # NumPy has a bound of its own for small singular values
    np.meshgrid: _always,  # flattens its arguments first
    np.pad: lambda given: not _is_one_of(given.get("mode", "constant"), _PADS),
    np.linalg.qr: lambda given: not _is_one_of(given.get("mode", "reduced"), ("reduced", "complete")),
    np.var: lambda given: given.get("dtype") is not None or given.keys() >= {"ddof", "correction"},
    np.std: lambda given: given.get("dtype") is not None or given.keys() >= {"ddof", "correction"},
    np.diff: lambda given: _has_number({name: given.get(name) for name in _ENDS}),
    np.dot: _has_number,
    np.inner: _has_number,
    np.cross: lambda given: "axis" in given and given["axis"] is None,
    np.clip: lambda given: all(given.get(name) is None for name in ("min", "max", "a_min", "a_max")),
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
    np.zeros_like: "zeros_shaped",
    np.ones_like: "ones_shaped",
    np.full_like: "full_shaped",
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
    np.nansum: "nansum_where",
    np.nanprod: "nanprod_where",
    np.nanmax: "nanmax_where",
    np.nanmin: "nanmin_where",
    np.nanmean: "nanmean_where",
    np.nanvar: "nanvar_where",
    np.nanstd: "nanstd_where",
}


def op_call(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Op, tuple[Any, ...], dict[str, Any]] | None:
    """The op that means the same as the function (of NumPy or `operator`) with these arguments, and its arguments.

    None if no op means it. The arguments are those given where the op takes them so, else the same by its own names.

    >>> op_call(np.tile, (1.0,), {"reps": 2})
    (<weft op tile>, (1.0, 2), {})
    """
    op = op_of(function)
    if op is None:
        return None
    if op is function:
        return op, args, kwargs
    given = arguments_given(function, args, kwargs)
    differs = _DIFFERS.get(function)
    if differs is None or not differs(given):
        found = _spelled(op, function, args, kwargs, given)
        if found is not None:
            return found
    other = TABLE.get(_OTHERWISE.get(function, ""))
    return None if other is None else _spelled(other, function, args, kwargs, given)


def binds(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether an op takes these arguments."""
    try:
        op.bind(args, kwargs)
    except TypeError:
        return False
    return True


def arguments_given(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Given:
    """The arguments of a call by the names NumPy gives them."""
    return {**dict(zip(positional(function), args, strict=False)), **kwargs}


def _spelled(
    op: Op, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], given: Given
) -> tuple[Op, tuple[Any, ...], dict[str, Any]] | None:
    """The op with the arguments of a call of NumPy's function; None where it has no parameter for one of them."""
    names = _names(op, function)
    if names is None:
        return (op, args, kwargs) if binds(op, args, kwargs) else None
    # An array given by name goes by position, where rules look for it.
    if args and len(args) <= names.aligned and kwargs.keys() <= names.same:
        return (op, args, kwargs) if binds(op, args, kwargs) else None
    if names.many:  # what stands before the names is as many arrays as there are
        more = names.to_op(kwargs)
        return (op, args, more) if more is not None and binds(op, args, more) else None
    named = names.to_op(given)
    if named is None or len(args) > len(positional(function)):
        return None
    by_position = []
    for name in names.positional:
        if name not in named:
            break
        by_position.append(named.pop(name))
    made = tuple(by_position)
    return (op, made, named) if binds(op, made, named) else None


class _Names:
    """The parameters of a function of NumPy's under the names that an op has for them.

    Parameters of the same name mean the same. Of the others those that stand at the same place do.
    """

    def __init__(self, op: Op, function: Any, signature: inspect.Signature) -> None:
        theirs, ours = signature.parameters, op.__signature__.parameters
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        here = [name for name, p in theirs.items() if p.kind in kinds]
        self.positional = [name for name, p in ours.items() if p.kind in kinds]
        more = inspect.Parameter.VAR_KEYWORD in {p.kind for p in theirs.values()}
        self.named = {name: name for name in ours if more or name in theirs}
        for name, own in zip(here, self.positional, strict=False):
            if name not in ours and own not in theirs:
                self.named[name] = own
        self.defaults = {name: p.default for name, p in theirs.items()}
        alike = [self.named.get(name) == own for name, own in zip(here, self.positional, strict=False)]
        self.aligned = [*alike, False].index(False)
        self.same = {n for n in self.named if n in ours and ours[n].kind is not inspect.Parameter.POSITIONAL_ONLY}
        self.many = inspect.Parameter.VAR_POSITIONAL in {p.kind for p in theirs.values()}
        if self.many:
            self.aligned = 1000

    def to_op(self, given: Given) -> Given | None:
        """Arguments by the op's names, without those that change nothing; None where the op has no such parameter."""
        made = {}
        for name, value in given.items():
            if value is np._NoValue:
                continue
            own = self.named.get(name)
            if own is not None:
                made[own] = value
            elif not _says_nothing(name, value, self.defaults.get(name, inspect.Parameter.empty)):
                return None
        return made


def _says_nothing(name: str, value: Any, default: Any) -> bool:
    """Whether an argument is what it is by default, or only about how the result lies in memory."""
    if value is default or name == "subok" or (name == "order" and default == "K"):
        return True
    if name == "device":
        return _is_one_of(value, ("cpu",))
    return type(value) is type(default) and isinstance(value, (str, bool, int)) and value == default


@lru_cache(maxsize=1024)
def _names(op: Op, function: Any) -> _Names | None:
    """How an op names the parameters of a function; None where the function does not tell what they are."""
    signature = _signature(function)
    return None if signature is None else _Names(op, function, signature)


@lru_cache(maxsize=1024)
def _signature(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        names = _IN_C.get(function)
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return None if names is None else inspect.Signature([inspect.Parameter(n, kind, default=None) for n in names])


@lru_cache(maxsize=1024)
def positional(function: Any) -> tuple[str, ...]:
    """The names of the parameters that may be given by position."""
    signature = _signature(function)
    if signature is None:
        return ()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(p.name for p in signature.parameters.values() if p.kind in kinds)
