"""What the ops of neural networks say when they are given something that does not fit, on arrays and on Specs alike."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from cases import integers, normal

import weft
from weft.errors import DtypeError, IndexingError, ShapeError, UnknownShape, WeftError
from weft.ops import spec_of

CALLS: list[tuple[type[Exception], str, str, tuple[Any, ...], dict[str, Any]]] = [
    (ShapeError, "conv2d: input (1, 3, 4, 4) has 3 channels, weight (2, 4, 3, 3) with groups=1 takes 4",
     "conv2d", (normal(1, 3, 4, 4), normal(2, 4, 3, 3)), {}),
    (ShapeError, "conv2d: expected an input of 4 dimensions, or 3 for one sample, got (4, 4)",
     "conv2d", (normal(4, 4), normal(2, 4, 3, 3)), {}),
    (ShapeError, "conv1d: the kernel spans (5,), more than the padded input (4,)",
     "conv1d", (normal(1, 1, 4), normal(1, 1, 3)), {"dilation": 2}),
    (ShapeError, "conv1d: 3 features do not divide into 2 groups",
     "conv1d", (normal(1, 4, 4), normal(3, 2, 2)), {"groups": 2}),
    (ShapeError, "conv1d: expected a bias of shape (2,), got (3,)",
     "conv1d", (normal(1, 1, 4), normal(2, 1, 2), normal(3)), {}),
    (ShapeError, "conv1d: expected input and weight of 3 dimensions, got (1, 1, 4) and (2, 1, 2, 2)",
     "conv1d", (normal(1, 1, 4), normal(2, 1, 2, 2)), {"padding": 0}),
    (ShapeError, "conv1d: padding='same' needs stride 1, got (2,)",
     "conv1d", (normal(1, 1, 4), normal(2, 1, 2)), {"padding": "same", "stride": 2}),
    (ShapeError, "conv1d: padding is a number, a tuple, 'same' or 'valid', got 'full'",
     "conv1d", (normal(1, 1, 4), normal(2, 1, 2)), {"padding": "full"}),
    (ShapeError, "conv2d: stride needs one number or 2, got (1, 2, 3)",
     "conv2d", (normal(1, 1, 4, 4), normal(2, 1, 2, 2)), {"stride": (1, 2, 3)}),
    (ShapeError, "conv1d: stride must be at least 1, got 0",
     "conv1d", (normal(1, 1, 4), normal(2, 1, 2)), {"stride": 0}),
    (DtypeError, "conv: expected numbers, got bool and bool",
     "conv1d", (np.ones((1, 1, 4), bool), np.ones((2, 1, 2), bool)), {}),
    (ShapeError, "conv_transpose1d: input (1, 3, 4) and weight (2, 1, 2) do not fit",
     "conv_transpose1d", (normal(1, 3, 4), normal(2, 1, 2)), {}),
    (ShapeError, "conv_transpose1d: output_padding (1,) must be smaller than stride (1,) or dilation (1,)",
     "conv_transpose1d", (normal(1, 2, 4), normal(2, 1, 2)), {"output_padding": 1}),
    (ShapeError, "conv_input: expected a gradient of shape (1, 2, 4), got (1, 2, 3)",
     "conv_input", (normal(1, 2, 3), normal(2, 1, 2), (5,), (1,), ((0, 0),), (1,)), {}),
    (ShapeError, "conv_weight: expected a gradient of shape (1, 2, 3), got (1, 2, 4)",
     "conv_weight", (normal(1, 1, 4), normal(1, 2, 4), (2,), (1,), ((0, 0),), (1,)), {}),
    (ShapeError, "max_pool2d: padding 2 is more than half of a window of 3",
     "max_pool2d", (normal(1, 1, 4, 4), 3), {"padding": 2}),
    (ShapeError, "max_pool: windows (5, 5) with dilation (1, 1) do not fit in (4, 4)",
     "max_pool2d", (normal(1, 1, 4, 4), 5), {}),
    (DtypeError, "max_pool: expected real numbers, got complex128",
     "max_pool1d", (normal(1, 4, dtype=complex), 2), {}),
    (ShapeError, "avg_pool2d: expected an input of 4 dimensions, or 3 for one sample, got (4, 4)",
     "avg_pool2d", (normal(4, 4), 2), {}),
    (ShapeError, "overlap_add: size (5,) has (4,) such windows, got (3,)",
     "overlap_add", (normal(3, 2), (5,), (1,), (1,)), {}),
    (ShapeError, "fold: expected (batch, channels * 4, 9), got (1, 4, 8)",
     "fold", (normal(1, 4, 8), 4, 2), {}),
    (ShapeError, "adaptive_avg_pool2d: output_size needs one number or 2, got (1, 2, 3)",
     "adaptive_avg_pool2d", (normal(1, 1, 4, 4), (1, 2, 3)), {}),
    (ShapeError, "adaptive_max_pool1d: output_size must be at least 1, got 0",
     "adaptive_max_pool1d", (normal(1, 1, 4), 0), {}),
    (ValueError, "interpolate: mode 'bilinear' is not one for 1 dimensions of space",
     "interpolate", (normal(1, 1, 4), 3), {"mode": "bilinear"}),
    (ShapeError, "interpolate: expected size or scale_factor",
     "interpolate", (normal(1, 1, 4),), {}),
    (ShapeError, "layer_norm: the input (2, 3) must end with normalized_shape (4,)",
     "layer_norm", (normal(2, 3), (4,)), {}),
    (ShapeError, "layer_norm: expected a weight of shape (3,), got (2,)",
     "layer_norm", (normal(2, 3), (3,), normal(2)), {}),
    (DtypeError, "layer_norm: expected real numbers, got complex128",
     "layer_norm", (normal(2, 3, dtype=complex), (3,)), {}),
    (ShapeError, "batch_norm: training needs more than one value a channel, got input (1, 3)",
     "batch_norm", (normal(1, 3), None, None), {"training": True}),
    (ShapeError, "batch_norm: evaluation needs running_mean and running_var, got None",
     "batch_norm", (normal(2, 3), None, None), {}),
    (ShapeError, "batch_norm: expected running_mean of shape (3,), got (2,)",
     "batch_norm", (normal(2, 3), normal(2), normal(3)), {}),
    (ShapeError, "batch_norm: expected at least 2 dimensions (batch, channels, ...), got (3,)",
     "batch_norm", (normal(3), normal(3), normal(3)), {}),
    (ShapeError, "instance_norm: expected more than one value a channel, got input (2, 3, 1)",
     "instance_norm", (normal(2, 3, 1),), {}),
    (ShapeError, "group_norm: 3 channels do not divide into 2 groups",
     "group_norm", (normal(2, 3), 2), {}),
    (ValueError, "gelu: approximate must be 'none' or 'tanh', got 'fast'",
     "gelu", (normal(3), "fast"), {}),
    (ValueError, "hardtanh: min_val must not be above max_val, got 1.0 and -1.0",
     "hardtanh", (normal(3), 1.0, -1.0), {}),
    (DtypeError, "relu: expected real numbers, got complex128", "relu", (normal(3, dtype=complex),), {}),
    (DtypeError, "softplus: expected real numbers, got complex128", "softplus", (normal(3, dtype=complex),), {}),
    (DtypeError, "softmax: expected real numbers, got complex128", "softmax", (normal(3, dtype=complex),), {}),
    (ShapeError, "softmax: axis 2 is out of range for an array of 2 dimensions", "softmax", (normal(2, 3), 2), {}),
    (ShapeError, "glu: the size of axis -1 must be even, got 3", "glu", (normal(2, 3),), {}),
    (ShapeError, "prelu: expected one weight or 3, one a channel, got shape (2,)",
     "prelu", (normal(2, 3), normal(2)), {}),
    (ShapeError, "cross_entropy: input (2, 3) needs class indices of shape (2,), got (3,)",
     "cross_entropy", (normal(2, 3), integers(0, 3, 3)), {}),
    (ShapeError, "cross_entropy: expected input and target of one shape, got (2, 3) and (2, 2)",
     "cross_entropy", (normal(2, 3), normal(2, 2)), {}),
    (ShapeError, "nll_loss: expected a weight for each of 3 classes, got (2,)",
     "nll_loss", (normal(2, 3), integers(0, 3, 2), normal(2)), {}),
    (ValueError, "mse_loss: reduction must be 'none', 'mean' or 'sum', got 'median'",
     "mse_loss", (normal(2), normal(2)), {"reduction": "median"}),
    (ValueError, "huber_loss: delta must be positive, got 0", "huber_loss", (normal(2), normal(2)), {"delta": 0}),
    (ShapeError, "binary_cross_entropy: expected input and target of one shape, got (2,) and (3,)",
     "binary_cross_entropy", (normal(2), normal(3)), {}),
    (ShapeError, "linear: input (2, 3) and weight (4, 2) must end in the same size",
     "linear", (normal(2, 3), normal(4, 2)), {}),
    (DtypeError, "embedding: expected integer indices, got float64", "embedding", (normal(2), normal(4, 2)), {}),
    (DtypeError, "one_hot: expected integers, got float64", "one_hot", (normal(2), 3), {}),
    (ValueError, "dropout: p must be between 0 and 1, got 1.5", "dropout", (normal(2), 1.5), {}),
    (ShapeError, "dropout2d: expected 4 dimensions, or 3 for one sample, got (2, 3)", "dropout2d", (normal(2, 3),), {}),
    (ShapeError, "pad_trailing: expected pairs for at most 2 dimensions, got (1, 2, 3)",
     "pad_trailing", (normal(2, 3), (1, 2, 3)), {}),
    (ShapeError, "scaled_dot_product_attention: query (2, 3), key (4, 2) and value (4, 3) do not fit",
     "scaled_dot_product_attention", (normal(2, 3), normal(4, 2), normal(4, 3)), {}),
    (ValueError, "scaled_dot_product_attention: attn_mask and is_causal exclude each other",
     "scaled_dot_product_attention", (normal(2, 3),) * 3, {"attn_mask": np.ones((2, 2), bool), "is_causal": True}),
]  # fmt: skip


@pytest.mark.parametrize("abstract", [False, True], ids=["array", "spec"])
@pytest.mark.parametrize(("error", "message", "name", "args", "kwargs"), CALLS, ids=[c[1][:40] for c in CALLS])
def test_message(error: Any, message: str, name: str, args: Any, kwargs: Any, abstract: bool) -> None:
    if abstract:
        args = tuple(spec_of(a) if isinstance(a, np.ndarray) else a for a in args)
    with pytest.raises(error, match=re.escape(message)):
        getattr(weft, name)(*args, **kwargs)


def test_values_out_of_range() -> None:
    with pytest.raises(IndexingError, match="class 3 is not one of 0 to 2"):
        weft.cross_entropy(normal(2, 3), np.array([0, 3]))
    with pytest.raises(IndexingError, match="class -1 is not one of 0 to 2"):
        weft.nll_loss(normal(2, 3), np.array([0, -1]))
    with pytest.raises(IndexingError, match="index -1 is not one of 4 rows"):
        weft.embedding(np.array([0, -1]), normal(4, 2))
    with pytest.raises(IndexingError, match="class 3 is not one of 0 to 2"):
        weft.one_hot(np.array([3]), 3)
    with pytest.raises(ShapeError, match="num_classes must be given for an empty array"):
        weft.one_hot(np.zeros(0, int))


def test_one_hot_of_unknown_size() -> None:
    with pytest.raises(UnknownShape, match="without num_classes the result's size depends on the largest value"):
        weft.one_hot(weft.spec((3,), int))


def test_help_says_what_to_do() -> None:
    with pytest.raises(WeftError) as caught:
        weft.linear(normal(2, 3), normal(3, 4))
    assert caught.value.help is not None
    assert caught.value.help.startswith("the weight is (features out, features in); a layer's in_features")
