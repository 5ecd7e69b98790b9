"""What a node of a joint graph costs: bytes of what it gives, operations of arithmetic to compute it.

Sizes that only running tells are estimated by their hints.
"""

from __future__ import annotations

import operator
from typing import Any

from weft.graph import Node
from weft.graph._arguments import map_arg
from weft.graph._control import cond, switch
from weft.ops import Spec
from weft.ops._blocks import BLOCK
from weft.ops._cost import Cost
from weft.ops._op import SHOWN, VIEW, Op
from weft.ops._parallel import get_num_threads
from weft.transform._calls import op_call
from weft.transform._partition_turns import Turns, size_of
from weft.transform._split import cheap, estimate


def memory_of(type_: Any) -> float:
    """Bytes of an array. Numbers of Python's take none, and of several values at once each is counted by itself."""
    return size_of(type_) * type_.dtype.itemsize if isinstance(type_, Spec) else 0.0


def scratch_bytes(node: Node) -> float:
    """Bytes that a call needs besides what it is given and what it gives, while it runs."""
    called = op_call(node) if node.op == "call_function" and not node.bodies else None
    cost = Cost() if called is None else called[0].cost
    if called is None or not (cost.scratch or cost.block):
        return 0.0
    specs = [node.meta.get("type"), *(_spec(argument) for argument in called[1])]
    largest = max((memory_of(spec) for spec in specs), default=0.0)
    width = max((spec.dtype.itemsize for spec in specs if isinstance(spec, Spec)), default=1)
    return cost.scratch * largest + cost.block * min(largest, width * BLOCK * get_num_threads())


def base_of(node: Node) -> Node:
    """The node whose memory a node shows; itself, where that is its own."""
    while True:
        node = _whole(node)
        called = op_call(node) if node.op == "call_function" and not node.bodies else None
        if called is None or not _is_view(node, *called):
            return node
        source = called[1][0]
        if not isinstance(source, Node) or not isinstance(source.meta.get("type"), Spec):
            return node
        if called[0].name == "reshape" and _is_rearranged(source):
            return node  # what does not lie in order is copied
        node = source


def _whole(node: Node) -> Node:
    """What an array was split from, where a node is one of the parts."""
    source = node.args[0] if node.op == "call_function" and node.target is operator.getitem else None
    if not isinstance(source, Node) or isinstance(source.meta.get("type"), Spec):
        return node
    called = op_call(source)
    if called is None or called[0].memory != SHOWN or not isinstance(called[1][0], Node):
        return node
    return called[1][0]


def _is_rearranged(node: Node) -> bool:
    called = op_call(node) if node.op == "call_function" and not node.bodies else None
    if called is None or not _is_view(node, *called) or not isinstance(called[1][0], Node):
        return False
    if called[0].name in ("reshape", "expand_dims", "squeeze", "getitem"):  # a part of what lies in order, mostly
        return _is_rearranged(called[1][0])
    return True


def _is_view(node: Node, op: Op, arguments: tuple[Any, ...]) -> bool:
    if op.name == "getitem":
        key = arguments[1]
        parts = key if isinstance(key, tuple) else (key,)
        return not any(isinstance(part, (list, Node)) or hasattr(part, "dtype") for part in parts)
    return op.memory == VIEW or (op.memory == SHOWN and isinstance(node.meta.get("type"), Spec))


def is_creation(node: Node) -> bool:
    """Whether a call makes an array of nothing: it is never kept."""
    if node.op != "call_function" or node.bodies:
        return False
    called = op_call(node)
    return called is not None and _creates(called[0])


def is_cheap(node: Node) -> bool:
    """Whether a call is pointwise work or less: computing it again costs about what reading its result does."""
    if cheap(node):
        return True
    if node.op != "call_function" or node.bodies or node.is_impure():
        return False
    called = op_call(node)
    return called is not None and (called[0].cost.cheap or _creates(called[0]))


def _creates(op: Op) -> bool:
    """Whether an op makes an array of nothing but its size, and the same one each time."""
    return not op.arrays and not op.random


def arithmetic(node: Node, turns: Turns) -> float:
    """Operations of arithmetic that a node takes; a multiplication and an addition are two."""
    if node.op != "call_function":
        return 0.0
    if node.bodies:
        turns.enter(node)
        each = [sum(arithmetic(inner, turns) for inner in body.nodes) for body in node.bodies]
        return turns.of(node) * (max(each) if node.target in (cond, switch) else sum(each))
    called = op_call(node)
    if called is None or (node.target is operator.getitem and not isinstance(node.meta.get("type"), Spec)):
        return 0.0
    op, arguments = called
    if op.memory in (VIEW, SHOWN) or _creates(op) or op.name == "getitem":
        return 0.0
    type_ = node.meta.get("type")
    if op.cost.arithmetic is not None:
        given = map_arg(arguments, lambda each: _estimated(each.meta.get("type")))
        return op.cost.arithmetic(_estimated(type_), *given)
    return max([_elements(type_), *(size_of(spec) for spec in map(_spec, arguments) if spec is not None)])


def _estimated(type_: Any) -> Any:
    """A type with about the sizes that arrays have; None for what is no array."""
    if isinstance(type_, (tuple, list)):
        return tuple(map(_estimated, type_))
    return Spec(map(estimate, type_.shape), type_.dtype) if isinstance(type_, Spec) else None


def repeated(node: Node, turns: Turns) -> tuple[int, float]:
    """The calls that a loop of the backward repeats, those inside of calls of `checkpoint`, and their operations."""
    if not node.bodies:
        return 0, 0.0
    turns.enter(node)
    calls, total = 0, 0.0
    for each in (each for body in node.bodies for each in body.nodes):
        marked = each._meta is not None and "checkpoint" in each._meta
        more, work = (1, arithmetic(each, turns)) if marked else repeated(each, turns)
        calls, total = calls + more, total + work
    return calls, turns.of(node) * total


def _spec(argument: Any) -> Spec | None:
    type_ = argument.meta.get("type") if isinstance(argument, Node) else None
    return type_ if isinstance(type_, Spec) else None


def _elements(type_: Any) -> float:
    if isinstance(type_, Spec):
        return size_of(type_)
    return sum(map(_elements, type_)) if isinstance(type_, (tuple, list)) else 1.0
