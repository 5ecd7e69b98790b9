"""Two outcomes that differ in anything a caller can notice are told apart."""

from __future__ import annotations

import numpy as np
import pytest

from programs._compare import assert_same, call


class Box:
    def __init__(self, value):
        self.value = value


SAME = [
    (np.array([1.0, np.nan, -np.inf]), np.array([1.0, np.nan, -np.inf])),
    (np.array([1.0]), np.array([1.0 + 5e-13])),
    (np.array([1j, complex(np.nan, 1)]), np.array([1j, complex(np.nan, 1)])),
    (np.float64(0.1), np.float64(0.1)),
    (float("nan"), float("nan")),
    ((1, [2.0, {"a": None}]), (1, [2.0, {"a": None}])),
    (Box(np.zeros(2)), Box(np.zeros(2))),
    (np.array([None, 1], object), np.array([None, 1], object)),
]
DIFFERENT = [
    (np.zeros(1), np.zeros(1, np.float32), "dtype"),
    (np.zeros(1), np.zeros((1, 1)), "shape"),
    (np.zeros(1), np.float64(0), "is a ndarray, not a float64"),
    (np.float64(0), 0.0, "is a float64, not a float"),
    (np.int64(1), 1, "is a int64, not a int"),
    (1, True, "is a int, not a bool"),
    (1, 2, "is 1, not 2"),
    (1.0, 1.0 + 1e-9, "is 1.0"),
    (np.array([1.0, 2.0]), np.array([1.0, 2.0 + 1e-9]), "differs"),
    (np.array([np.nan]), np.array([1.0]), "differs"),
    (np.array([1.0]), np.array([np.inf]), "differs"),
    (np.array([1.0]), np.array([np.nan]), "differs"),
    (np.array([np.inf]), np.array([-np.inf]), "differs"),
    (np.array([1e-20]), np.array([0.0]), "differs"),
    (np.array([3]), np.array([4]), "differs"),
    ((1, 2), [1, 2], "is a tuple"),
    ((1, 2), (1, 2, 3), "has 2 items"),
    ([1, [2]], [1, [3]], r"result\[1\]\[0\] is 2"),
    ({"a": 1}, {"b": 1}, "keys"),
    ({"a": 1}, {"a": 2}, r"result\['a'\]"),
    ("x", "y", "is 'x'"),
    (None, 0, "is a NoneType"),
    (Box(1), Box(2), "value"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_same(one, other) -> None:
    assert_same(call(lambda: one, ()), call(lambda: other, ()))


@pytest.mark.parametrize(("one", "other", "message"), DIFFERENT)
def test_different(one, other, message) -> None:
    with pytest.raises(AssertionError, match=message):
        assert_same(call(lambda: one, ()), call(lambda: other, ()))
    with pytest.raises(AssertionError):
        assert_same(call(lambda: other, ()), call(lambda: one, ()))


def test_arguments_are_compared() -> None:
    def writes(a):
        a[0] = 1

    with pytest.raises(AssertionError, match="argument 0 differs"):
        assert_same(call(writes, (np.zeros(2),)), call(lambda a: None, (np.zeros(2),)))


def test_printed_text_is_compared() -> None:
    with pytest.raises(AssertionError, match="printed 'a"):
        assert_same(call(lambda: print("a"), ()), call(lambda: print("b"), ()))


def test_exceptions_are_compared() -> None:
    def fails(kind, text):
        raise kind(text)

    assert_same(call(fails, (ValueError, "x")), call(fails, (ValueError, "x")))
    succeeds = call(lambda kind, text: 0, (ValueError, "x"))
    for other in [call(fails, (ValueError, "y")), call(fails, (KeyError, "x")), succeeds]:
        with pytest.raises(AssertionError, match="raised"):
            assert_same(call(fails, (ValueError, "x")), other)
        with pytest.raises(AssertionError, match="raised"):
            assert_same(other, call(fails, (ValueError, "x")))


def test_identity_is_compared_when_asked() -> None:
    itself = call(lambda a: (a, 1), (np.zeros(2),))
    copied = call(lambda a: (a.copy(), 1), (np.zeros(2),))
    assert itself.returned == (("result[0]", 0),)
    assert_same(itself, copied)
    with pytest.raises(AssertionError, match="returns the arguments"):
        assert_same(itself, copied, identity=True)
