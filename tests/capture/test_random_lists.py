"""Random programs with lists under several names, in loops and branches: as in the plain call, or refused."""

from __future__ import annotations

import linecache
import random
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call
from weft.errors import TraceError

ARGUMENTS = [np.array([1.0, -1.0, 2.0, -3.0]), np.array([-1.0, 2.0, -2.0, 2.0, -3.0]), np.ones(9), -np.ones(2)]


class Writer:
    """Writes a program about the lists a, b and c, which may be one, and `rows`, which may hold them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def program(self) -> str:
        lines = ["def program(x):", "    a = [0.0]; b = [1.0]; c = a; rows = []"]
        lines += [*self.statement(1, False), "    for k in range(len(x)):", *self.block(2, True)]
        return "\n".join([*lines, *self.statement(1, False), *self.statement(1, False), "    return a, b, c, rows"])

    def block(self, depth: int, looped: bool) -> list[str]:
        return [line for _ in range(self.random.randint(1, 4)) for line in self.statement(depth, looped)]

    def statement(self, depth: int, looped: bool) -> list[str]:
        pick, indent = self.random.choice, "    " * depth
        v, w = pick("abc"), pick("abc")
        value = pick(["x[k]", "k", "x[k] * 2"] if looped else ["x[0]", "2"])
        test = pick(["x[k] > 0", "k % 2 == 0"] if looped else ["x[0] > 0", "len(x) > 3"])
        simple = [
            *(f"{v}.append({value})", f"{v}.append({value})", f"{v} = {w}", f"{v} = [{value}]", f"{v} = {w}[:]"),
            *(f"{v} = {w}[1:]", f"if len({v}) > 1: {v}.pop()", f"if {v}: {v}[0] = {value}", f"rows.append({v})"),
            *(f"rows.append([{value}])", f"rows = [{v}, {w}]", f"{v} = {w} if {test} else {pick('abc')}"),
            *(f"{v}, {w} = {w}, {v}", f"if rows: rows[-1].append({value})", f"{v} = list({w})", f"{v} += {w}[:1]"),
        ]
        if depth < 4 and self.random.random() < 0.15:
            return [f"{indent}if {test}:", *self.block(depth + 1, looped)]
        return [indent + pick(simple)]


def program(seed: int) -> Any:
    source = Writer(seed).program()
    name = f"<random lists {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    found: dict[str, Any] = {}
    exec(compile(source, name, "exec"), found)
    return found["program"]


@pytest.mark.parametrize("how", [weft.compile, weft.script])
@pytest.mark.parametrize("first", range(0, 100, 10))
def test_as_in_the_plain_call_or_refused(how: Any, first: int) -> None:
    captured_whole = 0
    for seed in range(first, first + 10):
        function = program(seed)
        try:
            captured = how(function)
        except TraceError:
            continue
        for x in ARGUMENTS:
            got = call(captured, (x,))
            if isinstance(got.exception, TraceError):
                break
            assert_same(got, call(function, (x,)))
        else:
            captured_whole += 1
    assert captured_whole > 5
