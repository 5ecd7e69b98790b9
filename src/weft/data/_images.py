"""What is done to one array: images of shape (..., H, W) or (..., C, H, W), and labels. Plain NumPy in and out.

>>> image = np.arange(12).reshape(3, 4)
>>> crop(image, 2)
array([[1, 2],
       [5, 6]])
>>> flip(image)[0]
array([3, 2, 1, 0])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.errors import DtypeError, IndexingError, ShapeError

__all__ = ["crop", "flip", "normalise", "one_hot", "pad", "random_crop", "random_flip", "tile"]

Array = np.ndarray[Any, Any]
Pair = int | Sequence[int]


def crop(x: Any, size: Pair, at: str | Sequence[int] = "centre") -> Array:
    """The part of the image of this size (height, width): in the centre, or with its upper left corner at `at`."""
    image = _image("crop", x)
    spare = _spare(image, size)
    if isinstance(at, str):
        if at != "centre":
            raise ValueError(f"crop: at is 'centre' or (top, left), got {at!r}")
        top, left = spare[0] // 2, spare[1] // 2
    else:
        top, left = at
    if not (0 <= top <= spare[0] and 0 <= left <= spare[1]):
        raise ShapeError(f"crop: {_pair(size)} at {(top, left)} is not inside an image of {image.shape[-2:]}")
    height, width = _pair(size)
    return image[..., top : top + height, left : left + width]


def random_crop(x: Any, size: Pair, generator: np.random.Generator) -> Array:
    """A part of the image of this size, from anywhere in it with equal probability.

    >>> random_crop(np.arange(5)[None], (1, 2), np.random.default_rng(0)).shape
    (1, 2)
    """
    rows, columns = _spare(_image("crop", x), size)
    return crop(x, size, (int(generator.integers(rows + 1)), int(generator.integers(columns + 1))))


def pad(x: Any, width: Pair, mode: Any = "constant", value: float = 0) -> Array:
    """The image with a border: `width` is one number, (rows, columns), or (top, bottom, left, right).

    `mode` is any of np.pad's; `value` fills the border where it is "constant".

    >>> pad(np.ones((1, 1)), (0, 1))
    array([[0., 1., 0.]])
    """
    image = _image("pad", x)
    given = [width] if isinstance(width, int) else list(width)
    if len(given) not in (1, 2, 4):
        raise ValueError(f"pad: width is 1, 2 or 4 numbers, got {width}")
    top, bottom, left, right = {1: given * 4, 2: [given[0]] * 2 + given[1:] * 2, 4: given}[len(given)]
    sides = [(0, 0)] * (image.ndim - 2) + [(top, bottom), (left, right)]
    extra: dict[str, Any] = {"constant_values": value} if mode == "constant" else {}
    return np.pad(image, sides, mode=mode, **extra)


def flip(x: Any, axis: int | tuple[int, ...] = -1) -> Array:
    """The image mirrored: left to right, or along another axis (-2: upside down)."""
    return np.flip(_image("flip", x), axis)


def random_flip(x: Any, generator: np.random.Generator, p: float = 0.5, axis: int | tuple[int, ...] = -1) -> Array:
    """The image mirrored with probability `p`, as it is otherwise."""
    return flip(x, axis) if generator.random() < p else _image("flip", x)


def normalise(x: Any, mean: Any, std: Any) -> Array:
    """(x - mean) / std; a sequence has one number a channel. Whole numbers become float32, other types stay.

    >>> normalise(np.full((2, 1, 1), 6, np.uint8), mean=[2, 4], std=[4, 1]).ravel()
    array([1., 2.], dtype=float32)
    """
    array = np.asarray(x)
    if array.dtype.kind not in "fc":
        array = array.astype(np.float32)
    centre, scale = (_channels(name, value, array) for name, value in (("mean", mean), ("std", std)))
    if not np.all(scale):
        raise ValueError(f"normalise: std has a zero: {std}")
    return (array - centre) / scale


def one_hot(x: Any, classes: int, dtype: npt.DTypeLike = np.float32) -> Array:
    """For each number i a row of `classes` zeros with a one at i, along a new last axis.

    >>> one_hot([2, 0], 3)
    array([[0., 0., 1.],
           [1., 0., 0.]], dtype=float32)
    """
    labels = np.asarray(x)
    if labels.dtype.kind not in "iu" and labels.size:
        raise DtypeError(f"one_hot: labels are whole numbers, got {labels.dtype}")
    if labels.size and not (labels.min() >= 0 and labels.max() < classes):
        raise IndexingError(f"one_hot: labels from {labels.min()} to {labels.max()} for {classes} classes")
    return np.asarray(labels[..., None] == np.arange(classes)).astype(dtype)


def tile(x: Any, repeats: Pair) -> Array:
    """The array repeated side by side: `repeats` copies along the last axes, as np.tile.

    >>> tile(np.array([[1, 2]]), (2, 2))
    array([[1, 2, 1, 2],
           [1, 2, 1, 2]])
    """
    return np.tile(np.asarray(x), repeats)


def _image(name: str, x: Any) -> Array:
    image = np.asarray(x)
    if image.ndim < 2:
        raise ShapeError(f"{name}: an image has at least two axes (height, width), got shape {image.shape}")
    return image


def _pair(size: Pair) -> tuple[int, int]:
    height, width = (size, size) if isinstance(size, int) else size
    if height < 0 or width < 0:
        raise ValueError(f"crop: sizes are not negative, got {size}")
    return height, width


def _spare(image: Array, size: Pair) -> tuple[int, int]:
    """How much larger the image is than the size."""
    height, width = _pair(size)
    rows, columns = image.shape[-2] - height, image.shape[-1] - width
    if rows < 0 or columns < 0:
        raise ShapeError(
            f"crop: {(height, width)} is larger than the image, {image.shape[-2:]}", help="pad the image first"
        )
    return rows, columns


def _channels(name: str, value: Any, array: Array) -> Array:
    """One number, or one a channel, in the array's type so that the result keeps it."""
    numbers = np.asarray(value, dtype=array.dtype)
    if numbers.ndim == 0:
        return numbers
    if numbers.ndim != 1 or array.ndim < 3 or len(numbers) != array.shape[-3]:
        raise ShapeError(
            f"normalise: {name} has shape {numbers.shape}, expected one number, or one a channel "
            f"of an array (..., C, H, W), got shape {array.shape}"
        )
    return numbers[:, None, None]
