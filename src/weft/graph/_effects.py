"""Which nodes must run even when nothing reads their result."""

from __future__ import annotations

import builtins
import operator
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from weft.ops._methods import Methods
from weft.ops._op import TABLE, Op

if TYPE_CHECKING:
    from weft.graph._graph import Graph
    from weft.graph._node import Node

F = TypeVar("F", bound=Callable[..., Any])

_MARK = "_weft_has_side_effect"
CHECKS = "_weft_checks"  # what else marks one that has an effect only where it raises
DRAWS = "_weft_draws"  # what else marks one that changes a random generator, and no array
MEMORY = "_weft_memory"  # where the array lies that a function gives, as ops say it
HOLDS = "_weft_holds"  # what else marks one that lets an object hold what it is given, and changes no array
WITHIN = "_weft_within"  # a context manager that the code of a graph with such a function runs in
_WRITES_OPERATORS = tuple(
    getattr(operator, name)
    for name in (
        *("setitem", "delitem", "iadd", "iand", "iconcat", "ifloordiv", "ilshift", "imatmul", "imod", "imul", "ior"),
        *("ipow", "irshift", "isub", "itruediv", "ixor"),
    )
)
_BUILTINS = (
    builtins.print,
    builtins.setattr,
    builtins.delattr,
    builtins.exec,
    builtins.input,
    builtins.open,
    builtins.next,
    operator.call,  # of a function that only running can tell
)
_NUMPY = (np.copyto, np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis, np.save, np.savetxt, np.savez)
# Builtin functions take no attributes; everything else carries its mark itself.
_marked: set[Any] = {*_WRITES_OPERATORS, *_BUILTINS, *_NUMPY}

OUT_OF_METHODS = {
    **dict.fromkeys(("all", "any", "argmax", "argmin", "max", "min", "dot", "round", "choose", "ptp"), 1),
    **dict.fromkeys(("sum", "prod", "mean", "cumsum", "cumprod", "std", "var", "clip", "take", "compress"), 2),
    "trace": 4,
}
"""Where an array to write into stands among the arguments of methods of arrays."""

# What a method of any other name does, only running can tell.
_KNOWN = (np.ndarray, np.generic, list, tuple, dict, set, str, bytes, int, float, complex, slice, range)
_CHANGEABLE = {list: tuple, set: frozenset, dict: MappingProxyType, bytearray: bytes}
_WRITING_METHODS = frozenset(
    {
        *("__setitem__", "__delitem__", "__setattr__", "__delattr__", "fill", "put", "sort", "partition", "resize"),
        *("itemset", "setfield", "setflags", "tofile", "dump", "byteswap", "log", "__init__", "__setstate__"),
        *(n for kind, fixed in _CHANGEABLE.items() for n in vars(kind).keys() - vars(fixed).keys() if n[0] != "_"),
        *(f"__{function.__name__}__" for function in _WRITES_OPERATORS),
    }
) - {"copy", "fromkeys"}


def has_side_effect(fn: F) -> F:
    """Mark a function whose calls stay in a graph even when nothing reads their result; returns it.

    >>> import weft
    >>> @weft.has_side_effect
    ... def log(x): ...
    >>> graph = weft.Graph()
    >>> graph.call_function(log, (graph.placeholder("x"),)).is_impure()
    True
    """
    try:
        setattr(fn, _MARK, True)
    except (AttributeError, TypeError):
        _marked.add(fn)
    return fn


def is_impure(node: Node, impure_random: bool = True) -> bool:
    """Whether running the node matters beyond its result: it is an input or the output, or it writes, prints or checks.

    Drawing random numbers counts too, unless `impure_random` is False: leaving out a draw changes the draws after it.
    """
    op = node._op
    if op in ("placeholder", "output") or (node._meta is not None and "must_run" in node._meta):
        return True
    if op == "call_function":
        return _function_is_impure(node, impure_random)
    if op == "call_method":
        return node._target not in _reading_methods() or _is_given_out(node)
    if op == "call_module":
        return _module_is_impure(node, impure_random)
    return False


def _is_given_out(node: Node) -> bool:
    """Whether the call of a method is given an array to write into."""
    place = 1 + OUT_OF_METHODS.get(node.target, len(node.args))
    return node.kwargs.get("out") is not None or (len(node.args) > place and hasattr(node.args[place], "users"))


@cache
def _reading_methods() -> frozenset[str]:
    """Methods that do nothing but compute: those of arrays and of Python's containers, and every op."""
    known = {name for kind in (*_KNOWN, Methods) for name in dir(kind) if callable(getattr(kind, name))}
    known |= {name.rpartition(".")[2] for name, op in TABLE.items() if not op.random}
    in_place = {name for name in known if name.endswith("_") and not name.endswith("__")}
    return frozenset({*known, "detach", "clone", "contiguous", "numpy"} - in_place) - _WRITING_METHODS


def _function_is_impure(node: Node, impure_random: bool) -> bool:
    target: Any = node._target
    if isinstance(target, Op):
        return (impure_random and target.draws(node._args, node._kwargs)) or getattr(target, _MARK, False)
    if any(_has_effects(body, impure_random) for body in node.bodies):
        return True
    if getattr(target, _MARK, False) or node._kwargs.get("out") is not None:
        return True
    if target is np.nan_to_num and (*node._args[1:2], node._kwargs.get("copy", True))[0] is not True:
        return True  # it writes into the array that it is given
    try:
        if target in _marked:
            return True
    except TypeError:
        return False
    module = str(getattr(target, "__module__", None) or "")
    if module.startswith("numpy.testing"):
        return True
    drawn_from = getattr(target, "__self__", None)
    draws = module.startswith("numpy.random") or isinstance(drawn_from, random.Random)
    return draws and impure_random


def _has_effects(body: Graph, impure_random: bool) -> bool:
    """Whether a body does something else than compute its result."""
    return any(node.op not in ("placeholder", "output") and is_impure(node, impure_random) for node in body.nodes)


def _module_is_impure(node: Node, impure_random: bool) -> bool:
    module = node.graph.owning_module
    for part in node.target.split("."):
        module = getattr(module, part, None)
    if module is None:
        # Nothing is known of it; keeping it is always right.
        return True
    parts = module.modules() if hasattr(module, "modules") else (module,)
    for part in parts:
        if getattr(part, "_is_impure", False):
            return True
        drops = "Dropout" in type(part).__name__ and getattr(part, "training", False) and getattr(part, "p", 1) > 0
        if impure_random and drops:
            return True
    return False


def managers_of(graph: Graph) -> list[Any]:
    """The context managers that a graph runs in: what its nodes change for now is as before, whatever it raises."""
    found = {getattr(node.target, WITHIN, None): None for node in graph.nodes}
    for node in graph.nodes:
        found.update(dict.fromkeys(manager for body in node.bodies for manager in managers_of(body)))
    return [manager for manager in found if manager is not None]


@contextmanager
def within(graph: Graph) -> Iterator[None]:
    """Enter those, where the nodes of a graph are run one by one."""
    with ExitStack() as stack:
        for manager in managers_of(graph):
            stack.enter_context(manager())
        yield
