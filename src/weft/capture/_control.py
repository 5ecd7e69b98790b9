"""Control flow on proxies: the functions a program passes become graphs, the call becomes one node.

    >>> import weft
    >>> gm = weft.symbolic_trace(lambda x, y: weft.cond(x > 0, lambda: x + y, lambda: x - y))
    >>> gm.graph.find_nodes(op="call_function", target=weft.cond)[0].format_node().partition(" = ")[2]
    'call_function[target=weft.cond](args = (%gt, <graph 4 nodes>, <graph 4 nodes>, %x, %y), kwargs = {})'

A body is recorded by a `BodyTracer` on a graph of its own. While it records, whatever happens to values of the traces
around it is recorded there too; such a value becomes an operand of the node, at the first time it is met.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from weft import _where, pytree
from weft.autograd import Tensor
from weft.capture._proxy import Attribute, Proxy
from weft.capture._tracer_base import TracerBase
from weft.errors import TraceError
from weft.graph import Graph, Node
from weft.graph._control import cond, fori_loop, scan, switch, while_loop
from weft.graph._control_checks import are_graphs, refuse
from weft.graph._inputs import describe
from weft.pytree import Tree

_VALUES = (Proxy, np.ndarray, np.generic, Tensor, bool, int, float, complex)


class BodyTracer(TracerBase):
    """Records one body; `captured` has the values of outer traces it has met, and what stands for each here."""

    def __init__(self, outer: TracerBase) -> None:
        self.graph = Graph()
        self.outer = outer
        self.captured: dict[Node, Node] = {}
        self.record_stack_traces = outer.record_stack_traces
        self._closed = False

    def create_proxy(self, kind: str, target: Any, args: Any, kwargs: Any, *more: Any, **options: Any) -> Any:
        """Record a call; what the module holds is read outside, for bodies are closed."""
        if self._closed:
            raise TraceError(
                f"a value from a body of control flow is used outside of it, by {getattr(target, '__name__', target)}",
                where=_where.user_line(),
                help="return it from the body",
            )
        if kind in ("get_attr", "call_module"):
            return self._outside(lambda tracer: tracer.create_proxy(kind, target, args, kwargs, *more, **options))
        return super().create_proxy(kind, target, args, kwargs, *more, **options)

    def create_node(self, *args: Any, **kwargs: Any) -> Node:
        """Insert a node, in the modules that are being called."""
        self._module_stack = self.outer._module_stack
        return super().create_node(*args, **kwargs)

    def array_arg(self, array: Any) -> Node:
        """An array that the body closes over is a constant of the outermost trace, and so an operand."""
        return self.capture(self._outside(lambda tracer: tracer.array_arg(array)))

    def create_arg(self, a: Any) -> Any:
        """What a value becomes as an argument; an attribute read outside is read again here."""
        if isinstance(a, Attribute) and a._node is None and a.tracer is not self:
            return self.create_proxy("call_function", getattr, (a.root, a.attr), {}).node
        return super().create_arg(a)

    def _node_of(self, proxy: Proxy) -> Node:
        return proxy.node if proxy.node.graph is self.graph else self.capture(proxy.node)

    def capture(self, node: Node) -> Node:
        """The placeholder that stands for a node of a trace around this one."""
        found = self.captured.get(node)
        if found is None:
            around, tracers = self.outer, [self.outer.graph]
            while isinstance(around, BodyTracer):
                around = around.outer
                tracers.append(around.graph)
            if not any(node.graph is graph for graph in tracers):
                return super()._node_of(Proxy(node, self.outer))  # which refuses it: it is of no trace around this one
            found = self.captured[node] = _placeholder(self.graph, node.name)
            found._position = node._position
            if node._meta and "type" in node._meta:
                found.meta["type"] = node._meta["type"]
        return found

    def _outside(self, record: Callable[[TracerBase], Any]) -> Any:
        """Record in the outermost trace, as if no body were being recorded."""
        around = self.outer
        while isinstance(around, BodyTracer):
            around = around.outer
        inner, around._inner = around._inner, None
        try:
            return record(around)
        finally:
            around._inner = inner

    def _position(self, frame: Any) -> _where.Position | None:
        return self.outer._position(frame)


def _placeholder(graph: Graph, name: str) -> Node:
    """A new input after those there are, under a name that none of them has."""
    first = next((node for node in graph.nodes if node.op != "placeholder"), None)
    with graph.inserting_before(first) if first is not None else graph.inserting_after(None):
        node = graph.placeholder(name)
    node.target = node.name
    return node


class Body(NamedTuple):
    """A function as a graph: the nodes of outer traces it reads (and what stands for them), and what it returns."""

    graph: Graph
    captured: dict[Node, Node]
    tree: Tree
    nones: tuple[bool, ...]  # which leaves of the result are None, and so no values


def body_graph(tracer: TracerBase, function: Callable[..., Any], args: Sequence[Any]) -> Body:
    """Record a function as a graph with a placeholder for each value in `args`, which are any nested values.

    The graph returns a flat tuple, `tree` tells the structure. Values of the traces around that the function reads get
    placeholders behind the others.
    """
    child = BodyTracer(tracer)
    names = _names(function, len(args))
    given = [_stand_in(child, name, arg) for name, arg in zip(names, args, strict=True)]
    outer_inner, tracer._inner = tracer._inner, child
    try:
        leaves, tree = pytree.flatten(function(*given))
        results = tuple([child.create_arg(leaf) for leaf in leaves])
    finally:
        tracer._inner = outer_inner
        tracer._refused = tracer._refused or child._refused
    child._closed = True
    child.graph.output(results)
    return Body(child.graph, child.captured, tree, tuple(leaf is None for leaf in leaves))


def _stand_in(child: BodyTracer, name: str, arg: Any) -> Any:
    leaves, tree = pytree.flatten(arg)
    several = sum(isinstance(leaf, _VALUES) for leaf in leaves) > 1
    made = []
    for i, leaf in enumerate(leaves):
        value = leaf
        if isinstance(leaf, _VALUES):
            value = child.proxy(_placeholder(child.graph, f"{name}_{i}" if several else name))
        made.append(value)
    return tree.unflatten(made)


def _names(function: Any, count: int) -> list[str]:
    """The names of the parameters that positional arguments go to."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][:count]
    return named + [f"arg{i}" for i in range(len(named), count)]


