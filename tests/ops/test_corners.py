"""Corners where a plausible implementation is wrong: kinks to second order, ties by the thousand, odd parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tape import Traced, gradients

import weft
import weft.nn.functional as F
from weft.errors import DtypeError, ShapeError
from weft.ops import TABLE, _scatter, indexing, spec_of

S = weft.spec


def slope(f: Any, *xs: Any) -> list[Any]:
    leaves = [Traced(x) for x in xs]
    return [g.data for g in gradients(weft.sum(f(*leaves)), leaves)]


def curvature(f: Any, *xs: Any) -> list[Any]:
    """Gradients of the sum of all first derivatives."""
    leaves = [Traced(x) for x in xs]
    total = Traced(0.0)
    for g in gradients(weft.sum(f(*leaves)), leaves):
        total = total + weft.sum(weft.real(g) + weft.imag(g) if g.dtype.kind == "c" else g)
    return [g.data for g in gradients(total, leaves)]


# ── Derivatives at special points ─────────────────────────────────────────────────────────────────────────────────────


def test_pow_mixed_derivative_at_exponent_zero() -> None:
    # d/dy (y x^(y-1)) is 1/x at y = 0, and d/dy (x^y log x) is log(x)^2.
    base = np.array([2.0, 0.5, 4.0])
    by_base, by_exponent = curvature(weft.pow, base, np.zeros(3))
    np.testing.assert_allclose(by_base, 1 / base)
    np.testing.assert_allclose(by_exponent, 1 / base + np.log(base) ** 2)


def test_pow_at_the_origin_has_no_nan() -> None:
    assert np.array_equal(slope(weft.pow, np.zeros(2), np.array([0.0, 1.0])), [[0.0, 1.0], [0.0, 0.0]])


@pytest.mark.parametrize("loss", [F.smooth_l1_loss, F.huber_loss])
def test_curvature_of_a_loss_at_its_minimum(loss: Any) -> None:
    (found,) = curvature(lambda x: loss(x, np.zeros(3), reduction="sum"), np.zeros(3))
    np.testing.assert_allclose(found, 1.0)


def test_curvature_of_normalize_at_a_zero_component() -> None:
    # y = (a, b) / sqrt(a^2 + b^2) at (0, 1): d2/da2 of its sum is -1, d2/dadb is -1, d2/db2 is 0.
    (found,) = curvature(lambda x: F.normalize(x, dim=0), np.array([0.0, 1.0]))
    np.testing.assert_allclose(found, [-2.0, -1.0])


def test_curvature_of_a_complex_norm_at_zero_is_zero() -> None:
    (found,) = curvature(lambda x: weft.linalg.vector_norm(x, ord=1), np.zeros(2, complex))
    assert np.array_equal(found, [0, 0])


@pytest.mark.parametrize("p", [1, 2, 3, math.inf])
def test_pairwise_distance_of_every_order(p: float) -> None:
    a, b = np.array([[0.0, 1.0, -2.0]]), np.array([[3.0, 0.0, -3.0]])
    np.testing.assert_allclose(F.pairwise_distance(a, b, p, eps=0.0), np.linalg.norm(a - b, p, axis=-1))


def test_normalize_by_a_root_has_no_nan_at_zeros() -> None:
    (found,) = slope(lambda x: F.normalize(x, 0.5, 0), np.array([0.0, 1.0, -2.0]))
    assert np.isfinite(found).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("extreme", [weft.max, weft.min])
def test_extreme_of_many_elements_counts_its_winners_exactly(extreme: Any, dtype: Any) -> None:
    x = np.zeros(70_000, dtype)
    x[:2] = 1 if extreme is weft.max else -1
    (found,) = slope(extreme, x)
    assert np.array_equal(found[:3], [0.5, 0.5, 0.0])
    (shared,) = slope(extreme, np.zeros(70_000, dtype))
    np.testing.assert_allclose(shared, 1 / 70_000, rtol=1e-2)


# ── Derivatives at kinks: torch's choice, here through forms without a branch ─────────────────────────────────────────


@pytest.mark.parametrize(
    ("f", "at_zero"),
    [
        (lambda x: F.leaky_relu(x, 0.25), 0.25),
        (lambda x: F.leaky_relu(x, 3.0), 3.0),
        (lambda x: F.elu(x, 2.0), 2.0),
        (lambda x: F.celu(x, 2.0), 1.0),
        (F.selu, 1.6732632423543772 * 1.0507009873554805),
    ],
)
def test_slope_at_zero_is_that_of_the_left(f: Any, at_zero: float) -> None:
    np.testing.assert_allclose(slope(f, np.zeros(1)), [[at_zero]])


@pytest.mark.parametrize("f", [F.leaky_relu, F.elu, F.celu, F.selu, F.hardshrink, F.softshrink])
def test_limits_of_activations(f: Any) -> None:
    y = f(np.array([np.inf, np.nan, 1e30], np.float32))
    assert y[0] == np.inf
    assert np.isnan(y[1])
    assert y.dtype == np.float32
    assert f([1.0, 2.0]).shape == (2,)


def test_shrinking_at_its_threshold() -> None:
    x = np.array([-0.5, 0.5, -0.75, 0.75, 0.0])
    assert np.array_equal(F.hardshrink(x), [0, 0, -0.75, 0.75, 0])
    assert np.array_equal(F.softshrink(x), [0, 0, -0.25, 0.25, 0])
    for f in (F.hardshrink, F.softshrink):
        assert np.array_equal(slope(f, x), [[0, 0, 1, 1, 0]])


# ── Dtypes and shapes ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex64, np.int32])
def test_linspace_shape_rule_gives_its_dtype(dtype: Any) -> None:
    ends = np.zeros(2, dtype), np.ones(2, dtype)
    assert weft.linspace(*map(spec_of, ends), 4) == spec_of(weft.linspace(*ends, 4))
    assert weft.linspace(spec_of(ends[0]), 1.0, 4) == spec_of(weft.linspace(ends[0], 1.0, 4))


def test_pinv_of_no_integers_is_floating() -> None:
    assert weft.linalg.pinv(np.zeros((0, 3), int)).dtype == np.float64


def test_matrix_rank_with_a_tolerance_for_each_matrix() -> None:
    x, rtol = np.ones((2, 3)), np.array([0.1, 2.0])
    assert spec_of(weft.linalg.matrix_rank(x, rtol=rtol)) == weft.linalg.matrix_rank(spec_of(x), rtol=rtol)


@pytest.mark.parametrize("f", [F.hardtanh, F.softplus])
def test_a_numpy_number_as_parameter_does_not_promote(f: Any) -> None:
    assert f(np.ones(2, np.float32), np.float64(0.5), np.float64(2.0)).dtype == np.float32


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "max", "min", "all", "any", "logsumexp"])
def test_axes_in_a_list(name: str) -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    assert np.array_equal(TABLE[name](x, [0, -1]), TABLE[name](x, (0, 2)))


@pytest.mark.parametrize(("dtype", "end"), [(np.float32, 0.5), (np.float16, 1), (np.int8, 1), (np.complex64, 0.5)])
def test_a_python_number_at_the_end_of_a_difference_does_not_promote(dtype: Any, end: Any) -> None:
    x = np.array([1, 3], dtype)
    found = weft.diff(x, prepend=end, append=end)
    assert found.dtype == dtype
    assert np.array_equal(found, [1 - end, 2, end - 3])
    assert weft.diff(np.array([1, 3], np.int8), prepend=0.5).dtype == np.float64
    assert weft.diff(spec_of(x), prepend=end) == S((2,), dtype)


@pytest.mark.parametrize(
    "loss",
    [
        *(F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.soft_margin_loss, F.poisson_nll_loss),
        *(F.binary_cross_entropy, F.binary_cross_entropy_with_logits),
        lambda x, target: F.margin_ranking_loss(x, x, target),
        lambda x, target: F.gaussian_nll_loss(x, target, x),
    ],
)
@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.bool_])
def test_whole_numbers_as_targets_do_not_promote(loss: Any, dtype: Any) -> None:
    x, target = np.array([0.25, 0.5], np.float32), np.array([0, 1], dtype)
    assert loss(x, target) == loss(x, target.astype(np.float32))
    assert loss(x, target).dtype == np.float32


def test_nearest_exact_takes_the_nearest_centre() -> None:
    x = np.arange(5.0).reshape(1, 1, 5)
    assert np.array_equal(F.interpolate(x, 3, mode="nearest-exact"), [[[0.0, 2.0, 4.0]]])
    assert np.array_equal(F.interpolate(x, 3, mode="nearest"), [[[0.0, 1.0, 3.0]]])
    assert np.array_equal(F.interpolate(x[..., :2], scale_factor=2, mode="nearest-exact"), [[[0.0, 0.0, 1.0, 1.0]]])


def test_average_of_small_integers_does_not_overflow() -> None:
    assert np.array_equal(F.avg_pool1d(np.full((1, 1, 4), 100, np.int8), 4), [[[100.0]]])


@pytest.mark.parametrize("bounds", [(np.uint8(3), 0, -1), (0, np.uint8(3), 2), (np.uint8(3), np.uint8(1), np.int8(-1))])
def test_arange_between_unsigned_numbers(bounds: Any) -> None:
    expected = np.arange(*map(int, bounds))
    assert np.array_equal(weft.arange(*bounds), expected)
    assert TABLE["arange"].infer(*bounds, None, None) == spec_of(expected)


def test_pad_by_nothing_is_a_copy() -> None:
    x = np.ones(3)
    for mode in ("constant", "reflect", "edge", "wrap"):
        assert not np.shares_memory(weft.pad(x, 0, mode), x)


def test_norms_of_half_floats_do_not_overflow() -> None:
    x = np.array([300.0, 400.0], np.float16)
    norm = weft.linalg.vector_norm(x)
    assert norm == 500
    assert norm.dtype == np.float16
    np.testing.assert_allclose(F.normalize(x, dim=0), [0.6, 0.8], rtol=1e-3)


def test_logsumexp_with_infinity_does_not_warn() -> None:
    assert weft.logsumexp(np.array([np.inf, 1000.0])) == np.inf


def test_argsort_of_a_number_is_refused_like_sort() -> None:
    for op in (weft.sort, weft.argsort):
        with pytest.raises(ShapeError, match=f"{op.name}: axis -1 is out of range for an array of 0 dimensions"):
            op(np.array(1.0))


# ── Adding at places named more than once ─────────────────────────────────────────────────────────────────────────────


def placed(x: Any, key: Any, value: Any) -> Any:
    expected = x.copy()
    np.add.at(expected, key, value)
    return expected


@pytest.fixture(params=[0, 10**9], ids=["as many", "as few"])
def many(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of adding, whatever the number of elements."""
    monkeypatch.setattr(_scatter, "MANY", request.param)
    monkeypatch.setattr(indexing, "MANY", request.param)


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("order", ["C", "F"])
def test_index_add_along_each_axis(order: Any) -> None:
    generator = np.random.default_rng(0)
    x = np.asarray(generator.integers(0, 9, (4, 5, 16)).astype(float), order=order)
    for axis, size in enumerate(x.shape):
        index = generator.integers(-size, size, (3, 7))
        key = (*(slice(None),) * axis, index)
        for value in (generator.integers(0, 9, x[key].shape).astype(float), 2.0, np.float32(0.5)):
            assert np.array_equal(weft.index_add(x, key, value), placed(x, key, value))
    for dtype in (np.int8, np.uint16, np.float16, np.complex64):
        each, index = np.ones((3, 16), dtype), np.array([0, 2, 0, -1])
        found = weft.index_add(each, index, each[index])
        assert found.dtype == dtype
        assert np.array_equal(found, placed(each, index, each[index]))
    assert np.array_equal(weft.index_add(x, np.zeros(0, int), 1.0), x)
    assert weft.index_add(np.zeros((0, 16)), np.zeros(0, int), 1.0).shape == (0, 16)
    with pytest.raises(IndexError, match="index_add: index 4 is out of range for axis 0 of size 4"):
        weft.index_add(x, np.array([0, 4]), 1.0)


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("order", ["C", "F"])
def test_scatter_add_along_each_axis(order: Any) -> None:
    generator = np.random.default_rng(0)
    x = np.asarray(generator.integers(0, 9, (4, 5, 6)).astype(float), order=order)
    for axis, size in enumerate(x.shape):
        shape = (*x.shape[:axis], 7, *x.shape[axis + 1 :])
        index = generator.integers(-size, size, shape)
        key = [np.arange(n).reshape((-1,) + (1,) * (2 - i)) for i, n in enumerate(x.shape)]
        key[axis] = index
        for values in (generator.integers(0, 9, shape).astype(float), 2.0):
            assert np.array_equal(weft.scatter_add(x, index, values, axis=axis), placed(x, tuple(key), values))
        one = index[tuple(slice(0, 1) if i != axis else slice(None) for i in range(3))]
        key[axis] = one
        assert np.array_equal(weft.scatter_add(x, one, 1.0, axis=axis), placed(x, tuple(key), 1.0))
    assert np.array_equal(weft.scatter_add(x, np.array([3, -1]), 1.0, axis=None).ravel(), placed(x.ravel(), [3, -1], 1))
    with pytest.raises(IndexError, match=r"scatter_add: index 7 is out of (range|bounds) for axis 2"):
        weft.scatter_add(x, np.full((4, 5, 1), 7), 1.0)


