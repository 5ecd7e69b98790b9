"""Inside `detect_anomaly` a captured program stops at the first NaN and names the line that made it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import AutogradError


def summed_roots(x: Any) -> Any:
    y = x * 2
    total = 0.0
    for i in range(len(y)):
        total += np.sqrt(y[i])
    return total


def flat_root(x: Any) -> Any:
    root = np.sqrt(x)
    return (root * 0).sum()


def written(x: Any) -> Any:
    x[0] = -1.0
    if x[1] > 0:
        x[1] = np.log(x[0])
    return x.sum()


def stopped(call: Any) -> str:
    """What the error of a call says, inside the block and with NumPy's own warnings off."""
    with weft.autograd.detect_anomaly(), np.errstate(all="ignore"), pytest.raises(AutogradError) as found:
        call()
    return str(found.value)


def test_a_compiled_function_names_the_line_in_its_loop() -> None:
    compiled = weft.compile(summed_roots)
    compiled(np.ones(3))
    said = stopped(lambda: compiled(np.array([1.0, -1.0])))
    assert said.startswith("sqrt gave NaN")
    assert "total += np.sqrt(y[i])" in said
    assert stopped(lambda: weft.compile(summed_roots)(np.array([1.0, -1.0]))) == said
    with np.errstate(all="ignore"):
        assert np.isnan(compiled(np.array([1.0, -1.0])))
    with weft.autograd.detect_anomaly():
        assert compiled(np.array([2.0, 8.0])) == summed_roots(np.array([2.0, 8.0]))


def test_a_nan_that_was_given_is_none_that_was_made() -> None:
    with weft.autograd.detect_anomaly(), np.errstate(all="ignore"):
        assert np.isnan(weft.compile(summed_roots)(np.array([np.nan, 1.0])))
        assert np.isnan(weft.compile(lambda x: x + np.nan)(1.0))


def test_what_is_written_is_written_as_in_any_call() -> None:
    compiled = weft.compile(written)
    with weft.autograd.detect_anomaly():
        x = np.array([1.0, -2.0])
        assert compiled(x) == -3.0
        np.testing.assert_array_equal(x, [-1.0, -2.0])
    assert "x[1] = np.log(x[0])" in stopped(lambda: compiled(np.ones(2)))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: weft.grad(flat_root)(x),
        lambda x: weft.vjp(flat_root, x)[1](1.0),
        lambda x: weft.jacrev(flat_root)(x),
        lambda x: weft.compile(flat_root)(weft.tensor(x, requires_grad=True)).backward(),
    ],
)
def test_derivatives_name_the_line_whose_derivative_it_is(call: Any) -> None:
    said = stopped(lambda: call(np.zeros(2)))
    assert "gave NaN" in said
    assert "root = np.sqrt(x)" in said


def test_vmap_and_training_steps() -> None:
    assert "np.sqrt(y[i])" in stopped(lambda: weft.vmap(summed_roots)(np.array([[1.0, 2.0], [3.0, -4.0]])))
    model = weft.nn.Linear(2, 2)
    optimiser = weft.optim.SGD(model.parameters(), lr=0.1)

    @weft.compile
    def step(x: Any, shift: Any) -> Any:
        optimiser.zero_grad()
        loss = weft.sqrt(model(x) * 0 + shift).sum()
        loss.backward()
        optimiser.step()
        return loss

    x = weft.tensor(np.ones((1, 2), np.float32))
    step(x, 1.0)
    before = model.weight.detach().numpy().copy()
    assert "loss = weft.sqrt(model(x) * 0 + shift).sum()" in stopped(lambda: step(x, -1.0))
    np.testing.assert_array_equal(model.weight.detach().numpy(), before)


def test_warnings_name_the_line_of_the_program() -> None:
    for make in (weft.compile, weft.grad):
        with (
            weft.autograd.detect_anomaly(),
            pytest.warns(RuntimeWarning, match="invalid value encountered in sqrt") as met,
            pytest.raises(AutogradError, match="log and sqrt of negative numbers"),
        ):
            make(summed_roots)(np.array([1.0, -1.0]))
        line = summed_roots.__code__.co_firstlineno + 4
        assert [(warning.filename, warning.lineno) for warning in met] == [(__file__, line)]
