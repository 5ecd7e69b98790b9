"""Functions, methods and defaults that are replaced between two calls of a compiled function: the new ones are run."""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft

X = np.arange(3.0)


def double(x):
    return x * 2


def less_seven(x):
    return x - 7


def by_default(x, k=3):
    return x * k


def by_keyword(x, *, k=3):
    return x * k


class Base:
    scale = 2.0

    def inherited(self, x):
        return x + 1


class Thing(Base):
    def __init__(self):
        self.z = 1.0

    def method(self, x):
        return x + 1

    def inherited(self, x):
        return super().inherited(x) * 2

    @property
    def prop(self):
        return 3.0

    @staticmethod
    def static(x):
        return x + 1

    @classmethod
    def of_class(cls, x):
        return x + 2

    def __call__(self, x):
        return x + 3

    def __add__(self, other):
        return other + 1


class Net(weft.nn.Module):
    def forward(self, x):
        return x + 1


THING = Thing()
NET = Net()
MODULE = types.ModuleType("a_module_of_the_program")
MODULE.function = double
HOLDER = types.SimpleNamespace(function=double, builtin=math.sin, method=THING.method)
TABLE = {"function": double}


def test_what_is_replaced_is_noticed(replaced: Any) -> None:
    function, replace = replaced
    compiled = weft.compile(function)
    np.testing.assert_array_equal(compiled(X), function(X))
    before = function(X)
    replace()
    assert not np.array_equal(function(X), before)  # it does make a difference
    np.testing.assert_array_equal(compiled(X), function(X))
    np.testing.assert_array_equal(compiled(X), function(X))
    assert compiled.cache_info() == (1, 2, 2)


REPLACED: dict[str, tuple[Callable[[Any], Any], Any, Any, Any]] = {
    # program, owner, name, what replaces it
    "a method": (lambda x: THING.method(x), Thing, "method", lambda self, x: x - 1),
    "a method by an attribute of the object": (lambda x: THING.method(x), THING, "method", less_seven),
    "a method, through the class": (lambda x: Thing.method(THING, x), Thing, "method", lambda self, x: x - 1),
    "a method of an object made inside": (lambda x: Thing().method(x), Thing, "method", lambda self, x: x - 1),
    "a class attribute of an object made inside": (lambda x: Thing().scale * x, Thing, "scale", 5.0),
    "a method by super": (lambda x: THING.inherited(x), Base, "inherited", lambda self, x: x - 1),
    "a property": (lambda x: THING.prop * x, Thing, "prop", property(lambda self: 5.0)),
    "a static method": (lambda x: THING.static(x), Thing, "static", staticmethod(less_seven)),
    "a class method": (lambda x: THING.of_class(x), Thing, "of_class", classmethod(lambda cls, x: x - 1)),
    "a class method, of the class": (lambda x: Thing.of_class(x), Thing, "of_class", classmethod(lambda cls, x: x - 1)),
    "a call": (lambda x: THING(x), Thing, "__call__", lambda self, x: x - 1),
    "an operator": (lambda x: THING + x, Thing, "__add__", lambda self, other: other - 1),
    "what makes an object": (lambda x: Thing().z * x, Thing, "__init__", lambda self: setattr(self, "z", 4.0)),
    "forward": (lambda x: NET(x), Net, "forward", lambda self, x: x - 1),
    "code": (lambda x: double(x), double, "__code__", less_seven.__code__),
    "code of a method": (lambda x: THING.method(x), Thing.method, "__code__", (lambda self, x: x - 1).__code__),
    "defaults": (lambda x: by_default(x), by_default, "__defaults__", (5,)),
    "defaults for keywords": (lambda x: by_keyword(x), by_keyword, "__kwdefaults__", {"k": 5}),
    "an attribute of a module": (lambda x: MODULE.function(x), MODULE, "function", less_seven),
    "an attribute": (lambda x: HOLDER.function(x), HOLDER, "function", less_seven),
    "a builtin function": (lambda x: x * HOLDER.builtin(2.0), HOLDER, "builtin", math.cos),
    "a bound method": (lambda x: HOLDER.method(x), HOLDER, "method", Thing.of_class),
}


