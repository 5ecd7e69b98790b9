"""Reverse mode: the gradient of a graph, as nodes added to it.

One walk over the nodes from the last to the first. The rule of each op takes the gradient of its result to those of its
arguments, and what comes to a value from several uses is added up. A read of a part of an array adds to that part of
the array's gradient, in place where the memory allows, rather than making an array of zeros for each read. What control
flow does is in `_reverse_control`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft.capture._sizes import rename
from weft.errors import NotDifferentiable
from weft.graph import Node
from weft.graph._looping import together
from weft.ops import Op, Spec
from weft.ops._dim import Dim, same_shape
from weft.ops._families import conj, spread_call
from weft.ops._op import TABLE
from weft.passes._keys import same
from weft.passes._movement import names_once
from weft.transform._activity import Active, activity, any_active, of
from weft.transform._bodies import is_inside
from weft.transform._builder import Builder, Nothing, Value
from weft.transform._calls import is_cast, located_at, op_call, refuse_call, where_of
from weft.transform._partition_open import open_composite
from weft.transform._plain_calls import in_ops
from weft.transform._split import bytes_of, cheap
from weft.transform._tape import EMPTY, Tape, Tapes, add_tapes, record, sum_type, touch

_UPDATE, _ADD, _COPY, DIVIDE = (TABLE[name] for name in ("index_update", "index_add", "copy", "divide"))


class _Links:
    """What has come to a tape: gradients of values of its last link and of the rest, and gradients of the whole."""

    def __init__(self) -> None:
        self.parts: dict[int, Any] = {}
        self.whole: list[Any] = []


def _quotient_rule(g: Any, y: Any, a: Any, b: Any) -> Any:
    """Of the divisor. The op's own rule computes the quotient anew, so that the tape need not keep it."""
    return -(g / conj(b)) * conj(y)


