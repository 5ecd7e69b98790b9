"""Updates in generated code: in place where nothing can tell, copies everywhere else, and writes the caller sees."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from body_builder import Body, body, compiled, f8, text

import weft

add, sub, mul, truediv = operator.add, operator.sub, operator.mul, operator.truediv


def same(graph: weft.Graph, *args: Any) -> Any:
    """Run the code and the graph node by node: equal results, and equal effects on the arguments."""
    interpreted, generated = [np.copy(a) if isinstance(a, np.ndarray) else a for a in args], list(args)
    expected = weft.Interpreter(None, graph=graph).run(*interpreted)
    found = compiled(graph)(*generated)
    np.testing.assert_equal(found, expected)
    np.testing.assert_equal(generated, interpreted)
    return found


def lines(graph: weft.Graph) -> list[str]:
    return [line.strip() for line in graph.python_code().src.splitlines()[1:]]


# Straight lines


def test_a_value_of_our_own_is_written_in_place() -> None:
    g, x = body(("x", f8(4)))
    y = g.call(mul, x, 2, name="y", type=f8(4))
    z = g.update(g.update(y, 0, 1.0), slice(1, 3), 5.0)
    g.gives(z)
    assert (
        text(g.graph)
        == """
def forward(self, x):
    y = x * 2;  x = None
    y[0] = 1.0
    y[1:3] = 5.0
    return y
