"""`save_state` and `load_state`: what is read is what was written, and a file is whole or not there."""

from __future__ import annotations

import collections
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as stnp

import weft
from weft import _safetensors, nn
from weft.errors import FileError


def same(a: Any, b: Any) -> bool:
    """Equal in type, structure, order of keys, and to the last bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return same(list(a), list(b)) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, (weft.Tensor, np.ndarray, np.generic)):
        one, other = np.asarray(a), np.asarray(b)
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    return repr(a) == repr(b)  # tells -0.0 from 0.0, and NaN is NaN


def there_and_back(state: Any, folder: Path) -> Any:
    nn.save_state(folder / "state", state)
    return nn.load_state(folder / "state")


DTYPES = [np.float16, np.float32, np.float64, np.complex64, np.complex128, np.bool_, np.int8, np.uint64, np.int64]
arrays = st.sampled_from(DTYPES).flatmap(
    lambda d: stnp.arrays(d, stnp.array_shapes(min_dims=0, min_side=0, max_side=3))
)
plain = st.none() | st.booleans() | st.integers() | st.floats() | st.complex_numbers() | st.text()
keys = st.text() | st.integers() | st.floats(allow_nan=False) | st.booleans() | st.none()
trees = st.recursive(
    plain | arrays | arrays.map(weft.Tensor) | arrays.map(lambda a: a.reshape(-1)[0] if a.size else None),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(keys | st.tuples(keys, keys), inner, max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(trees)
def test_any_structure_comes_back(tmp_path_factory: pytest.TempPathFactory, tree: Any) -> None:
    assert same(there_and_back(tree, tmp_path_factory.getbasetemp()), tree)


@pytest.mark.parametrize(
    "state",
    [
        {"a": {"b": weft.tensor([1.0])}, "a.b": weft.tensor([2.0]), "a.b_": weft.tensor([3.0])},
        {"__metadata__": np.ones(2), "": weft.tensor(1.0), "weft.state": np.zeros(1)},
        {0: "int", "0": "text", 0.5: "float", None: "none", (1, "a"): "tuple"},
        [1, 1.0, True, -0.0, float("nan"), float("-inf"), 10**30, -(2**63), 2**63, 1e-320, 0.1 + 0.2],
        {"tensor": 1, "dict": {"dict": []}, "tuple": ()},
        weft.tensor([1 + 2j]),
        np.float32(0.1),
        np.ones((0, 3), np.complex64),
        "text with \ud800 and \x00",
        None,
    ],
    ids=repr,
)
def test_corners(state: Any, tmp_path: Path) -> None:
    assert same(there_and_back(state, tmp_path), state)


def test_layouts_and_special_kinds_come_back_plain(tmp_path: Path) -> None:
    x = np.arange(6.0).reshape(2, 3)
    state = {
        "transposed": x.T,
        "reversed": x[:, ::-1],
        "big-endian": x.astype(">f8"),
        "parameter": nn.Parameter(x),
        "counter": collections.Counter({3: 2}),
        "ordered": collections.OrderedDict(b=1, a=2),
    }
    got = there_and_back(state, tmp_path)
    assert np.array_equal(got["transposed"], x.T) and np.array_equal(got["reversed"], x[:, ::-1])
    assert np.array_equal(got["big-endian"], x)
    assert type(got["parameter"]) is weft.Tensor and not got["parameter"].requires_grad
    assert got["counter"] == {3: 2} and type(got["counter"]) is dict
    assert list(got["ordered"]) == ["b", "a"]


def test_loaded_arrays_can_be_written_to(tmp_path: Path) -> None:
    got = there_and_back({"x": np.ones(3), "z": np.ones(2, complex)}, tmp_path)
    got["x"][0] = got["z"][0] = 5
    assert got["x"][0] == got["z"][0] == 5


def test_a_models_state_is_an_ordinary_safetensors_file(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    nn.save_state(tmp_path / "ours", model.state_dict())
    read = load_file(tmp_path / "ours")
    assert read.keys() == model.state_dict().keys()
    assert all(np.array_equal(read[name], value.numpy()) for name, value in model.state_dict().items())
    save_file(read, tmp_path / "theirs")
    fresh = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    fresh.load_state_dict(nn.load_state(tmp_path / "theirs"))
    assert same(fresh.state_dict(), model.state_dict())


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"model": {"hook": abs}}, "save_state: cannot save model.hook: builtin_function_or_method is no tensor"),
        ([1, {2}], "cannot save 1: set"),
        ({"x": np.array(["a"])}, "cannot save x: its dtype is <U1"),
        ({"x": {b"k": 1}}, "cannot save x: its key b'k' is no string or number"),
        (collections.namedtuple("Point", "x y")(1, 2), "cannot save a value: Point"),
    ],
)
def test_what_cannot_be_saved_leaves_no_file(state: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(TypeError) as raised:
        nn.save_state(tmp_path / "state", state)
    assert message in str(raised.value)
    assert os.listdir(tmp_path) == []


def test_what_to_write_instead(tmp_path: Path) -> None:
    layer = nn.Linear(2, 2)
    with pytest.raises(TypeError, match=r"cannot save net: Linear is a module; save its net\.state_dict\(\)"):
        nn.save_state(tmp_path / "state", {"net": layer})
    with pytest.raises(TypeError, match=r"Linear is a module; save its state_dict\(\)"):
        nn.save_state(tmp_path / "state", layer)
    with pytest.raises(TypeError, match=r"the path comes first: save_state\(path, state\), got dict"):
        nn.save_state(layer.state_dict(), tmp_path / "state")  # type: ignore[arg-type]  # the mistake
    assert os.listdir(tmp_path) == []


def test_a_structure_that_contains_itself(tmp_path: Path) -> None:
    state: list[Any] = []
    state.append(state)
    with pytest.raises(ValueError, match="contains itself"):
        nn.save_state(tmp_path / "state", state)


@pytest.mark.parametrize("when", ["write", "replace"])
def test_a_save_that_fails_leaves_the_file_before_it(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nn.save_state(tmp_path / "state", {"epoch": 1, "x": np.ones(1000)})

    def fail(*args: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(*((_safetensors, "_bytes") if when == "write" else (os, "replace")), fail)
    with pytest.raises(KeyboardInterrupt):
        nn.save_state(tmp_path / "state", {"epoch": 2, "x": np.zeros(1000)})
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["state"]
    assert nn.load_state(tmp_path / "state")["epoch"] == 1


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"tensor": "nowhere"}, "nowhere"),
        ({"tensor": 3}, ""),
        ({"tensor": ["x", "complex"]}, "holds no pairs of floats"),
        ({"code": "print(1)"}, "unknown kind 'code'"),
        ({"tuple": [], "dict": []}, "an object with 2 entries"),
        ({"dict": [["a", 1], ["a", 2]]}, "a key appears twice"),
        ({"dict": [[["a"], 1]]}, "unhashable"),
        ({"dict": [["a"]]}, ""),
        ({"dict": 3}, ""),
        ({"float": "x"}, "could not convert"),
        ({"int": 3}, ""),
    ],
)
def test_a_damaged_tree(tree: Any, message: str, tmp_path: Path) -> None:
    text = json.dumps({"version": 1, "tree": tree})
    _safetensors.write(tmp_path / "state", {"x": np.ones(3)}, {"weft.state": text})
    with pytest.raises(FileError) as raised:
        nn.load_state(tmp_path / "state")
    assert "state: not a saved state: " in str(raised.value)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a saved state"),
        ("[1]", "no version and tree"),
        ('{"version": 2, "tree": 1}', "version 2, this weft reads version 1"),
        ('{"version": 1, "tree": NaN}', "NaN is not JSON"),
        ('{"version": 1, "tree": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
    ],
    ids=["empty", "list", "version", "nan", "deep"],
)
def test_damaged_text(text: str, message: str, tmp_path: Path) -> None:
    _safetensors.write(tmp_path / "state", {}, {"weft.state": text})
    with pytest.raises(FileError, match=message):
        nn.load_state(tmp_path / "state")


def test_truncated_and_too_large(tmp_path: Path) -> None:
    nn.save_state(tmp_path / "state", {"x": np.ones(100)})
    with pytest.raises(FileError, match="max_bytes"):
        nn.load_state(tmp_path / "state", max_bytes=100)
    whole = (tmp_path / "state").read_bytes()
    for length in range(0, len(whole), 37):
        (tmp_path / "part").write_bytes(whole[:length])
        with pytest.raises(FileError):
            nn.load_state(tmp_path / "part")
    with pytest.raises(FileNotFoundError):
        nn.load_state(tmp_path / "none")
