"""Where paths of a program meet: what a variable is after a branch, or at the head of a loop.

Two values of a variable agree where one type describes both. Numbers agree always, by the wider type; arrays where
dtype and shape are the same, sizes known only at run time excepted; everything else where it is the same thing.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weft import pytree
from weft._objects import dict_of
from weft.autograd import Tensor
from weft.capture._chosen import Joined
from weft.capture._iterables import Collected
from weft.capture._kinds import joined_kind, same_kind
from weft.capture._one_of import is_called
from weft.capture._opaque import Opaque
from weft.capture._region import Buffer, Region
from weft.capture._sharing import may_be
from weft.capture._state_places import is_object
from weft.capture._values import Array, Scalar, Traced, Undefined
from weft.graph import Node
from weft.ops import Spec
from weft.ops._dim import Dim, hint_of, same_shape
from weft.ops._op import TABLE

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

NUMBERS = (bool, int, float, complex, np.generic)

_FEW = 4  # keys of a dict that an error shows


@dataclass
class Type:
    """What is known of a value where paths meet: `spec` of an array, `kind` of a number."""

    spec: Spec | None = None
    kind: Any = None
    tensor: bool = False
    unknown: bool = False  # whether it may be anything
    joined: bool = False  # whether it is one of several things that have other names
    mixed: bool = False  # whether it is a number of one type or of another, of which `kind` is the wider

    @property
    def meta(self) -> Any:
        """As a node tells it."""
        if self.unknown:
            return None
        if self.spec is not None:
            return Spec(self.spec.shape, self.spec.dtype)
        return self.kind if isinstance(self.kind, type) else Spec((), self.kind)

    def __str__(self) -> str:
        if self.unknown:
            return "a value of unknown type"
        if self.spec is not None:
            return f"an array {self.spec.dtype}[{', '.join(map(str, self.spec.shape))}]"
        return f"a number of type {self.kind.__name__ if isinstance(self.kind, type) else self.kind}"


class Disagreement(Exception):
    """Two values of one variable that no type describes; the text says how they differ."""


def type_of(value: Any) -> Type | None:
    """The type of a number or an array; None for any other thing."""
    if isinstance(value, Opaque):
        return Type(unknown=True, joined=isinstance(value, Joined))
    if isinstance(value, Array):
        return Type(spec=value.spec, tensor=getattr(type(value), "_is_tensor", False))
    if isinstance(value, Scalar):
        return Type(kind=value.kind, mixed=_is_marked(value._node))
    if isinstance(value, (np.ndarray, Tensor)):
        return Type(spec=Spec(value.shape, value.dtype), tensor=isinstance(value, Tensor))
    if isinstance(value, np.generic):
        return Type(kind=value.dtype)
    return Type(kind=type(value)) if type(value) in (bool, int, float, complex) else None


def any_type(recorder: Recorder, *values: Any) -> Type | None:
    """The type of a variable that is left with values of different types; None where it may not be.

    What the values hold is not written from now on, as it has other names.
    """
    if not recorder.joins or recorder.deriving or recorder.tensors or not all(_joinable(recorder, v) for v in values):
        return None
    if values and all(isinstance(value, type) for value in values):
        return None  # a call of one is captured
    for value in values:
        if type(value) is list:
            recorder.lists.share(value)
        for leaf in pytree.leaves_of(value):
            for buffer in may_be(leaf.buffer) if isinstance(leaf, Array) else ():
                buffer.listed = "a variable that a branch or a loop decides"
    return Type(unknown=True, joined=not all(recorder.lists.get(v) is not None or _is_fixed(v) for v in values))


def _joinable(recorder: Recorder, value: Any) -> bool:
    if type(value) in (list, tuple):
        return all(_joinable(recorder, part) for part in value)
    if isinstance(value, type):  # of numbers, in place of their dtype
        return issubclass(value, NUMBERS)
    if recorder.state.is_outside(value) or recorder.lists.get(value) is not None:
        return True
    return value is None or isinstance(value, (Opaque, str, bytes, np.dtype, np.ndarray)) or type_of(value) is not None


def _is_fixed(value: Any) -> bool:
    """Whether nothing can change a value, or all its names are of one object of the running graph."""
    if type(value) is tuple:
        return all(map(_is_fixed, value))
    return not (isinstance(value, (list, Array, np.ndarray, Joined)) or is_object(value))


def type_in(recorder: Recorder, value: Any) -> Type | None:
    """The type of a value in a capture: where no types are known, that of any value but a number is unknown."""
    found = type_of(value)
    if found is None and recorder.untyped and not isinstance(value, (Undefined, type)) and not callable(value):
        return Type(unknown=True)
    return found


def describe(value: Any) -> str:
    """A value in the words of an error message."""
    if isinstance(value, Undefined):
        return "not assigned"
    found = type_of(value)
    if found is not None:
        return str(found)
    if isinstance(value, list) and any(isinstance(part, Opaque) and part._node is None for part in value):
        return "a list that a loop or a branch makes longer or shorter"
    if isinstance(value, Collected):
        return "a list of which only running tells the length"
    if isinstance(value, dict) and not value:
        return "an empty dict"
    if isinstance(value, (tuple, list, dict)):
        named = f" ({', '.join(map(repr, value))})" if isinstance(value, dict) and len(value) <= _FEW else ""
        return f"a {type(value).__name__} of {len(value)}{named}"
    if isinstance(value, Traced):
        return "one of several objects or functions"
    return repr(value) if value is None or isinstance(value, (str, bytes)) else f"a {type(value).__name__}"


def differing(a: Any, b: Any) -> tuple[Any, Any, str]:
    """Of two values of different structure the parts that differ, and where they stand in them: `[1]['k']`."""
    where = ""
    while type(a) is type(b) and isinstance(a, (tuple, list, dict)) and len(a) == len(b):
        keys = list(a) if isinstance(a, dict) else list(range(len(a)))
        if isinstance(b, dict) and keys != list(b):
            break
        parts = ((key, *(pytree.flatten(value[key])[1] for value in (a, b))) for key in keys)
        key: Any = next((key for key, one, other in parts if one != other), None)
        if key is None:
            break
        a, b, where = a[key], b[key], f"{where}[{key!r}]"
    return a, b, where


def advice(a: Any, b: Any) -> str:
    """What to do about the sides of a branch that leave a variable with these values."""
    if a is None or b is None:
        return "use a value of the other side's type in place of None, and a flag that tells whether there is one"
    if isinstance(a, str) or isinstance(b, str):
        return "use a number or a flag in place of the text, or do on each side what depends on it"
    if is_called(a) and is_called(b):
        return "call it on each side"
    if all(type_of(value) is None and dict_of(value) is not None for value in (a, b)):
        return "choose between what the objects hold, attribute by attribute"
    return "give it the same shape and dtype on both sides"


def join_types(recorder: Recorder, a: Type, b: Type) -> Type:
    """The type that describes two; its sizes are None where the two differ and only running can tell."""
    if a.unknown or b.unknown:
        return Type(unknown=True, joined=a.joined or b.joined)
    if a.spec is None and b.spec is None:
        mixed = a.mixed or b.mixed or not same_kind(a.kind, b.kind)
        return Type(kind=joined_kind([a.kind, b.kind]), mixed=mixed)
    if a.spec is None or b.spec is None:
        spec = a.spec if a.spec is not None else b.spec
        if spec is not None and not spec.shape:
            return a if b.spec is None else b
        raise Disagreement(f"{a} and {b}")
    if a.spec.dtype != b.spec.dtype or len(a.spec.shape) != len(b.spec.shape):
        raise Disagreement(f"{a} and {b}")
    try:
        shape = [_join_dims(recorder, x, y) for x, y in zip(a.spec.shape, b.spec.shape, strict=True)]
    except Disagreement:
        raise Disagreement(f"{a} and {b}") from None
    spec = Spec((), a.spec.dtype)
    spec.shape = tuple(shape)
    return Type(spec=spec, tensor=a.tensor or b.tensor)


def _join_dims(recorder: Recorder, x: Any, y: Any) -> Any:
    if x is None or y is None:
        return None
    if same_shape((x,), (y,)):
        return x
    hints = hint_of(x), hint_of(y)
    if None in hints or hints[0] != hints[1]:
        return None
    recorder.sizes.compare("==", x, y)
    return x


def is_same(a: Any, b: Any) -> bool:
    """Whether two values are one and the same thing to a program."""
    if a is b:
        return True
    if isinstance(a, Array) and isinstance(b, Array):
        return a.buffer is b.buffer and a.path == b.path
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        if a._node is b._node and a._node is not None:
            return True
        sizes = isinstance(a.dim, Dim) and isinstance(b.dim, Dim) and a.kind is b.kind is int
        return sizes and a.dim.key == b.dim.key
    if type(a) is not type(b) or isinstance(a, (Traced, np.ndarray, Tensor)):
        return False
    if isinstance(a, (float, complex, np.generic)):
        return repr(a) == repr(b)  # tells 0.0 from -0.0, and NaN is itself
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(is_same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(map(is_same, a.values(), b.values()))
    return isinstance(a, (int, str, bytes, range, np.dtype)) and bool(a == b)


def settle_sizes(recorder: Recorder, spec: Spec, node: Node, name: str) -> Spec:
    """A type whose open sizes are those of a node's value."""
    shape = []
    for axis, dim in enumerate(spec.shape):
        if dim is None:
            dim = recorder.sizes.fresh(name)
            assert dim.atom is not None
            dim.atom.source = ("size", node, axis)
        shape.append(dim)
    return Spec(shape, spec.dtype)


