"""What a call of an op takes: operations of arithmetic, and memory while it runs.

Whoever chooses what to keep and what to compute again asks for it. Rules are called with the Spec of the result and
every parameter in order, Specs in place of arrays, in which sizes that only running tells are estimated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple


class Cost(NamedTuple):
    """What a call takes.

    `arithmetic` gives the number of operations; a multiplication and an addition are two. None: one for each element of
    the largest array. `scratch` is how many copies of the largest array it makes and drops again, `block` how many
    copies of a block each thread makes, where it goes over large arrays in blocks. `cheap` says that to compute it
    again costs about what reading its result does, as for pointwise work.
    """

    arithmetic: Callable[..., float] | None = None
    scratch: float = 0.0
    block: float = 0.0
    cheap: bool = False


CHEAP = Cost(cheap=True)


def elements(x: Any) -> float:
    """How many elements an array has."""
    return float(math.prod(x.shape))


def _cubed(y: Any, x: Any, *parameters: Any) -> float:
    """Square matrices are gone through once for each row; of other arguments, the op says nothing."""
    shape = getattr(x, "shape", ())
    return elements(x) * shape[-1] if shape else 1.0


CUBIC = Cost(_cubed)
