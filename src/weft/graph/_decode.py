"""Values from the JSON of a saved file; `_encode` is the way there.

Nothing here believes the file: every form is checked before it is used, nothing is called but constructors of plain
data, and classes that are not weft's own are filled without running any code of theirs.
"""

from __future__ import annotations

import base64
import dataclasses
import enum
import functools
import importlib
import math
import operator
import types
from collections import ChainMap, Counter, UserDict, UserList, defaultdict, deque
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

from weft import pytree
from weft.graph._encode import DICTS, DTYPES, MAX_DEPTH
from weft.graph._graph import Graph
from weft.graph._inputs import Inputs
from weft.graph._node import Node
from weft.graph._trusted import Allowed, check_name
from weft.ops._op import Op
from weft.ops._spec import Spec
from weft.pytree import LEAF, Tree

Array = np.ndarray[Any, Any]


_ALIKE = 100  # keys of a dict that may have one hash
_LONGEST_DIM = 1000


class Invalid(Exception):
    """Something a file says that cannot be; becomes a FileError that says where."""


class Decoder:
    """Reads values, given the arrays of the file and what it is allowed to name."""

    def __init__(self, arrays: dict[str, Array], tensors: Any, ops: Any, allowed: Allowed) -> None:
        self._stored = arrays
        self._arrays: dict[str, Array] = {}
        self._ops = {str(name) for name in expect(ops, dict, "the table of ops")}
        self.allowed = allowed
        self.nodes: Sequence[Node] = ()  # those a value may refer to
        self.bodies: dict[int, Graph] = {}  # graphs that a value may have as a part, each once
        self.types = False  # whether classes are types to compare with here
        self.objects: list[Any] = []  # the state of a function
        self._tensors = [self._tensor(row) for row in expect(tensors, list, "the table of tensors")]

    def value(self, data: Any, depth: int = 0) -> Any:
        """One value."""
        kind = type(data)
        if data is None or kind is bool or kind is str or kind is int:
            return data
        if kind is float:
            if not math.isfinite(data):
                refuse("a number is out of range")
            return data
        if depth >= MAX_DEPTH:
            refuse(f"containers are nested more than {MAX_DEPTH} deep")
        if kind is list:
            if len(data) != 1 or type(data[0]) is not int or not 0 <= data[0] < len(self.nodes):
                refuse("an argument refers to a node that does not come before")
            return self.nodes[data[0]]
        ((tag, content),) = expect(data, dict, "a value").items() if len(data) == 1 else ((None, None),)
        reader = _READERS.get(tag)
        if reader is None:
            refuse(f"a value of unknown form: {_brief(list(data))}")
        return reader(self, content, depth)

    def function(self, name: Any) -> Any:
        """A function or class by name."""
        found = self.allowed.find(name, refuse)
        if isinstance(found, Op) and found.name not in self._ops:
            refuse(f"op {found.name!r} is missing from the file's table of ops")
        return found

    def handed(self, name: Any) -> Any:
        """A function or class as an argument, where what receives it may call it with anything; a type never is."""
        found = self.function(name)
        if not (self.types and isinstance(found, type)):
            self.allowed.check_value(found, refuse)
        return found

    def array(self, content: Any) -> Array:
        """An array stored in the file, the same object each time it is asked for."""
        by_columns = type(content) is list and len(content) == 3 and content[2] == "F"
        key, name = row(content[:2] if by_columns else content, 2, "an array")
        dtype = _dtype(name)
        if not isinstance(key, str) or key not in self._stored:
            refuse(f"array {_brief(key)} is not in the file")
        if key not in self._arrays:
            found = _as_dtype(self._stored[key], dtype, key)
            self._arrays[key] = np.asfortranarray(found) if by_columns else found
        if self._arrays[key].dtype != dtype:
            refuse(f"array {key!r} is said to be of two dtypes")
        return self._arrays[key]

    @property
    def unused(self) -> list[str]:
        """Keys of the arrays that nothing has asked for."""
        return [key for key in self._stored if key not in self._arrays]

    def _tensor(self, content: Any) -> Any:
        by_columns = type(content) is list and len(content) == 5
        kind, key, dtype, wanted = row(content[:4] if by_columns else content, 4, "a tensor")
        if kind not in ("Tensor", "Parameter") or not isinstance(wanted, bool):
            refuse(f"a tensor of unknown kind {_brief(kind)}")
        array = self.array([key, dtype, *content[4:]])
        # Imported by name: the room of tensors stands beside this one, and only a file that holds some needs it.
        cls = getattr(importlib.import_module("weft.autograd"), kind)
        return cls(array, requires_grad=wanted)

    def tensor(self, number: Any) -> Any:
        if type(number) is not int or not 0 <= number < len(self._tensors):
            refuse(f"there is no tensor {_brief(number)}")
        return self._tensors[number]

    def annotation(self, data: Any, depth: int = 0) -> Any:
        """A type annotation."""
        if data is None or isinstance(data, str):
            return data
        if depth >= MAX_DEPTH or not isinstance(data, dict) or len(data) != 1:
            refuse("a type annotation of unknown form")
        ((tag, content),) = data.items()
        if tag == "class":
            return self._class(content)
        if tag == "ellipsis":
            return ...
        if tag == "generic":
            origin, parts = row(content, 2, "a generic type")
            inner = [self.annotation(part, depth + 1) for part in expect(parts, list, "the parts of a type")]
            kind = self._class(origin)
            if not isinstance(kind, type) or not hasattr(kind, "__class_getitem__"):
                refuse(f"{_brief(origin)} is not a generic type")
            return types.GenericAlias(kind, tuple(inner))
        if tag != "union":
            refuse("a type annotation of unknown form")
        inner = [self.annotation(part, depth + 1) for part in expect(content, list, "the parts of a type")]
        if len(inner) < 2 or not all(isinstance(part, (type, types.GenericAlias, types.UnionType)) for part in inner):
            refuse("a union of things that are not types")
        return functools.reduce(operator.or_, inner)

    def _class(self, name: Any) -> Any:
        found = self.allowed.find(name, refuse)
        if ":" in name or isinstance(found, Op):
            refuse(f"{_brief(name)} is not a type an annotation may name")
        return found

    def inputs(self, data: Any) -> Inputs | None:
        """How nested arguments become placeholders."""
        if data is None:
            return None
        names, trees, constants = row(data, 3, "the inputs")
        for name in expect(names, list, "the names of the inputs"):
            check_name(name.lstrip("*") if isinstance(name, str) else name, refuse)
        fixed: dict[int, Any] = {}
        for entry in expect(constants, list, "the constants among the inputs"):
            position, value = row(entry, 2, "a constant among the inputs")
            if type(position) is not int or position in fixed:
                refuse("the constants among the inputs are not numbered once each")
            fixed[position] = self.value(value)
        built = tuple(self.tree(tree) for tree in expect(trees, list, "the structures of the inputs"))
        return Inputs(tuple(names), built, fixed)

    def tree(self, data: Any, depth: int = 0) -> Tree:
        if data is None:
            return LEAF
        if depth >= MAX_DEPTH:
            refuse(f"containers are nested more than {MAX_DEPTH} deep")
        name, context, children = row(data, 3, "a structure")
        kind = self.function(name)
        if not isinstance(kind, type):
            refuse(f"{_brief(name)} is not a class of containers")
        parts = tuple(self.tree(child, depth + 1) for child in expect(children, list, "the parts of a structure"))
        tree = Tree(kind, self.value(context), parts)
        if kind not in pytree._registered:
            _check_tree(tree)
        return tree


