"""Sequences of different lengths as one array and back, under the names of `torch.nn.utils.rnn`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft import ops
from weft.errors import ShapeError

__all__ = ["pad_sequence", "unpad_sequence"]


def pad_sequence(
    sequences: Sequence[Any], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Any:
    """Arrays (length, *) of different lengths, padded to the longest: (longest, batch, *), or the batch first.

    >>> import weft
    >>> pad_sequence([weft.tensor([1.0, 2.0]), weft.tensor([3.0])], batch_first=True)
    tensor([[1., 2.],
            [3., 0.]])
    """
    parts = list(sequences)
    if not parts:
        raise ValueError("pad_sequence: there are no sequences")
    if padding_side not in ("right", "left"):
        raise ValueError(f"pad_sequence: padding_side must be 'right' or 'left', got {padding_side!r}")
    for part in parts:
        if not part.shape or part.shape[1:] != parts[0].shape[1:]:
            shapes = [tuple(one.shape) for one in parts]
            raise ShapeError(f"pad_sequence: the sequences may differ in their first dimension only, got {shapes}")
    longest = max(part.shape[0] for part in parts)
    padded = []
    for part in parts:
        missing = longest - part.shape[0]
        sides = (0, missing) if padding_side == "right" else (missing, 0)
        widths = (sides, *((0, 0),) * (len(part.shape) - 1))
        padded.append(ops.pad(part, widths, constant_values=padding_value))
    return ops.stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Any]:
    """The sequences of a padded array, each cut to its length.

    >>> import weft
    >>> unpad_sequence(weft.tensor([[1.0, 2.0], [3.0, 0.0]]), [2, 1], batch_first=True)
    [tensor([1., 2.]), tensor([3.])]
    """
    rows = ops.unstack(padded_sequences, 0 if batch_first else 1)
    counts = [int(length) for length in lengths]
    if len(counts) != len(rows):
        raise ShapeError(f"unpad_sequence: {len(counts)} lengths for {len(rows)} sequences")
    return [row[:count] for row, count in zip(rows, counts, strict=True)]
