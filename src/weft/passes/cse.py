"""Common subexpressions: what is computed twice is computed once.

    >>> import weft
    >>> graph = weft.Graph()
    >>> x = graph.placeholder("x")
    >>> a, b = (graph.call_function(weft.exp, (x,)) for _ in range(2))
    >>> _ = graph.output(graph.call_function(weft.add, (a, b)))
    >>> eliminate_common(graph)
    <Changes: same call 1>
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %exp : [num_users=1] = call_function[target=weft.exp](args = (%x,), kwargs = {})
        %add : [num_users=1] = call_function[target=weft.add](args = (%exp, %exp), kwargs = {})
        return add

Two calls are the same if they are pure and have the same target and the same arguments, by value, type and bit; those
of an op by position or keyword, given or left to the default. A method of what is known as an array counts as the op.
Graphs in which something is written in place are left alone. What a derivative recomputes on purpose
(`meta["recomputed"]`) stays apart.
"""

from __future__ import annotations

from typing import Any

from weft.graph import Graph, Node
from weft.ops._op import TABLE
from weft.ops._spec import Spec
from weft.passes._changes import Changes
from weft.passes._keys import key_of_call
from weft.passes._kinds import PURE, Visited, all_graphs, has_writes, kind_of
from weft.passes._sharing import Held
from weft.passes._sweep import Sweep, written_values


def eliminate_common(graph: Graph, visited: Visited | None = None) -> Changes:
    """Keep the first of all pure nodes that make the same call, in each body by itself."""
    changes = Changes()
    known: dict[Graph, str] = {}
    for one in all_graphs(graph, visited):
        if not has_writes(one, known):
            merge_twins(one, changes, known)
    return changes


def merge_twins(graph: Graph, changes: Changes, known: dict[Graph, str] | None = None) -> dict[Node, Node]:
    """The same in one graph, not in its bodies; returns what each node that is gone was merged with.

    `known` remembers the kinds of bodies.
    """
    merged: dict[Node, Node] = {}
    first: dict[Any, Node] = {}
    held = Held(graph)
    known = {} if known is None else known
    has_targets = bool(written_values(graph))
    sweep = Sweep(graph)
    for node in sweep:
        op = node._op
        if op in ("placeholder", "output", "call_module") or (node._meta and node._meta.get("recomputed")):
            continue
        # An attribute that is written at the end is named there by the node that reads it.
        if (op == "get_attr" and has_targets) or not (_is_op_method(node) or kind_of(node, known) == PURE):
            continue
        twin = first.setdefault(key_of_call(node), node)
        if twin is not node and (op == "get_attr" or held.merges(node, twin)):
            changes.note("merged", "same call", node, twin)
            sweep.replace(node, twin)
            merged[node] = twin
    return merged


def _is_op_method(node: Node) -> bool:
    """Whether a node calls a method of an array, as far as is known of it, that is an op."""
    if node._op != "call_method" or not isinstance(node.args[0], Node) or node.is_impure():
        return False
    op = TABLE.get(node.target)
    return op is not None and op.random is False and isinstance(node.args[0].meta.get("type"), Spec)
