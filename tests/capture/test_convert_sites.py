"""What sites tell hooks: places, names, which of them are read later, where they were stored."""

# ruff: noqa: F821, F841  # programs that store what nobody reads are the subject

from __future__ import annotations

from typing import Any

import numpy as np

from weft.capture._convert import Site, convert
from weft.capture._plain import PlainHooks


def sites(function: Any, kind: str) -> list[Site]:
    return [site for site in convert(function).sites if site.kind == kind]


def test_places() -> None:
    # fmt: off
    def program(x: Any) -> Any:
        y = "é" and (x if x > 1 else -x)
        if y > 0:
            y = 1
        while (y
               < 3):
            y += 1
        return x < y < 3
    # fmt: on

    first = program.__code__.co_firstlineno
    (choice,), (branch,), (loop,) = sites(program, "ifexp"), sites(program, "if"), sites(program, "while")
    (both,), (chain,) = sites(program, "and"), sites(program, "chain")
    assert (choice.line, choice.column, choice.end_column) == (first + 1, 22, 40)
    assert (both.line, both.column, both.end_column) == (first + 1, 13, 41)
    assert (branch.line, branch.column, branch.end_line, branch.end_column) == (first + 2, 9, first + 2, 17)
    assert (loop.line, loop.column, loop.end_line, loop.end_column) == (first + 4, 9, first + 5, 19)
    assert (chain.line, chain.column, chain.end_column) == (first + 7, 16, 25)
    assert {site.file for site in convert(program).sites} == {__file__}
    assert {site.function for site in convert(program).sites} == {"program"}


def test_names_and_live() -> None:
    def program(c: Any, x: Any) -> Any:
        if c:
            y = x
            unused = y
        else:
            y = 2
            only = 3
            x = only
        return y

    (site,) = sites(program, "if")
    first = program.__code__.co_firstlineno
    assert site.names == ("y", "unused", "only", "x")
    assert site.live == site.live_body == site.live_orelse == {"y"}
    assert site.stores["y"] == (first + 2, first + 5)
    assert site.stores["unused"] == (first + 3, None)
    assert site.stores["only"] == (None, first + 6)


def test_live_in_loops() -> None:
    def program(n: Any) -> Any:
        total = last = 0
        for i in range(n):
            fresh = i * 2
            total = total + fresh
            last = fresh
            if i > 3:
                carried = total
            else:
                carried = last
            dropped = carried
        while total > n:
            total, step = total - 1, total
        return total, last

    (loop,), (turn,), (branch,) = sites(program, "for"), sites(program, "while"), sites(program, "if")
    assert loop.names == ("i", "fresh", "total", "last", "carried", "dropped")
    assert loop.live == {"total", "last"}
    assert branch.live == {"carried"}
    assert turn.names == ("total", "step")
    assert turn.live == {"total"}


def test_read_in_the_next_iteration() -> None:
    def program(xs: Any) -> Any:
        out = []
        for x in xs:
            if x > 1:
                out.append(previous)
            previous = x
        return out

    (loop,), (branch,) = sites(program, "for"), sites(program, "if")
    assert loop.names == ("x", "previous")
    assert loop.live == {"previous"}
    assert branch.names == ()


def test_a_side_that_jumps() -> None:
    def program(xs: Any) -> Any:
        total = 0
        for x in xs:
            if x > 0:
                if x > 5:
                    continue
                y = x
            else:
                y = -x
            total += y
        return total

    jump = next(site for site in sites(program, "if") if site.names[-1:] == ("y",) and "y" not in site.live_body)
    assert "y" in jump.live and "y" in jump.live_orelse
    assert any(name.startswith("_weft_continue") for name in jump.names)


def test_no_flag_where_the_rest_moves() -> None:
    def program(x: Any) -> Any:
        if x < 0:
            return -x
        y = x * 2
        if y > 10:
            return y
        return 0

    for site in sites(program, "if"):
        assert "_weft_returned" not in site.names
        assert "_weft_value" in site.live
    outer, inner = sites(program, "if")
    assert set(outer.names) == {"_weft_value", "y"}
    assert outer.live == {"_weft_value"}
    assert inner.names == ("_weft_value",)


def test_a_top_level_return_stays() -> None:
    def program(x: Any) -> Any:
        for i in range(3):
            if i == x:
                break
        return x

    (loop,), (branch,) = sites(program, "for"), sites(program, "if")
    flag = branch.names[0]
    assert flag.startswith("_weft_break") and branch.names == (flag,)
    assert set(loop.names) == {"i", flag}


def test_variables_of_nested_functions() -> None:
    def program(c: Any) -> Any:
        seen = written = 0

        def inner() -> None:
            nonlocal written
            written = seen

        if c:
            seen = 1
        if c:
            inner()
        return None

    first, second = sites(program, "if")
    assert first.names == ("seen", "written")
    assert first.live == {"seen", "written"}
    assert second.names == ("written",)


def test_exceptions_keep_variables_alive() -> None:
    def program(c: Any) -> Any:
        state = 0
        try:
            if c:
                state = 1
                other = 2
            c()
            state = 3
        except TypeError:
            return state
        finally:
            del c
        return 5

    site = next(site for site in sites(program, "if") if "other" in site.names)
    assert site.live == {"state"}
    assert [each.kind for each in convert(program).sites if each.kind == "try"] == ["try"]


def test_a_context_may_swallow() -> None:
    def program(c: Any, manager: Any) -> Any:
        state = 0
        with manager:
            if c:
                state = 1
            c()
            state = 2
        return [state]

    (site,) = sites(program, "if")
    assert site.live == {"state"}


class Watching(PlainHooks):
    """Hooks that note what they are given."""

    def __init__(self, log: list[Any]) -> None:
        self.log = log

    def bound_to(self, converted: Any, function: Any) -> Any:
        made = super().bound_to(converted, function)
        made.log = self.log
        return made

    def if_(self, site: int, test: Any, values: tuple[Any, ...]) -> Any:
        self.log.append(("if", self.sites[site].line, self.sites[site].names, len(values)))
        return super().if_(site, test, values)

    def assign(self, name: str, value: Any) -> Any:
        self.log.append((name, value))
        return value

    def update_item_late(self, target: Any, key: Any, op: str, by: Any) -> None:
        self.log.append((key, op))
        super().update_item_late(target, key, op, by)


def test_hooks_of_ones_own() -> None:
    def program(a: Any, n: int) -> Any:
        k = 1
        if n > 2:
            k, m = n, 5
        a[k, :2] += np.ones(2)
        return a

    log: list[Any] = []
    made = convert(program).bind(program, Watching(log))
    line = program.__code__.co_firstlineno
    assert made(np.zeros((4, 3)), 3)[3].tolist() == [1, 1, 0]
    assert log == [("k", 1), ("if", line + 2, ("k", "m"), 2), ("k", 3), ("m", 5), ((3, slice(None, 2)), "+=")]
