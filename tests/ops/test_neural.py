"""What the case tables cannot say of the ops of neural networks: extreme values, randomness, rules at kinks, speed."""

from __future__ import annotations

import sys
import threading
import warnings
from typing import Any

import numpy as np
import pytest
from cases import integers, normal
from tape import Traced, gradients

import weft
from weft import random
from weft.ops import TABLE, Op

FLOATS = (np.float16, np.float32, np.float64)


def slope(function: Any, x: Any) -> np.ndarray:
    leaf = Traced(np.asarray(x))
    return gradients(function(leaf), [leaf])[0].data


# --- extreme values ---


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("sigmoid", 0, 1),
        ("log_sigmoid", "x", 0),
        ("softplus", 0, "x"),
        ("silu", 0, "x"),
        ("gelu", 0, "x"),
        ("mish", 0, "x"),
        ("elu", -1, "x"),
        ("relu6", 0, 6),
        ("hardsigmoid", 0, 1),
        ("softsign", -1, 1),
    ],
)
def test_limits(name: str, low: Any, high: Any, dtype: Any) -> None:
    x = np.array([-1, 1], dtype) * np.array(np.finfo(dtype).max / 8, dtype)
    expected = np.array([x[0] if low == "x" else low, x[1] if high == "x" else high], dtype)
    y = getattr(weft, name)(x)
    assert y.dtype == dtype
    np.testing.assert_allclose(y, expected, rtol=2 * np.finfo(dtype).eps, atol=0)


@pytest.mark.parametrize(
    "name", ["sigmoid", "log_sigmoid", "softplus", "silu", "gelu", "mish", "relu", "elu", "softmax"]
)
def test_nan_stays_nan(name: str) -> None:
    assert np.isnan(getattr(weft, name)(np.array([np.nan, np.nan]))).all()


def test_small_sigmoids_keep_their_digits() -> None:
    x = np.array([-700.0, -300.0, -40.0])
    np.testing.assert_allclose(weft.sigmoid(x), np.exp(x), rtol=1e-13)
    np.testing.assert_allclose(weft.log_sigmoid(-x), -np.exp(x), rtol=1e-13)


def test_softmax_of_large_and_masked_scores() -> None:
    x = np.array([[1e300, 1e300], [-1e300, 0], [-np.inf, 3], [5, -np.inf]])
    np.testing.assert_array_equal(weft.softmax(x), [[0.5, 0.5], [0, 1], [0, 1], [1, 0]])
    np.testing.assert_array_equal(weft.log_softmax(x)[2:], [[-np.inf, 0], [0, -np.inf]])
    np.testing.assert_array_equal(slope(weft.softmax, x[2:]), 0)
    assert np.isnan(weft.softmax(np.array([-np.inf, -np.inf]))).all()


def test_losses_of_certain_predictions() -> None:
    scores = np.array([1e4, -1e4])
    wrong = weft.binary_cross_entropy_with_logits(scores, np.array([0.0, 1.0]), reduction="none")
    np.testing.assert_array_equal(wrong, [1e4, 1e4])
    right = weft.binary_cross_entropy_with_logits(scores, np.array([1.0, 0.0]), reduction="none")
    np.testing.assert_array_equal(right, [0, 0])
    np.testing.assert_array_equal(weft.binary_cross_entropy(np.array([0.0, 1.0]), np.array([1.0, 0.0])), 100)
    assert weft.cross_entropy(np.array([[1e4, 0.0]]), np.array([1])) == 1e4


def test_only_ignored_targets_have_no_mean() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 0 / 0
        assert np.isnan(weft.cross_entropy(normal(2, 3), np.array([-100, -100])))
    assert weft.cross_entropy(normal(2, 3), np.array([-100, -100]), reduction="sum") == 0


# --- rules at kinks ---


@pytest.mark.parametrize(
    ("name", "at", "expected"),
    [
        ("relu", 0.0, 0),
        ("relu6", 0.0, 0),
        ("relu6", 6.0, 0),
        ("leaky_relu", 0.0, 0.01),
        ("elu", 0.0, 1),
        ("hardtanh", 1.0, 0),
        ("hardsigmoid", 3.0, 0),
        ("softsign", 0.0, 1),
        ("l1_loss", 0.0, 0),
        ("softshrink", 0.5, 0),
    ],
)
def test_slope_at_a_kink(name: str, at: float, expected: float) -> None:
    op = getattr(weft, name)
    call = (lambda x: op(x, np.zeros(1))) if name == "l1_loss" else op
    np.testing.assert_array_equal(slope(call, np.array([at])), [expected])


