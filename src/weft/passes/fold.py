"""Constant folding: what depends on constants alone is computed now.

    >>> import weft, operator
    >>> graph = weft.Graph()
    >>> x = graph.placeholder("x")
    >>> two = graph.call_function(operator.add, (1, 1))
    >>> _ = graph.output(graph.call_function(weft.multiply, (x, two)))
    >>> fold_constants(graph)
    <Changes: constant 1>
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %multiply : [num_users=1] = call_function[target=weft.multiply](args = (%x, 2), kwargs = {})
        return multiply

Only numbers, texts, dtypes and tuples of them become constants, never arrays. What would fail or warn is left to the
run.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.graph import Graph, Node, map_aggregate
from weft.graph._control import cond, fori_loop, switch, while_loop
from weft.ops._numpy import op_call
from weft.ops._spec import Spec
from weft.passes._changes import Changes
from weft.passes._forms import Form, form_of, inline, placeholders, result_of
from weft.passes._kinds import PURE, SCALAR_FUNCTIONS, Visited, all_graphs, kind_of, kind_of_graph
from weft.passes._sweep import MISSING, Sweep

_BITS = 4096  # of the largest integer worth keeping
_LENGTH = 1000  # of the longest text or tuple
_LITERAL = (bool, int, float, complex, str, type(None), type(...), np.dtype)
# Ops that warn of nothing but floating-point errors, which can be caught; those that are ufuncs do not either.
_QUIET = frozenset({"clip", "getitem", "imag", "pow", "real", "round"})


def fold_constants(graph: Graph, visited: Visited | None = None) -> Changes:
    """Compute every pure node that reads constants alone, and decide control flow that constants decide."""
    changes = Changes()
    for one in all_graphs(graph, visited):
        _fold(one, changes)
    return changes


def _fold(graph: Graph, changes: Changes) -> None:
    sweep = Sweep(graph)
    for node in sweep:
        if node.op != "call_function" or node in sweep.written:
            continue
        form = form_of(node)
        if form is not None:
            rule, value = _decided(node, form)
        elif node._input_nodes:
            rule, value = "shape", fact_of(node) if node.target is getattr or node.target is len else MISSING
        else:
            rule, value = "constant", constant_of(node) if kind_of(node) == PURE else MISSING
        if value is not MISSING:
            changes.note("folded", rule, node, "" if form else value)
            sweep.replace(node, value)


def constant_of(node: Node) -> Any:
    """The value of a call on constants; MISSING where it is no constant, or has none."""
    return evaluate(node.target, node.args, dict(node.kwargs))


def evaluate(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a call if it is small and comes without failing or warning, else MISSING."""
    leaves: list[Any] = []
    map_aggregate((args, kwargs), leaves.append)
    if not all(is_literal(leaf) or isinstance(leaf, type) for leaf in leaves) or _may_grow(target, args):
        return MISSING
    try:
        with np.errstate(all="raise"):
            value = target(*_plain(args), **_plain(kwargs)) if _gives_number(target, args, kwargs) else MISSING
    except Exception:  # it fails, and is to fail when the program runs
        return MISSING
    return value if _is_small(value) else MISSING


def is_literal(value: Any) -> bool:
    """Whether a value is a constant that can stand in a node's arguments and never changes."""
    return type(value) in _LITERAL or (isinstance(value, np.generic) and value.dtype.kind in "biufcmM")


