"""Lists that a loop of a known number of turns appends to once a turn, as arrays with a row for each element.

    hist = []                            hist = zeros((12, 3))
    for k in range(12):                  for k in range(12):
        x = step(x)               →          x = step(x)
        hist.append(x)                       hist[k] = x
    y = np.array(hist)                   y = hist.copy()

An array has derivatives, a list has none. A list that is read in any other way than as a whole, or by a number, stays.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np

from weft.graph import Node
from weft.graph._control import fori_loop
from weft.graph._list_arrays import array_of
from weft.ops import Spec
from weft.ops._dim import Dim
from weft.ops._op import TABLE
from weft.transform._bodies import in_front, is_inside, item_after, replace_call
from weft.transform._builder import Builder, Value
from weft.transform._split import copy_body, gradient_type


def rows_for_lists(builder: Builder, results: Collection[Any] = ()) -> None:
    """Make arrays of the lists in a graph that can be; those among `results` are wanted as they are."""
    for node in list(builder.graph.nodes):
        if node.target is list and node.args and isinstance(node.args[0], list) and node not in results:
            found = _collected(builder, node)
            if found is not None:
                _rewrite(builder, found)


class _Collected(NamedTuple):
    """A list, the loop that appends to it, where in the body that is, and what an element is."""

    items: Node
    loop: Node
    at: int  # of the call among the nodes of the body
    operand: int
    length: int
    element: Spec


def _collected(builder: Builder, items: Node) -> _Collected | None:
    loops = [user for user in items.users if user.target is fori_loop]
    if len(loops) != 1:
        return None
    loop = loops[0]
    lower, upper, body, init, *operands = loop.args
    bounds = (lower, upper, loop.kwargs.get("step", 1))
    if not all(type(bound) is int for bound in bounds) or operands.count(items) != 1 or items in init:
        return None
    operand = operands.index(items)
    place = body.find_nodes(op="placeholder")[1 + len(init) + operand]
    call = next(iter(place.users)) if len(place.users) == 1 else None
    if call is None or call.target != "append" or call.op != "call_method" or call.graph is not body or call.users:
        return None
    element = _element(builder, items.args[0], call.args)
    count = len(items.args[0]) + len(range(*bounds))
    if element is None or count == 0:
        return None
    readers = [user for user in items.users if user is not loop]
    if not all(user > loop and _reader(user, element, count) is not None for user in readers):
        return None
    return _Collected(items, loop, list(body.nodes).index(call), operand, count, element)


def _element(builder: Builder, before: list[Any], call: tuple[Any, ...]) -> Spec | None:
    """The type of all elements, where they have one and are real or complex numbers."""
    if len(call) != 2 or not isinstance(call[1], Node):
        return None
    types = [one.meta.get("type") if isinstance(one, Node) else type(one) for one in (call[1], *before)]
    if not all(isinstance(each, Spec) or each in (float, complex) for each in types):
        return None
    first, *others = map(gradient_type, types)
    around = builder.around()
    fits = all(each.dtype == first.dtype and builder.same(each.shape, first.shape) for each in others)
    if not fits or first.dtype.kind not in "fc" or any(is_inside(size, around) for size in first.shape):
        return None
    return Spec(first.shape, first.dtype)


def _reader(node: Node, element: Spec, count: int) -> Callable[[Node], tuple[Any, Any]] | None:
    """What a call that reads the list becomes, given the array: a function and its arguments. None: it cannot be."""
    rank, target, rest = len(element.shape), node.target, node.args[1:]
    dtype = getattr(node.meta.get("type"), "dtype", None)
    whole = lambda rows: (TABLE["astype"], (rows, dtype))  # noqa: E731  # one of several such functions
    if node.op != "call_function" or not set(node.kwargs) <= {"axis"}:
        return None
    if target is array_of:
        return whole if rest[1] == rank + 1 else None
    if target is operator.getitem and (type(rest[0]) is int or _is_int(rest[0])):
        return lambda rows: (operator.getitem, (rows, *rest))
    if target is len:
        return lambda rows: (len, (rows,))
    if rest or dtype != element.dtype:
        return None
    if (target is np.stack and node.kwargs.get("axis", 0) == 0) or (target is np.vstack and rank == 1):
        return whole
    joins = (target is np.concatenate and node.kwargs.get("axis", 0) == 0) or (target is np.hstack and rank == 1)
    if not joins or not rank or any(isinstance(size, Dim) for size in element.shape):
        return None
    shape = (count * element.shape[0], *element.shape[1:])
    return lambda rows: (TABLE["reshape"], (rows, shape))


def _is_int(key: Any) -> bool:
    return isinstance(key, Node) and key.meta.get("type") is int


def _rewrite(builder: Builder, found: _Collected) -> None:
    items, loop, at, operand, count, element = found
    lower, upper, body, init, *operands = loop.args
    before = items.args[0]
    with builder.at(loop), builder.graph.inserting_before(loop):
        rows = builder.call(TABLE["zeros"], (count, *element.shape), element.dtype)
        for k, value in enumerate(before):
            rows = builder.call(TABLE["index_update"], rows, k, builder.value(value))
    made = copy_body(body, builder)
    inner = Builder(made, builder.sizes, builder)
    call = list(made.nodes)[at]
    places = made.find_nodes(op="placeholder")
    carry = inner.region.placeholder(items.name)
    carry.meta["type"] = rows.type
    with inner.at(call), made.inserting_before(call):
        turn = _turn(inner, places[0], lower, loop.kwargs.get("step", 1), len(before))
        written = inner.call(TABLE["index_update"], Value(inner, carry, rows.type), turn, inner.value(call.args[1]))
    made.erase_node(call)
    output = made.output_node()
    output.args = ((*output.args[0], written.node),)
    rest = places[1 + len(init) :]
    made.erase_node(rest.pop(operand))
    in_front(made, [*places[: 1 + len(init)], carry, *rest])
    del operands[operand]
    types = (*loop.meta["type"], rows.type)
    again = replace_call(builder, loop, (lower, upper, made, (*init, rows.node), *operands), types)
    filled = item_after(again, len(init), rows.type, items.name)
    for user in list(items.users):
        become = _reader(user, element, count)
        assert become is not None
        user.target, user.args = become(filled)
        user.kwargs = {}
    builder.graph.erase_node(items)


def _turn(inner: Builder, counter: Node, lower: int, step: int, before: int) -> Value:
    """The row that a turn writes."""
    node: Any = counter
    if lower:
        node = inner.create(operator.sub, (node, lower), {}, int)
    if step != 1:
        node = inner.create(operator.floordiv, (node, step), {}, int)
    if before:
        node = inner.create(operator.add, (node, before), {}, int)
    return Value(inner, node, int)
