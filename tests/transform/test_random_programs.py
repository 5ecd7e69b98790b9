"""Derivatives of random programs, against differences, the tape, and each other: every order, mode and nesting.

Hypothesis chooses the programs, and makes one that fails shorter. A program may be refused where capture says that
something is known only when it runs; most are not.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from derivative_programs import Writer, arguments, define
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import weft
from weft.errors import AutogradError, CaptureError

VARIED = (0, 1, 2, 3)  # a, b, m and s; v and k are integers
_EACH = 25
_REFUSED = re.compile(
    r"depending on a branch or loop|share memory|another array by now|that array or another"
    r"|on one side of a branch only|a `while` that writes, prints or raises|the loop at line \d+ changes what"
    r"|computed in a branch or loop that has ended|disagree on .* float32"
)
Arrays = tuple[Any, ...]
Check = Callable[["Program", Arrays], None]


class Program:
    """A random program at a point where differences tell its derivatives."""

    def __init__(self, choices: random.Random, seed: int, smooth: bool, size: int = 4) -> None:
        self.text = Writer(choices, smooth).program()
        self.function, self.several = define(self.text)
        self.grad = weft.grad(self.function, VARIED)
        self.at(seed, size)

    def at(self, seed: int, size: int) -> None:
        self.args = arguments(seed, size)
        rng = np.random.default_rng(seed + 1)
        *arrays, number = (rng.normal(size=np.shape(x)) for x in self.args[:4])
        self.along = (*arrays, float(number))
        self.tangents = (*self.along, None, None)

    def moved(self, step: float) -> Arrays:
        varied = zip(self.args[:4], self.along, strict=True)
        return (*(x + step * d for x, d in varied), *self.args[4:])

    def difference(self, function: Callable[..., Any]) -> list[Any] | None:
        """The derivative of a function's results along the direction; None near a kink, and where it is steep."""
        found = []
        for step in (1e-5, 1e-6):
            ahead, behind = function(*self.moved(step)), function(*self.moved(-step))
            found.append([(np.asarray(x) - np.asarray(y)) / (2 * step) for x, y in zip(ahead, behind, strict=True)])
        for one, other in zip(*found, strict=True):
            if not np.all(np.abs(one - other) < 1e-5 * (1 + np.abs(one))) or np.any(np.abs(one) > 1e3):
                return None
        return found[0]

    def value(self) -> float | None:
        """What plain Python gives; None where it raises, as a read of an unassigned variable does."""
        try:
            found = float(self.function(*self.args))
        except (UnboundLocalError, ValueError, IndexError, ZeroDivisionError):
            return None
        return found if abs(found) < 1e3 else None


def inner(one: Arrays, other: Arrays) -> Any:
    return sum((x * y).sum() if np.ndim(y) else x * y for x, y in zip(one, other, strict=True))


def close(found: Any, wanted: Any, tolerance: float) -> None:
    found, wanted = (found, wanted) if isinstance(found, (tuple, list)) else ((found,), (wanted,))
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=tolerance, atol=tolerance)


def nodes(graph: weft.Graph) -> int:
    return sum(1 + sum(map(nodes, node.bodies)) for node in graph.nodes)


# The checks. Each is given the gradient, which was compared with differences.


def check_modes(program: Program, gradient: Arrays) -> None:
    value, along = weft.jvp(program.function, program.args, program.tangents)
    close(value, program.value(), 1e-10)
    close(along, inner(gradient, program.along), 1e-8)
    value, push = weft.linearize(program.function, *program.args)
    close(value, program.value(), 1e-10)
    close(push(*program.tangents), along, 1e-9)
    value, pull = weft.vjp(program.function, *program.args)
    close(value, program.value(), 1e-10)
    close(pull(2.0)[:4], [2 * x for x in gradient], 1e-9)


def check_second(program: Program, gradient: Arrays) -> None:
    function, grad, tangents, along = program.function, program.grad, program.tangents, program.along
    wanted = program.difference(grad)
    found = weft.jvp(grad, program.args, tangents)[1]
    if wanted is not None:
        close(found, wanted, 3e-5)
    close(weft.grad(lambda *args: inner(grad(*args), along), VARIED)(*program.args), found, 1e-8)
    close(weft.grad(lambda *args: weft.jvp(function, args, tangents)[1], VARIED)(*program.args), found, 1e-8)


def check_norm(program: Program, gradient: Arrays) -> None:
    """The gradient of half the squared norm of the gradient is the Hessian times the gradient."""
    grad = program.grad
    found = weft.grad(lambda *args: sum((x * x).sum() / 2 for x in grad(*args)[:3]), VARIED)(*program.args)
    along = (*gradient[:3], 0.0, None, None)
    close(found, weft.jvp(grad, program.args, along)[1], 1e-8)


def check_third(program: Program, gradient: Arrays) -> None:
    def second(*args: Any) -> Any:
        return weft.jvp(program.grad, args, program.tangents)[1]

    wanted = program.difference(second)
    found = weft.jvp(second, program.args, program.tangents)[1]
    if wanted is not None:
        close(found, wanted, 1e-4)
    close(weft.grad(lambda *args: inner(second(*args), program.along), VARIED)(*program.args), found, 1e-7)


