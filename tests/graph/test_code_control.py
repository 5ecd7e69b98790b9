"""Generated code of control flow: `if`, `while` and `for` as a person writes them, and what they compute."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from body_builder import Body, body, compiled, text

import weft
from weft.graph._control import check, fail

add, sub, mul, lt, gt = operator.add, operator.sub, operator.mul, operator.lt, operator.gt


def ran(graph: weft.Graph, *args: Any) -> Any:
    """What the code gives, after comparing it with running the graph node by node."""
    expected = weft.Interpreter(None, graph=graph).run(*args)
    found = compiled(graph)(*args)
    np.testing.assert_equal(found, expected)
    return found


# Text


def test_running_sum() -> None:
    b, i, s, x = body("i", "s", "x")
    inner = b.gives((b.call(add, s, b.item(x, i)),))
    g, x, n = body("x", "n")
    g.gives(g.item(g.call(weft.fori_loop, 0, n, inner, (0,), x), 0))
    assert (
        text(g.graph)
        == """
def forward(self, x, n):
    s = 0
    for i in range(n):
        getitem = x[i]
        s = s + getitem
    return s
"""
    )
    assert ran(g.graph, np.arange(5), 4) == 6
    assert ran(g.graph, np.arange(5), 0) == 0


def test_while_with_a_flag() -> None:
    c, i, done, n = body("i", "done", "n")
    condition = c.gives(c.call(operator.and_, c.call(lt, i, n), c.call(operator.not_, done)))
    b, i, done, n = body("i", "done", "n")
    step = b.gives((b.call(add, i, 1), b.call(gt, b.call(mul, i, i), n)))
    g, n = body("n")
    loop = g.call(weft.while_loop, condition, step, (0, False), n)
    g.gives(g.item(loop, 0))
    assert (
        text(g.graph)
        == """
def forward(self, n):
    i = 0
    done = False
    while (i < n) & (not done):
        add = i + 1
        mul = i * i
        done = mul > n
        i = add
    return i
"""
    )
    assert [ran(g.graph, n) for n in (0, 1, 20)] == [0, 1, 6]


def test_long_conditions_have_lines_of_their_own() -> None:
    c, x = body("x")
    condition = c.gives(c.call(gt, c.call(weft.sum, x), 1.0))
    b, x = body("x")
    g, x = body("x")
    loop = g.call(weft.while_loop, condition, b.gives((b.call(mul, b.inputs[0], 0.5),)), (x,))
    g.gives(loop)
    assert (
        text(g.graph)
        == """
def forward(self, x):
    while True:
        sum_1 = weft.sum(x)
        gt = sum_1 > 1.0
        if not gt:
            break
        x = x * 0.5
    while_loop = (x,)
    return while_loop
"""
    )
    assert ran(g.graph, np.ones(4))[0].tolist() == [0.25] * 4


def test_if_in_for() -> None:
    yes, s, x = body("s", "x")
    no, s_1, _ = body("s", "x")
    b, i, s_2, x_1 = body("i", "s", "x")
    element = b.item(x_1, i, name="e")
    test = b.call(gt, element, 0, name="positive")
    taken = b.call(weft.cond, test, yes.gives((yes.call(add, s, x),)), no.gives((s_1,)), s_2, element)
    inner = b.gives((b.item(taken, 0),))
    g, x, n = body("x", "n")
    g.gives(g.item(g.call(weft.fori_loop, 0, n, inner, (0,), x), 0))
    assert (
        text(g.graph)
        == """
def forward(self, x, n):
    s = 0
    for i in range(n):
        e = x[i]
        positive = e > 0
        if positive:
            s = s + e
    return s
"""
    )
    assert ran(g.graph, np.array([1, -2, 3]), 3) == 4


def chosen(*names: str) -> Any:
    """Bodies that give their operand plus their number, for a choice."""
    made = []
    for k, name in enumerate(names):
        b, x = body("x")
        made.append(b.gives((b.call(add, x, k, name=name),)))
    return made


def test_elif_chains() -> None:
    inner, x, q = body("x", "q")
    below = inner.call(weft.cond, q, *chosen("a", "b"), x)
    first, x, _ = body("x", "q")
    g, p, q, x = body("p", "q", "x")
    test = first.gives((first.call(mul, first.inputs[0], 10),))
    g.gives(g.item(g.call(weft.cond, p, test, inner.gives((inner.item(below, 0),)), x, q), 0))
    assert (
        text(g.graph)
        == """
def forward(self, p, q, x):
    if p:
        mul = x * 10
    elif q:
        mul = x + 0
    else:
        mul = x + 1
    return mul
