"""`Proxy`: a stand-in for a value that records what is done to it.

Operators become `call_function` nodes of `operator.*`, methods become `call_method`, attributes become `getattr`, weft
ops and NumPy functions become `call_function` of the op. What would need the value itself (a branch, a length, a loop)
raises, with the line it happened on.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from types import NotImplementedType
from typing import TYPE_CHECKING, Any

from weft.capture import _numpy
from weft.graph import Node

if TYPE_CHECKING:
    from weft.capture._tracer_base import TracerBase


class Proxy:
    """Stands for the value of a node while a program is recorded, or while a graph is edited by writing Python."""

    __slots__ = ("__weakref__", "node", "tracer")
    __weft_priority__ = 100
    _is_proxy = True  # so that a graph can tell, which knows no class of this room

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        if tracer is None:
            from weft.capture._tracer_base import GraphAppendingTracer

            tracer = GraphAppendingTracer(node.graph)
        self.node = node
        self.tracer = tracer

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    # What can be recorded

    def __weft_op__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.tracer.create_proxy("call_function", op, args, kwargs)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        target = _numpy.ufunc_target(ufunc, method, inputs, kwargs)
        return self.tracer.create_proxy("call_function", target, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        target = _numpy.function_target(function, args, kwargs)
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def __getattr__(self, name: str) -> Attribute:
        # NumPy, copy and pickle ask objects for special names; answering them with a node would record nonsense.
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Attribute(self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        return self.tracer.iter(self)

    def keys(self) -> Any:
        """Called by Python for `**proxy`."""
        return self.tracer.keys(self)

    # What needs the value

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __len__(self) -> int:
        return self.tracer.refuse(self, "len")

    def __index__(self) -> int:
        return self.tracer.refuse(self, "index")

    def __int__(self) -> int:
        return self.tracer.refuse(self, "int")

    def __float__(self) -> float:
        return self.tracer.refuse(self, "float")

    def __complex__(self) -> complex:
        return self.tracer.refuse(self, "complex")

    def __contains__(self, item: object) -> bool:
        return self.tracer.refuse(self, "in")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.refuse(self, "array")

    def __setitem__(self, key: Any, value: Any) -> None:
        self.tracer.refuse(self, "setitem")

    def __delitem__(self, key: Any) -> None:
        self.tracer.refuse(self, "delitem")


class Attribute(Proxy):
    """`proxy.name`: becomes a method call when it is called, and a `getattr` node when it is used as a value."""

    __slots__ = ("_node", "attr", "root")

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]  # made when it is first needed: most attributes are called
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A parameter of which shape and size are plain numbers, so that a program may branch on them."""

    __slots__ = ("param",)

    def __init__(self, node: Node, tracer: TracerBase, param: Any) -> None:
        super().__init__(node, tracer)
        self.param = param

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.param.shape)

    @property
    def ndim(self) -> int:
        return len(self.param.shape)

    @property
    def size(self) -> int:
        return int(self.param.size)


def _binary(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def method(self: Proxy, other: Any) -> Any:
        return self.tracer.create_proxy("call_function", function, (self, other), _NO_KWARGS)

    return method


def _reflected(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def method(self: Proxy, other: Any) -> Any | NotImplementedType:
        return self.tracer.create_proxy("call_function", function, (other, self), _NO_KWARGS)

    return method


def _unary(function: Callable[..., Any]) -> Callable[[Any], Any]:
    def method(self: Proxy) -> Any:
        return self.tracer.create_proxy("call_function", function, (self,), _NO_KWARGS)

    return method


_NO_KWARGS: dict[str, Any] = {}
_ARITHMETIC = (
    "add",
    "sub",
    "mul",
    "floordiv",
    "truediv",
    "mod",
    "pow",
    "lshift",
    "rshift",
    "and",
    "or",
    "xor",
    "matmul",
)

for _name in (*_ARITHMETIC, "getitem", "eq", "ne", "lt", "le", "gt", "ge", "divmod"):
    _function = divmod if _name == "divmod" else getattr(operator, f"{_name}_" if _name in ("and", "or") else _name)
    setattr(Proxy, f"__{_name}__", _binary(_function))
    if _name in _ARITHMETIC:
        setattr(Proxy, f"__r{_name}__", _reflected(_function))
for _name in ("neg", "pos", "invert", "abs"):
    setattr(Proxy, f"__{_name}__", _unary(getattr(operator, _name)))
for _name, _function in (("round", round), ("floor", __import__("math").floor)):
    setattr(Proxy, f"__{_name}__", _unary(_function))
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]  # __eq__ records; identity is what a dict needs
