"""Converted functions: what they keep of the original, functions in all their forms, the cache, refusals."""

from __future__ import annotations

import asyncio
import functools
import gc
import inspect
import threading
import weakref
from typing import Any

import pytest
from converting import define, plain, result, same

from weft.capture._convert import convert, is_converted
from weft.capture._plain import PlainHooks
from weft.errors import CaptureError, TraceError

COUNTER = 0
LIMIT = 3


def test_signature_and_names_are_kept() -> None:
    def area(a: int, /, b: float = 2.0, *rest: int, c: str = "x", **more: int) -> tuple[Any, ...]:
        """What it is for."""
        return a, b, rest, c, more

    made = plain(area)
    assert inspect.signature(made) == inspect.signature(area)
    for name in ("__name__", "__qualname__", "__doc__", "__module__", "__defaults__", "__kwdefaults__"):
        assert getattr(made, name) == getattr(area, name), name
    assert made.__annotations__ == area.__annotations__
    assert made.__code__.co_qualname == area.__code__.co_qualname
    assert made.__code__.co_firstlineno == area.__code__.co_firstlineno
    assert made(1, 2, 3, c="y", d=4) == area(1, 2, 3, c="y", d=4)
    assert result(made, a=1) == result(area, a=1)


def test_defaults_are_those_of_the_bound_function() -> None:
    marker = object()

    def make(value: Any) -> Any:
        def inner(x: Any = value) -> Any:
            return x

        return inner

    one, two = make(marker), make(3)
    converted = convert(one)
    assert convert(two) is converted  # they share their code
    assert converted.bind(one, PlainHooks())() is marker
    assert converted.bind(two, PlainHooks())() == 3


def test_closure_cells_are_shared() -> None:
    count = 0

    def up() -> int:
        nonlocal count
        if count < 10:
            count += 1
        return count

    made = plain(up)
    assert (made(), up(), made()) == (1, 2, 3)
    assert count == 3


def test_a_variable_of_the_enclosing_function_that_is_set_later() -> None:
    def late() -> Any:
        return value

    made = plain(late)
    assert result(made) == result(late)
    value = 5
    assert made() == 5


def test_globals_are_read_and_written() -> None:
    def bump(n: int) -> int:
        global COUNTER
        for _ in range(n):
            COUNTER += 2
        if n > 1:
            COUNTER = COUNTER + LIMIT
        return COUNTER

    global COUNTER
    COUNTER = 0
    assert plain(bump)(2) == 7
    assert COUNTER == 7
    assert set(convert(bump).outer_names) == {"COUNTER", "LIMIT"}


def test_a_missing_name_is_a_name_error() -> None:
    def reads() -> Any:
        return nowhere_to_be_found  # type: ignore[name-defined]  # noqa: F821  # that is the point

    same(reads, ())


class Base:
    def __init__(self) -> None:
        self.__secret = 1

    def value(self, n: int) -> int:
        return n

    @property
    def secret(self) -> int:
        return self.__secret


class Derived(Base):
    __step = 2

    def value(self, n: int) -> int:
        if n > 0:
            return super().value(n) + self.__step
        return super().value(n) or super().value(7)

    def mangles(self, **__options: int) -> Any:
        __local = self.__step
        self.__made = __local
        self.__made += 1
        total = [self.__made + k for k in range(2)]
        return total, __local, __options, self.__made if __local else None

    def nested(self) -> Any:
        def inner() -> int:
            return self.__step

        return inner(), (lambda: self.__step)()

    def deep(self, n: int) -> Any:
        return [super(Derived, self).value(k) for k in range(n)], (n and super().value(n))

    @classmethod
    def make(cls) -> str:
        return cls.__name__ + str(cls.__step)

    @staticmethod
    def still(x: int) -> int:
        while x > 3:
            x -= 1
        return x


@pytest.mark.parametrize(
    ("name", "args"), [("value", (3,)), ("value", (0,)), ("mangles", ()), ("nested", ()), ("deep", (2,))]
)
def test_methods(name: str, args: tuple[Any, ...]) -> None:
    one, two = Derived(), Derived()
    assert plain(getattr(Derived, name))(one, *args) == getattr(two, name)(*args)
    assert vars(one) == vars(two)


def test_other_kinds_of_method() -> None:
    assert plain(Derived.make.__func__)(Derived) == "Derived2"
    assert plain(Derived.still)(9) == 3
    assert plain(Base.secret.fget)(Derived()) == 1
    assert plain(Base.__init__)(Derived()) is None


