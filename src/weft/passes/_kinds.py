"""What running a node does besides giving a value, and whether two runs of it give the same.

`pure` nodes may be computed earlier, once, or not at all. `effect` nodes (print, check, fail) run in order and change
no value. `draw` nodes advance a random state. `opaque` ones run code nothing is known of, and `write` ones may change
a value that others read.
"""

from __future__ import annotations

import builtins
import math
import operator
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from weft.graph import Graph, Node
from weft.graph._control import CONTROL, check, fail
from weft.graph._effects import _MARK, CHECKS, HOLDS, _marked
from weft.ops._op import Op

PURE, EFFECT, DRAW, OPAQUE, WRITE = "pure", "effect", "draw", "opaque", "write"
_ORDER = {PURE: 0, EFFECT: 1, DRAW: 2, OPAQUE: 3, WRITE: 4}
_EFFECTS = (print, check, fail)

_BUILTINS = frozenset(
    {
        *(builtins.abs, builtins.bool, builtins.complex, builtins.divmod, builtins.float, builtins.int, builtins.len),
        *(builtins.max, builtins.min, builtins.pow, builtins.round, builtins.str, builtins.sum, builtins.tuple),
    }
)
_OPERATORS = frozenset(
    f for name, f in vars(operator).items() if not (name.startswith("_") or isinstance(f, type)) and callable(f)
) - {*_marked, getattr(operator, "call", None)}
_MATH = frozenset(f for name, f in vars(math).items() if not name.startswith("_") and callable(f))
SCALAR_FUNCTIONS = _BUILTINS | _OPERATORS | _MATH

# Attributes of arrays that tell shape and dtype, or are views.
_ATTRIBUTES = frozenset({"T", "dtype", "imag", "itemsize", "mT", "nbytes", "ndim", "real", "shape", "size"})


def kind_of(node: Node, graphs: dict[Graph, str] | None = None) -> str:
    """The kind of a node, one of five words; a node with bodies is as bad as the worst in them."""
    if node._op in ("placeholder", "output", "get_attr"):
        return PURE
    if node._op != "call_function":
        return WRITE if node.is_impure(impure_random=False) else DRAW if node.is_impure() else OPAQUE
    target = node._target
    if isinstance(target, Op):
        if target.random is False and not hasattr(target, _MARK):
            return PURE
        return WRITE if node.is_impure(impure_random=False) else DRAW if node.is_impure() else PURE
    if type(target) is BuiltinFunctionType and target in SCALAR_FUNCTIONS and target not in _marked:
        return PURE
    if _among(target, _EFFECTS) or getattr(target, CHECKS, False) or getattr(target, HOLDS, False):
        return EFFECT
    if is_control(node):
        bodies = bodies_of(node)
        kinds = [kind_of_graph(body, graphs) for body in bodies] if bodies else [OPAQUE]
        return max(kinds, key=_ORDER.__getitem__)
    if node.is_impure():
        return DRAW if not node.is_impure(impure_random=False) else WRITE
    return PURE if _known(node) else OPAQUE


def kind_of_graph(graph: Graph, graphs: dict[Graph, str] | None = None) -> str:
    """The worst kind among the nodes of a graph; `graphs` remembers answers."""
    known = graphs if graphs is not None else {}
    if graph not in known:
        known[graph] = max((kind_of(node, known) for node in graph.nodes), key=_ORDER.__getitem__, default=PURE)
    return known[graph]


def must_run(node: Node, graphs: dict[Graph, str] | None = None) -> bool:
    """Whether a node stays even where nothing reads it."""
    if node.op in ("placeholder", "output") or (node._meta is not None and "raises" in node._meta):
        return True
    if is_control(node):
        # Not by the worst kind: beside something opaque, which may go, a body may print or fail.
        inner = (part for body in bodies_of(node) for part in body.nodes if part.op not in ("placeholder", "output"))
        return any(must_run(part, graphs) for part in inner)
    return kind_of(node, graphs) in (EFFECT, DRAW, WRITE)


def has_writes(graph: Graph, known: dict[Graph, str] | None = None) -> bool:
    """Whether some node may change a value that others read, so that equal calls need not give equal results.

    `known` remembers the kinds of bodies.
    """
    known = {} if known is None else known
    for node in graph.nodes:
        kind = kind_of(node, known)
        if kind == WRITE or (kind == OPAQUE and node._op == "call_function"):
            return True
    return False


def is_control(node: Node) -> bool:
    """Whether the node calls cond, switch, while_loop, fori_loop or scan."""
    return type(node._target) is FunctionType and node._target in CONTROL


def bodies_of(node: Node) -> list[Graph]:
    """The graphs among a control node's arguments."""
    return [
        g for arg in node._args for g in (arg if isinstance(arg, (list, tuple)) else (arg,)) if isinstance(g, Graph)
    ]


Visited = dict[Graph, int]
"""The graphs that a pass has looked at, with the number of edits that each had before."""


def all_graphs(graph: Graph, visited: Visited | None = None) -> list[Graph]:
    """A graph and every body in it, each once, the innermost first.

    With `visited`, those alone that were edited since they were put there, or hold one that was; they are put there.
    """
    found: dict[Graph, bool] = {}

    def visit(one: Graph) -> bool:
        changed = visited is None or visited.get(one) != one._edits
        for node in one.nodes:
            if is_control(node):
                for body in bodies_of(node):
                    changed |= found[body] if body in found else visit(body)
        found[one] = changed
        return changed

    visit(graph)
    wanted = [one for one, changed in found.items() if changed]
    if visited is not None:
        visited.update({one: one._edits for one in wanted})
    return wanted


def node_count(graph: Graph) -> int:
    """How many nodes a graph has, those of its bodies included."""
    return sum(len(one.nodes) for one in all_graphs(graph))


def _among(target: Any, functions: tuple[Any, ...]) -> bool:
    return any(target is function for function in functions)


def _known(node: Node) -> bool:
    """Whether the target is a function of Python or NumPy that only computes."""
    target = node.target
    if target is getattr:
        return len(node.args) == 2 and node.args[1] in _ATTRIBUTES
    if isinstance(target, np.ufunc):
        return node.kwargs.get("out") is None
    try:
        if target in SCALAR_FUNCTIONS:
            return True
    except TypeError:
        return False
    owner = getattr(target, "__self__", None)
    if isinstance(owner, np.ufunc):
        return getattr(target, "__name__", "") != "at"
    module = str(getattr(target, "__module__", None) or "")
    return module == "numpy" or module.startswith(("numpy.linalg", "numpy.fft"))
