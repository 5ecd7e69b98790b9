"""When two calls, and two constants, are the same as far as pattern matching goes.

One op has several spellings: `x + y`, `np.add(x, y)`, `weft.add(x, y)`; `x.sum(0)`, `weft.sum(x, axis=0)`. Arguments
are compared by the parameter they are given to, defaults filled in, so position or keyword makes no difference.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from weft.graph._graph import Graph
from weft.graph._node import Node
from weft.graph._signatures import signature_of
from weft.graph._wildcards import OneOf
from weft.ops._op import TABLE, Op, _by_function, op_of

# Methods that mean the op of the same name for every array, called with at most an axis and keepdims.
_METHODS = frozenset({"all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "std", "sum", "var", "conj"})
_METHOD_KEYWORDS = frozenset({"axis", "keepdims"})

Way = list[tuple[Any, Any]]


class Spellings:
    """Decides whether two nodes make the same call, and which of their arguments correspond."""

    def __init__(self, same_ops: bool, commutative: bool) -> None:
        self.same_ops = same_ops
        self.commutative = commutative
        self._signatures: dict[Any, inspect.Signature | None] = {}

    def keys(self, mine: Node) -> list[tuple[str, Any]]:
        """The (kind, target) of every node that might match a node of the pattern."""
        targets = mine.target.choices if isinstance(mine.target, OneOf) else (mine.target,)
        keys: dict[tuple[str, Any], None] = {}
        for target in targets:
            kind = "call_method" if isinstance(target, str) and mine.op == "call_function" else mine.op
            keys[kind, target] = None
            op = self._op(kind, target)
            if op is not None:
                keys["call_function", op] = None
                keys.update(
                    dict.fromkeys(("call_function", f) for f, stands_for in _by_function.items() if stands_for is op)
                )
                if op.name in _METHODS:
                    keys["call_method", op.name] = None
        if mine.op == "get_attr":
            # Compared by value, so the name may be any; None finds them all.
            return [("get_attr", None)]
        return list(keys)

    def alike(self, mine: Node, theirs: Node) -> bool:
        """Whether a node of the graph might match one of the pattern, by kind and target alone."""
        if isinstance(mine.target, OneOf):
            return any(self._is_call_of(choice, theirs) for choice in mine.target.choices)
        if mine.op == theirs.op == "get_attr":
            return _same_attribute(mine, theirs)
        if mine.op == theirs.op and mine.target == theirs.target:
            return True
        op = self._op(mine.op, mine.target)
        return op is not None and op is self._op_of_node(theirs)

    def ways(self, mine: Node, theirs: Node, found: dict[OneOf, Any]) -> list[Way]:
        """The pairs of arguments that have to match, in each order worth trying; none where the calls differ.

        `found` holds what choices of ops were made, and learns of this one.
        """
        if not self.alike(mine, theirs):
            return []
        if isinstance(mine.target, OneOf):
            chosen = (theirs.op, theirs.target)
            if found.setdefault(mine.target, chosen) != chosen:
                return []
        way = self._pairs(mine, theirs)
        if way is None:
            return []
        op = self._op_of_node(theirs) if self.commutative else None
        if op is None or not op.commutative or len(way) < 2 or not _arrays_only(theirs):
            return [way]
        (a, b), (c, d), *rest = way
        return [way, [(a, d), (c, b), *rest]]

    def _is_call_of(self, choice: Any, theirs: Node) -> bool:
        if isinstance(choice, str):
            return theirs.op == "call_method" and theirs.target == choice
        if theirs.op == "call_function" and theirs.target == choice:
            return True
        op = op_of(choice) if self.same_ops else None
        return op is not None and op is self._op_of_node(theirs)

    def _op(self, kind: str, target: Any) -> Op | None:
        """The op a call means, whichever way it is spelled."""
        if not self.same_ops and not self.commutative:
            return None
        if kind == "call_function":
            return op_of(target) if self.same_ops or isinstance(target, Op) else None
        return TABLE.get(target) if self.same_ops and kind == "call_method" and target in _METHODS else None

    def _op_of_node(self, node: Node) -> Op | None:
        op = self._op(node.op, node.target)
        if op is None or isinstance(node.target, Op):
            return op
        if node.op == "call_method" and (len(node.args) > 2 or not node.kwargs.keys() <= _METHOD_KEYWORDS):
            return None
        # `+` on a shape joins tuples: only what may be an array is a call of the op.
        return op if _arrays_only(node) else None

    # Arguments

    def _pairs(self, mine: Node, theirs: Node) -> Way | None:
        same = isinstance(mine.target, OneOf) or (mine.op == theirs.op and mine.target == theirs.target)
        if same and len(mine.args) == len(theirs.args) and mine.kwargs.keys() == theirs.kwargs.keys():
            return [*zip(mine.args, theirs.args, strict=True), *((mine.kwargs[k], v) for k, v in theirs.kwargs.items())]
        if mine.op in ("call_module", "get_attr", "output"):
            return [] if mine.op == "get_attr" else None
        op = self._op_of_node(theirs)
        signature = self._signature(theirs.target if op is None else op)
        first, second = _bound(signature, mine), _bound(signature, theirs)
        if first is None or second is None:
            return None
        return [(first[name], second[name]) for name in first]

    def _signature(self, function: Any) -> inspect.Signature | None:
        if function not in self._signatures:
            self._signatures[function] = signature_of(function)
        return self._signatures[function]


def _bound(signature: inspect.Signature | None, node: Node) -> Mapping[str, Any] | None:
    args, kwargs = node.args, dict(node.kwargs)
    if node.op == "call_method" and len(args) > 1:
        if len(args) > 2 or "axis" in kwargs:
            return None
        args, kwargs["axis"] = args[:1], args[1]
    try:
        bound = None if signature is None else signature.bind(*args, **kwargs)
    except TypeError:
        return None
    if bound is None:
        return None
    bound.apply_defaults()
    return bound.arguments


def _arrays_only(node: Node) -> bool:
    """Whether nothing shows that an operand is a tuple, a list or text rather than an array."""
    operands = node.args if node.op == "call_function" else node.args[:1]
    if op_of(node.target) is TABLE.get("getitem"):
        operands = operands[:1]
    for operand in operands:
        if isinstance(operand, (tuple, list, dict, str, bytes)):
            return False
        if isinstance(operand, Node):
            if operand.op == "call_function" and operand.target is getattr and operand.args[1:] == ("shape",):
                return False
            if isinstance((operand._meta or {}).get("type"), (tuple, list, dict)):
                return False
    return True


def _same_attribute(mine: Node, theirs: Node) -> bool:
    """Attributes are the same when their values are, or, where those are not at hand, their names."""
    one, other = attribute(mine), attribute(theirs)
    if one is _UNKNOWN or other is _UNKNOWN:
        return bool(mine.target == theirs.target)
    return one is other or same_constant(one, other)


def attribute(node: Node) -> Any:
    """The value a `get_attr` node reads, or a mark that it is not known."""
    value = node.graph.owning_module
    for part in node.target.split("."):
        value = getattr(value, part, _UNKNOWN)
    return node.graph.constants.get(node.target, _UNKNOWN) if value is _UNKNOWN else value


_UNKNOWN: Any = object()


def parts_of(mine: Any, theirs: Any) -> Way | None:
    """The corresponding parts of two containers of one kind; None where they are not, or differ in size or keys."""
    for kind in (tuple, list):
        if isinstance(mine, kind):
            fits = isinstance(theirs, kind) and len(mine) == len(theirs) and _class(mine) is _class(theirs)
            return list(zip(mine, theirs, strict=True)) if fits else None
    if isinstance(mine, dict):
        if not isinstance(theirs, dict) or mine.keys() != theirs.keys():
            return None
        return [(mine[key], theirs[key]) for key in mine]
    if isinstance(mine, slice) and isinstance(theirs, slice):
        return [(mine.start, theirs.start), (mine.stop, theirs.stop), (mine.step, theirs.step)]
    return None


def _class(value: Any) -> type:
    return type(value) if hasattr(value, "_fields") else tuple if isinstance(value, tuple) else list


def same_constant(a: Any, b: Any) -> bool:
    """Whether two constants are interchangeable: equal, of one type and one sign.

    2 and 2.0 give arrays of other dtypes; x + 0.0 and x + -0.0 differ where x is -0.0.
    """
    if a is b:
        return True
    if isinstance(a, Graph) and isinstance(b, Graph):
        return same_graph(a, b)
    if isinstance(a, _NUMERIC) and type(a) is type(b):
        return _same_numbers(np.asarray(a), np.asarray(b))
    if _is_dtype(a) and _is_dtype(b):
        return bool(np.dtype(a) == np.dtype(b))
    if type(a) is not type(b):
        return False
    try:
        return bool(a == b)
    except Exception:
        # An object that cannot say whether it equals another does not.
        return False


def same_graph(a: Graph, b: Graph) -> bool:
    """Whether two graphs do the same: node for node the same calls in one order.

    What nodes and inputs are called makes no difference, nor do facts in `meta`.
    """
    if len(a.nodes) != len(b.nodes):
        return False
    to: dict[Node, Node] = {}
    for mine, theirs in zip(a.nodes, b.nodes, strict=True):
        if mine.op != theirs.op or not _same_target(mine, theirs):
            return False
        if not _same_value((mine.args, dict(mine.kwargs)), (theirs.args, dict(theirs.kwargs)), to):
            return False
        to[mine] = theirs
    return True


def _same_target(mine: Node, theirs: Node) -> bool:
    if mine.op == "placeholder":
        return bool(mine.target.count("*") == theirs.target.count("*"))
    return _same_attribute(mine, theirs) if mine.op == "get_attr" else bool(mine.target == theirs.target)


def _same_value(mine: Any, theirs: Any, to: Mapping[Node, Node]) -> bool:
    if isinstance(mine, Node):
        return to.get(mine) is theirs
    if isinstance(mine, (tuple, list, dict, slice)):
        pairs = parts_of(mine, theirs)
        return pairs is not None and all(_same_value(one, other, to) for one, other in pairs)
    return same_constant(mine, theirs)


_NUMERIC = (np.ndarray, np.generic, float, complex)


def _same_numbers(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    if a.dtype != b.dtype or not np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"):
        return False
    if a.dtype.kind == "c":
        return _same_numbers(a.real, b.real) and _same_numbers(a.imag, b.imag)
    return a.dtype.kind != "f" or bool(np.all((a == a) <= (np.signbit(a) == np.signbit(b))))


def _is_dtype(value: Any) -> bool:
    return isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic))