def test_a_class_inside() -> None:
    def build(n: int) -> Any:
        scale = n

        class Thing(Base):
            factor = scale * 2

            def value(self, k: int) -> int:
                if k:
                    return super().value(k) * self.factor + scale
                return -1

            class Inner:
                def get(self) -> int:
                    return scale

        made = Thing()
        return made.value(2), made.value(0), Thing.Inner().get(), Thing.__qualname__, Thing.value.__qualname__

    same(build, (3,))


def test_decorated_functions() -> None:
    def twice(function: Any) -> Any:
        @functools.wraps(function)
        def run(*args: Any) -> Any:
            return function(*args) * 2

        return run

    @twice
    @functools.lru_cache(
        maxsize=3,
    )
    def seven(x: int) -> int:
        if x:
            return 7
        return 8

    assert plain(seven)(1) == 14  # the wrapper, with what it wraps
    inner = seven.__wrapped__.__wrapped__
    assert plain(inner)(1) == 7
    assert plain(inner).__code__.co_firstlineno == inner.__code__.co_firstlineno


def test_nested_functions_are_converted_too() -> None:
    def outer(n: int) -> Any:
        def inner(k: int) -> int:
            return -k if k > n else k

        return inner, lambda k: k + n

    first, second = plain(outer)(2)
    assert is_converted(first) and is_converted(second) and not is_converted(outer)
    assert (first(3), first(1), second(3)) == (-3, 1, 5)
    assert first.__qualname__ == outer(2)[0].__qualname__


def factorial(n: int) -> int:
    return 1 if n < 2 else n * factorial(n - 1)


def test_a_function_that_calls_itself() -> None:
    same(factorial, (5,))
    assert convert(factorial).outer_names == ("factorial",)
    assert plain(factorial).__code__.co_qualname == "factorial"


def test_recursion() -> None:
    def fib(n: int) -> int:
        def go(k: int) -> int:
            return k if k < 2 else go(k - 1) + go(k - 2)

        return go(n)

    same(fib, (10,))


def test_many_branches_nest_deeply() -> None:
    branches = "".join(f"    {'el' if n else ''}if x == {n}:\n        y = {n} * 2\n" for n in range(40))
    returns = "".join(f"    if x == {n}:\n        return y, {n}\n" for n in range(40))
    function = define(f"def program(x):\n    y = -1\n{branches}{returns}    return y, 'end'\n")
    same(function, *[(n,) for n in range(42)])


def test_too_deeply_nested() -> None:
    chain = "".join(f"    {'el' if n else ''}if x == {n}:\n        return {n}\n" for n in range(500))
    with pytest.raises(CaptureError, match="program cannot be captured: it is nested too deeply") as caught:
        convert(define(f"def program(x):\n{chain}"))
    assert "move a part of it into a function of its own" in str(caught.value)


def test_coroutines_stay_as_they_are() -> None:
    text = "def program(x):\n    async def inner(y):\n        if y: return x + y\n    return inner\n"
    assert asyncio.run(plain(define(text))(3)(4)) == 7
    assert asyncio.run(plain(define("async def program(x):\n    if x:\n        return x\n"))(3)) == 3


def test_no_source() -> None:
    space: dict[str, Any] = {}
    exec("def nameless(x):\n    return x", space)
    with pytest.raises(CaptureError, match="its source is not available") as caught:
        convert(space["nameless"])
    assert isinstance(caught.value, TraceError)
    assert "weft.wrap" in str(caught.value)
    with pytest.raises(CaptureError, match="len cannot be captured"):
        convert(len)


def test_the_cache_is_weak() -> None:
    function = define("def program(x):\n    return x + 1\n")
    converted = convert(function)
    assert convert(function) is converted
    seen = weakref.ref(converted)
    del function, converted
    gc.collect()
    assert seen() is None


def test_equal_code_in_two_places() -> None:
    one = define("def program(x):\n    return x + 1\n")
    two = define("def program(x):\n    return x + 1\n")
    assert convert(one).file != convert(two).file


def test_threads_convert_once() -> None:
    function = define("def program(x):\n" + "    if x: x = x + 1\n" * 50 + "    return x\n")
    start, found = threading.Barrier(4), []

    def work() -> None:
        start.wait()
        found.append(convert(function))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and len(set(map(id, found))) == 1
