"""What the control-flow functions check: bodies, truth values, numbers, and carries that must stay what they were.

Every error names the function it came from and, for a nested value, the leaf: `init['state'][0]`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from weft import _where, pytree
from weft.errors import ControlError, ShapeError
from weft.graph._graph import Graph
from weft.graph._inputs import describe
from weft.graph._interpreter import Interpreter, body_runner
from weft.pytree import Tree

_NUMBERS = (bool, int, float, complex)
_PLAIN = frozenset({*_NUMBERS, str, type(None), np.ndarray, np.float64, np.float32, np.int64, np.bool_})


def refuse(message: str, help: str | None = None, kind: Any = ControlError) -> Exception:
    """The error for a wrong call, with the user's line."""
    place = _where.user_location()
    shown = None if place is None or not place.text else str(place)
    error: Exception = kind(message, where=shown, help=help)
    return error


def traced(*values: Any) -> Any:
    """The leaf that answers calls of control flow itself (see `weft.graph._control`): of the highest priority, or None.

    Graphs and functions are no leaves to look into, so bodies may be among the values.
    """
    best = None
    for value in values:
        if type(value) in _PLAIN:
            continue
        for leaf in pytree.leaves_of(value) if pytree.parts_of(value) is not None else (value,):
            if hasattr(type(leaf), "__weft_control__") and (best is None or _priority(leaf) > _priority(best)):
                best = leaf
    return best


def _priority(leaf: Any) -> int:
    return getattr(type(leaf), "__weft_priority__", 0)


def are_graphs(name: str, bodies: dict[str, Any]) -> bool:
    """Whether the bodies of a call are graphs; they may as well be functions, but not some of each."""
    for role, body in bodies.items():
        if not isinstance(body, Graph) and not callable(body):
            help = "pass a function; control flow runs one of several functions, not one of several values"
            raise refuse(f"{name}: {role} is a function (or a Graph), got {type(body).__name__} {body!r}", help)
    graphs = [isinstance(body, Graph) for body in bodies.values()]
    if any(graphs) and not all(graphs):
        raise refuse(f"{name}: some of {', '.join(bodies)} are Graphs and some are functions", "give all of one kind")
    return all(graphs)


class Runner:
    """Runs one body as often as it is needed; checks that it takes as many values as it will get."""

    def __init__(self, name: str, role: str, graph: Graph, count: int) -> None:
        inputs = len(graph.find_nodes(op="placeholder", sort=False))
        if inputs != count:
            raise refuse(f"{name}: {role} has {inputs} placeholders and is given {count} values")
        self._name, self._role = name, role
        runner = body_runner.get()
        self._graph, self._run = graph, Interpreter(None, graph=graph).run_body if runner is None else runner

    def __call__(self, values: list[Any]) -> Any:
        return self._run(self._graph, values)

    def carries(self, values: list[Any], count: int) -> list[Any]:
        """The carries a body of a loop gives."""
        found = self(values)
        if not isinstance(found, (tuple, list)) or len(found) != count:
            raise refuse(f"{self._name}: {self._role} gives {_count(found)} where there are {count} carries")
        return list(found)

    def pair(self, values: list[Any], count: int) -> tuple[list[Any], list[Any]]:
        """The carries and the rows that the body of a scan gives."""
        found = self(values)
        parts = isinstance(found, (tuple, list)) and len(found) == 2
        if not parts or not all(isinstance(part, (tuple, list)) for part in found):
            raise refuse(f"{self._name}: {self._role} must give ((carries, …), (rows, …)), got {_count(found)}")
        if len(found[0]) != count:
            raise refuse(f"{self._name}: {self._role} gives {_count(found[0])} where there are {count} carries")
        return list(found[0]), list(found[1])


def _count(found: Any) -> str:
    return f"{len(found)} values" if isinstance(found, (tuple, list)) else f"a {type(found).__name__}"


