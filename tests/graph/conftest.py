"""Comparing graphs for the tests of this folder, strictly: types, NaN, signs of zero, dtypes and shapes all count."""

from __future__ import annotations

import dataclasses
import re
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from weft.graph import Graph, Node


def _same_value(a: Any, b: Any, nodes: dict[Node, Node]) -> bool:
    if isinstance(a, Node):
        return nodes.get(a) is b
    if type(a) is not type(b):
        return False
    if isinstance(a, Graph):
        _compare(a, b)
        return True
    if isinstance(a, float) and not isinstance(a, np.generic):
        return struct.pack("d", a) == struct.pack("d", b) or (a != a and b != b)
    if isinstance(a, complex) and not isinstance(a, np.generic):
        return _same_value(a.real, b.real, nodes) and _same_value(a.imag, b.imag, nodes)
    if isinstance(a, np.generic | np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, slice):
        return all(_same_value(getattr(a, n), getattr(b, n), nodes) for n in ("start", "stop", "step"))
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(_same_value(x, y, nodes) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return len(a) == len(b) and all(
            _same_value(k, j, nodes) and _same_value(v, w, nodes)
            for (k, v), (j, w) in zip(a.items(), b.items(), strict=True)
        )
    if dataclasses.is_dataclass(a) and not isinstance(a, type):
        return all(_same_value(getattr(a, f.name), getattr(b, f.name), nodes) for f in dataclasses.fields(a))
    return bool(a is b or a == b)


def _without_folders(text: str | None) -> str | None:
    return None if text is None else re.sub(r"(?<![\w.])/[\w./-]*/", "", text)


def _compare(a: Graph, b: Graph) -> None:
    assert len(a.nodes) == len(b.nodes)
    nodes: dict[Node, Node] = {}
    for one, other in zip(a.nodes, b.nodes, strict=True):
        assert (one.op, one.name, one.target) == (other.op, other.name, other.target)
        assert one.op != "call_function" or one.target is other.target
        assert _same_value(tuple(one.args), tuple(other.args), nodes), (one, one.args, other.args)
        assert _same_value(dict(one.kwargs), dict(other.kwargs), nodes), (one, one.kwargs, other.kwargs)
        assert one.type == other.type, one
        # A file has the names of sources, not where they lay.
        assert _without_folders(str(one.location)) == _without_folders(str(other.location)), one
        assert one.variable == other.variable, one
        assert _without_folders(one.stack_trace) == _without_folders(other.stack_trace), one
        assert _same_value(one.meta.get("type"), other.meta.get("type"), nodes), one
        nodes[one] = other
        assert [nodes[i] for i in one.all_input_nodes] == other.all_input_nodes
    for one, other in nodes.items():
        assert [nodes[user] for user in one.users] == list(other.users), one
    assert a.signature == b.signature
    assert _same_value(a.constants, b.constants, nodes)


@pytest.fixture
def assert_same_graph() -> Callable[[Graph, Graph], None]:
    return _compare
