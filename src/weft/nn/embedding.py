"""Tables of vectors looked up by number."""

from __future__ import annotations

from typing import Any

import weft.nn.functional as F
from weft._module import Module
from weft.autograd import Parameter
from weft.nn import init
from weft.nn._make import check_device, check_sizes, parameter

__all__ = ["Embedding", "EmbeddingBag"]


class Embedding(Module):
    """A vector for each of `num_embeddings` numbers; `padding_idx` names one whose vector stays zero."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        check_device(device)
        check_sizes(self, num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise ValueError(f"padding_idx {padding_idx} is out of range for {num_embeddings} embeddings")
            padding_idx %= num_embeddings
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        self.weight = parameter(num_embeddings, embedding_dim, dtype=dtype)
        self.reset_parameters()

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, padding_idx: int | None = None) -> Embedding:
        """An embedding of given vectors, which stay as they are unless `freeze` is False."""
        weight = Parameter(embeddings, requires_grad=not freeze)
        made = cls(weight.shape[0], weight.shape[1], padding_idx, dtype=weight.dtype)
        made.weight = weight
        return made

    def reset_parameters(self) -> None:
        """Draw the vectors anew."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight.numpy()[self.padding_idx] = 0

    def forward(self, input: Any) -> Any:
        """The vectors of an array of numbers."""
        return F.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        """Sizes."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        return text if self.padding_idx is None else f"{text}, padding_idx={self.padding_idx}"


class EmbeddingBag(Embedding):
    """The sum, mean or maximum of the vectors of each bag of numbers: see `nn.functional.embedding_bag`."""

    _fixed_when_traced = ("offsets", "per_sample_weights")

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if mode not in ("sum", "mean", "max"):
            raise ValueError(f"EmbeddingBag: mode is 'sum', 'mean' or 'max', got {mode!r}")
        if max_norm is not None or scale_grad_by_freq or sparse:
            raise ValueError("EmbeddingBag: max_norm, scale_grad_by_freq and sparse are not there")
        super().__init__(num_embeddings, embedding_dim, padding_idx, device, dtype)
        self.mode = mode
        self.include_last_offset = include_last_offset

    @classmethod
    def from_pretrained(
        cls, embeddings: Any, freeze: bool = True, padding_idx: int | None = None, *, mode: str = "mean", **how: Any
    ) -> EmbeddingBag:
        """Bags of given vectors, which stay as they are unless `freeze` is False."""
        weight = Parameter(embeddings, requires_grad=not freeze)
        count, width = weight.shape
        made = cls(count, width, mode=mode, padding_idx=padding_idx, dtype=weight.dtype, **how)
        made.weight = weight
        return made

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        """A vector for each bag."""
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            mode=self.mode,
            per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset,
            padding_idx=self.padding_idx,
        )

    def extra_repr(self) -> str:
        """Sizes and mode."""
        return f"{super().extra_repr()}, mode={self.mode!r}"
