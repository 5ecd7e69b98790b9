"""Splitting a module into parts that call each other: one part for a device, a process, a backend.

>>> import weft
>>> from weft import passes
>>> gm = weft.symbolic_trace(lambda x: weft.exp(weft.sin(x) + 1))
>>> whole = passes.split_module(gm, None, lambda node: "second" if node.target is weft.exp else "first")
>>> print(whole.code.strip())
def forward(self, x):
    submod_first = self.submod_first(x);  x = None
    submod_second = self.submod_second(submod_first);  submod_first = None
    return submod_second
>>> print(whole.submod_first.code.strip())
def forward(self, x):
    sin = weft.sin(x);  x = None
    add = sin + 1;  sin = None
    return add
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable
from typing import Any

from weft.errors import GraphError
from weft.graph import Graph, GraphModule, Node
from weft.graph._interpreter import fetch_attr

_WHOLE = ("placeholder", "get_attr", "output")  # nodes that stay where the parts are called


def split_module(m: GraphModule, root_m: Any, split_callback: Callable[[Node], Hashable]) -> GraphModule:
    """Return a module that calls a submodule `submod_NAME` for each name that `split_callback(node)` gives.

    Inputs, parameters and results stay outside of the parts, which share their modules with `m`. `root_m` is not
    looked at, and stands here as it does in torch.fx.
    """
    parts: dict[Hashable, list[Node]] = {}
    part_of: dict[Node, Hashable] = {}
    for node in m.graph.nodes:
        if node.op not in _WHOLE:
            part_of[node] = split_callback(node)
            parts.setdefault(part_of[node], []).append(node)
    whole, made = Graph(), {}
    whole.signature = m.graph.signature
    values: dict[Node, Any] = {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr"):
            values[node] = whole.node_copy(node)
    for name in _in_order(parts, part_of):
        made[f"submod_{name}"] = _call(m, whole, f"submod_{name}", parts[name], values)
    whole.node_copy(m.graph.output_node(), values.__getitem__)
    used = {node.target for node in whole.nodes if node.op == "get_attr"}
    whole.constants = {name: value for name, value in m.graph.constants.items() if name in used}
    held = {name: fetch_attr(m, m.graph, name) for name in used}
    result = GraphModule({**held, **made}, whole, type(m).__name__)
    result.train(m.training)
    return result


def _call(m: GraphModule, whole: Graph, name: str, nodes: list[Node], values: dict[Node, Any]) -> GraphModule:
    """Make a part, and write its call into the graph of the whole."""
    inside = set(nodes)
    inputs = list(dict.fromkeys(read for node in nodes for read in node.all_input_nodes if read not in inside))
    outputs = [node for node in nodes if any(user not in inside for user in node.users)]
    part = Graph()
    copies = {node: part.placeholder(node.name) for node in inputs}
    for node in inputs:
        copies[node].meta.update(node.meta)
    for node in nodes:
        copies[node] = part.node_copy(node, copies.__getitem__)
    results = tuple([copies[node] for node in outputs])
    part.output(results[0] if len(results) == 1 else results)
    call = whole.call_module(name, tuple([values[node] for node in inputs]))
    for k, node in enumerate(outputs):
        values[node] = call if len(outputs) == 1 else whole.call_function(operator.getitem, (call, k))
    made = GraphModule(m, part, name)
    made.train(m.training)
    return made


def _in_order(parts: dict[Hashable, list[Node]], part_of: dict[Node, Hashable]) -> list[Hashable]:
    """The parts, each after those whose results it reads, and after effects that come before its own."""
    needs: dict[Hashable, set[Hashable]] = {name: set() for name in parts}
    last: Hashable = None
    for node, name in part_of.items():
        needs[name] |= {part_of[read] for read in node.all_input_nodes if read in part_of}
        if node.is_impure() and node.op != "call_module":
            needs[name] |= {last} if last is not None else set()
            last = name
    order: list[Hashable] = []
    waiting = list(parts)
    while waiting:
        ready = next((name for name in waiting if needs[name] <= {name, *order}), None)
        if ready is None:
            raise GraphError(
                f"split_module: the parts {', '.join(map(str, waiting))} need each other's results",
                help="give nodes on a way that leaves a part and comes back to it the name of that part",
            )
        order.append(ready)
        waiting.remove(ready)
    return order


__all__ = ["split_module"]
