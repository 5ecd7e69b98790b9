"""The safetensors format over NumPy: named arrays and a little text in one file, with nothing in it that could run.

A file is eight bytes (the length of the header, little-endian), the header (JSON: name → dtype, shape, data_offsets,
and text under `__metadata__`), and the arrays one after another without gaps. The reader believes nothing: every size
is checked against the real size of the file before memory is asked for; what is not exactly right is a `FileError`.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import secrets
import stat
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, NoReturn

import numpy as np

from weft.errors import FileError

if TYPE_CHECKING:
    from pathlib import Path

Array = np.ndarray[Any, Any]

HEADER_LIMIT = 100_000_000  # bytes; other readers refuse longer headers too
MAX_DIMENSIONS = 32  # what every NumPy 2 can hold

DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}
_BFLOAT16 = "BF16"  # the upper half of a float32; NumPy has no such dtype, so it is read as float32, never written
_NAMES = {dtype: name for name, dtype in DTYPES.items()}


# How files that are taken for safetensors files begin, and what they are.
_FOREIGN = {
    b"PK\x03\x04": "a zip archive, as torch.save and numpy.savez write",
    b"\x80": "a pickle",
    b"\x93NUMPY": "an array that numpy.save wrote",
}
_ABANDONED = 3600.0  # seconds after which nobody is still writing a file


class Entry(NamedTuple):
    """One array as the header describes it."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int
    is_bfloat16: bool


def write(path: str | os.PathLike[str], arrays: Mapping[str, Array], metadata: Mapping[str, str] | None = None) -> None:
    """Write arrays and text to a file that appears whole or not at all.

    Arrays of any byte order and layout are written little-endian in C order. Complex arrays have no dtype that all
    readers of the format know; view them as pairs of floats first.
    """
    from pathlib import Path  # which takes long to import

    header, ordered = _encode(arrays, metadata or {})
    final = Path(os.path.realpath(path))
    if final.is_dir():
        raise IsADirectoryError(f"{os.fspath(path)} is a folder")
    if not final.parent.is_dir():
        raise FileNotFoundError(f"cannot write {os.fspath(path)}: there is no folder {final.parent}")
    # Opened directly, and not through tempfile, so that the file gets the permissions any new file would.
    partial = final.with_name(f"{_prefix(final)}{secrets.token_hex(8)}.tmp")
    try:
        with open(partial, "xb") as file:
            file.write(len(header).to_bytes(8, "little"))
            file.write(header)
            file.writelines(_bytes(np.asarray(array, _little(array.dtype), order="C")) for array in ordered)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, final)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    _sweep(final)


