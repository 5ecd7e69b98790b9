"""What the call of a node means to a derivative: which op it is, with which arguments."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from weft._where import package_name
from weft.capture._numpy_targets import astype_of
from weft.capture._numpy_writes import after, apply_at
from weft.capture._wrap import reading_arrays, still_as_given
from weft.errors import NotDifferentiable
from weft.graph import Graph, Node
from weft.graph._arguments import map_arg
from weft.graph._control import fail
from weft.ops import Op, Spec
from weft.ops._op import TABLE, op_of
from weft.ops._scipy import special_name, special_op

_MATH = {
    **{name: name for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh")},
    **{name: name for name in ("atanh", "exp", "log", "log1p", "expm1", "log2", "log10", "sqrt", "atan2")},
    **{name: name for name in ("copysign", "exp2", "cbrt", "floor", "ceil", "trunc")},
    "fabs": "abs",
    "pow": "pow",
    "degrees": "degrees",
    "radians": "radians",
    "erf": "erf",
    "erfc": "erfc",
    "lgamma": "lgamma",
    "fmod": "fmod",
    "modf": "modf",
    "frexp": "frexp",
    "nextafter": "nextafter",
    "ulp": "spacing",
}
_BY_FUNCTION: dict[Any, str] = {
    **{getattr(math, name): op for name, op in _MATH.items() if hasattr(math, name)},
    abs: "abs",
    pow: "pow",
    np.generic.astype: "astype",
    astype_of: "astype",
}


def op_call(node: Node) -> tuple[Op, tuple[Any, ...]] | None:
    """The op that a node calls, and the value of each of its parameters; None where it is none."""
    if node.op != "call_function":
        return None
    op = op_of(node.target)
    if op is None:
        op = _named(node.target)
        if op is None or (node.target is math.log and len(node.args) == 2):
            return None
    elif not _takes(op, node):
        return None
    arguments = op.bind(node.args, node.kwargs)
    if not op.composite and any(isinstance(argument, (list, tuple)) for argument in arguments):
        pairs = zip(arguments, op.takes_arrays, strict=True)
        arguments = tuple(np.asarray(a) if is_array and _is_plain_list(a) else a for a, is_array in pairs)
    return op, arguments


def _takes(op: Op, node: Node) -> bool:
    """Whether an op can do all that a function of NumPy's was asked to do, which is called as it is."""
    target = node.target
    if target is op or isinstance(target, np.ufunc) or package_name(target) != "numpy":
        return True
    try:
        op.infer(*map_arg(op.bind(node.args, node.kwargs), lambda each: each.meta.get("type")))
    except (TypeError, ValueError):
        return False
    return True


def _is_plain_list(value: Any) -> bool:
    """Whether a list is one of numbers, which rules compute with as with an array."""
    if not isinstance(value, (list, tuple)) or not value:
        return False
    return all(type(part) in (int, float, complex, bool) or _is_plain_list(part) for part in value)


def _named(function: Any) -> Op | None:
    try:
        name = _BY_FUNCTION.get(function)
    except TypeError:
        return None
    return TABLE.get(name) if name is not None else special_op(function)


def is_cast(node: Node) -> bool:
    """Whether a node makes a number of its argument: `float(x)`, `np.float32(x)`."""
    target = node.target
    if target in (float, operator.pos):
        return True
    return isinstance(target, type) and issubclass(target, np.inexact)


def varies_with(op: Op, arguments: tuple[Any, ...]) -> Iterator[Any]:
    """The arguments whose values a result depends on, not on their shapes alone."""
    depends = op.depends
    for position, varies in zip(op.positions, depends, strict=True):
        if varies:
            yield arguments[position]


def refuse_call(node: Node) -> NoReturn:
    """Say that a call has no derivative."""
    target = node.args[0] if node.target in (after, apply_at) else node.target  # a function of NumPy's that writes
    method = ".at" if node.target is apply_at else ""
    if isinstance(getattr(target, "__self__", None), np.ufunc):
        target, method = target.__self__, f".{target.__name__}"
    special = special_name(target)
    name = getattr(target, "__qualname__", None) or getattr(target, "__name__", None) or str(target)
    module = (
        "scipy.special" if special else "numpy" if isinstance(target, np.ufunc) else getattr(target, "__module__", None)
    )
    shown = (f"{module}.{name}" if module and module not in ("builtins", "_operator") else name) + method
    known = node.target is target and op_of(target) is not None
    raise NotDifferentiable(
        f"{shown} has no derivative rule{' for these arguments' if known else ''}",
        where=where_of(node),
        help="use a function of NumPy's or weft's, or give it a rule with weft.custom_vjp",
    )


