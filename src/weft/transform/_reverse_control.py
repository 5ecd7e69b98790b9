"""Reverse mode through control flow: the gradient of a loop is a loop over the same turns, the last first.

The body is copied and its gradient added to the copy. Split in two, the first half is the forward's body, which now
puts what the second needs on a tape; the second is the body of the backward's loop, which takes it off again.
Gradients of values from outside the loop are carried through it, so that a turn adds to them in place.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from weft.capture._sizes import rename
from weft.graph import Graph, Node
from weft.graph._control import cond, fori_loop, switch, while_loop
from weft.graph._looping import trip_count
from weft.ops import Spec
from weft.ops._op import SHOWN, TABLE, VIEW, Op
from weft.transform._activity import activity, any_active, loop_activity
from weft.transform._bodies import bodies_as, close, close_together, item_after, replace_call, type_carries, with_inputs
from weft.transform._builder import Builder, Value
from weft.transform._custom_nodes import custom_call
from weft.transform._presence import operands_behind
from weft.transform._reverse import Pullback
from weft.transform._split import (
    Retyped,
    bytes_of,
    choose_saved,
    computed_again,
    copy_body,
    copy_nodes,
    gradient_type,
    read_by,
)
from weft.transform._tape import EMPTY, Tape, Tapes, record


def pull_control(pull: Pullback, node: Node, gradient: Any) -> None:
    """Take the gradients of a control-flow node's results back to its arguments."""
    if node.target is fori_loop:
        _pull_for(pull, node, gradient)
    elif node.target is while_loop:
        _pull_while(pull, node, gradient)
    elif node.target is cond:
        _pull_branches(pull, node, gradient, list(node.args[1:3]), node.args[3:])
    elif node.target is custom_call:
        from weft.transform._custom_call import pull_custom

        pull_custom(pull, node, gradient)
    else:
        assert node.target is switch, node.target
        _pull_branches(pull, node, gradient, list(node.args[1]), node.args[2:])


_TURNS = 16  # of a loop of which nobody knows


class Joint:
    """A body, copied, with its gradient added: see `split`."""

    def __init__(
        self, outer: Pullback, body: Graph, own: int, operands: Sequence[Any], active: Sequence[Any], turns: int
    ) -> None:
        """`turns` is how often the body may run: a value from outside can be kept once for all of them."""
        self.outer = outer
        self.graph = copy_body(body, outer.builder, merge=True)  # what is read twice goes on the tape once
        self.places = self.graph.find_nodes(op="placeholder")
        self.own = self.places[:own]
        self.operands = operands
        self.builder = Builder(self.graph, outer.builder.sizes, outer.builder)
        for place, operand in zip(self.places[own:], operands, strict=True):
            if isinstance(operand, Node):
                self.builder.region.inputs.setdefault(operand, place)
        costs: dict[Node, float] | None = None
        if outer.costs is not None or own:
            costs = {place: bytes_of(place.meta.get("type")) for place in self.own}
            for place, operand in zip(self.places[own:], operands, strict=True):
                costs[place] = 0.0 if outer.is_free(operand) else bytes_of(place.meta.get("type")) / turns
        output = self.graph.output_node()
        self.result = output.args[0]
        self.graph.erase_node(output)
        inside = activity(self.graph.nodes, dict(zip(self.places, active, strict=True)))
        self.pull = Pullback(self.builder, inside, costs)
        self.inputs: list[Node] = []  # of the backward: gradients of results, then those of operands so far

    def input(self, name: str, type_: Any) -> Value:
        """A new input of the backward: a gradient."""
        spec = gradient_type(type_)
        node = self.builder.region.placeholder(name)
        node.meta["type"] = spec
        self.inputs.append(node)
        return Value(self.builder, node, spec)

    def run(self) -> None:
        """Add the nodes of the backward."""
        first = self.inputs[0]
        self.pull.run([node for node in self.graph.nodes if node < first and node.op != "placeholder"])

    def parts(self) -> tuple[list[Node], list[Node]]:
        """The nodes of the forward and those of the backward."""
        first = self.inputs[0]
        nodes = list(self.graph.nodes)
        at = nodes.index(first)
        backward = [node for node in nodes[at:] if node.op != "placeholder"]
        forward = [node for node in nodes[:at] if node.op != "placeholder"]
        return forward, backward

    def split(self, results: Sequence[Any], free: Sequence[Node]) -> Backward:
        """The backward as a body of its own, in terms of what it has to be given."""
        _, backward = self.parts()
        # What is read from outside can be had there, for a price; what is not read yet is a size, and has none.
        always = {*free, *self.builder.region.inputs.values(), *self.places[len(self.own) :]}
        costs = dict.fromkeys(always, 0.0)
        if self.pull.costs is not None:
            costs.update((node, price) for node, price in self.pull.costs.items() if node.op == "placeholder")
        costs.update(dict.fromkeys(free, 0.0))
        outputs: list[Any] = [getattr(result, "node", result) for result in results]
        needed = [node for node in read_by(backward, outputs) if node not in self.inputs]
        given = [self.result] if isinstance(self.result, Node) else list(self.result)
        saved = [node for node in choose_saved(needed, costs, set(backward), given) if node not in always]
        again = computed_again(needed, always, saved)
        return Backward(self, backward, outputs, saved, again)


