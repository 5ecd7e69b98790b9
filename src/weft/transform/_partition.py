"""`partition`: the forward and the backward of a joint graph as two graphs, and what is kept between them.

>>> import numpy as np, weft
>>> joint = weft.joint_graph(lambda x: np.sin(np.exp(x) * 2), weft.spec((3,)))
>>> halves = weft.partition(joint)
>>> print(halves.backward.code)
def forward(self, x, d_sin):
    exp = weft.exp(x);  x = None
    mul = exp * 2
    cos = weft.cos(mul);  mul = None
    d_mul = d_sin * cos;  d_sin = cos = None
    d_exp = d_mul * 2;  d_mul = None
    d_x = d_exp * exp;  d_exp = exp = None
    return (d_x,)
<BLANKLINE>
>>> value, pull = halves(np.zeros(3))
>>> pull(np.ones(3))
(array([-0.83229367, -0.83229367, -0.83229367]),)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft import pytree
from weft.autograd import Tensor, no_grad
from weft.errors import ShapeError
from weft.graph import Graph, GraphModule, Node
from weft.ops import Spec
from weft.ops._dim import Dim
from weft.ops._op import TABLE
from weft.passes import eliminate_dead
from weft.transform._builder import Builder, Value
from weft.transform._partition_budget import budget_bytes, within_budget
from weft.transform._partition_choice import POLICIES, Choice, Plan
from weft.transform._partition_joint import JointGraph
from weft.transform._partition_measure import Measured, boxed, measure
from weft.transform._partition_report import Kept, Report
from weft.transform._split import Retyped, copy_nodes


def partition(joint: JointGraph, policy: str = "default", memory_budget: str | float | None = None) -> Partition:
    """Split a joint graph into a forward and a backward, and choose what is kept between them.

    `policy` is "default" (or "recompute"): keep the fewest bytes from which pointwise work gives all that the backward
    reads, and of calls of `checkpoint` nothing but what they give; "checkpoint": compute again in such calls only;
    "keep": compute nothing again. `memory_budget` is the most memory that either half may have at once, such as
    "200MB", not counting arguments, parameters, results and gradients: then dear calls are computed again as well,
    where it takes that. Whether it is met, and how far it got, is in `.report`. Random draws are never repeated.
    """
    if not isinstance(joint, JointGraph):
        raise TypeError(f"partition takes what weft.joint_graph gives, got {type(joint).__name__}")
    if policy not in POLICIES:
        raise ValueError(f"policy is one of {', '.join(map(repr, POLICIES))}, got {policy!r}")
    budget = None if memory_budget is None else budget_bytes(memory_budget)
    choice = whole = Choice(joint)
    plan = choice.plan(choice.by_policy(policy))
    if budget is not None:
        plan = within_budget(choice, budget, plan)
        pieces = joint.in_pieces() if plan.peak > budget else None
        if pieces is not None:
            other = Choice(pieces)
            less = within_budget(other, budget, other.plan(other.by_policy(policy)))
            choice, plan = (other, less) if less.peak < plan.peak else (choice, plan)
    return Partition(choice, plan, policy, budget, whole)


@dataclass
class _Half:
    """A graph under construction, and what stands in it for the nodes of the joint graph."""

    builder: Builder
    types: Retyped

    @classmethod
    def start(cls, joint: JointGraph) -> _Half:
        builder = Builder(Graph(), joint.sizes)
        builder.graph.constants.update(joint.graph.constants)
        return cls(builder, Retyped(builder, {}, builder))

    def inputs(self, nodes: Sequence[Node]) -> None:
        graph, known = self.builder.graph, self.types.known
        for node in nodes:
            name = node.target if node.op == "placeholder" else node.name
            place = graph.create_node("placeholder", name, (), {}, node.name)
            if node.op != "placeholder":
                place.target = place.name
            place._position = node._position
            known[node] = place
            place.meta["type"] = self.types.of(node.meta.get("type"), place)

    def copy(self, nodes: Sequence[Node]) -> None:
        copy_nodes(self.types, nodes)

    def of(self, node: Any) -> Any:
        return self.types.known[node] if isinstance(node, Node) else node


class Partition:
    """The two halves of a joint graph.

    `forward` takes the arguments, one for each array or number in them, and gives the results, then what is kept;
    `backward` takes what is kept, then the gradients of the results, and gives those of `names`. `kept` tells what is
    kept, the largest first; arguments and parameters that the backward reads are passed on, but not counted.
    Called, it runs the forward as the function was called, and gives the result and a function from its gradient to a
    tuple of gradients.
    """

    def __init__(self, choice: Choice, plan: Plan, policy: str, budget: float | None, whole: Choice) -> None:
        """`whole` is the choice with loops that are not cut in pieces."""
        self.joint, self.policy, self.budget = choice.joint, policy, budget
        self.names = self.joint.names
        self._choice, self._plan, self._whole = choice, plan, whole
        self._again = self._twice()
        self.passed: list[str] = []
        self._given = self._passed_nodes() + plan.kept
        self.passed = [node.name for node in self._given[: len(self._given) - len(plan.kept)]]
        self.forward = self._forward()
        self.backward = self._backward()
        self.kept = sorted((Kept.of(node, choice) for node in plan.kept), key=lambda each: -each.bytes)
        self.measured: Measured | None = None
        self._run: tuple[Callable[..., Any], Callable[[list[Any]], Any]] | None = None

    # Graphs

    def _twice(self) -> set[Node]:
        first = set(self._plan.forward)
        return {node for node, again in self._plan.backward if again and node in first}

    def _passed_nodes(self) -> list[Node]:
        free = self._choice.free
        read = {each for node, _ in self._plan.backward for each in node.all_input_nodes if each in free}
        return sorted(read | {node for node in self.joint.gradients if node in free})

    def _forward(self) -> GraphModule:
        joint, plan = self.joint, self._plan
        half = _Half.start(joint)
        half.inputs(joint.inputs)
        wanted = [*joint.results, *self._given, *(part for pair in joint.writes for part in pair)]
        half.copy(_attributes(plan.forward, wanted))
        half.copy(plan.forward)
        kept = [self._own(half, node) for node in self._given]
        writes = tuple((half.of(target), half.of(value)) for target, value in joint.writes)
        half.builder.graph.output((*map(half.of, joint.results), *kept), writes=writes)
        eliminate_dead(half.builder.graph)  # tapes of loops that run again on the way back
        return joint.module_of(half.builder.graph)

    def _own(self, half: _Half, node: Node) -> Any:
        """What is kept of a node: a copy, where the forward writes into the array of the caller's that it shows."""
        here = half.of(node)
        type_ = node.meta.get("type")
        if (
            self._choice.storage.base(node) not in self._choice.written
            or not isinstance(type_, Spec)
            or not type_.shape
        ):
            return here
        value = Value(half.builder, here, here.meta["type"])
        return half.builder.call(TABLE["astype"], value, type_.dtype, copy=True).node

    def _backward(self) -> GraphModule:
        joint = self.joint
        half = _Half.start(joint)
        half.inputs([*self._given, *(seed for seed in joint.seeds if seed is not None)])
        self._fill(half)
        half.builder.graph.output(tuple(map(half.of, joint.gradients)))
        half.builder.graph.constants.clear()
        return joint.module_of(half.builder.graph)

    def _fill(self, half: _Half) -> None:
        """Write the nodes of the backward; those that run a second time say so."""
        half.copy([node for node, _ in self._plan.backward])
        for node in self._again:
            half.of(node).meta["recomputed"] = True

    def whole(self) -> GraphModule:
        """Both halves in one graph, for a compiler that wants all at once; what is computed again is in it twice."""
        joint, plan = self.joint, self._plan
        half = _Half.start(joint)
        half.inputs([*joint.inputs, *(seed for seed in joint.seeds if seed is not None)])
        wanted = [*joint.results, *self._given, *(part for pair in joint.writes for part in pair)]
        half.copy(_attributes(plan.forward, wanted))
        half.copy(plan.forward)
        results = [half.of(node) for node in joint.results]
        writes = tuple((half.of(target), half.of(value)) for target, value in joint.writes)
        self._fill(half)
        half.builder.graph.output((*results, *map(half.of, joint.gradients)), writes=writes)
        eliminate_dead(half.builder.graph)
        return joint.module_of(half.builder.graph)

    # Running

    def _leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """What the inputs are for a call; the graphs are for arrays of the shapes and dtypes they were made with."""
        leaves = self.joint.leaves(args, kwargs)
        for place, leaf in zip(self.joint.inputs, leaves, strict=True):
            spec = place.meta.get("type")
            if not isinstance(spec, Spec) or not isinstance(leaf, (np.ndarray, np.generic, Tensor)):
                continue
            fits = len(spec.shape) == len(leaf.shape) and all(
                isinstance(size, Dim) or size == other for size, other in zip(spec.shape, leaf.shape, strict=True)
            )
            if not fits or spec.dtype != leaf.dtype:
                raise ShapeError(
                    f"{place.target} is {leaf.dtype}{list(leaf.shape)}; "
                    f"the joint graph is one for {spec.dtype}{list(spec.shape)}",
                    help="make another with weft.joint_graph, or one of symbolic sizes",
                )
        return leaves

    def _seeds(self, gradient: Any, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
        leaves, tree = pytree.flatten(gradient, is_leaf=lambda value: isinstance(value, (np.ndarray, Tensor)))
        if tree != self.joint.tree:
            raise TypeError("the gradient has another structure than the result")
        found = []
        for leaf, seed, shape in zip(leaves, self.joint.seeds, shapes, strict=True):
            if seed is not None:
                dtype = seed.meta["type"].dtype
                made = np.zeros(shape, dtype) if leaf is None else leaf
                made = made if isinstance(made, Tensor) else np.asarray(made, dtype)
                if made.shape != shape:
                    raise ShapeError(f"a gradient of shape {made.shape} for a result of shape {shape}")
                found.append(made)
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
        """The result, and a function from its gradient to those of `names`. That one can be called once.

        It lets go of what is kept as soon as it has used it.
        """
        if self._run is None:
            self._run = self.forward.forward, boxed(self.backward)
        forward, backward = self._run
        count = len(self.joint.results)
        with no_grad():
            made = forward(*self._leaves(args, kwargs))
        shapes = [np.shape(value) for value in made[:count]]
        held = list(made[count:])

        def pull(gradient: Any) -> tuple[Any, ...]:
            seeds = self._seeds(gradient, shapes)
            if len(held) != len(self._given):
                raise RuntimeError("what was kept is gone: this backward has run already")
            given = [*held, *seeds]
            held[:] = [] if held else [None]  # so that another call is told from the first
            with no_grad():
                return tuple(backward(given))

        return self.joint.tree.unflatten(list(made[:count])), pull

    def measure(self, *args: Any, **kwargs: Any) -> Measured:
        """Run both halves on arguments and count the bytes that there are at once; `.report` then has them, too.

        The gradient of each result is taken to be ones.
        """
        leaves = self._leaves(args, kwargs)
        self.measured = measure(self, leaves)
        return self.measured

    @property
    def report(self) -> Report:
        """What is kept and computed again, and the memory that takes."""
        choice, plan = self._choice, self._plan
        everything = self._whole.plan(self._whole.everything())
        work = sum(choice.work[node] for node in [*plan.forward, *(node for node, _ in plan.backward)])
        return Report(
            policy=self.policy,
            forward_peak=plan.forward_peak,
            backward_peak=plan.backward_peak,
            kept_bytes=plan.kept_bytes,
            everything_bytes=everything.kept_bytes,
            everything_peak=everything.peak,
            recomputed=len(self._again) + sum(choice.again[node][0] for node in choice.late),
            extra=plan.extra,
            arithmetic=work - plan.extra,
            budget=self.budget,
            kept=self.kept,
            measured=self.measured,
        )

    def __str__(self) -> str:
        return str(self.report)


def _attributes(nodes: Sequence[Node], more: Sequence[Any]) -> list[Node]:
    """The get_attr nodes that some nodes read."""
    found = {each for node in nodes for each in node.all_input_nodes if each.op == "get_attr"}
    return sorted(found | {node for node in more if isinstance(node, Node) and node.op == "get_attr"})
