"""The functions of `operator`, `str` and its kin, and methods called on their class, where an argument is traced."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from weft.capture._identity import same_object
from weft.capture._merge import refuse_mixed
from weft.capture._numpy_probe import Samples
from weft.capture._python_calls import PYTHON, PythonCalls, python, python_class
from weft.capture._values import Array, Scalar, Traced
from weft.ops._op import op_of

_OPERATORS = {function: name for name, function in vars(operator).items() if op_of(function) is not None}

for _function in (str, repr, format):

    def _as_text(calls: Any, *args: Any, _target: Any = _function) -> Any:
        return calls.recorder.wrap(calls.recorder.create(_target, args, {}, str), str)

    PYTHON[_function] = _as_text


for _of_integer in (bin, oct, hex, chr):

    def _as_digits(calls: Any, x: Any, *, _target: Any = _of_integer) -> Any:
        refuse_mixed(x)
        _target(Samples().of(x))  # raises, as in the plain call, where it is no integer
        return _as_text(calls, calls.one_number(operator.index, x), _target=_target)

    PYTHON[_of_integer] = _as_digits


for _function in _OPERATORS:

    def _operator(calls: Any, *args: Any, _target: Any = _function) -> Any:
        if _target is operator.getitem:
            return calls.recorder.run_getitem(*args)
        return _target(*args)

    PYTHON.setdefault(_function, _operator)


@python(operator.index)
def _index(calls: PythonCalls, x: Any) -> Any:
    x = calls.recorder.numpy.item(x) if isinstance(x, Array) and not x.spec.shape else x
    if isinstance(x, Scalar):
        kind: Any = python_class(x)
        if kind is int:
            return x
        if kind is bool or issubclass(kind, np.integer):
            return calls.call(int, (x,), {})
        refuse_mixed(x)
        return operator.index(kind(0))  # raises
    return operator.index(np.ones(1)) if isinstance(x, Array) else operator.index(x)


@python(operator.is_)
def _is(calls: PythonCalls, a: Any, b: Any) -> Any:
    return same_object(calls.recorder, a, b)


@python(operator.is_not)
def _is_not(calls: PythonCalls, a: Any, b: Any) -> Any:
    same = same_object(calls.recorder, a, b)
    return calls.recorder.negation(same) if isinstance(same, Traced) else not same


for _name, _function in vars(np.ndarray).items():
    if callable(_function) and type(_function) is not type:  # `np.ndarray.sort(x)` means `x.sort()`

        def _method(calls: Any, array: Any, *args: Any, _named: str = _name, **kwargs: Any) -> Any:
            return getattr(array, _named)(*args, **kwargs)

        PYTHON.setdefault(_function, _method)
