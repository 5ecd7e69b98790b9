"""Functions of installed packages in captured programs, and copies by the standard library's `copy`."""

from __future__ import annotations

import copy
import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import _same
from weft.errors import CaptureError

PUBLIC = """\
from measuring._inner import Filter, apply, smooth
"""
INNER = """\
import array


def smooth(x):
    return _kernel(x * 2)


def _kernel(x):
    return array.array("d").append(x.sum())


def apply(function, x):
    return function(x) + 1


class Filter:
    def run(self, x):
        return x.data
"""


@pytest.fixture
def measuring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    folder = tmp_path / "site-packages" / "measuring"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(PUBLIC)
    (folder / "_inner.py").write_text(INNER)
    monkeypatch.syspath_prepend(str(folder.parent))
    yield importlib.import_module("measuring")
    for name in ("measuring", "measuring._inner"):
        monkeypatch.delitem(sys.modules, name)


def test_a_call_that_cannot_be_captured_stays_a_call(measuring: Any) -> None:
    def program(x):
        return measuring.smooth(x) is None, x + 1

    def by_method(x):
        return bytes(measuring.Filter().run(x))

    captures = (weft.compile, lambda f: weft.trace(f, np.ones(3)), weft.script)
    for capture in captures:
        assert str(capture(program)(np.ones(3))) == str(program(np.ones(3)))
    for capture in captures[:2]:
        assert capture(by_method)(np.ones(3)) == by_method(np.ones(3))
    assert "smooth(x)" in weft.script(program).code


def test_the_error_names_the_line_that_calls_it(measuring: Any) -> None:
    def program(x):
        try:
            return measuring.smooth(x)
        except ValueError:
            return x

    for capture in (lambda f: weft.compile(f)(np.ones(3)), lambda f: weft.trace(f, np.ones(3)), weft.script):
        with pytest.raises(CaptureError, match=r"smooth\(\) inside a `try`") as caught:
            capture(program)
        assert "return measuring.smooth(x)\n           ^^^^^^^^^^^^^^^^^^^" in str(caught.value)
        assert "site-packages" not in str(caught.value)


def test_what_the_help_says_works(measuring: Any) -> None:
    @weft.wrap
    def smooth(x):
        return measuring.smooth(x) or x.sum()

    assert weft.compile(lambda x: smooth(x) + 1)(np.ones(3)) == 4.0


def test_a_function_of_the_users_that_it_calls_is_the_users(measuring: Any) -> None:
    def program(x):
        return measuring.apply(lambda v: v.data[0], x)

    assert weft.compile(program)(np.ones(3)) == program(np.ones(3)) == 2.0
    assert weft.compile(lambda x: measuring.apply(np.sin, x))(np.zeros(2)).tolist() == [1.0, 1.0]


def test_explain_tells_of_no_problem_with_a_call(measuring: Any) -> None:
    def program(x):
        a = measuring.smooth(x)
        b = measuring.Filter().run(x)
        return a, b, x.data

    found = weft.explain(program, np.ones(3))
    first = program.__code__.co_firstlineno
    problems = [(each.line - first, each.reason.partition(":")[0]) for each in found.problems]
    assert problems == [(3, ".data of a traced array")]


def test_a_program_of_an_installed_package_has_its_own_lines(measuring: Any) -> None:
    for capture in (lambda f, x: weft.compile(f)(x), weft.trace):
        with pytest.raises(CaptureError, match=r"^\S*append has no rule") as caught:
            capture(measuring.smooth, np.ones(3))
        assert 'return array.array("d").append(x.sum())' in str(caught.value)
    (problem,) = weft.explain(measuring.smooth, np.ones(3)).problems
    assert problem.function == "_kernel"


CONFIG = {"steps": [1, 2], "scale": 2.0}
WEIGHTS = {"w": np.ones(1), "same": []}


class Box:
    def __init__(self, value):
        self.value = value


