"""Values as JSON, for saved files; `_decode` is the way back.

None, booleans, text, finite floats and ordinary integers are written as JSON has them. `[3]` is the value of the fourth
node. Everything else is an object with one key that says what it is: {"tuple": […]}, {"slice": [a, b, c]},
{"dtype": "<f4"}, {"array": ["key", "<f8"]} for an array stored beside the structure, {"graph": 2} for a body that is
the third graph of the file, and so on.
"""

from __future__ import annotations

import base64
import dataclasses
import enum
import json
import math
import types
import typing
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np

from weft import pytree
from weft._module import as_array
from weft.graph._graph import Graph
from weft.graph._inputs import Inputs
from weft.graph._node import Node
from weft.graph._trusted import name_of
from weft.ops._op import Op
from weft.ops._spec import Spec
from weft.pytree import Tree

Array = np.ndarray[Any, Any]
MAX_DEPTH = 100  # of containers inside each other
EXACT = 1 << 63  # integers from here on are written as text

DTYPES = frozenset(
    np.dtype(order + kind).str
    for kind in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16")
    for order in "<>"
)
DICTS: dict[str, type[dict[Any, Any]]] = {"Counter": Counter, "OrderedDict": OrderedDict}


class Unsupported(Exception):
    """A value that a file cannot hold; becomes a FileError that says where it stands."""


class Encoder:
    """Writes values as JSON and gathers the arrays among them."""

    def __init__(self, facts: bool = False) -> None:
        self._facts = facts  # about a node: the type of a number is one
        self.arrays: dict[str, Array] = {}
        self.tensors: list[Any] = []
        self.ops: set[str] = set()
        self._keys: dict[int, Any] = {}
        self._tensor_numbers: dict[int, int] = {}
        self._names: dict[int, str] = {}
        self._keep: list[Any] = []  # what ids were taken of lives as long as they are used
        self.hint = "array"  # what the next arrays are called
        self.numbers: Mapping[Node, int] = {}  # the nodes a value may refer to
        self.body: Callable[[Graph], int] | None = None  # stores a graph that is part of a value, and numbers it
        self.object: Callable[[Any], int | None] | None = None  # the same for an object that is the state of a function

    def value(self, value: Any, depth: int = 0) -> Any:
        """One value."""
        kind = type(value)
        if kind is Node:
            return [self._number(value)]
        if kind is int:
            return value if -EXACT < value < EXACT else {"int": hex(value)}
        if value is None or kind is bool or kind is str:
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": str(value)}
        if self._facts and kind is type and value in (int, float, complex, bool):
            return {"number": value.__name__}
        if depth >= MAX_DEPTH:
            raise Unsupported(f"containers are nested more than {MAX_DEPTH} deep")
        number = None if self.object is None else self.object(value)
        if number is not None:
            return {"object": number}
        writer = _WRITERS.get(kind)
        if writer is None:
            writer = next((write for base, write in _BY_BASE if isinstance(value, base)), None)
        if writer is not None:
            return writer(self, value, depth)
        if hasattr(kind, "__weft_op__") and hasattr(kind, "requires_grad"):
            return self.tensor(value)
        if pytree.is_namedtuple(value):
            return {"struct": [self.name(kind), [[f, self.value(getattr(value, f), depth + 1)] for f in value._fields]]}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = [f.name for f in dataclasses.fields(value)]
            return {"struct": [self.name(kind), [[f, self.value(getattr(value, f), depth + 1)] for f in fields]]}
        if isinstance(value, Graph):
            if self.body is None:
                raise Unsupported("a graph can only be saved as a body of a node")
            return {"graph": self.body(value)}
        if callable(value):
            return {"function": self.name(value)}
        raise Unsupported(f"a value of type {kind.__module__}.{kind.__qualname__} cannot be saved")

    def name(self, function: Any) -> str:
        """A function or class by name."""
        known = self._names.get(id(function))
        if known is not None:
            return known
        name = self._names[id(function)] = name_of(function, _refuse)
        self._keep.append(function)
        if isinstance(function, Op):
            self.ops.add(function.name)
        return name

    def values(self, parts: Any, depth: int) -> list[Any]:
        return [self.value(part, depth + 1) for part in parts]

    def _number(self, node: Node) -> int:
        try:
            return self.numbers[node]
        except KeyError:
            raise Unsupported(f"node {node.name} is not part of the graph") from None

    def array(self, array: Array, depth: int = 0) -> Any:
        """An array, stored once however often it appears."""
        if type(array) is not np.ndarray:
            raise Unsupported(f"an array of class {type(array).__name__} cannot be saved")
        if array.dtype.str not in DTYPES:
            raise Unsupported(f"an array of dtype {array.dtype} cannot be saved")
        key = self._keys.get(id(array))
        if key is None:
            key = self._free_key(self.hint)
            self._keys[id(array)] = key
            self._keep.append(array)
            # Not every reader of the format knows complex numbers; all know pairs of floats.
            stored = array
            if array.dtype.kind == "c":
                flat = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
                stored = flat.reshape(-1).view(f"<f{array.itemsize // 2}").reshape(*array.shape, 2)
            self.arrays[key] = stored
        by_columns = array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous
        return {"array": [key, array.dtype.str, *(["F"] if by_columns else [])]}

    def _free_key(self, hint: str) -> str:
        key, number = hint, 1
        while key in self.arrays or key == "__metadata__":
            number += 1
            key = f"{hint}#{number}"
        return key

    def tensor(self, tensor: Any) -> Any:
        """A Tensor or Parameter of weft, stored once however often it appears."""
        kind = type(tensor)
        if kind.__name__ not in ("Tensor", "Parameter") or kind.__module__.partition(".")[0] != "weft":
            raise Unsupported(f"a tensor of class {kind.__module__}.{kind.__qualname__} cannot be saved")
        number = self._tensor_numbers.get(id(tensor))
        if number is None:
            self._keep.append(tensor)
            array = self.array(as_array(tensor))["array"]
            number = self._tensor_numbers[id(tensor)] = len(self.tensors)
            self.tensors.append([kind.__name__, *array[:2], bool(tensor.requires_grad), *array[2:]])
        return {"tensor": number}

    def annotation(self, annotation: Any) -> Any:
        """A type annotation; None where it cannot be written, since it changes nothing."""
        try:
            return None if annotation is None else self._annotation(annotation, 0)
        except Unsupported:
            return None

    def _annotation(self, annotation: Any, depth: int) -> Any:
        if depth >= MAX_DEPTH:
            raise Unsupported("an annotation is nested too deeply")
        if isinstance(annotation, str):
            return annotation
        if annotation is ...:
            return {"ellipsis": None}
        inner = [self._annotation(part, depth + 1) for part in typing.get_args(annotation)]
        if isinstance(annotation, types.GenericAlias):
            return {"generic": [self._class(annotation.__origin__), inner]}
        if typing.get_origin(annotation) in (types.UnionType, typing.Union):
            return {"union": inner}
        return {"class": self._class(annotation)}

    def _class(self, cls: Any) -> str:
        name = name_of(cls, _refuse)
        if ":" in name:
            raise Unsupported(f"{name} would have to be allowed")
        return name

    def inputs(self, inputs: Inputs | None) -> Any:
        """How nested arguments become placeholders."""
        if inputs is None:
            return None
        constants = [[position, self.value(value)] for position, value in inputs.constants.items()]
        return [list(inputs.names), [self.tree(tree) for tree in inputs.trees], constants]

    def tree(self, tree: Tree, depth: int = 0) -> Any:
        if tree.kind is None:
            return None
        if depth >= MAX_DEPTH:
            raise Unsupported(f"containers are nested more than {MAX_DEPTH} deep")
        children = [self.tree(child, depth + 1) for child in tree.children]
        return [self.name(tree.kind), self.value(tree.context), children]


