"""Attention over sequences, in several heads (Vaswani et al., 2017)."""

from __future__ import annotations

from typing import Any

from weft import ops
from weft._module import Module
from weft.nn import init
from weft.nn._make import check_device, check_sizes, parameter
from weft.nn.linear import Linear

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Each query's average of the values, weighted by how well their keys match it, in `num_heads` heads.

    Input is (steps, batch, features), (batch, steps, features) with `batch_first`, or (steps, features) for one
    sequence. Gives (output, weights), the weights averaged over the heads unless `average_attn_weights` is False, None
    without `need_weights`. A boolean mask is true where attention is *not* allowed, any other is added to the scores;
    `is_causal` without a mask lets each query see the keys up to its own position.

    >>> import numpy as np
    >>> x = np.zeros((2, 5, 8), np.float32)
    >>> output, weights = MultiheadAttention(8, 2, batch_first=True)(x, x, x)
    >>> output.shape, weights.shape
    ((2, 5, 8), (2, 5, 5))
    """

    _fixed_when_traced = ("need_weights", "average_attn_weights", "is_causal")

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        check_device(device)
        check_sizes(self, 1, embed_dim=embed_dim, num_heads=num_heads)
        if embed_dim % num_heads:
            raise ValueError(f"MultiheadAttention: {embed_dim} features cannot be split into {num_heads} heads")
        if not 0 <= dropout <= 1:
            raise ValueError(f"MultiheadAttention: dropout must be between 0 and 1, got {dropout}")
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.add_zero_attn = add_zero_attn
        same = self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        self.register_parameter("in_proj_weight", parameter(3 * embed_dim, embed_dim, dtype=dtype) if same else None)
        for name, width in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
            made = None if same else parameter(embed_dim, width, dtype=dtype)
            self.register_parameter(f"{name}_proj_weight", made)
        self.register_parameter("in_proj_bias", parameter(3 * embed_dim, dtype=dtype) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias, dtype=dtype)
        for name in ("bias_k", "bias_v"):
            self.register_parameter(name, parameter(1, 1, embed_dim, dtype=dtype) if add_bias_kv else None)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        """Draw the parameters anew; those of `out_proj` were drawn by it, but its bias starts at zero."""
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if self._parameters[name] is not None:
                init.xavier_uniform_(self._parameters[name])
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def _arguments(self) -> dict[str, Any]:
        """What to build another one with."""
        same = ("embed_dim", "num_heads", "dropout", "add_zero_attn", "kdim", "vdim", "batch_first")
        extra = {"bias": self.in_proj_bias is not None, "add_bias_kv": self.bias_k is not None}
        return {name: getattr(self, name) for name in same} | extra

    def forward(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> Any:
        """The output for each query, and how much each key had to do with it."""
        apart = () if self._qkv_same_embed_dim else (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        found = ops.multi_head_attention(
            query,
            key,
            value,
            list(apart) or [self.in_proj_weight],
            self.in_proj_bias,
            self.out_proj.weight,
            self.out_proj.bias,
            self.num_heads,
            key_padding_mask,
            attn_mask,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout if self.training else 0.0,
            need_weights,
            average_attn_weights,
            is_causal,
            self.batch_first,
        )
        return (found[0], found[1]) if need_weights else (found, None)