class Backward:
    """The second half of a Joint: a graph whose first inputs are `own`, then whatever it reads from outside."""

    def __init__(
        self, joint: Joint, nodes: list[Node], outputs: list[Any], saved: list[Node], again: list[Node]
    ) -> None:
        self.joint = joint
        self.saved = saved
        outer = joint.outer.builder
        self.builder = Builder(Graph(), outer.sizes, outer)
        self.nodes, self.outputs, self.again = nodes, outputs, again
        self.tape_type = Tape(tuple(node.meta["type"] for node in saved))
        self.types = Retyped(outer, {}, self.builder, joint.builder.region.sizes)

    def placeholder(self, name: str, type_: Any) -> Node:
        node = self.builder.region.placeholder(name)
        node.meta["type"] = self.types.of(type_, node)
        return node

    def fill(self, own: dict[Node, Any], tape: Node | None) -> list[Any]:
        """Write the nodes; `own` has what stands for the own inputs of the joint. Returns the results."""
        joint, builder, known = self.joint, self.builder, self.types.known
        known.update(own)
        for place, operand in zip(joint.places[len(joint.own) :], joint.operands, strict=True):
            known[place] = builder.region.lift(operand) if isinstance(operand, Node) else operand
            if isinstance(place.meta.get("type"), Tape) and isinstance(operand, Node):
                known[place].meta["type"] = place.meta["type"]  # of a tape that branches leave, this branch's
        for outer, place in joint.builder.region.inputs.items():
            known[place] = builder.region.lift(outer)
        for k, node in enumerate(self.saved, 1):
            builder.position = node._position
            known[node] = builder.create(operator.getitem, (tape, k), {}, None, node.name)
            known[node]._meta = {"type": self.types.of(node.meta["type"], known[node])}
        copy_nodes(self.types, [*self.again, *self.nodes])
        return [known[node] if isinstance(node, Node) else node for node in self.outputs]


def _nothing_of(type_: Any) -> Any:
    """The type of a gradient to which nothing has been added yet."""
    return Tape((), ()) if isinstance(type_, Tape) else type_