def truth(name: str, role: str, value: Any, strict: bool = True) -> bool:
    """The truth of a condition: of one value, and where `strict` of a number or an array rather than any object."""
    if strict and not isinstance(value, _NUMBERS) and not hasattr(value, "dtype"):
        raise refuse(f"{name}: {role} is a truth value, got {type(value).__name__} {value!r}")
    size = getattr(value, "size", 1) if hasattr(value, "dtype") else 1
    if size != 1:
        message = f"{name}: {role} is one truth value, got an array of shape {tuple(value.shape)}"
        raise refuse(message, "reduce it with .any() or .all()", ShapeError)
    return bool(value)


def integer(name: str, role: str, value: Any) -> int:
    """An integer, from a Python or NumPy integer or an array of one integer."""
    dtype = getattr(value, "dtype", None)
    if dtype is not None and np.dtype(dtype).kind in "iub" and getattr(value, "size", 0) == 1:
        return int(value.item())
    try:
        return operator.index(value)
    except TypeError:
        shown = f"an array {value.dtype}{list(value.shape)}" if dtype is not None else f"{type(value).__name__}"
        raise refuse(f"{name}: {role} is an integer, got {shown} {value!r}") from None


# Nested values


def leaf_paths(tree: Tree, prefix: str) -> Iterator[str]:
    """How to reach each leaf of a value that is called `prefix`: `prefix['a'][0]`."""
    kind = tree.kind
    if kind is None:
        yield prefix
        return
    for step, child in zip(pytree.steps(tree), tree.children, strict=True):
        yield from leaf_paths(child, prefix + step)


class Carry:
    """What the state of a loop is: its structure, and of each leaf its shape and dtype. Later states must be alike."""

    def __init__(self, name: str, role: str, body: str, value: Any) -> None:
        self._name, self._role, self._body = name, role, body
        leaves, self.tree = pytree.flatten(value)
        self._kinds = [_kind(leaf) for leaf in leaves]

    def check(self, value: Any) -> list[Any]:
        """The leaves of a later state; an error names the first leaf that has become something else."""
        leaves, tree = pytree.flatten(value)
        if tree != self.tree:
            before, now = describe(self.tree), describe(tree)
            help = f"{self._body} must return the state in the structure it got it in"
            raise refuse(f"{self._name}: {self._role} is {before}, but {self._body} gives {now}", help)
        for i, (leaf, kind) in enumerate(zip(leaves, self._kinds, strict=True)):
            if not _alike(_kind(leaf), kind):
                path = list(leaf_paths(tree, self._role))[i]
                now, before = _shown(_kind(leaf)), _shown(kind)
                help = "start with a value of the final shape and dtype, or convert inside with astype or reshape"
                raise refuse(f"{self._name}: {path} is {before}, but {self._body} gives {now}", help)
        return leaves


_Kind = tuple[str, Any, tuple[Any, ...]]  # ("number", type, ()), ("array", dtype, shape) or ("object", type, ())


def _kind(leaf: Any) -> _Kind:
    if isinstance(leaf, _NUMBERS) and not isinstance(leaf, np.generic):
        return "number", np.dtype(type(leaf)).kind, ()
    if hasattr(leaf, "dtype") and hasattr(leaf, "shape"):
        return "array", leaf.dtype, tuple(leaf.shape)
    return "object", type(leaf), ()


def _alike(new: _Kind, old: _Kind) -> bool:
    if new == old:
        return True
    # A Python number stands for any NumPy scalar of its kind, and the other way round.
    if {new[0], old[0]} == {"number", "array"} and new[2] == old[2] == ():
        return bool(_letter(new) == _letter(old))
    return False


def _letter(kind: _Kind) -> Any:
    return kind[1] if kind[0] == "number" else np.dtype(kind[1]).kind.replace("u", "i")


_WORDS = {"b": "a bool", "i": "an int", "f": "a float", "c": "a complex"}


def _shown(kind: _Kind) -> str:
    if kind[0] == "array":
        return f"{kind[1]}[{', '.join(map(str, kind[2]))}]"
    return _WORDS[kind[1]] if kind[0] == "number" else f"a {kind[1].__name__}"
