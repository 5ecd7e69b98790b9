"""How `scan` runs: a state carried along the rows of arrays, with what each step gives stacked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft import pytree
from weft.errors import ShapeError
from weft.graph._control_checks import Carry, Runner, integer, leaf_paths, refuse, traced
from weft.graph._graph import Graph
from weft.ops._spec import dtype_of, shape_of
from weft.ops.joining import stack


def scan_function(f: Any, init: Any, xs: Any, operands: tuple[Any, ...], length: Any, reverse: bool) -> tuple[Any, Any]:
    """Run a Python function along rows; where it returns a traced value, that is the result and the run ends."""
    leaves, tree = pytree.flatten(() if xs is None else xs)
    count = row_count(leaves, list(leaf_paths(tree, "xs")), length)
    carry = Carry("scan", "init", "f", init)
    rows: list[list[Any]] = []
    first: Carry | None = None
    state = init
    for i in _order(count, reverse):
        state, y = _pair(f(state, None if xs is None else tree.unflatten(leaf[i] for leaf in leaves), *operands))
        if (value := traced(state, y)) is not None:
            return value, value
        carry.check(state)
        first = first or Carry("scan", "the first y", "f", y)
        rows.append(first.check(y))
    if first is None:
        x = None if xs is None else tree.unflatten(_zero(leaf) for leaf in leaves)
        with np.errstate(all="ignore"):
            y = _pair(f(init, x, *operands))[1]
        return state, (y if traced(y) is not None else pytree.map(_no_rows, y))
    return state, first.tree.unflatten(_stacked(rows, reverse))


def scan_graph(
    graph: Any, carries: list[Any], xs: list[Any], operands: tuple[Any, ...], length: Any, reverse: bool
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Run a body along rows."""
    count = row_count(xs, [f"xs[{i}]" for i in range(len(xs))], length)
    step = Runner("scan", "f", graph, len(carries) + len(xs) + len(operands))
    if count == 0:
        return tuple(carries), tuple(_no_rows(y) for y in _graph_rows(graph, [*carries, *map(_zero, xs), *operands]))
    rows = []
    for i in _order(count, reverse):
        carries, ys = step.pair([*carries, *(x[i] for x in xs), *operands], len(carries))
        rows.append(ys)
    return tuple(carries), tuple(_stacked(rows, reverse))


def _graph_rows(graph: Graph, values: list[Any]) -> Any:
    """What a body would give as rows: by its shapes where they tell, else by running it on zeros."""
    from weft.graph._shapes import infer  # which knows the functions of this room, and so imports them

    try:
        return infer(graph.clone(), *values)[1]  # a copy: what is noted on the nodes is not about this run
    except Exception:  # a node that only knows values
        with np.errstate(all="ignore"):
            return Runner("scan", "f", graph, len(values))(values)[1]


def row_count(xs: Sequence[Any], paths: Sequence[str], length: Any) -> int:
    """How many rows there are: as many in each of `xs`, and as `length` says where it is given."""
    wanted = None if length is None else integer("scan", "length", length)
    if wanted is not None and wanted < 0:
        raise refuse(f"scan: length is {wanted}", kind=ShapeError)
    first = "length" if wanted is not None else ""
    for x, path in zip(xs, paths, strict=True):
        shape = getattr(x, "shape", None)
        if shape is None and isinstance(x, (list, tuple, range)):
            shape = (len(x),)
        if not shape:
            shown = "a scalar" if shape == () else f"a {type(x).__name__}"
            raise refuse(f"scan: {path} is read row by row and must be an array of rows, got {shown}")
        if wanted is None:
            wanted, first = shape[0], path
        elif shape[0] != wanted:
            message = f"scan: {path} has {shape[0]} rows, {first} {'is' if first == 'length' else 'has'} {wanted}"
            raise refuse(message, "give arrays of one length, and length only where there are none", ShapeError)
    if wanted is None:
        raise refuse("scan: there are no arrays in xs, so length must be given", "pass length=")
    return wanted


def _order(count: int, reverse: bool) -> range:
    return range(count - 1, -1, -1) if reverse else range(count)


def _pair(found: Any) -> tuple[Any, Any]:
    if not isinstance(found, tuple) or len(found) != 2:
        shown = f"a tuple of {len(found)}" if isinstance(found, tuple) else f"a {type(found).__name__}"
        raise refuse(f"scan: f returns a pair (state, y), got {shown}", "return (state, None) where there is no y")
    return found


def _stacked(rows: list[list[Any]], reverse: bool) -> list[Any]:
    ordered = reversed(rows) if reverse else rows
    return [_stack(list(column)) for column in zip(*ordered, strict=True)]


def _stack(column: list[Any]) -> Any:
    if all(leaf is None for leaf in column):
        return None
    if any(not hasattr(leaf, "dtype") and not isinstance(leaf, (bool, int, float, complex)) for leaf in column):
        raise refuse(f"scan: f gives a {type(column[0]).__name__}, which cannot be stacked", "return arrays or numbers")
    if any(hasattr(type(leaf), "__weft_op__") for leaf in column):
        return stack(column)
    return np.stack(column)


def _zero(x: Any) -> Any:
    shape, dtype = getattr(x, "shape", (0,)), getattr(x, "dtype", np.float64)
    zeros = np.zeros(shape[1:], dtype)
    return zeros if shape[1:] else zeros[()]


def _no_rows(y: Any) -> Any:
    if y is None or isinstance(y, type):  # a type is what is known of a number
        return None if y is None else np.zeros(0, y)
    return np.zeros((0, *shape_of(y)), dtype_of(y))
