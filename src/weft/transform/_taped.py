"""A captured function of Tensors on the tape: its forward graph runs on arrays, its backward graph is one step.

Where a gradient is to be differentiated again, forward and backward run on Tensors, each op a step of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from weft import random
from weft._step import put
from weft._where import user_position
from weft.autograd import Tensor, _versions, tensor
from weft.autograd._mode import recording
from weft.autograd._tape import Source, Step, at_source, written_error
from weft.autograd._tensor import from_step
from weft.autograd._walk import _zeros
from weft.capture._anomaly import run_module
from weft.capture._captured import Captured
from weft.capture._memory import is_tensor
from weft.capture._numpy_targets import ask_nobody, call_numpy
from weft.capture._opaque import Opaque
from weft.errors import NotDifferentiable
from weft.graph import Graph, GraphModule, Node
from weft.ops import Spec
from weft.ops._op import TABLE
from weft.passes import PassManager
from weft.transform._activity import activity
from weft.transform._bodies import in_front
from weft.transform._builder import Builder
from weft.transform._custom_call import open_calls
from weft.transform._custom_tape import rule_calls
from weft.transform._joint import cut, joint_of
from weft.transform._presence import Tokens, reached
from weft.transform._split import Retyped, copy_nodes

Run = Callable[..., Any]

_NUMBERS = (bool, int, float, complex)
_FACTS = ("held", "needs", "written", "tree", "draws", "are_tensors", "reached", "counted", "slots", "shared")
_MODULES = ("joint", "forward", "backward")


def taped(captured: Captured) -> Taped | None:
    """A function of the graph's inputs that leaves one step on the tape; None where the graph does not allow it."""
    graph = captured.graph
    inputs = [leaf.value for leaf in captured.arguments.leaves if leaf.node is not None]
    held = {node: _attribute(captured, node) for node in graph.find_nodes(op="get_attr")}
    needs = tuple(_requires(value) for value in (*inputs, *held.values()))
    if not recording.get() or not any(needs):
        return None
    writes = graph.output_node().kwargs.get("writes", ())
    # Statistics that a layer keeps are written by the forward; an argument that is written is part of the derivative.
    if not all(isinstance(held.get(target), Tensor) and not _requires(held[target]) for target, _ in writes):
        return None
    if not all(map(_allowed, graph.nodes)):
        return None
    try:
        return Taped(captured, held, needs)
    except NotDifferentiable:  # the tape says so when a gradient is asked for
        return None


def _attribute(captured: Captured, node: Node) -> Any:
    known = captured.recorder.constants.values()
    return next(
        (
            value
            for value, traced in known
            if (traced._node if isinstance(traced, Opaque) else traced.buffer.target) is node
        ),
        None,
    )


def _requires(value: Any) -> bool:
    return isinstance(value, Tensor) and value._requires_grad


def _allowed(node: Node) -> bool:
    """Whether a node means the same on arrays as on Tensors."""
    if node.op in ("placeholder", "get_attr", "output"):
        return True
    return node.op == "call_function" and node.target is not tensor and not node.is_impure(impure_random=False)


class _Copy:
    """The graph of a captured call, copied; what it reads of Tensors from outside are inputs as well."""

    def __init__(self, captured: Captured) -> None:
        self.builder = Builder(Graph(), captured.recorder.sizes)
        self.graph = self.builder.graph
        known: dict[Node, Any] = {}
        types = Retyped(self.builder, known, self.builder)
        nodes = captured.graph.nodes
        outside = [node for node in nodes if node.op in ("placeholder", "get_attr")]
        self.inputs = []
        for node in sorted(outside, key=lambda node: node.op == "get_attr"):
            place = self.builder.region.placeholder(node.name)
            place._position = node._position
            known[node] = place
            captured.recorder.copied_inputs[place] = node  # so that what a rule decides by a size is guarded
            place.meta["type"] = types.of(node.meta.get("type"), place)
            self.inputs.append(place)
        copy_nodes(types, [node for node in nodes if node.op == "call_function"])
        _, leaves, self.tree = captured.recorder.result
        self.results = [known[leaf] if isinstance(leaf, Node) else leaf for leaf in leaves]
        self.writes = [known[value] for _, value in captured.graph.output_node().kwargs.get("writes", ())]