def arrays_copied(x):
    y = copy.copy(x)
    y[0] = 9.0
    z = copy.deepcopy(x.T)
    z += 1
    total = copy.copy(x.sum())
    total += 1
    return x, y, z, total


def containers_copied(x):
    d = {"a": x, "b": [x[0], 2]}
    e, g = copy.copy(d), copy.deepcopy(d)
    g["a"][0] = 7
    e["a"][1] = 8
    g["b"].append(3)
    e["c"] = 4
    return d, e, g


def config_copied(x):
    own = copy.deepcopy(CONFIG)
    own["steps"].append(3)
    own["scale"] = x[0]
    return x * len(own["steps"]) + own["scale"]


def objects_copied(x):
    box = Box(x)
    shallow, deep = copy.copy(box), copy.deepcopy(box)
    deep.value[0] = 5.0
    shallow.value = shallow.value * 2
    return box.value, shallow.value, deep.value


@pytest.mark.parametrize("program", [arrays_copied, containers_copied, config_copied, objects_copied])
@pytest.mark.parametrize("how", ["compile", "script"])
def test_copies(program: Any, how: str) -> None:
    made = weft.script(program) if how == "script" else weft.compile(program)
    for x in (np.arange(4.0), np.arange(2.0, 5.0)):
        given, expected = x.copy(), x.copy()
        _same("the result", made(given), program(expected), 0.0)
        _same("the argument", given, expected, 0.0)
    assert CONFIG == {"steps": [1, 2], "scale": 2.0}
    if how == "compile":
        assert not made.explain().plain


def test_what_is_copied_from_outside_is_what_it_is_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    @weft.compile
    def program(x):
        own, array = copy.deepcopy([WEIGHTS, WEIGHTS]), copy.copy(WEIGHTS["w"])
        own[0]["w"] *= 2
        own[1]["same"].append(1)
        array += 1
        return x * own[1]["w"] * len(own[0]["same"]) + array

    x = np.ones(3)
    for value in (1.0, 3.0):
        WEIGHTS["w"][0] = value
        assert program(x).tolist() == program.__weft_original__(x).tolist() == [value * 3 + 1] * 3
    monkeypatch.setitem(CONFIG, "scale", 3.0)
    doubled = weft.compile(lambda x: x * copy.deepcopy(CONFIG)["scale"])
    assert doubled(x)[0] == 3.0
    monkeypatch.setitem(CONFIG, "scale", 4.0)
    assert doubled(x)[0] == 4.0


def test_a_copy_of_an_object_from_outside_is_what_it_is_at_each_call() -> None:
    box = Box(2.0)
    for function in (copy.copy, copy.deepcopy):
        compiled = weft.compile(lambda x, f=function: x * f(box).value)
        for box.value in (2.0, 3.0):
            assert compiled(np.ones(3)).tolist() == [box.value] * 3


def test_a_copy_of_a_tensor_is_refused() -> None:
    with pytest.raises(CaptureError, match=r"copy\.copy of a Tensor"):
        weft.compile(lambda x: copy.copy(x) * 2)(weft.tensor([1.0]))


def test_a_module_whose_name_begins_as_numpys_is_the_programs(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "numpy_models.py").write_text(
        "class Line:\n"
        "    def __init__(self, slope):\n"
        "        self.slope = slope\n"
        "    def fit(self, x, y):\n"
        "        self.slope = (x * y).sum() / (x * x).sum()\n"
        "        return self\n"
        "    def __enter__(self):\n"
        "        return self.slope\n"
        "    def __exit__(self, *error):\n"
        "        self.slope = None\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    models = importlib.import_module("numpy_models")

    def fitted(x: Any, y: Any) -> Any:
        with models.Line(x[0]).fit(x, y) as slope:
            return slope * 2

    x = np.array([1.0, 2.0, 4.0])
    compiled = weft.compile(fitted)
    assert compiled(x, 3 * x) == fitted(x, 3 * x) == 6.0
    assert not compiled.explain().plain
