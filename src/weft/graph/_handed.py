"""Arrays that were given to code nothing is known of, which may have given back or kept their memory.

tree = KDTree(points)            # it keeps points itself
points[0] = 1.0                  # points_1 = written(points, …): the tree sees it, as in the plain program
"""

from __future__ import annotations

import gc
import types
from typing import Any

import numpy as np

from weft.errors import CaptureError
from weft.graph._effects import CHECKS, has_side_effect
from weft.graph._writes import carry_out
from weft.ops.indexing import assign

_LEAST_HELD = (type, types.ModuleType, types.FunctionType, types.CodeType, str, bytes, int, float, complex)
_MOST = 10_000  # objects that are looked through for arrays


@has_side_effect
def written(array: Any, content: Any) -> Any:
    """The array itself, which has this content from now on.

    >>> import numpy as np
    >>> x = np.zeros(2)
    >>> written(x, np.ones(2)) is x, x
    (True, array([1., 1.]))
    """
    array[...] = content
    return array


@has_side_effect
def written_at(array: Any, key: Any, value: Any) -> Any:
    """The array itself, which has this value at this place from now on.

    >>> import numpy as np
    >>> x = np.zeros(2)
    >>> written_at(x, 0, 1.0) is x, x
    (True, array([1., 0.]))
    """
    assign(array, key, value)
    return array


@has_side_effect
def still_apart(result: Any, name: str, *arrays: Any) -> None:
    """Raise an error where what a call gave shares memory with an array that it was given.

    >>> import numpy as np
    >>> x = np.zeros(2)
    >>> still_apart(x + 1, "f", x)
    >>> still_apart([x[1:]], "f", x)
    Traceback (most recent call last):
        ...
    weft.errors.CaptureError: f gave or kept the memory of an array that a loop or branch around the call writes
      help: give it a copy: x.copy()
    """
    given = [array for array in arrays if isinstance(array, np.ndarray)]
    waiting: list[Any] = [result]
    seen: set[int] = set()
    while waiting and len(seen) < _MOST:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, _LEAST_HELD):
            continue
        seen.add(id(value))
        if isinstance(value, np.ndarray) and any(np.may_share_memory(value, array) for array in given):
            raise CaptureError(
                f"{name} gave or kept the memory of an array that a loop or branch around the call writes",
                help="give it a copy: x.copy()",
            )
        waiting += gc.get_referents(value)


setattr(still_apart, CHECKS, True)


@has_side_effect
def show(array: Any, content: Any) -> None:
    """Put its present content into an array of the caller, before an exception ends the program."""
    if content is not array:
        carry_out([(array, content)])


setattr(show, CHECKS, True)