"""
    )
    assert same(g.graph, np.ones(4)).tolist() == [1, 5, 5, 2]


def test_inputs_and_constants_are_copied_once() -> None:
    g, x = body(("x", f8(4)))
    g.gives((g.update(g.update(x, 0, 1.0), 1, 2.0), x))
    assert lines(g.graph) == [
        "index_update = weft.index_update(x, 0, 1.0)",
        "index_update[1] = 2.0",
        "return (index_update, x)",
    ]
    given = np.zeros(4)
    same(g.graph, given)
    assert given.tolist() == [0, 0, 0, 0]
    c, x = body("x")
    held = c.graph.get_attr("held")
    held.meta["type"] = f8(2)
    c.gives(c.update(held, 0, x))
    assert lines(c.graph)[1].startswith("index_update = weft.index_update(held, 0, x)")


def test_in_place_can_be_turned_off() -> None:
    from weft.graph._code import python_code

    g, x = body(("x", f8(4)))
    g.gives(g.update(g.call(mul, x, 2, type=f8(4)), 0, 1.0))
    assert "weft.index_update(" in python_code(g.graph, in_place=False).src
    assert compiled(g.graph, in_place=False)(np.ones(4)).tolist() == [1, 2, 2, 2]


@pytest.mark.parametrize(
    "view",
    [
        lambda g, y: g.item(y, slice(1, None), type=f8(3)),
        lambda g, y: g.call(weft.reshape, y, (2, 2), type=f8(2, 2)),
        lambda g, y: g.call(weft.flip, y, type=f8(4)),
        lambda g, y: g.call(weft.broadcast_to, y, (3, 4), type=f8(3, 4)),
        lambda g, y: g.call(weft.asarray, y, type=f8(4)),
        lambda g, y: g.call(weft.astype, y, "float64", copy=False, type=f8(4)),
        lambda g, y: g.call(weft.real, y, type=f8(4)),
        lambda g, y: g.call(getattr, y, "T", type=f8(4)),
        lambda g, y: g.item(g.call(weft.split, y, 2), 1, type=f8(2)),
        lambda g, y: g.item(g.call(add, (y,), (1,)), 0),
        lambda g, y: g.graph.call_method("view", (y,)),
        lambda g, y: g.graph.call_method("__getitem__", (y, slice(None))),
        lambda g, y: g.call(np.atleast_2d, y, type=f8(1, 4)),
        lambda g, y: g.call(kept, y),
    ],
)
def test_a_view_that_is_read_later_makes_a_copy(view: Callable[[Body, Any], Any]) -> None:
    g, x = body(("x", f8(4)))
    y = g.call(mul, x, 2, name="y", type=f8(4))
    seen = view(g, y)
    g.gives((g.update(y, 1, 100.0), g.call(np.copy, seen)))
    assert any("weft.index_update(y, 1, 100.0)" in line for line in lines(g.graph))
    same(g.graph, np.arange(4.0))


def kept(x: Any) -> Any:
    return x


@pytest.mark.parametrize("value", [5.0, "part"])
def test_an_element_is_no_view(value: Any) -> None:
    g, x = body(("x", f8(4)))
    y = g.call(mul, x, 2, name="y", type=f8(4))
    element = g.item(y, 2, name="element", type=f8())
    g.gives((g.update(y, 2, g.item(y, 3, type=f8()) if value == "part" else value), element))
    assert "weft.index_update" not in text(g.graph)
    same(g.graph, np.arange(4.0))


def test_an_element_by_ellipsis_is_a_view() -> None:
    g, x = body(("x", f8(4)))
    y = g.call(mul, x, 2, name="y", type=f8(4))
    element = g.item(y, (2, ...), name="element", type=f8())
    g.gives((g.update(y, 2, 5.0), g.call(add, element, 0)))
    assert "weft.index_update" in text(g.graph)
    same(g.graph, np.arange(4.0))


def test_results_that_show_elements_more_than_once_are_not_written() -> None:
    g, x = body(("x", f8(4)))
    y = g.call(mul, x, 2, type=f8(4))
    wide = g.call(weft.broadcast_to, y, (3, 4), type=f8(3, 4))
    g.gives(g.update(wide, (0, 0), 9.0))
    assert "weft.index_update(" in text(g.graph)
    assert same(g.graph, np.arange(4.0)).tolist() == [[9, 2, 4, 6], [0, 2, 4, 6], [0, 2, 4, 6]]


def test_numbers_are_never_written() -> None:
    g, x = body(("x", f8(4)))
    total = g.call(weft.sum, x, type=f8())
    g.gives(g.update(total, (), 1.0))
    assert same(g.graph, np.ones(4)).shape == ()
    u, x = body("x")  # nothing known: what a sum gives may be a scalar
    u.gives(u.call(weft.index_update, u.call(weft.sum, x), (), 1.0))
    assert same(u.graph, np.ones(4)).shape == ()


def test_overlapping_parts() -> None:
    g, x = body(("x", f8(5)))
    y = g.call(mul, x, 2, name="y", type=f8(5))
    g.gives(g.update(y, slice(1, None), g.item(y, slice(None, -1), name="part", type=f8(4))))
    assert lines(g.graph)[2].startswith("y[1:] = part")
    assert same(g.graph, np.arange(5.0)).tolist() == [0, 0, 2, 4, 6]


def test_keys_that_show_the_array_itself_make_a_copy() -> None:
    ints = weft.spec((4,), "int64")
    g, x = body(("x", ints))
    y = g.call(add, x, 0, type=ints)
    g.gives(g.update(y, y, 7))
    same(g.graph, np.array([3, 2, 1, 0]))
    assert "weft.index_update(" in text(g.graph)


@pytest.mark.parametrize("typed", [False, True])
def test_keys_of_several_arrays(typed: bool) -> None:
    """Indices that repeat: the last value stands, in the order of the elements."""
    known = weft.spec((2, 2), "int64") if typed else None
    g, x, i, j = body(("x", f8(3, 3)), ("i", known), ("j", known))
    y = g.call(mul, x, 1.0, name="y", type=f8(3, 3))
    values = np.arange(1.0, 5.0).reshape(2, 2)
    g.gives(g.update(y, (i, j), values))
    assert any(line.startswith("write_item(y, (i, j), ") for line in lines(g.graph))
    twice = np.asfortranarray([[0, 0], [0, 2]])
    same(g.graph, np.zeros((3, 3)), twice, twice)


def test_masks_and_single_arrays() -> None:
    g, x, i = body(("x", f8(4)), ("i", weft.spec((2,), "int64")))
    y = g.call(mul, x, 2, name="y", type=f8(4))
    mask = g.call(operator.gt, y, 3.0, name="mask", type=weft.spec((4,), "bool"))
    g.gives(g.update(g.update(y, mask, 0.0), i, g.call(add, i, 10, name="v")))
    assert [line.split(";")[0] for line in lines(g.graph)][2:5] == ["y[mask] = 0.0", "v = i + 10", "y[i] = v"]
    assert same(g.graph, np.arange(4.0), np.array([1, 0])).tolist() == [10, 11, 0, 0]


# Through views


def through_view(used_between: bool = False, other_key: bool = False) -> Body:
    g, x = body(("x", f8(3, 4)))
    y = g.call(mul, x, 2, name="y", type=f8(3, 4))
    row = g.item(y, 1, name="row", type=f8(4))
    changed = g.update(g.update(row, 0, 5.0), 1, 6.0)
    extra = g.call(weft.sum, y, type=f8()) if used_between else 0
    g.gives((g.update(y, 2 if other_key else 1, changed), extra))
    return g


def test_a_part_taken_out_changed_and_put_back() -> None:
    g = through_view()
    assert (
        text(g.graph)
        == """
