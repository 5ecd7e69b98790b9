"""Cases of `ops/fft.py`."""

import numpy as np
from cases import case, integers, normal

C = np.complex128

for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    ref = getattr(np.fft, name)
    kinds = {"rfft": [np.float64], "ihfft": [np.float64]}.get(name, [np.float64, C])
    for kind in kinds:
        for shape, n, axis, norm in [
            ((5,), None, -1, "backward"),
            ((4,), None, -1, "ortho"),
            ((4,), 3, -1, "forward"),
            ((4,), 4, -1, "backward"),
            ((4,), 7, -1, "backward"),
            ((3,), 8, 0, "forward"),
            ((4, 2), 5, 0, "ortho"),
            ((2, 3), None, 1, "backward"),
            ((2, 3, 2), 2, -2, "forward"),
            ((3,), 1, 0, "backward"),
            ((3,), 2, 0, "backward"),
            ((0, 3), None, -1, "backward"),
        ]:
            case(name, normal(*shape, dtype=kind), n=n, axis=axis, norm=norm, ref=ref)
    case(name, normal(6).astype(np.float32), ref=ref, _rtol=1e-5)
    case(name, integers(0, 9, 4, dtype=np.int16), 6, 0, ref=ref)
for name in ("fft", "ifft", "irfft", "hfft"):
    case(name, normal(6, dtype=np.complex64), ref=getattr(np.fft, name), _rtol=1e-5)
case("fft", normal(4, dtype=np.float16), ref=np.fft.fft, _rtol=1e-5)
case("fft", normal(1), ref=np.fft.fft)


def with_axes(function):
    """NumPy deprecates `s` without `axes`; the standard means the last axes."""

    def reference(x, s=None, axes=None, norm="backward"):
        if s is not None and axes is None:
            axes = range(x.ndim - len(s), x.ndim)
        return function(x, s, axes, norm)

    return reference


for name in ("fftn", "ifftn", "rfftn", "irfftn"):
    ref = with_axes(getattr(np.fft, name))
    kind = np.float64 if name == "rfftn" else C
    case(name, normal(2, 3, dtype=kind), ref=ref)
    case(name, normal(3, 2, 2, dtype=kind), axes=(0, 2), norm="ortho", ref=ref)
    case(name, normal(2, 3, 2, dtype=kind), s=(4, 3), axes=(2, 0), norm="forward", ref=ref)
    case(name, normal(2, 2, 3, dtype=kind), (3, 2), ref=ref)
    case(name, normal(3, 3, dtype=kind), s=(-1, 4), axes=(0, 1), ref=ref)
    case(name, normal(3, 3).astype(np.float32), ref=ref, _rtol=1e-5)
for name in ("fft2", "ifft2", "rfft2", "irfft2"):
    ref = getattr(np.fft, name)
    kind = np.float64 if name == "rfft2" else C
    case(name, normal(2, 2, 3, dtype=kind), ref=ref)
    case(name, normal(3, 3, dtype=kind), s=(2, 4), axes=(1, 0), norm="ortho", ref=ref)

for name in ("fftshift", "ifftshift"):
    ref = getattr(np.fft, name)
    case(name, normal(5), ref=ref)
    case(name, normal(4, 3, dtype=C), ref=ref)
    case(name, normal(4, 3), axes=1, ref=ref)
    case(name, normal(2, 3, 3), axes=(0, -1), ref=ref)
    case(name, integers(0, 9, 5), ref=ref)

for name in ("fftfreq", "rfftfreq"):
    ref = getattr(np.fft, name)
    case(name, 5, ref=ref)
    case(name, 8, d=0.25, ref=ref)
    case(name, 4, dtype=np.float32, ref=lambda n, dtype, ref=ref: ref(n).astype(dtype))
