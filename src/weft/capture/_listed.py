"""Which graphs may find, when they run, that an array of a list is not of the type they were captured for."""

from __future__ import annotations

import inspect
from pathlib import Path, PurePath
from typing import Any

from weft import pytree
from weft._where import package_name
from weft.capture._callbacks import function_of
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
_COMPUTING = ("scipy.fft.", "scipy.linalg.", "scipy.signal.")
_LEAVING = frozenset({"disp", "random_state", "rng", "seed"})  # parameters of functions that print or draw
_TABLES = frozenset(f"read_{kind}" for kind in "csv excel feather fwf html json parquet stata table xml".split()) | {
    *("date_range", "get_dummies", "period_range", "to_datetime"),
}
_OF_TABLES = frozenset(
    "drop drop_duplicates dropna fillna rename reset_index set_index sort_index sort_values to_numpy".split()
)
_OF_PATHS = frozenset(name for name in dir(PurePath) if name[0] != "_") | (
    {"absolute", "exists", "expanduser", "is_dir", "is_file", "read_bytes", "read_text", "resolve", "stat"}
    & {*dir(Path)}
)


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
    return all(_leaves_nothing(node, given) and not (given and _changes(node)) for node in _nodes(graph))


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


def _leaves_nothing(node: Any, given: bool) -> bool:
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
    if node.target is function_of:
        return False  # what a function of the program does that a library calls is not looked at
    if not given and (_reads(node) or (node.target in (setattr, delattr) and _is_read(node.args[0]))):
        return True
    kind = kind_of(node)
    if kind == EFFECT:
        return node.target is not show and (node.target in (check, fail) or getattr(node.target, CHECKS, False))
    if node.op == "call_function" and getattr(node.target, "__name__", "") in ("setitem", "delitem"):
        return True
    module = package_name(node.target) or "numpy"
    return kind == PURE or (kind == OPAQUE and module in _LIBRARIES)


def _reads(node: Any) -> bool:
    """Whether a call of a library only computes or reads files, where it is given no object of the caller's."""
    target = node.target
    if any(map(callable, pytree.leaves_of((node.args, node.kwargs)))):
        return False
    if node.op == "call_method":
        return (target in _OF_PATHS and _of_path(node)) or (target in _OF_TABLES and _is_read(node.args[0]))
    if node.op != "call_function":
        return False
    if _of_path(node) and isinstance(target, type):
        return True
    if package_name(target) == "pandas":
        return target.__name__ in _TABLES
    return str(getattr(target, "__module__", "")).startswith(_COMPUTING) and not _overwrites(node)


def _is_read(node: Any) -> bool:
    """Whether a value is what such a call gives, or part of it."""
    return hasattr(node, "target") and (_reads(node) or (bool(node.args) and _is_read(node.args[0])))


def _of_path(node: Any) -> bool:
    """Whether a value is a path, or computed from one."""
    if isinstance(node.target, type) and issubclass(node.target, PurePath):
        return True
    return bool(node.args) and hasattr(node.args[0], "target") and _of_path(node.args[0])


def _overwrites(node: Any) -> bool:
    """Whether a function of SciPy may write into what it is given, or may draw or print."""
    try:
        signature = inspect.signature(node.target)
        named = signature.bind(*node.args, **node.kwargs).arguments
    except (TypeError, ValueError):
        return True
    given = any(name.startswith(("overwrite", "out")) and value is not False for name, value in named.items())
    return given or not _LEAVING.isdisjoint(signature.parameters)