"""
    )
    assert [ran(g.graph, p, q, 5) for p, q in ((1, 0), (0, 1), (0, 0))] == [50, 5, 6]


def test_switch() -> None:
    g, k, x = body("k", "x")
    g.gives(g.item(g.call(weft.switch, k, chosen("a", "b", "c"), x), 0))
    assert (
        text(g.graph)
        == """
def forward(self, k, x):
    if k <= 0:
        a = x + 0
    elif k == 1:
        a = x + 1
    else:
        a = x + 2
    return a
"""
    )
    assert [ran(g.graph, k, 10) for k in (-3, 0, 1, 2, 7)] == [10, 10, 11, 12, 12]
    one, k, x = body("k", "x")
    one.gives(one.item(one.call(weft.switch, k, chosen("a"), x), 0))
    assert text(one.graph) == "\ndef forward(self, k, x):\n    a = x + 0\n    return a\n"


def test_swapping_carries() -> None:
    b, _, x, y = body("i", "x", "y")
    g, x, y, n = body("x", "y", "n")
    g.gives(g.call(weft.fori_loop, 0, n, b.gives((b.inputs[2], b.inputs[1])), (x, y)))
    assert (
        text(g.graph)
        == """
def forward(self, x, y, n):
    for i in range(n):
        x, y = y, x
    fori_loop = (x, y)
    return fori_loop
"""
    )
    assert ran(g.graph, 1, 2, 3) == (2, 1)


def test_carries_that_follow_each_other() -> None:
    b, _, x, y = body("i", "a", "b")
    inner = b.gives((y, b.call(add, x, y)))
    g, n = body("n")
    loop = g.call(weft.fori_loop, 0, n, inner, (0, 1))
    g.gives(g.item(loop, 0))
    assert (
        text(g.graph)
        == """
def forward(self, n):
    a = 0
    b = 1
    for i in range(n):
        add = a + b
        a = b
        b = add
    return a
"""
    )
    assert [ran(g.graph, n) for n in range(7)] == [0, 1, 1, 2, 3, 5, 8]


def test_an_initial_value_that_is_read_again_keeps_its_name() -> None:
    b, _, s = body("i", "s")
    g, x, n = body("x", "n")
    loop = g.call(weft.fori_loop, 0, n, b.gives((b.call(mul, s, 2),)), (x,))
    g.gives((g.item(loop, 0, name="y"), x))
    assert (
        text(g.graph)
        == """
def forward(self, x, n):
    y = x
    for i in range(n):
        y = y * 2
    return (y, x)
"""
    )
    assert ran(g.graph, 3, 2) == (12, 3)


def test_steps_and_bounds() -> None:
    b, i, s = body("i", "s")
    inner = b.gives((b.call(add, b.call(mul, s, 10), i),))
    g, lower, upper, step = body("lower", "upper", "step")
    g.gives(g.item(g.call(weft.fori_loop, lower, upper, inner, (0,), step=step), 0))
    assert "for i in range(lower, upper, step):" in text(g.graph)
    assert ran(g.graph, 5, 0, -2) == 531
    g.graph.find_nodes(op="call_function", target=weft.fori_loop)[0].kwargs = {}
    assert "for i in range(lower, upper):" in text(g.graph)
    assert ran(g.graph, 2, 5, 0) == 234


def test_a_bound_that_is_carried_is_read_before_it_changes() -> None:
    b, _, n = body("i", "n")
    inner = b.gives((b.call(add, n, 1),))
    g, n = body("n")
    g.gives(g.item(g.call(weft.fori_loop, 0, n, inner, (n,)), 0))
    assert ran(g.graph, 3) == 6


def test_empty_bodies_and_results_nobody_reads() -> None:
    b, _, x = body("i", "x")
    inner = b.gives((x,))
    yes, x_1 = body("x")
    no, x_2 = body("x")
    g, x, c = body("x", "c")
    g.call(weft.fori_loop, 0, 3, inner, (x,))
    g.call(weft.cond, c, yes.gives((x_1,)), no.gives((x_2,)), x)
    g.gives(x)
    assert (
        text(g.graph)
        == """
def forward(self, x, c):
    for i in range(3):
        pass
    if c:
        pass
    return x
"""
    )
    assert ran(g.graph, 1, True) == 1


def test_an_empty_first_branch() -> None:
    yes, x = body("x")
    no, x_1 = body("x")
    g, c, x_2 = body("c", "x")
    g.gives(g.item(g.call(weft.cond, c, yes.gives((x,)), no.gives((no.call(mul, x_1, 2),)), x_2), 0))
    assert (
        text(g.graph)
        == """
def forward(self, c, x):
    if c:
        pass
    else:
        x = x * 2
    return x
