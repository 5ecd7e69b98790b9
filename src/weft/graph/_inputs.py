"""`Inputs`: the parameters a user sees, where they are more than one value each.

A graph takes a flat list of values. Where a parameter is a nested container, or some of its leaves were fixed to
constants while tracing, an `Inputs` says how the arguments of a call become that flat list, and refuses a call whose
structure or constants differ from what was traced.

    >>> from weft import pytree
    >>> inputs = Inputs(("batch", "flag"), (pytree.flatten({"a": 0, "b": 0})[1], pytree.LEAF), {2: True})
    >>> inputs.flatten({"a": 1, "b": 2}, True)
    [1, 2]
    >>> inputs.flatten({"a": 1}, True)
    Traceback (most recent call last):
        ...
    weft.errors.GraphError: batch: expected {'a': *, 'b': *}, got {'a': *}
      help: this graph was traced for one structure of its inputs; trace again for another
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weft import pytree
from weft.errors import GraphError
from weft.pytree import LEAF, Tree


@dataclass(frozen=True)
class Inputs:
    """Names and structures of the parameters, and by flat position the leaves that were fixed to constants."""

    names: tuple[str, ...]
    trees: tuple[Tree, ...]
    constants: dict[int, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.names) != len(self.trees):
            raise GraphError(f"Inputs: {len(self.names)} names but {len(self.trees)} structures")
        total = sum(tree.leaf_count for tree in self.trees)
        if wrong := [i for i in self.constants if not 0 <= i < total]:
            raise GraphError(f"Inputs: there is no leaf {wrong[0]} to fix: the parameters have {total} leaves")

    @property
    def leaf_count(self) -> int:
        """How many placeholders the graph has: the leaves that are not fixed."""
        return sum(tree.leaf_count for tree in self.trees) - len(self.constants)

    def leaves(self) -> Iterator[tuple[int, range]]:
        """For each parameter its number and the flat positions of its leaves."""
        start = 0
        for number, tree in enumerate(self.trees):
            stop = start + tree.leaf_count
            yield number, range(start, stop)
            start = stop

    def concrete(self, free: Any) -> dict[str, Any]:
        """Each parameter by name: its constants, and `free` for the leaves that are inputs."""
        made = {}
        for number, positions in self.leaves():
            values = [self.constants.get(position, free) for position in positions]
            made[self.names[number].lstrip("*")] = self.trees[number].unflatten(values)
        return made

    def flatten(self, *args: Any) -> list[Any]:
        """The values of the placeholders for a call with these arguments."""
        if len(args) != len(self.names):
            raise GraphError(f"expected {len(self.names)} inputs ({', '.join(self.names)}), got {len(args)}")
        flat: list[Any] = []
        for (number, positions), value in zip(self.leaves(), args, strict=True):
            leaves = self._open(number, value)
            for position, leaf in zip(positions, leaves, strict=True):
                if position not in self.constants:
                    flat.append(leaf)
                elif not _same(leaf, self.constants[position]):
                    raise GraphError(
                        f"{self.names[number]}: {self.constants[position]!r} was fixed while tracing, got {leaf!r}",
                        help="leave it out of concrete_args to keep it an input, or trace again for the other value",
                    )
        return flat

    def _open(self, number: int, value: Any) -> list[Any]:
        wanted = self.trees[number]
        if wanted is LEAF or wanted.kind is None:
            return [value]
        leaves, tree = _flatten_as(wanted, value)
        if tree != wanted:
            raise GraphError(
                f"{self.names[number]}: expected {describe(wanted)}, got {describe(tree)}",
                help="this graph was traced for one structure of its inputs; trace again for another",
            )
        return leaves


def describe(tree: Tree) -> str:
    """A structure as text, with a star for each leaf."""
    if tree.kind is None:
        return "*"
    parts = [describe(child) for child in tree.children]
    if tree.kind is tuple:
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
    if tree.kind is list:
        return f"[{', '.join(parts)}]"
    if tree.kind is dict:
        return "{" + ", ".join(f"{key!r}: {part}" for key, part in zip(tree.context, parts, strict=True)) + "}"
    return f"{tree.kind.__name__}({', '.join(parts)})"


def _flatten_as(wanted: Tree, value: Any) -> tuple[list[Any], Tree]:
    """Flatten no deeper than the wanted structure: below its leaves a value may be of any kind; dicts go by key."""
    if wanted.kind is None:
        return [value], LEAF
    children, context = _children(wanted, value)
    if children is None:
        return pytree.flatten(value)
    leaves: list[Any] = []
    trees = []
    for child, part in zip(wanted.children, children, strict=True):
        more, tree = _flatten_as(child, part)
        leaves += more
        trees.append(tree)
    return leaves, Tree(wanted.kind, context, tuple(trees))


def _children(wanted: Tree, value: Any) -> tuple[list[Any] | None, Any]:
    if wanted.kind is dict and type(value) is dict and value.keys() == set(wanted.context):
        return [value[key] for key in wanted.context], wanted.context
    if type(value) is not wanted.kind:
        return None, None
    opened = pytree.parts_of(value)
    if opened is None or opened[1] != wanted.context or len(opened[0]) != len(wanted.children):
        return None, None
    return opened


def _same(given: Any, fixed: Any) -> bool:
    if given is fixed:
        return True
    if isinstance(given, np.ndarray) or isinstance(fixed, np.ndarray):
        return type(given) is type(fixed) and given.dtype == fixed.dtype and np.array_equal(given, fixed)
    # 1, 1.0 and True are equal, and so are 0.0 and -0.0; a graph traced for one of them is not one for the others.
    if isinstance(fixed, (bool, int, float, complex, np.generic)):
        return type(given) is type(fixed) and repr(given) == repr(fixed)
    try:
        return bool(given == fixed)
    except Exception:
        return False
