"""Files that are damaged or lie on purpose: one FileError each, nothing run, never a silently different graph."""

from __future__ import annotations

import copy
import json
import operator
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import weft
from weft import _safetensors, nn
from weft.errors import FileError
from weft.graph import Graph, GraphModule
from weft.graph._save import digest
from weft.ops import TABLE

Same = Callable[[Graph, Graph], None]

_watched: list[str] | None = None


def _audit(event: str, args: Any) -> None:
    if _watched is not None and event in ("exec", "compile", "os.system", "subprocess.Popen", "import", "os.remove"):
        _watched.append(f"{event} {args!r:.100}")


sys.addaudithook(_audit)


@pytest.fixture
def nothing_runs() -> Iterator[None]:
    """Fails a test during which code was compiled, executed or imported, or a process started."""
    global _watched
    _watched = []
    yield
    events, _watched = _watched, None
    assert events == []


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.scale = nn.Parameter(np.array([1.0, 2.0]))
        self.register_buffer("shift", np.array([1, 2]))

    def forward(self, x: Any) -> Any:
        h = weft.relu(self.linear(x)) * self.scale
        return {"h": h.sum(-1), "shape": x.shape, "s": h[..., 0] + self.shift}


def simple() -> Graph:
    graph = Graph()
    x = graph.placeholder("x", int)
    y = graph.call_function(TABLE["add"], (x, (1.5, np.arange(3.0))), {"out": None})
    z = graph.call_function(getattr, (y, "shape"))
    w = graph.call_method("sum", (y,), {"axis": 0})
    graph.output((z, w, slice(None, 2)))
    return graph


@pytest.fixture(scope="module")
def module() -> GraphModule:
    return weft.symbolic_trace(Small())


