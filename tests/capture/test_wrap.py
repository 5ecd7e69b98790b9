"""`wrap`: functions that stay one node."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest

import weft

root = sqrt


@weft.wrap
def clip_positive(x: Any, top: float = 1.0) -> Any:
    return min(x, top) if x > 0 else 0.0


weft.wrap("len")
weft.wrap("sqrt")


def test_decorator() -> None:
    gm = weft.symbolic_trace(lambda x: clip_positive(x, top=2.0) + clip_positive(5.0))
    (node,) = gm.graph.find_nodes(op="call_function", target=clip_positive)
    assert dict(node.kwargs) == {"top": 2.0}
    assert gm(3.0) == 3.0
    assert clip_positive(0.5) == 0.5
    retraced = weft.symbolic_trace(gm)
    assert retraced.graph.find_nodes(op="call_function", target=clip_positive)


def test_builtin_and_imported_names() -> None:
    gm = weft.symbolic_trace(lambda x: len(x) * sqrt(x[0]))
    assert [n.name for n in gm.graph.nodes] == ["x", "len_1", "getitem", "sqrt", "mul", "output"]
    assert gm(np.array([4.0, 1.0])) == 4.0
    assert len([1, 2]) == 2
    assert root(4.0) == 2.0


def test_proxies_inside_containers() -> None:
    @weft.wrap
    def total(parts: Any) -> Any:
        return sum(parts["a"])

    assert weft.symbolic_trace(lambda x: total({"a": [x, 1]}))(2) == 3


def test_misuse_is_refused() -> None:
    with pytest.raises(RuntimeError, match="top level of a module"):
        weft.wrap("len")
    with pytest.raises(TypeError, match="not int"):
        weft.wrap(3)