def value_of(
    recorder: Recorder, type_: Type, node: Node, name: str, region: Region | None = None, layout: Any = False
) -> Any:
    """The traced value of a node where paths have met; an array gets a buffer of its own."""
    if type_.unknown:
        return Joined(recorder, node) if type_.joined else Opaque(recorder, node)
    if type_.spec is None:
        made = Scalar(recorder, type_.kind, node)
        made.name = name
        if type_.mixed:
            node.meta["mixed"] = True
        return made
    spec = settle_sizes(recorder, type_.spec, node, name)
    node.meta["type"] = spec
    buffer = Buffer(spec, name, layout=layout)
    buffer.joined = True
    (region or recorder.region).make(buffer, node)
    return recorder.array_class(type_.tensor)(recorder, buffer, (), spec)


def is_mixed(value: Any) -> bool:
    """Whether only running tells of which type a number is: of Python's or NumPy's, int or float."""
    node = value._node if isinstance(value, Scalar) else value.node if isinstance(value, Array) else None
    todo, seen = [] if node is None else [node], set()
    while todo:
        node = todo.pop()
        if _is_marked(node):
            return True
        seen.add(node)
        todo += [each for each in node.all_input_nodes if each not in seen and _is_number(each.meta.get("type"))]
    return False


def is_open(value: Any) -> bool:
    """Whether only running answers a question about the type of a number, or of what was computed from one."""
    if not isinstance(value, (Array, Scalar)) or not is_mixed(value):
        return False
    recorder = value.recorder
    if recorder.deriving or recorder.tensors:
        return False
    if not recorder.joins:
        recorder.refuse("the type of a number that a branch or a loop decides: which it is, only running tells")
    value.node.meta["mixed"] = True
    return True


