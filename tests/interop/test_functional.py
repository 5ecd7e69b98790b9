"""`weft.nn.functional` against `torch.nn.functional`: values and gradients in float64."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from tape import Traced, gradients

import weft
import weft.nn.functional as F

# Both work in float64 and differ only in the order of their sums and in erf, whose own error is a few units in 1e-16.
TOLERANCE = {"rtol": 1e-10, "atol": 1e-12}
RANDOM = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape)


def positive(*shape: int) -> np.ndarray:
    return RANDOM.uniform(0.1, 0.9, shape)


def classes(high: int, *shape: int) -> np.ndarray:
    return RANDOM.integers(0, high, shape)


def signs(*shape: int) -> np.ndarray:
    return RANDOM.choice([-1.0, 1.0], shape)


class Fixed(NamedTuple):
    """An array that torch has no derivative for."""

    value: np.ndarray


def compare(name: str, *args: Any, _slope: float = 1e-10, **kwargs: Any) -> None:
    """Call both on the same arguments; differentiate both in every float array, within `_slope` of each other."""
    mine, theirs, plain = ([form(a) for a in args] for form in (_traced, _tensor, _plain))
    named, theirs_named, plain_named = ({k: form(v) for k, v in kwargs.items()} for form in (_traced, _tensor, _plain))
    value = getattr(F, name)(*plain, **plain_named)
    result = getattr(F, name)(*mine, **named)
    expected = getattr(torch.nn.functional, name)(*theirs, **theirs_named)
    if isinstance(expected, tuple):
        np.testing.assert_array_equal(value[1], expected[1].numpy())
        value, result, expected = value[0], result[0], expected[0]
    np.testing.assert_allclose(value, expected.detach().numpy(), **TOLERANCE)
    np.testing.assert_allclose(result.data, expected.detach().numpy(), **TOLERANCE)
    assert value.shape == tuple(expected.shape)
    weight = np.cos(np.arange(expected.numel())).reshape(expected.shape)
    leaves = [a for a in (*mine, *named.values()) if isinstance(a, Traced)]
    peers = [t for t in (*theirs, *theirs_named.values()) if isinstance(t, torch.Tensor) and t.requires_grad]
    found = torch.autograd.grad((expected * torch.tensor(weight)).sum(), peers)
    for g, e in zip(gradients(result, leaves, weight), found, strict=True):
        np.testing.assert_allclose(g.data, e.numpy(), rtol=_slope, atol=1e-12)


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Fixed) else value


def _traced(value: Any) -> Any:
    return Traced(value) if isinstance(value, np.ndarray) and value.dtype == np.float64 else _plain(value)


def _tensor(value: Any) -> Any:
    if not isinstance(value, np.ndarray | Fixed):
        return value
    tensor = torch.tensor(_plain(value))
    return tensor.requires_grad_() if tensor.dtype == torch.float64 and not isinstance(value, Fixed) else tensor


EDGES = np.array([-1e3, -40.0, -6.0, -3.0, -1.0, -0.5, -1e-9, 0.0, 1e-9, 0.5, 1.0, 3.0, 6.0, 19.0, 21.0, 40.0, 1e3])


@pytest.mark.parametrize(
    ("name", "kwargs"),
    [
        ("relu", {}),
        ("relu6", {}),
        ("leaky_relu", {"negative_slope": 0.2}),
        ("elu", {"alpha": 1.5}),
        ("celu", {"alpha": 1.5}),
        ("selu", {}),
        ("gelu", {}),
        ("gelu", {"approximate": "tanh"}),
        ("silu", {}),
        ("mish", {}),
        ("sigmoid", {}),
        ("logsigmoid", {}),
        ("softplus", {}),
        ("softplus", {"beta": 2.5, "threshold": 10}),
        ("softsign", {}),
        ("hardtanh", {"min_val": -0.5, "max_val": 3.0}),
        ("hardsigmoid", {}),
        ("hardswish", {}),
        ("tanhshrink", {}),
        ("hardshrink", {}),
        ("softshrink", {}),
        ("threshold", {"threshold": 0.5, "value": 7.0}),
        ("softmax", {"dim": 0}),
        ("log_softmax", {"dim": -1}),
        ("softmin", {"dim": 0}),
    ],
)
def test_activation(name: str, kwargs: dict[str, Any]) -> None:
    # torch's derivative of hardsigmoid is 1 / 6 in single precision.
    slope = 1e-7 if name == "hardsigmoid" else 1e-10
    compare(name, EDGES, _slope=slope, **kwargs)
    compare(name, normal(2, 3), _slope=slope, **kwargs)


def test_activation_over_axes() -> None:
    compare("softmax", normal(2, 3, 4), dim=1)
    compare("log_softmax", normal(2, 3, 4), dim=1)
    compare("glu", normal(2, 4, 3), dim=1)
    compare("prelu", normal(2, 3, 4), normal(3))
    compare("prelu", normal(2, 3, 4), normal(1))


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"stride": 2},
        {"padding": 2, "dilation": 2},
        {"stride": 3, "padding": 1, "groups": 2},
        {"padding": "same", "dilation": 2},
        {"padding": "valid"},
    ],
)
def test_conv(rank: int, how: dict[str, Any]) -> None:
    groups = how.get("groups", 1)
    x, w = normal(2, 4, *(7, 6, 5)[:rank]), normal(6, 4 // groups, *(3, 2, 2)[:rank])
    compare(f"conv{rank}d", x, w, normal(6), **how)
    compare(f"conv{rank}d", x, w, **how)
    compare(f"conv{rank}d", x[0], w, normal(6), **how)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"stride": 2, "output_padding": 1},
        {"stride": 2, "padding": 1, "groups": 2},
        {"dilation": 3, "output_padding": 2, "padding": 1},
    ],
)
def test_conv_transpose(rank: int, how: dict[str, Any]) -> None:
    groups = how.get("groups", 1)
    x, w = normal(2, 4, *(4, 3, 3)[:rank]), normal(4, 6 // groups, *(3, 2, 3)[:rank])
    compare(f"conv_transpose{rank}d", x, w, normal(6), **how)
    compare(f"conv_transpose{rank}d", x[0], w, **how)


def test_conv_takes_a_tuple_for_each_dimension() -> None:
    compare("conv2d", normal(2, 3, 9, 8), normal(4, 3, 3, 2), normal(4), stride=(2, 1), padding=(0, 2), dilation=(1, 3))
    compare(
        "conv_transpose2d", normal(2, 3, 3, 4), normal(3, 2, 3, 2), stride=(2, 3), padding=(1, 0), output_padding=(1, 2)
    )


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize(("kernel", "stride", "padding"), [(2, None, 0), (3, 2, 1), (3, 1, 0), (2, 3, 1)])
def test_pool(rank: int, kernel: int, stride: int | None, padding: int, ceil_mode: bool) -> None:
    x = normal(2, 3, *(8, 7, 6)[:rank])
    how = {"stride": stride, "padding": padding, "ceil_mode": ceil_mode}
    compare(f"max_pool{rank}d", x, kernel, **how)
    compare(f"max_pool{rank}d", x, kernel, return_indices=True, **how)
    compare(f"max_pool{rank}d", x[0], kernel, **how)
    compare(f"avg_pool{rank}d", x, kernel, **how)
    compare(f"avg_pool{rank}d", x, kernel, count_include_pad=False, **how)
    if rank > 1:
        compare(f"avg_pool{rank}d", x, kernel, divisor_override=5, **how)


def test_pool_details() -> None:
    ties = np.round(normal(1, 2, 6, 6))
    compare("max_pool2d", ties, 3, stride=1, padding=1, return_indices=True)
    compare(
        "max_pool2d", normal(1, 1, 9, 8), (3, 2), stride=(1, 2), padding=(1, 0), dilation=(2, 1), return_indices=True
    )
    compare("max_pool2d", np.full((1, 1, 4, 4), -np.inf), 2, stride=1, padding=1, return_indices=True)
    nans = np.where(RANDOM.uniform(size=(1, 1, 6, 6)) < 0.2, np.nan, normal(1, 1, 6, 6))
    compare("max_pool2d", nans, 2, return_indices=True)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 3, 4])
def test_adaptive_pool(rank: int, size: int) -> None:
    x = normal(2, 3, *(8, 7, 6)[:rank])
    compare(f"adaptive_avg_pool{rank}d", x, size)
    compare(f"adaptive_max_pool{rank}d", x, size)
    compare(f"adaptive_max_pool{rank}d", x, size, return_indices=True)
    if rank > 1:
        sizes = (size, *(None,) * (rank - 1))
        compare(f"adaptive_avg_pool{rank}d", x, sizes)
        compare(f"adaptive_max_pool{rank}d", x, sizes)


def test_fold() -> None:
    compare("unfold", normal(2, 3, 6, 5), (2, 3), padding=1, stride=2)
    compare("unfold", normal(2, 3, 6, 6), 2, dilation=2)
    compare("unfold", normal(3, 6, 6), 2)
    compare("fold", normal(2, 3 * 6, 9), (6, 5), (2, 3), padding=(0, 1), stride=2)
    compare("fold", normal(3 * 4, 9), 4, 2)


def test_interpolate() -> None:
    images, line = normal(2, 3, 4, 5), normal(2, 3, 6)
    compare("interpolate", images, size=(7, 3))
    compare("interpolate", images, scale_factor=2)
    compare("interpolate", images, scale_factor=1.7, mode="bilinear")
    compare("interpolate", images, size=(7, 3), mode="bilinear", align_corners=True)
    compare("interpolate", images, size=(7, 3), mode="bicubic", align_corners=False)
    compare("interpolate", images, size=(9, 8), mode="bicubic", align_corners=True)
    compare("interpolate", images, size=(3, 2), mode="area")
    compare("interpolate", line, size=11, mode="linear")
    compare("interpolate", normal(1, 2, 3, 4, 3), size=(5, 2, 4), mode="trilinear")


def test_normalization() -> None:
    x = normal(3, 4, 5)
    compare("layer_norm", x, (5,), normal(5), normal(5))
    compare("layer_norm", x, (4, 5), eps=0.1)
    compare("rms_norm", x, (4, 5), normal(4, 5))
    compare("rms_norm", x, (5,), eps=0.1)
    compare("group_norm", x, 2, normal(4), normal(4))
    compare("instance_norm", x, weight=normal(4), bias=normal(4))
    compare("batch_norm", x, Fixed(normal(4)), Fixed(positive(4)), normal(4), normal(4))
    compare("batch_norm", normal(6, 4), None, None, normal(4), normal(4), training=True)
    compare("batch_norm", x, None, None, training=True, eps=0.1)
    compare("normalize", x)
    compare("normalize", x, p=3.0, dim=-1)
    compare("normalize", x, p=1.0, dim=0)
    compare("normalize", np.zeros((2, 3)))


def test_running_statistics() -> None:
    x, mean, var = normal(3, 4, 5), normal(4), positive(4)
    theirs = torch.tensor(mean), torch.tensor(var)
    torch.nn.functional.batch_norm(torch.tensor(x), *theirs, training=True, momentum=0.3)
    _, batch_mean, batch_var = weft.batch_norm_with_stats(x)
    np.testing.assert_allclose(0.7 * mean + 0.3 * batch_mean, theirs[0].numpy(), **TOLERANCE)
    np.testing.assert_allclose(0.7 * var + 0.3 * batch_var, theirs[1].numpy(), **TOLERANCE)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_class_losses(reduction: str) -> None:
    target = classes(4, 5)
    ignored = np.where(np.arange(5) == 2, -100, target)
    weight = Fixed(positive(4))
    for name in ("nll_loss", "cross_entropy"):
        compare(name, normal(5, 4), target, reduction=reduction)
        compare(name, normal(5, 4), ignored, reduction=reduction)
        compare(name, normal(5, 4), np.where(ignored < 0, 3, ignored), ignore_index=3, reduction=reduction)
        compare(name, normal(2, 4, 3, 2), classes(4, 2, 3, 2), reduction=reduction)
        compare(name, normal(4), np.array(2), reduction=reduction)
    compare("cross_entropy", normal(5, 4), ignored, label_smoothing=0.2, reduction=reduction)
    compare("cross_entropy", normal(2, 4, 3), classes(4, 2, 3), label_smoothing=0.2, reduction=reduction)
    compare("cross_entropy", normal(5, 4), positive(5, 4), reduction=reduction)
    compare("cross_entropy", normal(2, 4, 3), positive(2, 4, 3), label_smoothing=0.2, reduction=reduction)
    for labels in (target, ignored):
        compare("nll_loss", normal(5, 4), labels, weight, reduction=reduction)
        compare("cross_entropy", normal(5, 4), labels, weight, reduction=reduction, label_smoothing=0.1)
    compare("cross_entropy", normal(5, 4), positive(5, 4), weight, reduction=reduction)


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides the total loss:UserWarning")
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_other_losses(reduction: str) -> None:
    how = {"reduction": reduction}
    x, y = normal(3, 4), normal(3, 4)
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
        compare(name, x, y, **how)
        compare(name, x, x.copy(), **how)
    compare("smooth_l1_loss", x, y, beta=0.3, **how)
    compare("smooth_l1_loss", x, y, beta=0.0, **how)
    compare("huber_loss", x, y, delta=0.4, **how)
    compare("binary_cross_entropy", positive(3, 4), positive(3, 4), Fixed(positive(3, 4)), **how)
    certain = np.array([0.0, 0.0, 1.0, 1.0, 1e-13, 1 - 1e-13])
    # torch bounds the denominator of the slope by 1e-12 in single precision.
    compare("binary_cross_entropy", certain, Fixed(np.array([0.0, 1.0, 0.0, 1.0, 1.0, 0.0])), _slope=1e-7, **how)
    weights = {"weight": Fixed(positive(3, 4)), "pos_weight": Fixed(positive(4))}
    compare("binary_cross_entropy_with_logits", 50 * x, positive(3, 4), **weights, **how)
    compare("kl_div", x, positive(3, 4), **how)
    compare("kl_div", x, y, log_target=True, **how)
    compare("kl_div", x, positive(3, 4), reduction="batchmean")
    compare("cosine_embedding_loss", x, y, np.array([1, -1, -1]), margin=0.1, **how)
    compare("hinge_embedding_loss", x, signs(3, 4).astype(int), margin=0.6, **how)
    compare("margin_ranking_loss", x, y, signs(3, 4), margin=0.2, **how)
    compare("margin_ranking_loss", x, x.copy(), signs(3, 4), **how)
    compare("soft_margin_loss", x, signs(3, 4).astype(int), **how)
    compare("triplet_margin_loss", x, y, normal(3, 4), **how)
    compare("triplet_margin_loss", x, y, normal(3, 4), p=3.0, swap=True, margin=0.3, **how)
    compare("gaussian_nll_loss", x, y, positive(3, 4), **how)
    compare("gaussian_nll_loss", x, y, positive(3, 1), full=True, **how)
    compare("poisson_nll_loss", x, classes(5, 3, 4), **how)
    compare("poisson_nll_loss", x, Fixed(classes(5, 3, 4).astype(float)), full=True, **how)
    compare("poisson_nll_loss", positive(3, 4), classes(5, 3, 4), log_input=False, **how)


def test_similarity() -> None:
    compare("cosine_similarity", normal(3, 4), normal(3, 4))
    compare("cosine_similarity", normal(3, 4, 2), normal(3, 4, 2), dim=-1)
    compare("cosine_similarity", np.array([[0.0, 0.0], [1.0, 2.0]]), normal(2, 2))
    compare("pairwise_distance", normal(3, 4), normal(3, 4), keepdim=True)
    compare("pairwise_distance", normal(3, 4), normal(3, 4), p=3.0)


def test_attention() -> None:
    q, k, v = normal(2, 3, 4, 5), normal(2, 3, 6, 5), normal(2, 3, 6, 7)
    compare("scaled_dot_product_attention", q, k, v)
    compare("scaled_dot_product_attention", q, k, v, is_causal=True)
    compare("scaled_dot_product_attention", q, k, v, scale=0.3)
    compare("scaled_dot_product_attention", q, k, v, attn_mask=normal(4, 6))
    mask = RANDOM.uniform(size=(2, 1, 4, 6)) < 0.5
    mask[0, 0, 1] = False
    compare("scaled_dot_product_attention", q, k, v, attn_mask=mask)
    compare("scaled_dot_product_attention", normal(2, 4, 3, 5), normal(2, 2, 3, 5), normal(2, 2, 3, 5), enable_gqa=True)


def test_layers() -> None:
    compare("linear", normal(2, 3, 4), normal(5, 4), normal(5))
    compare("linear", normal(4), normal(5, 4))
    compare("bilinear", normal(3, 2), normal(3, 4), normal(5, 2, 4), normal(5))
    compare("embedding", classes(6, 2, 3), normal(6, 4))
    compare("embedding", np.array([[0, 2, 2], [5, 1, 2]]), normal(6, 4), padding_idx=2)
    compare("embedding", np.array([5, 1]), normal(6, 4), padding_idx=-1)
    np.testing.assert_array_equal(
        F.one_hot(np.array([[0, 2], [1, 1]]), 4), torch.nn.functional.one_hot(torch.tensor([[0, 2], [1, 1]]), 4).numpy()
    )
    compare("dropout", normal(3, 4), 0.0)
    compare("dropout", normal(3, 4), 0.3, training=False)


def test_pad() -> None:
    compare("pad", normal(2, 3, 4), (1, 2))
    compare("pad", normal(2, 3, 4), (1, 0, 2, 1), value=3.5)
    compare("pad", normal(2, 3, 4), (-1, 2, 0, -2))
    compare("pad", normal(1, 2, 4, 5), (1, 2, 3, 0), mode="reflect")
    compare("pad", normal(1, 2, 4, 5), (1, 2, 3, 0), mode="replicate")
    compare("pad", normal(1, 2, 4, 5), (1, 2, 3, 0), mode="circular")
