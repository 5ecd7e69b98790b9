"""Batching of loops: as many turns for all examples, or as long as any example goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from weft.graph import Graph, Node
from weft.graph._control import fori_loop, while_loop
from weft.ops import Spec
from weft.ops._dim import Dim, same_shape
from weft.ops._op import TABLE
from weft.transform._batch import Batch, Chosen, Rows, TapeRows, TapesRows, Unbatchable, is_plain
from weft.transform._batch_bodies import body_of, close_all
from weft.transform._batch_calls import turns
from weft.transform._batch_control import Body, lay_all, layouts_of, merged_layouts, select, truth_of, types_in
from weft.transform._batch_layouts import from_layout, layout_of, named_layout
from weft.transform._builder import Value
from weft.transform._tape import Tape

_ANY = TABLE["any"]


class Loop:
    """A loop that is batched: the carries it starts with, how they lie, and what its bodies read from outside."""

    def __init__(self, batch: Batch, node: Node, init: Sequence[Any], operands: Sequence[Any]) -> None:
        self.batch, self.node = batch, node
        self.starts = [batch.held(value) for value in init]
        self.entries = [batch.held(operand) for operand in operands]
        self.type = batch.type_of(node)
        self.layouts: tuple[Any, ...] = tuple(
            ("tape", (False,) * len(kind.types), None)
            if isinstance(kind, Tape) and is_plain(start)
            else layout_of(start)
            for start, kind in zip(self.starts, self.type, strict=True)
        )
        self.late: bool | None = None

    def part(self, graph: Graph, counters: int, late: bool) -> None:
        """Let examples take different numbers of turns: what a turn changes differs between them from the start."""
        places = graph.find_nodes(op="placeholder")[counters:]
        output = graph.output_node().args[0]
        same = isinstance(output, (tuple, list)) and [a is b for a, b in zip(output, places, strict=False)]
        self.late = late
        self._assign(places)
        self.layouts = tuple(
            self._turned(layout) if isinstance(kind, Tape) or (same and same[k]) else True
            for k, (layout, kind) in enumerate(zip(self.layouts, self.type, strict=True))
        )

    def _assign(self, places: Sequence[Node]) -> None:
        """Let variables that turns assign first begin with zeros of the size they get: rows have one size."""
        around = self.batch.builder.around()
        for k, (place, start, kind) in enumerate(zip(places, self.starts, self.type, strict=False)):
            begins = start.meta.get("type") if isinstance(start, Node) else None
            if place.users or not isinstance(begins, Spec) or not isinstance(kind, Spec):
                continue
            atoms = [atom for dim in kind.shape if isinstance(dim, Dim) for atom in dim.atoms()]
            there = all(atom.source is not None and atom.source[1].graph in around for atom in atoms)
            if there and not same_shape(begins.shape, kind.shape):
                self.starts[k] = self.batch.builder.zeros(kind).node

    def _turned(self, layout: Any) -> Any:
        """The layout of a tape whose turns are uneven."""
        if self.late is not None and named_layout(layout, "tape"):
            return ("tape", layout[1], layout[2] if layout[2] is not None else self.late)
        return layout

    def enter(self, body: Body, counters: int = 0) -> None:
        """Give a body the carries, behind its counters, and what it reads from outside."""
        places = body.places[counters:]
        body.from_outside(places[len(self.starts) :], self.entries)
        for place, layout, kind in zip(places, self.layouts, self.type, strict=False):
            # What a turn is given may have another size than what the loop gives: that of a variable not yet assigned.
            own = body.batch.type_of(place) if isinstance(kind, Spec) else kind
            body.own_input(place.name, layout, own if isinstance(own, Spec) else kind, place)

    def settle(self, attempt: Callable[[], Body]) -> tuple[Body, tuple[Any, ...]]:
        """Run the body that each attempt opens until the carries lie after a turn as they lay before."""
        while True:
            body = attempt()
            result = body.run()
            if not isinstance(result, tuple):
                raise Unbatchable("a loop whose body does not return", self.node)
            merged = tuple(map(self._turned, merged_layouts(self.layouts, layouts_of(result))))
            if merged == self.layouts:
                return body, result
            self.layouts = merged

    def kept(self, body: Body, result: tuple[Any, ...], counters: int) -> tuple[Any, ...]:
        """The carries after a turn: those of examples whose loop has ended stay."""
        active = body.batch.mask
        assert active is not None
        return tuple(
            new if named_layout(layout, "tape") else select(body.batch, active, new, body.batch.known[place], kind)
            for place, new, layout, kind in zip(body.places[counters:], result, self.layouts, self.type, strict=False)
        )

    def laid(self, batch: Batch, values: Sequence[Any]) -> tuple[Any, ...]:
        """Carries as a node takes or gives them."""
        return lay_all(batch, tuple(values), self.layouts, self.type)  # type: ignore[no-any-return]  # of a tuple

    def made(
        self, target: Any, head: Sequence[Any], operands: Sequence[Any], first: Value | None = None, **how: Any
    ) -> Any:
        """Write the node; the entries of its carries. `first` is a carry that is only the node's own."""
        builder = self.batch.builder
        own = () if first is None else (first,)
        types = (*(each.type for each in own), *types_in(self.batch, self.layouts, self.type))
        init = (*own, *self.laid(self.batch, self.starts))
        node = builder.create(target, (*head, init, *operands), how, types)
        return tuple(
            from_layout(builder.item(node, k, types[k]), layout, kind)
            for k, (layout, kind) in enumerate(zip(self.layouts, self.type, strict=True), len(own))
        )


