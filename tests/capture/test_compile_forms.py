"""What may be compiled, where it may be written, and what a compiled function depends on."""

from __future__ import annotations

import copy
import functools
import inspect
import linecache
import pickle
import sys
import threading
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import CaptureError

X = np.linspace(0.5, 3.0, 6)
RATE: Any = 2


def equal(got: Any, expected: Any) -> None:
    np.testing.assert_array_equal(got, expected)


# What is compiled


def plus_one(function: Any) -> Any:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) + 1

    return inner


class Layer:
    k = 3

    def __init__(self) -> None:
        self.w = np.ones(6)

    @weft.compile
    def method(self, x: Any) -> Any:
        return x * self.w * self.k

    @classmethod
    @weft.compile
    def of_class(cls, x: Any) -> Any:
        return x * cls.k

    @staticmethod
    @weft.compile
    def static(x: Any) -> Any:
        return x * 4 if x.sum() > 0 else x

    @property
    @weft.compile
    def doubled(self) -> Any:
        return self.w * 2

    @property
    def scale(self) -> Any:
        return self.w.sum() * self.k

    def plain(self, x: Any) -> Any:
        return x + self.scale

    def __call__(self, x: Any) -> Any:
        return x - self.k


@weft.compile
def module_level(x: Any) -> Any:
    return x * 2


def test_decorated_functions() -> None:
    def double(x: Any) -> Any:
        return x * 2

    for made in (weft.compile(plus_one(double)), plus_one(weft.compile(double))):
        equal(made(X), X * 2 + 1)
        equal(made(-X), -X * 2 + 1)


def test_members_of_classes() -> None:
    layer, other = Layer(), Layer()
    equal(layer.method(X), X * 3)
    layer.k, other.w = 5, np.full(6, 2.0)
    equal(layer.method(X), X * 5)
    equal(other.method(X), X * 2 * 3)
    layer.w[:] = 7
    equal(layer.method(X), X * 7 * 5)
    equal(Layer.of_class(X), X * 3)
    equal(Layer.static(X), X * 4)
    equal(Layer.static(-X), -X)
    equal(layer.doubled, np.full(6, 14.0))


def test_bound_methods_and_callable_objects() -> None:
    layer = Layer()
    for function in (layer.plain, layer):
        compiled = weft.compile(function)
        equal(compiled(X), function(X))
        layer.w[0] += 1
        layer.k += 1
        equal(compiled(X), function(X))


def test_partials() -> None:
    def scaled(k: Any, x: Any, *, shift: Any = 0.0) -> Any:
        return x * k + shift

    for function in (functools.partial(scaled, 3), functools.partial(functools.partial(scaled, 2.0), shift=5.0)):
        compiled = weft.compile(function)
        equal(compiled(X), function(X))
        equal(compiled(X[:2]), function(X[:2]))
    equal(compiled(X, shift=7.0), X * 2 + 7)


def test_every_kind_of_parameter() -> None:
    def function(a: Any, /, b: Any, *rest: Any, k: Any = 1, **more: Any) -> Any:
        return a * b + sum(rest) * k + sum(more.values())

    compiled = weft.compile(function)
    for args, kwargs in [((X, 2), {}), ((X, 2, 3, 4), {"k": 2, "z": 5}), ((X,), {"b": 2}), ((X, 2, X), {"q": X})]:
        equal(compiled(*args, **kwargs), function(*args, **kwargs))
    assert inspect.signature(compiled) == inspect.signature(function)
    for args, kwargs in [((), {}), ((X,), {}), ((), {"a": X, "b": 2}), ((X, 1), {"b": 2})]:
        with pytest.raises(TypeError) as got:
            compiled(*args, **kwargs)
        with pytest.raises(TypeError) as expected:
            function(*args, **kwargs)
        assert str(got.value) == str(expected.value)


def test_defaults() -> None:
    kept: list[int] = []

    def function(x: Any, y: Any = np.ones(6), seen: Any = kept, k: Any = 2) -> Any:  # noqa: B008  # what is tested
        return x * k + y + len(seen)

    compiled = weft.compile(function)
    equal(compiled(X), X * 2 + 1)
    kept.append(1)
    equal(compiled(X), X * 2 + 2)
    equal(compiled(X, k=3), X * 3 + 2)
    function.__defaults__[1][:]  # the default itself is what is written
    function.__defaults__[0][:] = 5  # type: ignore[index]  # there are defaults
    equal(compiled(X), X * 2 + 6)


