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
from weft.transform._batch import Batch, Rows, TapeRows, Unbatchable, is_plain, kind_dtype
from weft.transform._batch_bodies import close_all
from weft.transform._batch_calls import from_layout, joined_layouts, layout_of, turns
from weft.transform._batch_rows import refused
from weft.transform._builder import Builder, Value
from weft.transform._tape import Tape

_ANY = TABLE["any"]


def batch_control(batch: Batch, node: Node) -> Any:
    """What stands for a control-flow node."""
    known = {cond: _cond, switch: _switch, while_loop: _while, fori_loop: _for}
    rule = known.get(node.target)
    if rule is None:
        raise Unbatchable("control flow of values of no known type", node)
    if batch.mask is not None:
        return rule(batch, node)
    mark = batch.builder.region.mark()
    held = dict(batch.known)
    try:
        return rule(batch, node)
    except Unbatchable:
        batch.builder.region.go_back(mark)
        batch.known = held
    try:
        return batch.row_by_row(node)
    except Unbatchable as error:
        if any(isinstance(held.get(each), TapeRows) for each in node.all_input_nodes) or _has_tape(node):
            raise refused(
                node,
                f"examples take different ways through a loop that is differentiated, and {error}",
                "differentiate the batched function instead: grad of vmap rather than vmap of grad",
            ) from None
        raise


def _has_tape(node: Node) -> bool:
    type_ = node.meta.get("type")
    return isinstance(type_, (tuple, list)) and any(isinstance(part, Tape) for part in type_)


# Entries across bodies


def _given(batch: Batch, argument: Any) -> Any:
    """The entry of an argument of a node, a constant as it is."""
    return batch.known[argument] if isinstance(argument, Node) else argument


def as_rows(batch: Batch, entry: Any, type_: Any) -> Any:
    """An entry with a row for each example; of a tape, itself."""
    if isinstance(entry, (Rows, TapeRows)):
        return entry
    if isinstance(type_, Tape):
        raise Unbatchable("a tape that only some examples have")
    value = batch.front(batch.builder.value(entry))
    dtype = kind_dtype(type_) if type_ is not None else value.dtype
    return Rows(value if value.dtype == dtype else batch.call("astype", value, dtype), type_)


def _lay(batch: Batch, entry: Any, layout: Any, type_: Any) -> Any:
    """An entry in a layout, as what a node takes or gives."""
    if isinstance(layout, tuple) and layout and layout[0] == "tape":
        return entry.value if isinstance(entry, TapeRows) else entry
    if isinstance(layout, tuple):
        parts = entry if isinstance(entry, tuple) else batch.builder.value(entry)
        kinds = type_ if isinstance(type_, (tuple, list)) else (None,) * len(layout)
        return tuple(_lay(batch, *each) for each in zip(parts, layout, kinds, strict=True))
    if not layout:
        return entry
    return as_rows(batch, entry, type_).value


def _type_in(batch: Batch, layout: Any, type_: Any, value: Any = None) -> Any:
    """The type of a value of a layout, of which one example has this type."""
    if isinstance(layout, tuple) and layout and layout[0] == "tape":
        parts = zip(layout[1], type_.types, strict=True)
        return Tape(tuple(_type_in(batch, part, each) for part, each in parts))
    if isinstance(layout, tuple):
        return tuple(_type_in(batch, *each) for each in zip(layout, type_, strict=True))
    if not layout:
        return type_
    shape = type_.shape if isinstance(type_, Spec) else ()
    return Spec((batch.size, *shape), kind_dtype(type_))


class Body:
    """A body that is batched: its inputs of given layouts, and what it gives."""

    def __init__(self, batch: Batch, graph: Graph, mask: Value | None) -> None:
        self.outer, self.graph = batch, graph
        self.builder: Builder = batch.builder.body()
        inner_mask = None if mask is None else self.builder.value(mask.node)
        self.batch = Batch(self.builder, batch.size, {}, inner_mask)
        self.places = graph.find_nodes(op="placeholder")
        self.own: list[Node] = []

    def own_input(self, name: str, layout: Any, type_: Any, place: Node | None) -> Any:
        """An input of the body's own, in place of one of the graph's; its entry."""
        node = self.builder.region.placeholder(name)
        node.meta["type"] = _type_in(self.outer, layout, type_)
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
            return TapeRows(self.builder.value(entry.value.node), entry.parts, entry.late)
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
        return tuple(_given(self.batch, part) for part in output)

    @property
    def raised(self) -> Any:
        return self.batch.known[self.graph.output_node().args[0]]


# Branches


def _cond(batch: Batch, node: Node) -> Any:
    pred, true, false, *operands = node.args
    entry = _given(batch, pred)
    if is_plain(entry):
        return _branches(batch, node, (entry,), [true, false], operands, lambda bodies: tuple(bodies))
    truth = _truth(batch, entry)
    return _both(batch, node, [(false, batch.call("logical_not", truth)), (true, truth)], operands)