def forward(self, x):
    y = x * 2;  x = None
    row = y[1]
    row[0] = 5.0
    row[1] = 6.0
    row = None
    return (y, 0)
"""
    )
    same(g.graph, np.ones((3, 4)))


@pytest.mark.parametrize("options", [{"used_between": True}, {"other_key": True}])
def test_a_part_that_is_seen_meanwhile_is_a_copy(options: Any) -> None:
    g = through_view(**options)
    assert "weft.index_update(row, 0, 5.0)" in text(g.graph)
    same(g.graph, np.ones((3, 4)))


def test_parts_of_parts() -> None:
    g, x = body(("x", f8(2, 3, 4)))
    y = g.call(mul, x, 2, name="y", type=f8(2, 3, 4))
    plane = g.item(y, 1, name="plane", type=f8(3, 4))
    row = g.item(plane, (slice(None), 2), name="row", type=f8(3))
    back = g.update(plane, (slice(None), 2), g.update(row, 0, 5.0))
    g.gives(g.update(y, 1, back))
    assert text(g.graph).count("index_update") == 0
    assert text(g.graph).count("] = ") == 1
    same(g.graph, np.ones((2, 3, 4)))


@pytest.mark.parametrize("known", [int, weft.spec((), "int64")])
def test_a_part_selected_by_an_array_of_one_index_is_a_copy(known: Any) -> None:
    """`y[np.array(1)]` does not show y; only an int is sure to select a view."""
    g, x, k = body(("x", f8(3, 4)), ("k", known))
    y = g.call(mul, x, 2, name="y", type=f8(3, 4))
    row = g.item(y, k, name="row", type=f8(4))
    g.gives(g.update(y, k, g.update(row, 0, 5.0)))
    same(g.graph, np.ones((3, 4)), 1 if known is int else np.array(1))
    written = [line.split(";")[0] for line in lines(g.graph)[2:-1]]
    assert written == ["row[0] = 5.0", "k = row = None"] if known is int else written[1:] == ["y[k] = index_update"]


def test_elements_that_change_places() -> None:
    g, x, i, j = body(("x", f8(4)), ("i", int), ("j", int))
    y = g.call(mul, x, 2, name="y", type=f8(4))
    first, second = g.item(y, i, name="first", type=f8()), g.item(y, j, name="second", type=f8())
    g.gives(g.update(g.update(y, i, second), j, first))
    assert "weft.index_update" not in text(g.graph)
    assert same(g.graph, np.arange(4.0), 0, 3).tolist() == [6, 2, 4, 0]


# Loops


def lu(written: bool) -> weft.Graph:
    """Gaussian elimination of a matrix, as three loops over its elements."""
    matrix, number = f8(4, 4), int
    b, j, a, i, k = body(("j", number), ("m", matrix), ("i", number), ("k", number))
    product = b.call(mul, b.item(a, (i, k), type=f8()), b.item(a, (k, j), type=f8()), type=f8())
    left = b.call(sub, b.item(a, (i, j), type=f8()), product, type=f8())
    innermost = b.gives((b.update(a, (i, j), left),))
    b, i, a, k, n = body(("i", number), ("m", matrix), ("k", number), ("n", number))
    ratio = b.call(truediv, b.item(a, (i, k), type=f8()), b.item(a, (k, k), type=f8()), name="ratio", type=f8())
    scaled = b.update(a, (i, k), ratio)
    loop = b.call(weft.fori_loop, b.call(add, k, 1, name="start"), n, innermost, (scaled,), i, k)
    inner = b.gives((b.item(loop, 0, type=matrix),))
    b, k, a, n = body(("k", number), ("m", matrix), ("n", number))
    loop = b.call(weft.fori_loop, b.call(add, k, 1, name="below"), n, inner, (a,), k, n)
    outer = b.gives((b.item(loop, 0, type=matrix),))
    g, a, n = body(("m", matrix), ("n", number))
    result = g.item(g.call(weft.fori_loop, 0, n, outer, (a,), n), 0, type=matrix)
    return g.gives(None if written else result, writes=[(a, result)] if written else ())


LU = """    for k in range(n):
        below = k + 1
        for i in range(below, n):
            getitem = {m}[i, k]
            getitem_1 = {m}[k, k]
            ratio = getitem / getitem_1
            {m}[i, k] = ratio
            start = k + 1
            for j in range(start, n):
                getitem_2 = {m}[i, k]
                getitem_3 = {m}[k, j]
                mul = getitem_2 * getitem_3
                getitem_4 = {m}[i, j]
                sub = getitem_4 - mul
                {m}[i, j] = sub