def test_equal_scores_are_still_pushed_apart() -> None:
    np.testing.assert_array_equal(
        slope(lambda x: weft.margin_ranking_loss(x, np.zeros(1), np.ones(1)), np.zeros(1)), [-1]
    )


def test_zero_vectors_have_finite_slopes() -> None:
    assert np.isfinite(slope(weft.normalize, np.zeros((1, 3)))).all()
    assert np.isfinite(slope(lambda x: weft.cosine_similarity(x, np.ones((1, 3))), np.zeros((1, 3)))).all()
    assert np.isfinite(slope(lambda x: weft.pairwise_distance(x, x, eps=0.0), np.zeros((1, 3)))).all()


def test_the_first_of_equal_maxima_receives_the_gradient() -> None:
    np.testing.assert_array_equal(slope(lambda x: weft.max_pool1d(x, 2), np.ones((1, 1, 4))), [[[1, 0, 1, 0]]])
    np.testing.assert_array_equal(slope(lambda x: weft.max_pool1d(x, 2, 1), np.array([[[1.0, 2, 1]]])), [[[0, 2, 0]]])


def test_max_pool_lets_nan_through() -> None:
    y, where = weft.max_pool1d(np.array([[[1.0, np.nan, 0, 2]]]), 2, return_indices=True)
    np.testing.assert_array_equal(y, [[[np.nan, 2]]])
    np.testing.assert_array_equal(where, [[[1, 3]]])


def test_padding_row_receives_no_gradient() -> None:
    index = np.array([3, 1, 3, 0])
    for padding in (3, -1):
        found = slope(lambda w, padding=padding: weft.embedding(index, w, padding_idx=padding), np.ones((4, 2)))
        np.testing.assert_array_equal(found, [[1, 1], [1, 1], [0, 0], [0, 0]])


# --- randomness ---


def test_dropout_is_reproducible_and_differentiable() -> None:
    x = 1 + np.arange(20.0)
    with random.isolated(3):
        y = weft.dropout(x, 0.4)
    with random.isolated(3):
        found = slope(lambda leaf: weft.dropout(leaf, 0.4), x)
    np.testing.assert_allclose(found, y / x)
    assert 0 < np.count_nonzero(found) < 20


def test_dropout_draws_while_running_not_while_describing() -> None:
    with random.isolated(3):
        weft.dropout(weft.spec((4, 5)), 0.4)
        first = weft.dropout(np.ones(20), 0.4)
    with random.isolated(3):
        np.testing.assert_array_equal(weft.dropout(np.ones(20), 0.4), first)


def test_attention_dropout() -> None:
    q = normal(2, 8, 4)
    with random.isolated(1):
        a = weft.scaled_dot_product_attention(q, q, q, dropout_p=0.5)
    with random.isolated(1):
        b = weft.scaled_dot_product_attention(q, q, q, dropout_p=0.5)
    np.testing.assert_array_equal(a, b)
    assert not np.allclose(a, weft.scaled_dot_product_attention(q, q, q))


def test_random_ops_say_so() -> None:
    marked = {op.name for op in TABLE.values() if op.random}
    assert {"bernoulli_mask", "dropout", "alpha_dropout", "scaled_dot_product_attention"} <= marked


def test_seed_starts_the_process_generator_again() -> None:
    with random.isolated():
        random.manual_seed(5)
        first = random.generator().random(4)
        assert not np.array_equal(first, random.generator().random(4))
        random.manual_seed(5)
        np.testing.assert_array_equal(first, random.generator().random(4))


def test_threads_share_a_generator_unless_isolated() -> None:
    found: dict[str, Any] = {}

    def shared() -> None:
        found["shared"] = random.generator()

    def alone() -> None:
        with random.isolated(7):
            found["alone"] = random.generator()
            found["number"] = random.generator().random()

    for work in (shared, alone):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert found["shared"] is random.generator()
    assert found["alone"] is not random.generator()
    with random.isolated(7):
        assert random.generator().random() == found["number"]


# --- evaluation ---


