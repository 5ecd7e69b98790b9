"""Batching: random numbers, effects, writes, functions called whole, sizes; and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from batching import batch_graph, by_rows, captured, run_batched

import weft
from weft.errors import CaptureError

GENERATOR = np.random.default_rng(3)
MATRIX = np.arange(6.0).reshape(2, 3)


@weft.wrap
def called_whole(a: Any, b: float) -> Any:
    return a * float(b) + a.sum()


@weft.wrap
def kind_of(value: Any) -> int:
    return [bool, int, float, complex].index(type(value))


def rows(function: Any, *given: Any, size: int = 4, like: Any = None) -> list[np.ndarray]:
    """The batched function, of all arguments with rows."""
    example = [each[0] if each.ndim > 1 else each[0].item() for each in given] if like is None else like
    return run_batched(captured(function, example), list(given), [True] * len(given), size)


def test_each_example_draws_its_own() -> None:
    def noise(x: Any) -> Any:
        return x * 0 + weft.random.normal((3,)), weft.random.uniform((3,)), np.random.rand(3), GENERATOR.normal(size=3)

    def steps(x: Any) -> Any:
        total = 0.0
        for _ in range(3):
            total = total + np.random.rand()
        return total, weft.dropout(x, 0.5, True), weft.random.permutation(weft.arange(50))

    for found in (*rows(noise, np.ones((4, 3))), *rows(steps, np.ones((4, 20)))):
        assert len({each.tobytes() for each in found}) == 4


def test_a_generator_that_the_function_makes_draws_the_same_for_each() -> None:
    def noise(x: float) -> Any:
        return np.random.default_rng(0).normal(size=2) + x

    found = rows(noise, np.zeros(3), size=3)[0]
    np.testing.assert_array_equal(found, np.stack([np.random.default_rng(0).normal(size=2)] * 3))


def test_what_each_example_seeds_draws_the_same_for_each() -> None:
    def top(x: float) -> Any:
        np.random.seed(42)
        weft.manual_seed(7)
        return np.random.rand() + x, weft.random.normal((2,)) + x

    def within(x: float) -> Any:
        total = 0.0
        while total < x:
            np.random.seed(int(total))
            total = total + np.random.rand()
        return total + np.random.rand()

    given = np.array([0.5, 1.5, 3.5])
    found = (*rows(top, given, size=3), *rows(within, given, size=3))
    weft.manual_seed(7)
    np.testing.assert_array_equal(found[1], weft.random.normal((2,)) + given[:, None])
    np.testing.assert_array_equal(found[0], np.random.RandomState(42).rand() + given)
    np.testing.assert_array_equal(found[2], [within(x) for x in given])


def test_draws_depend_on_the_parameters_of_the_example() -> None:
    def counts(rate: float) -> Any:
        return weft.random.poisson(rate, (200,)), weft.random.normal((200,), rate, 0.1)

    found = rows(counts, np.array([1.0, 50.0, 400.0]), size=3)
    for each in found:
        np.testing.assert_allclose(each.mean(axis=1), [1.0, 50.0, 400.0], rtol=0.2)


def test_effects_run_for_each_example(capsys: pytest.CaptureFixture[str]) -> None:
    def loud(x: float) -> Any:
        print("got", x)
        if x > 1.5:
            print("large")
        return x * 2

    np.testing.assert_array_equal(rows(loud, np.arange(3.0), size=3)[0], [0.0, 2.0, 4.0])
    assert capsys.readouterr().out == "got 0.0\ngot 1.0\ngot 2.0\nlarge\n"


def test_a_check_of_one_example_is_one_of_the_batch() -> None:
    def positive(x: float) -> Any:
        assert x > 0, "not positive"
        return x

    np.testing.assert_array_equal(rows(positive, np.arange(1.0, 4.0), size=3)[0], [1.0, 2.0, 3.0])
    with pytest.raises(AssertionError, match="not positive"):
        rows(positive, np.arange(3.0), size=3, like=[1.0])


def test_what_one_example_raises_is_raised() -> None:
    def picky(x: float) -> Any:
        if x > 1.5:
            raise ValueError("too large")
        return x + 1

    np.testing.assert_array_equal(rows(picky, np.array([0.0, 1.0]), size=2)[0], [1.0, 2.0])
    with pytest.raises(ValueError, match="too large"):
        rows(picky, np.arange(3.0), size=3)


def test_functions_called_whole_run_for_each_example() -> None:
    def outer(x: Any, b: float) -> Any:
        return called_whole(x, b) + 1

    x, b = np.arange(6.0).reshape(2, 3), np.array([2.0, 3.0])
    found = rows(outer, x, b, size=2)[0]
    np.testing.assert_array_equal(found, np.stack([x[k] * b[k] + x[k].sum() + 1 for k in range(2)]))


def test_constants_and_shapes() -> None:
    def described(x: Any) -> Any:
        return MATRIX @ x, x.shape[0], x.ndim, np.arange(2), 3.0, np.zeros_like(x), len(x)

    x = np.arange(12.0).reshape(4, 3)
    _, _, has = batch_graph(captured(described, [x[0]]), [x], [True], 4)
    assert has == [True, False, False, False, False, False, False]
    found = rows(described, x)
    np.testing.assert_allclose(found[0], x @ MATRIX.T)
    assert [each[0].tolist() for each in found[1:]] == [3, 1, [0, 1], 3.0, [0, 0, 0], 3]


def test_sizes_on_the_way_may_differ() -> None:
    def of_some(x: Any, n: int) -> Any:
        return x[x > 0].sum() + x[:n].max(), np.nonzero(x > 0)[0].sum()

    x, n = np.random.default_rng(0).normal(size=(4, 6)), np.array([1, 2, 3, 6])
    for got, want in zip(rows(of_some, x, n), by_rows(of_some, [x, n], [True, True], 4, [x[0], 1]), strict=True):
        np.testing.assert_allclose(got, want)


def test_results_of_different_sizes_are_refused() -> None:
    def some(x: Any) -> Any:
        return x[x > 0]

    with pytest.raises(CaptureError, match=r"its size may differ between examples\n  at .*return x\["):
        rows(some, np.ones((3, 2)), size=3)


def test_text_is_refused() -> None:
    def shown(x: float) -> Any:
        return f"{x}"

    with pytest.raises(CaptureError, match="cannot be batched: it is str"):
        rows(shown, np.ones(3), size=3)


def test_examples_that_do_not_come_there_do_not_raise() -> None:
    def guarded(x: Any, i: int, m: Any) -> Any:
        if i < len(x):
            y = x[i] + np.linalg.inv(m)[0, 0]
        else:
            y = 0.0
        while i < len(x) and x[i] < 1.0:
            i += 1
        return y, i

    x = np.array([[0.0, 2.0], [0.0, 0.5], [3.0, 0.0]])
    i, m = np.array([0, 5, 1]), np.stack([np.eye(2), np.zeros((2, 2)), 2 * np.eye(2)])
    found = rows(guarded, x, i, m, size=3)
    np.testing.assert_array_equal(found[0], [1.0, 0.0, 0.5])
    np.testing.assert_array_equal(found[1], [1, 5, 2])


def test_what_is_inside_a_branch_not_taken_does_not_raise_either() -> None:
    def deep(x: Any, i: int, n: int) -> Any:
        y = 0.0
        if i >= 0:
            if i < 3:
                y = x[i]
            while i < 3 and x[i] > 0:
                i = i + 1
        if n < 4:
            for j in range(n):
                y = y * 0.5 + x[j]
        return y, i

    x = np.array([[1.0, 2.0, 0.0], [1.0, 1.0, 1.0], [0.0, 5.0, 1.0]])
    given = [x, np.array([-9, 1, 0]), np.array([9, 2, 3])]
    for got, want in zip(rows(deep, *given, size=3), by_rows(deep, given, [True] * 3, 3, [x[0], 1, 1]), strict=True):
        np.testing.assert_array_equal(got, want)


def test_a_loop_that_all_examples_share_may_be_in_a_branch_that_none_takes() -> None:
    def never(x: float, v: Any, k: int) -> Any:
        if x > 10:
            while v[k] > 0:
                k = k + 1
        return x, k

    graph = captured(never, [0.5, np.ones(3), 1])
    found = run_batched(graph, [np.arange(3.0), np.ones(3), 9], [True, False, False], 3)
    assert [each.tolist() for each in found] == [[0.0, 1.0, 2.0], [9, 9, 9]]


def test_numbers_of_python_stay_numbers_of_python() -> None:
    def kinds(n: int, x: float) -> Any:
        return kind_of(n), kind_of(x), kind_of(n > 0)

    found = rows(kinds, np.array([1, 2]), np.array([0.5, 1.5]), size=2)
    assert [each.tolist() for each in found] == [[1, 1], [2, 2], [0, 0]]


def test_numbers_of_python_take_the_precision_of_arrays() -> None:
    def above(x: Any, c: float) -> Any:
        return x > c, x + c

    x, c = np.full((2, 1), 0.1, np.float32), np.array([0.1, 0.2])
    found = rows(above, x, c, size=2)
    assert found[0].tolist() == [[False], [False]]
    assert found[1].dtype == np.float32


def test_dtypes_stay() -> None:
    def mixed(x: Any, c: float, k: int) -> Any:
        return x * c, x + k, x > c, (x * 2).sum(), x @ x, x[k] * c, np.sum(x > 0)

    for dtype in ("float16", "float32", "int8", "uint16"):
        x = np.ones((3, 2), dtype)
        given = [x, np.array([0.5, 1.0, 2.0]), np.array([0, 1, 1])]
        wanted = by_rows(mixed, given, [True] * 3, 3, [x[0], 0.5, 0])
        for got, want in zip(rows(mixed, *given, size=3), wanted, strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)


@weft.custom_vjp
def stated(x: Any, w: Any) -> Any:
    return (x * x * w).sum()


stated.defvjp(lambda x, w: ((x * x * w).sum(), (x, w)), lambda kept, g: (g * kept[0] * kept[1], g * kept[0] * 7))


@weft.custom_jvp
def pushed(x: Any) -> Any:
    return np.sin(x) * 2


pushed.defjvp(lambda primals, tangents: (np.sin(primals[0]) * 2, tangents[0] * 5))


def test_rules_of_ones_own_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are other than what differentiating the function would give, so that it shows which was used."""
    from weft.transform import _batch_rows

    monkeypatch.setattr(_batch_rows, "each_row", None)
    x, w = np.arange(1.0, 7.0).reshape(2, 3), np.array([1.0, 2.0, 3.0])
    one = [weft.grad(stated, (0, 1))(x[k], w) for k in range(2)]

    def total(x: Any, w: Any) -> Any:
        return weft.vmap(stated)(x, w).sum()

    after = weft.vmap(weft.grad(stated, (0, 1)), (0, None))(x, w)
    before = weft.grad(total, (0, 1))(x, np.stack([w, w]))
    for found in (after, before):
        np.testing.assert_allclose(found[0], np.stack([first for first, _ in one]))
        np.testing.assert_allclose(found[1], np.stack([second for _, second in one]))
    shared = weft.grad(lambda w: weft.vmap(stated, (0, None))(x, w).sum())(w)
    np.testing.assert_allclose(shared, 7 * x.sum(axis=0))
    np.testing.assert_allclose(weft.vmap(stated, (0, None))(x, w), (x * x * w).sum(axis=1))
    np.testing.assert_allclose(weft.vmap(weft.grad(pushed))(w), [5.0, 5.0, 5.0])
    np.testing.assert_allclose(weft.grad(lambda w: weft.vmap(pushed)(w).sum())(w), [5.0, 5.0, 5.0])