@pytest.mark.parametrize("lay", [np.asfortranarray, lambda x: x[::-1, ::-1].copy()[::-1, ::-1]])
def test_index_update_keeps_the_last_value_however_arrays_lie_in_memory(lay: Any) -> None:
    key, value = np.array([[0, 1], [1, 0]]), np.array([[1.0, 2.0], [3.0, 4.0]])
    assert np.array_equal(weft.index_update(np.zeros(3), lay(key), lay(value)), [4.0, 3.0, 0.0])
    laid, back = Traced(value), Traced(value)
    laid.data = lay(value)
    for each in (laid, back):
        (found,) = gradients(weft.sum(weft.index_update(np.zeros(3), (lay(key),), each)), [each])
        assert np.array_equal(found.data, [[0.0, 0.0], [1.0, 1.0]])


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_topk_of_many_is_what_sorting_gives(axis: int, largest: bool) -> None:
    generator = np.random.default_rng(0)
    for dtype in (np.float32, np.int8, np.float64):
        x = generator.integers(-20, 20, (70, 65, 80)).astype(dtype)  # with many ties
        if dtype is np.float64:
            x[3, 3, 3] = np.nan
        for k in (1, 5, 16):
            values, indices = weft.topk(x, k, axis, largest)
            expected = np.take(weft.argsort(x, axis, descending=largest), range(k), axis)
            assert np.array_equal(indices, expected)
            assert np.array_equal(values, np.take_along_axis(x, expected, axis), equal_nan=dtype is np.float64)