def test_convolution_in_blocks_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    how = ((2, 1), ((1, 1), (0, 0)), (1, 1), 2)
    x, w = normal(5, 4, 6, 5), normal(6, 2, 3, 2)
    y = weft.conv(x, w, *how)
    g = normal(*y.shape)
    whole = y, weft.conv_input(g, w, (6, 5), *how), weft.conv_weight(x, g, (3, 2), *how)
    monkeypatch.setattr(sys.modules["weft.ops._windows"], "BLOCK_BYTES", 1)
    parts = (
        weft.conv(x, w, *how),
        weft.conv_input(g, w, (6, 5), *how),
        weft.conv_weight(x, g, (3, 2), *how),
    )
    for a, b in zip(whole, parts, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_fused_bias_is_the_same_as_adding_it() -> None:
    x, w, b = normal(3, 4, 6), normal(6, 2, 3), normal(6)
    expected = weft.conv(x, w, (1,), ((1, 1),), (1,), 2) + b[:, None]
    np.testing.assert_allclose(weft.conv1d(x, w, b, padding=1, groups=2), expected, rtol=1e-12, atol=1e-14)


def test_strided_inputs() -> None:
    x = normal(6, 8, 2).transpose(2, 1, 0)[:, ::2]
    w = normal(3, 4, 3)
    copy = np.ascontiguousarray(x)
    np.testing.assert_allclose(weft.conv1d(x, w), weft.conv1d(copy, w), rtol=1e-13)
    np.testing.assert_array_equal(weft.max_pool1d(x, 3, 2, 1), weft.max_pool1d(copy, 3, 2, 1))
    np.testing.assert_array_equal(weft.unfold(x, (2,)), weft.unfold(copy, (2,)))


def test_results_do_not_share_memory_with_writable_views() -> None:
    x = normal(1, 1, 4)
    view = weft.windows(x, (2,), (1,), (1,))
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1


def test_functional_names_are_the_ops() -> None:
    import weft.nn.functional as F

    for name in ("relu", "conv2d", "linear", "cross_entropy", "max_pool2d", "layer_norm", "dropout", "gelu"):
        assert isinstance(getattr(F, name), Op)
        assert getattr(F, name) is getattr(weft, name)
    x = normal(2, 3)
    np.testing.assert_array_equal(F.softmax(x, dim=0), weft.softmax(x, axis=0))
    np.testing.assert_array_equal(F.log_softmax(x, dim=0), weft.log_softmax(x, axis=0))
    np.testing.assert_array_equal(F.softmin(x, dim=0), weft.softmin(x, axis=0))
    np.testing.assert_array_equal(F.normalize(x, dim=0), weft.normalize(x, axis=0))
    np.testing.assert_array_equal(F.glu(x.T, dim=1), weft.glu(x.T, axis=1))
    np.testing.assert_array_equal(F.cosine_similarity(x, x + 1, dim=0), weft.cosine_similarity(x, x + 1, axis=0))
    assert F.softmax(x, dim=0, dtype=np.float32).dtype == np.float32
    assert sorted(F.__all__) == sorted(set(F.__all__))
    assert all(hasattr(F, name) for name in F.__all__)


@pytest.mark.parametrize("rows", [500, 20])  # each row named a few times, and many
def test_adding_rows_named_more_than_once(rows: int) -> None:
    index, value = integers(0, rows, 30, 40), normal(30, 40, 16)
    expected = np.zeros((rows, 16))
    np.add.at(expected, index, value)
    got = weft.index_add(np.zeros((rows, 16)), (index,), value)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13)


def test_a_nan_receives_the_gradient_of_its_window() -> None:
    x = np.array([[1.0, np.nan, 3.0, 4.0]])
    how = (2,), (2,), ((0, 0),), (1,)
    g = weft.max_pool_input(np.array([[5.0, 7.0]]), x, weft.max_pool(x, *how), *how)
    np.testing.assert_array_equal(g, [[0, 5, 0, 7]])


def test_scratch_memory_is_not_part_of_any_result() -> None:
    x, w, how = normal(4, 3, 8, 8), normal(5, 3, 3, 3), ((1, 1), ((1, 1), (1, 1)), (1, 1))
    results = [weft.conv(x, w, *how)]
    g = normal(*results[0].shape)
    results += [weft.conv_input(g, w, (8, 8), *how), weft.conv_weight(x, g, (3, 3), *how)]
    before = [r.copy() for r in results]
    weft.conv(normal(4, 3, 8, 8, seed=9), w, *how)
    weft.conv_weight(normal(4, 3, 8, 8, seed=9), g, (3, 3), *how)
    for result, copy in zip(results, before, strict=True):
        np.testing.assert_array_equal(result, copy)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(16384,), (64, 16, 4, 16), (64, 257), (16640,), (128, 130)])
def test_relu_of_many_numbers(dtype: type, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    x.flat[:4] = [np.nan, np.inf, -np.inf, -0.0]
    for given in (x, x.T, x[..., ::-1]):
        got = weft.relu(given)
        assert got.dtype == dtype and got.flags.writeable and not np.shares_memory(got, given)
        np.testing.assert_array_equal(got, np.where(given > 0, given, np.where(np.isnan(given), given, 0)))
