"""Transformer layers: attention and a small network for each position, each with a sum around and a normalisation.

>>> import numpy as np
>>> layer = TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16, batch_first=True)
>>> TransformerEncoder(layer, num_layers=3)(np.zeros((2, 5, 8), np.float32)).shape
(2, 5, 8)
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

import weft.nn.functional as F
from weft._module import Module
from weft.autograd import Tensor
from weft.nn import init
from weft.nn.attention import MultiheadAttention
from weft.nn.containers import ModuleList
from weft.nn.dropout import Dropout
from weft.nn.linear import Linear
from weft.nn.normalization import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

Activation = str | Callable[[Any], Any]


class _Layer(Module):
    """What encoder and decoder layers share: the network for each position, and where normalisation goes."""

    norm_first: bool
    activation: Callable[[Any], Any]

    def _arguments(self) -> dict[str, Any]:
        """What to build another one with."""
        return {
            "d_model": self.linear1.in_features,
            "nhead": self.self_attn.num_heads,
            "dim_feedforward": self.linear1.out_features,
            "dropout": self.dropout.p,
            "activation": _NAMES.get(self.activation, self.activation),
            "layer_norm_eps": self.norm1.eps,
            "batch_first": self.self_attn.batch_first,
            "norm_first": self.norm_first,
            "bias": self.linear1.bias is not None,
        }

    def _feed_forward(self, x: Any) -> Any:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _around(self, x: Any, norm: Module, part: Callable[[Any], Any]) -> Any:
        """A part of the layer with the sum around it, normalised before or after."""
        return x + part(norm(x)) if self.norm_first else norm(x + part(x))


class TransformerEncoderLayer(_Layer):
    """Attention of a sequence to itself, then a network of one hidden layer at each position."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        how: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, **how)
        self.linear1 = Linear(d_model, dim_feedforward, **how)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **how)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, **how)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, **how)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = _activation(activation)

    def forward(
        self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool | None = False
    ) -> Any:
        """The sequence after both parts."""

        def attention(x: Any) -> Any:
            return self.dropout1(self.self_attn(x, x, x, src_key_padding_mask, False, src_mask, True, is_causal)[0])

        def network(x: Any) -> Any:
            return self.dropout2(self._feed_forward(x))

        return self._around(self._around(src, self.norm1, attention), self.norm2, network)


class TransformerDecoderLayer(_Layer):
    """Attention of a sequence to itself, then to another one, then a network of one hidden layer at each position."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        how: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, **how)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, **how)
        self.linear1 = Linear(d_model, dim_feedforward, **how)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **how)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, **how)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, **how)
        self.norm3 = LayerNorm(d_model, layer_norm_eps, **how)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = _activation(activation)

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Any:
        """The sequence after all three parts."""

        def own(x: Any) -> Any:
            return self.dropout1(self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask, True, tgt_is_causal)[0])

        def other(x: Any) -> Any:
            masks = (memory_key_padding_mask, False, memory_mask, True, memory_is_causal)
            return self.dropout2(self.multihead_attn(x, memory, memory, *masks)[0])

        def network(x: Any) -> Any:
            return self.dropout3(self._feed_forward(x))

        x = self._around(self._around(tgt, self.norm1, own), self.norm2, other)
        return self._around(x, self.norm3, network)


class _Stack(Module):
    """Copies of a layer, one after another."""

    layers: ModuleList

    def __init__(self, layer: Module, num_layers: int, norm: Module | None) -> None:
        super().__init__()
        self.layers = ModuleList(copy.deepcopy(layer) for _ in range(num_layers))
        self.add_module("norm", norm)

    def _repr_children(self) -> list[tuple[str, str]]:
        return [(name, text) for name, text in super()._repr_children() if text != "None"]

    @property
    def num_layers(self) -> int:
        """How many layers there are."""
        return len(self.layers)


class TransformerEncoder(_Stack):
    """Copies of an encoder layer, one after another, and a last normalisation where one is given."""

    def __init__(
        self,
        encoder_layer: TransformerEncoderLayer,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__(encoder_layer, num_layers, norm)

    def _arguments(self) -> dict[str, Any]:
        """What to build an empty one with: its layers are written down by themselves."""
        return {"encoder_layer": None, "num_layers": 0}

    def forward(
        self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool | None = None
    ) -> Any:
        """The sequence after all layers."""
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, is_causal)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(_Stack):
    """Copies of a decoder layer, one after another, and a last normalisation where one is given."""

    def __init__(self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def _arguments(self) -> dict[str, Any]:
        """What to build an empty one with: its layers are written down by themselves."""
        return {"decoder_layer": None, "num_layers": 0}

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        """The sequence after all layers, each of which sees `memory`."""
        masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        for layer in self.layers:
            tgt = layer(tgt, memory, *masks, tgt_is_causal, memory_is_causal)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder that sees what it gives: `transformer(src, tgt)`."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        sizes = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps)
        how = (batch_first, norm_first, bias, device, dtype)

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*sizes, *how), num_encoder_layers, norm()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*sizes, *how), num_decoder_layers, norm()
        )
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Any,
        tgt: Any,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        """What the decoder makes of `tgt`, given what the encoder makes of `src`."""
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        return self.decoder(tgt, memory, *masks, tgt_is_causal, memory_is_causal)

    def _arguments(self) -> dict[str, Any]:
        """What to build an empty one with: its layers are written down by themselves."""
        sizes = {"d_model": self.d_model, "nhead": self.nhead, "batch_first": self.batch_first}
        return {**sizes, "num_encoder_layers": 0, "num_decoder_layers": 0}

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """A mask to add to scores that lets each position see those up to itself: -inf above the diagonal.

        >>> Transformer.generate_square_subsequent_mask(2)
        tensor([[  0., -inf],
                [  0.,   0.]], dtype=float32)
        """
        return Tensor(np.triu(np.full((sz, sz), -np.inf, np.float32 if dtype is None else dtype), k=1))


_NAMES: dict[Callable[[Any], Any], str] = {F.relu: "relu", F.gelu: "gelu"}


def _activation(activation: Activation) -> Callable[[Any], Any]:
    if not isinstance(activation, str):
        return activation
    for function, name in _NAMES.items():
        if name == activation:
            return function
    raise ValueError(f"activation must be 'relu', 'gelu' or a function, got {activation!r}")