class _Loop:
    """The gradient of a loop, in the order of its arguments."""

    def __init__(
        self, pull: Pullback, node: Node, gradient: list[Any], body: Graph, counters: int, init: Any, operands: Any
    ) -> None:
        self.pull, self.node, self.counters = pull, node, counters
        self.init, self.operands = init, operands
        count = len(init)
        carries = loop_activity(body, counters, init, operands, pull.active)
        wanted = {k for k, each in enumerate(gradient) if each is not None and any_active(carries[k])}
        behind = operands_behind(node, wanted)
        outside = [
            pull.active.get(each, False) if j in behind and isinstance(each, Node) else False
            for j, each in enumerate(operands)
        ]
        self.carried = [k for k in sorted(wanted) if any_active(carries[k])]
        active = [*(False,) * counters, *carries, *outside]
        self.joint = joint = Joint(pull, body, counters + count, operands, active, _TURNS)
        self.places = joint.own[counters:]
        type_carries(joint.builder, self.places, node.meta["type"])
        seeds = [self._seed(k, gradient[k]) for k in self.carried]
        self.added = [j for j, each in enumerate(outside) if any_active(each)]
        into = joint.places[counters + count :]
        sums = [joint.input(f"d_{into[j].name}", _nothing_of(into[j].meta["type"])) for j in self.added]
        for j, value in zip(self.added, sums, strict=True):
            joint.pull.add(into[j], value)
        for k, value in zip(self.carried, seeds, strict=True):
            joint.pull.add(joint.result[k], value)
        joint.run()
        self.starts = [pull.zeros_like(node, k) if gradient[k] is None else gradient[k] for k in self.carried]
        back = [joint.pull.take(self.places[k]) for k in self.carried]
        back = [
            joint.builder.zeros(self.places[k].meta["type"]) if value is None else value
            for k, value in zip(self.carried, back, strict=True)
        ]
        totals = [joint.pull.take(into[j]) for j in self.added]
        for seed, value in zip([*seeds, *sums], [*back, *totals], strict=True):
            if isinstance(seed.type, Tape):  # a tape grows by links of one kind
                seed.type = seed.node.meta["type"] = getattr(value, "type", seed.type)
        self.backward = joint.split([*back, *totals], joint.own[:counters])
        self._fill()

    def _seed(self, k: int, gradient: Any) -> Value:
        """The gradient of a carry after a turn, an input of the backward's body."""
        place, after = self.places[k], self.joint.result[k]
        type_ = place.meta["type"]
        if isinstance(type_, Tape):
            return self.joint.input(f"d_{place.name}", getattr(gradient, "type", type_))
        return self.joint.input(f"d_{place.name}", after.meta["type"] if isinstance(after, Node) else type_)

    def _fill(self) -> None:
        """Write the body of the backward's loop."""
        backward, joint = self.backward, self.joint
        counter = backward.placeholder("i" if not self.counters else joint.own[0].name, int)
        known: dict[Node, Any] = {joint.own[0]: counter} if self.counters else {}
        links = backward.placeholder("tape", backward.tape_type) if backward.saved else None
        for node in joint.inputs:
            known[node] = backward.placeholder(node.name, node.meta["type"])
        own = [counter, *([links] if links is not None else []), *(known[node] for node in joint.inputs)]
        results = backward.fill(known, links)
        if links is not None:
            builder = backward.builder
            results.insert(0, builder.create(operator.getitem, (links, 0), {}, backward.tape_type, "tape"))
        self.back_operands = close(backward.builder, own, tuple(results))
        self.back_types = tuple(node.meta["type"] for node in own[1:])

    def write_backward(self, lower: Any, upper: Any, step: Any, tape: Any) -> None:
        """Add the backward's loop, and its results to the gradients."""
        pull = self.pull
        known = [*self.back_types[: 0 if tape is None else 1], *(self._before(k) for k in self.carried)]
        for j in self.added:
            type_ = self.operands[j].meta["type"]
            known.append(self.back_types[len(known)] if isinstance(type_, Tape) else type_)
        types = tuple(map(gradient_type, known))
        sums = []
        for j in self.added:
            operand = self.operands[j]
            found = pull.take(operand)
            if found is None:
                found = pull.builder.zeros(operand.meta["type"])
                if isinstance(found, Value):
                    rename(found.node, f"d_{operand.name}")
            sums.append(found)
        init = (*([] if tape is None else [tape]), *self.starts, *sums)
        kwargs = {} if step == 1 and isinstance(step, int) else {"step": step}
        args = (lower, upper, self.backward.builder.graph, init, *self.back_operands)
        node = pull.builder.create(fori_loop, args, kwargs, types)
        at = 0 if tape is None else 1
        for k in self.carried:
            pull.add(self.init[k], pull.builder.item(node, at, types[at]))
            at += 1
        for j in self.added:
            pull.add(self.operands[j], pull.builder.item(node, at, types[at]))
            at += 1

    def _before(self, k: int) -> Any:
        """The type of the gradient of what a carry starts with."""
        start = self.init[k]
        type_ = self.places[k].meta["type"]
        if isinstance(type_, Tape):
            return self.back_types[self.carried.index(k) + (1 if self.backward.saved else 0)]
        return start.meta["type"] if isinstance(start, Node) else type_

    def write_forward(self, counting: bool) -> tuple[Graph, list[tuple[str, Any, Any]]]:
        """The forward's body with a tape, where one is needed; its new carries as (name, start, type)."""
        joint, backward = self.joint, self.backward
        graph, builder = joint.graph, joint.builder
        _drop_backward(joint)
        result = list(joint.result)
        extra: list[tuple[str, Any, Any]] = []
        own = list(joint.own)
        if counting:
            turn = builder.region.placeholder("turns")
            turn.meta["type"] = int
            own.append(turn)
            extra.append(("turns", 0, int))
            result.append(builder.create(operator.add, (turn, 1), {}, int, "turns"))
        if backward.saved:
            tape = builder.region.placeholder("tape")
            tape.meta["type"] = backward.tape_type
            own.append(tape)
            extra.append(("tape", EMPTY, backward.tape_type))
            kept = [_kept(builder, node) for node in backward.saved]
            result.append(builder.create(record, (tape, *kept), {}, backward.tape_type, "tape"))
        operands = close(builder, own, tuple(result), joint.places[len(joint.own) :], joint.operands)
        self.forward_operands = operands
        return graph, extra


