"""Derivatives of plain NumPy functions are those that JAX and torch give: values, gradients, Hessians times directions.

Complex gradients are torch's; JAX gives their conjugates.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import derivative_functions_more  # noqa: F401  # registers its cases
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from derivative_functions import CASES, Case

import weft

jax.config.update("jax_enable_x64", True)
CLOSE = {"rtol": 1e-8, "atol": 1e-8}


def directions(args: tuple[Any, ...]) -> tuple[Any, ...]:
    rng = np.random.default_rng(3)
    made = [
        rng.normal(size=np.shape(x)) + (1j * rng.normal(size=np.shape(x)) if np.iscomplexobj(x) else 0) for x in args
    ]
    return tuple(x if np.ndim(x) else x.item() for x in map(np.asarray, made))


def in_weft(case: Case) -> tuple[Any, Any, Any]:
    value, gradients = weft.value_and_grad(case.function, tuple(range(len(case.args))))(*case.args)
    second = weft.hvp(case.function, case.args, directions(case.args))
    return value, gradients, second if len(case.args) > 1 else (second,)


def in_jax(case: Case) -> tuple[Any, Any, Any]:
    function = case.others.get("jax")
    if function is None:
        plain = case.function
        space = {**plain.__globals__, "np": jnp}
        function = FunctionType(plain.__code__, space, plain.__name__, plain.__defaults__, plain.__closure__)
    every = tuple(range(len(case.args)))
    args = tuple(map(jnp.asarray, case.args))
    value, gradients = jax.value_and_grad(function, every)(*args)
    second = jax.jvp(jax.grad(function, every), args, tuple(map(jnp.asarray, directions(case.args))))[1]
    return value, tuple(map(np.conj, gradients)), tuple(map(np.conj, second))


def in_torch(case: Case) -> tuple[Any, Any, Any]:
    args = [torch.tensor(x, dtype=torch.complex128 if np.iscomplexobj(x) else torch.float64) for x in case.args]
    for each in args:
        each.requires_grad_()
    value = case.others["torch"](*args)
    gradients = torch.autograd.grad(value, args, create_graph=True)
    # The gradient along a direction, as a real number: its own gradient is the Hessian times the direction.
    pairs = zip(gradients, directions(case.args), strict=True)
    along = sum((gradient.conj() * torch.as_tensor(np.asarray(by))).real.sum() for gradient, by in pairs)
    second = torch.autograd.grad(along, args, allow_unused=True)
    filled = [np.zeros(x.shape) if found is None else found.numpy() for found, x in zip(second, args, strict=True)]
    return value.detach().numpy(), tuple(each.detach().numpy() for each in gradients), tuple(filled)


def compare(found: tuple[Any, Any, Any], wanted: tuple[Any, Any, Any]) -> None:
    np.testing.assert_allclose(found[0], wanted[0], **CLOSE)
    for mine, theirs in zip((*found[1], *found[2]), (*wanted[1], *wanted[2]), strict=True):
        assert np.iscomplexobj(mine) == np.iscomplexobj(theirs)
        np.testing.assert_allclose(mine, theirs, **CLOSE)


def test_there_are_enough() -> None:
    assert len(CASES) >= 30
    assert sum("torch" in case.others for case in CASES.values()) >= 15


@pytest.mark.parametrize("name", CASES)
def test_like_jax(name: str) -> None:
    compare(in_weft(CASES[name]), in_jax(CASES[name]))


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "torch" in case.others])
def test_like_torch(name: str) -> None:
    compare(in_weft(CASES[name]), in_torch(CASES[name]))
