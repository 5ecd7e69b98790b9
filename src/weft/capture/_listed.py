"""Arrays of lists whose elements are known only when the graph runs, and what happens where they are not as captured.

`np.array` of a list without elements is float64 with one dimension, whatever would have been put in; of numbers of
several types the dtype is that of those which came. The graph was captured for one type: any other is an error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.errors import CaptureError
from weft.graph import Graph
from weft.graph._control import check, fail
from weft.passes._kinds import EFFECT, OPAQUE, PURE, kind_of


class OtherArray(CaptureError):
    """An array of a list that has another dtype or number of dimensions than the graph was captured for."""


def array_of(items: Any, dtype: Any, ndim: int, given: bool = False) -> Any:
    """`np.array(items)`, or `np.array(items, dtype)` where the program gave it.

    >>> array_of([1, 2], np.dtype("int64"), 1)
    array([1, 2])
    """
    made = np.array(items, dtype) if given else np.array(items)
    if made.dtype != dtype or made.ndim != ndim:
        raise _other(made, dtype, ndim)
    return made


def with_rows(array: Any) -> Any:
    """An array that stands for `np.array` of a list of its rows: it has one."""
    if len(array) == 0:
        raise _other(np.array([]), array.dtype, array.ndim)
    return array


def _other(made: Any, dtype: Any, ndim: int) -> OtherArray:
    what = "an empty list" if made.size == 0 else "the list"
    return OtherArray(
        f"np.array of {what} is {made.dtype} with ndim {made.ndim} in this call; "
        f"the graph was captured for {dtype} with ndim {ndim}",
        help="give the dtype, as in np.array(items, dtype=int), and take the empty list apart from others with an `if`",
    )


_OF_LISTS = frozenset({"append", "insert", "pop", "clear", "reverse", "sort", "remove", "copy", "index", "count"})
_LIBRARIES = ("numpy", "weft", "builtins", "math", "cmath", "_operator", "operator")


def may_differ(graph: Graph) -> bool:
    """Whether a graph makes an array of a list, so that a run may end with OtherArray."""
    return any(node.target in (array_of, with_rows) for node in _nodes(graph) if node.op == "call_function")


def repeatable(graph: Graph) -> bool:
    """Whether a run that is given up leaves nothing behind: no array written, nothing printed or drawn."""
    return all(map(_leaves_nothing, _nodes(graph)))


def _nodes(graph: Graph) -> Any:
    for node in graph.nodes:
        yield node
        for body in node.bodies:
            yield from _nodes(body)


def _leaves_nothing(node: Any) -> bool:
    if node.op == "output":
        return not node.kwargs.get("writes")
    if node.op == "call_method" and node.target in _OF_LISTS:
        return True  # of a list that the program made
    if node.bodies:
        return True  # their nodes are looked at one by one
    kind = kind_of(node)
    if kind == EFFECT:
        return node.target in (check, fail)
    if node.op == "call_function" and getattr(node.target, "__name__", "") in ("setitem", "delitem"):
        return True
    module = str(getattr(node.target, "__module__", None) or "numpy").partition(".")[0]
    return kind == PURE or (kind == OPAQUE and module in _LIBRARIES)