def test_names_and_copies() -> None:
    assert module_level.__name__ == "module_level"
    assert copy.copy(module_level) is copy.deepcopy(module_level) is module_level
    assert weft.compile(module_level) is module_level
    assert "module_level" in repr(module_level)


def test_pickled_by_name() -> None:
    module = ModuleType("weft_compile_forms_pickled")
    sys.modules[module.__name__] = module
    try:
        module.function = weft.compile(named(module.__name__))  # type: ignore[attr-defined]  # set here
        assert pickle.loads(pickle.dumps(module.function)) is module.function  # type: ignore[attr-defined]
    finally:
        del sys.modules[module.__name__]


def named(module: str) -> Any:
    def function(x: Any) -> Any:
        return x

    function.__module__, function.__qualname__ = module, "function"
    return function


@pytest.mark.parametrize("what", [len, np.sin, functools.partial(np.add, 1)])
def test_functions_without_source_to_capture(what: Any) -> None:
    with pytest.raises(CaptureError, match="no function written in Python: there is no source to capture"):
        weft.compile(what)


def test_things_that_are_no_functions() -> None:
    with pytest.raises(CaptureError, match="int is a class, and calling it makes an object"):
        weft.compile(int)
    with pytest.raises(TypeError, match="compile takes a function or a Module, got int"):
        weft.compile(3)  # type: ignore[call-overload]  # the mistake
    with pytest.raises(ValueError, match="backend is one of numpy, got 'cuda'"):
        weft.compile(backend="cuda")


# Where it is written

SOURCE = """\
def cell(x):
    if x.sum() > 0:
        return x * 2
    return -x
"""


def executed(source: str, filename: str) -> Any:
    space: dict[str, Any] = {"__name__": "__main__", "np": np}
    exec(compile(source, filename, "exec"), space)
    return space["cell"]


@pytest.mark.parametrize("filename", ["<ipython-input-3-6f1c>", "<python-input-0>", "/tmp/ipykernel_12/345.py"])
def test_cells_of_notebooks_and_prompts(filename: str) -> None:
    # A cell is known to linecache only: there is no such file, and no time of modification.
    linecache.cache[filename] = (len(SOURCE), None, SOURCE.splitlines(keepends=True), filename)
    try:
        function = executed(SOURCE, filename)
        for made in (weft.compile(function), weft.script(function)):
            equal(made(X), X * 2)
            equal(made(-X), X)
    finally:
        del linecache.cache[filename]


def test_no_source() -> None:
    function = executed(SOURCE, "<string>")
    for capture in (lambda: weft.compile(function)(X), lambda: weft.script(function), lambda: weft.trace(function, X)):
        with pytest.raises(CaptureError, match="cell cannot be captured: its source is not available") as caught:
            capture()
        assert "help: " in str(caught.value)
    caller = lambda x: function(x) + 1  # noqa: E731  # as users write them
    with pytest.raises(CaptureError) as caught:
        weft.compile(caller)(X)
    assert "caller = lambda x: function(x) + 1" in str(caught.value)


# Capture in capture


def test_compiled_functions_call_each_other() -> None:
    inner = weft.compile(lambda x: x * 2 if x.sum() > 0 else x)
    outer = weft.compile(lambda x: inner(x) + inner(-x))
    equal(outer(X), X)
    equal(outer(-X), X)
    assert inner.cache_info().misses == 0
    equal(weft.trace(lambda x: module_level(x) + 1, X)(X), X * 2 + 1)
    equal(weft.script(lambda x: module_level(x) + 1)(X), X * 2 + 1)


def test_captured_graphs_are_called() -> None:
    scripted = weft.script(lambda x: x * 2 if x.sum() > 0 else x)
    traced = weft.trace(lambda x: x + 3, X)
    decorated = weft.trace(lambda x: x - 1)
    compiled = weft.compile(lambda x: scripted(x) + traced(x) * decorated(x))
    equal(compiled(X), X * 2 + (X + 3) * (X - 1))


def test_capturing_inside_a_captured_program() -> None:
    def program(x: Any) -> Any:
        module = weft.trace(lambda z: z * z + 1, weft.spec((3,)))
        tripled = weft.compile(lambda z: z * 3)
        return tripled(x) * len(list(module.graph.nodes))

    equal(weft.compile(program)(X), X * 3 * 4)


# Threads


