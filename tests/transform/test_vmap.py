"""`vmap` as it is called: axes of arguments and results, ensembles of Modules, results of all kinds, and refusals."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import CaptureError
from weft.transform import _batch_rows

X = np.random.default_rng(0).normal(size=(3, 4))
Y = np.random.default_rng(1).normal(size=(3, 4))


def same(found: Any, wanted: Any) -> None:
    assert type(found) is type(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-11)
    assert found.dtype == wanted.dtype


def test_axes_may_be_those_of_an_outer_part() -> None:
    def weighted(model: Any, x: Any) -> Any:
        first, second = model["pair"]
        return {"both": (first * x, second - x), "scale": model["scale"] * x.sum()}

    model = {"pair": (X.T, Y.T), "scale": 2.0}
    found = weft.vmap(weighted, ({"scale": None, "pair": -1}, 0), {"scale": 0, "both": 1})(model, Y)
    same(found["both"][0], (X * Y).T)
    same(found["both"][1], np.zeros((4, 3)))
    same(found["scale"], 2 * Y.sum(axis=1))


def test_keyword_arguments_without_axes_are_shared() -> None:
    def scaled(x: Any, *, by: Any, mode: str = "plain") -> Any:
        return x * by if mode == "plain" else x / by

    same(weft.vmap(scaled)(X, by=2.0), X * 2)
    same(weft.vmap(scaled)(X, by=Y, mode="other"), X / Y)


def test_a_module_with_an_axis_is_an_ensemble() -> None:
    members = [weft.nn.Linear(4, 2) for _ in range(3)]
    stacked = copy.deepcopy(members[0])
    for name, parameter in stacked.named_parameters():
        parameter.data = weft.stack([member.get_parameter(name).detach() for member in members])
    x = X[0].astype(np.float32)
    found = weft.vmap(lambda m, x: m(x), in_axes=(0, None))(stacked, x)
    np.testing.assert_allclose(found.detach().numpy(), np.stack([m(x).detach().numpy() for m in members]), rtol=1e-6)

    def loss(m: Any, x: Any) -> Any:
        return (m(x) ** 2).sum()

    slopes = weft.vmap(weft.grad(loss), in_axes=(0, None))(stacked, x)
    for k, member in enumerate(members):
        for name, slope in weft.grad(loss)(member, x).items():
            np.testing.assert_allclose(slopes[name][k].detach().numpy(), slope.detach().numpy(), rtol=1e-5)
    with pytest.raises(CaptureError, match=r"m is an object of class Linear, which has no axis"):
        weft.vmap(lambda m, x: m(x))(stacked, X)


def test_results_that_all_examples_share_get_rows() -> None:
    counts, edges = weft.vmap(lambda x: np.histogram(x, 5, (-2, 2)))(X)
    same(counts, np.stack([np.histogram(x, 5, (-2, 2))[0] for x in X]))
    same(edges, np.stack([np.linspace(-2, 2, 6)] * 3))
    for shared in (7, 0.5, True, Y[0]):
        same(weft.vmap(lambda x, y: (x, y), in_axes=(0, None))(X, shared)[1], np.stack([shared] * 3))


def test_results_of_which_the_values_tell_what_they_are() -> None:
    matrices = np.random.default_rng(2).normal(size=(3, 4, 4))  # some eigenvalues are complex
    found = weft.vmap(np.linalg.eig)(matrices)
    wanted = np.linalg.eig(matrices)
    same(found.eigenvalues, wanted.eigenvalues)
    same(found.eigenvectors, wanted.eigenvectors)
    same(weft.vmap(lambda m: np.abs(np.linalg.eig(m)[0]).max())(matrices), np.abs(wanted[0]).max(axis=1))
    same(weft.vmap(np.roots)(X), np.stack([np.roots(x) for x in X]))


def test_a_list_of_one_length_is_stacked_item_by_item() -> None:
    for found, column in zip(weft.vmap(lambda x: [2 * each for each in x])(X), X.T, strict=True):
        same(found, 2 * column)


def test_a_permutation_has_the_size_of_what_it_permutes() -> None:
    found = weft.vmap(lambda x: np.random.permutation(x))(X)
    same(np.sort(found), np.sort(X))


@pytest.mark.parametrize(
    ("function", "args", "axes", "message"),
    [
        (np.add, (X, Y[:2]), {}, r"vmap: 3 examples in args_1, 2 in args_2"),
        (np.sin, (X,), {"in_axes": "x"}, r"vmap: in_axes has 'x' for an axis"),
        (np.sin, (X,), {"in_axes": True}, r"vmap: in_axes has True for an axis"),
        (np.sin, (X,), {"in_axes": 2}, r"vmap: in_axes says axis 2 for x, an array of 2 dimensions"),
        (np.sin, (X,), {"out_axes": -3}, r"vmap: out_axes is -3 for a result of 2 dimensions"),
        (np.sin, (X,), {"out_axes": (0, 1)}, r"vmap: out_axes has another structure"),
        (np.sin, (X,), {"out_axes": None}, r"vmap: out_axes is None for a result that differs"),
        (np.sin, (2.0,), {}, r"vmap: x is one float, which has no axis"),
        (
            np.sin,
            (np.array(["a"]),),
            {},
            r"vmap: x is an array of objects or texts, or of a class of its own, which has no axis",
        ),
        (np.sin, (X,), {"in_axes": None}, r"vmap: no argument has examples"),
        (np.sin, (X,), {"in_axes": (0, 0)}, r"vmap: in_axes has 2 entries, and there are 1 arguments"),
    ],
)
def test_refused(function: Callable[..., Any], args: Any, axes: Any, message: str) -> None:
    with pytest.raises(CaptureError, match=message):
        weft.vmap(function, **axes)(*args)


# Programs that run for all examples at once


def replaced_or_halved(a: Any, b: Any, v: Any, n: int) -> Any:
    for _ in range(n):
        if v[-1] > 1:
            b[::2] *= 0.5
        else:
            v = v + np.median(b)
            b = a**2
    return b, v


def guarded_calls(a: Any, b: Any, v: Any, n: int) -> Any:
    s = 0.0
    while s < v[0] and n < 6:
        s = s + 0.1 + np.interp(a[1], [0.0, 1.0], [2.0, 3.0]) ** 2 + np.linalg.norm(FIXED)
        if a[0] > 0:
            b[b < 0.5] = s
        n = n + 1
    return s, b


def part_filled(a: Any, b: Any, v: Any, n: int) -> Any:
    k = int(v[0] * 3)
    if v[1] > 1:
        a[k:n] = b[0]
        b[:k] = 0.5
    a[-k:] = a[1] ** 2
    b[k - 1 :] = 2.0
    return a, b


def solved(a: Any, b: Any, v: Any, n: int) -> Any:
    """By Newton's method; a system that an example does not come to may be singular."""
    turns = 0
    while np.linalg.norm(a - np.tanh(a) - b) > 1e-3 and turns < 9:
        slope = np.diag(np.tanh(a) ** 2) + 0.1 * np.outer(v, v)[0, 0]
        a = a - np.linalg.solve(slope, a - np.tanh(a) - b)
        turns += 1
    if v[0] > 0.7:
        if v[1] > 1:
            b = np.linalg.inv(np.outer(b, b) + np.eye(4)) @ b
        a = a * np.linalg.svd(np.outer(a, b) + n)[1]
    elif v[0] > 99:
        a = np.linalg.solve(np.zeros((4, 4)), b) + np.linalg.inv(np.outer(a, a) * 0) @ a
    return a, b


