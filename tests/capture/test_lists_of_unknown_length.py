"""Everyday expressions over lists of which only running tells the length, in scripts and of lists from outside."""

# ruff: noqa: PERF402  # these are the ways of writing that are to be captured

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call

EXPRESSIONS = [
    "[0 for i in range(len(v))]",
    "[v[i] for i in range(len(v) - 1, -1, -1)]",
    "[x for x in v if x > 1]",
    "{k: x for k, x in enumerate(v)}",
    "{x for x in v}",
    "dict(enumerate(v))",
    "dict(zip(v, v))",
    "list(enumerate(v))",
    "list(map(abs, v))",
    "list(map(lambda x: x + 1, v))",
    "list(range(len(v)))",
    "list(reversed(v))",
    "list(reversed(range(len(v))))",
    "list(zip(v, v))",
    "[0] * len(v)",
    "np.zeros(len(v))",
    "max(enumerate(v))",
    "sum(reversed(v))",
    "sorted(zip(v, v))",
    "tuple(range(len(v)))",
    "','.join(map(str, v))",
    "','.join(str(x) for x in reversed(v))",
]


def program(number: int, expression: str, changes: bool) -> Any:
    lines = ["def program(v):", "    v.append(2)" if changes else "    v = v + [2]", f"    return {expression}"]
    name = f"<lists of unknown length {number} {changes}>"
    linecache.cache[name] = (1, None, [line + "\n" for line in lines], name)
    found: dict[str, Any] = {"np": np}
    exec(compile("\n".join(lines), name, "exec"), found)
    return found["program"]


@pytest.mark.parametrize("number", range(len(EXPRESSIONS)), ids=EXPRESSIONS.__getitem__)
def test_of_an_argument_that_is_changed(number: int) -> None:
    function = program(number, EXPRESSIONS[number], True)
    compiled = weft.compile(function)
    for given in ([3, 1], [4], []):
        if given or "max" not in EXPRESSIONS[number]:
            assert_same(call(compiled, (list(given),)), call(function, (list(given),)))
    assert not compiled._ran_plainly


@pytest.mark.parametrize("number", range(len(EXPRESSIONS)), ids=EXPRESSIONS.__getitem__)
def test_in_a_script(number: int) -> None:
    function = program(number, EXPRESSIONS[number], False)
    scripted = weft.script(function)
    for given in ([3, 1], [4], []):
        assert_same(call(scripted, (list(given),)), call(function, (list(given),)))


@weft.script
def extended(v):
    found = []
    for x in v:
        found.append(x)
    found.extend(reversed(v))
    return found, ",".join(reversed(found))


def test_a_list_and_a_text_take_what_is_reversed() -> None:
    assert extended(["a", "b"]) == (["a", "b", "b", "a"], "a,b,b,a")