class Pullback:
    """The walk: `gradients` holds what has come to each node so far.

    `costs` are what it costs to have an input of the graph in the backward, too; none where that is free, as it is
    for all values outside of loops.
    """

    def __init__(self, builder: Builder, active: dict[Node, Active], costs: dict[Node, float] | None = None) -> None:
        self.builder = builder
        self.active = active
        self.costs = costs
        self.gradients: dict[Node, Any] = {}

    def run(self, nodes: Sequence[Node]) -> None:
        """Take the gradients back over nodes, the last first."""
        from weft.transform._reverse_control import pull_control

        for node in reversed(nodes):
            if node.op != "call_function" or node not in self.gradients or node not in self.active:
                continue
            gradient = self.take(node)
            with self.builder.at(node), self.builder.recording():
                try:
                    if node.bodies:
                        pull_control(self, node, gradient)
                    else:
                        self._call(node, gradient)
                except NotDifferentiable as error:
                    raise located_at(node, error) from error.__cause__

    def is_free(self, node: Any) -> bool:
        """Whether the backward can have a value for nothing: by cheap calls of what every turn of a loop sees."""
        if self.costs is None or not isinstance(node, Node):
            return True
        found = self.costs.get(node)
        if found is None:
            free = cheap(node) and all(map(self.is_free, node.all_input_nodes))
            found = self.costs[node] = 0.0 if free else bytes_of(node.meta.get("type"))
        return found == 0

    # Gradients

    def add(self, node: Any, gradient: Any) -> None:
        """Add to the gradient of a value, brought to its shape and dtype."""
        if not isinstance(node, Node) or not any_active(self.active.get(node, False)) or gradient is None:
            return
        if isinstance(gradient, (int, float)) and gradient == 0:
            return
        known = self.gradients.get(node)
        if isinstance(node.meta["type"], (Tape, Tapes)):
            self.gradients.setdefault(node, _Links()).whole.append(gradient)
            return
        gradient = self.fitted(gradient, node.meta["type"])
        if known is None:
            self.gradients[node] = self._named(gradient, node)
        else:
            self.gradients[node] = self._named(known + gradient, node)

    def take(self, node: Node) -> Any:
        """The gradient that has come to a node, taken out; None where there is none."""
        found = self.gradients.pop(node, None)
        if not isinstance(found, _Links):
            return found
        total = self._link(found.parts, len(node.meta["type"].types)) if found.parts else None
        for each in found.whole:
            total = self._sum(total, each)
        return total

    def _link(self, parts: dict[int, Any], count: int) -> Value:
        """A link of a tape of gradients."""
        values = [parts.get(place) for place in range(1, count + 1)]
        types = tuple(None if value is None else value.type for value in values)
        made = Tape(types, tuple(place for place in range(1, count + 1) if place in parts))
        node = self.builder.create(record, (parts.get(0, EMPTY), *values), {}, made, "d_tape")
        return Value(self.builder, node, made)

    def add_item(self, node: Node, index: int, gradient: Any) -> None:
        """Add to the gradient of one of several results."""
        parts = self.gradients.setdefault(node, [None] * len(node.meta["type"]))
        parts[index] = self._sum(parts[index], gradient)

    def add_part(self, node: Node, key: Any, gradient: Any) -> None:
        """Add to the part of an array's gradient that a key selects."""
        if not any_active(self.active.get(node, False)):
            return
        known = self.gradients.get(node)
        call, type_ = self.builder.call, node.meta["type"]
        if known is None:
            if gradient.dtype != type_.dtype:
                gradient = self.builder.call(TABLE["astype"], gradient, type_.dtype)
            made = call(TABLE["place_at"], gradient, key, type_.shape)
        else:
            made = self._into_cleared(known, key, gradient)
            if made is None:
                made = call(TABLE["index_add"], known, key, gradient)
        self.gradients[node] = self._named(made, node)

    def _into_cleared(self, known: Value, key: Any, part: Any) -> Value | None:
        """The sum where the part that a key selects was cleared, as it was for `x[i] += …`: it need not have been."""
        at = self.builder.argument(key)
        steps = [known.node]
        while steps[-1].target is _ADD:
            steps.append(steps[-1].args[0])
        cleared = steps.pop()
        clears = cleared.target is _UPDATE and isinstance(cleared.args[2], int) and same(cleared.args[1], at)
        read_before = steps and (known.node.users or any(len(step.users) > 1 for step in [*steps[1:], cleared]))
        if not clears or not names_once(at) or read_before:
            return None
        whole = Value(self.builder, cleared.args[0], known.type)
        read = part.node.args[0] if part.node.target is _COPY else part.node
        if read.target is operator.getitem and same(read.args, (whole.node, at)):  # what was there comes back
            if steps:  # what was added to other parts meanwhile stays
                steps[-1].replace_input_with(cleared, whole.node)
            made = known if steps else whole
        elif steps or cleared.users or part.dtype != known.dtype:
            return None
        else:
            made = self.builder.call(_UPDATE, whole, key, part)
        if not cleared.users:
            self.builder.graph.erase_node(cleared)
        return made

    def _named(self, gradient: Value, node: Node) -> Value:
        made = gradient.node
        if made.graph is self.builder.graph and made.op == "call_function" and not made.meta.get("named"):
            rename(made, f"d_{node.name}")
            made.meta["named"] = True
        return gradient

    def fitted(self, gradient: Any, type_: Any) -> Any:
        """A gradient in the shape and dtype of its variable: what was broadcast is summed, what is not real dropped."""
        wanted = type_ if isinstance(type_, Spec) else Spec((), np.dtype(type_))
        call = self.builder.call
        if not isinstance(gradient, Value):
            return call(TABLE["full"], wanted.shape, gradient, dtype=wanted.dtype)
        if not self.builder.same(gradient.shape, wanted.shape):
            gradient = self._reduced(gradient, wanted.shape)
        if gradient.dtype != wanted.dtype:
            if wanted.dtype.kind != "c" and gradient.dtype.kind == "c":
                gradient = call(TABLE["real"], gradient)
            if gradient.dtype != wanted.dtype:
                gradient = call(TABLE["astype"], gradient, wanted.dtype)
        return gradient

    def _reduced(self, gradient: Value, shape: tuple[Any, ...]) -> Any:
        """A gradient summed, or repeated, to a shape; sizes that only running can tell decide then."""
        call, extra = self.builder.call, len(gradient.shape) - len(shape)
        if extra < 0:
            return call(TABLE["broadcast_to"], gradient, shape)
        apart = [i + extra for i, d in enumerate(shape) if _is_one(d) and not _is_one(gradient.shape[i + extra])]
        if extra or apart:
            gradient = call(TABLE["sum"], gradient, axis=(*range(extra), *apart))
            if apart:
                kept = iter(gradient.shape)
                gradient = call(
                    TABLE["reshape"],
                    gradient,
                    tuple(1 if i + extra in apart else next(kept) for i in range(len(shape))),
                )
        if self.builder.same(gradient.shape, shape):
            return gradient
        if any(isinstance(d, Dim) for d in (*gradient.shape, *shape)):
            return call(TABLE["sum_to"], gradient, shape)
        return call(TABLE["broadcast_to"], gradient, shape)

    def zeros_like(self, node: Node, index: int) -> Any:
        """A gradient of nothing for one of several results."""
        type_ = node.meta["type"][index]
        if not isinstance(type_, Spec) or not any(isinstance(d, Dim) or d == 0 for d in type_.shape):
            return self.builder.zeros(type_)
        # What a loop tells of sizes that its turns change is 0, or a size of the body: the value itself knows.
        around, fresh = self.builder.around(), self.builder.sizes.fresh
        shape = [fresh(node.name) if is_inside(d, around) or same_shape((d,), (0,)) else d for d in type_.shape]
        found = self.builder.item(node, index, Spec(shape, type_.dtype))
        return self.builder.call(TABLE["zeros_like"], self.builder.value(found.node))

    # Calls

    def _call(self, node: Node, gradient: Any) -> None:
        target = node.target
        if target is operator.getitem and isinstance(node.args[0], Node):
            source, key = node.args
            type_ = source.meta.get("type")
            if isinstance(type_, (tuple, list)):
                self.add_item(source, key, gradient)
                return
            if isinstance(type_, Tape):
                parts = self.gradients.setdefault(source, _Links()).parts
                known = parts.get(key)
                parts[key] = self._sum(known, gradient)
                return
            self.add_part(source, self.builder.value(key), gradient)
            return
        if target is record:
            self._record(node, gradient)
            return
        if target is touch:
            self.add(node.args[0], gradient)
            self.add(node.args[1], 1.0)
            return
        if target is add_tapes:
            for one in node.args:
                self.add(one, gradient)
            return
        if target is tuple:
            self._add_parts(node.args[0], gradient)
            return
        if target is together:
            for value, part in zip(node.args, gradient, strict=True):
                self.add(value, part)
            return
        called = op_call(node)
        if called is None:
            if is_cast(node):
                self.add(node.args[0], gradient)
                return
            body = in_ops(self.builder, node)
            if body is not None:
                self._recorded(body, gradient)
                return
            refuse_call(node)
        self._op(node, *called, gradient)

    def _add_parts(self, parts: Any, gradient: Any) -> None:
        """Add to the gradients of values that were put together; None stands for one that has none."""
        if not isinstance(parts, (tuple, list)):
            self.add(parts, gradient)
        elif gradient is not None:
            for part, each in zip(parts, gradient, strict=True):
                self._add_parts(part, each)

    def _sum(self, one: Any, other: Any) -> Any:
        """Two gradients of a value added up; of several results, each of them."""
        if one is None or other is None:
            return other if one is None else one
        if isinstance(one, list):
            return [self._sum(a, b) for a, b in zip(one, other, strict=True)]
        if not isinstance(one.type, (Tape, Tapes)):
            return one + other
        type_ = sum_type(one.type, other.type)
        return Value(self.builder, self.builder.create(add_tapes, (one, other), {}, type_, "d_tape"), type_)

    def _record(self, node: Node, gradient: Value) -> None:
        """Take the gradients off a tape in the order in which values were put on it."""
        tape, *values = node.args
        for place, value in enumerate(values, 1):
            at = gradient.type.at(place)
            if at is not None:
                self.add(value, self.builder.item(gradient.node, at, gradient.type.types[at - 1]))
        if isinstance(tape, Node):
            self.add(tape, self.builder.item(gradient.node, 0, gradient.type))

    def _op(self, node: Node, op: Op, arguments: tuple[Any, ...], gradient: Any) -> None:
        values = self.builder.parameters(op, arguments)
        type_ = node.meta["type"]
        if op.composite:
            if op.eval is op.body or op.draws(node.args, node.kwargs):
                self._opened(node, gradient)
            else:
                self._composite(op, values, gradient)
            return
        if isinstance(gradient, list):
            gradient = self._filled(gradient, type_)
        result = self.builder.wrap(node, type_)
        # The last first: of an index_update, what was written before what was there, whose gradient is cleared then.
        for which, position in reversed(list(enumerate(op.positions))):
            argument = arguments[position]
            if not op.depends[which] or not of(self.active, argument):
                continue
            rule = _quotient_rule if op is DIVIDE and which == 1 else op.vjp[which]
            if isinstance(rule, NotDifferentiable):
                raise NotDifferentiable(
                    f"{op.name} has no derivative with respect to {op.arrays[which]}: {rule.message}",
                    where=where_of(node),
                )
            found = rule(gradient, result, *values)
            if op is _UPDATE and which == 1:
                found = self._apart(found)
            if isinstance(argument, (list, tuple)):
                for part, each in zip(argument, found, strict=True):
                    self.add(part, each)
            else:
                self.add(argument, found)

    def _filled(self, gradient: Any, type_: Any) -> Any:
        """Gradients of several results, zeros where none has come."""
        if isinstance(type_, (tuple, list)):
            parts = gradient if gradient is not None else [None] * len(type_)
            return tuple(self._filled(part, each) for part, each in zip(parts, type_, strict=True))
        if gradient is not None:
            return gradient
        found = self.builder.zeros(type_)
        return Nothing(self.builder, found.node, found.type) if isinstance(found, Value) else found

    def _apart(self, part: Value) -> Any:
        """A part of a gradient, copied: the rest of it is cleared next, in place where it can be."""
        if part.shape and part.node.target is operator.getitem:
            return self.builder.call(TABLE["copy"], part)
        return part

    def _composite(self, op: Op, values: Any, gradient: Any) -> None:
        """Differentiate the body of a composite op, recorded anew: what of it nothing reads is dropped later."""
        self._recorded(lambda: spread_call(op.body)(*values), gradient)  # type: ignore[arg-type]  # it has a body

    def _recorded(self, body: Callable[[], Any], gradient: Any) -> None:
        mark = self.builder.mark()
        result = body()
        made = self.builder.since(mark)
        self.active.update(activity(made, self.active))
        self._add_each(result, gradient)
        self.run(made)

    def _opened(self, node: Node, gradient: Any) -> None:
        """The same for one that is opened where it stands: so it draws random numbers once, and computes all once."""
        made, result = open_composite(self.builder, node)
        self.active.update(activity(made, self.active))
        if isinstance(result, (tuple, list)):
            self._add_each(result, gradient)
        else:
            self.gradients[node] = gradient
        self.run([*made, node])

    def _add_each(self, result: Any, gradient: Any) -> None:
        if gradient is None:
            return
        if isinstance(result, (tuple, list)):
            for each, part in zip(result, gradient, strict=True):
                self._add_each(each, part)
        elif isinstance(result, Value):
            self.add(result.node, gradient)


def _is_one(size: Any) -> bool:
    return type(size) is int and size == 1
