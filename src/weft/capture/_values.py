"""Traced values: what a captured program computes with in place of arrays and numbers.

A `Scalar` is a number, of Python's or of NumPy's; it never changes. An `Array` is a view of a buffer, as NumPy's arrays
are: several may share one, and what is written through one is read through the others. Both know their type and no
value; what is done with them is recorded.
"""

from __future__ import annotations

import operator
import sys
from collections import deque
from collections.abc import Callable, Iterator
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from weft import pytree
from weft._tracing import current_recorder
from weft._where import is_internal
from weft.graph import Node
from weft.ops import Spec

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder
    from weft.capture._region import Buffer, Region

Kind = type | np.dtype[Any]
"""The type of a scalar: `int`, `float`, `bool`, `complex` of Python's, or a dtype of NumPy's."""


calls_of_programs: set[CodeType] = set()
"""Functions of weft's that make a program's calls: text that is made there is the program's."""


class Traced:
    """A value of a program that is being captured."""

    __slots__ = ("__weakref__", "recorder")
    __weft_priority__ = 90
    _is_proxy = True  # so that a graph refuses it as a constant

    recorder: Recorder

    @property
    def node(self) -> Node:
        """The node of its present value in the graph being written."""
        raise NotImplementedError

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __weft_op__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        args, kwargs = self.recorder.numpy.of_traced_numbers(op, args, kwargs)
        return self.recorder.call_op(op, args, kwargs)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return self.recorder.numpy.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.recorder.numpy.function(function, args, kwargs)

    def __weft_control__(self, primitive: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.recorder.control(primitive, args, kwargs)

    # What needs the value itself

    def __bool__(self) -> bool:
        return self.recorder.decide(self)

    def __index__(self) -> int:
        return self.recorder.concrete_int(self, "an index or a count")

    def __int__(self) -> int:
        return self.recorder.concrete_int(self, "int()")

    def __float__(self) -> float:
        return float(self.recorder.concrete(self, "float()"))

    def __complex__(self) -> complex:
        return complex(self.recorder.concrete(self, "complex()"))

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        self.recorder.refuse_value(self, "a plain NumPy array of it")

    def __hash__(self) -> int:
        return hash(self.recorder.concrete(self, "a key of a dict, or an item of a set,"))

    def __contains__(self, item: Any) -> bool:
        return bool(self.recorder.python.contains(item, self))

    def __round__(self, digits: Any = None) -> Any:
        return self.recorder.python.call(round, (self,) if digits is None else (self, digits), {})

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __str__(self) -> Any:
        return self.recorder.refuse_value(self, "text made of it")

    def __format__(self, spec: str) -> Any:
        return self.recorder.refuse_value(self, "text made of it")

    def __repr__(self) -> str:
        """What messages of weft's show; a program that is not captured would make text of it."""
        frame = sys._getframe(1)
        made = not is_internal(frame) or frame.f_code in calls_of_programs
        if made and (self.recorder.untyped or current_recorder.get() is self.recorder):
            self.recorder.refuse_value(self, "text made of it")
        return self._described()

    def _described(self) -> str:
        raise NotImplementedError

    @property
    def real(self) -> Any:
        return self.recorder.part(self, "real")

    @property
    def imag(self) -> Any:
        return self.recorder.part(self, "imag")


class Scalar(Traced):
    """A number: of Python's where `kind` is a type, of NumPy's where it is a dtype.

    `dim` is what is known of a Python integer as an expression of sizes; it can be computed anew where its node is of
    a branch or loop that has ended. `hint` is the value it has in this call where
    that is known, so that a program may branch on it under a guard; `relation` is the comparison it came from.
    """

    __slots__ = ("_node", "dim", "hint", "kind", "name", "relation", "uses")

    def __init__(
        self, recorder: Recorder, kind: Kind, node: Node | None, dim: Any = None, hint: Any = None, relation: Any = None
    ) -> None:
        self.recorder = recorder
        self.kind = kind
        self._node = node
        self.dim = dim
        self.hint = hint
        self.relation = relation
        self.name: str | None = None
        self.uses: list[Callable[[Any], Any]] | None = None  # of a number without a kind: see `weft.capture._unsettled`

    @property
    def node(self) -> Node:
        region = self.recorder.region
        if self._node is None or (self.dim is not None and self.kind is int and not region.sees(self._node)):
            made: Node = self.recorder.size_node(self.dim, self.name, self._node)
            return made
        return region.lift(self._node)

    @property
    def spec(self) -> Spec:
        return Spec((), np.dtype(self.kind))

    @property
    def dtype(self) -> np.dtype[Any]:
        if isinstance(self.kind, type):
            raise AttributeError(f"{self.kind.__name__!r} object has no attribute 'dtype'")
        return self.kind

    @property
    def shape(self) -> tuple[Any, ...]:
        if isinstance(self.kind, type):
            raise AttributeError(f"{self.kind.__name__!r} object has no attribute 'shape'")
        return ()

    @property
    def python(self) -> bool:
        """Whether it is a number of Python's own."""
        return isinstance(self.kind, type)

    def _described(self) -> str:
        kind = self.kind.__name__ if isinstance(self.kind, type) else str(self.kind)
        return f"<traced {kind}>"

    def __len__(self) -> int:
        raise TypeError(f"object of type '{self.kind}' has no len()")

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"'{self.kind}' object is not iterable")

    def __getitem__(self, key: Any) -> Any:
        if self.python:
            raise TypeError(f"'{self.kind.__name__}' object is not subscriptable")  # type: ignore[union-attr]  # `python` says it is a type
        return self.recorder.getitem(self, key)

    def __getattr__(self, name: str) -> Any:
        if name == "kind":  # not settled until now
            self.kind, self.uses = float, None
            return float
        return self.recorder.numpy.scalar_attribute(self, name)


