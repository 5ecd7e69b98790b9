"""Whether two passes over the body of a loop captured the same.

A loop may add a key to a dict, or an attribute to an object. Then one pass finds it missing, and the next a mark in its
place. What asks for it sees the mark and refuses; what looks at the dict in ways that nothing sees, such as
`f(*settings)`, leaves another graph behind.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.capture._region import Region
from weft.capture._values import Array, Scalar
from weft.graph import Graph, Node

_DATA = (int, float, complex, str, bytes, type(None), type(Ellipsis), np.dtype, np.generic)


def captured(body: Region, values: list[Any]) -> Any:
    """What a pass has captured, to be compared: the calls of the body, and the values it ends with."""
    rows, places = _calls(body.graph)
    return rows, tuple(_final(body, value, places) for value in values)


def _calls(graph: Graph) -> tuple[Any, dict[Node, int]]:
    places: dict[Node, int] = {}
    rows = []
    for place, node in enumerate(graph.nodes):
        places[node] = place
        target = None if node.op in ("placeholder", "get_attr") else node.target
        name = target if isinstance(target, str) else getattr(target, "__qualname__", type(target))
        rows.append((node.op, name, _part(node.args, places), _part(node.kwargs, places)))
    return tuple(rows), places


def _part(value: Any, places: dict[Node, int]) -> Any:
    if isinstance(value, Node):
        return (Node, places.get(value))
    if isinstance(value, Graph):
        return _calls(value)[0]
    if isinstance(value, (tuple, list)):
        return tuple(_part(part, places) for part in value)
    if isinstance(value, dict):
        return tuple((key, _part(part, places)) for key, part in value.items())
    if isinstance(value, slice):
        return _part((value.start, value.stop, value.step), places)
    return (type(value), repr(value) if isinstance(value, _DATA) else None)


def _final(body: Region, value: Any, places: dict[Node, int]) -> Any:
    if isinstance(value, Array):
        held = body.held.get(value.buffer)
        return (Array, None if held is None else places.get(held))
    if isinstance(value, Scalar):
        return (Scalar, None if value._node is None else places.get(value._node))
    return _part(value, places)