class Files:
    """Rewrites the structure of a saved file, digest and all."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "g.weft"

    def structure(self, what: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        what.save(self.path)
        arrays, metadata = _safetensors.read(self.path)
        return json.loads(metadata["weft"]), arrays

    def write(self, structure: Any, arrays: dict[str, Any]) -> None:
        text = structure if isinstance(structure, str) else json.dumps(structure)
        _safetensors.write(self.path, arrays, {"weft": text, "weft_sha256": digest(text, arrays)})

    def refused(self, structure: Any, arrays: dict[str, Any], expected: str, **options: Any) -> str:
        self.write(structure, arrays)
        with pytest.raises(FileError, match=expected) as caught:
            weft.load(self.path, **options)
        assert str(self.path) in str(caught.value)
        return str(caught.value)


@pytest.fixture
def files(tmp_path: Path, module: GraphModule) -> Files:
    module.save(tmp_path / "warm")  # so that everything loading imports is there
    weft.load(tmp_path / "warm")
    return Files(tmp_path)


NAMES = ["", "x y", "x;y", "x\n", "def", "1x", "__import__('os')", "a.b", "x" * 2000, 3, None, ["x"], "x=1, y"]
TARGETS = [
    "eval", "builtins.eval", "os:system", "posix:system", "numpy.load", "numpy:load", "operator.attrgetter",
    "operator.call", "weft.nope", "weft.graph._save:save", "weft.ops.linalg_decompositions:np", "weft", "", ":",
    "a:b:c", "os:system()", 3, None, "sys:modules", "numpy.ndarray", "typing.Any", "../x:y", "builtins:getattr",
]  # fmt: skip
METHODS = [
    "__class__",
    "__reduce__",
    "_x",
    "tofile",
    "dump",
    "dumps",
    "setflags",
    "format",
    "__call__",
    "x.y",
    "",
    "nope()",
    3,
    None,
]
ATTRIBUTES = [
    "__class__",
    "_x",
    "__globals__",
    "",
    "tofile",
    "dump",
    "sum",
    "ctypes",
    "base",
    "a.b",
    "a-b",
    3,
    [0],
    None,
]
VALUES = [
    [], [0, 1], [1], [5], [-1], [True], [0.0], ["0"], [[0]], {}, {"a": 1, "tuple": []}, {"nope": 1}, {"tuple": 3},
    {"tuple": None}, {"list": {}}, {"dict": [[1]]}, {"dict": [[[0], 1]]}, {"dict": [[1, 2], [1, 3]]}, {"dict":
    [[{"list": []}, 1]]}, {"slice": [1]}, {"range": [0, 1, 0]}, {"range": [0, 1.5, 1]}, {"range": [[0], 1, 1]}, {"int":
    "zz"}, {"int": 3}, {"float": "1"}, {"float": 3}, {"float": "NaN"}, {"complex": [1, 2]}, {"complex": [1.0]},
    {"bytes": "***"}, {"bytes": 1}, {"dtype": "O"}, {"dtype": "object"}, {"dtype": "<U3"}, {"dtype": 3}, {"dtype":
    "f4,f4"}, {"scalar": ["<f4", "00"]}, {"scalar": ["|b1", "05"]}, {"scalar": ["O", "00" * 8]}, {"array": ["nope",
    "<f8"]}, {"array": ["nodes.add", "<f4"]}, {"array": ["nodes.add", "<c16"]}, {"array": "nodes.add"}, {"tensor": 0},
    {"tensor": -1}, {"spec": [[-1], "<f4"]}, {"spec": [[1.5], "<f4"]}, {"spec": [3, "<f4"]}, {"function": "os:system"},
    {"function": 1}, {"struct": ["os:stat_result", []]}, {"struct": ["weft.ops.linalg_decompositions:QRResult", []]},
    {"struct": ["int", []]}, {"struct": ["weft.Spec", [["shape", 1]]]}, {"enum": ["int", "x"]}, {"enum":
    ["re:RegexFlag", "A"]},
]  # fmt: skip
HUGE = "[" * 200_000


def replaced(structure: Any, path: list[Any], value: Any) -> Any:
    result = copy.deepcopy(structure)
    at = result
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return result


@pytest.mark.parametrize("name", NAMES, ids=lambda n: f"{str(n)[:20]!a}")
def test_names_that_would_become_code(name: Any, files: Files, nothing_runs: None) -> None:
    structure, arrays = files.structure(simple())
    files.refused(replaced(structure, ["graphs", 0, "nodes", 1, 1], name), arrays, "is not a name")
    files.refused(replaced(structure, ["graphs", 0, "nodes", 0, 2], name), arrays, "is not a name|is not text")
    if isinstance(name, str):
        files.refused(replaced(structure, ["graphs", 0, "nodes", 1, 4], {name: 1}), arrays, "is not a name")
    for stars in ("***x", "* x", "*"):
        files.refused(replaced(structure, ["graphs", 0, "nodes", 0, 2], stars), arrays, "is not a name")


@pytest.mark.parametrize("target", TARGETS, ids=lambda n: f"{n!a}")
def test_functions_a_file_may_not_name(target: Any, files: Files, nothing_runs: None) -> None:
    structure, arrays = files.structure(simple())
    files.refused(replaced(structure, ["graphs", 0, "nodes", 1, 2], target), arrays, "node add: ")


@pytest.mark.parametrize("method", METHODS, ids=lambda n: f"{n!a}")
def test_methods_a_file_may_not_call(method: Any, files: Files, nothing_runs: None) -> None:
    structure, arrays = files.structure(simple())
    files.refused(replaced(structure, ["graphs", 0, "nodes", 3, 2], method), arrays, "harmless method")


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda n: f"{n!a}")
def test_attributes_a_file_may_not_read(attribute: Any, files: Files, nothing_runs: None) -> None:
    structure, arrays = files.structure(simple())
    files.refused(replaced(structure, ["graphs", 0, "nodes", 2, 3, 1], attribute), arrays, "getattr")


def test_functions_that_call_what_they_are_given(files: Files, nothing_runs: None) -> None:
    structure, arrays = files.structure(simple())
    for function in ("sorted", "min", "max", "bisect.bisect_left", "bisect.insort_right"):
        changed = replaced(
            structure, ["graphs", 0, "nodes", 2], ["call_function", "s", function, [[0]], {"key": [1]}, {}]
        )
        files.refused(changed, arrays, "called with a key")
    changed = replaced(structure, ["graphs", 0, "nodes", 3], ["call_method", "s", "sort", [[0]], {"key": [1]}, {}])
    files.refused(changed, arrays, "called with a key")
    changed = replaced(
        structure, ["graphs", 0, "nodes", 2], ["call_function", "s", "getattr", [[0]], {"name": "x"}, {}]
    )
    files.refused(changed, arrays, "getattr")
    changed = replaced(
        structure, ["graphs", 0, "nodes", 2], ["call_function", "s", "type", ["A", {"tuple": []}, [0]], {}, {}]
    )
    files.refused(changed, arrays, "would make a class")


@pytest.mark.parametrize("value", VALUES, ids=lambda v: f"{v!a}"[:50])
def test_values_that_are_not(value: Any, files: Files, nothing_runs: None) -> None:
    structure, arrays = files.structure(simple())
    files.refused(replaced(structure, ["graphs", 0, "nodes", 1, 3, 0], value), arrays, "node add: ")
    files.refused(replaced(structure, ["graphs", 0, "nodes", 1, 4], {"k": {"tuple": [value]}}), arrays, "node add: ")


STRUCTURES: list[tuple[list[Any], Any, str]] = [
    (["format"], 3, "format 3; this version of weft reads formats up to 2: update weft"),
    (["format"], 2, "does not have the parts it should have"),
    (["format"], 1.0, "format 1.0"),
    (["format"], True, "format True"),
    (["format"], "1", "format '1'"),
    (["extra"], 1, "parts it should have"),
    (["ops"], {"nope": 1}, "op 'nope', which this version"),
    (["ops"], {"add": 2}, "version 2 of op 'add'"),
    (["ops"], {"add": "1"}, "version '1' of op"),
    (["ops"], {}, "missing from the file's table"),
    (["ops"], [], "should be dict"),
    (["root"], {"graph": 1}, "root is missing"),
    (["root"], {"module": 0}, "root is missing"),
    (["root"], None, "root is missing"),
    (["graphs"], [], "not used|root is missing"),
    (["graphs"], {}, "should be list"),
    (["graphs", 0], [], "should be dict"),
    (["graphs", 0], {}, "parts it should have"),
    (["graphs", 0, "more"], 1, "parts it should have"),
    (["graphs", 0, "nodes"], {}, "should be list"),
    (["graphs", 0, "nodes", 0], [], "6 parts"),
    (["graphs", 0, "nodes", 0, 0], "call", "not a kind of node"),
    (["graphs", 0, "nodes", 0, 0], [], "not valid"),
    (["graphs", 0, "nodes", 0, 0], "output", "target of an output"),
    (["graphs", 0, "nodes", 4, 0], "placeholder", "not valid|takes a default"),
    (["graphs", 0, "nodes", 1, 1], "x", "two nodes are named"),
    (["graphs", 0, "nodes", 1, 3], {}, "should be list"),
    (["graphs", 0, "nodes", 1, 4], [], "should be dict"),
    (["graphs", 0, "nodes", 1, 5], [], "should be dict"),
    (["graphs", 0, "nodes", 1, 5], {"who": 1}, "unknown kind"),
    (["graphs", 0, "nodes", 1, 5], {"at": 0}, "not in the table"),
    (["graphs", 0, "nodes", 1, 5], {"at": True}, "not in the table"),
    (["graphs", 0, "nodes", 1, 5], {"from": [["x", 7]]}, "not in the table"),
    (["graphs", 0, "nodes", 1, 5], {"from": [[7, None]]}, "should be str"),
    (["graphs", 0, "nodes", 1, 5], {"stack": [[0, 0]]}, "not in the table"),
    (["graphs", 0, "nodes", 1, 5], {"meta": {"type": {"spec": 1}}}, "2 parts"),
    (["graphs", 0, "nodes", 1, 5], {"meta": {"next": [4]}}, "does not come before"),
    (["graphs", 0, "nodes", 1, 5], {"type": {"class": "os:system"}}, "was not allowed"),
    (["graphs", 0, "nodes", 1, 5], {"type": {"class": "weft.add"}}, "not a type"),
    (["graphs", 0, "nodes", 1, 5], {"type": {"generic": ["abs", []]}}, "not a generic"),
    (["graphs", 0, "nodes", 1, 5], {"type": {"union": [{"class": "int"}]}}, "union"),
    (["graphs", 0, "nodes", 1, 5], {"type": {"union": ["a", "b"]}}, "union"),
    (["graphs", 0, "nodes", 1, 5], {"type": 3}, "unknown form"),
    (["graphs", 0, "inputs"], [["x", "y"], [None, None], []], "do not fit"),
    (["graphs", 0, "inputs"], [["x()"], [None], []], "is not a name"),
    (["graphs", 0, "inputs"], [["x"], [None], [[5, 1]]], "no leaf 5"),
    (["graphs", 0, "inputs"], [["x"], [["os:system", None, []]], []], "was not allowed"),
    (["graphs", 0, "inputs"], [["x"], [["abs", None, []]], []], "not a class"),
    (["graphs", 0, "inputs"], [["x"], [["dict", {"tuple": ["a"]}, []]], []], "does not fit its class"),
    (["graphs", 0, "inputs"], [["x"], [["int", None, []]], []], "does not fit its class"),
    (["graphs", 0, "constants"], {"__class__": 1}, "cannot be the name"),
    (["strings"], [3], "something else"),
    (["strings"], None, "should be list"),
    (["places"], [[0, 1, 1, 1, 1, 0, None, 0, 0]], "does not come before"),
    (["places"], [[0, 1, 1, 1, 1, 0, None, 0, None]], "not in the table"),
    (["places"], [[0, -1, 1, 1, 1, 0, None, 0, None]], "impossible numbers"),
    (["places"], [[0]], "9 parts"),
    (["tensors"], [["Tensor", "nope", "<f8", True]], "not in the file"),
    (["tensors"], [["Module", "nodes.add", "<f8", True]], "unknown kind"),
    (["tensors"], {}, "should be list"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "expected"), STRUCTURES, ids=lambda v: f"{v!a}"[:40])
def test_structures_that_are_not(path: list[Any], value: Any, expected: str, files: Files, nothing_runs: None) -> None:
    structure, arrays = files.structure(simple())
    files.refused(replaced(structure, path, value), arrays, expected)


MODULES: list[tuple[list[Any], Any, str]] = [
    (["modules", 0, "class"], "os:system", "was not allowed"),
    (["modules", 0, "class"], "weft.nn.Nope", "no op 'nn.Nope'"),
    (["modules", 0, "class"], "int", "not a class of modules"),
    (["modules", 0, "class"], "weft.nn.functional", "no op"),
    (["modules", 0, "class"], 3, "not text"),
    (["modules", 0, "training"], 1, "should be bool"),
    (["modules", 0, "what"], 1, "parts it should have"),
    (["modules", 0, "parameters", "weight"], 3, "is not one of parameters"),
    (["modules", 0, "parameters", "__class__"], None, "cannot be the name"),
    (["modules", 0, "parameters", "forward"], None, "cannot be held"),
    (["modules", 0, "buffers"], {"b": "text"}, "is not one of buffers"),
    (["modules", 0, "transient"], ["nope"], "does not exist"),
    (["modules", 0, "modules"], {"self": 0}, "does not come before"),
    (["modules", 0, "modules"], {"up": 1}, "does not come before"),
    (["modules", 0, "modules"], {"weight": None}, "held twice"),
    (["modules", 0, "attributes"], {"forward": {"function": "len"}}, "cannot be held"),
    (["modules", 0, "attributes"], {"__class__": 1}, "cannot be the name"),
    (["modules", 0, "attributes"], {"__dict__": 1}, "cannot be the name"),
    (["modules", 0, "attributes"], {"_modules": 1}, "cannot be held"),
    (["modules", 0, "attributes"], {"_forward_hooks": {"dict": []}}, "cannot be held"),
    (["modules", 0, "attributes"], {"_call": {"function": "len"}}, "cannot be held"),
    (["modules", 0, "attributes"], {"training": 3}, "cannot be held"),
    (["modules", 0, "attributes"], {"f": {"function": "os:system"}}, "was not allowed"),
    (["modules", 0, "graph"], 0, "not a GraphModule"),
    (["modules", 1, "graph"], 5, "no graph of its own"),
    (["modules", 1, "graph"], None, "no graph of its own"),
    (["modules", 1, "name"], "", "not one"),
    (["modules", 1, "name"], "a\nb", "not one"),
    (["modules", 1, "name"], 3, "should be str"),
    (["modules", 1, "attributes"], {"code": 1}, "cannot be held"),
    (["modules", 1, "attributes"], {"_graph": 1}, "cannot be held"),
    (["modules", 1, "modules"], {}, "which the module does not have"),
    (["modules", 1, "class"], "weft.Module", "not a GraphModule"),
    (["root"], {"module": 0}, "root is missing"),
    (["graphs", 0, "nodes", 1, 2], "linear.__class__", "cannot be the name"),
    (["graphs", 0, "nodes", 1, 2], "nope", "which the module does not have"),
    (["graphs", 0, "nodes", 3, 2], "code", "which the module does not have"),
    (["graphs", 0, "nodes", 3, 2], "_graph", "which the module does not have"),
    (["graphs", 0, "nodes", 3, 2], "linear._modules", "which the module does not have"),
    (["graphs", 0, "nodes", 3, 2], "linear..weight", "cannot be the name"),
    (["tensors", 0, 0], "Proxy", "unknown kind"),
    (["tensors", 0, 3], 1, "unknown kind"),
]


@pytest.mark.parametrize(("path", "value", "expected"), MODULES, ids=lambda v: f"{v!a}"[:40])
def test_modules_that_are_not(
    path: list[Any], value: Any, expected: str, files: Files, module: GraphModule, nothing_runs: None
) -> None:
    structure, arrays = files.structure(module)
    assert [part["class"] for part in structure["modules"]] == ["weft.nn.Linear", "weft.GraphModule"]
    assert structure["graphs"][0]["nodes"][1][0] == "call_module"
    assert structure["graphs"][0]["nodes"][3][0] == "get_attr"
    files.refused(replaced(structure, path, value), arrays, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "not valid"),
        ("{", "not valid"),
        (HUGE, "nested too deeply"),
        ("[]", "should be dict"),
        ("{}", "format None"),
        ('{"format": 1, "format": 1}', "appears twice"),
        ('{"format": NaN}', "NaN"),
        ('{"format": 1e999}', "format inf"),
        ('{"format": ' + "9" * 10_000 + "}", "not valid"),
        ("null", "should be dict"),
    ],
    ids=range(10),
)
def test_text_that_is_not_a_structure(text: str, expected: str, files: Files, nothing_runs: None) -> None:
    files.refused(text, {}, expected)


def test_deep_values_and_huge_numbers(files: Files, nothing_runs: None) -> None:
    structure, arrays = files.structure(simple())
    deep: Any = 1
    for _ in range(150):
        deep = {"tuple": [deep]}
    files.refused(replaced(structure, ["graphs", 0, "nodes", 1, 3, 0], deep), arrays, "nested more than")
    files.write(replaced(structure, ["graphs", 0, "nodes", 1, 3, 0], {"int": "0x" + "f" * 100_000}), arrays)
    assert list(weft.load(files.path).nodes)[1].args[0] == 16**100_000 - 1


def test_arrays_nobody_uses(files: Files, nothing_runs: None) -> None:
    structure, arrays = files.structure(simple())
    files.refused(structure, {**arrays, "stowaway": np.zeros(3)}, "'stowaway' is not used")


def test_files_of_others(files: Files, tmp_path: Path) -> None:
    _safetensors.write(files.path, {"a": np.zeros(3)}, {"format": "pt"})
    with pytest.raises(FileError, match="a safetensors file of weights, no graph"):
        weft.load(files.path)
    files.path.write_bytes(b"PK\3\4 something else entirely")
    with pytest.raises(FileError, match="not a safetensors file"):
        weft.load(files.path)
    with pytest.raises(FileNotFoundError):
        weft.load(tmp_path / "nowhere")


def test_the_digest_covers_structure_and_arrays(files: Files) -> None:
    structure, arrays = files.structure(simple())
    text = json.dumps(structure)
    right = digest(text, arrays)
    altered = {name: array + 1 for name, array in arrays.items()}
    renamed = {name + "x": array for name, array in arrays.items()}
    reshaped = {name: array[None] for name, array in arrays.items()}
    for some_text, some_arrays in (
        (text + " ", arrays),
        (text, altered),
        (text, renamed),
        (text, reshaped),
        (text, {}),
    ):
        _safetensors.write(files.path, some_arrays, {"weft": some_text, "weft_sha256": right})
        with pytest.raises(FileError, match="damaged or altered"):
            weft.load(files.path)


def test_size_is_limited(files: Files) -> None:
    simple().save(files.path)
    size = files.path.stat().st_size
    weft.load(files.path, max_bytes=size)
    with pytest.raises(FileError, match="more than the limit"):
        weft.load(files.path, max_bytes=size - 1)


def mutations(content: bytes) -> Iterator[bytes]:
    """Flips at every byte, cuts at every length, insertions, deletions and swaps at many places."""
    rng = random.Random(0)
    for i in range(len(content)):
        yield content[:i] + bytes([content[i] ^ 1 << rng.randrange(8)]) + content[i + 1 :]
        yield content[:i]
    for i in range(0, len(content), 7):
        yield content[:i] + bytes([rng.randrange(256)]) + content[i:]
        yield content[:i] + content[i + rng.randrange(1, 9) :]
        j = rng.randrange(len(content))
        yield content[:i] + content[j : j + 16] + content[i + 16 :]
    yield content + b"\0"
    yield content + content


def test_no_damage_goes_unnoticed(files: Files, assert_same_graph: Same) -> None:
    graph = Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(operator.add, (x, np.array([1.5, 2.5]))))
    graph.save(files.path)
    content = files.path.read_bytes()
    refused = 0
    for damaged in mutations(content):
        if damaged == content:
            continue
        files.path.write_bytes(damaged)
        try:
            loaded = weft.load(files.path)
        except FileError:
            refused += 1
        else:  # such as a space in the padding turned into a tab
            assert_same_graph(graph, loaded)
    assert refused > 2 * len(content)


WORDS = ["weft.add", "add", "getattr", "os:system", "x", "__class__", "tuple", "output", "call_method", "<f8"]
TAGS = ["tuple", "list", "dict", "array", "struct", "function", "int", "x"]
numbers = st.integers(-3, 9) | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(max_size=5) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(TAGS), inner, max_size=2),
    max_leaves=8,
)


def paths_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield (*path, key)
        yield from paths_in(part, (*path, key))


@given(st.data())
@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_no_structure_gets_anything_but_a_sound_graph_or_a_file_error(
    files: Files, module: GraphModule, data: st.DataObject
) -> None:
    structure, arrays = files.structure(data.draw(st.sampled_from([simple(), module]), label="of"))
    for _ in range(data.draw(st.integers(1, 3))):
        paths = list(paths_in(structure))
        path = data.draw(st.sampled_from(paths), label="at")
        structure = replaced(structure, list(path), data.draw(json_values, label="becomes"))
    files.write(structure, arrays)
    try:
        loaded = weft.load(files.path)
    except FileError:
        return
    graph = loaded if isinstance(loaded, Graph) else loaded.graph
    graph.lint()
    compile(graph.python_code().src, "generated", "exec")
