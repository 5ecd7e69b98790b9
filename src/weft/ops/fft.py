"""Discrete Fourier transforms; users find them in `weft.fft`.

`fft`, `ifft`, `rfft` and `irfft` are the primitives, along one axis; the rest are functions over them. The transforms
are linear, so the gradient of each is its adjoint: the transform the other way, with the scaling on the other side.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from weft import ops
from weft.errors import DtypeError, ShapeError
from weft.ops._cost import Cost
from weft.ops._families import composite, conj, op
from weft.ops._matrices import put_in
from weft.ops._op import TABLE
from weft.ops._spec import Spec, is_complex, normalize_axes, normalize_axis, shape_of

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

# Forward and inverse transforms share the total factor 1/n; the adjoint of one is the other with the factor swapped.
_OTHER = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _other(name: str, norm: Any) -> str:
    if norm not in _OTHER:
        raise ValueError(f"{name}: norm is {norm!r}, expected 'backward', 'ortho' or 'forward'")
    return _OTHER[norm]


def _length(name: str, x: Any, n: Any, axis: int, default: Any = None) -> tuple[int, int]:
    """The axis counted from the front and the length of the transform."""
    axis = normalize_axis(name, axis, len(shape_of(x)))
    n = (shape_of(x)[axis] if default is None else default(shape_of(x)[axis])) if n is None else n
    if n < 1:
        raise ShapeError(f"{name}: the transform has {n} points, expected at least 1, for axis {axis} of {shape_of(x)}")
    return axis, n


def _spec(function: Any, x: Any, axis: int, length: int) -> Spec:
    shape = shape_of(x)
    return Spec((*shape[:axis], length, *shape[axis + 1 :]), _dtype(function, np.dtype(x.dtype)))


@lru_cache(maxsize=256)
def _dtype(function: Any, dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.asarray(function(np.zeros(2, dtype))).dtype


def _resized(x: Any, length: int, axis: int) -> Any:
    """Cut x, or fill it with zeros, to the given length of one axis."""
    shape = shape_of(x)
    if shape[axis] > length:
        return x[(slice(None),) * axis + (slice(0, length),)]
    if shape[axis] < length:
        zeros = ops.zeros((*shape[:axis], length - shape[axis], *shape[axis + 1 :]), dtype=x.dtype)
        return ops.concat([x, zeros], axis=axis)
    return x


def _fft_spec(name: str) -> Any:
    def infer(x: Any, n: Any, axis: int, norm: Any) -> Spec:
        _other(name, norm)
        return _spec(getattr(np.fft, name), x, *_length(name, x, n, axis))

    return infer


def _fft_rule(inverse: str) -> Any:
    """The adjoint of a complex transform; of a real argument `like` keeps the real part."""

    def rule(g: Any, y: Any, x: Any, n: Any, axis: int, norm: Any) -> Any:
        axis, _ = _length(inverse, x, n, axis)
        return _resized(TABLE[inverse](g, None, axis, _other(inverse, norm)), shape_of(x)[axis], axis)

    return rule


@op(
    arrays=("x",),
    infer=_fft_spec("fft"),
    vjp=_fft_rule("ifft"),
    numpy=(np.fft.fft,),
    linear=True,
    cost=Cost(scratch=1.0),
)
def fft(x: Any, /, n: int | None = None, axis: int = -1, norm: Any = "backward") -> Any:
    """Discrete Fourier transform along one axis, cut or filled with zeros to n points."""
    return np.fft.fft(x, n, axis, norm)


@op(
    arrays=("x",),
    infer=_fft_spec("ifft"),
    vjp=_fft_rule("fft"),
    numpy=(np.fft.ifft,),
    linear=True,
    cost=Cost(scratch=1.0),
)
def ifft(x: Any, /, n: int | None = None, axis: int = -1, norm: Any = "backward") -> Any:
    """Inverse of `fft` along one axis."""
    return np.fft.ifft(x, n, axis, norm)


def _rfft_spec(x: Any, n: Any, axis: int, norm: Any) -> Spec:
    _other("rfft", norm)
    axis, n = _length("rfft", x, n, axis)
    if is_complex(x):
        raise DtypeError(f"rfft: expected a real array, got {x.dtype}", help="use fft, or take the real part first")
    return _spec(np.fft.rfft, x, axis, n // 2 + 1)


def _rfft_rule(g: Any, y: Any, x: Any, n: Any, axis: int, norm: Any) -> Any:
    # The frequencies that rfft leaves out have no gradient: ifft fills them with zeros, and x is real.
    axis, n = _length("rfft", x, n, axis)
    return _resized(ops.real(ifft(g, n, axis, _other("rfft", norm))), shape_of(x)[axis], axis)


@op(arrays=("x",), infer=_rfft_spec, vjp=_rfft_rule, numpy=(np.fft.rfft,), linear=True)
def rfft(x: Any, /, n: int | None = None, axis: int = -1, norm: Any = "backward") -> Any:
    """Discrete Fourier transform of real numbers along one axis: the n // 2 + 1 frequencies that are not negative."""
    return np.fft.rfft(x, n, axis, norm)