def _truth(batch: Batch, entry: Rows) -> Value:
    value = entry.value if entry.ndim == 0 else batch.call("reshape", entry.value, (batch.size,))
    return value if value.dtype.kind == "b" else batch.call("astype", value, bool)  # type: ignore[no-any-return]  # a Value


def _switch(batch: Batch, node: Node) -> Any:
    index, graphs, *operands = node.args
    entry = _given(batch, index)
    if is_plain(entry):
        return _branches(batch, node, (entry,), list(graphs), operands, lambda bodies: (list(bodies),))
    chosen = batch.call("clip", entry.value, 0, len(graphs) - 1)
    return _both(batch, node, [(graph, chosen == k) for k, graph in enumerate(graphs)], operands)


def _branches(
    batch: Batch, node: Node, head: tuple[Any, ...], graphs: list[Graph], operands: Sequence[Any], laid_out: Any
) -> Any:
    """One way for all examples: the same node, its bodies batched."""
    entries = [_given(batch, operand) for operand in operands]
    bodies, results = [], []
    for graph in graphs:
        body = Body(batch, graph, batch.mask)
        body.from_outside(body.places, entries)
        bodies.append(body)
        results.append(body.run())
    type_ = batch.type_of(node)
    layouts = None
    for result in results:
        if result is not None:
            found = _layouts(result)
            layouts = found if layouts is None else _merge(layouts, found)
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


def _layouts(result: Any) -> Any:
    return tuple(map(layout_of, result)) if isinstance(result, tuple) else layout_of(result)


def _merge(a: Any, b: Any) -> Any:
    return joined_layouts(a, b)


def _lay_all(batch: Batch, result: Any, layouts: Any, type_: Any) -> Any:
    if isinstance(result, tuple):
        kinds = type_ if isinstance(type_, (tuple, list)) else (None,) * len(result)
        return tuple(_lay(batch, *each) for each in zip(result, layouts, kinds, strict=True))
    return _lay(batch, result, layouts, type_)


def _types_in(batch: Batch, layouts: Any, type_: Any) -> Any:
    if isinstance(type_, (tuple, list)):
        return tuple(_type_in(batch, *each) for each in zip(layouts, type_, strict=True))
    return _type_in(batch, layouts, type_)


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
    entries = [_given(batch, operand) for operand in operands]
    type_ = batch.type_of(node)
    total: Any = None
    for graph, taken in branches:
        mask = taken if batch.mask is None else batch.call("logical_and", taken, batch.mask)
        inner = Batch(batch.builder, batch.size, dict(zip(graph.find_nodes(op="placeholder"), entries, strict=True)), mask)
        inner.run(graph.nodes)
        output = graph.output_node().args[0]
        result = inner.known[output] if isinstance(output, Node) else tuple(_given(inner, part) for part in output)
        total = result if total is None else select(batch, taken, result, total, type_)
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
    return [_given(batch, value) for value in init]


def _for(batch: Batch, node: Node) -> Any:
    lower, upper, graph, init, *operands = node.args
    bounds = [_given(batch, each) for each in (lower, upper, node.kwargs.get("step", 1))]
    entries = [_given(batch, operand) for operand in operands]
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
    late = _reads_late(starts, entries)
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
    if isinstance(layout, tuple) and layout and layout[0] == "tape":
        return ("tape", layout[1], layout[2] if layout[2] is not None else late)
    return layout


def _reads_late(starts: list[Any], entries: list[Any]) -> bool:
    """Whether a loop reads a tape whose turns begin together: read from its end, they end together."""
    return any(isinstance(each, TapeRows) and each.late is False for each in (*starts, *entries))


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
        if isinstance(layout, tuple) and layout and layout[0] == "tape":
            found.append(new)
        else:
            found.append(select(body.batch, active, new, old, kind))
    return tuple(found)


def _while(batch: Batch, node: Node) -> Any:
    decide, graph, init, *operands = node.args
    entries = [_given(batch, operand) for operand in operands]
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
    entry = _given(inner, output[0] if isinstance(output, tuple) else output)
    truth = _truth(batch, entry if isinstance(entry, Rows) else Rows(batch.front(batch.builder.value(entry))))
    return truth if mask is None else batch.call("logical_and", truth, mask)  # type: ignore[no-any-return]  # a Value


def _uneven_while(
    batch: Batch, node: Node, layouts: tuple[Any, ...], starts: list[Any], entries: list[Any]
) -> Any:
    """A turn for all as long as any example goes on. Which do is carried along."""
    decide, graph = node.args[:2]
    type_ = batch.type_of(node)
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
    test = batch.builder.body()
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

