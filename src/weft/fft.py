"""Fourier transforms: the array API standard's `fft` extension, and NumPy's transforms of two axes.

>>> import numpy as np
>>> import weft
>>> weft.fft.rfft(np.array([1.0, 0.0, 0.0, 0.0])).shape
(3,)
"""

from __future__ import annotations

from weft._listing import listing as _listing
from weft.ops.fft import (
    fft,
    fft2,
    fftfreq,
    fftn,
    fftshift,
    hfft,
    ifft,
    ifft2,
    ifftn,
    ifftshift,
    ihfft,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftfreq,
    rfftn,
)

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

__dir__ = _listing(__name__)
