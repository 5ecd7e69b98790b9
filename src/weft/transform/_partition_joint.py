"""`joint_graph`: a function and its gradient as one graph, before anything runs.

>>> import numpy as np, weft
>>> joint = weft.joint_graph(lambda x: np.sin(x) * x, weft.spec((3,)))
>>> print(joint.module.code)
def forward(self, x, d_mul):
    sin = weft.sin(x)
    mul = sin * x
    d_x = d_mul * sin;  sin = None
    d_sin = d_mul * x;  d_mul = None
    cos = weft.cos(x);  x = None
    mul_3 = d_sin * cos;  d_sin = cos = None
    d_x_1 = d_x + mul_3;  d_x = mul_3 = None
    return (mul, d_x_1)
<BLANKLINE>
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from weft import pytree
from weft._frames import without_frames
from weft._module import Module, is_parameter
from weft.autograd import Tensor
from weft.capture._captured import capture
from weft.errors import NotDifferentiable
from weft.graph import Graph, GraphModule, Inputs, Node
from weft.graph._control import fori_loop
from weft.ops import Op, Spec
from weft.transform._activity import activity, continuous
from weft.transform._bodies import in_front
from weft.transform._builder import Builder, Value
from weft.transform._custom_call import differentiated_once
from weft.transform._list_rows import rows_for_lists
from weft.transform._partition_open import open_all
from weft.transform._partition_pieces import cut_loops
from weft.transform._remat import mark_unsteady
from weft.transform._reverse import Pullback
from weft.transform._split import gradient_type


class JointGraph:
    """A function and its gradient as one graph.

    The inputs of `graph` are the arguments, one for each array or number in them, then the gradients of the results;
    its result is a tuple: the results, then the gradients of all arguments and parameters that vary. Parameters are
    read by get_attr nodes. `inputs`, `seeds`, `results`, `wanted` and `gradients` are those nodes; a result that is no
    node stands as it is, and a seed is None where a result has no gradient. `signature` tells how a call of the
    function becomes the inputs, `tree` how its results are put together.
    """

    __weft_priority__ = 100

    def __init__(self, function: Any, graph: Graph, sizes: Any, results: list[Any], tree: Any) -> None:
        self.function, self.graph, self.sizes = function, graph, sizes
        self.results, self.tree = results, tree
        self.signature: Inputs | None = graph.signature
        self.inputs: list[Node] = graph.find_nodes(op="placeholder")
        self.parameters: inspect.Signature = inspect.Signature()  # of the function
        self.writes: tuple[Any, ...] = ()
        self.wanted: list[Node] = []
        self.seeds: list[Node | None] = []
        self.gradients: list[Node] = []
        self.numbers: dict[Node, int] = {}  # whole numbers among the arguments it was captured with

        self.text = ""  # the graph as it was made, where it has loops
        self.again: Callable[[], JointGraph | None] = lambda: None

    def in_pieces(self) -> JointGraph | None:
        """The same with its loops cut in pieces; None where it has none, or was edited."""
        return self.again() if self.text and self.text == str(self.graph) else None

    @property
    def module(self) -> GraphModule:
        """The graph with the parameters and arrays it reads, to be called."""
        return self.module_of(self.graph)

    def module_of(self, graph: Graph) -> GraphModule:
        """A part of the graph with what it reads."""
        root: Any = self.function if isinstance(self.function, Module) else dict(self.graph.constants)
        return GraphModule(root, graph, "Joint" if graph is self.graph else "Half")

    @property
    def names(self) -> list[str]:
        """What the gradients are of: names of arguments and parameters."""
        return [node.target for node in self.wanted]

    def leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """What the inputs are for a call of the function."""
        bound = self.parameters.bind(*args, **kwargs)
        bound.apply_defaults()
        values = bound.arguments.values()
        return list(values) if self.signature is None else self.signature.flatten(*values)

    def late_nodes(self) -> list[Node]:
        """The nodes that depend on the gradients of the results: the backward, and nothing that a forward could do."""
        reached: set[Node] = {seed for seed in self.seeds if seed is not None}
        found = []
        for node in self.graph.nodes:
            if node.op not in ("placeholder", "output") and not reached.isdisjoint(node.all_input_nodes):
                reached.add(node)
                found.append(node)
        return found

    def partition(self, policy: str = "default", memory_budget: str | float | None = None) -> Any:
        """A forward and a backward of their own: see `weft.transform._partition.partition`."""
        from weft.transform._partition import partition

        return partition(self, policy, memory_budget)

    def __weft_op__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # `weft.partition` is the op that NumPy has under this name; of a joint graph it means the other thing.
        if op.name != "partition" or not args or args[0] is not self:
            raise TypeError(f"{op.name} takes arrays, got a JointGraph")
        return self.partition(*args[1:], **kwargs)

    def __str__(self) -> str:
        return str(self.graph)

    def __repr__(self) -> str:
        count = len(self.graph.nodes)
        return (
            f"<JointGraph of {_name(self.function)}: {count} nodes, gradients of {', '.join(self.names) or 'nothing'}>"
        )


@without_frames
def joint_graph(function: Callable[..., Any], *args: Any, **kwargs: Any) -> JointGraph:
    """Capture what a function and its gradient do with arguments of these shapes and dtypes; nothing is computed.

    Arguments are arrays, Tensors, numbers, `weft.spec`s, and containers of them. Gradients are those of all results
    with respect to all arguments of floating point, and to the parameters that the function reads and that require
    gradients. `weft.partition` makes a forward and a backward of it. Where the program cannot be captured otherwise, it
    is a graph for calls with the same integers, as it is for `weft.grad`.

    >>> import weft
    >>> weft.joint_graph(weft.nn.Linear(2, 1), weft.spec((5, 2), "float32"))
    <JointGraph of Linear: 12 nodes, gradients of input, weight, bias>
    """
    joint, fixed = _attempted(function, args, kwargs)
    if any(node.target is fori_loop for node in joint.graph.nodes):
        some, named = pytree.map(_light, (args, kwargs))
        joint.text, joint.again = str(joint.graph), lambda: _joint(function, some, named, fixed, pieces=True)
    return joint


def _attempted(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[JointGraph, bool]:
    """The joint graph, with integers fixed where it cannot be had otherwise, as for `grad`; and whether they are."""
    try:
        return _joint(function, args, kwargs), False
    except Exception as error:  # whatever it is, the other way may do without
        if any(type(leaf) is int for leaf in pytree.leaves_of((args, kwargs))):
            with suppress(Exception):  # the first error is the one to tell
                return _joint(function, args, kwargs, fixed=True), True
        raise error


def _joint(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], fixed: bool = False, pieces: bool = False
) -> JointGraph:
    """The joint graph; with `pieces`, loops are cut so that the backward runs their turns again.

    Where integers are `fixed`, the graph is one for calls with the same.
    """
    plain = _callable(function, len(args))
    how: dict[str, Any] = {"branches": True, "dynamic": False, "numbers": True, "integers": not fixed}
    captured = capture(plain, args, kwargs, given_only=True, shares=False, **how)
    graph = captured.graph
    values = {traced.node: value for value, traced in captured.recorder.constants.values()}
    builder = Builder(graph, captured.recorder.sizes)
    rows_for_lists(builder)
    wanted = [node for node in graph.nodes if _varies(node, values)]
    varying = [node for node in activity(graph.nodes, dict.fromkeys(wanted, True)) if node.op == "call_function"]
    mark_unsteady(graph.nodes)
    if pieces:
        cut_loops(builder, varying)
    open_all(builder, varying)
    differentiated_once(graph)
    output = graph.output_node()
    results, tree = pytree.flatten(_plain(output.args[0]), is_leaf=lambda value: isinstance(value, Node))
    joint = JointGraph(function, graph, captured.recorder.sizes, results, tree)
    joint.parameters = inspect.signature(plain.forward if isinstance(plain, Module) else plain)
    joint.writes = tuple(output.kwargs.get("writes", ()))
    joint.wanted = sorted(wanted, key=lambda node: node.op == "get_attr")  # arguments first
    graph.erase_node(output)
    graph.signature = None
    for place in joint.inputs:
        place.args = ()  # defaults, which no input after another without may have
    _add_backward(joint, builder)
    given = zip(joint.inputs, joint.leaves(args, kwargs), strict=True)
    joint.numbers = {place: int(leaf) for place, leaf in given if isinstance(leaf, (int, np.integer))}
    joint.sizes.examples.update(joint.numbers)
    return joint


def _add_backward(joint: JointGraph, builder: Builder) -> None:
    graph = joint.graph
    active = activity(graph.nodes, dict.fromkeys(joint.wanted, True))
    pull = Pullback(builder, active)
    nodes = list(graph.nodes)
    for result in joint.results:
        seed = None
        if isinstance(result, Node) and result in active and continuous(result.meta.get("type")):
            seed = builder.region.placeholder(f"d_{result.name}")
            seed.meta["type"] = gradient_type(result.meta["type"])
            pull.add(result, Value(builder, seed, seed.meta["type"]))
        joint.seeds.append(seed)
    if not any(joint.seeds):
        raise NotDifferentiable(
            "no result varies with an argument or a parameter, so there is no gradient",
            help="give arrays of floating point numbers, or parameters that require gradients",
        )
    pull.run(nodes)
    for place in joint.wanted:
        found = pull.take(place)
        joint.gradients.append((builder.zeros(place.meta["type"]) if found is None else found).node)
    in_front(graph, [*joint.inputs, *(seed for seed in joint.seeds if seed is not None)])
    graph.output((*joint.results, *joint.gradients), writes=joint.writes)
    graph._sweep(lambda node: node.is_impure())


def _light(value: Any) -> Any:
    """What an array is to `capture`, without its numbers."""
    return Spec(value.shape, value.dtype) if type(value) is np.ndarray else value


def _varies(node: Node, values: dict[Node, Any]) -> bool:
    """Whether a gradient is wanted with respect to a node."""
    if node.op == "placeholder":
        return continuous(node.meta.get("type"))
    if node.op != "get_attr" or not continuous(node.meta.get("type")):
        return False
    value = values.get(node)
    return isinstance(value, Tensor) and (is_parameter(value) or value._requires_grad) and value._requires_grad


def _callable(function: Any, count: int) -> Any:
    """A function of Python's that calls one that is none, such as an op."""
    if not isinstance(function, (Op, np.ufunc)):
        return function
    named = {1: lambda x: function(x), 2: lambda x, y: function(x, y), 3: lambda x, y, z: function(x, y, z)}
    return named.get(count, lambda *args: function(*args))


def _plain(value: Any) -> Any:
    """Nested results in containers of Python's own, where a graph has some that nobody can change."""
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, tuple):
        parts = [_plain(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def _name(function: Any) -> str:
    return getattr(function, "__name__", None) or type(function).__name__