def _twice(m: int) -> int:
    return 2 * (m - 1)


def _irfft_spec(x: Any, n: Any, axis: int, norm: Any) -> Spec:
    _other("irfft", norm)
    axis, n = _length("irfft", x, n, axis, _twice)
    return _spec(np.fft.irfft, x, axis, n)


def _irfft_rule(g: Any, y: Any, x: Any, n: Any, axis: int, norm: Any) -> Any:
    """Each frequency stands for itself and for its conjugate, so it counts twice, save the ones that are their own."""
    axis, n = _length("irfft", x, n, axis, _twice)
    once = rfft(g, n, axis, _other("irfft", norm))

    def part(start: int | None, stop: int | None) -> Any:
        return once[(slice(None),) * axis + (slice(start, stop),)]

    if n % 2:
        parts = [part(0, 1), 2 * part(1, None)]
    else:
        parts = [part(0, 1), 2 * part(1, -1), part(-1, None)]
    return _resized(ops.concat(parts, axis=axis), shape_of(x)[axis], axis)


@op(arrays=("x",), infer=_irfft_spec, vjp=_irfft_rule, numpy=(np.fft.irfft,), linear=True)
def irfft(x: Any, /, n: int | None = None, axis: int = -1, norm: Any = "backward") -> Any:
    """Inverse of `rfft` along one axis: n real numbers, 2 (m - 1) of m frequencies unless n is given."""
    return np.fft.irfft(x, n, axis, norm)


