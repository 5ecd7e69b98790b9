"""Attention and transformer layers against torch's: values, weights, and gradients of inputs, masks and parameters."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np
import pytest
import torch
from like_torch import compare, normal, pair, share, spread_alike

import weft
from weft import nn

PADDING = np.array([[False, False, True, False, True], [False, True, False, False, False]])


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("extra", [{}, {"add_bias_kv": True}, {"add_zero_attn": True}, {"kdim": 5, "vdim": 7}])
@pytest.mark.parametrize("batch_first", [True, False])
def test_attention(bias: bool, extra: dict[str, Any], batch_first: bool) -> None:
    ours, theirs = pair("MultiheadAttention", (6, 2), {"bias": bias, "batch_first": batch_first, **extra})
    q, k, v = normal(2, 3, 6), normal(2, 5, ours.kdim), normal(2, 5, ours.vdim)
    if not batch_first:
        q, k, v = (np.ascontiguousarray(np.moveaxis(x, 0, 1)) for x in (q, k, v))
    floats = np.where(np.arange(15).reshape(3, 5) % 4 == 2, -np.inf, normal(3, 5))
    forbidden = np.tile(np.arange(5) == 3, (4, 3, 1))
    compare(ours, theirs, q, k, v)
    compare(ours, theirs, q, k, v, need_weights=False)
    compare(ours, theirs, q, k, v, average_attn_weights=False)
    compare(ours, theirs, q, k, v, PADDING)
    compare(ours, theirs, q, k, v, attn_mask=floats)
    compare(ours, theirs, q, k, v, attn_mask=forbidden[0], need_weights=False)
    compare(ours, theirs, q, k, v, PADDING, attn_mask=forbidden)
    compare(ours, theirs, q, k, v, attn_mask=normal(4, 3, 5))
    one = (x[0] if batch_first else x[:, 0] for x in (q, k, v))
    compare(ours, theirs, *one, key_padding_mask=PADDING[0])


def test_attention_of_a_sequence_to_itself() -> None:
    ours, theirs = pair("MultiheadAttention", (6, 3), {"batch_first": True})
    x = normal(2, 4, 6)
    causal = ~np.tri(4, dtype=bool)

    def twice(layer: Any) -> Any:
        class Itself(type(layer).__mro__[-2]):
            def __init__(self) -> None:
                super().__init__()
                self.layer = layer

            def forward(self, x: Any, mask: Any) -> Any:
                return self.layer(x, x, x, attn_mask=mask, is_causal=True)

        return Itself()

    compare(twice(ours), twice(theirs), x, causal)
    got = ours(x, x, x, is_causal=True)[0]  # the mask that torch asks for is made here
    expected = theirs(*[torch.tensor(x)] * 3, attn_mask=torch.tensor(causal), is_causal=True)[0]
    np.testing.assert_allclose(got.numpy(), expected.detach().numpy(), rtol=1e-10)


LAYERS = [
    {"activation": activation, "norm_first": norm_first, "batch_first": batch_first, "bias": bias}
    for activation, norm_first, batch_first, bias in itertools.product(
        ("relu", "gelu"), (True, False), (True, False), (True, False)
    )
]


# torch's fast way for inference computes the same; it complains where it has to take the other one.
@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True, but:UserWarning")
@pytest.mark.parametrize("how", LAYERS, ids=str)
def test_transformer(how: dict[str, Any]) -> None:
    sizes = {"dim_feedforward": 7, "dropout": 0.0, "layer_norm_eps": 1e-3, **how}
    source = normal(2, 5, 6) if how["batch_first"] else normal(5, 2, 6)
    target = normal(2, 3, 6) if how["batch_first"] else normal(3, 2, 6)
    causal = nn.Transformer.generate_square_subsequent_mask(5, dtype=np.float64).numpy()
    floats = np.where(PADDING, -np.inf, 0.0)
    forbidden = np.arange(15).reshape(3, 5) % 4 == 1
    for ours, theirs in (
        pair("TransformerEncoderLayer", (6, 2), sizes),
        stacks("Encoder", sizes),
        stacks("Encoder", sizes, norm=True),
    ):
        for training in (True, False):
            ours.train(training)
            theirs.train(training)
            compare(ours, theirs, source)
            compare(ours, theirs, source, causal, src_key_padding_mask=floats)
            compare(ours, theirs, source, np.isinf(causal), is_causal=True)
        assert text(ours) == text(theirs)
    for ours, theirs in (
        pair("TransformerDecoderLayer", (6, 2), sizes),
        stacks("Decoder", sizes, norm=True),
    ):
        compare(ours, theirs, target, source)
        masks = {"tgt_mask": np.isinf(causal[:3, :3]), "memory_mask": forbidden, "memory_key_padding_mask": PADDING}
        compare(ours, theirs, target, source, **masks)
        assert text(ours) == text(theirs)
    ours, theirs = pair("Transformer", (6, 2, 1, 2), sizes)
    compare(ours, theirs, source, target, src_key_padding_mask=PADDING)


def both(name: str, layer: tuple[Any, Any], *args: Any) -> tuple[Any, Any]:
    return tuple(getattr(side, name)(each, *args) for side, each in zip((nn, torch.nn), layer, strict=True))


def stacks(kind: str, sizes: dict[str, Any], norm: bool = False) -> tuple[Any, Any]:
    layer = pair(f"Transformer{kind}Layer", (6, 2), sizes)
    made = both("TransformerEncoder", layer, 2) if kind == "Encoder" else both("TransformerDecoder", layer, 2)
    if norm:
        made[0].norm, made[1].norm = (side.LayerNorm(6) for side in (nn, torch.nn))
    return share(made[0].double(), made[1].double())


def text(module: Any) -> list[str]:
    """Without the numbers of parameters, and without torch's name for a Linear that it does not quantise."""
    return [line.split("  #")[0].replace("NonDynamicallyQuantizable", "") for line in repr(module).splitlines()]


def test_masks_made_for_a_sequence() -> None:
    np.testing.assert_array_equal(
        nn.Transformer.generate_square_subsequent_mask(4).numpy(),
        torch.nn.Transformer.generate_square_subsequent_mask(4).numpy(),
    )


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True, but:UserWarning")
@pytest.mark.parametrize("how", [{}, {"kdim": 40, "vdim": 30, "add_bias_kv": True}])
def test_first_values_have_torchs_spread(how: dict[str, Any]) -> None:
    weft.random.manual_seed(0)
    torch.manual_seed(0)
    ours, theirs = nn.MultiheadAttention(64, 4, **how), torch.nn.MultiheadAttention(64, 4, **how)
    spread_alike(ours, theirs, bounded=not how)
    # Of an encoder's layers all start from the same values, in torch as here.
    layer = nn.TransformerEncoderLayer(64, 4, 80), torch.nn.TransformerEncoderLayer(64, 4, 80)
    spread_alike(*layer, bounded=True)
    made = nn.TransformerEncoder(copy.deepcopy(layer[0]), 2)
    np.testing.assert_array_equal(made.layers[0].linear1.weight, made.layers[1].linear1.weight)
    spread_alike(nn.Transformer(32, 2, 1, 1, 64), torch.nn.Transformer(32, 2, 1, 1, 64), bounded=True)
