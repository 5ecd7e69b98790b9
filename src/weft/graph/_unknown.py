"""`Unknown`: a Python number of which only the type is known, where shapes are found without computing.

The counter of a loop is one: its value differs from turn to turn. A Python number never decides a dtype, so a NumPy
scalar could not stand for it. An unknown integer has a symbolic size (`dim`) besides, for slices and shapes made of it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from weft import pytree
from weft.errors import UnknownShape
from weft.graph._arguments import map_aggregate
from weft.ops._dim import REASONED, Sizes
from weft.ops._numpy import op_call
from weft.ops._op import Op
from weft.ops._spec import Spec, spec_of

NUMBERS = (bool, int, float, complex)
_OF_CONTAINERS = (tuple, list, dict, len)  # they look at no item
_EXACT = (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.neg)

sizes: ContextVar[Sizes | None] = ContextVar("weft_unknown_sizes", default=None)
"""The symbolic sizes of the run going on; unknown integers of one run may meet in one shape."""


class Unknown:
    """Some number of a Python type."""

    __slots__ = ("dim", "kind")
    __weft_priority__ = 6  # above a Spec's: an op may get both

    def __init__(self, kind: type, dim: Any = None) -> None:
        self.kind = kind
        if dim is None and kind is int:
            dim = (sizes.get() or Sizes()).value("i")
        self.dim = dim

    def __repr__(self) -> str:
        return f"Unknown({self.kind.__name__})"

    def __bool__(self) -> bool:
        raise TypeError(f"{self} has no value to decide by")

    def __weft_op__(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        bound = zip(op.__signature__.parameters, op.bind(args, kwargs), strict=True)
        return op.infer(*(_operand(value) if name in op.arrays else _option(op, value) for name, value in bound))


def _operand(value: Any) -> Any:
    """What stands for an array operand: its dtype is what counts."""
    return spec_of(map_aggregate(value, lambda leaf: leaf.kind(1) if isinstance(leaf, Unknown) else leaf))


def _option(op: Op, value: Any) -> Any:
    """What stands for an axis, a key or a shape."""

    def leaf(part: Any) -> Any:
        if not isinstance(part, Unknown):
            return part
        if part.kind is bool or (part.kind is not int and not op.arrays):
            raise UnknownShape(f"{op.name}: the result depends on a {part.kind.__name__} that only running can tell")
        return part.dim if part.kind is int else part.kind(1)

    return map_aggregate(value, leaf)


def has_unknown(*values: Any) -> bool:
    """Whether there is one among the values, at any depth."""
    found = False

    def leaf(part: Any) -> Any:
        nonlocal found
        found = found or isinstance(part, Unknown)
        return part

    map_aggregate(values, leaf)
    return found


def call(target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function gives where some of its arguments are unknown numbers."""
    if isinstance(target, Op):
        return target(*args, **kwargs)
    if any(target is function for function in _OF_CONTAINERS) or _picks(target, args):
        return target(*args, **kwargs)
    if any(isinstance(leaf, Spec) for leaf in pytree.leaves_of((args, kwargs))):
        meant = op_call(target, args, kwargs)
        if meant is not None:
            op, args, kwargs = meant
            return op(*args, **kwargs)
        raise _untold(target)
    if target is operator.getitem and not isinstance(args[0], np.ndarray):
        raise _untold(target)  # which of the items, only running can tell
    if any(target is function for function in _EXACT):
        dims = [arg.dim if isinstance(arg, Unknown) else arg for arg in args]
        if all(dim is not None and not isinstance(dim, (float, complex, np.generic)) for dim in dims):
            found = target(*dims)
            return found if isinstance(found, int) else Unknown(int, found if found.weight <= REASONED else None)
    return _on_samples(target, args, kwargs)


def _picks(target: Any, args: tuple[Any, ...]) -> bool:
    """Whether a call reads an item of a container that is known."""
    return target is operator.getitem and isinstance(args[0], (tuple, list, dict)) and not has_unknown(args[1])


def _on_samples(target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The type of the result, by trying some numbers."""
    for sample in (1, 0.5, 2, 0):

        def leaf(part: Any, sample: float = sample) -> Any:
            return part.kind(sample) if isinstance(part, Unknown) else part

        try:
            with np.errstate(all="ignore"):
                found = target(*map_aggregate(args, leaf), **map_aggregate(kwargs, leaf))
        except (ValueError, ArithmeticError):
            continue
        leaves, tree = pytree.flatten(found)
        if all(isinstance(leaf, (*NUMBERS, np.generic, np.ndarray)) for leaf in leaves):
            return tree.unflatten(_forget(leaf) for leaf in leaves)
        break
    raise _untold(target)


def _forget(value: Any) -> Any:
    return spec_of(value) if hasattr(value, "dtype") else Unknown(type(value))


def _untold(target: Any) -> UnknownShape:
    name = getattr(target, "__name__", repr(target))
    return UnknownShape(
        f"{name} is called with a number that only running can tell, and has no shape rule for that",
        help="propagate an example array, not a Spec",
    )
