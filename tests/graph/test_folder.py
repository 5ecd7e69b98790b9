"""`GraphModule.to_folder`: a package that imports, computes the same, and holds no pickle."""

from __future__ import annotations

import importlib
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from weft import nn
from weft.capture import PH, symbolic_trace
from weft.errors import FileError, GraphError
from weft.graph import Graph, GraphModule


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding="same", bias=False),
            nn.BatchNorm2d(4, momentum=None),
            nn.PReLU(4),
            nn.AvgPool2d(2),
        )
        self.head = nn.Linear(36, 2)
        self.head.bias.requires_grad = False
        self.act = self.body[2]
        self.frozen = nn.Parameter(np.ones(2), requires_grad=False)
        self.register_buffer("phase", np.array([1 + 2j, 3j]))
        self.register_buffer("scratch", weft.tensor([1.0]), persistent=False)

    def forward(self, x: Any) -> Any:
        h = self.head(weft.flatten(self.body(x), 1)) * self.frozen
        return weft.real(h * self.phase) + math.pi + self.scratch, weft.sin(x)


X = np.linspace(-1, 1, 72).reshape(2, 1, 6, 6).astype(np.float32)


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(tmp_path))

    def write_and_import(module: GraphModule, folder: str, name: str = "Net") -> Any:
        module.to_folder(tmp_path / folder, name)
        return getattr(importlib.import_module(folder), name)()

    yield write_and_import
    for name in [n for n in sys.modules if n.startswith("written_")]:
        del sys.modules[name]


def test_same_results_state_and_flags(load: Any, tmp_path: Path) -> None:
    net = Net()
    net(X)  # moves the running statistics
    gm = symbolic_trace(net.eval())
    gm.head.train()
    again = load(gm, "written_net")
    for got, expected in zip(again(X), gm(X), strict=True):
        np.testing.assert_array_equal(got, expected)
    assert type(again).__mro__[1] is nn.Module and not again.training and again.head.training
    assert list(again.state_dict()) == list(gm.state_dict())
    for name, value in gm.state_dict().items():
        got = again.state_dict()[name]
        assert np.array_equal(got, value) and got.dtype == value.dtype and type(got) is type(value), name
    assert not again.frozen.requires_grad and again.head.weight.requires_grad
    assert not again.head.bias.requires_grad
    assert again.scratch.tolist() == [1.0] and isinstance(again.phase, np.ndarray)
    assert sorted(p.name for p in (tmp_path / "written_net").iterdir() if p.is_file()) == [
        "__init__.py",
        "module.py",
        "state.safetensors",
    ]


def test_importing_unpickles_nothing(tmp_path: Path) -> None:
    symbolic_trace(Net()).to_folder(tmp_path / "clean", "Clean")
    script = (
        "import sys, pickle\n"
        "def refuse(*a, **k): raise SystemExit('pickle was used')\n"
        "pickle.load = pickle.loads = pickle.Unpickler = refuse\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "from clean import Clean\n"
        "print(type(Clean()).__name__)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout == "Clean\n", done.stderr


def test_shared_modules_stay_shared(load: Any) -> None:
    root = nn.Module()
    root.a = nn.Linear(2, 2)
    root.b = root.a
    graph = Graph()
    graph.output(graph.call_module("b", (graph.call_module("a", (graph.placeholder("x"),)),)))
    again = load(GraphModule(root, graph), "written_shared")
    assert again.a is again.b


def test_nested_graph_modules_become_subpackages(load: Any, tmp_path: Path) -> None:
    inner = symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.Tanh()))
    graph = Graph()
    graph.output(graph.call_module("in.ner", (graph.placeholder("x"),)))
    outer = GraphModule({"in.ner": inner}, graph)
    again = load(outer, "written_nested", "Outer")
    x = np.ones((1, 2), np.float32)
    np.testing.assert_array_equal(again(x), outer(x))
    assert (tmp_path / "written_nested" / "sub_in_ner" / "module.py").exists()
    assert list(again.state_dict()) == list(outer.state_dict())


def test_names_of_the_code_win_over_ours(load: Any) -> None:
    graph = Graph()
    x = graph.placeholder("state")
    graph.output(graph.call_function(Path, (x,), name="nn"))  # the code needs a global `Path` of its own
    gm = GraphModule({}, graph)
    assert load(gm, "written_names")("a/b") == Path("a/b")
    with pytest.raises(GraphError, match=r"the code uses '.*' already; give the class another name"):
        gm.to_folder("unused", next(n for n in gm.recompile().globals if not n.startswith("_")))


def test_structured_inputs_are_written(load: Any) -> None:
    gm = symbolic_trace(lambda d, k: d["a"] * k + d["b"][0], concrete_args={"d": {"a": PH, "b": [PH]}, "k": 2})
    again = load(gm, "written_inputs", "Structured")
    assert again({"a": 5, "b": [1]}, 2) == 11
    with pytest.raises(GraphError, match="was fixed while tracing"):
        again({"a": 5, "b": [1]}, 3)


