"""Converted statements and expressions under plain hooks mean what their source means."""

from __future__ import annotations

import contextlib
import linecache
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from converting import define, plain, result, same

from weft.capture._convert import convert


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

    first, second = Noisy(), Noisy()
    wanted = result(program, first)
    wanted_log, log = log, []
    assert (result(plain(program), second), log, second) == (wanted, wanted_log, first)
    assert len(log) == 38


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
    # fmt: off
    def helper(x: Any) -> Any:
        return x["missing"]

    def program(x: Any) -> Any:
        if x:
            for _ in range(2):
                value = (
                    x["a"]
                    + helper(
                        x,
                    )
                )
        return value
    # fmt: on

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
    assert linecache.getline(__file__, frame.lineno or 0)[frame.colno : frame.end_colno] == "x.a"


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
        for x in range(which - 6):  # noqa: B007  # read after the loop
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
        return n  # noqa: F821  # that is the point

    same(program, (0,), (1,), (2,), (3,), (4,))


def test_a_finally_that_deletes() -> None:
    def program(n: int) -> Any:
        if n:
            x = 1
        for _ in range(2):
            try:
                x = n
            finally:
                del x
        return x  # noqa: F821  # that is the point

    same(program, (0,), (1,))


def test_code_that_never_runs_makes_variables() -> None:
    # Written as text: a formatter would take the dead code away.
    for dead in ("del LOST", "LOST = 1", "for LOST in (): pass", "import LOST", "LOST: int", "def LOST(): pass"):
        lines = ["if n:", "    return n", f"    {dead}", "return LOST"]
        same(define("LOST = 5\ndef program(n):\n    " + "\n    ".join(lines) + "\n"), (0,), (1,))


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
        with contextlib.suppress(ValueError), Fails():
            return "jumped"
        with contextlib.suppress(ValueError):  # noqa: SIM117  # nested on purpose
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


RETURNS_IN_FINALLY = """
def program(n):
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
"""


def test_returns_in_finally() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.14 warns of what is tested
        program = define(RETURNS_IN_FINALLY)
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
                raise 5  # type: ignore[misc]  # noqa: B016  # an error, on purpose
            1 // 0  # noqa: B018  # an error, on purpose
        except ZeroDivisionError:
            if which == 5:
                raise
            raise KeyError from ValueError

    def seen(function: Any, which: int) -> Any:
        with pytest.raises(Exception) as caught:  # compared with the original's
            function(which)
        error = caught.value
        return repr(error), repr(error.__cause__), error.__suppress_context__, repr(error.__context__)

    made = plain(program)
    assert [seen(made, n) for n in range(7)] == [seen(program, n) for n in range(7)]


def test_assertions() -> None:
    # Written as text: pytest rewrites the assertions of this file.
    lines = ["assert x, f'no {x!r}'", "assert x > 1", "assert isinstance(x, int), (y := x)", "return x"]
    same(define("def program(x):\n    " + "\n    ".join(lines) + "\n"), (0,), (1,), (2,), (2.5,))


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
                yield from (word for word in (k, "else"))
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
        return f"{x!r:>{w}}|{x!s}|{x!a}|{x:{w}}|{w:.{w}f}|{{}}|{x=}{w}"

    same(program, ("é", 8), ("abc", 4))


def test_strings_of_a_program() -> None:
    def program() -> str:
        return f"{1}" + "" + f"{'a'}"

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


def test_a_walrus_that_may_not_run() -> None:
    def program(c: int) -> Any:
        if c and (x := c + 1):
            pass
        if c > 5:
            x = 3
        return x if c else "unbound, and not read"

    same(program, (0,), (1,), (6,))


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


def test_a_guard_that_reads_what_it_stores() -> None:
    def program(n: int) -> Any:
        for _ in range(2):
            match n:
                case 0 if x := x:  # noqa: F821  # that is the point
                    return x
                case 1:
                    x = 3
        return x

    same(program, (0,), (1,), (2,))


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
