"""Forward mode: tangents of a graph, as nodes between its own.

Each node is followed by the nodes of its tangent. An op that is linear is called on tangents; of a pointwise op the
tangent is the slope times the tangent; of any other op it is what its rule for gradients gives, transposed: that rule
is linear in the gradient, so the gradient of the rule itself, which is recorded for that, is the forward derivative.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cache
from numbers import Number
from typing import Any

import numpy as np

from weft.errors import NotDifferentiable
from weft.graph import Node
from weft.graph._looping import together
from weft.ops import Op, Spec
from weft.ops._dim import same_shape
from weft.ops._families import spread_call
from weft.ops._op import TABLE, is_flat
from weft.transform._activity import Active, activity, continuous
from weft.transform._builder import Builder, Value, retype
from weft.transform._calls import is_cast, located_at, op_call, refuse_call, refuse_hidden, refuse_unknown, where_of
from weft.transform._partition_open import open_composite
from weft.transform._plain_calls import in_ops
from weft.transform._reverse import DIVIDE, Pullback
from weft.transform._tape import EMPTY, Tape, add_tapes, record, sum_type

_LINEAR = frozenset({"index_update"})  # in the array and the value together, though its rule has to look at the key
_BILINEAR = frozenset({"matmul", "convolve", "conv", "conv_input", "conv_weight", "sum_products"})  # in each of two


class Pushforward:
    """The walk: `tangents` has those of the nodes that vary; of a node with several results, a list.

    Control flow gives values and tangents at once; `apart`, the values are computed without their tangents as well.
    """

    def __init__(self, builder: Builder, apart: bool = False) -> None:
        self.builder = builder
        self.apart = apart
        self.tangents: dict[Node, Any] = {}
        sizes = builder.region.sizes  # without those that the program has computed late: tangents may need them before
        for key in [key for key, node in sizes.items() if _is_arithmetic(node)]:
            del sizes[key]

    def run(self, nodes: Sequence[Node]) -> None:
        """Add the tangents of nodes, each after its node."""
        from weft.transform._forward_control import push_control

        graph = self.builder.graph
        for node in nodes:
            if not any(each in self.tangents for each in node.all_input_nodes):
                continue
            refuse_hidden(node)
            if node.op != "call_function":
                continue
            refuse_unknown(node)
            if not continuous(node.meta.get("type")):
                continue
            if node.bodies:
                with graph.inserting_before(node), self.builder.at(node):
                    push_control(self, node)
                continue
            place = _last_item(node)
            while place.next.op == "placeholder" or _is_size(place.next):
                place = place.next  # behind the sizes of its value, which its tangent may need
            with graph.inserting_before(place.next), self.builder.at(node), self.builder.recording():
                try:
                    found = self._call(node)
                except NotDifferentiable as error:
                    raise located_at(node, error) from error.__cause__
            if found is not None:
                self.tangents[node] = found

    def of(self, argument: Any) -> Any:
        """The tangent of an argument; None where it does not vary; of a list, one for each part."""
        if isinstance(argument, Node):
            return self.tangents.get(argument)
        if isinstance(argument, (list, tuple)):
            parts = [self.of(part) for part in argument]
            return parts if any(part is not None for part in parts) else None
        return None

    def filled(self, argument: Any, value: Any) -> Any:
        """The tangent of an argument, zeros where it does not vary."""
        if isinstance(argument, (list, tuple)):
            return type(argument)(map(self.filled, argument, value))
        found = self.of(argument)
        if found is not None:
            return found
        if isinstance(value, Value):
            return self.builder.call(TABLE["zeros_like"], value) if value.shape else self.builder.zeros(value.type)
        return 0.0 if isinstance(value, Number | np.bool_) else value

    def _call(self, node: Node) -> Any:
        target = node.target
        if target is operator.getitem and isinstance(node.args[0], Node):
            source, key = node.args
            tangent, type_ = self.tangents.get(source), source.meta.get("type")
            if isinstance(type_, (tuple, list)):
                return None if tangent is None else _retyped(tangent[key], node.meta["type"])
            if isinstance(type_, Tape):
                return self._unrecord(tangent, key)
        if target is record:
            return self._record(node)
        if target is add_tapes:
            return self._add_tapes(node)
        if target is together:
            return [self.of(value) for value in node.args]
        if target is tuple:
            return self.of(node.args[0])
        called = op_call(node)
        if called is None:
            if is_cast(node):
                return self._cast(node)
            body = in_ops(self.builder, node)
            if body is not None:
                return self._whole(_retyped(self._recorded(body), node.meta["type"]), node.meta["type"])
            refuse_call(node)
        return self._op(node, *called)

    def _cast(self, node: Node) -> Any:
        tangent, type_ = self.of(node.args[0]), node.meta["type"]
        dtype = type_.dtype if isinstance(type_, Spec) else type_
        return (
            tangent if tangent is None or tangent.dtype == dtype else self.builder.call(TABLE["astype"], tangent, dtype)
        )

    # Tapes

    def _record(self, node: Node) -> Any:
        tape, *values = node.args
        found = [self.of(value) for value in values]
        before = self.of(tape)
        types = tuple(None if value is None else value.type for value in found)
        made = Tape(types, tuple(place for place, value in enumerate(found, 1) if value is not None))
        start = EMPTY if before is None else before
        return Value(self.builder, self.builder.create(record, (start, *found), {}, made, "t_tape"), made)

    def _add_tapes(self, node: Node) -> Any:
        found = [each for each in map(self.of, node.args) if each is not None]
        if len(found) < 2:
            return found[0] if found else None
        type_ = sum_type(found[0].type, found[1].type)
        return Value(self.builder, self.builder.create(add_tapes, tuple(found), {}, type_, "t_tape"), type_)

    def _unrecord(self, tangent: Any, key: int) -> Any:
        if tangent is None:
            return None
        if key == 0:
            return self.builder.item(tangent.node, 0, tangent.type)
        at = tangent.type.at(key)
        return None if at is None else self.builder.item(tangent.node, at, tangent.type.types[at - 1])

    # Ops

    def _op(self, node: Node, op: Op, arguments: tuple[Any, ...]) -> Any:
        if op.composite and op.draws(node.args, node.kwargs):
            made, result = open_composite(self.builder, node)  # where it stands, so that it draws once
            self.run(made)
            return self._of_result(result) if isinstance(result, (tuple, list)) else self._call(node)
        values = self.builder.parameters(op, arguments)
        if op.composite:
            return self._composite(op, values)
        varied = [
            (which, position)
            for which, position in enumerate(op.positions)
            if op.depends[which] and self.of(arguments[position]) is not None
        ]
        if not varied:
            return None
        for which, _ in varied:
            rule = op.vjp[which]
            if isinstance(rule, NotDifferentiable):
                message = f"{op.name} has no derivative with respect to {op.arrays[which]}: {rule.message}"
                raise NotDifferentiable(message, where=where_of(node))
        type_ = node.meta["type"]
        if op.linear or op.name in _LINEAR:
            return self._linear(op, arguments, values, type_)
        result = self.builder.wrap(node, type_)
        total: Any = None
        for which, position in varied:
            tangent = self.of(arguments[position])
            if op.name in _BILINEAR:
                part = _retyped(_caller(op)(*values[:position], tangent, *values[position + 1 :]), type_)
            else:
                part = self._part(op, which, position, result, tangent, values)
            total = part if total is None else _sum(total, part)
        return None if total is None else self._whole(total, type_)

    def _linear(self, op: Op, arguments: tuple[Any, ...], values: Any, type_: Any) -> Any:
        given = list(values)
        for position, rule in zip(op.positions, op.vjp, strict=True):
            if not isinstance(rule, NotDifferentiable):
                given[position] = self.filled(arguments[position], values[position])
        return self._whole(_retyped(_caller(op)(*given), type_), type_)

    def _part(self, op: Op, which: int, position: int, result: Any, tangent: Any, values: Any) -> Any:
        """What one argument adds to the tangent of the result."""
        rule: Any = op.vjp[which]
        slope = getattr(rule, "slope", None)
        if slope is not None:
            factor = slope(result, *values)
            if is_flat(factor, values):
                return None
            if type(factor) is int and factor in (-1, 1):
                return tangent if factor == 1 else -tangent
            return tangent * factor
        if op is DIVIDE and which == 1:
            return -(tangent / values[1]) * result
        if op.domain is not None and result.dtype.kind == "f" and tangent.dtype.kind == "f":
            spread = self._whole(tangent, result.type)
            return rule(spread, result, *values)
        return self._transposed(rule, result, tangent, values)

    def _transposed(self, rule: Any, result: Any, tangent: Any, values: Any) -> Any:
        builder = self.builder
        several = isinstance(result, tuple)
        results = result if several else (result,)
        seeds = tuple(builder.zeros(each.type) if continuous(each.type) else 0 for each in results)
        mark = builder.mark()
        found = rule(seeds if several else seeds[0], result, *values)
        made = builder.since(mark)
        start: dict[Node, Active] = {seed.node: True for seed in seeds if isinstance(seed, Value)}
        pull = Pullback(builder, activity(made, start))
        for each, part in zip(found, tangent, strict=True) if isinstance(tangent, list) else [(found, tangent)]:
            if isinstance(each, Value) and part is not None:
                pull.add(each.node, self._as(part, each.type))
        pull.run(made)
        parts = [pull.gradients.get(seed.node) if isinstance(seed, Value) else None for seed in seeds]
        return parts if several else parts[0]

    def _as(self, tangent: Any, type_: Any) -> Any:
        """The tangent of an argument as a gradient of what its rule gives, which is broadcast to it afterwards."""
        return self._whole(tangent, type_)

    def _composite(self, op: Op, values: Any) -> Any:
        return self._recorded(lambda: _caller(op.body)(*values))

    def _recorded(self, body: Callable[[], Any]) -> Any:
        mark = self.builder.mark()
        result = body()
        self.run(self.builder.since(mark))
        return self._of_result(result)

    def _of_result(self, result: Any) -> Any:
        if isinstance(result, (tuple, list)):
            found = [self._of_result(each) for each in result]
            return found if any(each is not None for each in found) else None
        return self.tangents.get(result.node) if isinstance(result, Value) else None

    def _whole(self, tangent: Any, type_: Any) -> Any:
        """A tangent in the shape and dtype of its value."""
        if isinstance(tangent, (list, tuple)):
            return [
                None if part is None else self._whole(part, each) for part, each in zip(tangent, type_, strict=True)
            ]
        if not isinstance(tangent, Value):
            return None
        spec = type_ if isinstance(type_, Spec) else Spec((), type_)
        if not same_shape(tangent.shape, spec.shape):
            tangent = self.builder.call(TABLE["broadcast_to"], tangent, spec.shape)
        if tangent.dtype != spec.dtype:
            if tangent.dtype.kind == "c" and spec.dtype.kind != "c":
                tangent = self.builder.call(TABLE["real"], tangent)
            if tangent.dtype != spec.dtype:
                tangent = self.builder.call(TABLE["astype"], tangent, spec.dtype)
        return tangent


_caller = cache(spread_call)


def _retyped(tangent: Any, type_: Any) -> Any:
    """The result of the same call on tangents: of the same shape, also where only running tells it."""
    if isinstance(tangent, (tuple, list)):
        return [_retyped(part, each) for part, each in zip(tangent, type_, strict=True)]
    if isinstance(tangent, Value) and isinstance(type_, Spec) and len(tangent.shape) == len(type_.shape):
        tangent.type = Spec(type_.shape, tangent.dtype)
        retype(tangent.node, tangent.type)
    return tangent


def _last_item(node: Node) -> Node:
    """The last of the nodes that take the results of a node apart, brought to stand right after it."""
    last = node
    if isinstance(node.meta.get("type"), (tuple, list)):
        for user in list(node.users):
            if user.target is operator.getitem and user.graph is node.graph:
                if last.next is not user:
                    last.append(user)
                last = _last_item(user)
    return last


def _is_size(node: Node) -> bool:
    """Whether a node reads the shape of an array, or is a whole number, as the sizes in one are."""
    return node.meta.get("type") is int or (node.target is getattr and node.args[1:] == ("shape",))


def _is_arithmetic(node: Any) -> bool:
    return isinstance(node, Node) and node.meta.get("type") is int and node.target is not operator.getitem


def _sum(total: Any, part: Any) -> Any:
    if part is None:
        return total
    if isinstance(total, list):
        return [_sum(a, b) if a is not None else b for a, b in zip(total, part, strict=True)]
    return total + part