class Array(Traced):
    """An array: the part of a buffer that a path of views selects."""

    __slots__ = ("buffer", "path", "spec")

    def __init__(self, recorder: Recorder, buffer: Buffer, path: tuple[Any, ...], spec: Spec) -> None:
        self.recorder = recorder
        self.buffer = buffer
        self.path = path
        self.spec = spec

    @property
    def node(self) -> Node:
        made: Node = self.recorder.read(self)
        return made

    def __copy__(self) -> Any:
        if getattr(type(self), "_is_tensor", False):
            self.recorder.refuse("copy.copy of a Tensor", help="use .clone(), or .detach()")
        return self.copy(order="K")

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__copy__()

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.spec.dtype

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(self.recorder.integer(d) for d in self.spec.shape)

    @shape.setter
    def shape(self, shape: Any) -> None:
        self.recorder.set_shape(self, shape)

    @property
    def ndim(self) -> int:
        return len(self.spec.shape)

    @property
    def real(self) -> Any:
        return self.recorder.part(self, "real")

    @real.setter
    def real(self, value: Any) -> None:
        self.recorder.part(self, "real")[...] = value

    @property
    def imag(self) -> Any:
        return self.recorder.part(self, "imag")

    @imag.setter
    def imag(self, value: Any) -> None:
        self.recorder.part(self, "imag")[...] = value

    @property
    def flat(self) -> Any:
        return self.recorder.numpy.flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        self.recorder.numpy.flat(self)[:] = value

    def _described(self) -> str:
        return f"<traced {self.spec.dtype}[{', '.join(map(str, self.spec.shape))}]>"

    def __len__(self) -> int:
        if not self.spec.shape:
            raise TypeError("len() of unsized object")
        return operator.index(self.spec.shape[0])

    def __iter__(self) -> Iterator[Any]:
        return self.recorder.items(self)

    def __getitem__(self, key: Any) -> Any:
        return self.recorder.getitem(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.recorder.setitem(self, key, value)

    def __getattr__(self, name: str) -> Any:
        return self.recorder.numpy.attribute(self, name)


def _binary(function: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def forward(self: Traced, other: Any) -> Any:
        return self.recorder.operate(function, self, other)

    def reflected(self: Traced, other: Any) -> Any:
        return self.recorder.operate(function, other, self)

    return forward, reflected


def _unary(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self: self.recorder.operate(function, self)


def _in_place(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: self.recorder.update(self, function, other)


_ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lshift")
BINARY = {name.rstrip("_"): getattr(operator, name) for name in (*_ARITHMETIC, "rshift")}
COMPARISONS = {name: getattr(operator, name) for name in ("lt", "le", "eq", "ne", "gt", "ge")}
for _name, _function in BINARY.items():
    _forward, _reflected = _binary(_function)
    setattr(Traced, f"__{_name}__", _forward)
    setattr(Traced, f"__r{_name}__", _reflected)
    setattr(Array, f"__i{_name}__", _in_place(_function))
for _name, _function in COMPARISONS.items():
    setattr(Traced, f"__{_name}__", _binary(_function)[0])
for _name in ("neg", "pos", "invert", "abs"):
    setattr(Traced, f"__{_name}__", _unary(getattr(operator, _name)))


class Undefined:
    """The value of a variable that no path taken so far has assigned."""

    __slots__ = ("name", "why")

    def __init__(self, name: str, why: str | None = None) -> None:
        self.name = name
        self.why = why


class Unassigned(Undefined):
    """Stands for a variable that has no value before a loop, in the body, which assigns it.

    A turn before may have assigned it. Where the body reads it before it assigns it, the loop is captured again, and
    hands it on. `around` is what stood for the variable in the body of a loop around, if there is one.
    """

    __slots__ = ("around", "head", "is_read", "refusal")

    def __init__(self, name: str, why: str | None, head: Region, around: Unassigned | None) -> None:
        super().__init__(name, why)
        self.head = head
        self.around = around
        self.is_read = False
        self.refusal: Any = None  # what is said where no turn assigns it

    def note_read(self) -> None:
        self.is_read = True
        if self.around is not None:
            self.around.note_read()


class MaybeUnbound(Undefined):
    """A variable that has a value only where `ran` is true; reading it where it has none raises, as in Python.

    `late` is what stands for it in the body of a loop, where one of its turns may have assigned it.
    """

    __slots__ = ("late", "ran", "value")

    def __init__(self, name: str, value: Any, ran: Any, late: Unassigned | None = None) -> None:
        super().__init__(name)
        self.value = value
        self.ran = ran
        self.late = late

    def remade(self, name: str, value: Any, ran: Any) -> MaybeUnbound:
        return MaybeUnbound(name, value, ran, self.late)


class PartlyDefined(Undefined):
    """A variable that one side of a branch assigns and the other does not: reading it is refused."""

    __slots__ = ("ran", "value")

    def __init__(self, name: str, value: Any, ran: Any, why: str | None) -> None:
        super().__init__(name, why)
        self.value = value
        self.ran = ran

    def remade(self, name: str, value: Any, ran: Any) -> PartlyDefined:
        return PartlyDefined(name, value, ran, self.why)


def late_of(value: Any) -> Unassigned | None:
    """What stands for a variable in the body of a loop, where a turn before may have assigned it."""
    return value if isinstance(value, Unassigned) else value.late if isinstance(value, MaybeUnbound) else None


def around_of(value: Any) -> Unassigned | None:
    """What stands for a variable in the body of the loop around the one in which `value` stands for it."""
    return value.around if isinstance(value, Unassigned) else None


class Added(Undefined):
    """Stands in an item of a dict or an attribute that a loop adds: the first iteration finds none, later ones do."""

    __slots__ = ()

    def __init__(self, name: str, line: int) -> None:
        super().__init__(name, f"{name} is read in the loop at line {line}, which adds it: its first turn finds none")


def is_traced(value: Any) -> bool:
    """Whether a value, or something a plain container holds, is traced."""
    if isinstance(value, Traced):
        return True
    kind = type(value)
    if kind is tuple or kind is list:
        return any(map(is_traced, value))
    if kind is dict:
        return any(map(is_traced, value.values()))
    if kind is slice:
        return is_traced(value.start) or is_traced(value.stop) or is_traced(value.step)
    return isinstance(value, CONTAINERS) and any(map(is_traced, value.values() if isinstance(value, dict) else value))


CONTAINERS = (dict, list, tuple, deque)
"""Containers that code in C looks into, and what is derived from them."""


def shows_traced(value: Any) -> bool:
    """Whether the text of a value shows something traced, in a dataclass for instance."""
    return is_traced(value) or any(isinstance(leaf, Traced) for leaf in pytree.leaves_of(value))
