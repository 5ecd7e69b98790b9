"""Converted functions under plain hooks mean what their source means."""

from __future__ import annotations

import contextlib
import functools
import gc
import inspect
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from weft.capture._convert import convert, is_converted
from weft.capture._plain import PlainHooks
from weft.errors import CaptureError, TraceError

COUNTER = 0
LIMIT = 3


def plain(function: Any) -> Any:
    return convert(function).bind(function, PlainHooks())


def result(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The result, or the exception's type and text."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return type(error), str(error)


def same(function: Any, *calls: tuple[Any, ...]) -> None:
    made = plain(function)
    for args in calls:
        expected, got = result(function, *args), result(made, *args)
        assert expected == got, (args, expected, got)


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


@pytest.mark.parametrize("name, args", [("value", (3,)), ("value", (0,)), ("mangles", ()), ("nested", ()), ("deep", (2,))])
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


def test_order_of_evaluation() -> None:
    log: list[str] = []

    def say(word: str, value: Any = None) -> Any:
        log.append(word)
        return value

    class Noisy(dict[Any, Any]):
        def __getitem__(self, key: Any) -> Any:
            log.append(f"get {key}")
            return super().__getitem__(key)

        def __setitem__(self, key: Any, value: Any) -> None:
            log.append(f"set {key}")
            super().__setitem__(key, value)

    def program(d: Any) -> Any:
        say("owner", d)[say("key", "a")] = say("value", 1)
        say("owner", d)[say("key", "a")] += say("by", 2)
        d["b"] = d["c"] = say("twice", 5)
        x, d[say("k", "e")] = say("one", 1), say("two", 2)
        say("f")(say("unused")) if say("test", False) else say("other")
        z = say("a", 0) or say("b", 0) or say("c", 3) or say("d", 4)
        y = say("l", 1) < say("m", 3) < say("n", 2) < say("never", 9)
        d[say("del", "a")], w = say("x", 3), [say("i", i) for i in say("it", [1, 2]) if say("if", True)]
        del say("owner", d)[say("key", "b")]
        return x, y, z, w, say("g", max)(say("p", 1), *say("s", [2]), default=say("kw"))

    made = plain(program)
    expected, log = (result(program, Noisy()), log), []  # noqa: F841  # the nested functions append to it
    before = [*log]
    assert not before
    first = Noisy()
    wanted = result(program, first)
    wanted_log, log = log, []
    second = Noisy()
    assert (result(made, second), log, second) == (wanted, wanted_log, first)


def test_an_update_reads_before_it_evaluates() -> None:
    def program() -> Any:
        box = [1, 2]

        class Owner:
            n = 10

        def change() -> int:
            box[0] = 100
            Owner.n = 1000
            return 5

        box[0] += change()
        Owner.n += change()
        box[1] += (seen := change())
        return box, Owner.n, seen

    same(program, ())


def test_tracebacks_show_the_users_lines() -> None:
    def helper(x: Any) -> Any:
        return x["missing"]

    def program(x: Any) -> Any:
        if x:
            for _ in range(2):
                value = (
                    x["a"]
                    + helper(x)
                )
        return value

    def lines(function: Any) -> list[tuple[int, str]]:
        with pytest.raises(KeyError) as caught:
            function({"a": 1})
        frames = traceback.extract_tb(caught.value.__traceback__)
        return [(f.lineno or 0, f.name) for f in frames if f.filename == __file__][1:]

    assert lines(plain(program)) == lines(program)


def test_carets_show_the_users_expression() -> None:
    def program(x: Any) -> Any:
        y = 1
        return [y + 1, x.a.b[y], 3]

    with pytest.raises(AttributeError) as caught:
        plain(program)(3)
    frame = next(f for f in traceback.extract_tb(caught.value.__traceback__) if f.name == "program")
    assert frame.line is not None and frame.colno is not None and frame.end_colno is not None
    indent = frame._original_line.index("return") if hasattr(frame, "_original_line") else 0
    assert frame.line[frame.colno - indent : frame.end_colno - indent] == "x.a"


def test_unbound_variables() -> None:
    def program(which: int) -> Any:
        if which == 1:
            x = 1
        if which == 2:
            return (lambda: x)()
        if which == 3:
            return [x for _ in range(1)]
        if which == 4:
            del x
        if which == 5:
            return which and x
        if which == 6:
            x += 1
        for x in range(which - 6):
            pass
        return x

    same(program, *[(n,) for n in range(9)])


def test_delete_and_read_again() -> None:
    def program(n: int) -> Any:
        x = 1
        while n:
            n -= 1
            if n == 2:
                del x
            elif n == 1:
                x = 5
            elif n == 0:
                return x
        del n
        return n

    same(program, (0,), (1,), (2,), (3,), (4,))


def test_exceptions_named_like_a_variable() -> None:
    def program(n: int) -> Any:
        error = "before"
        for k in range(n):
            if k == 1:
                error = "again"
            try:
                if k == 2:
                    raise ValueError(k)
            except ValueError as error:
                seen = str(error)
            else:
                seen = "no"
        return error, seen

    same(program, (1,), (2,), (3,), (4,))


def test_contexts() -> None:
    def program(n: int) -> Any:
        log: list[Any] = []

        @contextlib.contextmanager
        def noting(value: Any) -> Iterator[Any]:
            log.append(("in", value))
            try:
                yield value
            finally:
                log.append(("out", value))

        with noting((1, 2)) as (a, b), noting([a]) as log[0:0]:
            log.append((a, b))
        with contextlib.suppress(ZeroDivisionError), noting(3) as c:
            log.append(1 // n)
            return log, c
        return log, "swallowed"

    same(program, (0,), (1,))


def test_a_jump_undone_by_an_exception() -> None:
    class Fails:
        def __enter__(self) -> None:
            return None

        def __exit__(self, *exception: object) -> None:
            raise ValueError("on the way out")

    def program(n: int) -> Any:
        with contextlib.suppress(ValueError):
            with Fails():
                return "jumped"
        for _ in range(n):
            try:
                with Fails():
                    break
            except ValueError:
                n += 10
        return n

    same(program, (0,), (1,), (3,))


def test_returns_in_finally() -> None:
    def program(n: int) -> Any:
        for k in range(n):
            try:
                if k == 1:
                    raise KeyError(k)
            finally:
                if k == 2:
                    return "three"
                if k == 1:
                    continue
        return n

    same(program, (1,), (2,), (3,), (4,))


def test_raise_and_causes() -> None:
    def program(which: int) -> None:
        cause = ValueError("cause") if which != 3 else None
        try:
            if which == 0:
                raise KeyError("a")
            if which == 1:
                raise KeyError from cause
            if which == 2:
                raise KeyError("a") from None
            if which == 3:
                raise KeyError("a") from cause
            if which == 4:
                raise 5  # type: ignore[misc]  # an error, on purpose
            1 // 0
        except ZeroDivisionError:
            if which == 5:
                raise
            raise KeyError from ValueError

    def seen(function: Any, which: int) -> Any:
        with pytest.raises(Exception) as caught:  # noqa: B017  # compared with the original's
            function(which)
        error = caught.value
        return repr(error), repr(error.__cause__), error.__suppress_context__, repr(error.__context__)

    made = plain(program)
    assert [seen(made, n) for n in range(7)] == [seen(program, n) for n in range(7)]


def test_assertions() -> None:
    def program(x: Any) -> Any:
        assert x, f"no {x!r}"
        assert x > 1
        assert isinstance(x, int), (y := x)
        return x

    same(program, (0,), (1,), (2,), (2.5,))


def test_generators() -> None:
    def program(n: int) -> Iterator[Any]:
        got = None
        for k in range(n):
            if k % 2 and (got is None or got > 1):
                got = yield k
                continue
            while k > 5:
                k -= (yield -k) or 1
                if k == 7:
                    break
            else:
                yield from [k, "else"]
        return got

    made = plain(program)

    def drive(function: Any) -> list[Any]:
        running, out = function(9), []
        value = None
        while len(out) < 40:
            try:
                out.append(running.send(value))
            except StopIteration as stop:
                return [*out, ("end", stop.value)]
            value = len(out) if out[-1] else None
        return out

    assert drive(made) == drive(program)
    sites = convert(program).sites
    assert {site.kind for site in sites if site.has_yield} == {"for", "if", "while"}


def test_generator_expressions_are_lazy() -> None:
    def program() -> Any:
        n = 1
        lazy = (k * n for k in range(3))
        n = 10
        return list(lazy), sum(k for k in range(3) if k), result(lambda: (k for k in 5))

    same(program, ())


def test_comprehensions() -> None:
    def program(n: int) -> Any:
        pairs = [(k, [k, k + 1, k + 2]) for k in range(n)]
        one = [a + b for a, (b, *_) in pairs]
        two = [a for a, rest in pairs if a > 0 if rest]
        three = {a: b for a, [b, *c] in pairs}
        four = {x for _, rest in pairs for x in rest if x % 2}
        five = [[y := x, x**2] for x in range(n)]
        six = [(lambda: x)() for x in range(n)]
        return one, two, three, four, five, six, y, result(lambda: [a for a, b in [1]])

    same(program, (0,), (3,))


def test_fstrings() -> None:
    def program(x: Any, w: int) -> str:
        return f"{x!r:>{w}}|{x!s}|{x!a}|{x:{w}}|{w:.{w}f}|{{}}|{x=}" f"{w}"

    same(program, ("é", 8), ("abc", 4))


def test_strings_of_a_program() -> None:
    def program() -> str:
        return "" f"{1}" "" + f"" + f"{'a'}"

    same(program, ())


def test_unpacking_messages() -> None:
    def program(value: Any) -> Any:
        a, b = value
        c, *d, e = value, *value
        return a, b, c, d, e

    same(program, ((1, 2),), ((1,),), ((1, 2, 3),), (5,), ("xy",), (iter([1]),), ([1, 2],))


def test_walrus() -> None:
    def program(items: list[int]) -> Any:
        found = []
        while items and (last := items.pop()) > 0:
            found.append(last)
        if (n := len(found)) > 1 and (m := n * 2):
            return found, n, m
        return found, n, (k := 3) and k

    same(program, ([1, 2, 3],), ([],), ([-1, 5],))


def test_match() -> None:
    def program(value: Any) -> Any:
        for _ in range(2):
            match value:
                case [1, x] if x > 2:
                    return "pair", x
                case {"k": y, **rest}:
                    if rest:
                        break
                    continue
                case str() as name:
                    value = [1, len(name)]
                case _:
                    return "other"
        else:
            return "twice"
        return "broke", y

    same(program, ([1, 3],), ([1, 1],), ({"k": 1},), ({"k": 1, "l": 2},), ("word",), ("w",))


def test_slices_are_the_builtins() -> None:
    def program(x: Any, slice: Any = None) -> Any:
        x[1:3] = [9]
        x[:1] += [4, 5]
        del x[-1:]
        return x, x[::2], x[slice], x[1:][0]

    same(program, ([1, 2, 3, 4], 0))


def test_annotations_of_variables() -> None:
    def program() -> Any:
        x: int = 1
        y: undefined_name  # type: ignore[name-defined]  # noqa: F821, F842  # never evaluated
        z: dict[str, int] = {}
        z["a"]: int = 2  # type: ignore[misc]  # Python allows it
        return x, z

    same(program, ())


def test_locals_and_eval_see_the_function() -> None:
    def program(x: int) -> Any:
        y = x + 1
        names = set(locals()) & {"x", "y"}
        return names, eval("x + y"), x and eval("y"), x and sorted(set(dir()) & {"x", "y"})

    same(program, (1,))


def test_many_branches_nest_deeply() -> None:
    branches = "".join(f"    {'el' if n else ''}if x == {n}:\n        y = {n} * 2\n" for n in range(40))
    returns = "".join(f"    if x == {n}:\n        return y, {n}\n" for n in range(40))
    from converted_programs import define

    function, _ = define(f"def program(x):\n    y = -1\n{branches}{returns}    return y, 'end'\n")
    same(function, *[(n,) for n in range(42)])


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
    from converted_programs import define

    function, _ = define("def program(x):\n    return x + 1\n")
    converted = convert(function)
    assert convert(function) is converted
    seen = weakref.ref(converted)
    del function, converted
    gc.collect()
    assert seen() is None


def test_equal_code_in_two_places() -> None:
    from converted_programs import define

    one, _ = define("def program(x):\n    return x + 1\n")
    two, _ = define("def program(x):\n    return x + 1\n")
    assert convert(one).file != convert(two).file


def test_threads_convert_once() -> None:
    from converted_programs import define

    function, _ = define("def program(x):\n" + "    if x: x = x + 1\n" * 50 + "    return x\n")
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


def test_converting_is_fast() -> None:
    from converted_programs import define

    lines = [
        "    for i in range(n):",
        "        if i % 2 == 0 and i > 3:",
        "            a[i, :j] += b[i, :j] @ c[:j] * x[i] - 0.5",
        "            continue",
        "        total = total + a[i].sum() / float(n)",
        "        y[i] = -total if total < 3.0 else total + 1.0",
        "    h = x.shape[0] + y.shape[0]",
    ]
    text = "def program(a, b, c, x, y, n, j):\n    total = 0.0\n" + "\n".join(lines * 14) + "\n    return total, h\n"
    times = []
    for _ in range(5):
        function, _file = define(text)
        begun = time.thread_time()
        convert(function)
        times.append(time.thread_time() - begun)
    # 8 ms on a machine that does nothing else; processor time grows when others share its caches.
    assert min(times) < 0.016
