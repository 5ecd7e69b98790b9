"""`Graph`: a list of nodes in the order they run, and the ways to build and edit it.

    >>> import operator
    >>> from weft import Graph
    >>> graph = Graph()
    >>> x = graph.placeholder("x")
    >>> doubled = graph.call_function(operator.mul, (x, 2))
    >>> _ = graph.output(doubled)
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %mul : [num_users=1] = call_function[target=operator.mul](args = (%x, 2), kwargs = {})
        return mul

The list is doubly linked: inserting, moving and erasing a node takes constant time wherever it stands.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any
from weakref import WeakSet

from weft.errors import GraphError
from weft.graph import _labels
from weft.graph._arguments import Body, map_arg, map_copy
from weft.graph._codegen import CodeGen, Transform
from weft.graph._inputs import Inputs
from weft.graph._names import Names, candidate_name
from weft.graph._node import KINDS, Node, Target

_MISSING: Any = object()


class Graph(Body):
    """A program as a list of nodes, in an order in which they can run."""

    def __init__(self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: Any = None) -> None:
        self._watchers: WeakSet[Any] | None = None  # whom the next edit is told to
        self._edits = 0  # how often what was there before was changed; nodes added at the end do not count
        self.owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._root = Node(self, "", "root", "", (), {})
        self._before = self._root  # new nodes are placed before this one,
        self._after: Node | None = None  # or right after this one where it is set
        self._len = 0
        self._names = Names()
        self._candidates: dict[Any, str] = {}  # target → the name to try; spares working it out for every node
        self._table: dict[tuple[str, Any], dict[Node, None]] | None = None
        self._signature: Inputs | None = None
        self.holds_while: tuple[str, ...] = ()  # of a compiled function's graph, the conditions on calls it is for
        self._codegen: CodeGen | None = None
        self._body_transform: Transform | None = None
        self.constants: dict[str, Any] = {}  # arrays the program closed over, by the name its get_attr nodes read

    # Reading

    @property
    def nodes(self) -> NodeList:
        """All nodes, in order; iterating survives edits at the node being visited."""
        return NodeList(self)

    def find_nodes(
        self, *, op: str, target: Target | None = None, sort: bool = True, bodies: bool = True
    ) -> list[Node]:
        """The nodes of a kind, and of a target where one is given, without looking at the others.

        Calls are found in the bodies of loops and branches too, after the node that runs them, unless `bodies` is
        False. Inputs, attributes and outputs are those of this graph alone.
        """
        _check_kind("find_nodes", op)
        if self._table is None:
            self._table = {}
            for node in self.nodes:
                self._remember(node)
        if target is not None:
            found = list(self._table.get((op, target), ()))
        else:
            found = [node for (kind, _), nodes in self._table.items() if kind == op for node in nodes]
        inside = self._nodes_with_bodies() if bodies and op.startswith("call") else []
        if not inside:
            return sorted(found) if sort else found
        parts = {node: [node] for node in found}
        for node in inside:
            deeper = [one for body in node.bodies for one in body.find_nodes(op=op, target=target, sort=sort)]
            parts[node] = [*parts.get(node, ()), *deeper]
        return [one for node in (sorted(parts) if sort else parts) for one in parts[node]]

    def _nodes_with_bodies(self) -> list[Node]:
        assert self._table is not None
        functions = (nodes for (kind, _), nodes in self._table.items() if kind == "call_function")
        return [node for nodes in functions for node in nodes if node.bodies]

    @property
    def signature(self) -> Inputs | None:
        """How arguments become inputs, where they are pytrees or fixed to constants."""
        return self._signature

    @signature.setter
    def signature(self, signature: Inputs | None) -> None:
        self._signature = signature
        self._edited()

    def output_node(self) -> Node:
        """The graph's output."""
        for node in reversed(self.nodes):
            if node.op == "output":
                return node
        raise GraphError("the graph has no output node", help="add one with graph.output(value)")

    # Building

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Any, ...] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Create a node of any kind at the insertion point."""
        if op not in KINDS:
            _check_kind("create_node", op)
        if name is None:
            try:
                name = self._candidates[target]
            except KeyError:
                name = self._candidates[target] = candidate_name(target)
            except TypeError:
                name = candidate_name(target)
        node = Node(self, self._names.create(name), op, target, args or (), kwargs or {}, type_expr)
        # The common case of `_place`, without its checks: a new node at the end of the list.
        before = self._before if self._after is None else self._after._next
        if before is self._root:
            last = before._prev
            node._prev, node._next = last, before
            last._next = before._prev = node
            node._label = last._label + _labels.GAP
            self._len += 1
            if self._table is not None:
                self._remember(node)
            if self._watchers is not None:
                self._edited()
        else:
            self._place(node, before)
        return node

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = _MISSING) -> Node:
        """Add an input. `*args` and `**kwargs` are inputs too."""
        args = () if default_value is _MISSING else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Add a read of a parameter, buffer or other attribute of the owning module."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Any, ...] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """Add a call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Any, ...] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Any, ...] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a call of a submodule of the owning module."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def output(self, result: Any, type_expr: Any = None, writes: Iterable[tuple[Node, Node]] = ()) -> Node:
        """Add the output: what running the graph returns.

        `writes` has pairs of an input (a placeholder or get_attr node) and the node of its new content. Whoever runs
        the graph puts the content there once everything is computed; nodes themselves change nothing.
        """
        pairs = tuple(tuple(pair) for pair in writes)
        return self.create_node("output", "output", (result,), {"writes": pairs} if pairs else {}, type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda node: node) -> Node:
        """Copy a node of any graph to the insertion point; `arg_transform` maps its inputs."""
        copied = self.create_node(
            node.op,
            node.target,
            map_copy(node.args, arg_transform),
            map_copy(node.kwargs, arg_transform),
            node.name,
            node.type,
        )
        copied._position = node._position
        if node._meta is not None:
            copied._meta = dict(node._meta)
        copied.meta.setdefault("from", node.origins)
        return copied

    def graph_copy(self, g: Graph, val_map: dict[Node, Any], return_output_node: bool = False) -> Any:
        """Copy all nodes of another graph here; returns what its output becomes.

        `val_map` tells what stands for nodes already dealt with (such as placeholders), and learns of every copy.
        Writes that the other output lists are not copied: they name inputs of that graph.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], val_map.__getitem__)
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    # Editing

    def inserting_before(self, n: Node | None = None) -> AbstractContextManager[None]:
        """Place new nodes before `n`, inside a `with` or from now on; each at the very beginning where None."""
        return self._insert_at("inserting_before", self._root if n is None else n, after=n is None)

    def inserting_after(self, n: Node | None = None) -> AbstractContextManager[None]:
        """Place each new node right after `n`, so that the last one made comes first; at the end where None.

        This is torch.fx's rule. To have several follow one another, insert before `n.next`.
        """
        return self._insert_at("inserting_after", self._root if n is None else n, after=n is not None)

    def erase_node(self, to_erase: Node) -> None:
        """Take out a node that nothing reads."""
        if to_erase.graph is not self:
            raise GraphError(f"erase_node: {to_erase.name} belongs to another graph")
        if to_erase._erased:
            raise GraphError(f"erase_node: {to_erase.name} is erased already")
        if to_erase.users:
            raise GraphError(
                f"erase_node: {to_erase.name} is still read by {_some(to_erase.users)}",
                help="replace its uses first: node.replace_all_uses_with(other)",
            )
        if self._before is to_erase:
            self._before = to_erase._next
        if self._after is to_erase:
            self._after = to_erase._prev
        self._forget(to_erase)
        self._unlink(to_erase)
        to_erase._let_go()
        to_erase._erased = True
        self._edited()

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Erase every node that nothing reads and that does nothing else, in bodies too; True if any went."""
        self.lint()
        return self._sweep(is_impure_node or (lambda node: node.is_impure()))

    def _sweep(self, impure: Callable[[Node], bool]) -> bool:
        dead = False
        node = self._root._prev
        while node is not self._root:
            if not node.users and not impure(node):
                self.erase_node(node)
                dead = True
            else:
                for body in node.bodies:
                    dead = body._sweep(impure) or dead
            node = node._prev  # which an erased node keeps
        return dead

    # Checking, reading as text, running, saving: each in a file of its own

    def lint(self) -> None:
        """Check every invariant of the graph; the error names the nodes that break one."""
        from weft.graph._lint import lint

        lint(self)

    def __str__(self) -> str:
        return self.text()

    def text(self, *, bodies: bool = True) -> str:
        """A line per node, as `print(graph)` shows it; the bodies of loops and branches are indented under theirs."""
        from weft.graph._print import format_graph

        return format_graph(self, bodies)

    def print_tabular(self, *, bodies: bool = True) -> None:
        """Print one row per node, those of bodies included: kind, name, target, args, kwargs, shape, source line."""
        from weft.graph._print import format_table

        print(format_table(self, bodies))

    def python_code(self, root_module: str = "self", *, verbose: bool = False) -> Any:
        """The graph as Python source, with the globals it needs."""
        from weft.graph._code import python_code

        return python_code(self, root_module, verbose=verbose)

    def set_codegen(self, codegen: CodeGen | None) -> None:
        """Let an object write parts of the code: a `weft.graph.CodeGen` of yours. A copy of the graph is without it."""
        self._codegen = codegen
        self._edited()

    def on_generate_code(
        self, make_transformer: Callable[[Transform | None], Transform]
    ) -> AbstractContextManager[None]:
        """Change the lines of code that is generated from now on, or in a `with` block until that ends.

        What was generated in the block runs until the graph is edited again. `make_transformer(current)` gives a
        function from lines to lines; `current` is the one before, or None.

        >>> import weft
        >>> gm = weft.symbolic_trace(lambda x: x + 1)
        >>> with gm.graph.on_generate_code(lambda current: lambda lines: ["print('hello')", *lines]):
        ...     _ = gm.recompile()
        >>> gm(1)
        hello
        2
        """
        from weft.graph._codegen import on_generate_code

        return on_generate_code(self, make_transformer)

    def infer(self, *specs: Any) -> Any:
        """Shape and dtype of the result for inputs of these Specs; every node's is noted in `meta["type"]`."""
        from weft.graph._shapes import infer

        return infer(self, *specs)

    def topological_order(self) -> list[Node]:
        """The nodes so that each comes after what it reads, the present order kept where that allows; names a cycle."""
        from weft.graph._order import topological_order

        return topological_order(self)

    def levels(self) -> dict[Node, int]:
        """The topological number of each node: 0 for one that reads nothing, else one more than what it reads."""
        from weft.graph._order import levels

        return levels(self)

    def clone(self) -> Graph:
        """A copy that shares no node and no container: names, facts, positions and signature are the same."""
        from weft.graph._subgraph import clone

        return clone(self)

    def extract(self, inputs: Sequence[Node], outputs: Any) -> Graph:
        """The part that computes `outputs` (a node, or nodes in a container) from `inputs`, as a graph of its own.

        The inputs become placeholders, under the same names. Whatever else the outputs need is copied, as long as it
        does not lead back to a placeholder that is not among the inputs.
        """
        from weft.graph._subgraph import extract

        return extract(self, inputs, outputs)

    def replace_subgraph(
        self, inputs: Sequence[Node], outputs: Node | Sequence[Node], replacement: Graph
    ) -> list[Node]:
        """Compute `outputs` from `inputs` by another graph, in place of the nodes between them; returns the new nodes.

        The replacement takes as many inputs and returns as many values. Nodes that nothing reads any more are erased.
        Everything is checked first: on an error nothing has changed.
        """
        from weft.graph._subgraph import replace_subgraph

        return replace_subgraph(self, inputs, outputs, replacement)

    def process_inputs(self, *args: Any) -> tuple[Any, ...]:
        """The values of the placeholders for a call with these arguments: nested ones flattened, constants checked."""
        if self._codegen is not None:
            args = tuple(self._codegen.process_inputs(*args))
        return args if self.signature is None else tuple(self.signature.flatten(*args))

    def process_outputs(self, out: Any) -> Any:
        """The result for what the output node gives: the same, since outputs keep their structure in the graph."""
        return out if self._codegen is None else self._codegen.process_outputs(out)

    def save(self, path: str | os.PathLike[str], *, sources: bool = True) -> None:
        """Write the graph to a file that holds data only; `weft.load` reads it. See `GraphModule.save`."""
        from weft.graph._save import save

        save(self, path, sources=sources)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the graph on the values of its inputs; one that no module owns gets a GraphModule of its own."""
        if self.owning_module is None:
            import_module("weft.graph").GraphModule(self.constants, self)
        return self.owning_module(*args, **kwargs)

    # Pictures are made in a room above this one, which is therefore imported by name and only when asked for.

    def to_dot(self) -> str:
        """The graph in the language of Graphviz."""
        return str(import_module("weft.view").to_dot(self))

    def to_svg(self) -> str:
        """The graph as an SVG picture; needs `pip install igraph`."""
        return str(import_module("weft.view").to_svg(self))

    def _repr_svg_(self) -> str | None:
        picture: str | None = import_module("weft.view").repr_svg(self)
        return picture

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        from weft.graph._pickle import duplicate

        return duplicate(self, memo)

    def __reduce__(self) -> tuple[Any, ...]:
        from weft.graph._pickle import reduce

        return reduce(self)

    # Internals

    def _watch(self, *watchers: Any) -> None:
        """Call `_graph_edited` of each watcher, once, when this graph or a body in it is edited the next time.

        Whoever has made something of a graph (code, a plan) throws it away then: so a run has nothing to check.
        """
        if self._watchers is None:
            self._watchers = WeakSet()
        self._watchers.update(watchers)
        for node in self.nodes:
            for body in node.bodies:
                body._watch(*watchers)

    def _edited(self) -> None:
        self._edits += 1
        if self._watchers is not None:
            watchers, self._watchers = self._watchers, None
            for watcher in watchers:
                watcher._graph_edited()

    def _place(self, node: Node, before: Node) -> None:
        """Put a node before another, moving it if it is in the list already."""
        if node.graph is not self or before.graph is not self:
            raise GraphError(f"{node.name} and {before.name or 'the list'} belong to different graphs")
        if node is before:
            return
        if node._next is not node:
            self._unlink(node)
        prev = before._prev
        node._prev, node._next = prev, before
        prev._next = before._prev = node
        self._len += 1
        _labels.assign(node, self._root)
        if self._table is not None:
            self._remember(node)
        self._edited()

    def _unlink(self, node: Node) -> None:
        # The node keeps its own links, so that whoever is visiting it can go on from there.
        node._prev._next = node._next
        node._next._prev = node._prev
        self._len -= 1

    def _remember(self, node: Node) -> None:
        if self._table is not None:
            self._table.setdefault((node._op, node._target), {})[node] = None

    def _forget(self, node: Node) -> None:
        if self._table is not None:
            self._table[node._op, node._target].pop(node, None)

    def _insert_at(self, verb: str, node: Node, after: bool = False) -> AbstractContextManager[None]:
        if node.graph is not self:
            raise GraphError(f"{verb}: {node.name} belongs to another graph")
        if node._erased:
            raise GraphError(f"{verb}: {node.name} has been erased")
        point = InsertPoint(self, self._before, self._after)
        self._before, self._after = (self._root, node) if after else (node, None)
        return point


class InsertPoint(AbstractContextManager[None]):
    """Restores the insertion point when its `with` block ends."""

    def __init__(self, graph: Graph, before: Node, after: Node | None) -> None:
        self._graph = graph
        self._point = before, after

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        before, after = self._point
        while before._erased:
            before = before._next
        while after is not None and after._erased:
            after = after._prev
        self._graph._before, self._graph._after = before, after


class NodeList(Sequence[Node]):
    """The nodes of a graph, in order. The node being visited may be erased or moved, and others inserted, meanwhile."""

    def __init__(self, graph: Graph, reverse: bool = False) -> None:
        self._graph = graph
        self._reverse = reverse

    def __len__(self) -> int:
        return self._graph._len

    def __iter__(self) -> Iterator[Node]:
        root = self._graph._root
        reverse = self._reverse
        node = root._prev if reverse else root._next
        while node is not root:
            if not node._erased:
                yield node
            node = node._prev if reverse else node._next

    def __reversed__(self) -> Iterator[Node]:
        return iter(NodeList(self._graph, not self._reverse))

    def __getitem__(self, index: Any) -> Any:
        return list(self)[index]

    def __contains__(self, node: object) -> bool:
        return isinstance(node, Node) and node.graph is self._graph and not node._erased


def _check_kind(verb: str, op: str) -> None:
    if op not in KINDS:
        raise GraphError(f"{verb}: {op!r} is not a kind of node", help=f"use one of {', '.join(sorted(KINDS))}")


def _some(nodes: Mapping[Node, None]) -> str:
    names = [node.name for node in nodes]
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