def batch_for(batch: Batch, node: Node) -> Any:
    lower, upper, graph, init, *operands = node.args
    bounds = [batch.held(each) for each in (lower, upper, node.kwargs.get("step", 1))]
    loop = Loop(batch, node, init, operands)
    return (_even if all(map(is_plain, bounds)) else _uneven)(loop, graph, bounds)


def _even(loop: Loop, graph: Graph, bounds: list[Any]) -> Any:
    """As many turns for all examples."""

    def attempt() -> Body:
        body = Body(loop.batch, graph, loop.batch.mask)
        body.own_input(body.places[0].name, False, int, body.places[0])
        loop.enter(body, 1)
        return body

    body, result = loop.settle(attempt)
    operands = close_all([body.builder], [body.own], [loop.laid(body.batch, result)])
    lower, upper, step = bounds
    how = {} if step == 1 and isinstance(step, int) else {"step": step}
    return loop.made(fori_loop, (lower, upper, body.builder.graph), operands, **how)


def _uneven(loop: Loop, graph: Graph, bounds: list[Any]) -> Any:
    """As many turns as the example with the most has; the others wait at the end of theirs.

    Where a tape is read whose turns end together, they wait at the beginning instead.
    """
    batch = loop.batch
    lower, upper, step = (batch.builder.value(each) if is_plain(each) else each for each in bounds)
    count = turns(batch, lower, upper, step)
    if batch.mask is not None:
        count = batch.call("where", batch.mask, count, 0)
    most = batch.call("max", batch.call("concat", [count, batch.call("zeros", (1,), count.dtype)]))
    late = _reads_late(loop)
    first = batch.front(lower)
    stride = batch.front(step) if isinstance(step, Rows) else step
    loop.part(graph, 1, late)

    def attempt() -> Body:
        body = Body(batch, graph, None)
        build = body.builder
        turn: Any = Value(build, body.own_input("turn", False, int, None), int)
        loop.enter(body, 1)
        waited = 0 if not late else build.value(most.node) - build.value(count.node)
        body.batch.mask = turn >= waited if late else turn < build.value(count.node)
        by = build.value(stride.node) if isinstance(stride, Value) else stride
        body.batch.known[body.places[0]] = Rows(build.value(first.node) + (turn - waited) * by, int)
        return body

    body, result = loop.settle(attempt)
    given = loop.laid(body.batch, loop.kept(body, result, 1))
    operands = close_all([body.builder], [body.own], [given])
    return loop.made(fori_loop, (0, most, body.builder.graph), operands)


def _reads_late(loop: Loop) -> bool:
    """Whether a loop reads a tape whose turns begin together: read from its end, they end together."""
    lates = {start.late for start in loop.starts if isinstance(start, TapeRows)}
    others = any(isinstance(each, (TapeRows, TapesRows, Chosen)) for each in loop.entries)
    if others or len(lates) > 1 or None in lates:
        raise Unbatchable("tapes of uneven loops that lie differently")
    return lates == {False}


def batch_while(batch: Batch, node: Node) -> Any:
    decide, graph, init, *operands = node.args
    loop = Loop(batch, node, init, operands)
    if batch.mask is not None:
        return _uneven_while(loop, decide, graph)
    tests: list[tuple[Body, Any]] = []

    def attempt() -> Body:
        test, body = Body(batch, decide, None), Body(batch, graph, None)
        loop.enter(test)
        loop.enter(body)
        going = test.run()
        if not is_plain(going):
            raise _Parting
        tests.append((test, going))
        return body

    try:
        body, result = loop.settle(attempt)
    except _Parting:
        return _uneven_while(loop, decide, graph)
    test, going = tests[-1]
    given = loop.laid(body.batch, result)
    closed = close_all([test.builder, body.builder], [test.own, body.own], [going, given])
    return loop.made(while_loop, (test.builder.graph, body.builder.graph), closed)


class _Parting(Exception):
    """Examples leave a loop after different numbers of turns."""


def _going(batch: Batch, graph: Graph, values: Sequence[Any], mask: Value | None) -> Value:
    """Which examples go on, decided here."""
    places = graph.find_nodes(op="placeholder")
    inner = Batch(batch.builder, batch.size, dict(zip(places, values, strict=True)), mask)
    inner.run(graph.nodes)
    output = graph.output_node().args[0]
    entry = inner.held(output[0] if isinstance(output, tuple) else output)
    truth = truth_of(batch, entry if isinstance(entry, Rows) else Rows(batch.front(batch.builder.value(entry))))
    return truth if mask is None else batch.call("logical_and", truth, mask)


def _uneven_while(loop: Loop, decide: Graph, graph: Graph) -> Any:
    """A turn for all as long as any example goes on. Which do is carried along."""
    batch, count = loop.batch, len(loop.starts)
    if any(isinstance(start, TapeRows) for start in loop.starts):
        raise Unbatchable("a tape that a loop of uneven turns reads", loop.node)
    loop.part(graph, 0, False)
    active = _going(batch, decide, [*loop.starts, *loop.entries], batch.mask)

    def attempt() -> Body:
        body = Body(batch, graph, None)
        body.batch.mask = body.own_input("active", True, Spec((), bool), None).value
        loop.enter(body)
        return body

    body, result = loop.settle(attempt)
    kept = loop.kept(body, result, 0)
    outside = [body.batch.known[place] for place in body.places[count:]]
    after = _going(body.batch, decide, [*kept, *outside], body.batch.mask)
    test = body_of(batch.builder)
    own = []
    for place in body.own:
        own.append(test.region.placeholder(place.name))
        own[-1].meta["type"] = place.meta["type"]
    going = test.call(_ANY, test.value(own[0]))
    closed = close_all([test, body.builder], [own, body.own], [going, (after, *loop.laid(body.batch, kept))])
    return loop.made(while_loop, (test.graph, body.builder.graph), closed, active)
