"""Functions of SciPy's that mean an op. SciPy itself is looked at only where the program has imported it."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from weft.ops._op import TABLE, Op

_OPS = {name: name for name in ("cbrt", "erf", "erfc", "exp2", "expm1", "i0", "i1", "log1p", "logit")}
_OPS |= {"expit": "sigmoid", "log_expit": "log_sigmoid", "gammaln": "lgamma", "psi": "digamma"}


def special_name(function: Any) -> str | None:
    """The name of a function of scipy.special; None for any other."""
    special = sys.modules.get("scipy.special")
    if special is None or not isinstance(function, np.ufunc):
        return None
    name: str = function.__name__
    return name if getattr(special, name, None) is function else None


def special_op(function: Any) -> Op | None:
    """The op that a function of scipy.special means; None without one."""
    name = _OPS.get(special_name(function) or "")
    return None if name is None else TABLE[name]