@pytest.mark.parametrize("exponent", [3, 4])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32, np.complex64])
def test_small_powers(exponent: int, dtype: Any) -> None:
    x = np.array([-2.0, 0.0, 0.5, 1.5, 3.0]).astype(dtype)
    found, expected = weft.pow(x, exponent), np.power(x, exponent)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(dtype).eps if found.dtype.kind != "i" else 0)


# ── What a wrong call says ────────────────────────────────────────────────────────────────────────────────────────────


def test_an_extra_argument_is_refused_and_not_written_to() -> None:
    a, b, c = np.ones(3), np.zeros(3), np.full(3, 7.0)
    for call in (lambda: weft.maximum(a, b, c), lambda: weft.add(a, b, out=c), lambda: weft.sin(a, c)):
        with pytest.raises(TypeError, match=r"(maximum\(x1, x2, /\)|add\(x1, x2, /\)|sin\(x, /\)): "):
            call()
    assert np.array_equal(c, [7.0, 7.0, 7.0])
    with pytest.raises(TypeError, match=r"where\(condition, x1, x2, /\): missing a required argument: 'x1'"):
        weft.where(np.array([True, False]))


CALLS: list[tuple[Any, type[Exception], str]] = [
    (lambda x: weft.floor(x * 1j), DtypeError, "floor: not defined for complex128"),
    (lambda x: weft.subtract(x > 0, x > 0), DtypeError, "subtract: not defined for bool and bool"),
    (lambda x: weft.atan2(x, x * 1j), DtypeError, "atan2: not defined for float64 and complex128"),
    (lambda x: weft.floor(S((2,), "complex64")), DtypeError, "floor: not defined for complex64"),
    (lambda x: weft.pow(np.array([2]), -1), ValueError, "^pow: Integers to negative integer powers are not allowed"),
    (lambda x: weft.pow(np.array([2], np.uint8), -1), OverflowError, "^pow: Python integer -1 out of bounds for uint8"),
    (lambda x: weft.sum(x, axis=0.5), TypeError, "^sum: an axis is an integer, got 0.5"),
    (lambda x: weft.sum(S((2,)), axis="x"), TypeError, "^sum: an axis is an integer, got 'x'"),
    (lambda x: F.softmax(x, None), TypeError, "^softmax: an axis is an integer, got None"),
    (
        lambda x: F.max_pool1d(np.ones((1, 1, 4)), 1.5),
        TypeError,
        "^max_pool1d: kernel_size is made of integers, got 1.5",
    ),
    (lambda x: weft.eye(-1), ValueError, "^eye: negative dimensions are not allowed"),
    (lambda x: weft.tril(S((2, 2)), k=0) @ S((3,)), ShapeError, "^matmul: inner dimensions differ"),
    (lambda x: weft.rot90(S((2, 2)), k=None), TypeError, "^rot90: unsupported operand"),
    (lambda x: weft.max(np.zeros(0)), ValueError, "^max: zero-size array to reduction operation maximum"),
    (lambda x: weft.linalg.inv(np.zeros((2, 2))), np.linalg.LinAlgError, "^inv: Singular matrix"),
    (lambda x: weft.arange(0, 3, 0), ArithmeticError, "^arange: "),
    (lambda x: weft.softmin(x > 0), DtypeError, "^negative: not defined for bool"),
    (
        lambda x: weft.linalg.matrix_rank(np.ones((2, 2), np.float16)),
        DtypeError,
        "matrix_rank: expected .* got float16",
    ),
    (lambda x: F.conv1d(np.ones((1, 1, 4)), np.ones((1, 1, 0))), ShapeError, r"conv1d: the kernel \(0,\) is empty"),
    (
        lambda x: F.conv2d(np.ones((1, 1, 4, 4)), np.ones((1, 1, 3))),
        ShapeError,
        r"conv2d: expected input and weight of 4 dimensions, got \(1, 1, 4, 4\) and \(1, 1, 3\)",
    ),
    (
        lambda x: F.conv1d(np.ones((1, 1, 4)), np.ones((1, 1, 2)), groups=0),
        ShapeError,
        "conv1d: groups must be at least 1, got 0",
    ),
    (
        lambda x: F.conv_transpose1d(S((1, 1, 2)), S((1, 1, 2)), padding=3),
        ShapeError,
        r"conv_transpose1d: nothing is left of the result: its space would be \(-3,\)",
    ),
    (lambda x: F.unfold(np.ones((1, 1, 4, 4)), -1), ShapeError, "unfold: kernel_size must be at least 1, got"),
    (lambda x: F.fold(np.ones(4), 2, 1), ShapeError, "fold: expected .* got"),
    (
        lambda x: F.interpolate(np.ones((1, 1, 4)), scale_factor=(2, 2)),
        ShapeError,
        "interpolate: scale_factor needs one number or 1, got",
    ),
    (
        lambda x: F.adaptive_max_pool1d(np.ones((1, 1, 0)), 1),
        ShapeError,
        r"adaptive_max_pool1d: an input of shape \(1, 1, 0\) has nothing to take",
    ),
    (
        lambda x: F.scaled_dot_product_attention(*(np.ones((h, 2, 2)) for h in (6, 4, 4)), enable_gqa=True),
        ShapeError,
        r"scaled_dot_product_attention: 6 heads of the query are no multiple of 4 in \(4, 2, 2\)",
    ),
    (lambda x: F.kl_div(x, x, reduction="avg"), ValueError, "kl_div: reduction must be .*'batchmean'.* got 'avg'"),
]


@pytest.mark.parametrize(("call", "kind", "message"), CALLS, ids=lambda v: v if isinstance(v, str) else "")
def test_message(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call(np.ones(2))
