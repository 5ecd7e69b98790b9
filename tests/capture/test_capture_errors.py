"""What cannot be captured is refused: the variable, the lines, the place with a caret, and what to do."""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import CaptureError

X = np.arange(6.0)


def sides_of_other_shapes(x: Any) -> Any:
    if x.sum() > 0:
        y = x[:2]
    else:
        y = x[:3].reshape(3, 1)
    return y


def sides_of_other_dtypes(x: Any) -> Any:
    if x.sum() > 0:
        y = x.astype(int)
    else:
        y = x
    return y


def sides_of_other_kinds(x: Any) -> Any:
    if x.sum() > 0:
        y = x
    else:
        y = "text"
    return y


def sides_of_other_lengths(x: Any) -> Any:
    if x.sum() > 0:
        pair = (1, 2)
    else:
        pair = (1, 2, 3)
    return pair


def one_side_only(x: Any) -> Any:
    if x.sum() > 0:
        z = 1
    return z


def returns_of_other_shapes(x: Any) -> Any:
    if x.sum() > 0:
        return x[:2]
    return x[:3].reshape(3, 1)


def an_expression_of_two_shapes(x: Any) -> Any:
    return x.sum() if x.sum() > 0 else x


def iterations_of_other_ranks(x: Any, n: int = 30) -> Any:
    y = x
    for _ in range(n):
        y = np.stack([y, y])
    return y


def iterations_of_other_kinds(x: Any, n: int = 30) -> Any:
    y = None
    for i in range(n):
        y = x * i
    return y


def rounds_of_other_ranks(x: Any) -> Any:
    y = x
    while y.sum() < 100:
        y = np.outer(y, y)
    return y


DISAGREEING: dict[Callable[..., Any], tuple[str, list[str]]] = {
    sides_of_other_shapes: ("y: an array float64[2] and an array float64[3, 1]", ["y = x[:2]", "y = x[:3]"]),
    sides_of_other_dtypes: ("y: an array int64[x_0] and an array float64[x_0]", ["y = x.astype", "y = x\n"]),
    sides_of_other_kinds: ("y: an array float64[x_0] and 'text'", ["y = x\n", 'y = "text"']),
    sides_of_other_lengths: ("pair: a tuple of 2 and a tuple of 3", ["pair = (1, 2)\n", "pair = (1, 2, 3)"]),
    one_side_only: ("z is assigned on one side of a branch only", ["z = 1", "if x.sum() > 0:"]),
    returns_of_other_shapes: ("the result: an array float64[2] and an array float64[3, 1]", ["if x.sum() > 0:"]),
    an_expression_of_two_shapes: ("the result: a number of type float64 and an array", ["return x.sum()"]),
    iterations_of_other_ranks: (
        "y is: an array float64[x_0] before it, an array float64[2, x_0]",
        ["for _", "y = np.stack"],
    ),
    iterations_of_other_kinds: ("y is: None before it, an array float64[x_0] after", ["for i", "y = x * i"]),
    rounds_of_other_ranks: (
        "y is: an array float64[x_0] before it, an array float64[x_0, x_0]",
        ["while", "y = np.outer"],
    ),
}


@pytest.mark.parametrize("function", DISAGREEING, ids=lambda function: function.__name__)
def test_branches_and_iterations_that_disagree(function: Callable[..., Any]) -> None:
    said, places = DISAGREEING[function]
    text = refusal(weft.compile(function, dynamic=True), X)
    assert said in text
    for place in places:
        assert re.search(rf"line {line_of(function, place)}\b", text), (place, text)


def refusal(function: Callable[..., Any], *args: Any) -> str:
    with pytest.raises(CaptureError) as caught:
        function(*args)
    text = str(caught.value)
    where = text.splitlines()
    place = next(k for k, line in enumerate(where) if line.startswith("  at "))
    assert "test_capture_errors.py:" in where[place]
    assert set(where[place + 2].strip()) == {"^"}
    assert any(line.startswith("  help: ") for line in where[place + 3 :])
    return text


def line_of(function: Callable[..., Any], place: str) -> int:
    lines, first = inspect.getsourcelines(function)
    return next(first + k for k, line in enumerate(lines) if place in line)


# Other refusals: what, and the part of the line under the caret


def catches_at_run_time(x: Any) -> Any:
    x[0] = 1.0
    try:
        y = np.linalg.cholesky(np.outer(x, x))
    except np.linalg.LinAlgError:
        y = x
    return y


def recurses_without_end(x: Any) -> Any:
    if x.sum() > 0:
        return recurses_without_end(x - 1)
    return x