def _drop_backward(joint: Joint) -> None:
    _, backward = joint.parts()
    for node in reversed(backward):
        joint.graph.erase_node(node)
    for node in joint.inputs:
        joint.graph.erase_node(node)


def _kept(builder: Builder, node: Node) -> Any:
    """What goes on the tape: of a view, a copy made at once, since what it shows may be written."""
    type_ = node.meta["type"]
    if not isinstance(type_, Spec) or not type_.shape or (node.op != "placeholder" and not _is_view(node.target)):
        return node
    place = node
    while place.next.op == "placeholder":
        place = place.next
    with builder.at(node), builder.graph.inserting_before(place.next):
        return builder.call(TABLE["copy"], Value(builder, node, type_)).node


def _is_view(target: Any) -> bool:
    """Return True if calls of a function may give views, which show what is written to later."""
    return target is operator.getitem or (isinstance(target, Op) and target.memory in (VIEW, SHOWN))


def _replaced(pull: Pullback, node: Node, args: tuple[Any, ...], types: tuple[Any, ...]) -> Node:
    made = replace_call(pull.builder, node, args, types)
    pull.active[made] = pull.active[node]
    return made


def _pull_for(pull: Pullback, node: Node, gradient: list[Any]) -> None:
    lower, upper, body, init, *operands = node.args
    step = node.kwargs.get("step", 1)
    loop = _Loop(pull, node, gradient, body, 1, init, operands)
    if not loop.carried:
        return
    tape: Any = None
    if loop.backward.saved:
        forward, extra = loop.write_forward(counting=False)
        types = (*node.meta["type"], *(type_ for _, _, type_ in extra))
        args = (lower, upper, forward, (*init, *(start for _, start, _ in extra)), *loop.forward_operands)
        made = _replaced(pull, node, args, types)
        tape = item_after(made, len(types) - 1, types[-1], "tape")
    build = pull.builder
    if isinstance(step, int) and step == 1:
        first, last = _number(build, operator.sub, upper, 1), _number(build, operator.sub, lower, 1)
        loop.write_backward(first, last, -1, tape)
        return
    turns = build.create(trip_count, (lower, upper, step), {}, int, "turns")
    back = _number(build, operator.neg, step)
    beyond = _number(build, operator.mul, _number(build, operator.sub, turns, 1), step)
    first = _number(build, operator.add, lower, beyond)
    loop.write_backward(first, _number(build, operator.sub, lower, step), back, tape)


def _pull_while(pull: Pullback, node: Node, gradient: list[Any]) -> None:
    decide, body, init, *operands = node.args
    loop = _Loop(pull, node, gradient, body, 0, init, operands)
    if not loop.carried:
        return
    forward, extra = loop.write_forward(counting=True)
    inputs = [(name, type_) for name, _, type_ in extra]
    decide = with_inputs(decide, len(init), inputs, loop.forward_operands[len(operands) :])
    types = (*node.meta["type"], *(type_ for _, _, type_ in extra))
    starts = (*init, *(start for _, start, _ in extra))
    made = _replaced(pull, node, (decide, forward, starts, *loop.forward_operands), types)
    turns = item_after(made, len(init), int, "turns")
    tape = item_after(made, len(init) + 1, types[-1], "tape") if loop.backward.saved else None
    loop.write_backward(0, turns, 1, tape)


def _number(builder: Builder, function: Any, *args: Any) -> Any:
    if not any(isinstance(arg, Node) for arg in args):
        return function(*args)
    return builder.create(function, args, {}, int)


