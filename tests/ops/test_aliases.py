"""Functions of NumPy and `operator` that stand for an op, and NumPy's other names for some."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import weft
from weft.ops import op_of

SAME_NAME = """
abs acos acosh add all any arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin around asin asinh
atan atan2 atanh bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor cbrt ceil clip
conj copysign cos cosh count_nonzero cumprod cumsum degrees diff divide empty empty_like equal exp exp2 expm1 eye floor
floor_divide fmod full full_like greater greater_equal hypot imag isfinite isinf isnan less less_equal linspace log
log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor max maximum mean meshgrid min minimum mod
multiply nan_to_num negative nextafter not_equal ones ones_like positive pow power prod radians real reciprocal
remainder sign signbit sin sinc sinh sqrt square std subtract sum tan tanh tril triu trunc var where zeros zeros_like
""".split()
OTHER_NAMES = {
    "absolute": "abs",
    "amax": "max",
    "amin": "min",
    "conjugate": "conj",
    "deg2rad": "radians",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "rad2deg": "degrees",
    "right_shift": "bitwise_right_shift",
    "round": "around",
    "true_divide": "divide",
}
OPERATORS = (
    "add sub mul truediv floordiv mod pow neg pos abs eq ne lt le gt ge and_ or_ xor invert inv lshift rshift".split()
)


@pytest.mark.parametrize("name", [*SAME_NAME, *OTHER_NAMES])
def test_numpy_function_means_the_op(name: str) -> None:
    assert op_of(getattr(np, name)) is getattr(weft, OTHER_NAMES.get(name, name))


@pytest.mark.parametrize("name", OPERATORS)
def test_operator_means_the_op(name: str) -> None:
    function = getattr(operator, name)
    op = op_of(function)
    assert op is not None
    args = (np.array([6, 3, 5]), np.array([2, 3, 1]))[: len(op.arrays)]
    np.testing.assert_array_equal(op(*args), function(*args))
    assert op(*args).dtype == function(*args).dtype


def test_what_no_op_stands_for() -> None:
    assert op_of(np.busday_count) is None
    assert op_of([]) is None