def refuse_mixed(*values: Any) -> None:
    """Refuse what raises for a number of one type and not for one of another, where only running tells its type."""
    for value in values:
        if isinstance(value, Scalar) and is_mixed(value):
            value.recorder.refuse(
                "a number of which only running tells whether it is an integer, where one is wanted",
                help="make it one, int(...), or let the sides of the branch give numbers of one type",
            )


def _is_marked(node: Node | None) -> bool:
    return node is not None and "mixed" in node.meta


def _is_number(found: Any) -> bool:
    return isinstance(found, type) or (isinstance(found, Spec) and not found.shape)


def as_output(recorder: Recorder, value: Any, type_: Type) -> Any:
    """A value as one of the results of a region: a node, or a plain number."""
    return recorder.arg(value)


def filler(recorder: Recorder, type_: Type) -> Any:
    """Something of a type, for a place where no value is ever read."""
    if type_.unknown:
        return None
    if type_.spec is None:
        kind = type_.kind
        return kind(0) if isinstance(kind, type) else kind.type(0)
    spec = Spec((0,) * len(type_.spec.shape), type_.spec.dtype)
    return recorder.create(TABLE["zeros"], (spec.shape, spec.dtype), {}, spec)


def visible_sizes(recorder: Recorder, spec: Spec, region: Region) -> Spec:
    """A type as the region around may know it: sizes computed inside are open."""
    shape: list[Any] = [dim if _visible(dim, region) else None for dim in spec.shape]
    made = Spec((), spec.dtype)
    made.shape = tuple(shape)
    return made


def _visible(dim: Any, region: Region) -> bool:
    if dim is None or not isinstance(dim, Dim):
        return dim is not None
    for atom in dim.atoms():
        source = atom.source
        if source is None:
            return False
        graphs = []
        around: Region | None = region
        while around is not None:
            graphs.append(around.graph)
            around = around.parent
        if not any(source[1].graph is graph for graph in graphs):
            return False
    return True


def project(recorder: Recorder, node: Node, k: int, type_: Any, name: str) -> Node:
    """The k-th result of a control-flow node."""
    return recorder.create(operator.getitem, (node, k), {}, type_, shown(name))


def spoken(name: str) -> str:
    """The name of a variable in an error; what a function returns, and an expression gives, has none."""
    return "the result" if name.startswith("_weft") else name


def shown(name: str) -> str:
    """The name of a variable as a reader sees it, also of those that conversion adds."""
    if not name.startswith("_weft"):
        return name
    return {"value": "result", "returned": "returned"}.get(name.split("_")[2], "stop")
