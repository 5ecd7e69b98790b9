"""`values[k]` of a plain list or tuple, where `k` is traced: one of its items, all of which must be of one type.

Items that are lists or tuples themselves are chosen part by part: `moves[k]` of `((1, 0), (0, 1))` is a pair.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.capture._chosen import Joined, chosen
from weft.capture._merge import describe, is_mixed, is_same
from weft.capture._one_of import function_at, is_called
from weft.capture._sharing import may_be, tie
from weft.capture._stand_ins import flatten
from weft.capture._values import Array, Scalar, Traced
from weft.errors import CaptureError

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_DATA = frozenset({bool, int, float, complex, str, type(None), Scalar})
_HELP = "make it an array, or compare with each place: if k == 0: ... elif k == 1: ..."


def choose(recorder: Recorder, values: Sequence[Any], key: Scalar) -> Any:
    """The item at a traced place."""
    name = type(values).__name__
    if not values:
        recorder.programs_error = IndexError(f"{name} index out of range")
        raise recorder.programs_error
    if all(map(is_called, values)):
        return function_at(recorder, values, key)
    parts = [flatten(recorder, value) for value in values]
    first, tree = parts[0]
    if any(other != tree for _, other in parts):
        if not recorder.deriving and all(type(leaf) in _DATA for leaves, _ in parts for leaf in leaves):
            return chosen(recorder, values, key, list(values))
        _refuse(recorder, name, values)
    columns = list(zip(*(leaves for leaves, _ in parts), strict=True))
    if all(map(_is_one, columns)):
        recorder.getitem(recorder.constant(np.arange(len(values))), key)  # raises where there is none
    item = tree.unflatten([_one(recorder, name, column, key) for column in columns]) if first else values[0]
    recorder.stand_ins.note(item, *values, why=f"a {name} has been indexed by a traced value")
    return recorder.lists.standing(item, f"one of the items of a {name}")


def _one(recorder: Any, name: str, values: tuple[Any, ...], key: Scalar) -> Any:
    if _is_one(values):
        return values[0]
    kinds = {_kind(value) for value in values}
    if len(kinds) > 1 and all(isinstance(value, (Array, np.ndarray)) for value in values):
        return _unlike(recorder, name, values, key)
    exact = not (recorder.deriving or recorder.tensors)
    several = len(kinds) > 1 or (exact and any(map(is_mixed, values)))
    if several and exact and recorder.joins and all(map(_is_number, values)):
        return recorder.opaque(operator.getitem, (list(values), key), {})  # of which type, only running tells
    if several or None in kinds:
        _refuse(recorder, name, values)
    (kind,) = kinds
    if kind is str:
        return recorder.wrap(recorder.create(operator.getitem, (list(values), key), {}, str), str)
    try:
        stacked = recorder.numpy.function(np.array, (list(values),), {})
    except CaptureError:
        raise
    except Exception:  # arrays of different shapes
        return _unlike(recorder, name, values, key)
    if not isinstance(stacked, Array) or stacked.spec.dtype.hasobject:  # integers that no dtype holds
        _refuse(recorder, name, values)
    made = recorder.getitem(stacked, key)
    if isinstance(kind, type):
        return recorder.python.call(kind, (made,), {})
    if kind[0] == "array":
        _share(recorder, values, made)
    return made


def _is_one(values: tuple[Any, ...]) -> bool:
    """Whether values are one and the same, known before the program runs."""
    return all(is_same(value, values[0]) for value in values) and not isinstance(values[0], Traced)


def _unlike(recorder: Any, name: str, values: tuple[Any, ...], key: Scalar) -> Any:
    """One of arrays that differ in shape or dtype: nothing more is known of it, and it is only read."""
    if recorder.deriving or not recorder.branches or not all(isinstance(v, (Array, np.ndarray)) for v in values):
        _refuse(recorder, name, values)
    arrays = [recorder.constant(v) if isinstance(v, np.ndarray) else v for v in values]
    for array in arrays:
        array.buffer.listed = "a list of arrays of several shapes or dtypes, indexed by a traced value"
    return Joined(recorder, recorder.opaque(operator.getitem, (arrays, key), {})._node)


def _kind(value: Any) -> Any:
    """What values must have in common: a type of Python's, or a dtype, and whether it is an array's."""
    if isinstance(value, Scalar):
        return value.kind if isinstance(value.kind, type) else ("scalar", value.kind)
    if isinstance(value, Array):
        return "array", value.spec.dtype
    if isinstance(value, np.ndarray):
        return "array", value.dtype
    if isinstance(value, np.generic):
        return "scalar", value.dtype
    return type(value) if type(value) in (int, float, bool, complex, str) else None


def _is_number(value: Any) -> bool:
    """Whether a value is a number, a text or None: nobody changes it."""
    return value is None or (not isinstance(value, (Array, np.ndarray)) and _kind(value) is not None)


def _share(recorder: Any, values: tuple[Any, ...], made: Array) -> None:
    """A write to one of the arrays, or to the one that was chosen, would be seen by the other: neither may follow."""
    arrays = [value if isinstance(value, Array) else recorder.constant(value) for value in values]
    tie(made.buffer, list(dict.fromkeys(root for array in arrays for root in may_be(array.buffer))))


def _refuse(recorder: Any, name: str, values: Any) -> None:
    shown = " and ".join(dict.fromkeys(describe(value) for value in values[:3]))
    recorder.refuse(f"a {name} of {shown}, indexed by a traced value", help=_HELP)