def _check_tree(tree: Tree) -> None:
    """A container that `pytree` knows by itself, with as many children as it should have."""
    kind, context, count = tree.kind, tree.context, len(tree.children)
    if type(context) is pytree.Extended and context.names is not None:
        context, count = context.context, count - len(_names(context.names))
    if count < 0:
        fits = False
    elif kind is None:
        fits = context is None
    elif issubclass(kind, dict):
        paired = not issubclass(kind, defaultdict) or (type(context) is tuple and len(context) == 2)
        keys = expect(pytree.dict_keys(kind, context) if paired else None, tuple, "the keys of a dict")
        _check_keys(keys)
        fits = len(keys) == count and len(set(keys)) == count
    elif issubclass(kind, tuple) and hasattr(kind, "_fields"):
        fits = context is None and len(kind._fields) == count
    elif issubclass(kind, (list, tuple)) and not hasattr(kind, "_fields"):
        fits = context is None
    elif issubclass(kind, deque):
        fits = context is None or (type(context) is int and context >= max(count, 0))
    elif kind is MappingProxyType:
        fits = context is None and count == 1
    elif issubclass(kind, (UserDict, UserList, ChainMap)):
        held = _names(context)
        fits = held[:1] == ("maps" if issubclass(kind, ChainMap) else "data",) and len(held) == count
    elif dataclasses.is_dataclass(kind):
        names = [field.name for field in dataclasses.fields(kind)]
        held = _names(context, names)
        first = [name for name in names if name in held]  # attributes that are no fields stand behind them
        fits = [*held[: len(first)]] == first and len(held) == count
    else:
        fits = False
    if not fits:
        refuse(f"a structure does not fit its class {getattr(kind, '__name__', kind)}")


