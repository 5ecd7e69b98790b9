"""Graphs that run over NumPy alone: their nodes call NumPy's own functions, the same numbers without a detour.

A call of an op looks at its arguments for who answers it, which costs more than the sum of two numbers. Where all
values are NumPy's the answer is known. A node that might raise keeps its op, whose errors are those of the plain call.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from weft.graph import Graph, Node
from weft.ops import Spec
from weft.ops._dim import same_shape
from weft.ops._op import TABLE, Op, op_of

_SIGNS = {
    TABLE["add"]: operator.add,
    TABLE["subtract"]: operator.sub,
    TABLE["multiply"]: operator.mul,
    TABLE["divide"]: operator.truediv,
    TABLE["negative"]: operator.neg,
}


_COPY = TABLE["copy"]


def call_numpy(graph: Graph, arrays: bool) -> None:
    """Let nodes call the functions of NumPy that the program called, and with `arrays` those that ops stand for."""
    for node in graph.nodes:
        if node.op == "call_function":
            called = node.meta.get("called")
            if called is not None and op_of(called) is node.target:
                node.target = called
            elif arrays and isinstance(node.target, Op):
                node.target = _direct(node, node.target)
        for body in node.bodies:
            call_numpy(body, arrays)


def _direct(node: Node, op: Op) -> Any:
    """What gives exactly what the op gives for the arguments of a node; the op itself where nothing else does."""
    function = op.eval
    if op is _COPY and not node.kwargs and len(node.args) == 1 and isinstance(_type(node.args[0]), Spec):
        return np.copy
    if node.kwargs or len(node.args) != op.exactly or not (isinstance(function, np.ufunc) or function is np.where):
        return op
    types = [_type(arg) for arg in node.args]
    specs = [known for known in types if isinstance(known, Spec)]
    if not specs or any(known is None for known in types):
        return op
    floats = all(spec.dtype.kind in "fc" for spec in specs)
    if len(specs) < len(types) and not floats:
        return op  # an integer of Python's may be out of bounds for an array of integers
    shapes = [spec.shape for spec in specs if spec.shape]
    if not all(same_shape(shapes[0], shape) for shape in shapes[1:]):
        return op
    # The operators do the same sums, on single numbers much sooner. Integers would warn where they overflow.
    if op in _SIGNS and all(spec.dtype.kind == "f" for spec in specs):
        return _SIGNS[op]
    return function


def _type(argument: Any) -> Any:
    """A Spec, the type of a number of Python's, or None."""
    if isinstance(argument, Node):
        known = argument.meta.get("type")
    elif isinstance(argument, np.generic):
        return Spec((), argument.dtype)
    else:
        known = type(argument)
    return known if isinstance(known, Spec) or known in (int, float) else None