def check_batches(program: Program, gradient: Arrays) -> None:
    function, grad, integers = program.function, program.grad, program.args[4:]
    rows = [(*arguments(seed, 4)[:4], *integers) for seed in range(3)]
    try:
        wanted = [function(*row) for row in rows]
    except (UnboundLocalError, ValueError):
        return
    axes = (0, 0, 0, 0, None, None)
    batch = (*(np.stack([row[k] for row in rows]) for k in VARIED), *integers)
    close(weft.vmap(function, axes)(*batch), np.stack(wanted), 1e-9)
    gradients = [np.stack(each) for each in zip(*(grad(*row) for row in rows), strict=True)]
    close(weft.vmap(grad, axes)(*batch), gradients, 1e-8)
    close(weft.grad(lambda *args: weft.vmap(function, axes)(*args).sum(), VARIED)(*batch), gradients, 1e-8)


def check_jacobians(program: Program, gradient: Arrays) -> None:
    def vector(*args: Any) -> Any:
        return program.several(*args)[1]

    forward = weft.jacfwd(vector, VARIED)(*program.args)
    close(forward, weft.jacrev(vector, VARIED)(*program.args), 1e-9)
    along = sum((j * d).reshape(4, -1).sum(axis=1) for j, d in zip(forward, program.along, strict=True))
    wanted = program.difference(lambda *args: (vector(*args),))
    if wanted is not None:
        close(along, wanted[0], 1e-5)
    hessian = weft.hessian(program.function, (0, 3))(*program.args)
    close(hessian[0][0], hessian[0][0].T, 1e-8)
    close(hessian[0][1], hessian[1][0], 1e-8)


def check_compiled(program: Program, gradient: Arrays) -> None:
    plain = weft.compile(program.function)
    plain(*program.args)
    assert nodes(program.grad.graph) <= 5 * nodes(plain.graph)
    compiled = weft.compile(lambda *args: weft.value_and_grad(program.function, VARIED)(*args))
    value, found = compiled(*program.args)
    close(value, program.value(), 1e-10)
    close(found, gradient, 1e-10)
    single = arguments(0, 4, np.float32)
    assert [x.dtype for x in weft.grad(program.function, (0, 1, 2))(*single)] == [np.float32] * 3
    program.at(5, 6)  # another size
    if program.value() is not None:
        wanted = program.difference(lambda *args: (program.function(*args),))
        if wanted is not None:
            close(inner(program.grad(*program.args), program.along), wanted[0], 1e-5)
            close(compiled(*program.args)[1], program.grad(*program.args), 1e-10)


def check_tape(program: Program, gradient: Arrays) -> None:
    """Where the program means the same on Tensors: not where it makes plain numbers of them, or views of elements."""
    if re.search(r"float|math\.|np\.(array|full|add\.at)|\.fill", program.text.split("def several")[1]):
        return
    tensors = [weft.tensor(np.asarray(x), requires_grad=True) for x in program.args[:4]]
    try:
        result = program.function(*tensors, *program.args[4:])
        result.backward()
    except AutogradError:  # a value that the tape needs was written
        return
    if np.isclose(float(result), program.value()):  # type: ignore[arg-type]  # it is there
        found = [np.zeros(x.shape) if x.grad is None else x.grad.numpy() for x in tensors]
        close(found, gradient, 1e-9)


def check_batched_orders(program: Program, gradient: Arrays) -> None:
    """Rows of second and third derivatives, and the derivatives of all rows of them together."""

    def function(a: Any, s: Any) -> Any:
        return program.function(a, *rest, s, *integers)

    def second(a: Any, s: Any) -> Any:
        return weft.hvp(function, (a, s), along)

    def third(a: Any, s: Any) -> Any:
        return weft.jvp(second, (a, s), along)[1]

    rest, along, integers = program.args[1:3], (program.along[0], program.along[3]), program.args[4:]
    rows = [(arguments(seed, 4)[0], arguments(seed, 4)[3]) for seed in range(3)]
    try:
        for row in rows:
            function(*row)
    except (UnboundLocalError, ValueError):
        return
    batch = tuple(np.stack(each) for each in zip(*rows, strict=True))
    for order in (second, third):
        wanted = [np.stack(each) for each in zip(*(order(*row) for row in rows), strict=True)]
        close(weft.vmap(order)(*batch), wanted, 1e-7)

    def total(a: Any, s: Any) -> Any:
        by_a, by_s = weft.vmap(second)(a, s)
        return (by_a * along[0]).sum() + (by_s * along[1]).sum()

    close(weft.grad(total, (0, 1))(*batch), wanted, 1e-6)


# A smooth program has higher derivatives that differences tell.
CHECKS = {
    check_modes: False, check_second: True, check_norm: False, check_third: True, check_batches: False,
    check_batched_orders: True, check_jacobians: False, check_compiled: False, check_tape: False,
}  # fmt: skip


def compared(program: Program, check: Check) -> bool:
    """Whether a program was compared at all."""
    if program.value() is None:
        return False
    wanted = program.difference(lambda *args: (program.function(*args),))
    if wanted is None:
        return False
    try:
        gradient = program.grad(*program.args)
        close(inner(gradient, program.along), wanted[0], 1e-5)
        check(program, gradient)
    except CaptureError as error:
        if _REFUSED.search(str(error)) is None:
            raise
        return False
    return True


@pytest.mark.filterwarnings("ignore:.*its derivative is zero", "ignore:.*does not depend on", "ignore::RuntimeWarning")
@pytest.mark.parametrize("check", CHECKS)
def test_random_programs(check: Check) -> None:
    told: list[bool] = []

    @settings(max_examples=_EACH, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.randoms(use_true_random=False), st.integers(0, 1000))
    def one_program(choices: random.Random, seed: int) -> None:
        program = Program(choices, seed, smooth=CHECKS[check])
        note(program.text)
        told.append(compared(program, check))

    one_program()
    assert sum(told) >= len(told) // 3