"""
    )
    assert [ran(g.graph, c, 4) for c in (True, False)] == [4, 8]


def test_constants_as_operands_and_whole_results() -> None:
    yes, x, k = body("x", "k")
    no, _, k_1 = body("x", "k")
    g, c, x_2 = body("c", "x")
    whole = g.call(weft.cond, c, yes.gives({"y": yes.call(pow, x, k)}), no.gives({"y": k_1}), x_2, -2)
    g.gives((whole, g.item(whole, "y")))
    assert ran(g.graph, True, 2.0) == ({"y": 0.25}, 0.25)
    assert ran(g.graph, False, 2.0) == ({"y": -2}, -2)


def test_a_body_used_twice() -> None:
    double, x = body("x")
    inner = double.gives((double.call(mul, x, 2, name="doubled"),))
    g, c, x_1 = body("c", "x")
    first = g.item(g.call(weft.cond, c, inner, inner, x_1), 0)
    g.gives(g.item(g.call(weft.cond, c, inner, inner, first), 0))
    code = g.graph.python_code()
    assert ran(g.graph, True, 3) == 12
    (original,) = inner.find_nodes(op="call_function")
    assert sum(node is original for node in code.lines.values()) == 4


def test_names_never_meet() -> None:
    b, i, x, builtin = body("i", "print", "self")
    inner = b.gives((b.call(add, x, b.call(mul, i, builtin, name="x")),))
    g, x, rows = body("x", "rows")
    g.gives((g.item(g.call(weft.fori_loop, 0, 3, inner, (x,), rows), 0), x, rows))
    assert ran(g.graph, 1, 10) == (31, 1, 10)


# Effects


def test_checks_failures_and_printing(capsys: Any) -> None:
    bad, x = body("x")
    good, x_1 = body("x")
    error = bad.call(fail, ValueError, "negative", x)
    good.call(print, "fine", x_1)
    good.call(check, good.call(lt, x_1, 100, name="small"), "too large")
    g, x_2 = body("x")
    test = g.call(lt, x_2, 0, name="negative")
    g.gives(g.item(g.call(weft.cond, test, bad.gives(error), good.gives((good.call(add, x_1, 1),)), x_2), 0))
    assert (
        text(g.graph)
        == """
def forward(self, x):
    negative = x < 0
    if negative:
        raise ValueError('negative', x)
    else:
        print('fine', x)
        small = x < 100
        assert small, 'too large'
        add = x + 1
    return add
"""
    )
    run = compiled(g.graph)
    assert run(1) == 2
    assert capsys.readouterr().out == "fine 1\n"
    with pytest.raises(ValueError) as failed:
        run(-1)
    assert failed.value.args == ("negative", -1)
    with pytest.raises(AssertionError, match="too large"):
        run(100)


def test_a_program_that_only_fails() -> None:
    g, x = body("x")
    g.call(check, x)
    g.gives(g.call(fail, KeyError))
    assert text(g.graph) == "\ndef forward(self, x):\n    assert x;  x = None\n    raise KeyError()\n"
    with pytest.raises(KeyError):
        compiled(g.graph)(1)


# Scan


def running(names: tuple[str, str] = ("s", "x")) -> weft.Graph:
    b, s, x = body(*names)
    total = b.call(add, s, x)
    return b.gives(((total,), (total, b.call(mul, x, 2))))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("count", [4, 1, 0])
def test_scan(reverse: bool, count: int) -> None:
    g, s, xs = body("s", "xs")
    loop = g.call(weft.scan, running(), (s,), (xs,), reverse=reverse)
    last, rows = g.item(loop, 0), g.item(loop, 1)
    g.gives((g.item(last, 0), g.item(rows, 0), g.item(rows, 1), rows, loop))
    xs_given = np.arange(3.0 * count).reshape(count, 3)
    ran(g.graph, np.zeros(3), xs_given)
    found = compiled(g.graph)(np.zeros(3), xs_given)
    order = xs_given[::-1] if reverse else xs_given
    sums = np.cumsum(order, 0)
    np.testing.assert_array_equal(found[1], sums[::-1] if reverse else sums)
    assert found[1].shape == (count, 3)


def test_scan_without_rows_to_read() -> None:
    b, s = body("s")
    inner = b.gives(((b.call(mul, s, 2),), (s,)))
    g, s, n = body("s", "n")
    g.gives(g.call(weft.scan, inner, (s,), (), length=n))
    assert ran(g.graph, 1, 4)[1][0].tolist() == [1, 2, 4, 8]
    assert ran(g.graph, 1.5, 0)[1][0].shape == (0,)
    with pytest.raises(ValueError, match="length is -1"):
        compiled(g.graph)(1, -1)


def test_scan_text() -> None:
    g, s, xs = body("s", "xs")
    xs.meta["type"] = weft.spec((4, 3), "float64")
    loop = g.call(weft.scan, running(), (s,), (xs,))
    g.gives(g.item(g.item(loop, 0), 0))
    assert (
        text(g.graph)
        == """