def _pull_branches(
    pull: Pullback, node: Node, gradient: list[Any], bodies: list[Graph], operands: Sequence[Any]
) -> None:
    """The gradient of a choice is a choice by the same condition."""
    behind = operands_behind(node, {k for k, each in enumerate(gradient) if each is not None})
    sides = [_Side(pull, body, k, gradient, operands, behind) for k, body in enumerate(bodies)]
    given = sides[0]
    saves = any(side.saves for side in sides)
    tape = None
    if saves:
        types = (*node.meta["type"], Tapes(tuple(side.tape_type for side in sides)))
        extra = close_together([side.write_forward() for side in sides])
        head = (node.args[0], *bodies_as(node, [side.joint.graph for side in sides]))
        made = _replaced(pull, node, (*head, *operands, *extra), types)
        tape = item_after(made, len(types) - 1, types[-1], "tape")
        node = made
    sums = [pull.gradients.pop(operands[j]) for j in given.begun]
    outside = close_together([side.backward_parts(saves) for side in sides])
    head = (node.args[0], *bodies_as(node, [side.builder.graph for side in sides]))
    starts = [*([] if tape is None else [tape]), *(gradient[k] for k in given.wanted), *sums]
    types = tuple(
        Tapes(tuple(side.types[at] for side in sides)) if isinstance(given.types[at], Tape) else given.types[at]
        for at in range(len(given.types))
    )
    back = pull.builder.create(node.target, (*head, *starts, *outside), {}, types)
    for at, j in enumerate([*given.added, *given.tapes]):
        pull.add(operands[j], pull.builder.item(back, at, types[at]))


class _Side:
    """One branch of a choice, and its gradient."""

    def __init__(
        self, pull: Pullback, body: Graph, number: int, gradient: list[Any], operands: Sequence[Any], behind: set[int]
    ) -> None:
        """`behind` are the operands that the results with gradients vary with; others get none."""
        self.pull, self.operands = pull, operands
        active = [
            pull.active.get(each, False) if j in behind and isinstance(each, Node) else False
            for j, each in enumerate(operands)
        ]
        varying = [j for j, each in enumerate(active) if any_active(each)]
        tape_like = {j for j in varying if isinstance(operands[j].meta["type"], (Tape, Tapes))}
        self.added = [j for j in varying if j not in tape_like]
        self.begun = [j for j in self.added if operands[j] in pull.gradients and operands.index(operands[j]) == j]
        self.tapes = sorted(tape_like)
        self.wanted = [k for k, each in enumerate(gradient) if each is not None]
        self.joint = joint = Joint(pull, body, 0, operands, active, 1)
        self.fails = not isinstance(joint.result, (tuple, list))
        self.seeds = [joint.input(f"d_out_{k}", _of_side(gradient[k].type, number)) for k in self.wanted]
        for j in self.begun:
            place = joint.places[j]
            joint.pull.gradients[place] = joint.input(f"d_{place.name}", place.meta["type"])
        if not self.fails:
            for k, value in zip(self.wanted, self.seeds, strict=True):
                joint.pull.add(joint.result[k], value)
            joint.run()
        results = []
        for j in self.added:
            found = joint.pull.gradients.get(joint.places[j])
            results.append(joint.builder.zeros(joint.places[j].meta["type"]) if found is None else found)
        taken = [joint.pull.take(joint.places[j]) for j in self.tapes]
        self.types = [*(value.type for value in results)]
        self.types += [Tape((), ()) if value is None else value.type for value in taken]
        self.backward = joint.split([*results, *(EMPTY if value is None else value for value in taken)], [])
        self.builder = self.backward.builder
        self.saves = bool(self.backward.saved)
        self.tape_type = self.backward.tape_type
        # Filled in now: the nodes it is copied from are erased when the forward is written.
        self.link = self.backward.placeholder("tape", self.tape_type)
        self.own: dict[Node, Node] = {
            node: self.backward.placeholder(node.name, node.meta["type"]) for node in joint.inputs
        }
        self.results = self.backward.fill(dict(self.own), self.link)

    def backward_parts(self, saves: bool) -> tuple[Builder, list[Node], Any, Sequence[Node]]:
        """What `close_together` needs to end the backward of this branch."""
        if not saves:
            self.builder.graph.erase_node(self.link)
        own = [*([self.link] if saves else []), *self.own.values()]
        return self.builder, own, tuple(self.results), ()

    def write_forward(self) -> tuple[Builder, list[Node], Any, Sequence[Node]]:
        """Let the branch itself leave a tape; what `close_together` needs to end it."""
        joint = self.joint
        _drop_backward(joint)
        result = joint.result
        if not self.fails:
            kept = [_kept(joint.builder, node) for node in self.backward.saved]
            result = (*result, joint.builder.create(record, (EMPTY, *kept), {}, self.tape_type, "tape"))
        return joint.builder, [], result, joint.places


def _of_side(type_: Any, number: int) -> Any:
    return type_.types[number] if isinstance(type_, Tapes) else type_
