"""Which graphs may find, when they run, that an array of a list is not of the type they were captured for."""

from __future__ import annotations

from typing import Any

from weft._where import package_name
from weft.capture._contexts import reset_errors, set_errors
from weft.capture._draws import draw, shuffled
from weft.graph import Graph
from weft.graph._control import check, fail
from weft.graph._effects import CHECKS
from weft.graph._handed import show
from weft.graph._list_arrays import array_of, with_rows
from weft.passes._kinds import EFFECT, OPAQUE, PURE, kind_of

_OF_LISTS = frozenset({"append", "insert", "pop", "clear", "reverse", "sort", "remove", "copy", "index", "count"})
_LIBRARIES = ("numpy", "weft", "builtins", "math", "cmath", "_operator", "operator")


def may_differ(graph: Graph) -> bool:
    """Whether a graph makes an array of a list, so that a run may end with OtherArray."""
    return any(node._target in (array_of, with_rows) for node in _nodes(graph) if node._op == "call_function")


def may_not_fit(graph: Graph) -> bool:
    """Whether a graph may find that sizes do not fit, which the function itself tells in NumPy's own words."""
    return any(node._meta is not None and node._meta.get("raises") == "sizes" for node in _nodes(graph))


def repeatable(graph: Graph) -> bool:
    """Whether a run that is given up leaves nothing behind: no array written, nothing printed.

    What it has drawn from NumPy's own generator can be put back.
    """
    given = any(node.op == "placeholder" and node.meta.get("type") is None for node in graph.nodes)
    return all(_leaves_nothing(node) and not (given and _changes(node)) for node in _nodes(graph))


def draws(graph: Graph) -> bool:
    """Whether a graph draws from NumPy's own generator."""
    return any(_draws(node) for node in _nodes(graph))


def _draws(node: Any) -> bool:
    return node.target in (draw, shuffled) and node.args[0] is None


def _changes(node: Any) -> bool:
    """Whether a call changes a container, which may be one that the caller has given."""
    if node.op == "call_method":
        return node.target in _OF_LISTS and node.target not in ("copy", "index", "count")
    return getattr(node.target, "__name__", "") in ("setitem", "delitem")


def _nodes(graph: Graph) -> Any:
    for node in graph.nodes:
        yield node
        for body in node.bodies:
            yield from _nodes(body)


def _leaves_nothing(node: Any) -> bool:
    if node.op == "output":
        return not node.kwargs.get("writes")
    if node.op == "call_method" and node.target in _OF_LISTS:
        return True  # of a list that the program made
    if node.target in (set_errors, reset_errors):
        return True  # the code of the graph restores what it sets
    if node.bodies or _draws(node):
        return True  # their nodes are looked at one by one
    if str(getattr(node.target, "__module__", "")).startswith("numpy.testing"):
        return True  # an assertion of NumPy's: it raises, or does nothing
    kind = kind_of(node)
    if kind == EFFECT:
        return node.target is not show and (node.target in (check, fail) or getattr(node.target, CHECKS, False))
    if node.op == "call_function" and getattr(node.target, "__name__", "") in ("setitem", "delitem"):
        return True
    module = package_name(node.target) or "numpy"
    return kind == PURE or (kind == OPAQUE and module in _LIBRARIES)
