"""`Session`: run the part of a graph that some results need, the static-graph way.

>>> import operator
>>> from weft import Graph, Session
>>> graph = Graph()
>>> x, y = graph.placeholder("x"), graph.placeholder("y")
>>> total = graph.call_function(operator.add, (x, y), name="total")
>>> double = graph.call_function(operator.mul, (x, 2), name="double")
>>> session = Session(graph)
>>> session.run("double", {"x": 21})  # y is not needed, so it need not be fed
42
>>> session.run({"sum": total, "parts": [x, "double"]}, {x: 1, "y": 2})
{'sum': 3, 'parts': [1, 2]}
>>> session.run(total, {"x": 1, double: 0, "y": 5})
6
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from weft import pytree
from weft.errors import GraphError
from weft.graph._graph import Graph
from weft.graph._interpreter import fetch_attr, note_node, values_of
from weft.graph._node import Node
from weft.graph._writes import carry_out

Fetch = Node | str


class _Step(NamedTuple):
    """A node to run, its arguments when the plan was made, and the nodes whose values are not needed after it."""

    node: Node
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    done: tuple[Node, ...]


class Session:
    """Runs fetches of a graph from fed values. What to run is worked out once for each set of fetches and feeds."""

    def __init__(self, graph: Any) -> None:
        if not isinstance(getattr(graph, "graph", graph), Graph):
            raise TypeError(
                f"Session takes a GraphModule or a Graph, got {type(graph).__name__}\n"
                "  help: capture it first: weft.symbolic_trace(f)"
            )
        self.graph: Graph = graph if isinstance(graph, Graph) else graph.graph
        self._root = self.graph.owning_module if isinstance(graph, Graph) else graph
        self._names: dict[str, Node] = {}
        self._plans: dict[tuple[tuple[Node, ...], frozenset[Node]], list[_Step]] = {}

    def run(self, fetches: Any, feed: Mapping[Any, Any] | None = None) -> Any:
        """The values of nodes: one, or a nested structure of them, each given as a Node or by name.

        `feed` maps nodes or names to values; any node may be fed, and what only it needs is then not run.
        """
        leaves, tree = pytree.flatten(fetches)
        wanted = tuple([self._find(leaf, "fetch") for leaf in leaves])
        env: dict[Node, Any] = {}
        for key, value in (feed or {}).items():
            node = self._find(key, "feed")
            if node in env:
                raise GraphError(f"feed: {node.name} is fed twice, as a Node and by name")
            env[node] = value
        for step in self._plan(wanted, frozenset(env)):
            node = step.node
            try:
                env[node] = self._value(node, env)
            except Exception as error:
                note_node(error, node)
                raise
            for unused in step.done:
                del env[unused]
        return tree.unflatten([env[node] for node in wanted])

    def _value(self, node: Node, env: dict[Node, Any]) -> Any:
        kind, target = node.op, node.target
        if kind == "get_attr":
            return fetch_attr(self._root, self.graph, target)
        args = values_of(node.args, env, node)
        kwargs = values_of(node.kwargs, env, node) if node.kwargs else {}
        if kind == "call_function":
            return target(*args, **kwargs)
        if kind == "call_method":
            return getattr(args[0], target)(*args[1:], **kwargs)
        if kind == "call_module":
            return fetch_attr(self._root, self.graph, target)(*args, **kwargs)
        if kind == "placeholder" and target.startswith("*"):
            return {} if target.startswith("**") else ()
        if kwargs:
            carry_out(kwargs.get("writes", ()))
        return args[0]  # the output's value, or a placeholder's default

    # Names

    def _find(self, key: Any, use: str) -> Node:
        if isinstance(key, Node):
            if key not in self.graph.nodes:
                raise GraphError(f"{use}: node {key.name} is not in this session's graph")
            return key
        if not isinstance(key, str):
            raise GraphError(f"{use}: expected a Node or the name of one, got {type(key).__name__}")
        node = self._names.get(key)
        if node is None or node._erased or node.name != key:
            self._names = self._read_names()
            node = self._names.get(key)
        if node is None:
            raise GraphError(f"{use}: the graph has no node {key!r}", help=_suggestion(key, list(self._names)))
        return node

    def _read_names(self) -> dict[str, Node]:
        named = {node.name: node for node in self.graph.nodes}
        # An input may go by its parameter's name too, where that differs: `sum` is the node sum_1.
        for node in self.graph.find_nodes(op="placeholder"):
            named.setdefault(node.target, node)
        return named

    # Plans

    def _plan(self, wanted: tuple[Node, ...], fed: frozenset[Node]) -> list[_Step]:
        plan = self._plans.get((wanted, fed))
        # Arguments of a node are never changed in place, so a plan is still right when each node has the same ones.
        if plan is None or not all(s.node._args is s.args and s.node._kwargs is s.kwargs for s in plan):
            plan = self._plans[wanted, fed] = _make_plan(wanted, fed)
        return plan


def _make_plan(wanted: tuple[Node, ...], fed: frozenset[Node]) -> list[_Step]:
    """The nodes that the wanted ones need and that are not fed, in the order of the graph."""
    needed: dict[Node, Node] = {}  # node → the fetch that asked for it first
    for fetch in wanted:
        waiting = [fetch]
        while waiting:
            node = waiting.pop()
            if node not in needed and node not in fed:
                needed[node] = fetch
                waiting.extend(node._input_nodes)
    for node, fetch in needed.items():
        if node.op == "placeholder" and not node.args and not node.target.startswith("*"):
            raise GraphError(
                f"run: the input {node.name!r} is needed for {fetch.name!r} and is not fed",
                help=f"feed it: session.run({fetch.name!r}, {{{node.name!r}: ...}})",
            )
    order = sorted(needed)
    seen = set(wanted)
    steps = []
    for node in reversed(order):
        done = tuple(read for read in node._input_nodes if read not in seen)
        seen.update(done)
        steps.append(_Step(node, node.args, node.kwargs, done))
    return steps[::-1]


def _suggestion(name: str, known: list[str]) -> str:
    import difflib  # only an error needs it

    close = difflib.get_close_matches(name, known, n=3)
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return "its nodes are " + ", ".join(known[:10]) + (", …" if len(known) > 10 else "")