"""


def eliminated(m: np.ndarray) -> np.ndarray:
    m = m.copy()
    for k in range(len(m)):
        for i in range(k + 1, len(m)):
            m[i, k] /= m[k, k]
            m[i, k + 1 :] -= m[i, k] * m[k, k + 1 :]
    return m


def test_lu_of_an_argument_that_is_written() -> None:
    assert text(lu(True)) == "\ndef forward(self, m, n):\n" + LU.format(m="m") + "    return None\n"
    m = np.random.default_rng(0).random((4, 4)) + 4 * np.eye(4)
    expected = eliminated(m)
    assert same(lu(True), m, 4) is None
    np.testing.assert_allclose(m, expected, rtol=1e-15)  # a product subtracted at once or by the row: one rounding


def test_lu_of_an_argument_that_stays() -> None:
    copied = "    m_1 = weft.copy(m)\n"
    assert text(lu(False)) == "\ndef forward(self, m, n):\n" + copied + LU.format(m="m_1") + "    return m_1\n"
    m = np.random.default_rng(0).random((4, 4)) + 4 * np.eye(4)
    before = m.copy()
    np.testing.assert_allclose(same(lu(False), m, 4), eliminated(m), rtol=1e-15)
    np.testing.assert_array_equal(m, before)


def swapping(*, owned: bool = True, read_later: bool = False) -> weft.Graph:
    """A stencil from one buffer into another, which then change places."""
    v = f8(6)
    b, _, p, q = body("i", ("p", v), ("q", v))
    ends = b.item(p, slice(2, None), type=f8(4)), b.item(p, slice(None, -2), type=f8(4))
    inner = b.gives((b.update(q, slice(1, -1), b.call(add, *ends, name="total", type=f8(4))), p))
    g, x, n = body(("x", v), "n")
    p = g.call(mul, x, 1.0, name="p", type=v)
    q = g.call(weft.zeros_like, x, name="q", type=v) if owned else x
    loop = g.call(weft.fori_loop, 0, n, inner, (p, q))
    first, second = g.item(loop, 0, type=v), g.item(loop, 1, type=v)
    return g.gives((first, second, p) if read_later else (first, second))


def test_buffers_that_swap() -> None:
    assert (
        text(swapping())
        == """
def forward(self, x, n):
    p = x * 1.0
    q = weft.zeros_like(x);  x = None
    for i in range(n):
        getitem = p[2:]
        getitem_1 = p[:-2]
        total = getitem + getitem_1
        q[1:-1] = total
        p, q = q, p
    return (p, q)