def _refuse(reason: str) -> NoReturn:
    raise Unsupported(reason)


def _dict(encoder: Encoder, value: dict[Any, Any], depth: int) -> Any:
    kind, name = type(value), type(value).__name__
    if kind not in (dict, *DICTS.values()) and name != "ImmutableDict":
        raise Unsupported(f"a dict of class {name} cannot be saved")
    entries = [[encoder.value(key, depth + 1), encoder.value(part, depth + 1)] for key, part in value.items()]
    return {"mapping": [name, entries]} if name in DICTS else {"dict": entries}


def _list(encoder: Encoder, value: list[Any], depth: int) -> Any:
    if type(value) is not list and type(value).__name__ != "ImmutableList":
        raise Unsupported(f"a list of class {type(value).__name__} cannot be saved")
    return {"list": encoder.values(value, depth)}


def _set(encoder: Encoder, value: Any, depth: int) -> Any:
    if type(value) not in (set, frozenset):
        raise Unsupported(f"a set of class {type(value).__name__} cannot be saved")
    items = sorted(encoder.values(value, depth), key=json.dumps)  # in an order that is the same each time
    return {type(value).__name__: items}


def _dtype(value: np.dtype[Any]) -> str:
    if value.str not in DTYPES:
        raise Unsupported(f"dtype {value} cannot be saved")
    return value.str


def _scalar(encoder: Encoder, value: np.generic, depth: int) -> Any:
    return {"scalar": [_dtype(value.dtype), value.tobytes().hex()]}


def _enum(encoder: Encoder, value: enum.Enum, depth: int) -> Any:
    if type(value).__members__.get(str(value.name)) is not value:  # a combination of flags has none
        raise Unsupported(f"{value!r} has no name of its own")
    return {"enum": [encoder.name(type(value)), value.name]}


def _spec(encoder: Encoder, value: Spec, depth: int) -> Any:
    # A symbolic size is written as its text, for people: what it stands for is known to one run only.
    return {"spec": [[dim if type(dim) is int else str(dim) for dim in value.shape], _dtype(value.dtype)]}


_Writer = Callable[[Encoder, Any, int], Any]

_WRITERS: dict[type, _Writer] = {
    tuple: lambda e, v, d: {"tuple": e.values(v, d)},
    slice: lambda e, v, d: {"slice": e.values((v.start, v.stop, v.step), d)},
    range: lambda e, v, d: {"range": e.values((v.start, v.stop, v.step), d)},
    complex: lambda e, v, d: {"complex": e.values((v.real, v.imag), d)},
    bytes: lambda e, v, d: {"bytes": base64.b64encode(v).decode()},
    type(...): lambda e, v, d: {"ellipsis": None},
    Spec: _spec,
    Tree: lambda e, v, d: {"tree": e.tree(v)},
    set: _set,
    frozenset: _set,
    np.ndarray: Encoder.array,
}
_BY_BASE: tuple[tuple[Any, _Writer], ...] = (
    (enum.Enum, _enum),
    (np.generic, _scalar),
    (np.dtype, lambda e, v, d: {"dtype": _dtype(v)}),
    (np.ndarray, Encoder.array),
    (list, _list),
    (dict, _dict),
)