FIXED = np.array([3.0, 4.0])


@pytest.mark.parametrize("program", [replaced_or_halved, guarded_calls, part_filled, solved])
def test_programs_whose_examples_part(program: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    a, b, v = rng.normal(size=(6, 4)), rng.normal(size=(6, 4)), rng.normal(size=(6, 2)) + 1
    wanted = [program(a[k].copy(), b[k].copy(), v[k], 3) for k in range(6)]
    monkeypatch.setattr(_batch_rows, "each_row", None)
    found = weft.vmap(program, in_axes=(0, 0, 0, None))(a, b, v, 3)
    for got, want in zip(found, zip(*wanted, strict=True), strict=True):
        same(got, np.stack(want))


def powers(x: Any, n: int) -> Any:
    total = 0.0
    for i in range(n):
        total = total * x[0] + np.sin(x[1] * i)
    return total


def filtered(x: Any, n: int) -> Any:
    y = x.copy()
    for i in range(1, n):
        y[i % 3] = y[i % 3] * 0.5 + np.tanh(y[(i - 1) % 3]) * x[0]
    return (y**2).sum()


def converged(x: Any, n: int) -> Any:
    y = 1.0 + 0.1 * n
    while abs(y * y - x[0] ** 2 - 1) > 1e-9:
        y = 0.5 * (y + (x[0] ** 2 + 1) / y) + 0 * x[1]
    return y


@pytest.mark.parametrize("function", [powers, filtered, converged])
@pytest.mark.parametrize(
    "second",
    [weft.hessian, lambda f: weft.jacrev(weft.grad(f)), lambda f: weft.jacfwd(weft.jacfwd(f))],
    ids=["hessian", "reverse of reverse", "forward of forward"],
)
def test_second_derivatives_of_uneven_loops(function: Any, second: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are loops over all examples, though those take different numbers of turns."""
    x, n = np.random.default_rng(6).normal(size=(4, 3)), np.array([1, 4, 0, 6])
    one = second(function)
    wanted = np.stack([one(row, int(turns)) for row, turns in zip(x, n, strict=True)])
    monkeypatch.setattr(_batch_rows, "each_row", None)
    np.testing.assert_allclose(weft.vmap(one)(x, n), wanted, rtol=1e-9, atol=1e-12)


def test_results_of_branches() -> None:
    def counted(x: Any, n: int) -> Any:
        if n > 1:
            found = np.histogram(x, 5, (-2, 2))
        else:
            found = np.histogram(-x, 5, (-2, 2))
        return found

    def ended(x: Any, n: int) -> Any:
        if n > 1:
            x = np.diff(x, append=float(n))
        return x

    def picked(x: Any, n: int) -> Any:
        if n > 1:
            x = x[x > 0]
        else:
            x = x[x > 0.5]
        return x.sum(), x

    n = np.array([1, 2, 3])
    for function, results in ((counted, 2), (ended, 1), (lambda x, n: picked(x, n)[0], 1)):
        wanted = [function(x, int(k)) for x, k in zip(X, n, strict=True)]
        found = weft.vmap(function)(X, n)
        for k in range(results):
            same(found[k] if results > 1 else found, np.stack([each[k] if results > 1 else each for each in wanted]))
    with pytest.raises(CaptureError, match=r"its size may differ between examples\n  at .*test_vmap.py"):
        weft.vmap(picked)(X, n)
