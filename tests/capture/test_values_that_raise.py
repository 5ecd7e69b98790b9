"""Calls that raise for some values: where nothing reads what they give, inside a `try`, and in derivatives."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import CaptureError

V = np.array([3.0, 1.0, 2.0])
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "zeros": lambda x, n: np.zeros(n),
    "ones": lambda x, n: np.ones((2, n)),
    "full": lambda x, n: np.full(n, 1.0),
    "eye": lambda x, n: np.eye(n),
    "identity": lambda x, n: np.identity(n),
    "linspace": lambda x, n: np.linspace(0, 1, num=n),
    "logspace": lambda x, n: np.logspace(0, 1, n),
    "vander": lambda x, n: np.vander(x, n),
    "tile": lambda x, n: np.tile(x, n),
    "repeat": lambda x, n: np.repeat(x, n),
    "array_split": lambda x, n: np.array_split(x, n)[0],
    "quantile": lambda x, n: np.quantile(x, n / 4),
    "percentile": lambda x, n: np.percentile(x, n),
    "delete": lambda x, n: np.delete(x, n),
    "insert": lambda x, n: np.insert(x, n, 1.0),
    "partition": lambda x, n: np.partition(x, n),
    "argpartition": lambda x, n: np.argpartition(x, n),
    "whole powers": lambda x, n: np.array([2, 3]) ** n,
    "np.power": lambda x, n: np.power(np.array([2, 3]), n),
    "index": lambda x, n: [1, 2].index(n),
    "float of a text": lambda x, n: float("7" + str(n)),
}


def unread(call: Any, x: Any, n: Any) -> Any:
    call(x, n)
    return x * 2


def caught(call: Any, x: Any, n: Any) -> Any:
    try:
        found = call(x, n)
    except (ValueError, IndexError, TypeError):
        return -7.0
    return np.sum(np.asarray(found) * 1.0)


def outcome(function: Any, *args: Any) -> str:
    try:
        return str(function(*args))
    except CaptureError:
        return "refused"
    except Exception as error:  # whatever NumPy raises
        return type(error).__name__


@pytest.mark.parametrize("name", CALLS)
def test_negative_counts_raise_as_in_the_plain_call(name: str) -> None:
    for program in (unread, caught):
        plain = functools.partial(program, CALLS[name])
        compiled = weft.compile(plain)
        for n in (2, -9, 2):
            found = outcome(compiled, V.copy(), n)
            assert found == outcome(plain, V.copy(), n) or (found == "refused" and program is caught), program
    assert outcome(functools.partial(unread, CALLS[name]), V, -9) in ("ValueError", "IndexError", str(V * 2))


@pytest.mark.parametrize("call", [lambda x, n: np.triu(x), lambda x, n: np.triu(x.reshape(-1), n)])
def test_what_numpy_takes_and_the_op_does_not_is_no_error_to_catch(call: Any) -> None:
    plain = functools.partial(caught, call)
    assert weft.compile(plain)(V, 1) == plain(V, 1) != -7.0


def text(x: Any) -> Any:
    try:
        return f"{x:.2f}"
    except TypeError:
        return "no number"


def percent(x: Any) -> Any:
    try:
        return "%d" % x  # noqa: UP031  # what is tested
    except TypeError:
        return "no number"


def made(x: Any) -> Any:
    try:
        return np.zeros(x)
    except TypeError:
        return 7.0


@pytest.mark.parametrize("program", [text, percent, made])
def test_arrays_where_a_number_is_wanted_in_a_try(program: Any) -> None:
    compiled = weft.compile(program)
    assert outcome(compiled, V) in ("refused", str(program(V)))


CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "float": lambda x: float(x) * 2,
    "complex": lambda x: abs(complex(x)),
    "sqrt": lambda x: math.sqrt(x) * 2,
    "pow": lambda x: math.pow(2.0, x),
    "item": lambda x: x.item() * 2,
}
MAKE: dict[str, Callable[[Any], Any]] = {
    "compile": weft.compile,
    "grad": weft.grad,
    "value_and_grad": weft.value_and_grad,
    "jacrev": weft.jacrev,
    "jvp": lambda f: lambda x: weft.jvp(f, (x,), (x,)),
    "vjp": lambda f: lambda x: weft.vjp(f, x)[1](1.0),
    "vmap": lambda f: lambda x: weft.vmap(f)(x[None]),
    "trace": weft.trace,
}


@pytest.mark.parametrize("make", MAKE)
@pytest.mark.parametrize("name", CONVERSIONS)
def test_an_array_is_no_number(name: str, make: str) -> None:
    function = CONVERSIONS[name]
    for x in (V, np.ones((2, 3))):
        with pytest.raises((TypeError, ValueError)) as plain:
            function(x)
        with pytest.raises(type(plain.value)) as found:
            MAKE[make](function)(x)
        assert str(found.value) == str(plain.value)
    assert np.all(np.isfinite(np.asarray(MAKE[make](function)(np.array(4.0)), complex)))


def or_sum(x: Any) -> Any:
    try:
        return float(x) * 3
    except TypeError:
        return x.sum() * 3


def test_conversions_that_the_program_catches() -> None:
    compiled = weft.compile(or_sum)
    assert [compiled(V), compiled(np.array(3.0)), compiled(V[:2])] == [18.0, 9.0, 12.0]
    np.testing.assert_array_equal(weft.grad(or_sum)(V), [3.0, 3.0, 3.0])
    assert weft.grad(or_sum)(np.array(3.0)) == 3.0


def test_one_element_of_several_dimensions() -> None:
    gradient = weft.grad(lambda x: x.item() ** 2 * x.sum())
    np.testing.assert_array_equal(gradient(np.full((1, 1), 2.0)), [[12.0]])
    with pytest.raises(ValueError, match="size 1"):
        gradient(V)


def stored(x: Any) -> Any:
    y = np.zeros(2)
    y[:] = x[x > 1]
    return y


def added(x: Any) -> Any:
    y = np.zeros(2)
    y += x[x > 1]
    return y


def under_a_mask(x: Any) -> Any:
    y = x.copy()
    y[x > 1] = x[:2]
    return y


def three_names(x: Any) -> Any:
    a, b = x[x > 1]
    return np.array([a * 3, b])


def one_name(x: Any) -> Any:
    (place,) = np.flatnonzero(x == 2.0)
    (other,) = np.nonzero(x > 1)
    return place * x[other]


SIZES: dict[str, Callable[[Any], Any]] = {
    "reshape": lambda x: x[x > 1].reshape(2, -1),
    "stack": lambda x: np.stack([x[x > 1], x[:2]]),
    "add": lambda x: x[x > 1] + x[:2],
    "add to a constant": lambda x: x[x > 1] + np.ones(2),
    "where": lambda x: np.where(x[:2] > 1, x[:2], x[x > 1]),
    "dot": lambda x: x[x > 1] @ x[:2],
    "broadcast_to": lambda x: np.broadcast_to(x[x > 1], (3, 2)),
    "out": lambda x: np.add(x[:2], x[x > 1], out=np.zeros(2)),
    "stored": stored,
    "added": added,
    "under a mask": under_a_mask,
    "names": three_names,
    "one name": one_name,
}
OF_SIZES = [V, np.array([3.0, 1.0, 2.0, 5.0]), np.array([1.0, 0.0, 2.0]), np.array([3.0, 0.5, 1.0, 2.0])]


def said(function: Any, x: Any) -> Any:
    try:
        return np.asarray(function(x.copy())).tolist()
    except Exception as error:  # whatever NumPy raises
        return type(error), str(error)


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("read", [True, False])
def test_sizes_that_only_running_tells_fit_or_raise_as_in_numpy(name: str, read: bool) -> None:
    def program(x: Any) -> Any:
        found = size(x)
        return found if read else x * 2

    size = SIZES[name]
    compiled = weft.compile(program)
    for x in OF_SIZES:
        assert said(compiled, x) == said(program, x)


@pytest.mark.parametrize("name", SIZES)
def test_sizes_that_only_running_tells_inside_a_try(name: str) -> None:
    def program(x: Any) -> Any:
        try:
            found = size(x)
        except ValueError:
            return x * 2
        return found

    size = SIZES[name]
    compiled = weft.compile(program)
    for x in OF_SIZES:
        assert said(compiled, x) == said(program, x)
    with pytest.raises(CaptureError, match="inside a `try` or `with` that may catch"):
        weft.trace(program, V)


def test_as_many_names_as_there_are_items() -> None:
    for make in (weft.compile, weft.script, lambda f: weft.trace(f, V)):
        found = make(three_names)
        assert found(V).tolist() == [9.0, 2.0]
        with pytest.raises(ValueError, match="too many values to unpack"):
            found(np.array([3.0, 5.0, 2.0]))
        with pytest.raises(ValueError, match="not enough values to unpack"):
            found(np.array([3.0, 1.0, 1.0]))
    np.testing.assert_array_equal(weft.grad(lambda x: three_names(x).sum())(V), [3.0, 0.0, 1.0])
    with pytest.raises(ValueError, match="too many values to unpack"):
        weft.grad(lambda x: three_names(x).sum())(np.array([3.0, 5.0, 2.0]))
