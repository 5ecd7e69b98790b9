"""Decorated functions: what a decorator is given is what the caller gives, in every front end."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from functools import cached_property, partial, partialmethod, singledispatch, wraps
from typing import Any

import numpy as np
import pytest

import weft
from weft import nn
from weft.capture._hooks import Hooks
from weft.errors import CaptureError, TraceError

X = np.arange(3.0)


def counting(f: Any) -> Any:
    @wraps(f)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs) * len(args) + len(kwargs) + ("scale" in kwargs)

    return inner


def counting_without_wraps(f: Any) -> Any:
    def inner(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs) * len(args) + len(kwargs)

    return inner


def own_default(f: Any) -> Any:
    @wraps(f)
    def inner(x: Any, scale: Any = None, **kwargs: Any) -> Any:
        return f(x, **kwargs) if scale is None else f(x, scale, **kwargs) * 100

    return inner


def repeated(times: int) -> Any:
    def decorate(f: Any) -> Any:
        @wraps(f)
        def inner(*args: Any, **kwargs: Any) -> Any:
            result = f(*args, **kwargs)
            for _ in range(times):
                result = result * 2
            return result

        return inner

    return decorate


def filling_in(f: Any) -> Any:
    signature = inspect.signature(f)

    @wraps(f)
    def inner(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        given = len(bound.arguments)
        bound.apply_defaults()
        return f(*bound.args, **bound.kwargs) * given

    return inner


def keyword_of_its_own(f: Any) -> Any:
    @wraps(f)
    def inner(*args: Any, verbose: bool = False, **kwargs: Any) -> Any:
        return f(*args, **kwargs) + (1 if verbose else 0) + len(args) * 10

    return inner


class Counting:
    def __init__(self, f: Any) -> None:
        self.f = f
        wraps(f)(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.f(*args, **kwargs) + len(args) + 10 * len(kwargs)


@counting
def counted(x: Any, scale: float = 2.0, *, shift: float = 1.0) -> Any:
    return x * scale + shift


@counting_without_wraps
def unnamed(x: Any, scale: float = 2.0) -> Any:
    return x * scale


@own_default
def inner_default(x: Any, scale: float = 2.0) -> Any:
    return x * scale


@repeated(3)
@counting
def decorated_twice(x: Any, shift: float = 1.0) -> Any:
    return x + shift


@filling_in
def filled_in(x: Any, scale: float = 3.0) -> Any:
    return x * scale


@keyword_of_its_own
def with_a_keyword(x: Any, scale: float = 3.0) -> Any:
    return x * scale


@Counting
def by_an_object(x: Any, scale: float = 2.0) -> Any:
    return x * scale


@functools.cache
def coefficient(n: int) -> float:
    return float(n) ** 2


@singledispatch
def doubled(value: Any) -> Any:
    return value * 2


@doubled.register
def _(value: int) -> Any:
    return value * 3


def tagged(cls: Any) -> Any:
    original = cls.__init__

    @wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        self.count = len(args)

    cls.__init__ = init
    cls.tag = 5.0
    return cls


@tagged
class Line:
    tag: float
    count: int

    def __init__(self, slope: Any, width: float = 1.0) -> None:
        self.slope, self.width = slope, width

    def at(self, x: Any) -> Any:
        return x * self.slope + self.count + self.tag * self.width


class Methods:
    def base(self, x: Any, k: float = 1, m: float = 2) -> Any:
        return x * k + m

    twice = partialmethod(base, k=2)
    thrice = partialmethod(base, 3)

    @cached_property
    def width(self) -> float:
        return 3.0

    @counting
    def counted(self, x: Any, scale: float = 2.0) -> Any:
        return x * scale

    def __getattr__(self, name: str) -> Any:
        if name == "magic":
            return lambda x: x * 7
        raise AttributeError(name)


methods = Methods()
line = Line(2.0, width=4.0)

PROGRAMS: dict[str, Callable[..., Any]] = {
    "counted": counted,
    "counted, bound": methods.counted,
    "own default": inner_default,
    "decorated twice": decorated_twice,
    "filled in": filled_in,
    "keyword of its own": with_a_keyword,
    "calls with and without": lambda x: (
        with_a_keyword(x, verbose=True) + with_a_keyword(x, 2.0) + counted(x, scale=1.0)
    ),
    "partial of a decorated one": partial(counted, scale=5.0),
    "partial of its keyword": partial(counted, shift=5.0),
    "lru_cache": lambda x: x * coefficient(3),
    "partialmethod": lambda x: methods.twice(x) + Methods().thrice(x, m=1) + methods.width,
    "made by __getattr__": lambda x: methods.magic(x),
    "decorated class": lambda x: Line(x[0] + 1.0).at(x) + line.at(x),
    "singledispatch": lambda x: doubled(x) + doubled(2),
}
NO_SCRIPT = {"singledispatch"}  # refused: nothing is known of the argument

FRONT_ENDS: dict[str, Callable[[Any], Any]] = {
    "compile": weft.compile,
    "script": weft.script,
    "trace": lambda f: weft.trace(f, X),
    "symbolic_trace": weft.symbolic_trace,
    "vjp": lambda f: lambda x: weft.vjp(f, x)[0],
}


@pytest.mark.parametrize("make", FRONT_ENDS.values(), ids=FRONT_ENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_the_plain_call(name: str, make: Any) -> None:
    program = PROGRAMS[name]
    if make is weft.script and name in NO_SCRIPT:
        with pytest.raises(TraceError):
            make(program)
        return
    np.testing.assert_array_equal(make(program)(X), program(X))


@pytest.mark.parametrize("program", [unnamed, by_an_object], ids=["without wraps", "object"])
@pytest.mark.parametrize("make", [weft.compile, FRONT_ENDS["trace"], FRONT_ENDS["vjp"]])
def test_decorators_that_are_no_functions_with_wraps(make: Any, program: Any) -> None:
    np.testing.assert_array_equal(make(program)(X), program(X))


def test_a_compiled_one_tells_calls_apart() -> None:
    f = weft.compile(counted)
    for args, kwargs in (((X,), {}), ((X, 3.0), {}), ((X,), {"scale": 3.0}), ((X,), {"scale": 3.0, "shift": 0.0})):
        for _ in range(2):
            np.testing.assert_array_equal(f(*args, **kwargs), counted(*args, **kwargs))
    assert f.cache_info().misses == 4 and f.cache_info().hits == 4


def test_a_trace_has_the_inputs_of_its_call_by_their_names() -> None:
    assert [n.name for n in weft.trace(counted, X, scale=3.0).graph.find_nodes(op="placeholder")] == ["x", "scale"]


def test_a_symbolic_trace_has_a_default_as_an_input_where_it_is_asked_for() -> None:
    gm = weft.symbolic_trace(counted, concrete_args={"scale": weft.PH})
    np.testing.assert_array_equal(gm(X, 3.0), counted(X, scale=3.0))


class HidesItself(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(np.full(3, 2.0))

    def forward(*args: Any, **kwargs: Any) -> Any:  # type: ignore[override]  # as some write it
        self, x = args
        return x * self.weight + kwargs.get("shift", 0.0)


class DecoratedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(np.full(3, 2.0))

    @counting_without_wraps
    def forward(self, x: Any) -> Any:
        return x * self.weight


class Hidden:
    factor = 3.0

    def method(*args: Any) -> Any:
        return args[1] * args[0].factor

    decorated = counting_without_wraps(lambda self, x: x * self.factor)


@pytest.mark.parametrize("function", [HidesItself(), DecoratedForward(), Hidden().method, Hidden().decorated])
def test_objects_that_are_hidden_among_args(function: Any) -> None:
    for traced in (weft.trace(function, X), weft.compile(function)):
        traced(X)
        np.testing.assert_array_equal(np.asarray(traced(X + 5)), np.asarray(function(X + 5)))
    with pytest.raises(TraceError):
        weft.symbolic_trace(function)
    with pytest.raises(CaptureError, match="takes its object in"):
        weft.script(function)


@pytest.mark.parametrize("keyword", [False, True])
def test_decorators_and_functions_that_both_take_any_arguments(keyword: bool) -> None:
    def scaled(x: Any, *args: Any, **options: Any) -> Any:
        return x * 2.0, len(args), sorted(options)

    if keyword:

        @functools.wraps(scaled)
        def decorated(x: Any, *args: Any, extra: float = 5.0, **options: Any) -> Any:
            return scaled(x, *args, **options), extra

    else:

        @functools.wraps(scaled)
        def decorated(*args: Any, **options: Any) -> Any:
            return scaled(*args, **options), len(args)

    for arguments in ((2.0,), (2.0, 3.0)):
        assert weft.compile(decorated)(*arguments, k=1) == decorated(*arguments, k=1)
    with pytest.raises(CaptureError, match=r"script: scaled takes \*args or \*\*kwargs, and so does the decorator"):
        weft.script(decorated)


def test_keywords_of_a_module_that_hides_itself() -> None:
    module = HidesItself()
    traced = weft.trace(module, X, shift=X)
    np.testing.assert_array_equal(np.asarray(traced(X, shift=X + 7)), np.asarray(module(X, shift=X + 7)))


def test_symbolic_trace_of_a_compiled_function_records_it_once() -> None:
    compiled = weft.compile(lambda x, y=2.0: x * y)
    for _ in range(2):
        assert [node.name for node in weft.symbolic_trace(compiled).graph.nodes] == ["x", "y", "mul", "output"]
        assert len(weft.symbolic_trace(lambda x: compiled(x) + 1).graph.nodes) == 4
        np.testing.assert_array_equal(compiled(X), X * 2)
    assert compiled.cache_info().misses == 1
    with pytest.raises(CaptureError, match="a derivative of traced values cannot be recorded"):
        weft.symbolic_trace(weft.grad(lambda x: x.sum()))


def test_gradients_and_vmap() -> None:
    weights = weft.grad(lambda x: (methods.twice(x) * filled_in(x)).sum())(X)
    np.testing.assert_allclose(weights, 12 * X + 6)
    np.testing.assert_array_equal(weft.vmap(counted)(X), [counted(x) for x in X])


def test_what_is_made_anew_is_followed() -> None:
    class Dynamic:
        factor = 2.0

        def __getattr__(self, name: str) -> Any:
            factor = self.factor
            return functools.partial(lambda x, k: x * k, k=factor) if name == "scaled" else lambda x: x * factor

    it = Dynamic()
    f = weft.compile(lambda x: it.scaled(x) + it.other(x))
    np.testing.assert_array_equal(f(X), 4 * X)
    np.testing.assert_array_equal(f(X), 4 * X)
    assert f.cache_info().hits == 1
    it.factor = 5.0
    np.testing.assert_array_equal(f(X), 10 * X)


def test_a_signature_that_a_decorator_shows_is_not_what_it_takes() -> None:
    def inner(x: Any, seed: Any = 1, rng: Any = None) -> Any:
        return x * (seed if rng is None else rng)

    def decorated(*args: Any, **kwargs: Any) -> Any:
        if "seed" in kwargs and "rng" in kwargs:
            raise TypeError("both were given")
        return inner(*args, **kwargs), len(args), sorted(kwargs)

    decorated.__signature__ = inspect.signature(inner)  # type: ignore[attr-defined]  # functions take attributes
    x = np.arange(3.0)
    for arguments in ({}, {"seed": 2}, {"rng": 3}):
        assert str(weft.compile(decorated)(x, **arguments)) == str(decorated(x, **arguments))


def remembering(f):
    known = {}

    def inner(*args):
        try:
            return known[args]
        except KeyError:
            known[args] = result = f(*args)
            return result

    return inner


class Counted:
    def __init__(self, f):
        self.f, self.calls = f, 0

    def __call__(self, *args):
        self.calls += 1
        return self.f(*args)


def decorated_within(x, n):
    @remembering
    def fibonacci(k):
        return k if k < 2 else fibonacci(k - 1) + fibonacci(k - 2)

    return x * fibonacci(n)


def counted_within(x, n):
    @Counted
    def power(y, k):
        return 1.0 if k == 0 else y * power(y, k - 1)

    return power(x, n), power.calls


@pytest.mark.parametrize("program", [decorated_within, counted_within])
def test_what_a_decorator_makes_for_a_function_of_the_program_is_the_programs(program: Any) -> None:
    compiled = weft.compile(program)
    for x, n in ((2.0, 5), (3.0, 5), (0.5, 4), (2.0, 5)):
        assert compiled(x, n) == program(x, n)
    assert not compiled._ran_plainly


def named(power: float, name: str) -> Any:
    def raised(x: Any) -> Any:
        return x**power

    raised.__name__ = name
    return raised


def named_within(x: Any, power: float) -> Any:
    total = 0.0
    if power > 1:
        for k in range(2):
            total = total + np.sum(named(power + k, f"to the {k}")(x))
    return total


def test_a_function_that_the_program_makes_is_named_wherever_it_is_made() -> None:
    x = np.array([1.0, 2.0, 3.0])
    for capture in (weft.compile, weft.script):
        assert capture(named_within)(x, 2.0) == named_within(x, 2.0)
    np.testing.assert_allclose(weft.grad(named_within)(x, 2.0), 2 * x + 3 * x**2)
    with pytest.raises(CaptureError, match="takes no traced value"):
        weft.script(lambda x, names: [named(2.0, name)(x) for name in names])(x, ["a", "b"])


def test_a_capture_that_finds_another_object_each_time_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Hooks, "decorator", lambda self, decorate: decorate)  # so that Python calls it, uncaptured
    monkeypatch.setattr("weft.capture._compile._ROUNDS", 5)
    with pytest.raises(CaptureError, match="each capture finds another known to change"):
        weft.compile(decorated_within)(2.0, 5)


class _AsAMethod:
    """A decorator whose objects are bound as functions are."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return types.MethodType(self, owner)


class _Methods:
    factor = 3.0

    @_AsAMethod
    def scaled(self, x: Any) -> Any:
        return x * self.factor

    @functools.lru_cache  # noqa: B019  # the objects live as long as the test
    def remembered(self, x: Any) -> Any:
        return x + 1


def test_methods_that_are_no_functions() -> None:
    assert weft.compile(_Methods().scaled)(2.0) == 6.0
    with pytest.raises(CaptureError, match="remembered is a function with a cache around it"):
        weft.compile(_Methods().remembered)(2.0)
