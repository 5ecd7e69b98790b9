"""Lists that a loop of a known number of turns appends to once a turn, as arrays with a row for each element.

    hist = []                            hist = zeros((12, 3))
    for k in range(12):                  for k in range(12):
        x = step(x)               →          x = step(x)
        hist.append(x)                       hist[k] = x
    y = np.array(hist)                   y = hist.copy()

The loop may read its list too, at places known to be there: `hist[-1]`, `hist[k]`, `len(hist)`. An array has
derivatives, a list has none. A list that is read in any other way than as a whole, or by a number, stays.
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
    reads: tuple[_Read, ...]


class _Read(NamedTuple):
    """What the body asks of the list: an element, or how many there are."""

    at: int  # among the nodes of the body
    offset: int
    moves: bool  # whether the turn, counted from 0, is added to the offset
    element: bool


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
    counter, place = body.find_nodes(op="placeholder")[0], body.find_nodes(op="placeholder")[1 + len(init) + operand]
    calls = [user for user in place.users if user.op == "call_method" and user.target == "append"]
    if len(calls) != 1 or calls[0].graph is not body or calls[0].users:
        return None
    call = calls[0]
    element = _element(builder, items.args[0], call.args)
    count = len(items.args[0]) + len(range(*bounds))
    reads = _reads(place, call, len(items.args[0]), counter if bounds[2] == 1 else None, lower)
    if element is None or count == 0 or reads is None:
        return None
    readers = [user for user in items.users if user is not loop]
    if not all(user > loop and _reader(user, element, count) is not None for user in readers):
        return None
    return _Collected(items, loop, list(body.nodes).index(call), operand, count, element, reads)


def _reads(place: Node, call: Node, before: int, counter: Node | None, lower: int) -> tuple[_Read, ...] | None:
    """What the body reads of the list apart from the call that appends to it; None where a place may not be there."""
    nodes = list(place.graph.nodes)
    found: list[_Read] = []
    for user in place.users:
        if user is call:
            continue
        if user.op != "call_function" or user.graph is not place.graph or user.kwargs or user.args[0] is not place:
            return None
        length = before + (user > call)
        if user.target is len:
            found.append(_Read(nodes.index(user), length, True, False))
            continue
        key = user.args[1] if user.target is operator.getitem else None
        known = _place(key, place, call, before, counter, lower)
        if known is None:
            return None
        offset, moves = known
        if type(key) is int and key < 0:
            offset, moves = length + key, True
        if not 0 <= offset < length:
            return None
        found.append(_Read(nodes.index(user), offset, moves, True))
    return tuple(found)


def _place(key: Any, place: Node, call: Node, before: int, counter: Node | None, lower: int) -> Any:
    """An index as an offset, and whether the turn is added to it; None where it is neither."""
    if type(key) is int:
        return key, False
    if not isinstance(key, Node):
        return None
    if key is counter:
        return lower, True
    if key.target is len and key.args == (place,):
        return before + (key > call), True
    if key.target not in (operator.add, operator.sub) or type(key.args[1]) is not int:
        return None
    known = _place(key.args[0], place, call, before, counter, lower)
    return known and (key.target(known[0], key.args[1]), known[1])


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
    if target is sum and rest in ((), (0,)):
        return lambda rows: (_added, (rows,))
    if rest or dtype != element.dtype:
        return None
    if (target is np.stack and node.kwargs.get("axis", 0) == 0) or (target is np.vstack and rank == 1):
        return whole
    joins = (target is np.concatenate and node.kwargs.get("axis", 0) == 0) or (target is np.hstack and rank == 1)
    if not joins or not rank or any(isinstance(size, Dim) for size in element.shape):
        return None
    shape = (count * element.shape[0], *element.shape[1:])
    return lambda rows: (TABLE["reshape"], (rows, shape))


def _added(builder: Builder, rows: Node) -> tuple[Any, tuple[Any, ...]]:
    """Rows added one after the other, as Python does."""
    added = builder.call(TABLE["cumsum"], builder.value(rows), 0)
    return operator.getitem, (added.node, -1)


def _is_int(key: Any) -> bool:
    return isinstance(key, Node) and key.meta.get("type") is int


def _rewrite(builder: Builder, found: _Collected) -> None:
    items, loop, at, operand, count, element, reads = found
    lower, upper, body, init, *operands = loop.args
    before = items.args[0]
    with builder.at(loop), builder.graph.inserting_before(loop):
        rows = builder.call(TABLE["zeros"], (count, *element.shape), element.dtype)
        for k, value in enumerate(before):
            rows = builder.call(TABLE["index_update"], rows, k, builder.value(value))
    made = copy_body(body, builder)
    inner = Builder(made, builder.sizes, builder)
    nodes = list(made.nodes)
    call = nodes[at]
    places = made.find_nodes(op="placeholder")
    carry = inner.region.placeholder(items.name)
    carry.meta["type"] = rows.type
    with inner.at(call), made.inserting_before(call):
        turn = _turn(inner, places[0], lower, loop.kwargs.get("step", 1), len(before))
        written = inner.call(TABLE["index_update"], Value(inner, carry, rows.type), turn, inner.value(call.args[1]))
    for read in reads:
        node = nodes[read.at]
        with inner.at(node), made.inserting_before(node):
            index: Any = read.offset
            if read.moves:
                index = _turn(inner, places[0], lower, loop.kwargs.get("step", 1), read.offset).node
            _answer(inner, node, written.node if node > call else carry, index, read.element)
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
        with builder.at(user), builder.graph.inserting_before(user):
            target, args = become(filled)
            _let_be(builder, user, *(target(builder, *args) if target is _added else (target, args)))
    builder.graph.erase_node(items)


def _answer(inner: Builder, node: Node, rows: Node, index: Any, element: bool) -> None:
    """Let a call that read the list read its rows: the one of an index, or the index itself, their number."""
    if element:
        _let_be(inner, node, operator.getitem, (rows, index))
    else:
        _let_be(inner, node, operator.add, (index, 0))


def _let_be(builder: Builder, node: Node, target: Any, args: tuple[Any, ...]) -> None:
    """Let a node be another call; what was a number of Python's stays one."""
    kind = node.meta.get("type")
    if kind in (float, complex):
        target, args = kind, (builder.create(target, args, {}, Spec((), kind)),)
    node.target, node.args, node.kwargs = target, args, {}


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
