"""Files written to reach further than arrays once loaded, or to take for ever to load: each refused, nothing run."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from weft import _safetensors, nn
from weft.errors import FileError
from weft.graph import Graph, GraphModule
from weft.graph._save import digest
from weft.ops import TABLE

Load = Callable[..., Any]
X = ["placeholder", "x", "x", [], {}, {}]
OUT = ["output", "output", "output", [[0]], {}, {}]
QR = "weft.ops.linalg_decompositions:QRResult"


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Writes a module whose graph has the given nodes, and loads it."""

    def load(
        *nodes: Any, below: tuple[Any, ...] = (), allow: tuple[Any, ...] = (), constants: Any = None, **parts: Any
    ) -> GraphModule:
        graphs: list[Any] = [{"nodes": [X, OUT]} for module in below if "graph" in module]
        graphs.append({"nodes": [X, *nodes, OUT], "constants": constants or {}})
        root = {"class": "weft.GraphModule", "training": True, "name": "G", "graph": len(graphs) - 1, **parts}
        empty: dict[str, Any] = {"strings": [], "places": [], "tensors": []}
        text = json.dumps(
            {
                "format": 1, "weft": "", "root": {"module": len(below)}, "ops": {"add": 1}, "graphs": graphs,
                "modules": [*below, root], **empty,
            }
        )  # fmt: skip
        _safetensors.write(tmp_path / "f", {}, {"weft": text, "weft_sha256": digest(text, {})})
        loaded: GraphModule = weft.load(tmp_path / "f", allow=allow)
        return loaded

    return load


def call(target: Any, *args: Any, name: str = "y", **kwargs: Any) -> list[Any]:
    return ["call_function", name, target, [*args], kwargs, {}]


def plain(**attributes: Any) -> dict[str, Any]:
    return {"class": "weft.Module", "training": True, "attributes": attributes}


@pytest.mark.parametrize("name", ["getattr", "sorted", "min", "max", "type", "bisect.insort_left", "numpy.ndarray"])
def test_functions_whose_calls_are_checked_are_not_handed_on(name: str, load: Load) -> None:
    """A module's `sum` that is getattr, or a named tuple's `Q`, would be called with anything."""
    function = {"function": name}
    read = ["get_attr", "m", "m", [], {}, {}]
    reach = ["call_method", "y", "sum", [[1], [0], "__class__"], {}, {}]
    with pytest.raises(FileError, match="handing it on was not allowed") as caught:
        load(read, reach, below=(plain(sum=function),), modules={"m": 0})
    assert "allow=['" in str(caught.value)
    for value in (function, {"tuple": [function]}, {"struct": [QR, [["Q", function], ["R", 1]]]}):
        with pytest.raises(FileError, match="handing it on was not allowed"):
            load(call("weft.add", [0], value))
    with pytest.raises(FileError, match="handing it on was not allowed"):
        load(constants={"c": function})


def test_types_may_be_compared_with(load: Load, tmp_path: Path) -> None:
    loaded = load(call("isinstance", [0], {"tuple": [{"function": "numpy.ndarray"}, {"function": "int"}]}))
    assert list(loaded.graph.nodes)[1].args[1] == (np.ndarray, int)
    with pytest.raises(FileError, match="handing it on"):
        load(call("isinstance", [0], {"function": "getattr"}))
    graph = Graph()
    graph.output(graph.call_function(TABLE["add"], (graph.placeholder("x"), np.ndarray)))
    graph.save(tmp_path / "g")
    assert list(weft.load(tmp_path / "g", allow=[np.ndarray]).nodes)[1].args[1] is np.ndarray


@pytest.mark.parametrize(
    "name", ["graph", "nodes", "gi_frame", "f_builtins", "f_globals", "eval", "flags", "base", "save", "format", "mro"]
)
def test_attributes_that_lead_away_from_arrays(name: str, load: Load) -> None:
    """`reversed(module.graph.nodes).gi_frame.f_builtins` needs no private name."""
    with pytest.raises(FileError, match="not known to be a harmless attribute") as caught:
        load(call("getattr", [0], name))
    assert f"allow=['.{name}']" in str(caught.value)
    assert list(load(call("getattr", [0], name), allow=(f".{name}",)).graph.nodes)[1].args[1] == name


@pytest.mark.parametrize("name", ["shape", "T", "dtype", "ndim", "real", "Q", "eigenvalues", "U", "start", "grad"])
def test_attributes_of_arrays_and_results(name: str, load: Load) -> None:
    load(call("getattr", [0], name))


@pytest.mark.parametrize("name", ["graph", "code", "forward", "save", "recompile", "_graph", "training", "_modules"])
def test_constants_do_not_stand_for_what_a_module_has(name: str, load: Load) -> None:
    with pytest.raises(FileError, match="which the module does not have"):
        load(["get_attr", "a", name, [], {}, {}], constants={name: 1})


