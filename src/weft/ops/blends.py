"""Sums of products under torch's names: lerp, addmm, addcmul and their kin, and x log y.

In the matrix forms `beta` weighs the array itself and `alpha` the product; with `beta=0` the array does not count, be
it NaN.
"""

from __future__ import annotations

from typing import Any

from weft.ops._families import composite
from weft.ops._spec import dtype_of
from weft.ops.elementwise import clip, divide, log, logical_not, multiply, subtract, trunc  # isort: skip
from weft.ops.linalg import matmul, outer

__all__: list[str] = []