@composite(numpy=(np.fft.hfft,))
def hfft(x: Any, /, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """Transform of a signal with Hermitian symmetry, given by its half; the result is real."""
    return irfft(conj(x), n, axis, _other("hfft", norm))


@composite(numpy=(np.fft.ihfft,))
def ihfft(x: Any, /, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """Inverse of `hfft`: half of a signal with Hermitian symmetry."""
    return conj(rfft(x, n, axis, _other("ihfft", norm)))


def _lengths(name: str, x: Any, s: Sequence[int] | None, axes: Sequence[int] | None) -> list[tuple[int | None, int]]:
    """The length (None: as it is) and the axis of each transform."""
    ndim = len(shape_of(x))
    if axes is None:
        axes = range(ndim) if s is None else range(ndim - len(s), ndim)
    axes = normalize_axes(name, axes, ndim)
    sizes = [None] * len(axes) if s is None else [None if n == -1 else n for n in s]
    if len(sizes) != len(axes):
        raise ShapeError(f"{name}: s has {len(sizes)} lengths for {len(axes)} axes")
    return list(zip(sizes, axes, strict=True))


def _last(name: str, x: Any, s: Sequence[int] | None, axes: Sequence[int] | None) -> list[tuple[int | None, int]]:
    found = _lengths(name, x, s, axes)
    if not found:
        raise ShapeError(f"{name}: at least one axis must be transformed")
    return found


@composite(numpy=(np.fft.fftn,), memory=None)
def fftn(x: Any, /, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward") -> Any:
    """Discrete Fourier transform along several axes, all of them unless told."""
    for n, axis in reversed(_lengths("fftn", x, s, axes)):
        x = fft(x, n, axis, norm)
    return x


@composite(numpy=(np.fft.ifftn,), memory=None)
def ifftn(x: Any, /, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward") -> Any:
    """Inverse of `fftn`."""
    for n, axis in reversed(_lengths("ifftn", x, s, axes)):
        x = ifft(x, n, axis, norm)
    return x


@composite(numpy=(np.fft.rfftn,), memory=None)
def rfftn(x: Any, /, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward") -> Any:
    """Transform of real numbers along several axes; the last of them keeps the frequencies that are not negative."""
    *others, (n, axis) = _last("rfftn", x, s, axes)
    x = rfft(x, n, axis, norm)
    for n, axis in reversed(others):
        x = fft(x, n, axis, norm)
    return x


@composite(numpy=(np.fft.irfftn,), memory=None)
def irfftn(x: Any, /, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward") -> Any:
    """Inverse of `rfftn`."""
    *others, (n, axis) = _last("irfftn", x, s, axes)
    for size, each in others:
        x = ifft(x, size, each, norm)
    return irfft(x, n, axis, norm)


@composite(numpy=(np.fft.fft2,), memory=None)
def fft2(x: Any, /, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str = "backward") -> Any:
    """Discrete Fourier transform along two axes."""
    return fftn(x, s, axes, norm)


@composite(numpy=(np.fft.ifft2,), memory=None)
def ifft2(x: Any, /, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str = "backward") -> Any:
    """Inverse of `fft2`."""
    return ifftn(x, s, axes, norm)


@composite(numpy=(np.fft.rfft2,))
def rfft2(x: Any, /, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str = "backward") -> Any:
    """Transform of real numbers along two axes."""
    return rfftn(x, s, axes, norm)


@composite(numpy=(np.fft.irfft2,))
def irfft2(x: Any, /, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str = "backward") -> Any:
    """Inverse of `rfft2`."""
    return irfftn(x, s, axes, norm)


def _shift(name: str, x: Any, axes: Any, inverse: bool) -> Any:
    found = normalize_axes(name, axes, len(shape_of(x)))
    steps = tuple(-(shape_of(x)[i] // 2) if inverse else shape_of(x)[i] // 2 for i in found)
    return ops.roll(x, steps, axis=found) if found else x


@composite(numpy=(np.fft.fftshift,), memory=None)
def fftshift(x: Any, /, axes: Any = None) -> Any:
    """The zero frequency moved to the middle of each axis."""
    return _shift("fftshift", x, axes, False)


@composite(numpy=(np.fft.ifftshift,), memory=None)
def ifftshift(x: Any, /, axes: Any = None) -> Any:
    """Inverse of `fftshift`."""
    return _shift("ifftshift", x, axes, True)


def _frequency_dtype(name: str, dtype: Any) -> np.dtype[Any]:
    found = np.dtype(np.float64 if dtype is None else dtype)
    if found.kind != "f":
        raise DtypeError(f"{name}: dtype must be a real floating dtype, got {found}")
    return found


@op(
    arrays=(),
    vjp=(),
    infer=lambda n, d, dtype, device: Spec((n,), _frequency_dtype("fftfreq", dtype)),
    numpy=(np.fft.fftfreq,),
)
def fftfreq(n: int, /, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """Frequencies of an n-point `fft`, in cycles per unit of the sample spacing d."""
    return np.fft.fftfreq(n, d).astype(_frequency_dtype("fftfreq", dtype), copy=False)


@op(
    arrays=(),
    vjp=(),
    infer=lambda n, d, dtype, device: Spec((n // 2 + 1,), _frequency_dtype("rfftfreq", dtype)),
    numpy=(np.fft.rfftfreq,),
)
def rfftfreq(n: int, /, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """Frequencies of an n-point `rfft`, in cycles per unit of the sample spacing d."""
    return np.fft.rfftfreq(n, d).astype(_frequency_dtype("rfftfreq", dtype), copy=False)


put_in("weft.fft", *(TABLE[name] for name in __all__))