def in_threads(work: Any, count: int = 6) -> None:
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_threads_that_capture_functions_of_their_own() -> None:
    def work(number: int) -> None:
        def program(x: Any, n: int) -> Any:
            total = 0.0
            for i in range(n):
                if x[i % len(x)] > number / 3:
                    total += x[i % len(x)] * number
                else:
                    total -= 1
            return total

        compiled = weft.compile(program)
        for n in range(5, 20):
            assert compiled(X, n) == program(X, n)

    in_threads(work)


def test_threads_that_call_one_function() -> None:
    def program(x: Any, n: int) -> Any:
        y = x * 1
        for i in range(n):
            y[i % len(x)] += i
        return y

    compiled = weft.compile(program)

    def work(number: int) -> None:
        for n in range(10):
            for x in (X, X.astype("float32"), X[:3] + number):
                equal(compiled(x, n), program(x, n))

    in_threads(work)
    assert compiled.cache_info().misses == 2


# What it depends on


def test_globals() -> None:
    global RATE
    compiled = weft.compile(lambda x: x * RATE)
    before = RATE
    try:
        for rate in (2, 5, 2.5, 2, True, np.full(6, 3.0), np.full(6, 4.0)):
            RATE = rate
            equal(compiled(X), X * rate)
        RATE[:] = 9
        equal(compiled(X), X * 9)
        assert compiled.cache_info().misses == 6  # the second time that it is 2, its graph is there
    finally:
        RATE = before


def test_variables_of_functions_around() -> None:
    k: Any = 1
    items = [1, 2]
    arrays = {"a": np.ones(6)}
    settings = SimpleNamespace(k=2, inner=SimpleNamespace(j=3.0))

    def program(x: Any) -> Any:
        return x * k + items[0] * len(items) + arrays["a"] + settings.k * settings.inner.j

    compiled = weft.compile(program)
    equal(compiled(X), program(X))
    k = 7
    equal(compiled(X), program(X))
    items.append(3)
    equal(compiled(X), program(X))
    items[0] = 5
    equal(compiled(X), program(X))
    arrays["a"][0] = 100
    equal(compiled(X), program(X))
    arrays["a"] = np.full(6, 3.0)
    equal(compiled(X), program(X))
    settings.inner.j = 1.0
    equal(compiled(X), program(X))
    settings.inner = SimpleNamespace(j=10)
    equal(compiled(X), program(X))
    captured = compiled.cache_info().misses
    equal(compiled(X), program(X))
    assert compiled.cache_info().misses == captured


def test_a_variable_around_with_the_name_of_a_global() -> None:
    RATE = 2

    def program(x: Any) -> Any:
        return x * RATE

    compiled = weft.compile(program)
    equal(compiled(X), X * 2)
    RATE = 3
    equal(compiled(X), X * 3)


def test_functions_and_modules_that_are_exchanged() -> None:
    settings = ModuleType("settings")
    settings.rate, settings.activation = 2, np.tanh  # type: ignore[attr-defined]  # set here

    def program(x: Any) -> Any:
        return settings.activation(x) * settings.rate

    compiled = weft.compile(program)
    equal(compiled(X), np.tanh(X) * 2)
    settings.activation = lambda x: x + 1  # type: ignore[attr-defined]
    equal(compiled(X), (X + 1) * 2)
    settings.rate = 5  # type: ignore[attr-defined]
    equal(compiled(X), (X + 1) * 5)


def test_arrays_from_outside_are_written() -> None:
    totals = [np.zeros(6)]

    def program(x: Any) -> Any:
        totals[0] += x
        return totals[0].sum()

    compiled = weft.compile(program)
    for n in range(1, 4):
        assert compiled(X) == pytest.approx(n * X.sum())
    np.testing.assert_allclose(totals[0], X * 3)


def test_compiled_functions_and_derivatives_print_as_what_they_are() -> None:
    def loss(x: Any) -> Any:
        return (x**2).sum()

    compiled, gradient = weft.compile(functools.partial(loss)), weft.grad(loss)
    assert repr(compiled) == "<compiled loss, 0 graphs>"
    assert repr(gradient) == "<grad of loss, 0 graphs>"
    gradient(X)
    rows = weft.vmap(gradient)
    rows(np.ones((2, 3)))
    assert repr(gradient) == "<grad of loss, 1 graph>"
    assert repr(rows) == "<vmap of grad of loss, 1 graph>"
    assert repr(weft.compile(weft.nn.Linear(2, 2))) == "<compiled Linear, 0 graphs>"
