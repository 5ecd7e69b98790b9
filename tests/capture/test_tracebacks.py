"""Errors and warnings of captured programs name the lines that the plain program's would, and no file of weft's."""

from __future__ import annotations

import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from weft._frames import _columns, _line_table, _Place
from weft.errors import ShapeError

PACKAGE = str(Path(weft.__file__).parent)
X, W = np.ones((3, 4)), np.ones((4, 2))


def product(a: Any, b: Any) -> Any:
    return a @ b


def layered(x: Any, w: Any) -> Any:
    h = np.tanh(x)
    return product(h, w).sum()


def picked(x: Any, i: Any) -> Any:
    y = x * 2
    total = 0.0
    for k in range(3):
        total += y[i + k]
    return total


def checked(x: Any) -> Any:
    if x.sum() > 3:
        raise ValueError("too much")
    return x * 2


def logged(x: Any) -> Any:
    y = x * 2
    return np.log(y)


def solved(a: Any) -> Any:
    return np.linalg.solve(a, np.ones(2)).sum()


def shown(function: Any, *args: Any) -> list[tuple[str, int, str, str | None]]:
    """The frames of the error that a call raises: file, line, function and text; the call's own is left out."""
    with pytest.raises(Exception) as found:
        function(*args)
    frames = traceback.extract_tb(found.value.__traceback__)
    return [(f.filename, f.lineno or 0, f.name, f.line) for f in frames][1:]


CASES: dict[str, tuple[Any, tuple[Any, ...], tuple[Any, ...]]] = {
    "a shape": (layered, (X, W), (X, np.ones((5, 6)))),
    "an index in a loop": (picked, (np.ones(9), 1), (np.ones(9), 7)),
    "raised by the program": (checked, (np.ones(2),), (np.ones(9),)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_traceback_is_that_of_the_plain_call(name: str) -> None:
    function, good, bad = CASES[name]
    plain = shown(function, *bad)
    compiled = weft.compile(function)
    assert shown(compiled, *bad) == plain
    compiled(*good)
    assert shown(compiled, *bad) == plain
    assert plain[0][0] == __file__


def test_columns_point_at_the_expression() -> None:
    compiled = weft.compile(picked)
    compiled(np.ones(9), 1)
    texts = []
    for function in (picked, compiled):
        with pytest.raises(IndexError) as found:
            function(np.ones(9), 7)
        texts.append("".join(traceback.format_tb(found.value.__traceback__)[1:]))
    assert texts[0] == texts[1] and "~^^^" in texts[0]


def test_derivatives_name_the_line_of_the_function() -> None:
    gradient = weft.grad(solved)
    gradient(np.eye(2))
    rows = weft.vmap(solved)
    for function, bad in ((gradient, np.zeros((2, 2))), (rows, np.zeros((3, 2, 2)))):
        with pytest.raises(np.linalg.LinAlgError) as found:
            function(bad)
        frames = traceback.extract_tb(found.value.__traceback__)
        assert (frames[1].name, frames[1].line) == ("solved", "return np.linalg.solve(a, np.ones(2)).sum()")
        assert not any(PACKAGE in line for line in traceback.format_exception(found.value))


def test_steps_and_modules_show_no_frame_of_weft() -> None:
    model = weft.nn.Linear(4, 2)
    optimiser = weft.optim.SGD(model.parameters(), lr=0.1)

    @weft.compile
    def step(x: Any, y: Any) -> Any:
        optimiser.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimiser.step()
        return loss

    x = weft.tensor(X.astype(np.float32))
    step(x, weft.tensor(np.ones((3, 2), np.float32)))
    captured = weft.symbolic_trace(layered)
    for function, args in ((step, (x, weft.tensor(np.ones((3, 5), np.float32)))), (captured, (X, np.ones((5, 6))))):
        with pytest.raises(ValueError) as found:
            function(*args)
        assert not any(PACKAGE in line for line in traceback.format_exception(found.value))


def test_all_frames_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = weft.compile(picked)
    compiled(np.ones(9), 1)
    monkeypatch.setenv("WEFT_DEBUG", "1")
    assert any(file.startswith(PACKAGE) for file, *_ in shown(compiled, np.ones(9), 7))
    monkeypatch.setenv("WEFT_DEBUG", "0")
    assert not any(file.startswith(PACKAGE) for file, *_ in shown(compiled, np.ones(9), 7))


def test_warnings_name_the_line_of_the_program() -> None:
    compiled, gradient = weft.compile(logged), weft.grad(lambda x: logged(x).sum())
    compiled(np.ones(2))
    gradient(np.ones(2))
    places = []
    for function in (logged, compiled, gradient):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            function(np.zeros(2))
        places.append({(w.filename, w.lineno) for w in found})
    start = logged.__code__.co_firstlineno
    assert places[0] == places[1] == {(__file__, start + 2)}
    assert places[2] <= {(__file__, start + 1), (__file__, start + 2)} and places[2]


def test_shapes_are_told_in_numbers_with_the_names_of_the_program() -> None:
    gradient = weft.grad(layered)
    for _ in range(2):
        with pytest.raises(ShapeError) as found:
            gradient(X, np.ones((5, 6)))
        assert "(3, 4) @ (5, 6), 4 != 5" in str(found.value)
        assert "return a @ b" in str(found.value)
        assert "a: float64(3, 4), b: float64(5, 6)" in str(found.value)
        gradient(X, W)
    with pytest.raises(ShapeError, match=r"\(3, 4\) and \(5,\) do not broadcast: 4 != 5"):
        weft.vmap(lambda x, y: x + y, (None, 0))(X, np.ones((2, 5)))


def test_the_table_of_lines_is_python_s_own() -> None:
    places = [
        _Place("f", "f", line, line + up, column, column + 9)
        for line in (7, 3, 900)
        for up in (0, 70)
        for column in (0, 90)
    ]
    places += [_Place("f", "f", 12, None, None, None)] * 20
    code = compile("x = 1\n" * 60, "f", "exec")
    units = len(code.co_code) // 2
    spread = [places[k % len(places)] for k in range(units)]
    found = code.replace(
        co_linetable=_line_table(code.co_firstlineno, [(place.line, _columns(place), 1) for place in spread])
    ).co_positions()
    for place, position in zip(spread, found, strict=True):
        expected = (place.line, place.end_line or place.line, place.column, place.end_column)
        assert position == expected


@pytest.mark.parametrize("capture", [weft.trace, lambda f, *a: weft.script(f), lambda f, *a: weft.symbolic_trace(f)])
def test_what_cannot_be_captured_shows_no_frame_of_weft(capture: Any) -> None:
    def refused(x: Any) -> Any:
        with open(x):
            return layered(x, x)

    with pytest.raises(TypeError) as found:
        capture(refused, X)
    assert not any(PACKAGE in line for line in traceback.format_exception(found.value))