def _gives_number(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the call is known to give no array and no warning, without computing anything large to find out."""
    if is_scalar_function(target):
        # Python 3.12 warns of ~True, and of no other call on constants.
        return not (target in (operator.inv, operator.invert) and type(args[0]) is bool)
    op, args, kwargs = op_call(target, args, kwargs) or (None, args, kwargs)
    if op is None or not (isinstance(op.eval, np.ufunc) or op.name in _QUIET):
        return False
    if op.name == "getitem" and isinstance(args[0], (tuple, list, dict)):
        return True
    found = op.infer(*op.bind(args, kwargs))
    return isinstance(found, Spec) and found.shape == ()


def is_scalar_function(target: Any) -> bool:
    """Whether the target is a function of Python's on numbers."""
    try:
        return target in SCALAR_FUNCTIONS
    except TypeError:
        return False


def _may_grow(target: Any, args: tuple[Any, ...]) -> bool:
    """Whether a call of one of Python's functions may take long, or give something large, however small its input."""
    if not is_scalar_function(target):
        return False
    if any(isinstance(arg, (str, tuple, list)) for arg in args):
        return target in (operator.mul, operator.mod)
    whole = [abs(arg) for arg in args if type(arg) is int]
    if len(whole) < len(args):
        return target is round and max(whole, default=0) > 500
    if target in (operator.pow, pow):
        return whole[0].bit_length() * whole[-1] > _BITS
    if target is operator.lshift:
        return whole[0].bit_length() + whole[-1] > _BITS
    return target in (math.factorial, math.comb, math.perm, round) and max(whole, default=0) > 500


def _plain(args: Any) -> Any:
    """Arguments in ordinary containers, which functions of Python expect."""
    if type(args) is tuple:
        return tuple(map(_plain, args))
    if isinstance(args, list):
        return [_plain(part) for part in args]
    return {key: _plain(part) for key, part in args.items()} if isinstance(args, dict) else args


def _is_small(value: Any) -> bool:
    if type(value) is tuple:
        return len(value) <= _LENGTH and all(map(_is_small, value))
    if type(value) is int:
        return value.bit_length() <= _BITS
    return len(value) <= _LENGTH if type(value) is str else is_literal(value)


def fact_of(node: Node) -> Any:
    """What the type of an array tells: its shape, dtype, number of dimensions, size, length; else MISSING."""
    x = node.args[0] if node.args else None
    kind = x.meta.get("type") if isinstance(x, Node) else None
    if x is None or not isinstance(kind, Spec) or "mixed" in x.meta or node.kwargs or kind_of(node) != PURE:
        return MISSING
    what = "len" if node.target is len else node.args[1]
    if what == "ndim":
        return len(kind.shape)
    if what == "dtype":
        return kind.dtype
    if not all(type(dim) is int for dim in kind.shape) or (what == "len" and not kind.shape):
        return MISSING
    known = {"shape": kind.shape, "size": math.prod(kind.shape), "len": kind.shape[0] if kind.shape else 0}
    return known.get(what, MISSING)


# Control flow


def _decided(node: Node, form: Form) -> tuple[str, Any]:
    """The rule and the value of a control node which constants decide; MISSING where none do."""
    carries = tuple(form.carries)
    if form.target is cond and isinstance(form.lead[0], (int, np.bool_, np.integer)):
        return "branch taken", inline(form.bodies[0 if form.lead[0] else 1], form.operands, node)
    if form.target is switch and isinstance(form.lead[0], (int, np.integer)):
        chosen = min(max(int(form.lead[0]), 0), len(form.bodies) - 1)
        return "branch taken", inline(form.bodies[chosen], form.operands, node)
    if form.target is fori_loop:
        bounds = [*form.lead, form.kwargs.get("step", 1)]
        if all(isinstance(bound, (int, np.integer)) for bound in bounds) and bounds[2] and not range(*map(int, bounds)):
            return "empty range", carries
    if form.target is while_loop and kind_of_graph(form.bodies[0]) == PURE:
        decision = known_result(form.bodies[0], [*form.carries, *form.operands])
        if is_literal(decision) and not decision:
            return "never entered", carries
    return "", MISSING


def known_result(body: Graph, values: Sequence[Any]) -> Any:
    """What a body returns as far as the constants among its inputs tell; MISSING where they do not."""
    known = {node: value for node, value in zip(placeholders(body), values, strict=True) if is_literal(value)}
    for node in body.nodes:
        if node.op == "call_function" and all(one in known for one in node._input_nodes):
            value = lambda leaf: known[leaf] if isinstance(leaf, Node) else leaf  # noqa: E731  # used at once
            args, kwargs = map_aggregate(node.args, value), map_aggregate(node.kwargs, value)
            found = evaluate(node.target, args, dict(kwargs)) if kind_of(node) == PURE else MISSING
            if found is not MISSING:
                known[node] = found
    result = result_of(body)
    return known.get(result, MISSING) if isinstance(result, Node) else result