def _values(value: Any) -> list[Any]:
    """The leaves that become placeholders."""
    return [leaf for leaf in pytree.leaves_of(value) if isinstance(leaf, _VALUES)]


def _unify(bodies: Iterable[Body]) -> list[Node]:
    """Give all bodies of a node the same operands in the same order; returns what they stand for."""
    bodies = list(bodies)
    union = list(dict.fromkeys(node for body in bodies for node in body.captured))
    for body in bodies:
        first = next(node for node in body.graph.nodes if node.op != "placeholder")
        for node in union:
            stand_in = body.captured.get(node)
            first.prepend(_placeholder(body.graph, node.name) if stand_in is None else stand_in)
    return union


# The calls


def control(proxy: Proxy, primitive: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record a call of control flow in the innermost trace that is going on."""
    tracer: TracerBase = proxy.tracer
    while tracer._inner is not None:
        tracer = tracer._inner
    rule = next((rule for function, rule in _RULES.items() if function is primitive), None)
    if rule is None or _has_graphs(args):
        return tracer.create_proxy("call_function", primitive, _own_graphs(args), kwargs)
    return rule(tracer, *args, **kwargs)


def _has_graphs(args: tuple[Any, ...]) -> bool:
    return any(isinstance(part, Graph) for arg in args for part in (arg if isinstance(arg, (list, tuple)) else (arg,)))


def _own_graphs(args: Any) -> Any:
    if isinstance(args, Graph):
        return args.clone()
    return type(args)(_own_graphs(part) for part in args) if type(args) in (list, tuple) else args


def _record(tracer: TracerBase, primitive: Any, args: tuple[Any, ...], captured: list[Node], **kwargs: Any) -> Any:
    outer = [Proxy(node, tracer) for node in captured]
    return tracer.create_proxy("call_function", primitive, (*args, *outer), kwargs)


def _items(tracer: TracerBase, node: Any, tree: Tree, nones: Sequence[bool] = ()) -> Any:
    """The result in its structure, each leaf an item of the node."""
    skipped = nones or (False,) * tree.leaf_count
    items = [None if none else _item(tracer, node, k) for k, none in enumerate(skipped)]
    return tree.unflatten(items)


def _item(tracer: TracerBase, node: Any, k: int) -> Any:
    return tracer.create_proxy("call_function", operator.getitem, (node, k), {})


def _branches(
    tracer: TracerBase, name: str, bodies: dict[str, Any], operands: tuple[Any, ...]
) -> tuple[list[Body], list[Any], list[Node]]:
    are_graphs(name, bodies)
    made = {role: body_graph(tracer, function, operands) for role, function in bodies.items()}
    first, *others = made.items()
    for role, body in others:
        if body.tree != first[1].tree or body.nones != first[1].nones:
            raise refuse(
                f"{name}: {first[0]} returns {_shown(first[1])}, {role} returns {_shown(body)}",
                "return values of one structure from all branches",
            )
    return list(made.values()), _values(operands), _unify(made.values())


def _shown(body: Body) -> str:
    return describe(body.tree) + (" with None at some leaves" if any(body.nones) else "")


def _cond(tracer: TracerBase, pred: Any, true_fn: Any, false_fn: Any, *operands: Any) -> Any:
    roles = {"true_fn": true_fn, "false_fn": false_fn}
    bodies, values, captured = _branches(tracer, "cond", roles, operands)
    node = _record(tracer, cond, (pred, *(body.graph for body in bodies), *values), captured)
    return _items(tracer, node, bodies[0].tree, bodies[0].nones)


def _switch(tracer: TracerBase, index: Any, branches: Any, *operands: Any) -> Any:
    if not isinstance(branches, (list, tuple)) or not branches:
        raise refuse(f"switch: branches is a list of functions, at least one, got {branches!r}")
    roles = {f"branches[{i}]": branch for i, branch in enumerate(branches)}
    bodies, values, captured = _branches(tracer, "switch", roles, operands)
    node = _record(tracer, switch, (index, [body.graph for body in bodies], *values), captured)
    return _items(tracer, node, bodies[0].tree, bodies[0].nones)


def _check_state(name: str, init: Any, body: Body) -> Tree:
    tree = pytree.flatten(init)[1]
    if len(_values(init)) != tree.leaf_count:
        raise refuse(f"{name}: init holds something else than arrays and numbers", "keep what never changes outside")
    if body.tree != tree or any(body.nones):
        message = f"{name}: init is {describe(tree)}, but the body gives {_shown(body)}"
        raise refuse(message, "the body must return the state in the structure it got it in")
    return tree


def _while(tracer: TracerBase, cond_fn: Any, body_fn: Any, init: Any, *operands: Any) -> Any:
    are_graphs("while_loop", {"cond_fn": cond_fn, "body_fn": body_fn})
    decision = body_graph(tracer, cond_fn, (init, *operands))
    if decision.tree.kind is not None or any(decision.nones):
        raise refuse(f"while_loop: cond_fn gives {_shown(decision)} where one truth value is needed")
    output = decision.graph.output_node()
    output.args = output.args[0]
    body = body_graph(tracer, body_fn, (init, *operands))
    tree = _check_state("while_loop", init, body)
    captured = _unify((decision, body))
    graphs = (decision.graph, body.graph)
    node = _record(tracer, while_loop, (*graphs, tuple(_values(init)), *_values(operands)), captured)
    return _items(tracer, node, tree)


def _fori(tracer: TracerBase, lower: Any, upper: Any, body_fn: Any, init: Any, *operands: Any, step: Any = 1) -> Any:
    are_graphs("fori_loop", {"body_fn": body_fn})
    body = body_graph(tracer, body_fn, (0, init, *operands))
    tree = _check_state("fori_loop", init, body)
    args = (lower, upper, body.graph, tuple(_values(init)), *_values(operands))
    kwargs = {} if isinstance(step, int) and step == 1 else {"step": step}
    return _items(tracer, _record(tracer, fori_loop, args, _unify([body]), **kwargs), tree)


def _scan(
    tracer: TracerBase, f: Any, init: Any, xs: Any = None, *operands: Any, length: Any = None, reverse: bool = False
) -> Any:
    are_graphs("scan", {"f": f})
    body = body_graph(tracer, f, (init, xs, *operands))
    if body.tree.kind is not tuple or len(body.tree.children) != 2:
        raise refuse(
            f"scan: f returns a pair (state, y), got {_shown(body)}", "return (state, None) where there is no y"
        )
    state, rows = body.tree.children
    count = state.leaf_count
    tree = _check_state("scan", init, body._replace(tree=state, nones=body.nones[:count]))
    output = body.graph.output_node()
    output.args = ((output.args[0][:count], output.args[0][count:]),)
    options = {} if length is None else {"length": length}
    options |= {"reverse": reverse} if reverse else {}
    args = (body.graph, tuple(_values(init)), tuple(_values(xs)), *_values(operands))
    node = _record(tracer, scan, args, _unify([body]), **options)
    parts = [_item(tracer, node, k) for k in (0, 1)]
    return _items(tracer, parts[0], tree), _items(tracer, parts[1], rows, body.nones[count:])


_RULES: dict[Any, Callable[..., Any]] = {
    cond: _cond,
    switch: _switch,
    while_loop: _while,
    fori_loop: _fori,
    scan: _scan,
}
