"""Long chains of else-ifs: every derivative, and many examples, whichever body is taken.

What each gives is checked against differences of the plain program, or of its gradient.
"""

from __future__ import annotations

import linecache
from functools import partial
from typing import Any

import numpy as np
import pytest

import weft
from weft.graph._control import switch

# What the bodies of a chain do, after which y, an array, and z, a number, go into the result.
BODIES = {
    "arithmetic": ["y = x * {c}", "y = np.sin(x) + {c}", "y = x.sum() * x", "y, z = x * 2, z + x[0]", "pass"],
    "numbers": ["z = {c}", "z = x[1] * {c}", "k = {i}", "y = y * {c}", "y = x * k"],
    "writes": ["y = x.copy(); y[0] = {c}", "x[1] = {c}", "y = y + x; x[0] = x[1]", "z = x[1]; x[1:] = x[:-1] * z"],
    "ends": ["return np.sum(x) * {c}", "y = x * {c}", "raise ValueError('body {i}')", "return z", "z = z * x[0]"],
    "inside": [
        "y = sum((x * j for j in range({i})), y)",
        "y = x * 3 if x[1] > 0 else y",
        "z = weft.while_loop(lambda z: z < 4, lambda z: z * 1.5 + 1, z)",
        "y = np.stack([x, x * {c}])[v[0] % 2]",
    ],
    "unbound": ["w = x * {c}", "y = x", "w = x[0]; z = w * w"],
}
TESTS = {
    "of a number": "n == {i}",
    "of an element": "v[0] == {i}",
    "of x": "x[0] * 0 + n == {i}",
    "of several": "n == {i} and np.abs(x).max() < 100 and (x > -100).all()",
}
COUNT = 11


def chain(bodies: str, test: str, loop: bool = False) -> Any:
    """A program whose number n, or element v[0], says which body runs."""
    lines = ["def f(x, v, n):", "    x = x * 1", "    y, z, k = x * 0.5, 1.0, 1"]
    if loop:
        lines.append("    for turn in range(2):")
    indent = "        " if loop else "    "
    for i in range(COUNT):
        body = BODIES[bodies][i % len(BODIES[bodies])].format(c=0.3 + 0.1 * i, i=i % 4)
        lines += [f"{indent}{'el' * (i > 0)}if {TESTS[test].format(i=i)}:", f"{indent}    {body}"]
    lines += [f"{indent}else:", f"{indent}    y = x * x", "    return np.sum(np.sin(y)) * z + np.sum(x * x) + k"]
    text, file = "\n".join(lines) + "\n", f"<chain of {bodies} by {test}, {loop}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space: dict[str, Any] = {"np": np, "weft": weft}
    exec(compile(text, file, "exec"), space)
    return space["f"]


def differences(function: Any, x: Any) -> Any:
    return np.stack([(function(x + 1e-6 * e) - function(x - 1e-6 * e)) / 2e-6 for e in np.eye(len(x))], axis=-1)


CASES = [(bodies, "of an element", False) for bodies in BODIES] + [("arithmetic", test, False) for test in TESTS]
CASES += [("writes", "of several", True), ("numbers", "of x", True)]


@pytest.mark.parametrize(("bodies", "test", "loop"), CASES)
def test_every_body(bodies: str, test: str, loop: bool) -> None:
    program, x = chain(bodies, test, loop), np.array([0.7, 1.3, 0.4])
    gradient, hessian = weft.grad(program), weft.hessian(program)
    for n in range(COUNT + 1):
        given = (np.array([n]), n)
        plain = partial(program, v=given[0], n=n)
        try:
            wanted = differences(plain, x)
        except ValueError as error:
            for derivative in (gradient, hessian):
                with pytest.raises(ValueError, match=str(error)):
                    derivative(x, *given)
            continue
        np.testing.assert_allclose(gradient(x, *given), wanted, rtol=1e-6, atol=1e-7)
        value, tangent = weft.jvp(plain, (x,), (x,))
        np.testing.assert_allclose((value, tangent), (plain(x), wanted @ x), rtol=1e-6)
        second = differences(lambda x, given=given: gradient(x, *given), x)
        np.testing.assert_allclose(hessian(x, *given), second, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("bodies", ["arithmetic", "numbers", "writes"])
def test_examples_that_take_several_bodies(bodies: str) -> None:
    program = chain(bodies, "of an element")
    numbers = np.array([[0], [3], [10], [11], [3]])
    points = np.array([[0.7, 1.3, 0.4], [0.2, 0.9, 1.1], [1.0, 0.6, 0.3], [0.8, 0.5, 1.2], [0.1, 0.3, 0.6]])
    wanted = [program(x, v, 0) for x, v in zip(points, numbers, strict=True)]
    np.testing.assert_allclose(weft.vmap(program, (0, 0, None))(points, numbers, 0), wanted, rtol=1e-12)
    wanted = [weft.grad(program)(x, v, 0) for x, v in zip(points, numbers, strict=True)]
    found = weft.vmap(weft.grad(program), (0, 0, None))(points, numbers, 0)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_a_chain_is_one_choice() -> None:
    program = chain("arithmetic", "of an element")
    gradient = weft.compile(weft.grad(program))
    gradient(np.ones(3), np.array([2]), 2)
    choices = [len(node.args[1]) for node in gradient.graph.nodes if node.target is switch]
    assert choices
    assert set(choices) == {COUNT + 1}


def test_a_chain_that_computes_in_between_ends_there() -> None:
    def program(x: Any, v: Any) -> Any:
        y = x
        if v[0] == 0:
            y = x * 2
        else:
            between = np.sin(x)
            if v[0] == 1:
                y = between * 3
            elif v[0] == 2:
                y = between * x
        return np.sum(y)

    x = np.array([0.7, 1.3])
    for n in range(4):
        v = np.array([n])
        wanted = differences(lambda x, v=v: program(x, v), x)
        np.testing.assert_allclose(weft.grad(program)(x, v), wanted, rtol=1e-6)
