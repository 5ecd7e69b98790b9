"""`Interpreter`: run a graph node by node, with a method for each kind of node that a subclass may change.

    class Timed(Interpreter):
        def run_node(self, n):
            start = time.perf_counter()
            result = super().run_node(n)
            print(f"{n.name}: {time.perf_counter() - start:.6f} s")
            return result

    Timed(gm).run(x)

An error raised while a node runs carries a note that names the node and the line of the program it came from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from weft.errors import GraphError
from weft.graph._arguments import ImmutableDict, ImmutableList, map_aggregate
from weft.graph._effects import within
from weft.graph._graph import Graph
from weft.graph._node import Node
from weft.graph._writes import carry_out

_PLAIN = frozenset({int, float, bool, str, complex, type(None)})


class Interpreter:
    """Runs the graph of a GraphModule, or a Graph. Values are dropped after their last use unless told otherwise.

    `run_node` and the methods of calls run the nodes of loops and branches as well, each time anew, with an `env` of
    their own; in a class with `bodies = False` they see the whole loop as one call. What stands for the inputs and the
    result of a body is no input or result of the program: `placeholder` and `output` are not asked.
    """

    bodies = True

    def __init__(self, module: Any, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        if isinstance(module, Graph):
            module, graph = module.owning_module, module if graph is None else graph
        elif graph is None and not isinstance(getattr(module, "graph", None), Graph):
            raise TypeError(
                f"{type(self).__name__} takes a GraphModule or a Graph, got {type(module).__name__}\n"
                "  help: capture it first: weft.symbolic_trace(f)"
            )
        self.module = module
        self.graph: Graph = module.graph if graph is None else graph
        self.env: dict[Node, Any] = {}
        self.args_iter: Iterator[Any] = iter(())
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self._last_uses: dict[Graph, dict[Node, list[Node]]] = {}
        self._body: Graph | None = None  # the one that is running now

    @property
    def submodules(self) -> dict[str, Any]:
        """Every submodule by dotted name."""
        return dict(self.module.named_modules())

    @property
    def user_to_last_uses(self) -> dict[Node, list[Node]]:
        """For each node, the nodes whose values nothing reads after it has run; empty where all values are kept."""
        return self._uses_of(self.graph)

    def _uses_of(self, graph: Graph) -> dict[Node, list[Node]]:
        found = self._last_uses.get(graph)
        if found is None:
            found = self._last_uses[graph] = last_uses(graph.nodes) if self.garbage_collect_values else {}
            graph._watch(self)
        return found

    def _graph_edited(self) -> None:
        self._last_uses.clear()

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """Run the whole graph and return its result.

        Arguments stand for the placeholders in order. `initial_env` gives values of nodes that then need not run.
        """
        if not enable_io_processing:
            return self._run(iter(args), initial_env)
        return self.graph.process_outputs(self._run(iter(self.graph.process_inputs(*args)), initial_env))

    def boxed_run(self, args_list: list[Any]) -> Any:
        """Run with arguments taken out of a list, so that nothing else keeps them alive."""

        def taken() -> Iterator[Any]:
            args_list.reverse()
            while args_list:
                yield args_list.pop()

        return self._run(taken(), None)

    def _run(self, args: Iterator[Any], initial_env: dict[Node, Any] | None) -> Any:
        self.env = {} if initial_env is None else dict(initial_env)
        self.args_iter = args
        with within(self.graph):
            result = self._run_nodes(self.graph)
        if initial_env is None and (extra := len(list(self.args_iter))):
            raise TypeError(f"{extra} argument{'s' * (extra > 1)} more than the graph has inputs")
        return result

    def _run_nodes(self, graph: Graph) -> Any:
        unused_after = self._uses_of(graph)
        for node in graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                note_node(error, node)
                raise
            if node.op == "output":
                return self.env[node]
            for unused in unused_after.get(node, ()):
                self.env.pop(unused, None)
        return None

    def run_body(self, body: Graph, values: Iterable[Any]) -> Any:
        """Run the body of a loop or branch on the values of its inputs, through `run_node`."""
        outside = self.env, self.args_iter, self._body
        self.env, self.args_iter, self._body = {}, iter(values), body
        token = body_runner.set(None)  # other graphs that its calls may run are no bodies of this one
        try:
            return self._run_nodes(body)
        finally:
            body_runner.reset(token)
            self.env, self.args_iter, self._body = outside

    def run_node(self, n: Node) -> Any:
        """Run one node: the method of its kind, on the values of its arguments."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        if self._body is not None and n.op in ("placeholder", "output"):
            return getattr(Interpreter, n.op)(self, n.target, args, kwargs)
        return getattr(self, n.op)(n.target, args, kwargs)

    # One method for each kind of node

    def placeholder(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The next argument, or the default; `*args` takes all that are left."""
        if target.startswith("**"):
            return next(self.args_iter, {})
        if target.startswith("*"):
            return tuple(self.args_iter)
        value = next(self.args_iter, _MISSING)
        if value is not _MISSING:
            return value
        if args:
            return args[0]
        raise GraphError(f"no argument is given for the input {target!r}, which has no default")

    def get_attr(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The attribute of the module under a dotted name."""
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a function; the bodies of a loop or branch are run by `run_body`."""
        if not getattr(target, RUNS_BODIES, False):
            return target(*args, **kwargs)
        token = body_runner.set(self.run_body if self.bodies else None)
        try:
            return target(*args, **kwargs)
        finally:
            body_runner.reset(token)

    def call_method(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a method of the first argument."""
        this, *rest = args
        return getattr(this, target)(*rest, **kwargs)

    def call_module(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the run returns; writes that the output lists are carried out first."""
        if kwargs:
            carry_out(kwargs.get("writes", ()))
        return args[0]

    # Finding values

    def fetch_attr(self, target: str) -> Any:
        """The attribute of the module under a dotted name."""
        return fetch_attr(self.module, self.graph, target)

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a node with values in place of nodes."""
        kwargs = self.map_nodes_to_values(n.kwargs, n) if n.kwargs else {}
        return self.map_nodes_to_values(n.args, n), kwargs

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """Nested arguments with values in place of nodes; `n` is the node they belong to."""
        return values_of(args, self.env, n)


_MISSING: Any = object()

RUNS_BODIES = "__weft_runs_bodies__"
"""The attribute of a function that runs graphs among its arguments, by `body_runner` where there is one."""

body_runner: ContextVar[Callable[[Graph, Iterable[Any]], Any] | None] = ContextVar("weft_body_runner", default=None)
"""What runs the bodies of control flow where an interpreter goes into them."""


def fetch_attr(module: Any, graph: Graph, target: str) -> Any:
    """What a `get_attr` or `call_module` node of the graph refers to."""
    found = module
    for part in target.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            if target in graph.constants:
                return graph.constants[target]
            why = "the graph has no module" if module is None else f"{type(found).__name__} has no attribute {part!r}"
            raise GraphError(f"{target!r} cannot be read: {why}") from None
    return found


def values_of(a: Any, env: Mapping[Node, Any], user: Node) -> Any:
    """Nested arguments with values in place of nodes, in ordinary lists and dicts that the callee may change."""
    kind = type(a)
    if kind is Node:
        try:
            return env[a]
        except KeyError:
            raise GraphError(
                f"{user.name} reads {a.name}, which has no value",
                help="graph.lint() tells what is wrong with the graph",
            ) from None
    if kind in _PLAIN:
        return a
    if kind is tuple:
        return tuple([values_of(part, env, user) for part in a])
    if kind is list or kind is ImmutableList:
        return [values_of(part, env, user) for part in a]
    if kind is dict or kind is ImmutableDict:
        return {key: values_of(part, env, user) for key, part in a.items()}
    return map_aggregate(a, lambda leaf: values_of(leaf, env, user) if isinstance(leaf, Node) else leaf)


def last_uses(nodes: Any) -> dict[Node, list[Node]]:
    """For each node, the nodes whose values nothing reads after it has run."""
    seen: set[Node] = set()
    uses: dict[Node, list[Node]] = {}
    for node in reversed(nodes):
        for read in node._input_nodes:
            if read not in seen:
                seen.add(read)
                uses.setdefault(node, []).append(read)
    return uses


def note_node(error: BaseException, node: Node) -> None:
    """Add to an error which node was running and where the user wrote it; once, however many runners it passes."""
    text = f"while running {node.format_node() or node.name}"
    if node.location is not None and str(node.location) not in str(error):
        text += f"\n  at {node.location}"
    if text not in getattr(error, "__notes__", ()):
        error.add_note(text)