class Taped:
    """Runs the forward, and leaves the step.

    `plainly` runs the graph on Tensors, op by op; whoever makes this sets it. It is called where other inputs require
    gradients than those that did when the call was captured.
    """

    plainly: Run

    def __init__(self, captured: Captured, held: dict[Node, Any], needs: tuple[bool, ...]) -> None:
        self.held, self.needs = list(held.values()), needs
        writes = captured.graph.output_node().kwargs.get("writes", ())
        self.written = [held[target] for target, _ in writes]
        copy = _Copy(captured)
        self.tree = copy.tree
        self.draws = any(node.is_impure() for node in copy.graph.nodes)
        wanted = [place for place, need in zip(copy.inputs, needs, strict=True) if need]
        active = activity(copy.graph.nodes, dict.fromkeys(wanted, True))
        leaves, nodes, _ = captured.recorder.result
        self.are_tensors = [is_tensor(leaf) for leaf in leaves]
        arrays = [not made and _is_known(node) for made, node in zip(self.are_tensors, nodes, strict=True)]
        varied = [
            leaf if _varies(leaf, active) and not array else None
            for leaf, array in zip(copy.results, arrays, strict=True)
        ]
        if any(leaf is not None and not each for leaf, each in zip(varied, self.are_tensors, strict=True)):
            raise NotDifferentiable("a result that is a Tensor on some paths only")
        results = [leaf for leaf in varied if leaf is not None]
        # Which inputs each result depends on; of those, which come with a token, as a gradient may not come to them.
        self.reached = [[place in used for place in wanted] for used in (reached([leaf]) for leaf in results)]
        tokens = Tokens(copy.builder, list(copy.graph.nodes), active, results, wanted)
        self.counted = [k for k, place in enumerate(wanted) if place in tokens.of]
        active.update(dict.fromkeys(tokens.of.values(), True))
        asked = [*wanted, *(tokens.of[wanted[k]] for k in self.counted)]
        joint = joint_of(copy, varied, active, asked)  # type: ignore[arg-type]  # it has a graph and its builder
        tokens.remove()
        self.slots = [None if seed is None else k for k, seed in zip(_count(joint.seeds), joint.seeds, strict=True)]
        halves = cut(joint)
        gradients = tuple(value.node for value in joint.gradients)
        copy.graph.output((*copy.results, *gradients))
        whole = copy.graph.clone()
        in_front(whole, whole.find_nodes(op="placeholder"))
        self.joint = _module(whole, arrays=False)
        copy.graph.erase_node(copy.graph.output_node())
        for node in reversed(joint.later_nodes()):
            copy.graph.erase_node(node)
        for seed in joint.seeds:
            if seed is not None:
                copy.graph.erase_node(seed)
        copy.graph.output((*copy.results, *copy.writes, *halves.kept))
        self.forward, self.backward = _module(copy.graph), _module(halves.backward)
        # Which of what is kept are inputs: the others nobody else can write to.
        self.shared = [k for k, node in enumerate(halves.kept) if node.op == "placeholder"]

    def facts(self) -> dict[str, Any]:
        """All but the graphs, as data: what `restored` is given."""
        return {name: getattr(self, name) for name in _FACTS}

    def modules(self) -> dict[str, GraphModule]:
        """The graphs: what `restored` is given, too."""
        return {name: getattr(self, name) for name in _MODULES}

    @classmethod
    def restored(cls, facts: dict[str, Any], graphs: dict[str, Graph]) -> Taped:
        """One that was saved."""
        made = cls.__new__(cls)
        made.__dict__.update(facts)
        for name, graph in graphs.items():
            setattr(made, name, _runs(graph, arrays=name != "joint"))
        return made

    def __call__(self, *inputs: Any) -> Any:
        given = (*inputs, *self.held)
        if tuple(map(_requires, given)) != self.needs or not recording.get():
            return self.plainly(*inputs)
        if self.written:  # the way back needs what these held before
            given = tuple(Tensor(v._array.copy()) if any(v is t for t in self.written) else v for v in given)
        arrays = [value._array if isinstance(value, Tensor) else value for value in given]
        drawn = random.get_state() if self.draws else None
        found = run_module(self.forward, *arrays)
        count = len(self.slots)
        kept = count + len(self.written)
        for target, value in zip(self.written, found[count:kept], strict=True):
            put(target, value)
        varied = [value for value, slot in zip(found[:count], self.slots, strict=True) if slot is not None]
        step = GraphStep(self, given, found[kept:], varied, user_position(sys._getframe(1)))
        step.drawn = drawn
        leaves = [
            self._leaf(value, slot, step, made, arrays)
            for value, slot, made in zip(found[:count], self.slots, self.are_tensors, strict=True)
        ]
        return self.tree.unflatten(leaves)

    def _leaf(self, value: Any, slot: int | None, step: GraphStep, made: bool, inputs: Sequence[Any]) -> Any:
        if not made or type(value) in _NUMBERS:  # a number that a loop of no turns, or a branch, has left as it was
            return value
        if slot is None:
            return Tensor(value)
        if any(value is one for one in inputs):
            value = value.view()
            value.flags.writeable = False  # an argument that was written would not know
        return from_step(value, step, slot)