def calls_what_has_no_source(x: Any) -> Any:
    return NO_SOURCE(x) + 1


NO_SOURCE = eval("lambda x: x if x.sum() > 0 else -x")

REFUSED: dict[Callable[..., Any], tuple[tuple[Any, ...], str, str]] = {
    catches_at_run_time: ((X,), "inside a `try` or `with` that may catch", "np.linalg.cholesky(np.outer(x, x))"),
    recurses_without_end: ((X,), "calls itself without end", "recurses_without_end(x - 1)"),
    calls_what_has_no_source: ((X,), "its source is not available", "NO_SOURCE(x)"),
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_refusals_name_the_place(function: Callable[..., Any]) -> None:
    args, said, place = REFUSED[function]
    text = refusal(weft.compile(function), *args)
    assert said in text
    lines = text.splitlines()
    caret = next(k for k, line in enumerate(lines) if set(line.strip()) == {"^"})
    start = lines[caret].index("^")
    assert lines[caret - 1][start : start + len(lines[caret].strip())] == place


def test_a_generator_is_refused() -> None:
    def generator(x: Any) -> Any:
        yield x

    for capture in (lambda: weft.compile(generator)(X), lambda: weft.trace(generator, X)):
        with pytest.raises(CaptureError, match="generator is a generator, which gives one value") as caught:
            capture()
        assert "def generator" in str(caught.value)


def test_a_refusal_leaves_nothing_behind() -> None:
    def program(x: Any, d: Any) -> None:
        x[0] = 100
        d["a"] = x
        input()

    given, held = X.copy(), {}  # type: ignore[var-annotated]  # it stays empty
    compiled = weft.compile(program)
    for _ in range(2):
        with pytest.raises(CaptureError):
            compiled(given, held)
    np.testing.assert_array_equal(given, X)
    assert held == {}
    assert compiled.cache_info().currsize == 0


def test_a_refusal_that_the_program_catches() -> None:
    def program(x: Any) -> Any:
        with contextlib.suppress(TypeError):
            input()
        return x

    with pytest.raises(CaptureError, match="it would be called once"):
        weft.compile(program)(X)


def key_of_one_side(x: Any) -> Any:
    found = {}
    if x.sum() > 0:
        found["b"] = x
    else:
        found["a"] = -x
    return found


class Open:
    """An object that a program gives attributes."""


def attribute_of_one_side(x: Any) -> Any:
    made = Open()
    if x.sum() > 0:
        made.a = x  # type: ignore[attr-defined]
    return made


def no_value_of_a_graph(x: Any) -> Any:
    y = x * 2
    return iter([1, 2]), y


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (key_of_one_side, "the key 'a' is assigned on one side of a branch only: it is not where the condition"),
        (attribute_of_one_side, "the attribute a is assigned on one side of a branch only: it is not where the"),
        (no_value_of_a_graph, "a value of type builtins.list_iterator cannot be an argument or a result"),
    ],
)
def test_what_a_result_cannot_be_names_the_line_that_gives_it_back(program: Callable[..., Any], said: str) -> None:
    lines, first = inspect.getsourcelines(program)
    with pytest.raises(CaptureError) as caught:
        weft.compile(program)(X)
    text = str(caught.value)
    assert text.startswith(said)
    assert f":{first + len(lines) - 1}, in {program.__name__}\n    {lines[-1].strip()}" in text


def another_list_beside_one_that_grows(x: Any) -> Any:
    found: Any = []
    last = found
    for value in x:
        if value < 0:
            last = [0.0]
        elif value > 1:
            last.append(value)
        found.append(value)
    last.append(1.0)
    return found


def empty_dict_or_not(x: Any) -> Any:
    if x.sum() > 0:
        return {}
    return {"a": x.sum()}


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (
            another_list_beside_one_that_grows,
            "last: a list of 1 and a list that a loop or a branch makes longer or shorter",
        ),
        (empty_dict_or_not, r"the result: an empty dict and a dict of 1 \('a'\)"),
    ],
)
def test_containers_that_disagree_are_called_what_they_are(program: Callable[..., Any], said: str) -> None:
    with pytest.raises(CaptureError, match=f"disagree on {said}"):
        weft.compile(program)(X)


def test_an_assertion_in_a_try_is_called_so() -> None:
    def program(x: Any) -> Any:
        try:
            assert x.sum() > 0
        except AssertionError:
            return 0.0
        return x.sum()

    with pytest.raises(CaptureError, match=r"^an assertion inside a `try`"):
        weft.trace(program, X)
