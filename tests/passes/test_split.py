"""`split_module`: parts that call each other compute what the whole did."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft import Node, nn
from weft.errors import GraphError
from weft.passes import split_module

X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.param = nn.Parameter(X * 2)
        self.linear = nn.Linear(4, 5)

    def forward(self, x: Any, batch: Any) -> Any:
        z = self.linear(x + self.param).clip(0.0, 1.0)
        w = self.linear(batch["y"]).clip(0.0, 1.0)
        return {"sum": z + w, "first": z, "x": x}


def in_turns(count: int) -> Callable[[Node], int]:
    turns = iter(range(1000))
    return lambda node: next(turns) % count


SPLITS: dict[str, Callable[[], Callable[[Node], Any]]] = {
    "one part": lambda: lambda node: 0,
    "each by itself": lambda: in_turns(1000),
    "by name": lambda: lambda node: node.name,
}


@pytest.mark.parametrize("name", SPLITS)
def test_parts_compute_what_the_whole_did(name: str) -> None:
    model = Model()
    traced = weft.symbolic_trace(model, concrete_args={"batch": {"y": weft.PH}})
    split = split_module(traced, model, SPLITS[name]())
    for each in (split, *(module for path, module in split.named_children() if path.startswith("submod_"))):
        each.graph.lint()
    wanted, found = model(X, {"y": X + 1}), split(X, {"y": X + 1})
    assert list(found) == list(wanted)
    for key in ("sum", "first"):
        np.testing.assert_array_equal(found[key].detach().numpy(), wanted[key].detach().numpy())
    found["sum"].sum().backward()
    assert model.linear.weight.grad is not None and model.param.grad is not None


def test_parts_that_need_each_other_are_refused() -> None:
    traced = weft.symbolic_trace(lambda x: weft.exp(weft.sin(x) + 1))
    with pytest.raises(GraphError, match="the parts a, b need each other"):
        split_module(traced, None, lambda node: "b" if node.name == "add" else "a")


def test_a_part_with_several_results_gives_a_tuple() -> None:
    traced = weft.symbolic_trace(lambda x: (x + 1) * (x + 2) * (x + 3))
    split = split_module(traced, None, lambda node: node.name.partition("_")[0])
    assert split.submod_add(1.0) == (2.0, 3.0, 4.0) and split(1.0) == 24.0
    assert [node.name for node in split.graph.find_nodes(op="call_module")] == ["submod_add", "submod_mul"]


def test_effects_keep_their_order() -> None:
    traced = weft.symbolic_trace(lambda x: x + 1)
    add = traced.graph.find_nodes(op="call_function")[0]
    with traced.graph.inserting_after(add):
        for line in ("three", "two", "one"):
            traced.graph.call_function(print, (line,))
    names = iter("abc")
    parts: dict[Node, str] = {}
    split = split_module(traced, None, lambda node: parts.setdefault(node, "z" if node is add else next(names)))
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert split(1.0) == 2.0
    assert out.getvalue().split() == ["one", "two", "three"]


def test_loops_stay_whole() -> None:
    def total(x: Any) -> Any:
        result = 0.0
        for value in x:
            if value > 0:
                result = result + np.sqrt(value)
        return result * 2

    captured = weft.script(total)
    split = split_module(captured, None, lambda node: "last" if node.name == "mul" else "loop")
    assert split(np.array([4.0, -1.0, 9.0])) == captured(np.array([4.0, -1.0, 9.0])) == 10.0