def _is_known(node: Any) -> bool:
    """Whether a result is of the class that it was traced as, whatever it is computed from."""
    return isinstance(node, Node) and bool(node.meta.get("as_traced"))


def _varies(leaf: Any, active: dict[Node, Any]) -> bool:
    """Whether a result has a gradient: a number of Python's, such as an item, has none."""
    return isinstance(leaf, Node) and leaf in active and isinstance(leaf.meta.get("type"), Spec)


def _count(seeds: Sequence[Any]) -> list[int]:
    found, number = [], 0
    for seed in seeds:
        found.append(number)
        number += seed is not None
    return found


def _module(graph: Graph, arrays: bool = True) -> GraphModule:
    if arrays:
        open_calls(graph)
    PassManager(restore=False).run(graph)
    call_numpy(graph, arrays)
    if not arrays:
        _write_copies(graph)
        rule_calls(graph)
    return _runs(graph, arrays)


def _runs(graph: Graph, arrays: bool) -> GraphModule:
    module = GraphModule(dict(graph.constants), graph)._told_in_user_lines()
    if arrays:
        ask_nobody(type(module).forward)
    return module


def _write_copies(graph: Graph) -> None:
    """Let writes give new values: an array of NumPy's that is written in place would lose the history of a Tensor."""
    for node in graph.nodes:
        if node.target is TABLE["index_update"]:
            node.target = written
        elif node.target is TABLE["index_add"]:
            node.target = added
        for body in node.bodies:
            _write_copies(body)


def written(x: Any, key: Any, value: Any) -> Any:
    """A copy of an array or Tensor with a part of it written."""
    return TABLE["index_update"](x, key, value)


def added(x: Any, key: Any, value: Any) -> Any:
    """A copy of an array or Tensor with a value added to a part of it."""
    return TABLE["index_add"](x, key, value)


@contextmanager
def _drawing_again(state: Any) -> Iterator[None]:
    """Let draws give what they gave from a state of the random numbers; afterwards these go on as they would."""
    before = None if state is None else random.get_state()
    try:
        if state is not None:
            random.set_state(state)
        yield
    finally:
        if before is not None:
            random.set_state(before)


class GraphStep(Step):
    """The step of a whole graph."""

    fills = False  # it has to be known which gradients are there
    drawn: Any = None  # the state of the random numbers that the forward began with

    def __init__(self, run: Taped, given: tuple[Any, ...], kept: Any, results: Sequence[Any], position: Any) -> None:
        sources = tuple(value._source() if need else None for value, need in zip(given, run.needs, strict=True))
        # The arrays, not the Tensors, which may come to hold others.
        inputs = [(value._array, True) if isinstance(value, Tensor) else (value, False) for value in given]
        super().__init__(run, (inputs, kept), sources, position)
        self.shapes = tuple(Spec(np.shape(value), np.result_type(value)) for value in results)

    def name(self) -> str:
        """What made the value."""
        return "GraphBackward"

    def gradients(self, g: Any, as_tensors: bool) -> list[tuple[Source, Any]]:
        """Run the backward graph."""
        if self.kept is None:
            self.restore()
        run, (given, kept) = self.op, self.kept
        given_parts = g if isinstance(g, (tuple, list)) else (g,)
        pairs = zip(given_parts, self.shapes or (), strict=True)
        parts = [_zeros(spec, as_tensors) if part is None else part for part, spec in pairs]
        # All is computed again from the inputs where the gradient is to be differentiated.
        self._check([array for array, _ in given] if as_tensors else [kept[k] for k in run.shared])
        if as_tensors:
            values = [
                at_source(value, source) if source is not None else Tensor(value) if made else value
                for (value, made), source in zip(given, self.sources, strict=True)
            ]
            with _drawing_again(self.drawn):
                found = run_module(run.joint, *values, *parts)[len(run.slots) :]
        else:
            found = run_module(run.backward, *kept, *parts)
        sources = [source for source in self.sources if source is not None]
        used = [reached for part, reached in zip(given_parts, run.reached, strict=True) if part is not None]
        came = [any(each) for each in zip(*used, strict=True)]
        for k, count in zip(run.counted, found[len(sources) :], strict=True):
            came[k] = came[k] and bool(count > 0)
        gradients = zip(sources, found, came, strict=False)  # what counts stands behind them
        return [(source, gradient) for source, gradient, there in gradients if there]

    def _check(self, read: list[Any]) -> None:
        """Refuse to go on with inputs that were written since."""
        if self.number >= _versions.latest():
            return
        for value in read:
            position = _versions.written_after(self.number, value) if hasattr(value, "flags") else None
            if position is not None:
                raise written_error("the gradient of a compiled function needs an argument", self.position, position)
