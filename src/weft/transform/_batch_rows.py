"""Examples one after the other: a loop that runs nodes for one and writes what they give into its row.

Right for whatever runs for one example, as long as all examples give results of one shape.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

from weft.errors import CaptureError
from weft.graph import Node
from weft.graph._control import fori_loop, scan
from weft.ops import Spec
from weft.ops._dim import Dim
from weft.ops._op import TABLE
from weft.transform._batch import NUMBERS, Batch, Rows, Unbatchable, is_plain, kind_dtype
from weft.transform._batch_bodies import body_of, close_all
from weft.transform._batch_calls import changes_object
from weft.transform._builder import Builder, Value
from weft.transform._calls import runs_as_it_is

_UPDATE = TABLE["index_update"]


def row_of(builder: Builder, entry: Any, row: Any) -> Any:
    """One example of an entry, as a graph of one example has it."""
    if isinstance(entry, tuple):
        return tuple(row_of(builder, part, row) for part in entry)
    if is_plain(entry):
        return entry
    if not isinstance(entry, Rows):
        raise Unbatchable("a tape of many examples")
    value = builder.value(entry.value.node)[row]
    if entry.type in NUMBERS:
        return builder.create(entry.type, (value,), {}, entry.type)
    return value.node


def each_row(batch: Batch, nodes: Sequence[Node], result: Any) -> Any:
    """Run nodes for each example in turn; entries for `result`: a node, or a list of nodes and constants.

    The list is that of the whole function: what then cannot be held for all examples is refused.
    """
    outer, whole = batch.builder, isinstance(result, list)
    inner = body_of(outer)
    row = inner.region.placeholder("row")
    row.meta["type"] = int
    one = Batch(inner, None, {})
    inside = set(nodes)
    parts = result if isinstance(result, list) else [result]
    read = dict.fromkeys(each for node in nodes for each in node.all_input_nodes if each not in inside)
    read.update((part, None) for part in parts if isinstance(part, Node) and part not in inside)
    if not whole and any(map(changes_object, nodes)):
        _share_nothing(nodes, read)
    for node in read:
        one.known[node] = row_of(inner, batch.known[node], Value(inner, row, int))
    for node in nodes:
        with inner.at(node):
            one.known[node] = one._attribute(node) if node.op == "get_attr" else one.copy(node)
    leaves: list[Value] = []
    try:
        shaped = [_collected(one, batch, part, inside, leaves, whole) for part in parts]
    except Unbatchable as error:
        if not whole or error.node is None:
            raise
        raise refused(error.node, str(error), "let the function return arrays or numbers of one size") from None
    types: list[Any] = [leaf.type for leaf in leaves]
    made = (_scan if None in types else _loop)(batch, inner, row, leaves)
    found = [_filled(outer, each, made) for each in shaped]
    return found if whole else found[0]


def _share_nothing(nodes: Sequence[Node], read: Iterable[Node]) -> None:
    """Refuse to run nodes for each example that change an object made before them: each example has its own."""
    if any(node.meta.get("type") is None for node in read):
        raise Unbatchable("an object that each example changes", nodes[0])


class _Leaf:
    """A result of the loop: where it is among them, and the type that one example has."""

    def __init__(self, index: int, type_: Any) -> None:
        self.index, self.type = index, type_


def _collected(one: Batch, batch: Batch, part: Any, inside: set[Node], leaves: list[Value], whole: bool) -> Any:
    """The structure of a result, its arrays among the leaves."""
    if not isinstance(part, Node):
        return part
    if part not in inside and (is_plain(batch.known[part]) or isinstance(batch.known[part], Rows)):
        return _Known(batch.known[part])
    return _typed(one.builder, one.builder.value(one.known[part]), part, leaves, whole)


class _Known:
    """A result that there is already."""

    def __init__(self, entry: Any) -> None:
        self.entry = entry


def _typed(inner: Builder, value: Any, node: Node, leaves: list[Value], whole: bool) -> Any:
    if isinstance(value, tuple):
        return tuple(_typed(inner, each, node, leaves, whole) for each in value)
    if not isinstance(value, Value):
        return value
    type_: Any = value.type
    if type_ is None and not whole and not node.users and not runs_as_it_is(node):
        return None  # it was called for what it does
    if not isinstance(type_, Spec) and type_ not in NUMBERS and not (type_ is None and whole):
        raise Unbatchable(f"it is {'of no known type' if type_ is None else getattr(type_, '__name__', type_)}", node)
    if any(_within(inner, dim) for dim in value.shape):
        raise Unbatchable("its size may differ between examples", node)
    leaves.append(value)
    return _Leaf(len(leaves) - 1, type_)


def _within(inner: Builder, dim: Any) -> bool:
    """Whether a size is known inside the loop only."""
    if not isinstance(dim, Dim):
        return False
    around = inner.around() - {inner.graph}
    return any(atom.source is None or atom.source[1].graph not in around for atom in dim.atoms())


def refused(node: Node, why: str, help: str) -> CaptureError:
    """The error for what no batch can hold."""
    location = node.location
    name = getattr(node.target, "__name__", str(node.target))
    where = None if location is None else str(location)
    return CaptureError(f"the result of {name} cannot be batched: {why}", where=where, help=help)


def _loop(batch: Batch, inner: Builder, row: Node, leaves: list[Value]) -> list[Any]:
    """Write the loop; its results."""
    outer = batch.builder
    starts, own, results = [], [row], []
    for leaf in leaves:
        start = batch.call("zeros", (batch.size, *leaf.shape), kind_dtype(leaf.type))
        place = inner.region.placeholder("rows")
        place.meta["type"] = start.type
        own.append(place)
        starts.append(start)
        written = inner.call(_UPDATE, Value(inner, place, start.type), Value(inner, row, int), leaf)
        results.append(written)
    operands = close_all([inner], [own], [tuple(results)])
    types = tuple(start.type for start in starts)
    node = outer.create(fori_loop, (0, batch.size, inner.graph, tuple(starts), *operands), {}, types)
    return [outer.item(node, k, type_) for k, type_ in enumerate(types)]


def _scan(batch: Batch, inner: Builder, row: Node, leaves: list[Value]) -> list[Any]:
    """The same for results of which only running can tell what they are: they are stacked as they come."""
    outer = batch.builder
    operands = close_all([inner], [[row]], [((), tuple(leaves))])
    numbers = batch.call("arange", batch.size)
    node = outer.create(scan, (inner.graph, (), (numbers,), *operands), {}, None)
    stacked = outer.create(operator.getitem, (node, 1), {}, None)
    found = []
    for k, leaf in enumerate(leaves):
        kind: Any = leaf.type
        type_ = None if kind is None else Spec((batch.size, *leaf.shape), kind_dtype(kind))
        found.append(Value(outer, outer.create(operator.getitem, (stacked, k), {}, type_), type_))
    return found


def _filled(builder: Builder, shaped: Any, made: list[Any]) -> Any:
    if isinstance(shaped, tuple):
        return tuple(_filled(builder, part, made) for part in shaped)
    if isinstance(shaped, _Known):
        return shaped.entry
    if not isinstance(shaped, _Leaf):
        return shaped
    return Rows(made[shaped.index], Spec((), object) if shaped.type is None else shaped.type)
