"""The safetensors reader and writer, against the `safetensors` package both ways, and against files that lie."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open

from weft import _safetensors
from weft.errors import FileError

DTYPES = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"]
arrays = st.dictionaries(
    st.text(min_size=1, max_size=12).filter(lambda s: s != "__metadata__" and s.isprintable()),
    st.sampled_from(DTYPES).flatmap(lambda d: hnp.arrays(d, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0))),
    max_size=5,
)
surrogates = st.characters(blacklist_categories=("Cs",))
plain_metadata = st.dictionaries(st.text(surrogates, max_size=8), st.text(surrogates, max_size=30), max_size=3)


def same(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    return a.keys() == b.keys() and all(
        a[n].dtype == b[n].dtype and a[n].shape == b[n].shape and a[n].tobytes() == b[n].tobytes() for n in a
    )


def raw(header: Any, data: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("safetensors")


@given(arrays, plain_metadata)
@settings(max_examples=60, deadline=None)
def test_the_package_reads_what_weft_writes(folder: Path, values: dict[str, np.ndarray], texts: dict[str, str]) -> None:
    _safetensors.write(folder / "a", values, texts)
    assert same(safetensors.numpy.load_file(folder / "a"), values)
    with safe_open(folder / "a", "np") as file:
        assert (file.metadata() or {}) == texts


@given(arrays, plain_metadata)
@settings(max_examples=60, deadline=None)
def test_weft_reads_what_the_package_writes(folder: Path, values: dict[str, np.ndarray], texts: dict[str, str]) -> None:
    safetensors.numpy.save_file(values, folder / "b", texts or None)
    read, found = _safetensors.read(folder / "b")
    assert same(read, values)
    assert found == texts


def test_layout_and_byte_order_do_not_matter(tmp_path: Path) -> None:
    base = np.arange(24.0).reshape(2, 3, 4)
    values = {
        "transposed": base.T,
        "big": base.astype(">f8"),
        "strided": base[:, ::2, 1:3],
        "scalar": np.array(3, ">i2"),
    }
    _safetensors.write(tmp_path / "a", values)
    for read in (_safetensors.read(tmp_path / "a")[0], safetensors.numpy.load_file(tmp_path / "a")):
        assert all(np.array_equal(read[name], values[name]) for name in values)
        assert read["scalar"].shape == ()


def test_data_is_aligned(tmp_path: Path) -> None:
    _safetensors.write(
        tmp_path / "a", {"a": np.zeros(3, "u1"), "b": np.zeros(5, "f8"), "c": np.zeros(1, "f4")}, {"t": "xyz"}
    )
    assert os.listdir(tmp_path) == ["a"]
    content = (tmp_path / "a").read_bytes()
    length = int.from_bytes(content[:8], "little")
    assert length % 8 == 0
    header = json.loads(content[8 : 8 + length])
    for name, size in (("a", 1), ("b", 8), ("c", 4)):
        assert header[name]["data_offsets"][0] % size == 0


F4 = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
LIES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "an empty file"),
    "cut prefix": (b"\x08\0\0", "too few"),
    "cut header": (raw({"a": F4}, length=500), "truncated"),
    "huge header": (raw({"a": F4}, length=1 << 62), "100000000"),
    "not an object": (raw(b"[]      "), "not a JSON object"),
    "leading space": (raw(b' {"a": 1}'), "not a JSON object"),
    "not JSON": (raw(b'{"a": '), "not valid JSON"),
    "not UTF-8": (raw(b'{"a\xff": 1}'), "not valid JSON"),
    "NaN": (raw(b'{"a": NaN}'), "not valid JSON"),
    "trailing text": (raw(b"{} {}"), "not valid JSON"),
    "deep": (raw(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"), "deeply"),
    "long number": (raw(b'{"a": ' + b"9" * 10_000 + b"}"), "not valid JSON"),
    "twice": (raw(b'{"a": 1, "a": 2}'), "appears twice"),
    "twice inside": (raw(b'{"a": {"dtype": "F32", "dtype": "F64", "shape": [], "data_offsets": [0, 4]}}'), "twice"),
    "metadata list": (raw({"__metadata__": []}), "not a table of texts"),
    "metadata number": (raw({"__metadata__": {"a": 1}}), "not a table of texts"),
    "no fields": (raw({"a": {}}), "described by"),
    "extra field": (raw({"a": {**F4, "x": 1}}, bytes(8)), "described by"),
    "not a table": (raw({"a": 3}), "described by"),
    "dtype": (raw({"a": {**F4, "dtype": "F128"}}, bytes(8)), "unknown dtype"),
    "dtype list": (raw({"a": {**F4, "dtype": []}}, bytes(8)), "unknown dtype"),
    "negative shape": (raw({"a": {**F4, "shape": [-2]}}, bytes(8)), "impossible shape"),
    "true shape": (raw({"a": {**F4, "shape": [True]}}, bytes(4)), "impossible shape"),
    "float shape": (raw({"a": {**F4, "shape": [2.0]}}, bytes(8)), "impossible shape"),
    "many dimensions": (raw({"a": {**F4, "shape": [1] * 80}}, bytes(4)), "impossible shape"),
    "overflow": (raw({"a": {**F4, "shape": [1 << 40, 1 << 40]}}, bytes(8)), "impossible shape"),
    "overflow to zero": (
        raw({"a": {**F4, "shape": [0, 1 << 62, 1 << 62], "data_offsets": [0, 0]}}),
        "impossible shape",
    ),
    "wraps": (raw({"a": {**F4, "shape": [1 << 62, 4, 2]}}, bytes(8)), "impossible shape"),
    "too few bytes": (raw({"a": {**F4, "data_offsets": [0, 4]}}, bytes(4)), "takes 8 bytes"),
    "backwards": (raw({"a": {**F4, "data_offsets": [8, 0]}}, bytes(8)), "impossible data_offsets"),
    "three offsets": (raw({"a": {**F4, "data_offsets": [0, 8, 8]}}, bytes(8)), "impossible data_offsets"),
    "gap": (raw({"a": {**F4, "data_offsets": [4, 12]}}, bytes(12)), "where 0 was expected"),
    "overlap": (raw({"a": F4, "b": {**F4, "data_offsets": [4, 12]}}, bytes(12)), "where 8 was expected"),
    "beyond the end": (raw({"a": F4}, bytes(4)), "truncated"),
    "claims terabytes": (
        raw({"a": {"dtype": "U8", "shape": [1 << 42], "data_offsets": [0, 1 << 42]}}, b"x"),
        "truncated",
    ),
    "more behind": (raw({"a": F4}, bytes(9)), "belong to no array"),
    "booleans": (raw({"a": {"dtype": "BOOL", "shape": [2], "data_offsets": [0, 2]}}, b"\1\2"), "other than 0 and 1"),
}


@pytest.mark.parametrize("name", LIES)
def test_a_file_that_lies_is_refused(name: str, tmp_path: Path) -> None:
    content, expected = LIES[name]
    path = tmp_path / "lie"
    path.write_bytes(content)
    with pytest.raises(FileError, match=expected) as caught:
        _safetensors.read(path)
    assert str(path) in str(caught.value)


FOREIGN = {
    "zip": (b"PK\x03\x04\x2d\0\x08\x08" + bytes(100), "a zip archive"),
    "pickle": (b"\x80\x04\x95\x0b\0\0\0\0" + bytes(100), "a pickle"),
    "npy": (b"\x93NUMPY\x01\0" + bytes(100), "an array that numpy.save wrote"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_of_another_kind_is_named(name: str, tmp_path: Path) -> None:
    content, kind = FOREIGN[name]
    path = tmp_path / "model.pt"
    path.write_bytes(content)
    with pytest.raises(FileError, match=f"not a safetensors file: .* {kind}.*\n  help: .*save_file") as caught:
        _safetensors.read(path)
    assert str(path) in str(caught.value)


def test_bfloat16_is_read_as_float32(tmp_path: Path) -> None:
    """Its values are the float32 ones whose lower half is zero: 1, -2.5, the largest below infinity, and infinity."""
    bits = np.array([0x3F80, 0xC020, 0x7F7F, 0x7F80], "<u2")
    described = {
        "a": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]},
        "b": {"dtype": "BF16", "shape": [], "data_offsets": [8, 10]},
        "c": {"dtype": "BF16", "shape": [0, 3], "data_offsets": [10, 10]},
    }
    (tmp_path / "file").write_bytes(raw(described, bits.tobytes() + bits[1:2].tobytes()))
    arrays, _ = _safetensors.read(tmp_path / "file")
    assert {name: (array.dtype, array.shape) for name, array in arrays.items()} == {
        "a": (np.float32, (2, 2)),
        "b": (np.float32, ()),
        "c": (np.float32, (0, 3)),
    }
    np.testing.assert_array_equal(arrays["a"], [[1, -2.5], [3.3895313892515355e38, np.inf]])
    assert arrays["b"] == -2.5


def test_what_killed_writers_left_is_removed_an_hour_later(tmp_path: Path) -> None:
    now = time.time()
    left = {".model.0123456789abcdef.tmp": 4000, ".model.fedcba9876543210.tmp": 60, ".other.0123456789abcdef.tmp": 4000}
    for name, age in {**left, ".model.notes.tmp": 4000}.items():
        (tmp_path / name).write_bytes(b"")
        os.utime(tmp_path / name, (now - age, now - age))
    _safetensors.write(tmp_path / "model", {"a": np.zeros(2)})
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".model.fedcba9876543210.tmp",  # somebody may be writing it
        ".model.notes.tmp",
        ".other.0123456789abcdef.tmp",
        "model",
    ]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*missing$"):
        _safetensors.write(tmp_path / "missing" / "model", {"a": np.zeros(2)})


def test_size_is_limited(tmp_path: Path) -> None:
    _safetensors.write(tmp_path / "a", {"a": np.zeros(1000)})
    size = (tmp_path / "a").stat().st_size
    _safetensors.read(tmp_path / "a", max_bytes=size)
    with pytest.raises(FileError, match="more than the limit"):
        _safetensors.read(tmp_path / "a", max_bytes=size - 1)


def test_pipes_and_folders_are_refused(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    try:
        with pytest.raises(FileError, match="not a regular file"):
            _safetensors.read(f"/dev/fd/{reader}")
    finally:
        os.close(reader)
        os.close(writer)
    with pytest.raises(IsADirectoryError):
        _safetensors.read(tmp_path)
    with pytest.raises(IsADirectoryError):
        _safetensors.write(tmp_path, {})


@pytest.mark.parametrize("array", [np.zeros(2, complex), np.array(["a"]), np.array([object()]), np.zeros(2, "M8[s]")])
def test_what_cannot_be_written_leaves_the_file_alone(tmp_path: Path, array: np.ndarray) -> None:
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(FileError, match="cannot hold"):
        _safetensors.write(tmp_path / "a", {"fine": np.zeros(3), "bad": array})
    assert (tmp_path / "a").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_reserved_names_and_long_headers_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileError, match="__metadata__"):
        _safetensors.write(tmp_path / "a", {"__metadata__": np.zeros(1)})
    monkeypatch.setattr(_safetensors, "HEADER_LIMIT", 64)
    with pytest.raises(FileError, match="header would take"):
        _safetensors.write(tmp_path / "a", {"a": np.zeros(1)}, {"text": "x" * 64})
    assert os.listdir(tmp_path) == []


def test_a_failing_write_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"old")

    def full(*args: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        _safetensors.write(tmp_path / "a", {"a": np.zeros(1)})
    assert (tmp_path / "a").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_links_are_followed_and_permissions_are_ordinary(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    _safetensors.write(tmp_path / "link", {"a": np.zeros(1)})
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").exists()
    (tmp_path / "ordinary").write_bytes(b"")
    assert (tmp_path / "real").stat().st_mode == (tmp_path / "ordinary").stat().st_mode
