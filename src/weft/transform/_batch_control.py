"""Batching of control flow.

Where all examples take the same way (one condition, the same bounds), the node stays what it is and its bodies are
batched; which carries of a loop differ between examples is found by trying until nothing changes. Where they part,
both branches run and each example takes its own result; a loop runs as long as any example goes on, and those that have
ended keep their state. What must not run for examples that do not come there makes the examples run one by one.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.graph import Graph, Node
from weft.graph._control import cond, fori_loop, switch, while_loop
from weft.ops import Spec
from weft.ops._dim import same_shape
from weft.transform._batch import Batch, Chosen, Rows, TapeRows, TapesRows, Unbatchable, is_plain
from weft.transform._batch_bodies import body_of, close_all, take_back
from weft.transform._batch_layouts import as_rows, from_layout, joined, laid, layout_of, side, type_in
from weft.transform._builder import Builder, Value
from weft.transform._custom_nodes import custom_call
from weft.transform._tape import Tape, Tapes


def batch_control(batch: Batch, node: Node) -> Any:
    """What stands for a control-flow node."""
    from weft.transform._batch_custom import batch_custom
    from weft.transform._batch_loops import batch_for, batch_while

    known = {cond: _cond, switch: _switch, while_loop: batch_while, fori_loop: batch_for, custom_call: batch_custom}
    rule = known.get(node.target)
    if rule is None:
        return batch.row_by_row(node)
    if _has_found_sizes(node):
        raise Unbatchable("a result of a size that only running tells", node)
    if batch.mask is not None:
        return rule(batch, node)
    mark = batch.builder.mark()
    try:
        return rule(batch, node)
    except Unbatchable:
        take_back(batch.builder, mark)
    return batch.row_by_row(node)


def _has_found_sizes(node: Node) -> bool:
    """Whether a result has a size that only running tells: it stands with the result, not with the node."""
    types = node.meta.get("type")
    if not isinstance(types, tuple):
        return False
    for user in node.users:
        if user.target is operator.getitem and user.args[0] is node and isinstance(user.args[1], int):
            here, there = types[user.args[1]], user.meta.get("type")
            if isinstance(here, Spec) and isinstance(there, Spec) and not same_shape(here.shape, there.shape):
                return True
    return False


# Bodies


class Body:
    """A body that is batched: its inputs of given layouts, and what it gives."""

    def __init__(self, batch: Batch, graph: Graph, mask: Value | None) -> None:
        self.outer, self.graph = batch, graph
        self.builder: Builder = body_of(batch.builder)
        inner_mask = None if mask is None else self.builder.value(mask.node)
        self.batch = Batch(self.builder, batch.size, {}, inner_mask)
        self.places = graph.find_nodes(op="placeholder")
        self.own: list[Node] = []

    def own_input(self, name: str, layout: Any, type_: Any, place: Node | None) -> Any:
        """An input of the body's own, in place of one of the graph's; its entry."""
        node = self.builder.region.placeholder(name)
        node.meta["type"] = type_in(self.outer, layout, type_)
        self.own.append(node)
        entry = from_layout(self.builder.value(node), layout, type_) if layout is not False else node
        if place is not None:
            node._position = place._position
            self.batch.known[place] = entry
        return entry

    def from_outside(self, places: Sequence[Node], entries: Sequence[Any]) -> None:
        """Let inputs of the graph stand for values from around the node."""
        for place, entry in zip(places, entries, strict=True):
            self.batch.known[place] = self.inside(entry)

    def inside(self, entry: Any) -> Any:
        """An entry from around the node, as the body reads it."""
        if isinstance(entry, Rows):
            return Rows(self.builder.value(entry.value.node), entry.type)
        if isinstance(entry, TapeRows):
            node = self.builder.region.lift(entry.value.node)
            node.meta["type"] = entry.value.type  # of the branch's own, where several have left one
            return TapeRows(Value(self.builder, node, entry.value.type), entry.parts, entry.late)
        if isinstance(entry, TapesRows):
            return TapesRows(self.builder.value(entry.value.node), entry.layouts)
        if isinstance(entry, Chosen):
            return Chosen(tuple(map(self.inside, entry.entries)))
        if isinstance(entry, tuple):
            return tuple(map(self.inside, entry))
        return self.builder.region.lift(entry) if isinstance(entry, Node) else entry

    def run(self) -> Any:
        """Write the nodes; the entries of the results, or None where it only raises."""
        self.batch.run(self.graph.nodes)
        output = self.graph.output_node().args[0]
        if isinstance(output, Node):
            if output.meta.get("type") is None and output.is_impure():
                return None
            return self.batch.known[output]
        return tuple(self.batch.held(part) for part in output)

    @property
    def raised(self) -> Any:
        return self.batch.known[self.graph.output_node().args[0]]


# Branches


def _cond(batch: Batch, node: Node) -> Any:
    pred, true, false, *operands = node.args
    entry = batch.held(pred)
    if is_plain(entry):
        return _branches(batch, node, (entry,), [true, false], operands, lambda bodies: tuple(bodies))
    truth = truth_of(batch, entry)
    return _both(batch, node, [(true, truth), (false, batch.call("logical_not", truth))], operands)


def truth_of(batch: Batch, entry: Rows) -> Value:
    value = entry.value if entry.ndim == 0 else batch.call("reshape", entry.value, (batch.size,))
    return value if value.dtype.kind == "b" else batch.call("astype", value, bool)


def _switch(batch: Batch, node: Node) -> Any:
    index, graphs, *operands = node.args
    entry = batch.held(index)
    if is_plain(entry):
        return _branches(batch, node, (entry,), list(graphs), operands, lambda bodies: (list(bodies),))
    chosen = batch.call("clip", entry.value, 0, len(graphs) - 1)
    return _both(batch, node, [(graph, batch.call("equal", chosen, k)) for k, graph in enumerate(graphs)], operands)


def _branches(
    batch: Batch, node: Node, head: tuple[Any, ...], graphs: list[Graph], operands: Sequence[Any], laid_out: Any
) -> Any:
    """One way for all examples: the same node, its bodies batched."""
    entries = [batch.held(operand) for operand in operands]
    bodies, results = [], []
    for number, graph in enumerate(graphs):
        body = Body(batch, graph, batch.mask)
        body.from_outside(body.places, [side(entry, number) for entry in entries])
        for place, entry in zip(body.places, entries, strict=True):
            if isinstance(entry, Node) and isinstance(entry.meta.get("type"), Tapes):
                body.batch.known[place].meta["type"] = entry.meta["type"].types[number]  # the branch's own
        bodies.append(body)
        results.append(body.run())
    type_ = batch.type_of(node)
    layouts = _common(results, type_)
    given = [
        body.raised if result is None else lay_all(body.batch, result, layouts, type_)
        for body, result in zip(bodies, results, strict=True)
    ]
    made_operands = close_all([body.builder for body in bodies], [[] for _ in bodies], given)
    types = None if layouts is None else types_in(batch, layouts, type_)
    args = (*head, *laid_out([body.builder.graph for body in bodies]), *made_operands)
    made = batch.builder.create(node.target, args, {}, types)
    if layouts is None:
        return made
    return _read(batch, made, layouts, types, type_)


def _common(results: list[Any], type_: Any) -> Any:
    """The layouts of the results of a choice; None where it only raises."""
    found = [None if result is None else layouts_of(result) for result in results]
    layouts: Any = None
    for each in found:
        if each is not None:
            layouts = each if layouts is None else merged_layouts(layouts, each, type_)
    if layouts is None or not isinstance(type_, (tuple, list)):
        return layouts
    return tuple(
        ("tapes", tuple(False if each is None else each[k] for each in found))
        if isinstance(kind, Tapes) and any(each is not None and each[k] is not False for each in found)
        else layout
        for k, (layout, kind) in enumerate(zip(layouts, type_, strict=True))
    )


def layouts_of(result: Any) -> Any:
    return tuple(map(layout_of, result)) if isinstance(result, tuple) else layout_of(result)


def merged_layouts(a: Any, b: Any, type_: Any = None) -> Any:
    if not isinstance(type_, (tuple, list)):
        return joined(a, b)
    kinds = zip(a, b, type_, strict=True)
    return tuple(False if isinstance(kind, Tapes) else joined(x, y) for x, y, kind in kinds)


def lay_all(batch: Batch, result: Any, layouts: Any, type_: Any) -> Any:
    if isinstance(result, tuple):
        kinds = type_ if isinstance(type_, (tuple, list)) else (None,) * len(result)
        return tuple(laid(batch, *each) for each in zip(result, layouts, kinds, strict=True))
    return laid(batch, result, layouts, type_)


def types_in(batch: Batch, layouts: Any, type_: Any) -> Any:
    if isinstance(type_, (tuple, list)):
        return tuple(type_in(batch, *each) for each in zip(layouts, type_, strict=True))
    return type_in(batch, layouts, type_)


def _read(batch: Batch, made: Node, layouts: Any, types: Any, type_: Any) -> Any:
    """The entries of a node's results."""
    if not isinstance(types, tuple):
        return from_layout(batch.builder.wrap(made, types), layouts, type_)
    return tuple(
        from_layout(batch.builder.item(made, k, each), layout, kind)
        for k, (each, layout, kind) in enumerate(zip(types, layouts, type_, strict=True))
    )


