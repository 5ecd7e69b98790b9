"""The steps of a pipeline that change arrays. What a random one draws depends on seed, epoch and element.

>>> images = [np.arange(9).reshape(3, 3)] * 4
>>> [x.shape for x in Crop(images, size=2, at="random", seed=0)]
[(2, 2), (2, 2), (2, 2), (2, 2)]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from weft.data import _images as images
from weft.data._closing import closing
from weft.data._seeds import Seed, generator, seed_of
from weft.data._steps import _Step, on_parts

__all__ = ["Crop", "Flip", "Normalise", "OneHot", "Pad", "Tile"]


class _Transform(_Step):
    """One function of arrays, over the part of each element that `on` names."""

    _name = ""

    def __init__(self, source: Any, on: Any = None, *, seed: Seed = None, drawn: bool = False, **options: Any) -> None:
        super().__init__(source)
        self.on = on
        self.options = options
        self.seed = seed_of(seed) if drawn else None

    def run(self, epoch: int) -> Iterator[Any]:
        """The elements, changed."""
        with closing(self.source.run(epoch)) as elements:
            for number, element in enumerate(elements):
                try:
                    changed = self._changed(element, epoch, number)
                except Exception as error:
                    error.add_note(f"weft.data: in {self._call()}, element {number}")
                    raise
                yield changed

    def _changed(self, element: Any, epoch: int, number: int) -> Any:
        if self.on is None and isinstance(element, (tuple, dict)):
            raise TypeError(
                f"{self._name}: the element is a {type(element).__name__}; say which part of it is meant: on="
                + ("0" if isinstance(element, tuple) else f"{next(iter(element), 'key')!r}")
            )
        if self.seed is None:
            return on_parts(element, self.on, lambda x: self._fixed(x))
        # Each part starts from the same generator, so that an image and its mask are changed alike.
        path = (self.seed, self._depth, epoch, number)
        return on_parts(element, self.on, lambda x: self._drawn(x, generator(*path)))

    def _fixed(self, x: Any) -> Any:
        return getattr(images, self._name)(x, **self.options)

    def _drawn(self, x: Any, draw: np.random.Generator) -> Any:
        return getattr(images, f"random_{self._name}")(x, generator=draw, **self.options)

    def _call(self) -> str:
        options = dict(self.options)
        if self.seed is not None:
            options["seed"] = self.seed
        if self.on is not None:
            options["on"] = self.on
        return f"{self._name}({', '.join(f'{name}={value!r}' for name, value in options.items())})"


class Crop(_Transform):
    """A part of each image; see `Pipeline.crop`."""

    _name = "crop"

    def __init__(
        self,
        source: Any,
        on: Any = None,
        *,
        size: int | Sequence[int],
        at: str | Sequence[int] = "centre",
        seed: Seed = None,
    ) -> None:
        drawn = isinstance(at, str) and at == "random"
        super().__init__(source, on, seed=seed, drawn=drawn, size=size, **({} if drawn else {"at": at}))


class Flip(_Transform):
    """Each image mirrored, always or with a probability; see `Pipeline.flip`."""

    _name = "flip"

    def __init__(
        self,
        source: Any,
        on: Any = None,
        *,
        axis: int | tuple[int, ...] = -1,
        p: float = 1.0,
        seed: Seed = None,
    ) -> None:
        if not 0 <= p <= 1:
            raise ValueError(f"flip: p is a probability, got {p}")
        drawn = p < 1
        super().__init__(source, on, seed=seed, drawn=drawn, axis=axis, **({"p": p} if drawn else {}))


class Pad(_Transform):
    """Each image with a border; see `weft.data.pad`."""

    _name = "pad"


class Normalise(_Transform):
    """(x - mean) / std of each array; see `weft.data.normalise`."""

    _name = "normalise"


class OneHot(_Transform):
    """A row with a one in it for each whole number; see `weft.data.one_hot`."""

    _name = "one_hot"


class Tile(_Transform):
    """Each array repeated side by side; see `weft.data.tile`."""

    _name = "tile"
