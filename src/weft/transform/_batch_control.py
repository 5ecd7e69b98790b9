"""Batching of control flow.

Where all examples take the same way (one condition, the same bounds), the node stays what it is and its bodies are
batched; which carries of a loop differ between examples is found by trying until nothing changes. Where they part,
both branches run and each example takes its own result; a loop runs as long as any example goes on, and those that have
ended keep their state. What must not run for examples that do not come there makes the examples run one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.graph import Graph, Node
from weft.graph._control import cond, fori_loop, switch, while_loop
from weft.ops import Spec
from weft.ops._op import TABLE
from weft.transform._batch import Batch, Chosen, Rows, TapeRows, TapesRows, Unbatchable, is_plain
from weft.transform._batch_bodies import body_of, close_all, take_back
from weft.transform._batch_calls import turns
from weft.transform._batch_layouts import as_rows, from_layout, joined, laid, layout_of, named_layout, side, type_in
from weft.transform._builder import Builder, Value
from weft.transform._custom_nodes import custom_call
from weft.transform._tape import Tape, Tapes

_ANY = TABLE["any"]


def batch_control(batch: Batch, node: Node) -> Any:
    """What stands for a control-flow node."""
    from weft.transform._batch_custom import batch_custom

    known = {cond: _cond, switch: _switch, while_loop: _while, fori_loop: _for, custom_call: batch_custom}
    rule = known.get(node.target)
    if rule is None:
        return batch.row_by_row(node)
    if batch.mask is not None:
        return rule(batch, node)
    mark = batch.builder.mark()
    try:
        return rule(batch, node)
    except Unbatchable:
        take_back(batch.builder, mark)
    return batch.row_by_row(node)


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
    truth = _truth(batch, entry)
    return _both(batch, node, [(true, truth), (false, batch.call("logical_not", truth))], operands)


def _truth(batch: Batch, entry: Rows) -> Value:
    value = entry.value if entry.ndim == 0 else batch.call("reshape", entry.value, (batch.size,))
    return value if value.dtype.kind == "b" else batch.call("astype", value, bool)


def _switch(batch: Batch, node: Node) -> Any:
    index, graphs, *operands = node.args
    entry = batch.held(index)
    if is_plain(entry):
        return _branches(batch, node, (entry,), list(graphs), operands, lambda bodies: (list(bodies),))
    chosen = batch.call("clip", entry.value, 0, len(graphs) - 1)
    return _both(batch, node, [(graph, chosen == k) for k, graph in enumerate(graphs)], operands)


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
        body.raised if result is None else _lay_all(body.batch, result, layouts, type_)
        for body, result in zip(bodies, results, strict=True)
    ]
    made_operands = close_all([body.builder for body in bodies], [[] for _ in bodies], given)
    types = None if layouts is None else _types_in(batch, layouts, type_)
    args = (*head, *laid_out([body.builder.graph for body in bodies]), *made_operands)
    made = batch.builder.create(node.target, args, {}, types)
    if layouts is None:
        return made
    return _read(batch, made, layouts, types, type_)


def _common(results: list[Any], type_: Any) -> Any:
    """The layouts of the results of a choice; None where it only raises."""
    found = [None if result is None else _layouts(result) for result in results]
    layouts: Any = None
    for each in found:
        if each is not None:
            layouts = each if layouts is None else _merge(layouts, each, type_)
    if layouts is None or not isinstance(type_, (tuple, list)):
        return layouts
    return tuple(
        ("tapes", tuple(False if each is None else each[k] for each in found))
        if isinstance(kind, Tapes) and any(each is not None and each[k] is not False for each in found)
        else layout
        for k, (layout, kind) in enumerate(zip(layouts, type_, strict=True))
    )


def _layouts(result: Any) -> Any:
    return tuple(map(layout_of, result)) if isinstance(result, tuple) else layout_of(result)


def _merge(a: Any, b: Any, type_: Any = None) -> Any:
    if not isinstance(type_, (tuple, list)):
        return joined(a, b)
    kinds = zip(a, b, type_, strict=True)
    return tuple(False if isinstance(kind, Tapes) else joined(x, y) for x, y, kind in kinds)


def _lay_all(batch: Batch, result: Any, layouts: Any, type_: Any) -> Any:
    if isinstance(result, tuple):
        kinds = type_ if isinstance(type_, (tuple, list)) else (None,) * len(result)
        return tuple(laid(batch, *each) for each in zip(result, layouts, kinds, strict=True))
    return laid(batch, result, layouts, type_)


def _types_in(batch: Batch, layouts: Any, type_: Any) -> Any:
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
    if is_plain(new) and is_plain(old) and not isinstance(new, Node) and type(new) is type(old) and new == old:
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


# Loops


def _starts(batch: Batch, init: Sequence[Any]) -> list[Any]:
    return [batch.held(value) for value in init]


def _for(batch: Batch, node: Node) -> Any:
    lower, upper, graph, init, *operands = node.args
    bounds = [batch.held(each) for each in (lower, upper, node.kwargs.get("step", 1))]
    entries = [batch.held(operand) for operand in operands]
    starts = _starts(batch, init)
    if all(map(is_plain, bounds)):
        return _even(batch, node, graph, bounds, starts, entries)
    return _uneven(batch, node, graph, bounds, starts, entries)


def _even(batch: Batch, node: Node, graph: Graph, bounds: list[Any], starts: list[Any], entries: list[Any]) -> Any:
    """As many turns for all examples."""
    type_ = batch.type_of(node)
    layouts = _started(starts, type_)
    while True:
        body = Body(batch, graph, batch.mask)
        count = len(starts)
        body.own_input(body.places[0].name, False, int, body.places[0])
        for k, place in enumerate(body.places[1 : count + 1]):
            body.own_input(place.name, layouts[k], type_[k], place)
        body.from_outside(body.places[count + 1 :], entries)
        result = body.run()
        if not isinstance(result, tuple):
            raise Unbatchable("a loop whose body does not return", node)
        merged = _merge(layouts, _layouts(result))
        if merged == layouts:
            break
        layouts = merged
    given = _lay_all(body.batch, result, layouts, type_)
    operands = close_all([body.builder], [body.own], [given])
    types = _types_in(batch, layouts, type_)
    init = _lay_all(batch, tuple(starts), layouts, type_)
    kwargs = {} if bounds[2] == 1 and isinstance(bounds[2], int) else {"step": bounds[2]}
    args = (bounds[0], bounds[1], body.builder.graph, init, *operands)
    return _read(batch, batch.builder.create(fori_loop, args, kwargs, types), layouts, types, type_)


def _started(starts: list[Any], type_: Any) -> tuple[Any, ...]:
    return tuple(
        ("tape", (False,) * len(kind.types), None) if isinstance(kind, Tape) and is_plain(start) else layout_of(start)
        for start, kind in zip(starts, type_, strict=True)
    )


def _uneven(batch: Batch, node: Node, graph: Graph, bounds: list[Any], starts: list[Any], entries: list[Any]) -> Any:
    """As many turns as the example with the most has; the others wait at the end of theirs.

    Where a tape is read whose turns end together, they wait at the beginning instead.
    """
    lower, upper, step = (batch.builder.value(each) if is_plain(each) else each for each in bounds)
    count = turns(batch, lower, upper, step)
    if batch.mask is not None:
        count = batch.call("where", batch.mask, count, 0)
    most = batch.call("max", batch.call("concat", [count, batch.call("zeros", (1,), count.dtype)]))
    late = _reads_late(starts, entries, batch.type_of(node))
    first = batch.front(lower)
    stride = batch.front(step) if isinstance(step, Rows) else step
    type_ = batch.type_of(node)
    layouts = _started(starts, type_)
    same = _unchanged(graph, 1, len(starts))
    layouts = tuple(
        layout if k in same or isinstance(kind, Tape) else True
        for k, (layout, kind) in enumerate(zip(layouts, type_, strict=True))
    )
    layouts = tuple(_turned(layout, late) for layout in layouts)
    while True:
        body = Body(batch, graph, None)
        build = body.builder
        counter = body.own_input("turn", False, int, None)
        for k, place in enumerate(body.places[1 : len(starts) + 1]):
            body.own_input(place.name, layouts[k], type_[k], place)
        turn: Any = Value(build, counter, int)
        waited = 0 if not late else build.value(most.node) - build.value(count.node)
        active = turn >= waited if late else turn < build.value(count.node)
        body.batch.mask = active
        index = build.value(first.node) + (turn - waited) * (
            build.value(stride.node) if isinstance(stride, Value) else stride
        )
        body.batch.known[body.places[0]] = Rows(index, int)
        body.from_outside(body.places[len(starts) + 1 :], entries)
        result = body.run()
        if not isinstance(result, tuple):
            raise Unbatchable("a loop whose body does not return", node)
        merged = tuple(_turned(each, late) for each in _merge(layouts, _layouts(result)))
        if merged == layouts:
            break
        layouts = merged
    kept = _kept(body, active, result, layouts, type_, 1)
    given = _lay_all(body.batch, kept, layouts, type_)
    operands = close_all([build], [body.own], [given])
    types = _types_in(batch, layouts, type_)
    init = _lay_all(batch, tuple(starts), layouts, type_)
    made = batch.builder.create(fori_loop, (0, most, build.graph, init, *operands), {}, types)
    return _read(batch, made, layouts, types, type_)


def _turned(layout: Any, late: bool) -> Any:
    """The layout of a tape whose turns are uneven."""
    if named_layout(layout, "tape"):
        return ("tape", layout[1], layout[2] if layout[2] is not None else late)
    return layout


def _reads_late(starts: list[Any], entries: list[Any], types: Any) -> bool:
    """Whether a loop reads a tape whose turns begin together: read from its end, they end together."""
    lates = {start.late for start in starts if isinstance(start, TapeRows)}
    others = any(isinstance(each, (TapeRows, TapesRows, Chosen)) for each in entries)
    if others or len(lates) > 1 or None in lates or any(isinstance(t, Tape) and t.places is not None for t in types):
        raise Unbatchable("tapes of uneven loops that lie differently")
    return lates == {False}


def _unchanged(graph: Graph, counters: int, count: int) -> set[int]:
    """The carries that a turn leaves as they are."""
    places = graph.find_nodes(op="placeholder")[counters : counters + count]
    output = graph.output_node().args[0]
    return {k for k, place in enumerate(places) if isinstance(output, (tuple, list)) and output[k] is place}


def _kept(body: Body, active: Value, result: tuple[Any, ...], layouts: Any, type_: Any, counters: int) -> Any:
    """The state after a turn: that of examples whose loop has ended stays."""
    places = body.places[counters : counters + len(result)]
    found = []
    for place, new, layout, kind in zip(places, result, layouts, type_, strict=True):
        old = body.batch.known[place]
        if named_layout(layout, "tape"):
            found.append(new)
        else:
            found.append(select(body.batch, active, new, old, kind))
    return tuple(found)


def _while(batch: Batch, node: Node) -> Any:
    decide, graph, init, *operands = node.args
    entries = [batch.held(operand) for operand in operands]
    starts = _starts(batch, init)
    type_ = batch.type_of(node)
    layouts = _started(starts, type_)
    if batch.mask is not None:
        return _uneven_while(batch, node, layouts, starts, entries)
    while True:
        test, body = Body(batch, decide, None), Body(batch, graph, None)
        for each in (test, body):
            for k, place in enumerate(each.places[: len(starts)]):
                each.own_input(place.name, layouts[k], type_[k], place)
            each.from_outside(each.places[len(starts) :], entries)
        going = test.run()
        if not is_plain(going):
            return _uneven_while(batch, node, layouts, starts, entries)
        result = body.run()
        if not isinstance(result, tuple):
            raise Unbatchable("a loop whose body does not return", node)
        merged = _merge(layouts, _layouts(result))
        if merged == layouts:
            break
        layouts = merged
    given = _lay_all(body.batch, result, layouts, type_)
    closed = close_all([test.builder, body.builder], [test.own, body.own], [going, given])
    types = _types_in(batch, layouts, type_)
    args = (test.builder.graph, body.builder.graph, _lay_all(batch, tuple(starts), layouts, type_), *closed)
    return _read(batch, batch.builder.create(while_loop, args, {}, types), layouts, types, type_)


def _going(batch: Batch, graph: Graph, values: Sequence[Any], mask: Value | None) -> Value:
    """Which examples go on, decided here."""
    places = graph.find_nodes(op="placeholder")
    inner = Batch(batch.builder, batch.size, dict(zip(places, values, strict=True)), mask)
    inner.run(graph.nodes)
    output = graph.output_node().args[0]
    entry = inner.held(output[0] if isinstance(output, tuple) else output)
    truth = _truth(batch, entry if isinstance(entry, Rows) else Rows(batch.front(batch.builder.value(entry))))
    return truth if mask is None else batch.call("logical_and", truth, mask)


def _uneven_while(batch: Batch, node: Node, layouts: tuple[Any, ...], starts: list[Any], entries: list[Any]) -> Any:
    """A turn for all as long as any example goes on. Which do is carried along."""
    decide, graph = node.args[:2]
    type_ = batch.type_of(node)
    if any(isinstance(start, TapeRows) for start in starts):
        raise Unbatchable("a tape that a loop of uneven turns reads", node)
    same = _unchanged(graph, 0, len(starts))
    layouts = tuple(
        _turned(layout, False) if k in same or isinstance(kind, Tape) else True
        for k, (layout, kind) in enumerate(zip(layouts, type_, strict=True))
    )
    active = _going(batch, decide, [*starts, *entries], batch.mask)
    while True:
        body = Body(batch, graph, None)
        mask = body.own_input("active", True, Spec((), bool), None).value
        body.batch.mask = mask
        for k, place in enumerate(body.places[: len(starts)]):
            body.own_input(place.name, layouts[k], type_[k], place)
        inside = [body.inside(entry) for entry in entries]
        for place, entry in zip(body.places[len(starts) :], inside, strict=True):
            body.batch.known[place] = entry
        result = body.run()
        if not isinstance(result, tuple):
            raise Unbatchable("a loop whose body does not return", node)
        merged = tuple(_turned(each, False) for each in _merge(layouts, _layouts(result)))
        if merged == layouts:
            break
        layouts = merged
    kept = _kept(body, mask, result, layouts, type_, 0)
    after = _going(body.batch, decide, [*kept, *inside], mask)
    given = (after, *_lay_all(body.batch, kept, layouts, type_))
    test = body_of(batch.builder)
    own = []
    types = (active.type, *_types_in(batch, layouts, type_))
    for name, each in zip(("active", *(place.name for place in body.places)), types, strict=False):
        place = test.region.placeholder(name)
        place.meta["type"] = each
        own.append(place)
    going = test.call(_ANY, Value(test, own[0], active.type))
    closed = close_all([test, body.builder], [own, body.own], [going, given])
    init = (active, *_lay_all(batch, tuple(starts), layouts, type_))
    made = batch.builder.create(while_loop, (test.graph, body.builder.graph, init, *closed), {}, types)
    return tuple(
        from_layout(batch.builder.item(made, k + 1, types[k + 1]), layout, kind)
        for k, (layout, kind) in enumerate(zip(layouts, type_, strict=True))
    )
