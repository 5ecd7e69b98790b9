"""`a is b` in a captured program.

A traced value is another object than the one it stands for, so the answer is what Python would say of those:

    done is True            the value of `done`, where that is a bool of Python's; False of any other number
    x is y                  of arrays: whether they are the same, unless a branch or a loop has made one of them
    n is m                  of other numbers: refused, as Python itself promises nothing
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.capture._one_of import OneOf
from weft.capture._opaque import Opaque
from weft.capture._values import Array, Scalar

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


def same_object(recorder: Recorder, left: Any, right: Any) -> Any:
    """`left is right`; a traced truth value where only running can tell."""
    known = any(isinstance(value, Opaque) and value.example is not None for value in (left, right))
    if known and (left is None or right is None):
        return False
    if isinstance(left, OneOf) or isinstance(right, OneOf):
        return left.is_object(right) if isinstance(left, OneOf) else right.is_object(left)
    if isinstance(left, Opaque) or isinstance(right, Opaque):
        return recorder.opaque(operator.is_, (left, right), {})
    if right is None or left is None:
        return recorder.training.is_none(left if right is None else right)
    if isinstance(left, Scalar) or isinstance(right, Scalar):
        return _same_number(recorder, left, right)
    if isinstance(left, Array) and isinstance(right, Array):
        return _same_array(recorder, left, right)
    recorder.stand_ins.check_same(left, right)
    return recorder.lists.origin(left) is recorder.lists.origin(right)


def _same_number(recorder: Recorder, left: Any, right: Any) -> Any:
    if left is right:
        return True
    from weft.capture._python_calls import python_class

    classes = [python_class(value) if isinstance(value, Scalar) else type(value) for value in (left, right)]
    if classes[0] is not classes[1]:
        return False
    if classes[0] in (bool, np.bool_):  # there is one True, and one False
        traced, other = (left, right) if isinstance(left, Scalar) else (right, left)
        same = recorder.operate(operator.eq, traced, other) if isinstance(other, Scalar) else traced
        same = recorder.python.call(bool, (same,), {})
        return same if isinstance(other, Scalar) or other else recorder.negation(same)
    return recorder.refuse(
        "`is` of numbers: whether two of the same value are one object is not for the program to say",
        help="compare them with ==",
    )


def _same_array(recorder: Recorder, left: Array, right: Array) -> bool:
    recorder.asked_identity = True
    whole = not left.path and not right.path and type(left) is type(right) is Array
    if left is right or (whole and left.buffer is right.buffer):
        return True
    joined = any(b.joined or b.choice or b.origins for b in (left.buffer, right.buffer))
    if joined and left.spec.dtype == right.spec.dtype and len(left.spec.shape) == len(right.spec.shape):
        recorder.refuse(
            "`is` of an array that a branch or a loop has made: which one it is, is known only when the graph runs",
            help="keep a flag or a number that tells which one it is",
        )
    return False
