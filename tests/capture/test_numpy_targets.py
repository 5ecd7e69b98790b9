"""Graphs of arrays call NumPy's own functions where these give exactly what the ops give, and ops elsewhere."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import weft
from weft.capture._numpy_targets import call_numpy
from weft.errors import ShapeError
from weft.ops._op import TABLE


def target(op: str, *args: Any, arrays: bool = True) -> Any:
    """What a node that calls an op calls in the end; a Spec, or a type, stands for an input of that type."""
    graph = weft.Graph()
    given = []
    for k, arg in enumerate(args):
        if isinstance(arg, (weft.Spec, type)):
            node = graph.placeholder(f"x{k}")
            node.meta["type"] = arg
            given.append(node)
        else:
            given.append(arg)
    node = graph.call_function(TABLE[op], tuple(given))
    graph.output(node)
    call_numpy(graph, arrays)
    return node.target


def f8(*shape: Any) -> weft.Spec:
    return weft.spec(shape, "float64")


i8 = weft.spec((3,), "int64")


@pytest.mark.parametrize(
    ("op", "args", "expected"),
    [
        ("sin", [f8()], np.sin),
        ("atan2", [f8(3), f8()], np.arctan2),
        ("maximum", [f8(3), 0], np.maximum),
        ("where", [weft.spec((3,), "bool"), f8(3), f8()], np.where),
        ("multiply", [f8(), f8()], operator.mul),
        ("divide", [2, f8()], operator.truediv),
        ("negative", [f8(3)], operator.neg),
        ("add", [i8, i8], np.add),  # as an operator it would warn where single integers overflow
        ("multiply", [weft.spec((), "complex128"), f8()], np.multiply),
    ],
)
def test_the_function_of_numpy(op: str, args: Any, expected: Any) -> None:
    assert target(op, *args) is expected
    assert target(op, *args, arrays=False) is TABLE[op]


@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("add", [f8(3), f8(4)]),  # may not fit: the error is the op's
        ("add", [f8(3), f8(1)]),
        ("add", [i8, 300]),  # may be out of bounds
        ("divide", [2, float]),  # a number of Python's divided by zero raises in Python only
        ("sin", [float]),
        ("sum", [f8(3)]),  # no function of NumPy's gives exactly this
        ("relu", [f8(3)]),
        ("sin", [type(None)]),
        ("maximum", [f8(3), None]),
    ],
)
def test_ops_that_stay(op: str, args: Any) -> None:
    assert target(op, *args) is TABLE[op]


def test_every_function_gives_what_its_op_gives() -> None:
    """For arrays, arrays of no dimensions and scalars: the same type, dtype and bits."""
    rng = np.random.default_rng(0)
    seen = 0
    for name, op in TABLE.items():
        if not isinstance(op.eval, np.ufunc) or op.exactly is None:
            continue
        for shape in [(3,), ()]:
            for dtype in ["float64", "float32", "int64", "complex128"]:
                values = [(rng.random(shape) * 3 + 0.1 * k).astype(dtype)[()] for k in range(op.exactly)]
                try:
                    with np.errstate(all="ignore"):
                        expected = op(*values)
                except Exception:  # there is no such function for this dtype
                    continue
                called = target(name, *(weft.spec(np.shape(value), dtype) for value in values))
                with np.errstate(all="ignore"):
                    found = called(*values)
                assert called is not op
                assert type(found) is type(expected), (name, dtype, shape)
                assert found.dtype == expected.dtype
                assert found.tobytes() == expected.tobytes(), (name, dtype, shape)
                seen += 1
    assert seen > 300


# Compiled functions


def wave(x: Any, n: int) -> Any:
    total = np.zeros(x.shape)
    for i in range(n):
        total = total + weft.sin(x) * weft.multiply(x, i)
    return total


def test_a_function_of_arrays() -> None:
    compiled = weft.compile(wave)
    x = np.linspace(0.1, 0.9, 5)
    np.testing.assert_array_equal(compiled(x, 4), wave(x, 4))
    assert "numpy.sin(x)" in compiled.code


def test_a_function_of_tensors_keeps_ops_and_derivatives() -> None:
    compiled = weft.compile(grown)
    t = weft.tensor(np.linspace(0.1, 0.9, 5), requires_grad=True)
    weft.sum(compiled(t, 3)).backward()
    assert "weft.sin" in compiled.code
    other = weft.tensor(np.linspace(0.1, 0.9, 5), requires_grad=True)
    weft.sum(grown(other, 3)).backward()
    np.testing.assert_allclose(t.grad.numpy(), other.grad.numpy(), rtol=1e-15)
    x = np.linspace(0.1, 0.9, 5)
    np.testing.assert_array_equal(compiled(x, 3), grown(x, 3))


def grown(x: Any, n: int) -> Any:
    total = x * 2
    for _ in range(n):
        total = total * weft.sin(x)
    return total


WEIGHT = weft.tensor(np.ones(5), requires_grad=True)


def weighted(x: Any, n: int) -> Any:
    total = x * 2
    for _ in range(n):
        total = total * WEIGHT
    return total


def test_a_function_that_reads_a_tensor_from_outside() -> None:
    compiled = weft.compile(weighted)
    x = np.linspace(0.1, 0.9, 5)
    weft.sum(compiled(x, 3)).backward()
    np.testing.assert_allclose(WEIGHT.grad.numpy(), 6 * x, rtol=1e-15)


def least(a: Any, b: Any) -> Any:
    smaller = weft.where(a[0] < b[0], a[0], b[0])
    return weft.where(smaller > 0, smaller, 0) * 2, weft.where(a[1] < b[1], a[1], b[1])


def test_a_choice_between_numbers() -> None:
    """It is Python's where only other calls read it; a result stays an array of no dimensions."""
    compiled = weft.compile(least)
    for a, b in [([1.0, 2.0], [3.0, 0.5]), ([-1.0, 2.0], [3.0, np.nan])]:
        for dtype in ("float64", "float32"):
            x, y = np.array(a, dtype), np.array(b, dtype)
            for found, wanted in zip(compiled(x, y), least(x, y), strict=True):
                np.testing.assert_array_equal(found, wanted)
                assert (type(found), found.dtype) == (type(wanted), wanted.dtype)
    assert compiled.code.count(" if ") == 2
    assert compiled.code.count("numpy.where") == 1


