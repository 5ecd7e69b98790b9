"""Attributes that a graph brings along when its nodes are copied into another.

A node that reads or calls something of its module must find the same thing after it is copied: under the same name if
that is free or holds the same already, else under another.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from weft._module import Module, is_parameter
from weft.graph._graph import Graph
from weft.graph._node import Node
from weft.graph._same import _UNKNOWN, attribute, same_constant


class Attributes:
    """What nodes on their way into `graph` read and call; `renames` says which names may give way to another."""

    def __init__(self, graph: Graph, renames: Callable[[str], bool] = lambda name: True) -> None:
        self._graph = graph
        self._renames = renames
        self._new: dict[str, Any] = {}
        self._names: dict[tuple[int, str], str] = {}

    def name_for(self, node: Node) -> str:
        """The name under which the graph will find what a node of another graph reads or calls."""
        value, wanted = attribute(node), str(node.target)
        if value is _UNKNOWN:
            return wanted
        key = (id(value), wanted)
        if key not in self._names:
            self._names[key] = self._choose(value, wanted)
        return self._names[key]

    def attach(self) -> None:
        """Give the graph, or the module it belongs to, everything that it did not have."""
        for name, value in self._new.items():
            _attach(self._graph, name, value)

    def _choose(self, value: Any, wanted: str) -> str:
        name, number = wanted, 0
        base = re.sub(r"(?<=_tensor_constant)\d+$", "", wanted)
        while self._renames(wanted):
            there = self._new.get(name, _existing(self._graph, name))
            same = there is value or (isinstance(value, np.ndarray) and same_constant(there, value))
            if there is _UNKNOWN or same:
                break
            name = f"{base}{number}" if base != wanted else f"{base}_{number + 1}"
            number += 1
        if name not in self._new and _existing(self._graph, name) is _UNKNOWN:
            self._new[name] = value
        return name


def _existing(graph: Graph, name: str) -> Any:
    value = graph.owning_module
    if value is None:
        return graph.constants.get(name, _UNKNOWN)
    for part in name.split("."):
        value = getattr(value, part, _UNKNOWN)
    return graph.constants.get(name, _UNKNOWN) if value is _UNKNOWN else value


def _attach(graph: Graph, name: str, value: Any) -> None:
    owner = graph.owning_module
    if owner is None:
        graph.constants[name] = value
        return
    *path, last = name.split(".")
    for part in path:
        if not hasattr(owner, part):
            owner.add_module(part, Module())
        owner = getattr(owner, part)
    is_array = hasattr(value, "dtype") and hasattr(value, "shape")
    if is_array and not is_parameter(value) and hasattr(owner, "register_buffer"):
        owner.register_buffer(last, value)
    else:
        setattr(owner, last, value)
