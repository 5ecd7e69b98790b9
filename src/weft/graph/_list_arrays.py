"""Arrays of lists whose elements are known only when the graph runs, and what happens where they are not as captured.

`np.array` of a list without elements is float64 with one dimension, whatever would have been put in; of numbers of
several types the dtype is that of those which came. The graph was captured for one type: any other is an error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.errors import CaptureError
from weft.graph._effects import CHECKS, has_side_effect


class OtherArray(CaptureError):
    """An array of a list that has another dtype or number of dimensions than the graph was captured for."""


@has_side_effect
def array_of(items: Any, dtype: Any, ndim: int, given: bool = False) -> Any:
    """`np.array(items)`, or `np.array(items, dtype)` where the program gave it.

    >>> array_of([1, 2], np.dtype("int64"), 1)
    array([1, 2])
    """
    made = np.array(items, dtype) if given else np.array(items)
    if made.dtype != dtype or made.ndim != ndim:
        raise _other(made, dtype, ndim)
    return made


@has_side_effect
def with_rows(array: Any) -> Any:
    """`np.array` of a list of the rows of an array, of which there must be one."""
    if len(array) == 0:
        raise _other(np.array([]), array.dtype, array.ndim)
    return array.copy()


for _function in (array_of, with_rows):
    setattr(_function, CHECKS, True)


def _other(made: Any, dtype: Any, ndim: int) -> OtherArray:
    what = "an empty list" if made.size == 0 else "the list"
    return OtherArray(
        f"np.array of {what} is {made.dtype} with ndim {made.ndim} in this call; "
        f"the graph was captured for {dtype} with ndim {ndim}",
        help="give the dtype, as in np.array(items, dtype=int), and take the empty list apart from others with an `if`",
    )


LIST_ARRAYS = (array_of, with_rows)
"""The functions that make arrays of lists."""