def read(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> tuple[dict[str, Array], dict[str, str]]:
    """Read all arrays and the text of a file, checking everything it says of itself."""
    if stat.S_ISFIFO(os.stat(path).st_mode):  # to open one is to wait for a writer
        _bad(path, "not a regular file")
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            _bad(path, "not a regular file")
        if max_bytes is not None and status.st_size > max_bytes:
            reason = f"{status.st_size} bytes are more than the limit of {max_bytes}"
            _bad(path, reason, "pass a larger max_bytes if you trust the file")
        entries, metadata, start = _read_header(path, file, status.st_size)
        arrays = {}
        for entry in entries:
            file.seek(start + entry.begin)
            array = np.empty(entry.shape, entry.dtype)
            if file.readinto(_bytes(array)) != array.nbytes:
                _bad(path, f"truncated: array {entry.name!r} is cut short")
            if entry.dtype == bool and array.size and array.view(np.uint8).max() > 1:
                _bad(path, f"array {entry.name!r} holds booleans other than 0 and 1")
            arrays[entry.name] = _widened(array) if entry.is_bfloat16 else array
    return arrays, metadata


def parse_json(text: str | bytes) -> Any:
    """Strict JSON: no duplicate keys, no NaN, no invalid text. Raises ValueError for whatever is wrong."""
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _encode(arrays: Mapping[str, Array], metadata: Mapping[str, str]) -> tuple[bytes, list[Array]]:
    """The header, padded so that the data is aligned, and the arrays in the order they are written."""
    if "__metadata__" in arrays:
        raise FileError("an array cannot be named '__metadata__': the format keeps that name for text")
    described: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    # The widest first: arrays follow each other without gaps, and so each one is aligned to its own item size.
    names = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    offset = 0
    for name in names:
        array = arrays[name]
        kind = _NAMES.get(_little(array.dtype))
        if kind is None:
            raise FileError(f"array {name!r} has dtype {array.dtype}, which the safetensors format cannot hold")
        if array.ndim > MAX_DIMENSIONS:
            raise FileError(f"array {name!r} has {array.ndim} dimensions, more than the {MAX_DIMENSIONS} allowed")
        described[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    header = json.dumps(described, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    if len(header) > HEADER_LIMIT:
        raise FileError(f"the header would take {len(header)} bytes; the safetensors format allows {HEADER_LIMIT}")
    return header, [arrays[name] for name in names]


def _refuse_text(path: Any, prefix: bytes) -> None:
    if " ".join(prefix.decode("utf-8", "ignore").split()).isprintable():
        help = "load reads what .save(path) wrote, nn.load_state what nn.save_state(path) wrote"
        _bad(path, "a text file, not one that was saved", help)


def _read_header(path: Any, file: BinaryIO, size: int) -> tuple[list[Entry], dict[str, str], int]:
    prefix = file.read(8)
    if not prefix:
        _bad(path, "an empty file")
    if len(prefix) < 8:
        _refuse_text(path, prefix)
        _bad(path, f"truncated: {len(prefix)} bytes are too few for a safetensors file")
    length = int.from_bytes(prefix, "little")
    if length > HEADER_LIMIT:
        kind = next((kind for start, kind in _FOREIGN.items() if prefix.startswith(start)), None)
        if kind is not None:
            help = "write it with safetensors.torch.save_file(model.state_dict(), path), or with weft's own save"
            if "numpy" in kind:
                help = f"numpy.load reads what NumPy wrote; {help}"
            _bad(path, f"not a safetensors file: it looks like {kind}", help)
        _refuse_text(path, prefix)
        _bad(path, f"not a safetensors file: its header would be longer than the {HEADER_LIMIT} bytes allowed")
    if length > size - 8:
        _bad(path, f"truncated: its header claims {length} bytes, the file has {size - 8} left")
    raw = file.read(length)
    if len(raw) != length:
        _bad(path, "truncated: the header is cut short")
    if not raw.startswith(b"{"):
        _bad(path, "its header is not a JSON object; not a safetensors file?")
    try:
        header = parse_json(raw.decode("utf-8"))
    except ValueError as error:  # UnicodeDecodeError and JSONDecodeError are both ValueErrors
        _bad(path, f"its header is not valid JSON: {_brief(error)}")
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        _bad(path, "__metadata__ in its header is not a table of texts")
    entries = sorted((_entry(path, name, value) for name, value in header.items()), key=lambda entry: entry[3:])
    _check_layout(path, entries, size - 8 - length)
    return entries, metadata, 8 + length


def _entry(path: Any, name: str, value: Any) -> Entry:
    """The description of one array, its numbers agreeing with each other."""
    if not isinstance(value, dict) or value.keys() != {"dtype", "shape", "data_offsets"}:
        _bad(path, f"array {name!r} is not described by dtype, shape and data_offsets")
    kind, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    is_bfloat16 = kind == _BFLOAT16
    dtype = np.dtype("<u2") if is_bfloat16 else DTYPES.get(kind) if isinstance(kind, str) else None
    if dtype is None:
        _bad(path, f"array {name!r} has unknown dtype {_brief(kind)}", f"known: {', '.join((*DTYPES, _BFLOAT16))}")
    if not _is_counts(shape) or len(shape) > MAX_DIMENSIONS:
        _bad(path, f"array {name!r} has an impossible shape {_brief(shape)}")
    if not _is_counts(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        _bad(path, f"array {name!r} has impossible data_offsets {_brief(offsets)}")
    # An empty array may claim any other dimension; NumPy counts that product in 64 bits all the same.
    if math.prod(dim or 1 for dim in shape) * dtype.itemsize >= 1 << 63:
        _bad(path, f"array {name!r} has an impossible shape {_brief(shape)}")
    needed = math.prod(shape) * dtype.itemsize
    given = offsets[1] - offsets[0]
    if given != needed:
        _bad(path, f"array {name!r}: {kind} of shape {tuple(shape)} takes {needed} bytes, data_offsets give {given}")
    return Entry(name, dtype, tuple(shape), offsets[0], offsets[1], is_bfloat16)


def _check_layout(path: Any, entries: Iterable[Entry], available: int) -> None:
    """The arrays fill the rest of the file exactly: no overlap, no gap, nothing behind them."""
    end = 0
    for entry in entries:
        if entry.begin != end:
            _bad(path, f"array {entry.name!r} begins at {entry.begin}, where {end} was expected")
        end = entry.end
        if end > available:
            _bad(path, f"truncated: array {entry.name!r} ends at byte {end} of the data, the file has {available}")
    if end != available:
        _bad(path, f"{available - end} bytes at the end belong to no array")


def _prefix(final: Path) -> str:
    return f".{final.name[:64]}."


def _sweep(final: Path) -> None:
    """Remove what writers of this file who were killed have left beside it."""
    import glob

    with contextlib.suppress(OSError):  # the file itself is written; the rest can wait for the next time
        now = final.stat().st_mtime  # the clock of the file system, which need not be ours
        for partial in final.parent.glob(glob.escape(_prefix(final)) + "[0-9a-f]" * 16 + ".tmp"):
            if now - partial.stat().st_mtime > _ABANDONED:
                partial.unlink(missing_ok=True)


def _widened(array: Array) -> Array:
    """Bits of bfloat16 as float32: the same numbers, exactly."""
    bits = array.astype("<u4")
    bits <<= 16
    return bits.view("<f4")


def _bytes(array: Array) -> Any:
    """The memory of a contiguous array, as bytes to read from or write to."""
    return array.reshape(-1).view(np.uint8)


def _is_counts(value: Any) -> bool:
    return isinstance(value, list) and all(type(item) is int and 0 <= item < 1 << 63 for item in value)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"key {_brief(twice)} appears twice")
    return table


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _little(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype.newbyteorder("<")


def _brief(value: object) -> str:
    text = str(value) if isinstance(value, Exception) else repr(value)
    return text if len(text) <= 80 else text[:77] + "…"


def _bad(path: Any, reason: str, help: str | None = None) -> NoReturn:
    raise FileError(f"{os.fspath(path)}: {reason}", help=help)
