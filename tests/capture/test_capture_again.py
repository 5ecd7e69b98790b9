"""Bodies that are captured again: how often, and that what was learned of one loop is not taken for another."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import weft
from weft.graph import Graph


def total(values: Any) -> Any:
    result = 0
    for i in range(len(values)):
        result += values[i]
    return result


def totals(arrays: Any) -> Any:
    found = []
    for array in arrays:
        found.append(total(array))  # noqa: PERF401  # one loop after another, called from one place
    return found


FLOATS, INTS, SMALL = np.arange(12.0), np.arange(12), np.arange(12, dtype=np.float32)


@pytest.mark.parametrize("order", [(FLOATS, INTS), (INTS, FLOATS), (FLOATS, SMALL, INTS), (SMALL, FLOATS, SMALL)])
def test_a_loop_met_with_other_types_keeps_to_them(order: tuple[Any, ...]) -> None:
    compiled = weft.compile(totals)
    for one, other in zip(compiled(order), totals(order), strict=True):
        assert one == other and type(one) is type(other)
    (results,) = compiled.graph.output_node().args
    assert [node.meta["type"].dtype for node in results] == [array.dtype for array in order]


def nested(depth: int, header: list[str], line: str) -> Any:
    """A function with loops inside loops, each level begun by the header's lines."""
    lines = ["def program(a, n):", "    s = 0", "    b = a * 2"]
    for k in range(depth):
        lines += ["    " * (k + 1) + text.replace("#", str(k)) for text in header]
    lines += ["    " * (depth + 1) + line.replace("#", str(depth - 1)), "    return s, a, b"]
    name, source = f"<nested {depth} {line}>", "\n".join(lines) + "\n"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space: dict[str, Any] = {"np": np}
    exec(compile(source, name, "exec"), space)
    return space["program"]


def created(function: Any, *args: Any) -> int:
    """How many nodes a capture makes, counting those that are given up."""
    count = 0
    original = Graph.create_node

    def counted(self: Graph, *rest: Any, **kwargs: Any) -> Any:
        nonlocal count
        count += 1
        return original(self, *rest, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Graph, "create_node", counted)
        compiled = weft.compile(function)
        got = compiled(*args)
    np.testing.assert_equal(got, function(*args))
    return count


@pytest.mark.parametrize(
    ("header", "line"),
    [
        (["x# = 0", "for i# in range(n):"], "x# += a[i0]; s += x#"),
        (["for i# in range(n):"], "a, b = b, a + 1"),
        (["for i# in range(n):"], "s += a[i#] if a[i#] > 2 else 0"),
        (["i# = 0", "while i# < n:", "    i# += 1"], "s += a[i0 - 1]"),
    ],
    ids=["widened", "exchanged", "branches", "while"],
)
def test_deep_loops_are_not_captured_again_and_again(header: list[str], line: str) -> None:
    counts = [created(nested(depth, header, line), np.arange(3.0), 2) for depth in (3, 6)]
    # Twice as deep: four times the nodes where each level adds variables to all, eight where it doubles the work.
    assert counts[1] < 6 * counts[0]
