"""Programs that are long chains or call themselves deeply are captured as deep as Python allows."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
import pytest

import weft


def source(text: str, tmp_path: Any) -> Any:
    """The function `f` of a text, put into a file so that it has source."""
    file = tmp_path / "deep.py"
    file.write_text(text, encoding="utf-8")
    space: dict[str, Any] = {"np": np, "__name__": "deep"}
    exec(compile(text, str(file), "exec"), space)
    return space["f"]


@pytest.mark.parametrize("count", [20, 100])
@pytest.mark.parametrize("way", [weft.compile, weft.script])
def test_else_ifs(count: int, way: Any, tmp_path: Any) -> None:
    lines = [f"    {'el' * (k > 0)}if x < {k}:\n        y = x * {k}\n" for k in range(count)]
    function = source(f"def f(x):\n{''.join(lines)}    else:\n        y = -x\n    return y\n", tmp_path)
    captured = way(function)
    for x in (-0.5, 3.5, count - 0.5, count + 1.0):
        assert captured(x) == function(x)
    assert captured.code.count("elif") >= count - 2


def chain(count: int, tmp_path: Any) -> Any:
    lines = [f"    {'el' * (k > 0)}if x[0] < {k}:\n        y = x * {k}\n" for k in range(count)]
    return source(f"def f(x):\n{''.join(lines)}    else:\n        y = -x\n    return np.sum(y)\n", tmp_path)


def calls(run: Any) -> int:
    """How many functions of Python's are called."""
    count = 0

    def note(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


WAYS = {
    "compile": lambda function: weft.compile(function),
    "grad": lambda function: weft.grad(function),
    "jvp": lambda function: lambda x: weft.jvp(function, (x,), (x,)),
    "hessian": lambda function: weft.hessian(function),
    "vmap": lambda function: lambda x: weft.vmap(weft.grad(function))(np.stack([x, x])),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_price_of_else_ifs_is_that_of_each(way: str, tmp_path: Any) -> None:
    x = np.ones(2)
    WAYS[way](chain(40, tmp_path))(x)  # what is done once
    short, long = (calls(lambda n=n: WAYS[way](chain(n, tmp_path))(x)) for n in (40, 120))
    assert long < 4.5 * short


def test_values_between_the_choices_of_a_chain() -> None:
    def program(x: Any, a: Any, b: Any) -> Any:
        y = 0.0
        if a[0] > 0:
            y = 1.0
        else:
            kept = x[0] + 1
            if b[0] > 0:
                x[0] = 50
                y = kept * 2
        return y

    compiled = weft.compile(program)
    for a in (1.0, -1.0):
        for b in (1.0, -1.0):
            one, other = np.arange(3.0), np.arange(3.0)
            assert compiled(one, np.array([a]), np.array([b])) == program(other, np.array([a]), np.array([b]))
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("word", ["and", "or"])
def test_chains_of_conditions(word: str, tmp_path: Any) -> None:
    test = f" {word} ".join(f"x[{k}] > {k % 3}" for k in range(16))
    function = source(f"def f(x):\n    if {test}:\n        return x * 2\n    return x + 1\n", tmp_path)
    for captured in (weft.compile(function), weft.script(function)):
        for x in (np.zeros(16), np.full(16, 5.0), np.arange(16.0)):
            np.testing.assert_array_equal(captured(x), function(x))


@pytest.mark.parametrize("word", ["and", "or"])
@pytest.mark.parametrize("part", ["x[0] > {k}", "x[{k}] > 0", "(x[{k}] > 0 and x[0] < {k} or x.sum() > {k})"])
def test_long_chains_of_conditions(word: str, part: str, tmp_path: Any) -> None:
    test = f" {word} ".join(part.format(k=k) for k in range(100))
    function = source(f"def f(x):\n    return {test}\n", tmp_path)
    for captured in (weft.compile(function), weft.script(function)):
        for x in (np.zeros(100), np.full(100, 150.0), np.full(100, 50.5), np.arange(100.0), np.arange(100.0) - 50):
            assert captured(x) == function(x)
            assert type(captured(x)) is type(function(x))


@pytest.mark.parametrize("way", [weft.compile, weft.script])
def test_conditions_give_their_operands(way: Any) -> None:
    def program(x: Any, y: Any, z: Any) -> Any:
        return x and y and z, x or y or z, (x and y) or z, not (x or y) and z

    captured = way(program)
    for x, y, z in ((0, 2, 3), (1, 0, 3), (1, 2, 0), (1, 2, 3), (0, 0, 0), (0, 0, 5)):
        found, wanted = captured(x, y, z), program(x, y, z)
        assert found == wanted
        assert list(map(type, found)) == list(map(type, wanted))


def descend(x: Any, depth: int) -> Any:
    return x if depth == 0 else descend(x, depth - 1) + 1.0


def test_recursion_of_a_known_depth() -> None:
    x = np.ones(2)
    np.testing.assert_array_equal(weft.compile(descend)(x, 300), descend(x, 300))
    with pytest.raises(RecursionError):
        weft.compile(descend)(x, 100_000)


def test_the_limit_of_python_stays_in_every_thread() -> None:
    limit = sys.getrecursionlimit()
    found: list[Any] = []

    def run() -> None:
        found.append(weft.compile(lambda x: descend(x, 200))(np.zeros(1)))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [float(value[0]) for value in found] == [200.0] * 4
    assert sys.getrecursionlimit() == limit