_ITEMS = ("an item of a default", "an item of the defaults")


@pytest.fixture(params=[*REPLACED, "a global", "an item of a dict", "an item of a list", "a cell", *_ITEMS])
def replaced(request: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A program, and what replaces a thing that it uses."""
    if request.param in REPLACED:
        function, owner, name, new = REPLACED[request.param]
        return function, lambda: monkeypatch.setattr(owner, name, new)
    held, items, factors = double, [double], [3]

    def by_list(x, ks=factors):
        return x * ks[0]

    def program(x):
        return held(x)

    def assign():
        nonlocal held
        held = less_seven

    return {
        "a global": (lambda x: double(x), lambda: monkeypatch.setitem(globals(), "double", less_seven)),
        "an item of a dict": (
            lambda x: TABLE["function"](x),
            lambda: monkeypatch.setitem(TABLE, "function", less_seven),
        ),
        "an item of a list": (lambda x: items[0](x), lambda: items.insert(0, less_seven)),
        "a cell": (program, assign),
        "an item of a default": (lambda x: by_list(x), lambda: factors.insert(0, 5)),
        "an item of the defaults": (
            lambda x: by_keyword(x),
            lambda: monkeypatch.setitem(by_keyword.__kwdefaults__, "k", 5),
        ),
    }[request.param]


def test_the_compiled_function_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(x, k=2, *, m=3):
        return x * k + m

    compiled = weft.compile(program)
    compiled(X)
    program.__defaults__ = (5,)
    np.testing.assert_array_equal(compiled(X), X * 5 + 3)
    program.__kwdefaults__["m"] = 7
    np.testing.assert_array_equal(compiled(X), X * 5 + 7)
    program.__kwdefaults__ = {"m": 8}
    np.testing.assert_array_equal(compiled(X, 2), X * 2 + 8)
    program.__code__ = (lambda x, k=2, *, m=3: x - m).__code__
    np.testing.assert_array_equal(compiled(X), X - 8)


def test_a_compiled_module_and_a_compiled_object(monkeypatch: pytest.MonkeyPatch) -> None:
    net, thing = weft.compile(Net()), weft.compile(Thing())
    np.testing.assert_array_equal(net(X), X + 1)
    np.testing.assert_array_equal(thing(X), X + 3)
    monkeypatch.setattr(Net, "forward", lambda self, x: x - 1)
    monkeypatch.setattr(Thing, "__call__", lambda self, x: x - 1)
    np.testing.assert_array_equal(net(X), X - 1)
    np.testing.assert_array_equal(thing(X), X - 1)


def test_nothing_replaced_is_captured_once() -> None:
    compiled = weft.compile(lambda x: THING.method(by_keyword(by_default(x))) + THING.inherited(NET(x)))
    for _ in range(3):
        compiled(X)
    assert compiled.cache_info() == (2, 1, 1)


def test_a_change_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = weft.compile(lambda x: by_default(x))
    compiled(X)
    monkeypatch.setattr(by_default, "__defaults__", (4,))
    compiled(X)
    assert compiled.why_recompiled() == [".__defaults__ of by_default is another object"]


def test_keywords_of_a_partial() -> None:
    def scaled(x: Any, a: float = 1.0, b: float = 0.0) -> Any:
        return (x * a + b).sum()

    held = functools.partial(scaled, a=2.0)
    inside = functools.partial(scaled, a=2.0)
    x = np.ones(3)
    programs = [weft.compile(held), weft.compile(lambda x: inside(x)), weft.grad(held), weft.grad(lambda x: inside(x))]
    assert [np.sum(program(x)) for program in programs] == [6.0] * 4
    for one in (held, inside):
        one.keywords.update(a=3.0, b=1.0)
    assert [np.sum(program(x)) for program in programs] == [12.0, 12.0, 9.0, 9.0]
    assert programs[0](x, b=2.0) == 15.0