def _is_open(type_: Any) -> bool:
    """Whether a type does not say what a value is: that of an array of objects does not, either."""
    return type_ is None or (isinstance(type_, Spec) and type_.dtype.kind == "O")


def _is_unknown(node: Node) -> bool:
    return node.op in ("call_function", "call_method") and _is_open(node.meta.get("type")) and not _is_given(node)


def _is_given(node: Node) -> bool:
    """Whether a node is a list or dict made to be given to a function that runs as it is."""
    return any(user.target is still_as_given and user.args[0] is node for user in node.users)


def refuse_unknown(node: Node, is_result: bool = False) -> None:
    """Say so where a value that varies is read, and its type is not known: as a constant, it would give zeros."""
    type_ = node.meta.get("type")
    unknown = any(map(_is_open, type_)) if isinstance(type_, (tuple, list)) else _is_open(type_)
    if not unknown:
        return
    if not (is_result or any(user.target is not still_as_given for user in node.users)):
        if runs_as_it_is(node) and node.target is not reading_arrays:
            node.args, node.target = (node.target, *node.args), reading_arrays
        return
    if node.target is getattr or _is_given(node):  # x.shape, which does not vary; what is read by that function alone
        return
    if (node.is_impure() and not node.meta.get("must_run")) or _ends_in_raise(node.graph):  # a print, or a raise
        return
    while (source := _source(node)) is not None:
        node = source  # where it begins
    name = getattr(node.target, "__name__", None) or str(node.target)
    name = "this line" if name.startswith("_") or _control_of(node) is not None else name
    if node.target in (list, dict):
        raise NotDifferentiable(
            f"a {name} that a loop or a branch changes has no derivative",
            where=where_of(node),
            help="write into an array that is made before, or append once in each turn of a `for` of known length",
        )
    help = "give the function that runs as it is a rule with weft.custom_vjp, or compute with functions of NumPy's"
    if node.target in (np.linalg.eig, np.linalg.eigvals):
        help = f"complex numbers in give complex ones out, always: np.linalg.{name}(a + 0j)"
    raise NotDifferentiable(
        f"{name} has no derivative: what it gives is known only when it runs", where=where_of(node), help=help
    )


def _ends_in_raise(graph: Graph) -> bool:
    """Whether a graph is that of a path that gives nothing, because it raises."""
    last = next(iter(reversed(graph.nodes)), None)
    given = last.args[0] if last is not None and last.op == "output" else None
    return isinstance(given, Node) and given.target is fail


def _source(node: Node) -> Node | None:
    """What is unknown among the operands of a node; of a part of what a branch or loop gives, among those of that."""
    control = _control_of(node)
    inputs = node.all_input_nodes if control is None else control.all_input_nodes
    return next((each for each in inputs if _is_unknown(each)), None)


def _control_of(node: Node) -> Node | None:
    """The branch or loop of which a node reads a part."""
    given = node.args[0] if node.target is operator.getitem and node.args else None
    return given if isinstance(given, Node) and given.bodies else None


def runs_as_it_is(node: Node) -> bool:
    """Whether a node calls a function of which nothing is known: it may change the arrays that it is given."""
    return node.op == "call_function" and bool(node.meta.get("handed"))


def refuse_hidden(node: Node) -> None:
    """Say so where a value that varies is put where no derivative follows it: into a list that changes in a loop."""
    if node.op == "call_method":
        how = f"given to .{node.target}()"
    elif node.target is operator.setitem:
        how = "written into a list or dict"
    else:
        return
    raise NotDifferentiable(
        f"a value that varies is {how} under a condition or in a loop, where no derivative follows it",
        where=where_of(node),
        help="write into an array that is made before",
    )


def where_of(node: Node) -> str | None:
    """Where in the program a node comes from, as errors show it."""
    location = node.location
    return None if location is None else str(location)


def located_at(node: Node, error: NotDifferentiable) -> NotDifferentiable:
    """The error with the place of a node, where it names none: the rule or the body of a composite raised it."""
    if error.where is not None:
        return error
    return type(error)(error.message, where=where_of(node), help=error.help)
