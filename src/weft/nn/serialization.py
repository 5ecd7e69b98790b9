"""Checkpoints: a nested structure of tensors and plain values in one file that holds data only.

    nn.save_state("run.safetensors", {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3})
    state = nn.load_state("run.safetensors")

The file is in the safetensors format: each tensor stands under its path ("model.0.weight"), the structure as JSON in
the metadata. It appears whole or not at all, so a run that is killed while it saves leaves the file before it. Reading
one runs nothing of it. What is read equals what was written to the last bit.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from weft import _safetensors
from weft._frames import without_frames
from weft._module import Module
from weft.autograd import Tensor
from weft.errors import FileError

__all__ = ["load_state", "save_state"]

Array = np.ndarray[Any, Any]

_KEY = "weft.state"
_VERSION = 1
_PLAIN = (bool, str, type(None))
_JSON_INT = 1 << 63  # other readers of the metadata know no larger ones


@without_frames
def save_state(path: str | os.PathLike[str], state: Any) -> None:
    """Write a structure of dicts, lists and tuples around tensors, arrays, numbers, strings, booleans and None.

    Keys of dicts are strings, numbers, booleans, None, or tuples of them. Of tensors the values are saved, and nothing
    else; dicts, lists and tuples of special kinds come back plain.

    >>> import os, tempfile, weft
    >>> path = os.path.join(tempfile.mkdtemp(), "state.safetensors")
    >>> save_state(path, {"weights": weft.tensor([1.0, 2.0]), 7: (None, "text", 0.1)})
    >>> load_state(path)
    {'weights': tensor([1., 2.]), 7: (None, 'text', 0.1)}
    """
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(f"the path comes first: save_state(path, state), got {type(path).__name__}")
    arrays: dict[str, Array] = {}
    try:
        tree = _encode(state, "", arrays)
    except RecursionError:
        raise ValueError("save_state: nested too deeply, or the structure contains itself") from None
    _safetensors.write(path, arrays, {_KEY: json.dumps({"version": _VERSION, "tree": tree}, allow_nan=False)})


@without_frames
def load_state(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> Any:
    """Read what `save_state` wrote; of any other safetensors file, a dict of its tensors by name.

    bfloat16, which NumPy lacks, is read as float32. A file that is damaged, or larger than `max_bytes`, is a
    `FileError`.
    """
    arrays, metadata = _safetensors.read(path, max_bytes=max_bytes)
    if "weft" in metadata:
        raise FileError(f"{os.fspath(path)}: a graph or a function, not a saved state", help="weft.load reads it")
    if _KEY not in metadata:
        return {name: Tensor(array) for name, array in arrays.items()}
    try:
        saved = _safetensors.parse_json(metadata[_KEY])
        if not isinstance(saved, dict) or saved.keys() != {"version", "tree"}:
            raise ValueError("no version and tree")
        if saved["version"] != _VERSION:
            raise ValueError(f"version {saved['version']!r}, this weft reads version {_VERSION}")
        return _decode(saved["tree"], arrays)
    except RecursionError:
        raise FileError(f"{os.fspath(path)}: not a saved state: nested too deeply") from None
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"{os.fspath(path)}: not a saved state: {error}") from None


# A structure as JSON: null, booleans, strings, small ints, finite floats and lists are themselves; anything else is an
# object with one entry, whose key says what it is.


def _encode(value: Any, path: str, arrays: dict[str, Array]) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is int:
        return value if -_JSON_INT <= value < _JSON_INT else {"int": hex(value)}
    if kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if kind is complex:
        return {"complex": [_encode(value.real, path, arrays), _encode(value.imag, path, arrays)]}
    if kind is list:
        return [_encode(part, _below(path, i), arrays) for i, part in enumerate(value)]
    if kind is tuple:
        return {"tuple": [_encode(part, _below(path, i), arrays) for i, part in enumerate(value)]}
    if isinstance(value, dict):
        return {"dict": [[_key(k, path), _encode(v, _below(path, k), arrays)] for k, v in value.items()]}
    if isinstance(value, Tensor):
        return {"tensor": _store(value.numpy(), path, arrays)}
    if isinstance(value, np.ndarray):
        return {"array": _store(value, path, arrays)}
    if isinstance(value, np.generic):
        return {"scalar": _store(np.asarray(value), path, arrays)}
    if isinstance(value, Module):
        name = _below(path, "state_dict()") if path else "state_dict()"
        raise TypeError(f"save_state: cannot save {path or 'a value'}: {kind.__name__} is a module; save its {name}")
    raise TypeError(
        f"save_state: cannot save {path or 'a value'}: {kind.__name__} is no tensor, container or plain value"
    )


def _key(key: Any, path: str) -> Any:
    parts = key if type(key) is tuple else (key,)
    if not all(type(part) in (*_PLAIN, int, float) for part in parts):
        raise TypeError(f"save_state: cannot save {path or 'a dict'}: its key {key!r} is no string or number")
    return _encode(key, path, {})


def _below(path: str, key: Any) -> str:
    return f"{path}.{key}" if path else str(key)


def _store(array: Array, path: str, arrays: dict[str, Array]) -> Any:
    """Keep an array under its path, or a name made from it where that is taken; complex ones as pairs of floats."""
    if array.dtype.kind not in "biufc":
        raise TypeError(f"save_state: cannot save {path or 'an array'}: its dtype is {array.dtype}")
    name = path or "state"
    while name in arrays or name == "__metadata__":
        name += "_"
    if array.dtype.kind != "c":
        arrays[name] = array
        return name
    arrays[name] = np.array(array, order="C").reshape(*array.shape, 1).view(array.real.dtype)
    return [name, "complex"]


def _decode(tree: Any, arrays: dict[str, Array]) -> Any:
    if isinstance(tree, list):
        return [_decode(part, arrays) for part in tree]
    if not isinstance(tree, dict):
        return tree
    if len(tree) != 1:
        raise ValueError(f"an object with {len(tree)} entries")
    ((kind, value),) = tree.items()
    if kind not in _READERS:
        raise ValueError(f"unknown kind {kind!r}")
    return _READERS[kind](value, arrays)


def _decode_dict(pairs: Any, arrays: dict[str, Array]) -> dict[Any, Any]:
    result = {_decode(key, {}): _decode(value, arrays) for key, value in pairs}
    if len(result) != len(pairs):
        raise ValueError("a key appears twice")
    return result


def _fetch(where: Any, arrays: dict[str, Array]) -> Array:
    name, is_complex = (where, False) if isinstance(where, str) else (where[0], where[1:] == ["complex"])
    array = arrays[name]
    if not is_complex:
        return array
    if array.dtype not in (np.float32, np.float64) or array.shape[-1:] != (2,):
        raise ValueError(f"{name!r} holds no pairs of floats")
    return array.view(np.complex64 if array.dtype == np.float32 else np.complex128).reshape(array.shape[:-1])


_READERS: dict[str, Callable[[Any, dict[str, Array]], Any]] = {
    "int": lambda text, _: int(text, 16),
    "float": lambda text, _: float(text),
    "complex": lambda parts, arrays: complex(*(_decode(part, arrays) for part in parts)),
    "tuple": lambda parts, arrays: tuple(_decode(part, arrays) for part in parts),
    "dict": _decode_dict,
    "tensor": lambda where, arrays: Tensor(_fetch(where, arrays)),
    "array": _fetch,
    "scalar": lambda where, arrays: _fetch(where, arrays)[()],
}