"""
    )
    for options in ({}, {"owned": False}, {"read_later": True}):
        for n in (0, 1, 2, 3):
            same(swapping(**options), np.arange(6.0), n)
    assert text(swapping(owned=False)).count("weft.copy") == 1
    assert text(swapping(read_later=True)).count("weft.copy") == 1


def test_memory_that_moves_to_a_carry_that_is_written() -> None:
    """The second carry is written only after it has become the first."""
    v = f8(3)
    b, i, p, q = body(("i", int), ("p", v), ("q", v))
    inner = b.gives((q, b.update(p, i, 9.0)))
    g, x, y = body(("x", v), ("y", v))
    loop = g.call(weft.fori_loop, 0, 3, inner, (x, y))
    g.gives((g.item(loop, 0, type=v), g.item(loop, 1, type=v)))
    x_given, y_given = np.zeros(3), np.ones(3)
    same(g.graph, x_given, y_given)
    assert x_given.tolist() == [0, 0, 0]
    assert y_given.tolist() == [1, 1, 1]
    assert text(g.graph).count("weft.copy") == 2


def test_carries_may_hold_what_another_started_as() -> None:
    v = f8(3)
    b, _, p, q = body("i", ("p", v), ("q", v))
    inner = b.gives((q, p))
    g, n = body("n")
    p, q = g.call(weft.zeros, (3,), name="p", type=v), g.call(weft.ones, (3,), name="q", type=v)
    first = g.item(g.call(weft.fori_loop, 0, n, inner, (p, q)), 0, type=v)
    changed = g.update(first, 0, 7.0)
    g.gives((changed, q))
    for n in (0, 1, 2):
        same(g.graph, n)


def test_results_of_carries_that_start_from_the_same_array() -> None:
    v = f8(3)
    b, _, p, q = body("i", ("p", v), ("q", v))
    inner = b.gives((q, p))
    g, n = body("n")
    p = g.call(weft.zeros, (3,), name="p", type=v)
    loop = g.call(weft.fori_loop, 0, n, inner, (p, p))
    first, second = g.item(loop, 0, type=v), g.item(loop, 1, type=v)
    g.gives((g.update(first, 0, 7.0), second))
    for n in (0, 1):
        same(g.graph, n)


def test_carries_that_start_from_the_same_array() -> None:
    v = f8(3)
    b, i, p, q = body(("i", int), ("p", v), ("q", v))
    inner = b.gives((b.update(p, i, 7.0), q))
    g, n = body("n")
    p = g.call(weft.zeros, (3,), name="p", type=v)
    loop = g.call(weft.fori_loop, 0, n, inner, (p, p))
    g.gives((g.item(loop, 0, type=v), g.item(loop, 1, type=v)))
    for n in (0, 2):
        same(g.graph, n)


def test_rows_kept_by_a_scan_are_not_overwritten() -> None:
    v = f8(3)
    b, s, x = body(("s", v), ("x", f8()))
    changed = b.update(s, 0, x)
    inner = b.gives(((changed,), (changed,)))
    g, xs = body(("xs", f8(4)))
    loop = g.call(weft.scan, inner, (g.call(weft.zeros, (3,), type=v),), (xs,))
    g.gives(g.item(g.item(loop, 1), 0, name="ys", type=f8(4, 3)))
    assert same(g.graph, np.arange(4.0))[:, 0].tolist() == [0, 1, 2, 3]
    assert "s[0] = x" in text(g.graph).replace("zeros", "s")


def test_branches_write_in_place() -> None:
    v = f8(3)
    yes, y = body(("y", v))
    no, y_1 = body(("y", v))
    g, x, c = body(("x", v), "c")
    y_2 = g.call(mul, x, 2, name="y", type=v)
    g.gives(g.item(g.call(weft.cond, c, yes.gives((yes.update(y, 0, 1.0),)), no.gives((y_1,)), y_2), 0, type=v))
    assert (
        text(g.graph)
        == """
def forward(self, x, c):
    y = x * 2;  x = None
    if c:
        y[0] = 1.0
    return y