def _names(value: Any, fields: Any = ()) -> tuple[str, ...]:
    """The names of the attributes of a container: fields of its class, and others that are not Python's own."""
    names: tuple[str, ...] = expect(value, tuple, "the names of attributes")
    if not all(type(name) is str and (name in fields or name[:2] != "__") for name in names):
        refuse(f"{_brief(list(names))} are no names of attributes")
    if len(set(names)) != len(names):
        refuse("an attribute is there twice")
    return names


def expect(value: Any, kind: type, what: str) -> Any:
    """The value, if it is of the JSON type it should be."""
    if type(value) is not kind:
        refuse(f"{what} should be {kind.__name__}, not {type(value).__name__}")
    return value


def row(value: Any, length: int, what: str) -> Any:
    """A list of a known length."""
    if type(value) is not list or len(value) != length:
        refuse(f"{what} should have {length} parts")
    return value


def refuse(reason: str) -> NoReturn:
    """Give up on the file."""
    raise Invalid(reason)


def _dtype(name: Any) -> np.dtype[Any]:
    if not isinstance(name, str) or name not in DTYPES:
        refuse(f"unknown dtype {_brief(name)}")
    return np.dtype(name)


def _as_dtype(stored: Array, dtype: np.dtype[Any], key: str) -> Array:
    """An array as it was before it was stored: complex from pairs, of its own byte order."""
    if dtype.kind == "c":
        if stored.dtype != np.dtype(f"<f{dtype.itemsize // 2}") or stored.ndim < 1 or stored.shape[-1] != 2:
            refuse(f"array {key!r} does not hold pairs of floats for {dtype}")
        shape = stored.shape[:-1]
        return stored.reshape(-1).view(f"<c{dtype.itemsize}").reshape(shape).astype(dtype, copy=False)
    if stored.dtype != dtype.newbyteorder("<"):
        refuse(f"array {key!r} is {stored.dtype}, said to be {dtype}")
    return stored.astype(dtype, copy=False)


def _integer(decoder: Decoder, content: Any, depth: int) -> int:
    return int(expect(content, str, "a large integer"), 16)


def _float(decoder: Decoder, content: Any, depth: int) -> float:
    if content not in ("nan", "inf", "-inf"):
        refuse(f"unknown number {_brief(content)}")
    return float(content)


def _complex(decoder: Decoder, content: Any, depth: int) -> complex:
    real, imaginary = (decoder.value(part, depth + 1) for part in row(content, 2, "a complex number"))
    return complex(expect(real, float, "a real part"), expect(imaginary, float, "an imaginary part"))


def _scalar(decoder: Decoder, content: Any, depth: int) -> Any:
    name, data = row(content, 2, "a NumPy scalar")
    dtype, raw = _dtype(name), bytes.fromhex(expect(data, str, "the bytes of a scalar"))
    if len(raw) != dtype.itemsize or (dtype.kind == "b" and raw[0] > 1):
        refuse(f"a scalar of {dtype} has {len(raw)} bytes")
    return np.frombuffer(raw, dtype)[0]


def _dict(decoder: Decoder, content: Any, depth: int) -> dict[Any, Any]:
    entries = [
        tuple(decoder.value(part, depth + 1) for part in row(entry, 2, "an entry of a dict"))
        for entry in expect(content, list, "a dict")
    ]
    keys = [key for key, _ in entries]
    _check_keys(keys)
    result = dict(entries)
    if len(result) != len(entries) or any(isinstance(key, Node) for key in keys):
        refuse("a dict has a key twice, or one that cannot be a key")
    return result


def _mapping(decoder: Decoder, content: Any, depth: int) -> Any:
    name, entries = row(content, 2, "a dict of a class of its own")
    if not isinstance(name, str) or name not in DICTS:
        refuse(f"a dict of unknown class {_brief(name)}")
    found = _dict(decoder, entries, depth)
    return pytree._close_dict(DICTS[name], tuple(found), list(found.values()))


def _check_keys(keys: Sequence[Any]) -> None:
    """Refuse keys chosen to have one hash: a dict of n such keys takes n² steps to fill."""
    if len(keys) > _ALIKE and max(Counter(hash(key) for key in keys).values()) > _ALIKE:
        refuse(f"more than {_ALIKE} keys of a dict have the same hash")


