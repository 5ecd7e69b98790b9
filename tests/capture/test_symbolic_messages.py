"""What symbolic tracing says of programs that ask for sizes, and of wrong calls around it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft import nn
from weft.errors import GraphError, TraceError


def loops(x: Any) -> Any:
    for i in range(x.shape[0]):
        x = x + i
    return x


def written(x: Any) -> Any:
    made = np.zeros(3)
    made[0] = x[0]
    return made


SIZES: dict[str, Callable[[Any], Any]] = {
    "zeros": lambda x: np.zeros(x.shape) + x,
    "ones of one size": lambda x: np.ones(x.shape[0]) + x,
    "arange": lambda x: np.arange(x.shape[0]),
    "random": lambda x: np.random.rand(*x.shape) + x,
}


@pytest.mark.parametrize("name", SIZES)
def test_numpy_s_own_arrays_of_traced_sizes_name_weft_s(name: str) -> None:
    with pytest.raises(
        TraceError,
        match=r"(?s)^np\.\S+ with a traced size cannot.*_messages\.py.*help: weft\.zeros\(x\.shape\), weft\.ones",
    ):
        weft.symbolic_trace(SIZES[name])


@pytest.mark.parametrize(("program", "help"), [(loops, "mark the function"), (written, r"float\(\) of a traced value")])
def test_others_say_what_they_said(program: Any, help: str) -> None:
    with pytest.raises(TraceError, match=help) as found:
        weft.symbolic_trace(program)
    assert "weft.zeros" not in str(found.value)


def test_an_error_of_the_program_s_own_is_kept() -> None:
    def program(x: Any) -> Any:
        with contextlib.suppress(TypeError, TraceError):
            np.zeros(x.shape)
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine") as found:
        weft.symbolic_trace(program)
    assert "before that" in found.value.__notes__[0]


def test_wrong_kinds_and_plain_graphs() -> None:
    gm = weft.symbolic_trace(lambda x: x + 1)
    with pytest.raises(
        GraphError, match=r"find_nodes: 'call_fn' is not a kind of node\n  help: use one of call_function"
    ):
        gm.graph.find_nodes(op="call_fn")
    for wrong in (loops, None, 3):
        with pytest.raises(TypeError, match=r"Transformer takes a GraphModule or a Graph, got .*\n  help: capture it"):
            weft.Transformer(wrong)
    assert weft.Transformer(gm.graph).transform()(2) == 3
    assert weft.Interpreter(gm.graph).run(2) == 3
    assert weft.Interpreter(weft.Graph.clone(gm.graph)).run(2) == 3


def _sequences(count: int) -> list[Any]:
    return [np.random.default_rng(k).normal(size=(2, 3, 8)).astype(np.float32) for k in range(count)]


class Opened(weft.Tracer):
    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        return False


@pytest.mark.parametrize("tracer", [weft.Tracer, Opened])
@pytest.mark.parametrize(
    ("module", "count"),
    [
        (nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2), 1),
        (nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 1), 2),
        (nn.Transformer(8, 2, 1, 1, 16, batch_first=True), 2),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else str(value),
)
def test_transformers_are_traced(module: Any, count: int, tracer: Any) -> None:
    module.eval()
    traced = weft.GraphModule(module, tracer().trace(module))
    values = _sequences(count)
    np.testing.assert_allclose(traced(*values).numpy(), module(*values).numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    "module",
    [nn.Linear(3, 2), nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.BatchNorm1d(2)), nn.Embedding(4, 2), nn.GRU(3, 2)],
    ids=lambda module: type(module).__name__,
)
def test_explain_of_modules_with_parameters(module: Any) -> None:
    example = np.array([1, 2]) if isinstance(module, nn.Embedding) else np.ones((2, 3), np.float32)
    told = weft.explain(module, example)
    assert told.captured, str(told)
    assert str(told).startswith(f"{type(module).__name__} is captured")