"""
    )
    for c in (True, False):
        same(g.graph, np.ones(3), c)


# Writes that the caller sees


def test_the_argument_itself_comes_back() -> None:
    g, x = body(("x", f8(3)))
    new = g.update(x, 0, 5.0)
    g.gives(new, writes=[(x, new)])
    assert lines(g.graph) == ["x[0] = 5.0", "return x"]
    given = np.zeros(3)
    assert compiled(g.graph)(given) is given
    assert given.tolist() == [5, 0, 0]


def test_content_computed_elsewhere() -> None:
    g, x = body(("x", f8(3)))
    new = g.call(mul, x, 2, name="new", type=f8(3))
    g.gives((new, 1), writes=[(x, new)])
    assert lines(g.graph) == ["new = x * 2", "x[...] = new", "return (x, 1)"]
    given = np.ones(3)
    found = compiled(g.graph)(given)
    assert found[0] is given
    assert given.tolist() == [2, 2, 2]


def test_another_dtype_does_not_come_back_as_the_argument() -> None:
    g, x = body(("x", f8(3)))
    new = g.call(operator.gt, x, 0, name="new", type=weft.spec((3,), "bool"))
    g.gives(new, writes=[(x, new)])
    given = np.arange(3.0)
    assert same(g.graph, given).dtype == bool
    assert given.tolist() == [0, 1, 1]


def test_shapes_that_change() -> None:
    for known, before in ((f8(2, 3), f8(3, 2)), (None, None)):
        g, x = body(("x", before))
        new = g.call(weft.matrix_transpose, x, name="new", type=known)
        g.gives(None, writes=[(x, new)])
        given = np.arange(6.0).reshape(3, 2)
        same(g.graph, given)
        assert given.shape == (2, 3)


def test_arguments_that_swap_their_contents() -> None:
    g, x, y = body(("x", f8(2)), ("y", f8(2)))
    g.gives(None, writes=[(x, y), (y, x)])
    a, b = np.zeros(2), np.ones(2)
    same(g.graph, a, b)
    assert (a.tolist(), b.tolist()) == ([1, 1], [0, 0])


def test_what_is_returned_is_not_overwritten_by_a_write() -> None:
    """x is updated, and the update returned, but something else is what x gets."""
    g, x = body(("x", f8(3)))
    g.gives(g.update(x, 0, 5.0), writes=[(x, g.call(weft.zeros, (3,), name="z", type=f8(3)))])
    given = np.ones(3)
    assert same(g.graph, given).tolist() == [5, 1, 1]
    assert given.tolist() == [0, 0, 0]


def test_a_target_keeps_its_name() -> None:
    """x dies in the loop, whose carry must not take its name: the result has to go into the argument."""
    b, _, s = body("i", ("s", f8(3)))
    g, x = body(("x", f8(3)))
    loop = g.call(weft.fori_loop, 0, 2, b.gives((b.call(mul, s, 2, type=f8(3)),)), (x,))
    g.gives(None, writes=[(x, g.item(loop, 0, type=f8(3)))])
    given = np.ones(3)
    same(g.graph, given)
    assert given.tolist() == [4, 4, 4]


def test_attributes_are_written() -> None:
    g = Body()
    count = g.graph.get_attr("count")
    count.meta["type"] = f8(2)
    g.gives(None, writes=[(count, g.update(count, 0, 5.0))])
    held = np.zeros(2)
    module = weft.GraphModule({"count": held}, g.graph)
    module()
    assert module.count.tolist() == [5, 0]


# Tensors


def test_tensors_are_written_in_place() -> None:
    m = np.random.default_rng(0).random((4, 4)) + 4 * np.eye(4)
    given = weft.tensor(m)
    result = compiled(lu(False))(given, 4)
    assert isinstance(result, weft.Tensor)
    np.testing.assert_array_equal(result.numpy(), compiled(lu(False))(m, 4))
    np.testing.assert_array_equal(given.numpy(), m)
    assert compiled(lu(True))(given, 4) is None
    np.testing.assert_array_equal(given.numpy(), result.numpy())


def test_gradients_pass_through_writes_in_place() -> None:
    """x[i] = x[i - 1] * w: each element is written once, before it is read."""
    v = f8(4)
    b, i, y, w = body(("i", int), ("y", v), ("w", f8()))
    before = b.item(y, b.call(sub, i, 1), type=f8())
    inner = b.gives((b.update(y, i, b.call(mul, before, w, type=f8())),))
    g, x, w = body(("x", v), ("w", f8()))
    g.gives(g.item(g.call(weft.fori_loop, 1, 4, inner, (x,), w), 0, type=v))
    assert "weft.index_update" not in text(g.graph)
    x, w = weft.tensor(np.ones(4), requires_grad=True), weft.tensor(2.0, requires_grad=True)
    result = compiled(g.graph)(x, w)
    assert result.numpy().tolist() == [1, 2, 4, 8]
    weft.sum(result).backward()
    assert float(w.grad) == 1 + 2 * 2 + 3 * 4
    assert x.grad.numpy().tolist() == [15, 0, 0, 0]


def test_tensors_keep_their_gradients() -> None:
    m = np.random.default_rng(0).random((4, 4)) + 4 * np.eye(4)
    t = weft.tensor(m, requires_grad=True)
    # Written in place the derivative of a quotient would not find its operands any more, as in the program itself.
    weft.sum(compiled(lu(False), in_place=False)(t, 4)).backward()
    gradient = np.asarray(t.grad)
    for place in np.ndindex(4, 4):
        step = np.zeros((4, 4))
        step[place] = 1e-6
        slope = (eliminated(m + step).sum() - eliminated(m - step).sum()) / 2e-6
        assert abs(slope - gradient[place]) < 1e-7  # of a central difference with this step, in float64