def _struct(decoder: Decoder, content: Any, depth: int) -> Any:
    """A named tuple or dataclass, filled without calling anything of its class."""
    name, fields = row(content, 2, "a structure")
    cls = decoder.function(name)
    given = [row(field, 2, "a field") for field in expect(fields, list, "the fields of a structure")]
    names = [field for field, _ in given]
    values = [decoder.value(value, depth + 1) for _, value in given]
    if isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields"):
        if names != list(cls._fields):
            refuse(f"the fields of {name} are {_brief(names)}")
        return tuple.__new__(cls, values)
    if not isinstance(cls, type) or not dataclasses.is_dataclass(cls):
        refuse(f"{name} is neither a named tuple nor a dataclass")
    if names != [field.name for field in dataclasses.fields(cls)]:
        refuse(f"the fields of {name} are {_brief(names)}")
    made = object.__new__(cls)
    for field, value in zip(names, values, strict=True):
        object.__setattr__(made, field, value)
    return made


def _enum(decoder: Decoder, content: Any, depth: int) -> Any:
    name, member = row(content, 2, "a member of an enumeration")
    cls = decoder.function(name)
    if not isinstance(cls, type) or not issubclass(cls, enum.Enum) or member not in cls.__members__:
        refuse(f"{_brief(name)} has no member {_brief(member)}")
    return cls.__members__[member]


def _spec(decoder: Decoder, content: Any, depth: int) -> Spec:
    shape, name = row(content, 2, "a Spec")
    if not all(_is_dim(dim) for dim in expect(shape, list, "a shape")):
        refuse(f"a shape of {_brief(shape)}")
    return Spec(shape, _dtype(name))


def _is_dim(dim: Any) -> bool:
    """A size: a number, or the text of a symbolic one."""
    if isinstance(dim, str):
        return dim.isprintable() and 0 < len(dim) <= _LONGEST_DIM
    return type(dim) is int and dim >= 0


def _body(decoder: Decoder, content: Any, depth: int) -> Graph:
    graph = decoder.bodies.pop(content, None) if type(content) is int else None
    if graph is None:
        refuse("a body does not come before its node, or is the body of another")
    return graph


def _number(decoder: Decoder, content: Any, depth: int) -> type:
    found = next((kind for kind in (int, float, bool, complex) if kind.__name__ == content), None)
    if found is None:
        refuse(f"unknown type of a number {_brief(content)}")
    return found


def _three(decoder: Decoder, content: Any, depth: int) -> list[Any]:
    return [decoder.value(part, depth + 1) for part in row(content, 3, "a slice or range")]


def _range(decoder: Decoder, content: Any, depth: int) -> range:
    return range(*(expect(part, int, "a bound of a range") for part in _three(decoder, content, depth)))


def _items(decoder: Decoder, content: Any, depth: int) -> list[Any]:
    return [decoder.value(part, depth + 1) for part in expect(content, list, "a list or tuple")]


def _hashed(decoder: Decoder, content: Any, depth: int) -> list[Any]:
    items = _items(decoder, content, depth)
    _check_keys(items)
    return items


def _object(decoder: Decoder, content: Any, depth: int) -> Any:
    if type(content) is not int or not 0 <= content < len(decoder.objects):
        refuse(f"there is no object {_brief(content)}")
    return decoder.objects[content]


_READERS: dict[Any, Callable[[Decoder, Any, int], Any]] = {
    "int": _integer,
    "float": _float,
    "complex": _complex,
    "bytes": lambda d, c, n: base64.b64decode(expect(c, str, "bytes"), validate=True),
    "tuple": lambda d, c, n: tuple(_items(d, c, n)),
    "list": _items,
    "dict": _dict,
    "mapping": _mapping,
    "slice": lambda d, c, n: slice(*_three(d, c, n)),
    "range": _range,
    "tree": lambda d, c, n: d.tree(c),
    "set": lambda d, c, n: set(_hashed(d, c, n)),
    "frozenset": lambda d, c, n: frozenset(_hashed(d, c, n)),
    "object": _object,
    "ellipsis": lambda d, c, n: ...,
    "dtype": lambda d, c, n: _dtype(c),
    "scalar": _scalar,
    "array": lambda d, c, n: d.array(c),
    "tensor": lambda d, c, n: d.tensor(c),
    "struct": _struct,
    "enum": _enum,
    "spec": _spec,
    "function": lambda d, c, n: d.handed(c),
    "graph": _body,
    "number": _number,
}


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "…"