def _both(batch: Batch, node: Node, branches: list[tuple[Graph, Value]], operands: Sequence[Any]) -> Any:
    """Each branch, for the examples that take it; the results put together."""
    entries = [batch.held(operand) for operand in operands]
    type_ = batch.type_of(node)
    results = []
    for number, (graph, taken) in enumerate(branches):
        mask = taken if batch.mask is None else batch.call("logical_and", taken, batch.mask)
        given = [side(entry, number) for entry in entries]
        inner = Batch(
            batch.builder, batch.size, dict(zip(graph.find_nodes(op="placeholder"), given, strict=True)), mask
        )
        inner.run(graph.nodes)
        output = graph.output_node().args[0]
        results.append(inner.known[output] if isinstance(output, Node) else tuple(inner.held(p) for p in output))
    if isinstance(type_, (tuple, list)) and all(isinstance(result, tuple) for result in results):
        return tuple(_chosen(batch, branches, [result[k] for result in results], kind) for k, kind in enumerate(type_))
    return _chosen(batch, branches, results, type_)


def _chosen(batch: Batch, branches: list[tuple[Graph, Value]], results: list[Any], type_: Any) -> Any:
    """One result of several branches."""
    if isinstance(type_, Tapes):
        return Chosen(tuple(results))
    total = results[-1]
    for (_, taken), result in zip(branches[-2::-1], results[-2::-1], strict=True):
        total = select(batch, taken, result, total, type_)
    return total


def select(batch: Batch, taken: Value, new: Any, old: Any, type_: Any) -> Any:
    """For each example one of two values."""
    if isinstance(new, tuple) or isinstance(old, tuple):
        new = new if isinstance(new, tuple) else batch.builder.value(new)
        old = old if isinstance(old, tuple) else batch.builder.value(old)
        kinds = type_ if isinstance(type_, (tuple, list)) else (None,) * len(new)
        return tuple(select(batch, taken, *each) for each in zip(new, old, kinds, strict=True))
    if new is old:
        return new
    constant = is_plain(new) and is_plain(old) and not isinstance(new, Node)
    if constant and type(new) is type(old) and np.array_equal(new, old):
        return new
    if isinstance(type_, Tape) or isinstance(new, TapeRows) or isinstance(old, TapeRows):
        raise Unbatchable("a tape that only some examples have")
    if type_ is None:
        raise Unbatchable("a value of no known type")
    first, second = as_rows(batch, new, type_), as_rows(batch, old, type_)
    if first.ndim != second.ndim:
        raise Unbatchable("values of different shapes")
    mask = taken if not first.ndim else batch.call("reshape", taken, (batch.size, *(1,) * first.ndim))
    return Rows(batch.call("where", mask, first.value, second.value), type_)