def test_code_evaluates_ops_without_asking_who_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = weft.compile(lambda x: weft.sort(x))
    compiled(np.arange(3.0))

    def asked(*args: Any) -> Any:
        raise AssertionError("asked")

    monkeypatch.setattr(type(weft.sort), "dispatch", asked)
    np.testing.assert_array_equal(compiled(np.array([2.0, 3.0, 1.0])), [1.0, 2.0, 3.0])
    assert "weft.sort" in compiled.code


def test_errors_of_ops_stay_those_of_the_plain_call() -> None:
    compiled = weft.compile(summed, dynamic=True)
    np.testing.assert_array_equal(compiled(np.ones(3), np.ones(3)), np.full(3, 2.0))
    with pytest.raises(ShapeError):
        summed(np.ones(3), np.ones(4))
    with pytest.raises(ShapeError):
        compiled(np.ones(3), np.ones(4))


def summed(x: Any, y: Any) -> Any:
    return weft.add(x, y)


SERIES = np.polynomial.Polynomial([1.0, 2.0, 3.0])


def series(x):
    other = np.polynomial.hermite_e.HermiteE([1.0, 0.0, 2.0])
    return SERIES(x), other(x * 2), np.polynomial.Chebyshev([1.0, 2.0])(3), SERIES.deriv()(x)


def test_polynomials_are_called() -> None:
    compiled = weft.compile(series)
    for x in (np.arange(3.0), np.arange(4.0) * 2, np.ones((2, 2))):
        assert str(compiled(x)) == str(series(x))
    assert not compiled._ran_plainly
    program = weft.compile(lambda x: SERIES(x))
    before = program(2)
    assert type(before) is type(SERIES(2))
    assert before == SERIES(2)
    SERIES.coef[0] += 1
    assert program(2) == before + 1
