"""`Transformer`: an interpreter that runs a graph on proxies, and so writes another graph.

    class NegSigmoid(Transformer):
        def call_function(self, target, args, kwargs):
            if target is weft.sigmoid:
                return weft.negative(*args, **kwargs)
            return super().call_function(target, args, kwargs)

    transformed = NegSigmoid(gm).transform()

Without overridden methods the result does what the original does. A node written in place of another one inherits the
line of the program it came from.
"""

from __future__ import annotations

from typing import Any

from weft._module import Module
from weft.capture._proxy import Proxy
from weft.capture._tracer import Tracer
from weft.errors import GraphError, TraceError
from weft.graph import Graph, GraphModule, Interpreter, Node
from weft.graph._arguments import graphs_in, map_aggregate, map_copy
from weft.graph._interpreter import RUNS_BODIES


class _TransformerTracer(Tracer):
    """Records into the new graph."""

    record_stack_traces = False

    def __init__(self, graph: Graph, root: Module) -> None:
        super().__init__()
        self._start(root)
        self.graph = graph

    def create_arg(self, a: Any) -> Any:
        """As in any trace; a function of whatever kind stays the argument that it was."""
        try:
            return super().create_arg(a)
        except TraceError:
            if callable(a):
                return a
            raise


class Transformer(Interpreter):
    """Rewrites a GraphModule by running it; override a method of the interpreter to change what is written.

    The bodies of loops and branches are rewritten too, each once; a class with `bodies = False` copies them.
    """

    def __init__(self, module: GraphModule | Graph) -> None:
        super().__init__(module)
        module = self.module if self.module is not None else GraphModule({}, self.graph)
        self.new_graph = Graph(tracer_cls=module.graph._tracer_cls)
        self.new_graph.signature = module.graph.signature
        self.new_graph.constants = dict(module.graph.constants)
        self.tracer = _TransformerTracer(self.new_graph, module)
        self._writes: tuple[Any, ...] = ()

    def transform(self) -> GraphModule:
        """Run the graph on proxies and return a GraphModule of what was recorded."""
        result = self.run(enable_io_processing=False)
        written = map_aggregate((result, self._writes), lambda a: a.node if isinstance(a, Proxy) else a)
        output = self.new_graph.output(written[0], writes=written[1])
        old = self.graph.output_node()
        output.type = old.type
        _inherit(output, old, same=True)
        return GraphModule(self.module, self.new_graph, type(self.module).__name__)

    def run_node(self, n: Node) -> Any:
        """Run one node on proxies; what it writes inherits where the node came from."""
        last = self.new_graph._root.prev
        result = super().run_node(n)
        new = last.next
        while new is not self.new_graph._root:
            _inherit(new, n, same=new.op == n.op and new.target == n.target)
            new = new.next
        return result

    def placeholder(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Write an input."""
        node = self.new_graph.create_node("placeholder", target, args)
        return Proxy(node, self.tracer)

    def get_attr(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Write a read of an attribute."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Write a call of a submodule."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_method(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Write a call of a method."""
        return self.tracer.create_proxy("call_method", target, args, kwargs)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Write a call of a function, with bodies of its own where it runs any."""
        if graphs_in(args):
            runs = self.bodies and getattr(target, RUNS_BODIES, False)
            args = map_copy(args, lambda node: node, *([self._rewritten] if runs else []))
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def _rewritten(self, body: Graph) -> Graph:
        """A body as the methods of this class write it."""
        outside = self.new_graph, self.tracer
        made = self.new_graph = Graph(tracer_cls=body._tracer_cls)
        self.tracer = _TransformerTracer(made, self.module)
        try:
            places = []
            for node in body.find_nodes(op="placeholder"):
                places.append(
                    Proxy(made.create_node("placeholder", node.target, node.args, name=node.name), self.tracer)
                )
                _inherit(places[-1].node, node, same=True)
            result = map_aggregate(self.run_body(body, places), lambda a: a.node if isinstance(a, Proxy) else a)
        finally:
            self.new_graph, self.tracer = outside
        _inherit(made.output(result), body.output_node(), same=True)
        if held := [node for node in made.nodes if node.op in ("get_attr", "call_module")]:
            raise GraphError(
                f"the body of a loop or branch reads {held[0].target!r} of the module: bodies are closed",
                help="leave bodies as they are: bodies = False in the class of the transformer",
            )
        return made

    def output(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the new graph returns; the writes that the output lists are its writes too."""
        self._writes = kwargs.get("writes", ())
        return args[0]


def _inherit(new: Node, old: Node, same: bool) -> None:
    new.inherit_origin(old)
    if new.op == "placeholder":
        new._position, new.type = old._position, old.type
    if same and old._meta is not None:
        new.meta = {**old._meta, **new.meta}