def test_methods_take_no_key(load: Load) -> None:
    with pytest.raises(FileError, match="called with a key"):
        load(["call_method", "y", "max", [[0]], {"key": [0]}, {}])
    load(["call_method", "y", "best", [[0]], {"key": [0]}, {}], allow=(".best",))


@pytest.mark.parametrize("kind", ["Threshold", "MSELoss", "BatchNorm2d"])
def test_layers_do_not_read_attributes_a_file_names(kind: str, load: Load) -> None:
    """`Threshold.settings` names what is handed to its function: `__dict__`, of a file's choosing."""
    layer = {"class": f"weft.nn.{kind}", "training": True}
    for name in ("settings", "ranks"):
        if hasattr(getattr(nn, kind), name):
            with pytest.raises(FileError, match="cannot be held"):
                load(below=({**layer, "attributes": {name: {"tuple": ["__dict__"]}}},), modules={"m": 0})
    load(below=({**layer, "attributes": {"threshold": 1.0}},), modules={"m": 0})


@pytest.mark.parametrize("value", [{"function": "numpy.float32"}, {"spec": [[2], "<f4"]}, {"tuple": []}])
def test_buffers_are_arrays(value: Any, load: Load) -> None:
    with pytest.raises(FileError, match="is not one of buffers"):
        load(buffers={"b": value})


def test_facts_that_have_a_place_of_their_own(load: Load) -> None:
    for name in ("from", "nn_module_stack"):
        with pytest.raises(FileError, match="a place beside them"):
            load(["call_function", "y", "abs", [[0]], {}, {"meta": {name: 3}}])


def test_code_that_would_not_compile(load: Load) -> None:
    for node in (call("abs", [0], name="__debug__"), ["call_function", "y", "dict", [], {"__debug__": 1}, {}]):
        with pytest.raises(FileError, match="'__debug__' is not a name"):
            load(node)
    with pytest.raises(FileError, match="default value reads x"):
        load(["placeholder", "y", "y", [[0]], {}, {}])
    with pytest.raises(FileError, match="not a generic type"):
        load(["call_function", "y", "abs", [[0]], {}, {"type": {"generic": ["int", [{"class": "str"}]]}}])


def test_names_that_would_be_numbered_for_ever(load: Load) -> None:
    """`__0`, `__00`, … each set the count back, and each letter that is not ASCII begins to count again."""
    names = [f"__{i}" for i in range(1, 20_001)]
    for i in range(3000):
        names += [f"__{'0' * (i // 10 + 1)}{i % 10}", chr(0x4E00 + i)]
    start = time.process_time()
    loaded = load(*(call("abs", [0], name=name) for name in names))
    assert time.process_time() - start < 6  # counting takes five times as long
    assert [node.name for node in loaded.graph.nodes][1:-1] == names
    with pytest.raises(FileError, match="two nodes are named 'y'"):
        load(call("abs", [0]), call("abs", [0]))


def test_names_given_after_loading_are_new(load: Load) -> None:
    graph = load(call("abs", [0], name="add"), call("abs", [0], name="add_1"), call("abs", [0], name="sum")).graph
    with graph.inserting_before(graph.output_node()):
        made = [graph.call_function(TABLE[name], (1,)) for name in ("add", "add", "sum")]
    assert [node.name for node in made] == ["add_2", "add_3", "sum_1"]
    graph.lint()


def test_keys_of_one_hash(load: Load) -> None:
    """A dict of n keys of one hash takes n² steps to fill; here that would be minutes."""
    prime = (1 << 61) - 1
    keys = [{"int": hex(prime * (i + 1))} for i in range(30_000)]
    with pytest.raises(FileError, match="have the same hash"):
        load(call("weft.add", [0], {"dict": [[key, None] for key in keys]}))
    loaded = load(call("weft.add", [0], {"dict": [[i, None] for i in range(30_000)]}))
    assert list(loaded.graph.nodes)[1].args[1] == dict.fromkeys(range(30_000))


def test_many_attributes_read_many_times(load: Load) -> None:
    count = 12_000
    reads = [["get_attr", f"r{i}", f"a{i}", [], {}, {}] for i in range(count)]
    start = time.process_time()
    load(*reads, attributes={f"a{i}": i for i in range(count)})
    assert time.process_time() - start < 5


def test_numbers_too_long_for_decimal_print(load: Load) -> None:
    loaded = load(call("weft.add", [0], {"int": "0x" + "f" * 9000}, {"dict": [[{"int": "-0x" + "e" * 9000}, 1]]}))
    for text in (str(loaded.graph), loaded.code, loaded.print_readable(False)):
        assert "f" * 9000 in text
        assert "e" * 9000 in text


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="not a regular file"):
        weft.load(tmp_path / "pipe")
