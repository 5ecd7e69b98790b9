"""Cases of `ops/creation.py` and `ops/dtypes.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
from cases import case, integers, normal

DTYPES = (np.bool_, np.int8, np.int32, np.uint64, np.float16, np.float32, np.float64, np.complex64, np.complex128)


def _same_kind(shape: tuple[int, ...], dtype: Any) -> Any:
    """What is in the memory of an empty array is anyone's guess."""

    def check(result: Any, *_: Any, **__: Any) -> None:
        assert result.shape == shape and result.dtype == dtype

    return check


for name in ("zeros", "ones"):
    numpy = getattr(np, name)
    case(name, 3, ref=numpy)
    case(name, (2, 0, 3), ref=numpy)
    case(name, (), ref=numpy)
    case(name, [2, 1], np.int8, ref=numpy)
    case(name, (2,), dtype="complex64", device="cpu", ref=lambda shape, dtype, device, f=numpy: f(shape, dtype))
    case(f"{name}_like", normal(2, 3), ref=getattr(np, f"{name}_like"))
    case(f"{name}_like", 2.0, ref=getattr(np, f"{name}_like"))
    case(f"{name}_like", normal(2), dtype=np.float32, ref=getattr(np, f"{name}_like"))
    case(f"{name}_like", integers(0, 3, 2, 0), ref=getattr(np, f"{name}_like"))

case("empty", (2, 3), _check=_same_kind((2, 3), np.float64))
case("empty", 4, np.int16, _check=_same_kind((4,), np.int16))
case("empty_like", normal(2, 3, dtype=np.float32), _grad=False, _check=_same_kind((2, 3), np.float32))
case("empty_like", integers(0, 3, 2), dtype=complex, _check=_same_kind((2,), np.complex128))

case("full", (2, 3), 1.5, ref=np.full)
case("full", 3, 7, ref=np.full)
case("full", (), True, ref=np.full)
case("full", (2,), 1, np.float32, ref=np.full)
case("full", (2,), 1j, ref=np.full)
case("full", (2, 3), np.array(1.5), ref=np.full)
case("full", (2, 3), np.array([1.0, 2.0, 3.0]), ref=np.full)
case("full_like", normal(2, 3), 1.5, ref=np.full_like)
case("full_like", integers(0, 3, 2), 2.0, dtype=np.float32, ref=np.full_like)
case("full_like", normal(2, 3), np.array(0.3), ref=np.full_like)

case("arange", 5, ref=np.arange)
case("arange", 2, 9, 3, ref=np.arange)
case("arange", 9, 2, -2, ref=np.arange)
case("arange", 5, 2, ref=np.arange)
case("arange", 5, step=2, ref=lambda start, step: np.arange(0, start, step))
case("arange", 0.0, 1.0, 0.1, ref=np.arange)
case("arange", 1, 2, 0.3, ref=np.arange)
case("arange", 3.5, ref=np.arange)
case("arange", 4, dtype=np.float32, ref=np.arange)
case("arange", 0, 4, 1, np.int8, ref=np.arange)
case("arange", np.int32(1), np.int32(4), ref=np.arange)

case("linspace", 0, 1, 5, ref=np.linspace)
case("linspace", 0.0, 1.0, ref=np.linspace)
case("linspace", -1.0, 2.0, 4, endpoint=False, ref=np.linspace)
case("linspace", 0, 10, num=4, dtype=np.int64, ref=np.linspace)
case("linspace", 0, 1, 3, dtype=np.float32, ref=np.linspace)
case("linspace", 0, 1j, 3, ref=np.linspace)
case("linspace", 2.0, 3.0, 1, ref=np.linspace)
case("linspace", 2.0, 3.0, 0, ref=np.linspace)
case("linspace", np.array(0.5), np.array(2.5), 4, ref=np.linspace)
case("linspace", normal(3), normal(2, 1), 4, False, ref=np.linspace)

case("eye", 3, ref=np.eye)
case("eye", 2, 3, ref=np.eye)
case("eye", 3, 4, k=1, dtype=np.int8, ref=np.eye)
case("eye", 3, None, -1, np.float32, ref=np.eye)
case("eye", 0, ref=np.eye)

case("meshgrid", normal(2), normal(3), ref=np.meshgrid)
case("meshgrid", normal(2), normal(3), indexing="ij", ref=np.meshgrid)
case("meshgrid", normal(2), normal(1, dtype=complex), integers(0, 5, 3), ref=np.meshgrid)
case("meshgrid", normal(4), ref=np.meshgrid)
case("meshgrid", np.array(2.0), normal(2), ref=np.meshgrid)
case("meshgrid", normal(0), normal(2), ref=np.meshgrid)

for name in ("tril", "triu"):
    numpy = getattr(np, name)
    case(name, normal(3, 3), ref=numpy)
    case(name, normal(2, 3, 4), k=1, ref=numpy)
    case(name, normal(4, 2), -1, ref=numpy)
    case(name, normal(3, 3, dtype=complex), ref=numpy)
    case(name, integers(0, 9, 2, 2, dtype=np.uint8), ref=numpy)
    case(name, normal(2, 0), ref=numpy)

case("asarray", [[1, 2], [3, 4]], ref=np.asarray, _infer=False)
case("asarray", 2.5, dtype=np.float32, ref=np.asarray, _infer=False)
case("asarray", normal(2, 3), ref=np.asarray)
case("asarray", normal(2, 3), dtype=complex, copy=True, ref=np.asarray)
case("asarray", [normal(3), normal(3, seed=1)], ref=np.asarray, _infer=False)
case("asarray", [[normal(2), normal(2)], [normal(2), normal(2)]], ref=np.asarray, _infer=False)

for dtype in DTYPES:
    case("astype", integers(0, 2, 2, 3), dtype, ref=lambda x, dtype: x.astype(dtype))
case("astype", normal(2, 3), np.float32, _grad=False, ref=lambda x, dtype: x.astype(dtype))
case("astype", normal(2, 3), complex, ref=lambda x, dtype: x.astype(dtype))
case("astype", normal(2, 3), float, copy=False, ref=lambda x, dtype, copy: x)
case("astype", normal(2), dtype="int32", ref=lambda x, dtype: x.astype(dtype))
case("astype", 1.5, np.float16, ref=lambda x, dtype: np.float16(1.5))
