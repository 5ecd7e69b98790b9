"""Safe algebra: rewrites that keep every result to the bit, for every input, with the same shape and dtype.

    >>> import weft
    >>> graph = weft.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(weft.negative, (graph.call_function(weft.negative, (x,)),))
    >>> _ = graph.output(graph.call_function(weft.sum, (y,)))
    >>> _ = graph.infer(weft.spec((3,)))
    >>> simplify(graph)
    <Changes: twice negated 1>
    >>> print(graph.output_node().args[0].format_node())
    %sum_1 : [num_users=1] = call_function[target=weft.sum](args = (%x,), kwargs = {})

The types in `meta["type"]` are taken for facts; where there is none, nothing is rewritten. A result never becomes one
array with an argument or with another result. Graphs in which something is written in place are left alone.
"""

from __future__ import annotations

import operator
from typing import Any

from weft.graph import Graph, Node
from weft.ops._numpy import op_call
from weft.ops._op import op_of
from weft.passes import _algebra, _movement  # noqa: F401  # importing them declares their rules
from weft.passes._changes import Changes
from weft.passes._forms import Form, form_of
from weft.passes._keys import same
from weft.passes._kinds import Visited, all_graphs, has_writes
from weft.passes._loops import Settled, branches_alike, invariant_carries, known_operands
from weft.passes._rules import RULES, Call, Instead, interchangeable, type_of
from weft.passes._sharing import Held
from weft.passes._sweep import MISSING, Sweep


def simplify(graph: Graph, visited: Visited | None = None) -> Changes:
    """Apply the rules to every node of a graph and of its bodies."""
    changes = Changes()
    known: dict[Graph, str] = {}
    for one in all_graphs(graph, visited):
        if not has_writes(one, known):
            _simplify(one, changes)
    return changes


def _simplify(graph: Graph, changes: Changes) -> None:
    held, settled = Held(graph), Settled()
    sweep = Sweep(graph)
    for node in sweep:
        if node in settled:
            if sweep.allows(node, settled[node]):
                sweep.replace(node, settled[node])
            else:
                node.args = ((settled[node],), 0)
            continue
        if node._op != "call_function":
            continue
        form = form_of(node)
        name, found = _control(node, form, settled, changes) if form is not None else _first(node, held)
        if found is MISSING or not (isinstance(found, Instead) or sweep.allows(node, found)):
            continue
        if isinstance(found, Instead):
            changes.note("rewrote", name, node, getattr(found.target, "__name__", ""))
            node.target = found.target
            node._set(found.args, found.kwargs)
        else:
            changes.note("rewrote", name, node, "" if form is not None else found)
            sweep.replace(node, found)


def _first(node: Node, held: Held) -> tuple[str, Any]:
    """The first rule that holds for a call, and what it gives; MISSING where none does."""
    op = op_of(node._target)
    if op is None:
        return _of_numbers(node)
    if op.name not in RULES:
        return "", MISSING
    args, kwargs = node._args, dict(node._kwargs)
    meant = op_call(node._target, args, kwargs)
    if meant is None or meant[0] is not op:
        return "", MISSING
    _, args, kwargs = meant
    call = Call(node, op, op.bind(args, kwargs))
    for rule in RULES[op.name]:
        found = rule.apply(call)
        if found is not MISSING and held.allows(node, found.shares if isinstance(found, Instead) else found):
            return rule.name, found
    return "", MISSING


def _of_numbers(node: Node) -> tuple[str, Any]:
    """Rules for functions of Python's: `not not x` is x for a bool, max(x, x) and min(x, x) are x for a number."""
    args = node.args
    if node.target is operator.not_ and len(args) == 1 and isinstance(args[0], Node):
        inner = args[0]
        if inner.op == "call_function" and inner.target is operator.not_ and type_of(inner.args[0]) is bool:
            return "not not", inner.args[0]
    alike = (node.target is max or node.target is min) and len(args) == 2 and not node.kwargs and same(*args)
    if alike and isinstance(type_of(args[0]), type) and interchangeable(node, args[0]):
        return "both are the same", args[0]
    return "", MISSING


def _control(node: Node, form: Form, settled: Settled, changes: Changes) -> tuple[str, Any]:
    """The rule that settles a control node, and its value; others shorten its arguments on the way."""
    found = branches_alike(node, form)
    if found is not MISSING:
        return "branches alike", found
    for carry in invariant_carries(node, form, settled):
        changes.note("rewrote", "invariant carry", node, carry)
    for operand in known_operands(node, form):
        changes.note("rewrote", "known operand", node, operand)
    return "", MISSING
