"""The graph of a training step made ready to run: on arrays in place of Tensors, each with memory of its own.

Nothing that runs has to be recorded on the tape, as the backward is part of the graph. Where something in it has to be
given Tensors (a function marked with `weft.wrap`, a print), the graph runs on Tensors, and `no_grad` sees to the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft._objects import set_state
from weft._step import (
    EFFECTS,
    advance,
    begin_search,
    end_search,
    forget,
    grad_of,
    last_rate,
    option,
    point_of,
    prepare,
    put,
    remember,
    remembered,
    set_grad,
    set_mode,
    set_option,
    tell,
    to_array,
    to_tensor,
)
from weft.autograd import no_grad, tensor
from weft.capture._captured import Captured
from weft.capture._memory import is_tensor
from weft.graph import Graph, Node
from weft.graph._arguments import in_structure
from weft.graph._storage_kinds import gives_own, is_check
from weft.ops._op import TABLE
from weft.ops.elementwise import stop_gradient

_READING = frozenset({grad_of, last_rate, option, remembered})
_SEARCHING = frozenset({begin_search, tell, point_of, end_search})
_ALLOWED = EFFECTS | _READING | _SEARCHING | {advance, forget, prepare, remember, set_mode, set_option, set_state}
_KEEPING = {set_grad: 1, put: 1, remember: 4}  # which argument is kept, or written after others were


def on_arrays(captured: Captured) -> bool:
    """Let a graph compute with the arrays in Tensors; False, and nothing is done, where it has to have Tensors."""
    graph, recorder = captured.graph, captured.recorder
    if not all(map(_allowed, graph.nodes)):
        return False
    targets = {buffer.target for _, buffer in recorder.training.buffers().values()}
    outside = [node for node in graph.nodes if node in targets]
    leaves, results, tree = recorder.result
    first = next(node for node in graph.nodes if node.op != "placeholder")
    for node in outside:
        _take_array(graph, node, first)
    for node in graph.nodes:
        if node.target is stop_gradient and isinstance(node.args[0], Node):
            node.replace_all_uses_with(node.args[0])  # no tape is there to see it
    output = graph.output_node()
    made: dict[Node, Node] = {}
    for leaf, node in zip(leaves, results, strict=True):
        if is_tensor(leaf) and node not in made and node not in targets:
            with graph.inserting_before(output):
                made[node] = graph.call_function(to_tensor, (node,))
                made[node]._position = node._position
    pairs = zip(leaves, results, strict=True)
    _give(graph, tree, [made.get(node, node) if is_tensor(leaf) else node for leaf, node in pairs])
    return True


def of_traced_classes(captured: Captured) -> None:
    """Let derivatives be Tensors or arrays as they were traced: by their arguments, not by what they are made of."""
    graph = captured.graph
    leaves, results, tree = captured.recorder.result
    output, shown = graph.output_node(), []
    for leaf, node in zip(leaves, results, strict=True):
        if isinstance(node, Node) and node.meta.get("as_traced"):
            with graph.inserting_before(output):
                made = graph.call_function(to_tensor if is_tensor(leaf) else to_array, (node,))
            made._position = node._position
            made.meta["type"] = node.meta.get("type")
            node = made
        shown.append(node)
    _give(graph, tree, shown)


def _give(graph: Graph, tree: Any, shown: list[Any]) -> None:
    """Let a graph give other nodes in the structure of its result."""
    output = graph.output_node()
    with graph.inserting_before(output):
        output.args = (in_structure(tree, shown, graph.call_function),)


def _allowed(node: Node) -> bool:
    """Whether a node means the same on arrays as on Tensors."""
    if node.op in ("placeholder", "get_attr", "output"):
        return True
    if node.op != "call_function" or node.target is tensor:
        return False
    if node.bodies and node.is_impure(impure_random=False):
        return all(_allowed(inner) for body in node.bodies for inner in body.nodes)
    return node.target in _ALLOWED or is_check(node) or not node.is_impure(impure_random=False)


def _take_array(graph: Graph, node: Node, first: Node) -> None:
    """Let everything but effects use the array in a Tensor."""
    users = [user for user in node.users if user.op != "output" and user.target not in EFFECTS]
    given = [user for user in node.users if user.target in EFFECTS and node in user.args[1:]]
    if not users and not given:
        return
    place = graph.inserting_before(first) if node.op == "placeholder" else graph.inserting_after(node)
    with place:
        inside = graph.create_node("call_method", "numpy", (node,), {}, f"{node.name}_array")
    inside.meta["type"] = node.meta["type"]
    inside._position = node._position
    for user in users:
        user.replace_input_with(node, inside)
    for user in given:
        user.args = (user.args[0], *(inside if arg is node else arg for arg in user.args[1:]))


def settle(graph: Graph, arrays: bool) -> None:
    """Give what is kept memory of its own: it must not be a view of what an effect before it has changed.

    Run after the passes, which may have found that a product with 1 is its other factor.
    """
    for node in graph.nodes:
        if node.op == "call_function" and node.target in _READING and not node.users:
            graph.erase_node(node)  # guards have their own way to what decided something
    effects = [node for node in graph.nodes if node.op == "call_function" and node.target in _KEEPING]
    copied: dict[Node, Node] = {}
    gradients: set[Node] = set()  # what is the gradient of a Tensor, and so not that of another
    for node in effects:
        place = _KEEPING[node.target]
        value = node.args[place] if len(node.args) > place else None
        if not isinstance(value, Node) or isinstance(value.meta.get("type"), type):
            continue
        kept = copied.get(value, value)
        if not gives_own(kept) or kept in gradients:
            with graph.inserting_before(effects[0]):
                copied[value] = kept = graph.call_function(np.array if arrays else TABLE["copy"], (value,))
            kept.meta["type"] = value.meta.get("type")
        if node.target is set_grad:
            gradients.add(kept)
        args = list(node.args)
        args[place] = kept
        node.args = tuple(args)


def without_tape(run: Callable[..., Any]) -> Callable[..., Any]:
    """A run that leaves nothing on the tape."""

    def run_without(*values: Any) -> Any:
        with no_grad():
            return run(*values)

    return run_without