def forward(self, s, xs):
    for i in range(xs.shape[0]):
        x = xs[i]
        s = s + x
        mul = x * 2
    return s
"""
    )


@pytest.mark.parametrize("count", [0, 2])
def test_scan_of_known_types(count: int) -> None:
    b, s, x = body("s", ("x", weft.spec((3,), "float32")))
    total = b.call(add, s, x, type=weft.spec((3,), "float32"))
    inner = b.gives(((total,), (total,)))
    g, s, xs = body("s", ("xs", weft.spec((count, 3), "float32")))
    g.gives(g.item(g.item(g.call(weft.scan, inner, (s,), (xs,)), 1), 0))
    assert "weft.stack(rows) if rows else weft.zeros((0, 3), dtype = numpy.dtype('float32'))" in text(g.graph)
    found = ran(g.graph, np.zeros(3, "float32"), np.ones((count, 3), "float32"))
    assert (found.shape, found.dtype) == ((count, 3), np.float32)


# Lines


def broken() -> Body:
    b, i, s, x = body("i", "s", "x")
    inner = b.gives((b.call(add, s, b.item(x, i, name="element")),))
    g, x, n = body("x", "n")
    g.gives(g.item(g.call(weft.fori_loop, 0, n, inner, (0,), x), 0))
    return g


def test_lines_lead_to_nodes_of_bodies() -> None:
    code = broken().graph.python_code(verbose=True)
    lines = code.src.splitlines()
    found = {lines[number - 1].strip(): node.name for number, node in code.lines.items()}
    assert found == {
        "s = 0": "fori_loop",
        "for i in range(n):": "fori_loop",
        "element = x[i]": "element",
        "s = s + element": "add",
        "return s": "output",
    }


def test_errors_name_the_node() -> None:
    module = weft.GraphModule({}, broken().graph)
    assert module(np.ones(3), 3) == 3
    with pytest.raises(IndexError) as failed:
        module(np.ones(3), 5)
    assert "%element" in "".join(failed.value.__notes__)


def test_source_lines_of_bodies() -> None:
    def program(x: Any, n: Any) -> Any:
        return weft.fori_loop(0, n, lambda i, s: s + x[i], 0.0)

    module = weft.symbolic_trace(program)
    readable = module.print_readable(print_output=False)
    assert "in program: return weft.fori_loop" in readable
    assert module(np.arange(4.0), 4) == 6
    with pytest.raises(IndexError) as failed:
        module(np.arange(4.0), 9)
    assert "s + x[i]" in "".join(failed.value.__notes__)


def test_the_flat_form_is_as_it_was() -> None:
    g, x = body("x")
    g.gives(g.call(add, g.call(weft.sin, x), 1))
    assert (
        text(g.graph)
        == """
def forward(self, x):
    sin = weft.sin(x);  x = None
    add = sin + 1;  sin = None
    return add
"""
    )


def test_values_are_released_between_statements() -> None:
    b, _, s, y = body("i", "s", "y")
    inner = b.gives((b.call(add, s, y),))
    g, x = body("x")
    y = g.call(weft.sin, x, name="y")
    total = g.item(g.call(weft.fori_loop, 0, 3, inner, (0,), y), 0)
    g.gives(g.call(mul, total, 2))
    assert (
        text(g.graph)
        == """
def forward(self, x):
    y = weft.sin(x);  x = None
    s = 0
    for i in range(3):
        s = s + y
    y = None
    mul = s * 2;  s = None
    return mul
"""
    )


def test_wrong_bodies_are_refused() -> None:
    g, x = body("x")
    g.gives(g.call(weft.cond, x, lambda y: y, lambda y: y, x))
    with pytest.raises(weft.errors.GraphError, match="body of control flow is a Graph"):
        g.graph.python_code()
    g, x = body("x")
    b, _ = body("y")
    g.gives(g.call(weft.cond, x, b.gives((1,)), b.graph, x, x))
    with pytest.raises(weft.errors.GraphError, match="gives 2 values to a body of 1"):
        g.graph.python_code()


def test_writing_takes_linear_time() -> None:
    """Twice the statements in nested bodies: about twice the work, counted in lines and not in seconds."""
    deep = Body("x")
    node: Any = deep.inputs[0]
    for k in range(300):
        yes, x = body("x")
        no, x_1 = body("x")
        node = deep.item(deep.call(weft.cond, k % 2 == 0, yes.gives((yes.call(add, x, k),)), no.gives((x_1,)), node), 0)
    deep.gives(node)
    assert ran(deep.graph, 0) == sum(range(0, 300, 2))
    assert deep.graph.python_code().src.count("\n") == 302 + 300