def every_layer() -> list[nn.Module]:
    return [
        nn.Linear(3, 4, bias=False),
        nn.Bilinear(2, 3, 4),
        nn.Identity(),
        nn.Conv1d(2, 4, 3, stride=2, padding=1, dilation=2, groups=2, padding_mode="circular"),
        nn.Conv3d(1, 2, (1, 2, 3)),
        nn.ConvTranspose2d(2, 4, 3, 2, 1, output_padding=1, groups=2, bias=False),
        nn.BatchNorm1d(3, eps=0.1, affine=False),
        nn.BatchNorm2d(3, track_running_stats=False, bias=False),
        nn.LayerNorm((2, 3), bias=False),
        nn.LayerNorm(3, elementwise_affine=False),
        nn.RMSNorm(4, eps=0.5),
        nn.GroupNorm(2, 4, bias=False),
        nn.Embedding(5, 3, padding_idx=-1),
        nn.Dropout(0.25),
        nn.ReLU(inplace=True),
        nn.GELU("tanh"),
        nn.Softmax(dim=1),
        nn.LeakyReLU(0.5),
        nn.Hardtanh(-2, 2),
        nn.Threshold(0.5, 1.0),
        nn.Softplus(2.0, 10.0),
        nn.Hardshrink(0.1),
        nn.PReLU(3, init=0.5),
        nn.MaxPool2d(3, 1, 1, ceil_mode=True, return_indices=True),
        nn.AvgPool2d((2, 1), divisor_override=3, count_include_pad=False),
        nn.AdaptiveAvgPool2d((1, None)),
        nn.AdaptiveMaxPool1d(2, return_indices=True),
        nn.Flatten(0, 1),
        nn.CrossEntropyLoss(label_smoothing=0.1),
        nn.SmoothL1Loss(beta=0.5),
        nn.Sequential(nn.Linear(2, 2), nn.ModuleList([nn.ReLU()])),
        nn.AvgPool1d(2),
        nn.TripletMarginLoss(swap=True),
        nn.RNN(2, 3, nonlinearity="relu", bias=False),
        nn.LSTM(2, 3, 2, batch_first=True, dropout=0.5, bidirectional=True, proj_size=2),
        nn.GRU(2, 3),
        nn.RNNCell(2, 3, False, "relu"),
        nn.LSTMCell(2, 3),
        nn.MultiheadAttention(4, 2, 0.1, False, True, True, kdim=3, vdim=5, batch_first=True),
        nn.MultiheadAttention(4, 1),
        nn.TransformerEncoderLayer(4, 2, 8, 0.2, "gelu", 1e-3, True, True, False),
        nn.TransformerDecoderLayer(4, 2, 8),
        nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2, nn.LayerNorm(4)),
        nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8), 1),
        nn.Transformer(4, 2, 1, 2, 8, batch_first=True),
    ]


@pytest.mark.parametrize("layer", every_layer(), ids=lambda m: type(m).__name__)
def test_every_layer_can_be_written(layer: nn.Module, load: Any) -> None:
    graph = Graph()
    graph.output(graph.call_module("layer", (graph.placeholder("x"),)))
    again = load(GraphModule({"layer": layer}, graph), f"written_{id(layer)}").layer
    assert type(again) is type(layer) and repr(again) == repr(layer)
    assert {k: v.tolist() for k, v in again.state_dict().items()} == {
        k: v.tolist() for k, v in layer.state_dict().items()
    }
    settings = {k: v for k, v in vars(layer).items() if not k.startswith("_")}
    assert {k: v for k, v in vars(again).items() if not k.startswith("_")} == settings


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    class Mine(nn.Module):
        pass

    graph = Graph()
    graph.output(graph.call_module("mine", (graph.placeholder("x"),)))
    with pytest.raises(GraphError, match=r"submodule 'mine' is a .*Mine, which weft does not know how to write down"):
        GraphModule({"mine": Mine()}, graph).to_folder(tmp_path / "a")
    graph = Graph()
    graph.output(graph.call_function(lambda x: x, (graph.placeholder("x"),)))
    with pytest.raises(GraphError, match="cannot be written as Python"):
        GraphModule({}, graph).to_folder(tmp_path / "b")
    with pytest.raises(GraphError, match="'not a name' cannot name a class"):
        GraphModule({}, graph).to_folder(tmp_path / "c", "not a name")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_state_file_is_refused(load: Any, tmp_path: Path) -> None:
    load(symbolic_trace(Net()), "written_damaged")
    state = tmp_path / "written_damaged" / "state.safetensors"
    state.write_bytes(state.read_bytes()[:-3])
    with pytest.raises(FileError, match="truncated"):
        sys.modules["written_damaged"].Net()  # type: ignore[attr-defined]


def test_tensors_under_several_names_stay_one(load: Any, tmp_path: Path) -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False)
            self.w = self.b.weight = self.a.weight

        def forward(self, x: Any) -> Any:
            return self.b(self.a(x)) @ self.w

    made = load(symbolic_trace(Tied()), "written_tied")
    assert made.a.weight is made.b.weight is made.w
    assert list(weft.graph.read_state(tmp_path / "written_tied" / "state.safetensors")) == ["w"]


def test_parts_whose_names_would_share_a_folder(load: Any) -> None:
    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Module()
            self.a.b = symbolic_trace(lambda x: x + 1)
            self.a_b = symbolic_trace(lambda x: x * 5)
            self.A_b = symbolic_trace(lambda x: x * 7)

    graph = Graph()
    x = graph.placeholder("x")
    graph.output(tuple(graph.call_module(name, (x,)) for name in ("a.b", "a_b", "A_b")))
    assert load(GraphModule(Outer(), graph), "written_names")(10) == (11, 50, 70)


def test_plain_attributes_that_the_graph_reads(load: Any) -> None:
    root = nn.Module()
    root.part = nn.Module()
    root.factor, root.part.sizes = 2.5, [1, (2, None)]
    root.register_buffer("absent", None)
    graph = Graph()
    x = graph.placeholder("x")
    graph.output((x, *(graph.get_attr(name) for name in ("factor", "part.sizes", "absent"))))
    assert load(GraphModule(root, graph), "written_plain")(1) == (1, 2.5, [1, (2, None)], None)
    root.factor = object()
    with pytest.raises(GraphError, match="cannot be written as Python"):
        load(GraphModule(root, graph), "written_object")
