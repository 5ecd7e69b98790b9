"""Graphs that run over NumPy alone: their nodes call NumPy's own functions, the same numbers without a detour.

A call of an op looks at its arguments for who answers it, which costs more than the sum of two numbers. Where all
values are NumPy's the answer is known. A node that might raise keeps its op, whose errors are those of the plain call;
`ask_nobody` lets the code evaluate it at once, and call the op where that raises.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from weft.graph import Graph, Node
from weft.ops import Spec
from weft.ops._dim import same_shape
from weft.ops._op import TABLE, Op, op_of
from weft.ops.logic import choose

_SIGNS = {
    TABLE["add"]: operator.add,
    TABLE["subtract"]: operator.sub,
    TABLE["multiply"]: operator.mul,
    TABLE["divide"]: operator.truediv,
    TABLE["negative"]: operator.neg,
}


_COPY, _WHERE = TABLE["copy"], TABLE["where"]
_ITEMS = frozenset(TABLE[name] for name in ("index_update", "index_add"))
_COPYING = frozenset(TABLE[name] for name in ("where", "index_update", "index_add", "place_at"))


def call_numpy(graph: Graph, arrays: bool) -> None:
    """Let nodes call the functions of NumPy that the program called, and with `arrays` those that ops stand for."""
    for node in graph.nodes:
        if node._op == "call_function":
            called = node.meta.get("called")
            target = node._target
            if called is not None and op_of(called) is target and not (arrays and called is np.sum):
                node.target = called
            elif arrays and isinstance(target, Op):
                direct = _direct(node, target)
                if direct is not target:
                    node.target = direct
            elif not arrays:
                _take_tensor(node)
        for body in node.bodies:
            call_numpy(body, arrays)


def take_tensors(graph: Graph) -> None:
    """Let a graph run where there are Tensors, of no dimensions, in place of the program's numbers."""
    for node in graph.nodes:
        _take_tensor(node)
        for body in node.bodies:
            take_tensors(body)


def _take_tensor(node: Node) -> None:
    if node._op == "call_function" and node._target is np.generic.astype:
        node.target = astype_of


def astype_of(value: Any, dtype: Any) -> Any:
    """A number or a Tensor in another dtype."""
    return value.astype(dtype)


def _direct(node: Node, op: Op) -> Any:
    """What gives exactly what the op gives for the arguments of a node; the op itself where nothing else does."""
    function = op.eval
    if op is _WHERE:
        return _choice(node)
    if op is _COPY and not node.kwargs and len(node.args) == 1 and isinstance(_type(node.args[0]), Spec):
        return np.copy
    if node.kwargs or len(node.args) != op.exactly or not isinstance(function, np.ufunc):
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


def _choice(node: Node) -> Any:
    """What does the same as `where`: of single numbers, the one or the other."""
    decides, *types = (arg.meta.get("type") if isinstance(arg, Node) else _type(arg) for arg in node.args)
    dtypes = {known.dtype for known in types if isinstance(known, Spec)}
    if node.kwargs or len(dtypes) != 1 or not all(isinstance(known, Spec) or known in (int, float) for known in types):
        return _WHERE
    (dtype,) = dtypes
    shapes = [known.shape for known in (decides, *types) if isinstance(known, Spec) and known.shape]
    if dtype.kind != "f" or not all(same_shape(shapes[0], shape) for shape in shapes[1:]):
        return _WHERE
    given = [dtype.type(side) if type(side) in (int, float) else side for side in node.args[1:]]
    if not shapes and all(isinstance(_type(side), Spec) for side in given) and all(map(_takes_numbers, node.users)):
        node.args = (node.args[0], *given)
        return choose
    return np.where if isinstance(decides, Spec) else _WHERE


def _takes_numbers(user: Node) -> bool:
    """Whether it is all one to a node if it is given a number or an array of no dimensions, which it does not keep."""
    op = op_of(user.target) if user.op == "call_function" else None
    return op is not None and (isinstance(op.eval, np.ufunc) or op in _COPYING)


def _type(argument: Any) -> Any:
    """A Spec, the type of a number of Python's, or None."""
    if isinstance(argument, Node):
        known = argument.meta.get("type")
    elif isinstance(argument, np.generic):
        return Spec((), argument.dtype)
    else:
        known = type(argument)
    return known if isinstance(known, Spec) or known in (int, float) else None


class _Evaluating:
    """The names of weft, where those of ops are functions that evaluate them."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module("weft"), name)
        if isinstance(found, Op) and type(found).dispatch is Op.dispatch:
            found = _evaluating(found)
        setattr(self, name, found)
        return found


def _evaluating(op: Op) -> Callable[..., Any]:
    evaluate = op.eval
    if op in _ITEMS:
        return evaluate  # what it raises is what the program's own `a[key] = value` does

    def function(*args: Any, **kwargs: Any) -> Any:
        try:
            return evaluate(*args, **kwargs)
        except Exception:  # whatever it is, the op meets it again and words it better
            return op(*args, **kwargs)

    return function


_EVALUATING = _Evaluating()


def ask_nobody(run: Any) -> None:
    """Let the code of a graph over NumPy's values evaluate ops itself."""
    if "weft" in run.__globals__:
        run.__globals__["weft"] = _EVALUATING
